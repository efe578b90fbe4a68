//! Runs one contract in a given directory and has it judged: in the workspace during a run, on a checkout
//! before the work or when rerun. The same environment, limits and judge everywhere, or a verdict would
//! depend on the caller.

use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::plan::verified::{Contract, Step};
use planwright_core::run::judge::{Observation, Verdict, judge};

use crate::config::RunSettings;
use crate::system::process;
use crate::system::process::{How, ProcessEnd, ProcessJob, Stop, Supervisors};

/// How often a contract is run whose supervisor is killed each time.
const TRIES: usize = 3;
/// The variables that contracts and scripts inherit, apart from PATH.
const KEPT: [&str; 4] = ["HOME", "LANG", "TMPDIR", "USER"];

#[derive(Debug, Clone, Copy)]
pub struct ContractRunner<'a> {
    pub folder: &'a Path,
    /// Further directories from which no program is used: the workspace, if the directory is a checkout of
    /// it.
    pub closed: &'a [PathBuf],
    pub limits: &'a RunSettings,
}

/// The observation of a contract, and its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractRun {
    pub verdict: Verdict,
    pub observation: Observation,
    /// The hash of the command.
    pub contract: String,
    pub output: String,
    pub milliseconds: u64,
}

impl ContractRun {
    /// A contract that was not run, for this reason.
    pub fn unseen(step: &Step, why: String) -> Self {
        let (expect, contract) = match &step.contract {
            Contract::Shell { command, expect } => (*expect, hash(command)),
            Contract::Manual => (0, String::new()),
        };
        let observation = Observation::NotStarted(why.clone());
        Self { verdict: judge(expect, &observation), observation, contract, output: why, milliseconds: 0 }
    }
}

impl ContractRunner<'_> {
    /// Runs the contract of a step after its setup, and has it judged. `None` if it was interrupted before it
    /// could tell anything. A step without a contract is never judged by one.
    pub fn look(
        &self,
        step: &Step,
        (supervisors, tag): (&Supervisors, &str),
        stop: &Stop,
    ) -> Option<ContractRun> {
        let Contract::Shell { command, expect } = &step.contract else {
            panic!("a step without a contract is never judged by one")
        };
        let deadline = self.deadline(step);
        let observed = |command: &str| {
            let job = ProcessJob {
                argv: bash(command),
                folder: self.folder.to_owned(),
                env: self.environment(step),
                input: Vec::new(),
                deadline,
                output_bytes_max: self.limits.output_bytes,
                tag: tag.to_owned(),
            };
            observe(run(supervisors, &job, stop), deadline)
        };
        let prepared =
            step.setup.as_ref().map(|setup| observed(setup)).map_or(Some(None), |seen| seen.map(Some))?;
        let (observation, output, milliseconds) = match prepared {
            None | Some((Observation::Exited(0), ..)) => observed(command)?,
            // A failed setup is not a verdict against the work, but not one for it either.
            Some((unprepared, output, milliseconds)) => {
                let why = format!(
                    "the setup failed ({})",
                    judge(0, &unprepared).failure().map(ToString::to_string).unwrap_or_default()
                );
                (Observation::NotStarted(why), output, milliseconds)
            }
        };
        let verdict = judge(*expect, &observation);
        Some(ContractRun { verdict, observation, contract: hash(command), output, milliseconds })
    }

    /// The time limit of a step's contract.
    pub fn deadline(&self, step: &Step) -> Duration {
        Duration::from_secs(step.contract_timeout_seconds.unwrap_or(self.limits.contract_seconds))
    }

    /// The environment of contracts and scripts: these few variables, the ports of the worktree, and what the
    /// step declares.
    pub fn environment(&self, step: &Step) -> Vec<(String, String)> {
        let mut env: Vec<(String, String)> = KEPT
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .chain([("PATH".to_owned(), self.search_path())])
            .chain(crate::git::worktree::environment(self.folder))
            .collect();
        let declared = step.env.iter().filter_map(|pair| pair.split_once('='));
        let declared = declared.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        // The checker refuses these (PW0505); a plan approved by an older version still cannot set them.
        env.extend(declared.filter(|(name, _)| !planwright_core::verify::is_obeyed(name)));
        env
    }

    /// PATH without directories that an agent could put a program into: relative ones and those in the
    /// workspace.
    fn search_path(&self) -> String {
        let closed: Vec<&Path> =
            std::iter::once(self.folder).chain(self.closed.iter().map(PathBuf::as_path)).collect();
        process::path_outside(&closed).to_string_lossy().into_owned()
    }
}

/// The hash by which receipts name a contract.
pub fn hash(command: &str) -> String {
    blake3::hash(command.as_bytes()).to_hex().to_string()
}

pub(crate) fn bash(command: &str) -> Vec<String> {
    ["bash", "-euo", "pipefail", "-c", command].map(str::to_owned).to_vec()
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Runs a contract. If its supervisor was killed it has told nothing, so it runs again: it only looks.
fn run(supervisors: &Supervisors, job: &ProcessJob, stop: &Stop) -> Result<ProcessEnd, process::Error> {
    let mut ended = supervisors.run(job, stop);
    for _ in 1..TRIES {
        if !matches!(ended, Err(process::Error::Lost { .. })) {
            break;
        }
        ended = supervisors.run(job, stop);
    }
    ended
}

/// The observation of a contract; `None` if it was interrupted.
fn observe(
    ended: Result<ProcessEnd, process::Error>,
    deadline: Duration,
) -> Option<(Observation, String, u64)> {
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return Some((Observation::NotStarted(error.to_string()), String::new(), 0)),
    };
    let observation = match ended.how {
        How::Exited(code) => Observation::Exited(code),
        How::Signalled(signal) => Observation::Signalled(signal),
        How::TimedOut => Observation::TimedOut(deadline.as_secs()),
        How::Stopped => return None,
        How::NotStarted(why) => Observation::NotStarted(why),
    };
    Some((observation, ended.output.text(), milliseconds(ended.duration)))
}
