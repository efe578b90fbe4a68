//! The commands, one file each, and what they share: finding plans, and saying in which way the engine failed.

pub(crate) mod completions;
pub(crate) mod edit;
pub(crate) mod explain;
pub(crate) mod fmt;
pub(crate) mod help;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod verify;

use std::path::{Path, PathBuf};

use planwright_engine::core::change::Refusal;
use planwright_engine::core::source::Source;
use planwright_engine::store::{self, Text};
use planwright_engine::{Project, config, project};

use crate::out::{Exit, Failure, Next};

/// The project that the user stands in.
pub(crate) fn here() -> Result<Project, Failure> {
    Project::find(Path::new(".")).map_err(Failure::from)
}

/// The project that a plan belongs to, which need not be the one that the user stands in.
pub(crate) fn project_of(plan: &Path) -> Result<Project, Failure> {
    Project::find(plan).map_err(Failure::from)
}

/// How a path is shown: from where the user stands, if it lies below.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().and_then(|folder| folder.canonicalize());
    let below = here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    below.unwrap_or_else(|| path.to_owned()).to_string_lossy().trim_start_matches("./").to_owned()
}

/// A plan that a command works on, read as text.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) project: Project,
    pub(crate) source: Source,
    pub(crate) step: Option<String>,
}

/// Opens the plan or step that the user points at.
pub(crate) fn open(address: &str) -> Result<Opened, Failure> {
    let project::Address { plan: path, step } = here()?.address(address)?;
    let project = project_of(&path)?;
    match store::read(&path, &shown(&path), project.config.limits.plan_bytes).map_err(Failure::from)? {
        Text::Plan(source) => Ok(Opened { path, project, source, step }),
        Text::Unreadable(unreadable) => {
            let failure = Failure::new(Exit::No, format!("{}: {}", shown(&path), unreadable.diagnostic.message));
            Err(match unreadable.diagnostic.help {
                Some(help) => failure.hint(help),
                None => failure,
            })
        }
    }
}

impl From<project::Error> for Failure {
    fn from(error: project::Error) -> Self {
        let failure = |exit| Self::from_error(exit, &error);
        match &error {
            project::Error::Config(_) => failure(Exit::Usage),
            project::Error::Store(store) => of_store(store),
            project::Error::Process(_) | project::Error::Search { .. } | project::Error::Stream { .. } => {
                failure(Exit::Machine)
            }
            project::Error::NoPlan { meant: Some(meant), .. } => failure(Exit::Usage).hint(format!("did you mean `{meant}`?")),
            project::Error::NoPlan { .. } => failure(Exit::Usage)
                .hint("a plan is a markdown file whose frontmatter says `type: plan`")
                .next(Next::new(["planwright", "list"])),
            project::Error::Ambiguous { plans, .. } => {
                let plans: Vec<String> = plans.iter().map(|plan| shown(plan)).collect();
                failure(Exit::Usage).hint(format!("say which one: {}", plans.join(", ")))
            }
        }
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        of_store(&error)
    }
}

fn of_store(error: &store::Error) -> Failure {
    match error {
        store::Error::Missing { .. } => Failure::from_error(Exit::Usage, error).next(Next::new(["planwright", "list"])),
        store::Error::NotAFile { .. } => Failure::from_error(Exit::Usage, error).hint("name a plan file"),
        store::Error::Exists { .. } => Failure::from_error(Exit::Usage, error).hint("choose another name; nothing was written"),
        store::Error::Restless { .. } | store::Error::Moved { .. } => {
            Failure::from_error(Exit::Moved, error).hint("look at it again; nothing was written")
        }
        store::Error::Read { .. } | store::Error::Write { .. } => Failure::from_error(Exit::Machine, error),
    }
}

impl From<config::Error> for Failure {
    fn from(error: config::Error) -> Self {
        Self::from_error(Exit::Usage, &error)
    }
}

/// Says that a change was refused.
pub(crate) fn refused(path: &Path, refusal: &Refusal) -> Failure {
    Failure::new(Exit::No, format!("{} was left as it is", shown(path))).because(refusal)
}
