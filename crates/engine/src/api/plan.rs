//! One plan as it was read once: parsed and verified at most once, however much of it is asked for.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use planwright_core::plan::draft::Draft;
use planwright_core::plan::verified;
use planwright_core::syntax::source::{Detection, Source};
use planwright_core::verify;

use crate::api::error::{Error, ErrorKind};
use crate::api::format::STDIN_SHOWN;
use crate::api::input::STDIN;
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::workspace::Workspace;
use crate::approval::Approvals;
use crate::run::baseline;
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::project::{Address, Verified};

/// How many steps a hint names; a longer list helps nobody.
const STEPS_NAMED_MAX: usize = 12;

pub struct Plan {
    workspace: Workspace,
    path: PathBuf,
    source: Source,
    /// The step that was named with it, by its place.
    step: Option<usize>,
    /// Whether the file is there; otherwise proposing the plan writes it.
    is_written: bool,
    draft: OnceCell<Draft>,
    verified: OnceCell<Verified>,
}

impl Workspace {
    /// The plan, or a step of it, that the user points at: by path, name or the beginning of a name.
    pub fn plan(&self, address: &str) -> Result<Plan, Error> {
        let Address { plan: path, step } = self.project().address(address)?;
        let mut plan = self.plan_at(path)?;
        plan.step = step.map(|step| plan.find_step(&step)).transpose()?;
        Ok(plan)
    }

    /// The plan in this file, which may belong to another project.
    pub fn plan_at(&self, path: PathBuf) -> Result<Plan, Error> {
        let workspace = Self::open_for(&path, self.options())?;
        match plan_file::read(&path, &shown(&path), workspace.project().reading())? {
            FileText::Plan(source) => {
                let plan = Plan::written(workspace, path, source);
                // A record that can't be read is reported by who needs it.
                let is_finished = plan.finish_decision().unwrap_or_default();
                Ok(if is_finished { plan.read_again().unwrap_or(plan) } else { plan })
            }
            FileText::Unreadable(unreadable) => {
                let shown = shown(&path);
                let message = format!("{shown}: {}", unreadable.diagnostic.message);
                Err(Error::new(ErrorKind::Refused, message).next(NextCommand::new([
                    "planwright",
                    "verify",
                    shown.as_str(),
                ])))
            }
        }
    }
}

impl Plan {
    /// A plan of this project that is no file yet.
    pub(crate) fn unwritten(workspace: Workspace, path: PathBuf, source: Source) -> Self {
        let (draft, verified) = (OnceCell::new(), OnceCell::new());
        Self { workspace, path, source, step: None, is_written: false, draft, verified }
    }

    /// A plan of this project as it was read.
    pub(crate) fn written(workspace: Workspace, path: PathBuf, source: Source) -> Self {
        Self { is_written: true, ..Self::unwritten(workspace, path, source) }
    }

    /// Writes the last decision into the file if a process was killed before it could. Returns whether the file was written.
    fn finish_decision(&self) -> Result<bool, Error> {
        match Approvals::open_existing(self.workspace.project())? {
            Some(decisions) => Ok(decisions.finish(&self.path, &self.source)?),
            None => Ok(false),
        }
    }

    /// The plan as its file is now; `None` where that can't be read.
    pub(crate) fn read_again(&self) -> Option<Self> {
        match plan_file::read(&self.path, &self.shown(), self.workspace.project().reading()).ok()? {
            FileText::Plan(source) => Some(Self::written(self.workspace.clone(), self.path.clone(), source)),
            FileText::Unreadable(_) => None,
        }
    }

    /// The project that it belongs to.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn name(&self) -> String {
        plan_file::name(&self.path)
    }

    /// How its file is shown to people.
    pub fn shown(&self) -> String {
        shown(&self.path)
    }

    pub fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn is_written(&self) -> bool {
        self.is_written
    }

    /// The place of the step that was named with it.
    pub fn step(&self) -> Option<usize> {
        self.step
    }

    pub fn draft(&self) -> &Draft {
        self.draft.get_or_init(|| parse(&self.source))
    }

    /// Refuses a file that is no plan, as the checker does. What was recorded of a plan can still be read and undone
    /// after its file became something else.
    pub(crate) fn require_plan(&self) -> Result<(), Error> {
        require_plan(&self.source)
    }

    /// The plan and the checker's results, with what is known of its contracts before the work.
    pub fn verified(&self) -> Result<&Verified, Error> {
        if let Some(verified) = self.verified.get() {
            return Ok(verified);
        }
        let verified =
            baseline::verify_draft(self.workspace.project(), self.source.clone(), self.draft().clone())?;
        Ok(self.verified.get_or_init(|| verified))
    }

    /// The plan if its text has no errors, whatever the machine lacks.
    pub(crate) fn trusted(&self) -> Option<verified::Plan> {
        verify::trusted_draft(&self.source, self.draft())
    }

    /// The place of the step that `name` means: an id, a number, or the beginning of one id alone.
    pub fn find_step(&self, name: &str) -> Result<usize, Error> {
        self.find_step_as(name, &self.shown())
    }

    /// The same where people call the plan `called`.
    pub fn find_step_as(&self, name: &str, called: &str) -> Result<usize, Error> {
        find_step(self.draft(), name, called)
    }
}

/// Refuses a text that is no plan.
pub(crate) fn require_plan(source: &Source) -> Result<(), Error> {
    // A dialect that was detected or forced is not questioned, so nothing is parsed for it.
    if *source.told() != Detection::Nothing {
        return Ok(());
    }
    let Some(no_plan) = verify::no_plan(source, &parse(source)) else { return Ok(()) };
    let name = source.name();
    // What came from standard input is addressed by `-` alone.
    let typed = if name == STDIN_SHOWN { STDIN } else { name };
    let error = Error::new(ErrorKind::Refused, format!("{name} is not a plan in any known dialect"));
    Err(match no_plan.foreign {
        Some(foreign) => {
            error.hint(format!("this is {foreign}")).next(NextCommand::new(["planwright", "import", typed]))
        }
        None => error
            .hint("pass `--dialect NAME`, or start a plan with `planwright new`")
            .next(NextCommand::new(["planwright", "verify", typed])),
    })
}

/// The place of the step that `name` means in the plan `path`: an id, a number, or the beginning of one id alone.
pub fn find_step(draft: &Draft, name: &str, path: &str) -> Result<usize, Error> {
    let ids = verified::ids(draft);
    let mut near = ids.iter().enumerate().filter(|(_, id)| id.starts_with(name)).map(|(place, _)| place);
    let only = || near.next().filter(|_| near.next().is_none());
    verified::find_step(draft, &ids, name)
        .or_else(only)
        .ok_or_else(|| no_step(name, path, &ids.iter().map(String::as_str).collect::<Vec<_>>(), path))
}

/// Says that a plan, which people call `called`, has no such step, and which ones it has.
pub(crate) fn no_step(name: &str, called: &str, ids: &[&str], path: &str) -> Error {
    let known = match ids.len() {
        0 => "it has no steps".to_owned(),
        count if count > STEPS_NAMED_MAX => format!("it has {count} steps"),
        _ => format!("its steps are {}", ids.join(", ")),
    };
    Error::new(ErrorKind::Usage, format!("{called} has no step `{name}`"))
        .hint(known)
        .next(NextCommand::new(["planwright", "show", path]))
}
