//! Runs one contract in a given directory: in the workspace during a run, on a checkout before the work or when
//! rerun. The same environment, limits and seals everywhere, or a verdict would depend on the caller.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_core::plan::verified::{Contract, Step};
use planwright_core::run::judge::{ContractRun, JudgeFailure, Observation, judge};

use crate::config::RunSettings;
use crate::git::sealed::Seal;
use crate::run::pinned;
use crate::system::fault::Fault;
use crate::system::process;
use crate::system::process::{How, ProcessEnd, ProcessJob, Stop, Supervisors};
use crate::system::program;
use crate::system::program::Tool;

/// How often a contract is run whose supervisor is killed each time.
const TRIES: usize = 3;
/// The variables that contracts and scripts inherit, apart from PATH.
const KEPT: [&str; 4] = ["HOME", "LANG", "TMPDIR", "USER"];

#[derive(Debug, Clone, Copy)]
pub struct ContractRunner<'a> {
    folder: &'a Path,
    settings: &'a RunSettings,
    closed: &'a [PathBuf],
    seal: Option<Seal<'a>>,
    programs: Option<&'a BTreeMap<String, String>>,
}

/// The current result of a contract, as advice. It says nothing of what ran on which content, so no receipt can
/// be made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// `None` if it passes.
    pub failure: Option<JudgeFailure>,
    pub output: String,
}

impl<'a> ContractRunner<'a> {
    /// Contracts run in this directory. No program from it or from the `closed` directories is used: the
    /// workspace, if the directory is a checkout of it.
    pub const fn new(folder: &'a Path, settings: &'a RunSettings, closed: &'a [PathBuf]) -> Self {
        Self { folder, settings, closed, seal: None, programs: None }
    }

    /// No contract runs while a sealed file differs from the approved one, and none counts that changed one: it would mean
    /// nothing.
    #[must_use]
    pub const fn sealed(self, seal: Seal<'a>) -> Self {
        Self { seal: Some(seal), ..self }
    }

    /// No contract runs with a program that differs from the approved one.
    #[must_use]
    pub const fn pinned(self, programs: &'a BTreeMap<String, String>) -> Self {
        Self { programs: Some(programs), ..self }
    }

    /// Runs the contract of a step after its setup. `None` if it was interrupted before it could tell
    /// anything; an error of the machine is no observation either. A step without a contract is never judged
    /// by one.
    pub fn run(
        &self,
        step: &Step,
        supervisors: &Supervisors,
        tag: &str,
        stop: &Stop,
    ) -> Result<Option<ContractRun>, Fault> {
        let Contract::Shell { command, .. } = &step.contract else {
            panic!("a step without a contract is never judged by one")
        };
        let moved = match self.broken_seal()? {
            None => self.moved_programs(step)?,
            broken => broken,
        };
        if let Some(why) = moved {
            return Ok(Some(ContractRun::not_run(&step.contract, why)));
        }
        let deadline = self.deadline(step);
        let observed = |command: &str| {
            let job = ProcessJob {
                argv: self.bash(command),
                folder: self.folder.to_owned(),
                env: self.environment(step),
                input: Vec::new(),
                deadline,
                output_bytes_max: self.settings.output_bytes,
                tag: tag.to_owned(),
            };
            observe(run(supervisors, &job, stop), deadline)
        };
        let prepared = match &step.setup {
            Some(setup) => {
                let Some(prepared) = observed(setup)? else { return Ok(None) };
                Some(prepared)
            }
            None => None,
        };
        let (observation, output, milliseconds) = match prepared {
            None | Some((Observation::Exited(0), ..)) => {
                let Some(seen) = observed(command)? else { return Ok(None) };
                seen
            }
            // A failed setup is not a verdict against the work, but not one for it either.
            Some((unprepared, output, milliseconds)) => {
                let how = unprepared.failure(0).map(|failure| failure.to_string()).unwrap_or_default();
                (Observation::NotStarted(format!("the setup failed ({how})")), output, milliseconds)
            }
        };
        // A contract runs the work, and the work may reach for what judges it.
        let observation = match self.broken_seal()? {
            Some(why) => Observation::NotStarted(format!("{why}, while the contract ran")),
            None => observation,
        };
        Ok(Some(ContractRun { output, milliseconds, ..ContractRun::of(&step.contract, observation) }))
    }

    /// The same for advice.
    pub fn preview(
        &self,
        step: &Step,
        supervisors: &Supervisors,
        tag: &str,
        stop: &Stop,
    ) -> Result<Option<Preview>, Fault> {
        let seen = self.run(step, supervisors, tag, stop)?;
        Ok(seen.map(|run| Preview { failure: judge(&run, None).failure().cloned(), output: run.output }))
    }

    /// A contract that must not run, for this reason or because of a sealed file.
    pub fn refused(&self, step: &Step, why: String) -> Result<ContractRun, Fault> {
        Ok(ContractRun::not_run(&step.contract, self.broken_seal()?.unwrap_or(why)))
    }

    fn broken_seal(&self) -> Result<Option<String>, Fault> {
        let Some(seal) = self.seal else { return Ok(None) };
        let moved = seal.broken(self.folder, |_| true).map_err(|error| Fault::of(&error))?;
        Ok((!moved.is_empty())
            .then(|| format!("a sealed file differs from what was approved: {}", moved.join("; "))))
    }

    fn moved_programs(&self, step: &Step) -> Result<Option<String>, Fault> {
        let Some(programs) = self.programs else { return Ok(None) };
        let moved = pinned::moved_for(step, programs, &self.closed());
        let moved = moved.map_err(|error| Fault::of(&error))?;
        Ok((!moved.is_empty())
            .then(|| format!("a program of the contract is not what was approved: {}", moved.join("; "))))
    }

    /// The command line that runs a script.
    pub(crate) fn bash(&self, script: &str) -> Vec<String> {
        let bash = Tool::Bash.path(&self.closed()).to_string_lossy().into_owned();
        [bash.as_str(), "-euo", "pipefail", "-c", script].map(str::to_owned).to_vec()
    }

    /// Directories that agents write into, the workspace last.
    fn closed(&self) -> Vec<&Path> {
        std::iter::once(self.folder).chain(self.closed.iter().map(PathBuf::as_path)).collect()
    }

    /// The time limit of a step's contract.
    pub fn deadline(&self, step: &Step) -> Duration {
        Duration::from_secs(step.contract_timeout_seconds.unwrap_or(self.settings.contract_seconds))
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
        program::outside(&self.closed()).to_string_lossy().into_owned()
    }
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Runs a contract. If its supervisor was killed, there is no result and it runs again: contracts only read.
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

/// What was seen of a contract, its output, and how long it took.
type Seen = (Observation, String, u64);

/// The observation of a contract; `None` if it was interrupted.
fn observe(ended: Result<ProcessEnd, process::Error>, deadline: Duration) -> Result<Option<Seen>, Fault> {
    let ended = ended.map_err(|error| Fault::of(&error))?;
    let observation = match ended.how {
        How::Exited(code) => Observation::Exited(code),
        How::Signalled(signal) => Observation::Signalled(signal),
        How::TimedOut => Observation::TimedOut(deadline.as_secs()),
        How::Stopped => return Ok(None),
        How::NotStarted(why) => Observation::NotStarted(why),
    };
    Ok(Some((observation, ended.output.text(), milliseconds(ended.duration))))
}
