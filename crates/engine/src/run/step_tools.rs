//! What the tools of a working agent may do about its step: read it, see its contract's current result, and
//! append to the report. All of it is advice or hearsay: planwright judges after the attempt and trusts no
//! one's claim.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use planwright_core::agent::assignment::Assignment;
use planwright_core::agent::report::ReportLine;

use crate::run::contract::{ContractRunner, Preview};
use crate::store::plan_file;
use crate::system::fault::Fault;
use crate::system::process;
use crate::system::process::{JobSign, Stop, Supervisors};
use crate::workspace::project;
use crate::workspace::project::Project;

/// The variable that names the file with the agent's view of its step.
pub const STEP: &str = "PLANWRIGHT_STEP";
/// The variable that names the report file.
pub const REPORT: &str = "PLANWRIGHT_REPORT";
const STEP_BYTES_MAX: u64 = 4 << 20;
/// The maximum size of a report; an agent that reports without end is ignored from then on.
const REPORT_BYTES_MAX: u64 = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This process is not part of an attempt.
    #[error("no step is running: {STEP} is not set, so no agent working on a step started this server")]
    Idle,
    #[error("cannot read the step in {}", path.display())]
    Step {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot append to the report")]
    Report(#[source] io::Error),
    /// Nothing reads a report of this attempt.
    #[error("reports are unavailable: {REPORT} is not set")]
    Unheard,
    #[error("the report is full: the limit is {REPORT_BYTES_MAX} bytes")]
    Full,
    #[error(transparent)]
    Project(#[from] project::Error),
    /// A person confirms the step.
    #[error("this step has no contract: a person checks your work and confirms it")]
    Unjudged,
    #[error("cannot run the contract: {0}")]
    Machine(#[from] Fault),
}

/// An attempt as seen from inside.
pub struct StepToolsAttempt {
    /// What the agent may know about the step.
    pub assignment: Assignment,
    report: Option<PathBuf>,
}

impl StepToolsAttempt {
    /// The attempt that this process is part of.
    pub fn here() -> Result<Self, Error> {
        let path = PathBuf::from(process::variable_above(STEP).ok_or(Error::Idle)?);
        let unread = |source| Error::Step { path: path.clone(), source };
        let text = plan_file::read_text(&path, STEP_BYTES_MAX).map_err(unread)?;
        let assignment = serde_json::from_str(&text).map_err(|error| unread(io::Error::other(error)))?;
        Ok(Self { assignment, report: process::variable_above(REPORT).map(PathBuf::from) })
    }

    /// Appends a line to the report of the attempt.
    pub fn report(&self, line: &ReportLine) -> Result<(), Error> {
        add(self.report.as_ref().ok_or(Error::Unheard)?, &line.spelled())
    }

    /// The contract's current result in this process's workspace. `None` if it was interrupted.
    pub fn look(&self, stop: &Stop) -> Result<Option<Preview>, Error> {
        let step = self.assignment.known_step();
        if self.assignment.contract.is_none() {
            return Err(Error::Unjudged);
        }
        let project = Project::find(Path::new("."))?;
        let runner = ContractRunner::new(&project.root, &project.config.run, &[]);
        // Below the tag of the attempt, so that it ends with it.
        let sign = process::job_above();
        let above = sign.as_ref().and_then(JobSign::tag).unwrap_or("executor");
        let tag = format!("{above}/check-{}", std::process::id());
        Ok(runner.preview(&step, &Supervisors::new(), &tag, stop)?)
    }
}

/// Appends a text to a file in one write: several servers of one agent may do so concurrently.
fn add(path: &Path, text: &str) -> Result<(), Error> {
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(Error::Report)?;
    let length = file.metadata().map_err(Error::Report)?.len();
    if length.saturating_add(text.len() as u64) > REPORT_BYTES_MAX {
        return Err(Error::Full);
    }
    file.write_all(text.as_bytes()).map_err(Error::Report)
}
