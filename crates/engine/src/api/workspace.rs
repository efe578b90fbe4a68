//! A project as a front end sees it: the only way to its plans, its runs and its record.

use std::path::{Path, PathBuf};

use planwright_core::dialect;
use planwright_core::dialect::Dialect;
use planwright_core::syntax::nearest;

use crate::agent::submission;
use crate::api::caller::Caller;
use crate::api::error::{Error, ErrorKind};
use crate::api::notify::Notifications;
use crate::workspace::active_plan;
use crate::workspace::project;
use crate::workspace::project::Project;

/// How workspaces are opened in this process.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Settings (`KEY=VALUE`) that win over files and environment.
    pub overrides: Vec<String>,
    /// The dialect of plans; otherwise it is detected.
    pub dialect: Option<&'static Dialect>,
    pub(crate) caller: Caller,
    /// Who tells the user's hooks what is recorded, if this process records anything.
    pub notifications: Option<Notifications>,
}

impl OpenOptions {
    pub fn new(overrides: Vec<String>, dialect: Option<&str>) -> Result<Self, Error> {
        let dialect = dialect.map(dialect_named).transpose()?;
        Ok(Self { overrides, dialect, caller: Caller::of_process(), notifications: None })
    }

    /// The same for an agent that calls over the protocol `variable`, whoever started this process.
    #[must_use]
    pub fn for_agent(&self, name: &str, variable: &str) -> Self {
        let caller = Caller::Agent { name: name.to_owned(), variable: variable.to_owned() };
        Self { caller, ..self.clone() }
    }
}

/// One project, its settings, and who asks.
#[derive(Debug, Clone)]
pub struct Workspace {
    project: Project,
    options: OpenOptions,
}

impl Workspace {
    /// The project that contains the current directory.
    pub fn open(options: &OpenOptions) -> Result<Self, Error> {
        Self::open_for(Path::new("."), options)
    }

    /// The project of a directory that somebody names.
    pub fn open_in(folder: &Path, options: &OpenOptions) -> Result<Self, Error> {
        let project = Project::find_in(folder, &options.overrides)?;
        Ok(Self { project, options: options.clone() })
    }

    /// The project that a plan belongs to, which need not be the one of the current directory.
    pub fn open_for(plan: &Path, options: &OpenOptions) -> Result<Self, Error> {
        let find = |start: &Path| -> Result<Project, Error> {
            Ok(Project { dialect: options.dialect, ..Project::find_with(start, &options.overrides)? })
        };
        let mut project = find(&project::home_of(plan)?)?;
        if project::root_of(Path::new("."))? != project.root {
            // The `.harness` directory may be in another repository, whose plans are about this one.
            let here = find(Path::new("."))?;
            project = if active_plan::holds(&here, plan) { here } else { project };
        }
        if let Some(notifications) = &options.notifications {
            notifications.watch(&project);
        }
        Ok(Self { project, options: options.clone() })
    }

    /// The same project with another limit for the size of plans.
    #[must_use]
    pub(crate) fn with_plan_bytes(mut self, bytes_max: usize) -> Self {
        self.project.config.limits.plan_bytes = bytes_max;
        self
    }

    pub fn root(&self) -> &Path {
        &self.project.root
    }

    pub fn caller(&self) -> &Caller {
        &self.options.caller
    }

    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// The file of the plan that an agent names.
    pub fn plan_of_agent(&self, id: &str) -> Result<PathBuf, Error> {
        submission::named(&self.project, id).map_err(|error| Error::from_error(ErrorKind::Usage, &error))
    }

    pub(crate) fn project(&self) -> &Project {
        &self.project
    }
}

/// The dialect with this name.
pub fn dialect_named(name: &str) -> Result<&'static Dialect, Error> {
    dialect::named(name).ok_or_else(|| {
        let names: Vec<&str> = dialect::DIALECTS.iter().map(|dialect| dialect.name).collect();
        let error = Error::new(ErrorKind::Usage, format!("unknown dialect `{name}`"));
        match nearest::nearest(name, names.iter().copied()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint(format!("the dialects are {}", names.join(", "))),
        }
    })
}
