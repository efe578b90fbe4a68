//! Attempts for runs that other processes own.

use planwright_core::run::event::{AttemptEnd, Event, StepEvent};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::Right;
use crate::api::error::Error;
use crate::api::workspace::Workspace;
use crate::run::Runs;
use crate::run::remote_worker;
use crate::run::remote_worker::{WorkerEvent, WorkerOptions};
use crate::system::process;

#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkerView {
    /// How many attempts were made and delivered.
    pub delivered: usize,
}

/// What a worker did with an attempt.
#[derive(Debug)]
pub enum WorkerNews<'a> {
    Took,
    Delivered(Option<&'a AttemptEnd>),
    /// Its run no longer needs it.
    Dropped,
}

impl Workspace {
    /// Makes attempts from the queue until the options end it. `tell` gets each as `plan/step@attempt`.
    pub fn work(
        &self,
        options: &WorkerOptions,
        tell: &mut dyn FnMut(&str, &WorkerNews<'_>),
    ) -> Result<WorkerView, Error> {
        // Whoever makes attempts says what came of them.
        self.caller().may(Right::Work)?;
        process::guard_memory();
        let runs = Runs::open(self.project())?;
        let delivered = remote_worker::work(&runs, options, &mut |event| {
            let (claim, news) = match event {
                WorkerEvent::Took(claim) => (claim, WorkerNews::Took),
                WorkerEvent::Delivered(claim, event) => (claim, WorkerNews::Delivered(end_of(event))),
                WorkerEvent::Fenced(claim) => (claim, WorkerNews::Dropped),
            };
            let name = runs.store().run(claim.run).map_or_else(|_| claim.run.to_string(), |row| row.name);
            tell(&format!("{name}/{}@{}", claim.step, claim.attempt), &news);
        })?;
        Ok(WorkerView { delivered })
    }
}

fn end_of(event: &Event) -> Option<&AttemptEnd> {
    if let Event::Step { event: StepEvent::Finished(finish), .. } = event { Some(&finish.end) } else { None }
}
