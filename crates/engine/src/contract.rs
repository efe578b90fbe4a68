//! Runs a contract: in a fresh supervised process, with few variables, in a folder that the caller chooses. A run, the red check
//! and an audit all look in this way; what was seen is judged by [`planwright_core::judge`] alone.

use std::path::Path;
use std::time::Duration;

use planwright_core::judge::{Observation, judge};
use planwright_core::plan::{Contract, Step};

use crate::process::{self, Ended, How, Job, Stop, Supervisors};

/// How often a contract is run whose supervisor is killed each time.
const TRIES: usize = 3;

/// Where and how a contract is run.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The folder that it runs in: the root of the project, or of a throw-away tree of it.
    pub folder: &'a Path,
    /// The root of the project. No program is taken from it, nor from the folder.
    pub root: &'a Path,
    /// Supervise it. They must be others than those of agents, which can reach theirs.
    pub supervisors: &'a Supervisors,
    /// How long the contract may take, and its setup.
    pub deadline: Duration,
    /// How much of its output is kept.
    pub output_bytes_max: usize,
    /// Names its processes.
    pub tag: &'a str,
}

/// What was seen of a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// How it ended.
    pub observation: Observation,
    /// What it said.
    pub output: String,
    /// How long it took.
    pub milliseconds: u64,
}

/// Runs the contract of a step, after its setup. `None` when it was stopped before it could tell anything, or when the step has
/// no contract.
pub fn look(place: &Place<'_>, step: &Step, stop: &Stop) -> Option<Seen> {
    let Contract::Shell { command, .. } = &step.contract else { return None };
    let observed = |command: &str| {
        let job = Job {
            argv: bash(command),
            folder: place.folder.to_owned(),
            env: environment(step, &[place.root, place.folder]),
            input: Vec::new(),
            deadline: place.deadline,
            output_bytes_max: place.output_bytes_max,
            tag: place.tag.to_owned(),
        };
        observe(supervised(place.supervisors, &job, stop), place.deadline)
    };
    let prepared =
        step.setup.as_ref().map(|setup| observed(setup)).map_or(Some(None), |seen| seen.map(Some))?;
    match prepared {
        None | Some(Seen { observation: Observation::Exited(0), .. }) => observed(command),
        // What could not be prepared can't be looked at; that is no verdict about the work, but it is none for it either.
        Some(unprepared) => {
            let why = judge(0, &unprepared.observation).failure().map(ToString::to_string);
            let why = format!("the setup did not work ({})", why.unwrap_or_default());
            Some(Seen { observation: Observation::NotStarted(why), ..unprepared })
        }
    }
}

/// The environment of contracts and scripts: these few variables, and what the step declares. No program is looked for below
/// these roots.
pub(crate) fn environment(step: &Step, roots: &[&Path]) -> Vec<(String, String)> {
    let kept = ["HOME", "LANG", "TMPDIR", "USER"];
    let path = process::path_outside(roots).to_string_lossy().into_owned();
    let mut env: Vec<(String, String)> = kept
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .chain([("PATH".to_owned(), path)])
        .collect();
    let declared = step.env.iter().filter_map(|pair| pair.split_once('='));
    let declared = declared.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    // The checker refuses these (PW0505); a plan that was approved by an older one still can't set them.
    env.extend(declared.filter(|(name, _)| !planwright_core::verify::is_obeyed(name)));
    env
}

/// The command line that runs a contract or a script.
pub(crate) fn bash(command: &str) -> Vec<String> {
    ["bash", "-euo", "pipefail", "-c", command].map(str::to_owned).to_vec()
}

/// Runs a contract. One whose supervisor was killed has told nothing, so it is run again: it only looks.
fn supervised(supervisors: &Supervisors, job: &Job, stop: &Stop) -> Result<Ended, process::Error> {
    let mut ended = supervisors.run(job, stop);
    for _ in 1..TRIES {
        if !matches!(ended, Err(process::Error::Lost { .. })) {
            break;
        }
        ended = supervisors.run(job, stop);
    }
    ended
}

/// What was seen of a contract; `None` when it was stopped.
fn observe(ended: Result<Ended, process::Error>, deadline: Duration) -> Option<Seen> {
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            let observation = Observation::NotStarted(error.to_string());
            return Some(Seen { observation, output: String::new(), milliseconds: 0 });
        }
    };
    let observation = match ended.how {
        How::Exited(code) => Observation::Exited(code),
        How::Signalled(signal) => Observation::Signalled(signal),
        How::TimedOut => Observation::TimedOut(deadline.as_secs()),
        How::Stopped => return None,
        How::NotStarted(why) => Observation::NotStarted(why),
    };
    let milliseconds = u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX);
    Some(Seen { observation, output: ended.output.text(), milliseconds })
}
