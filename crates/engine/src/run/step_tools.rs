//! What the tools of an agent at work may do about its step: read it, look at what its contract says now, and add lines to the
//! report. All of it is advice or hearsay: the harness judges when the attempt is over, and takes nobody's word.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use planwright_core::agent::assignment::Assignment;
use planwright_core::agent::report::Line;

use crate::run::contract::{Seen, Site};
use crate::store::plan_file;
use crate::system::process;
use crate::system::process::{JobSign, Stop, Supervisors};
use crate::workspace::project;
use crate::workspace::project::Project;

/// The variable that names the file with what the agent may know of its step.
pub const STEP: &str = "PLANWRIGHT_STEP";
/// The variable that names the file that reports go to.
pub const REPORT: &str = "PLANWRIGHT_REPORT";
/// The most bytes that are read of a step.
const STEP_BYTES_MAX: u64 = 4 << 20;
/// The most bytes that a report may have; an agent that reports without end is not listened to any longer.
const REPORT_BYTES_MAX: u64 = 256 << 10;

/// What can go wrong for an agent at work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No attempt is above this process.
    #[error(
        "no step is being done here: {STEP} is not set, so this server was not started by an agent at work on one"
    )]
    Idle,
    /// The step can't be read.
    #[error("cannot read the step in {}", path.display())]
    Step {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The report can't be written.
    #[error("cannot add to the report")]
    Report(#[source] io::Error),
    /// Nobody reads a report of this attempt.
    #[error("nobody reads reports here: {REPORT} is not set")]
    Unheard,
    /// There is no more room.
    #[error("the report is full: {REPORT_BYTES_MAX} bytes at most")]
    Full,
    #[error(transparent)]
    Project(#[from] project::Error),
    /// A person confirms the step.
    #[error("this step has no contract: a person looks at what you did and confirms it")]
    Unjudged,
}

/// An attempt, as seen from below.
pub struct Attempt {
    /// What may be known of the step.
    pub assignment: Assignment,
    report: Option<PathBuf>,
}

impl Attempt {
    /// The attempt that this process is a part of.
    pub fn here() -> Result<Self, Error> {
        let path = PathBuf::from(process::variable_above(STEP).ok_or(Error::Idle)?);
        let unread = |source| Error::Step { path: path.clone(), source };
        let text = plan_file::read_text(&path, STEP_BYTES_MAX).map_err(unread)?;
        let assignment = serde_json::from_str(&text).map_err(|error| unread(io::Error::other(error)))?;
        Ok(Self { assignment, report: process::variable_above(REPORT).map(PathBuf::from) })
    }

    /// Adds a line to the report of the attempt.
    pub fn report(&self, line: &Line) -> Result<(), Error> {
        add(self.report.as_ref().ok_or(Error::Unheard)?, &line.spelled())
    }

    /// What the contract says now, in the workspace that this process stands in. `None`: it was stopped.
    pub fn look(&self, stop: &Stop) -> Result<Option<Seen>, Error> {
        let step = self.assignment.known_step();
        if self.assignment.contract.is_none() {
            return Err(Error::Unjudged);
        }
        let project = Project::find(Path::new("."))?;
        let site = Site { folder: &project.root, closed: &[], limits: &project.config.run };
        // Below the tag of the attempt, so that it ends with it.
        let sign = process::job_above();
        let above = sign.as_ref().and_then(JobSign::tag).unwrap_or("executor");
        let tag = format!("{above}/check-{}", std::process::id());
        Ok(site.look(&step, (&Supervisors::new(), &tag), stop))
    }
}

/// Adds a text to a file, in one write: several servers of one agent may do so at once.
fn add(path: &Path, text: &str) -> Result<(), Error> {
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(Error::Report)?;
    let length = file.metadata().map_err(Error::Report)?.len();
    if length.saturating_add(text.len() as u64) > REPORT_BYTES_MAX {
        return Err(Error::Full);
    }
    file.write_all(text.as_bytes()).map_err(Error::Report)
}
