//! Several agents at one step, each in its own worktree. The contract picks: the smallest change that passes
//! becomes the attempt's work and is judged again where it is merged. The other results are kept.

use std::panic::resume_unwind;
use std::thread;

use planwright_core::agent::account::Usage;
use planwright_core::plan::verified::Step;
use planwright_core::run::event::{AttemptEnd, AttemptFinish, Event, StepEvent};

use super::{Done, Worker, WorkerInput};
use crate::run::contract::Preview;
use crate::store::journal::blob_of;
use crate::system::process::Stop;

struct Entrant {
    /// The name under which its work is saved.
    name: String,
    done: Done,
    /// The contract's result, for people.
    said: String,
    is_passed: bool,
    size: u64,
}

impl Worker {
    /// Has several agents do the step, and makes the work of one of them the attempt's.
    pub(super) fn compete(
        &self,
        (step, attempt): (&Step, u32),
        entrants: u32,
        told: &WorkerInput,
        stop: &Stop,
    ) -> Done {
        let names: Vec<String> = (1..=entrants).map(|number| format!("{attempt}-{number}")).collect();
        let worked: Vec<(String, Done)> = thread::scope(|scope| {
            let enter = |name: &str| self.enter((step, attempt), name, told, stop);
            let begin = |name: &String| {
                let own = name.clone();
                (name.clone(), thread::Builder::new().spawn_scoped(scope, move || enter(&own)))
            };
            let threads: Vec<_> = names.iter().map(begin).collect();
            let ended = threads.into_iter().map(|(name, thread)| {
                let done = match thread {
                    // A panic of one of them is a bug, and not an entrant that gave up.
                    Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                    // Without a thread of its own it comes after the others.
                    Err(_) => enter(&name),
                };
                (name, done)
            });
            ended.collect()
        });
        let mut tried: Vec<Entrant> =
            worked.into_iter().map(|(name, done)| self.tried((step, attempt), (name, done), stop)).collect();
        // The order of their numbers decides between equals: the same work has the same winner.
        tried.sort_by_key(|entrant| (!entrant.is_passed, !has_worked(&entrant.done), entrant.size));
        let Some(winner) = tried.first() else {
            return self.enter((step, attempt), &attempt.to_string(), told, stop);
        };
        let chosen = self.ground.choose(&step.id, &winner.name, &attempt.to_string());
        let mut text = format!("tournament of {entrants}: {}\n", winner.name);
        for entrant in &tried {
            text.push_str(&format!("{}: {}, {} lines changed\n", entrant.name, entrant.said, entrant.size));
        }
        let spent = tried.iter().fold(Usage::default(), |sum, entrant| sum.plus(usage(&entrant.done)));
        match chosen {
            Ok(()) => told_of(&winner.done, &text, spent),
            Err(error) => super::unworked(step, attempt, &error),
        }
    }

    /// Runs the contract on the work of one of them. That is no verdict: the winner is judged where it lands.
    fn tried(&self, (step, attempt): (&Step, u32), (name, done): (String, Done), stop: &Stop) -> Entrant {
        // Below the tag of the attempt, as everything of it: it is found with it when it has to be ended.
        let tag = format!("{}/{}/{attempt}/contract-{name}", self.tag, step.id);
        // One that cannot be tried now does not win; the winner is judged anyway.
        let seen = match self.ground.stand(step, &name) {
            Ok(Ok(stand)) if has_worked(&done) => {
                self.runner(stand.root()).preview(step, &self.for_contracts, &tag, stop).ok().flatten()
            }
            Ok(_) | Err(_) => None,
        };
        let (is_passed, said) = match &seen {
            Some(Preview { failure: None, .. }) => (true, "its contract passes".to_owned()),
            Some(Preview { failure: Some(failure), .. }) => (false, failure.to_string()),
            None => (false, "it could not be tried".to_owned()),
        };
        let size = self.ground.size(&step.id, &name).unwrap_or_default();
        Entrant { name, done, said, is_passed, size }
    }
}

const fn has_worked(done: &Done) -> bool {
    let Event::Step { event: StepEvent::Finished(AttemptFinish { end, .. }), .. } = &done.event else {
        return false;
    };
    match end {
        AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) | AttemptEnd::TimedOut(_) => true,
        AttemptEnd::Stopped | AttemptEnd::Lost | AttemptEnd::Parked { .. } | AttemptEnd::Faulted(_) => false,
    }
}

fn usage(done: &Done) -> Usage {
    if let Event::Step { event: StepEvent::Finished(AttemptFinish { usage, .. }), .. } = &done.event {
        *usage
    } else {
        Usage::default()
    }
}

/// The outcome of the winner, with a report on all entrants and their total cost.
fn told_of(winner: &Done, text: &str, spent: Usage) -> Done {
    let mut event = winner.event.clone();
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend(winner.blobs.first().cloned().unwrap_or_default());
    if let Event::Step { event: StepEvent::Finished(AttemptFinish { output, usage, .. }), .. } = &mut event {
        *output = Some(blob_of(&bytes));
        *usage = spent;
    }
    Done { event, blobs: vec![bytes] }
}
