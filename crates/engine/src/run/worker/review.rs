//! Asks the judge of a run about work whose contract has passed. It sees the task, the contract's output and
//! the changed files in a directory of its own, so nothing it does there changes what is judged.

use std::path::Path;

use planwright_core::agent::account::Usage;
use planwright_core::agent::profile::FieldPaths;
use planwright_core::plan::verified::Step;
use planwright_core::run::opinion;
use planwright_core::run::opinion::{Authority, Opinion, OpinionAnswer, ReviewedWork};

use super::Worker;
use crate::config::{ADVISORY_JUDGE_KEY, ENVIRONMENT_KEY, GATE_JUDGE_KEY, LIKE_KEY, SAID_KEY};
use crate::run::consult::{AgentQuery, AgentQuestion, Error};
use crate::system::fault::Fault;
use crate::system::process::Stop;
use crate::workspace::topic;

/// How many changed files a judge is shown, and how much of each.
const FILES_MAX: usize = 40;
const FILE_BYTES_MAX: u64 = 16 << 10;
/// How much of the contract's output it is shown.
const OUTPUT_BYTES_MAX: usize = 8 << 10;

/// A judge's opinion, or that it was interrupted, or that the machine failed.
pub(super) enum ReviewRequest {
    Said(Opinion),
    Stopped,
    Faulted(Fault),
}

impl Worker {
    /// The approved judge, and the weight of its opinion; `None` without one.
    fn judge(&self) -> Option<(Authority, &[String])> {
        let command = |key: &str| self.agents.get(key).map(Vec::as_slice);
        let gate = command(GATE_JUDGE_KEY).map(|command| (Authority::Gate, command));
        gate.or_else(|| command(ADVISORY_JUDGE_KEY).map(|command| (Authority::Advisory, command)))
    }

    /// The judge's opinion of the work on a step; `None` if no judge is asked.
    pub(super) fn opinion(
        &self,
        (step, attempt): (&Step, u32),
        (root, changed, output): (&Path, &[String], &str),
        stop: &Stop,
    ) -> Option<ReviewRequest> {
        let question = step.judge.as_ref()?;
        let (weight, command) = self.judge()?;
        let by = self.config.agent_of(opinion::ROLE).to_owned();
        let opinion = |answer, reason, usage| {
            Some(ReviewRequest::Said(Opinion { by: by.clone(), weight, answer, reason, usage }))
        };
        if command.is_empty() {
            let reason = format!("role `{}` has no approved command", opinion::ROLE);
            return opinion(OpinionAnswer::Nothing, reason, Usage::default());
        }
        let start = output.ceil_char_boundary(output.len().saturating_sub(OUTPUT_BYTES_MAX));
        let work = ReviewedWork {
            changed: changed.to_vec(),
            difference: contents(root, changed),
            output: output[start..].to_owned(),
        };
        let words =
            |key: &str| self.agents.get(&format!("{key}{}", opinion::ROLE)).cloned().unwrap_or_default();
        // The approval says where its answer is; its usage is only counted.
        let told = self.config.agents.get(&by).map(|agent| agent.places.clone()).unwrap_or_default();
        let places = FieldPaths { said: words(SAID_KEY).pop(), ..told };
        let adviser = AgentQuery {
            name: by.clone(),
            command: command.to_vec(),
            like: words(LIKE_KEY).pop(),
            environment: words(ENVIRONMENT_KEY),
            places,
        };
        let question = AgentQuestion {
            prompt: &opinion::prompt(step, question, &work),
            config: &self.config,
            root,
            // The attempt is dead by now, and could not know the directory's name: nothing there can
            // influence the judge.
            is_inside: false,
            role: &format!("{}/{}/{attempt}/{}", self.tag, step.id, opinion::ROLE),
        };
        let said = adviser.ask(question, stop);
        match said {
            Ok(said) => {
                let (answer, reason) = opinion::read(&said.text);
                opinion(answer, reason, said.usage)
            }
            Err(Error::Stopped { .. }) => Some(ReviewRequest::Stopped),
            Err(Error::Machine { fault, .. }) => Some(ReviewRequest::Faulted(fault)),
            Err(error) => opinion(OpinionAnswer::Nothing, error.to_string(), Usage::default()),
        }
    }
}

/// The files that an attempt changed, as they are now.
fn contents(root: &Path, changed: &[String]) -> String {
    let mut text = String::new();
    for path in changed.iter().take(FILES_MAX) {
        match topic::excerpt(&root.join(path), FILE_BYTES_MAX) {
            Ok(excerpt) => {
                text.push_str(&format!("--- {path} ---\n{}\n", excerpt.text.trim_end()));
                if excerpt.bytes_cut > 0 {
                    text.push_str(&format!("[{} more bytes omitted]\n", excerpt.bytes_cut));
                }
            }
            Err(why) => text.push_str(&format!("--- {path} ---\n[not shown: {why}]\n")),
        }
    }
    if changed.len() > FILES_MAX {
        text.push_str(&format!("[and {} more files]\n", changed.len() - FILES_MAX));
    }
    text
}
