//! The state of a run: a word for it and for each step, what is running, what reviewers found, and which process runs it.

use std::time::{Duration, Instant};

use planwright_core::agent::finding;
use planwright_core::run::event::Judged;
use planwright_core::run::state::{Phase, StepStatus};
use planwright_core::workspace::notification::{Notification, NotificationSubject};
use schemars::JsonSchema;
use serde::Serialize;

use crate::run::{Error, Run, Runs};
use crate::store::journal::{LockHolder, RecordedEvent};

/// How long a caller waits for a driver to let go of a run.
const LET_GO: Duration = Duration::from_secs(10);

const LOOK: Duration = Duration::from_millis(20);

/// Something that a reviewer found.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct FindingView {
    /// The id of the reviewer's step.
    pub step: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The file that it is in; empty where it is in none.
    pub path: String,
    /// The line there.
    pub line: Option<u32>,
    /// What is wrong.
    pub text: String,
    /// All of it on one line.
    #[serde(skip)]
    pub summary: String,
}

impl Run {
    /// Its state, in a word.
    pub fn word(&self) -> &'static str {
        match self.state.phase {
            Phase::Finished { outcome, .. } => outcome.word(),
            Phase::Stopped { .. } => "stopped",
            Phase::New | Phase::Running if self.state.asks.is_empty() => "running",
            Phase::New | Phase::Running => "waiting for a person",
        }
    }

    /// What is known of a step, in a few words.
    pub fn step_word(&self, id: &str) -> Option<String> {
        let place = self.plan.steps.iter().position(|step| step.id == id)?;
        let step = &self.state.steps[place];
        Some(match &step.status {
            StepStatus::Passed { .. } => format!("passed, attempt {}", step.history.attempts),
            StepStatus::Skipped { by, reason } => format!("skipped by {by}: {reason}"),
            StepStatus::Waiting { .. } => "needs you".to_owned(),
            StepStatus::Running { attempt } => format!("running, attempt {attempt}"),
            StepStatus::Judging { of: Judged::Closing(_), .. } => "judging on the final tree".to_owned(),
            StepStatus::Judging { of: of @ (Judged::Claim | Judged::Attempt(_)), .. } => {
                format!("judging, attempt {of}")
            }
            StepStatus::Pending(_) => "pending".to_owned(),
        })
    }

    /// Attempts and contracts that are under way: `2 fix, attempt 1`.
    pub fn under_way(&self) -> Vec<String> {
        let steps = self.plan.steps.iter().zip(&self.state.steps);
        let busy = steps.filter_map(|(step, state)| match state.status {
            StepStatus::Running { attempt } => {
                Some(format!("{} {}, attempt {attempt}", step.number, step.id))
            }
            StepStatus::Judging { of: Judged::Attempt(attempt), .. } => {
                Some(format!("{} {}, contract of attempt {attempt}", step.number, step.id))
            }
            StepStatus::Judging { of: Judged::Closing(_), .. } => {
                Some(format!("{} {}, contract on the final tree", step.number, step.id))
            }
            StepStatus::Judging { of: Judged::Claim, .. }
            | StepStatus::Pending(_)
            | StepStatus::Passed { .. }
            | StepStatus::Waiting { .. }
            | StepStatus::Skipped { .. } => None,
        });
        busy.collect()
    }

    /// What reviewers found.
    pub fn findings(&self) -> Vec<FindingView> {
        let found = self.state.findings().map(|(place, finding)| FindingView {
            step: self.plan.steps[place].id.clone(),
            severity: finding.severity.word().to_owned(),
            path: finding.path.clone(),
            line: finding.line,
            text: finding.text.clone(),
            summary: finding::line(finding),
        });
        found.collect()
    }
}

impl Runs {
    /// An event as listeners get it.
    pub fn notification(&self, run: &Run, recorded: &RecordedEvent) -> Notification {
        let (row, project) = (&run.row, self.store().key());
        let path = row.plan.to_string_lossy();
        let about = NotificationSubject { project: &project, plan: &row.name, path: &path };
        Notification::of_event(about, row.id.number(), (recorded.seq, recorded.at_ms), &recorded.event)
    }

    /// Waits for a while until no process runs it; returns the one that still does.
    pub fn wait_for_driver(&self, run: &Run) -> Result<Option<LockHolder>, Error> {
        let begin = Instant::now();
        loop {
            let holder = self.holder(run)?;
            if holder.is_none() || begin.elapsed() > LET_GO {
                return Ok(holder);
            }
            std::thread::sleep(LOOK);
        }
    }
}
