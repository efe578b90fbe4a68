//! The named plans of a project, the one that this worktree uses, and its marker.

use std::path::{Path, PathBuf};

use planwright_core::dialect::named::{Slug, plan_file as file_of};
use planwright_core::workspace::active_plan::{Audience, MARKER, ResolvedBy};
use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::{hook, session};
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::workspace::{OpenOptions, Workspace};
use crate::store::plan_file;
use crate::workspace::active_plan;

/// Placeholder for a plan that the marker doesn't name.
const NOBODY: &str = "?";

/// The plan that this worktree uses.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActivePlanView {
    /// The file of the plan.
    pub plan: String,
    /// The file of its progress.
    pub progress: String,
    /// The slug of the plan; `None` for the one without a name.
    pub name: Option<String>,
    /// By what it was chosen: `argument`, `marker` or `default`.
    pub by: String,
    #[serde(skip)]
    pub resolved_by: ResolvedBy,
    /// How the file is shown to people.
    #[serde(skip)]
    pub shown: String,
    #[serde(skip)]
    pub is_there: bool,
}

/// What a worktree is bound to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BindingView {
    /// The slug of the plan that this worktree is bound to now.
    pub name: Option<String>,
    /// The file that says so, relative to the root of the project.
    pub marker: String,
    /// Whether anything was changed.
    pub changed: bool,
    /// The name of the plan's file.
    #[serde(skip)]
    pub file: Option<String>,
}

/// The named plans of a project.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct NamedPlansView {
    /// The `.harness` directory; `None` if it doesn't exist.
    pub folder: Option<String>,
    /// The plans: the one without a name first, then by name.
    pub plans: Vec<NamedPlanView>,
    /// The slug of the plan that this worktree is bound to.
    pub bound: Option<String>,
    /// Why the marker of this worktree leads to no plan.
    pub dangling: Option<String>,
    /// Conflict copies of sync services, ignored as plans.
    pub copies: Vec<String>,
    /// The session-start text.
    pub text: Option<String>,
    /// What the gate does not let through.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breaches: Vec<BreachView>,
    /// What the marker says, whether it leads to a plan or not.
    #[serde(skip)]
    pub marked: Option<String>,
}

/// One plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NamedPlanView {
    /// Its slug; `None` for the one without a name.
    pub name: Option<String>,
    /// Its file.
    pub plan: String,
    /// The file of its progress.
    pub progress: String,
}

/// One thing that the gate does not let through.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BreachView {
    /// `singleton`, `no-resolver`, `unasked`, `drift` or `missing`.
    pub kind: String,
    /// What it is.
    pub what: String,
    /// What helps.
    pub fix: String,
}

impl Workspace {
    /// The plan that this worktree uses; a slug wins over its marker.
    pub fn active_plan(&self, slug: Option<&str>) -> Result<ActivePlanView, Error> {
        let bound = active_plan::resolve(self.project(), slug.map_or(Audience::Any, Audience::New))?;
        Ok(ActivePlanView {
            plan: text(&bound.plan),
            progress: text(&bound.progress),
            name: bound.name.slug().map(Slug::to_string),
            by: bound.by.word().to_owned(),
            resolved_by: bound.by,
            shown: shown(&bound.plan),
            is_there: plan_file::is_there(&bound.plan),
        })
    }

    /// Has this worktree use a named plan.
    pub fn bind(&self, plan: &str) -> Result<BindingView, Error> {
        let bound = active_plan::resolve(self.project(), Audience::Old(plan))?;
        let Some(slug) = bound.name.slug() else {
            return Err(Error::new(ErrorKind::Usage, "PLAN.md has no name to use")
                .hint("commands without a plan use it when no named plan is chosen")
                .next(NextCommand::new(["planwright", "use", "--clear"])));
        };
        let old = active_plan::of_marker(self.project()).ok().flatten().map(|old| old.name);
        active_plan::write_marker(self.root(), slug)?;
        Ok(BindingView {
            name: Some(slug.to_string()),
            marker: MARKER.to_owned(),
            changed: old.as_ref() != Some(&bound.name),
            file: Some(file_of(Some(slug))),
        })
    }

    /// Has this worktree use no named plan.
    pub fn unbind(&self) -> Result<BindingView, Error> {
        let changed = active_plan::clear_marker(self.root())?;
        Ok(BindingView { name: None, marker: MARKER.to_owned(), changed, file: None })
    }

    /// A dangling marker is not an error here.
    pub fn named_plans(&self) -> Result<NamedPlansView, Error> {
        let listing = active_plan::list(self.project())?;
        let plans = listing.files().map(|(name, plan, progress)| NamedPlanView {
            name: name.slug().map(Slug::to_string),
            plan: text(&plan),
            progress: text(&progress),
        });
        let plans = plans.collect();
        let bound = listing.bound.as_ref();
        Ok(NamedPlansView {
            folder: Some(text(&listing.folder)),
            plans,
            bound: bound.and_then(|bound| bound.as_ref().ok()).map(Slug::to_string),
            dangling: bound.and_then(|bound| bound.as_ref().err()).map(ToString::to_string),
            marked: bound.map(|bound| match bound {
                Ok(slug) => slug.to_string(),
                Err(fault) => fault.slug().map_or(NOBODY, Slug::as_str).to_owned(),
            }),
            text: listing.told(),
            copies: listing.copies,
            breaches: Vec::new(),
        })
    }

    /// What would lead a worker to the wrong plan again; `words` are the words that mean a command.
    pub fn naming_breaches(&self, words: &[String]) -> Result<NamedPlansView, Error> {
        let breaches = active_plan::breaches(self.project(), words)?;
        let breaches = breaches.iter().map(|breach| BreachView {
            kind: breach.word().to_owned(),
            what: breach.to_string(),
            fix: breach.way_out(),
        });
        Ok(NamedPlansView { breaches: breaches.collect(), ..NamedPlansView::default() })
    }
}

/// The named plans as a starting session is told of them; its hook input names the folder if `root` does not. planwright's own
/// agents get no plan.
pub fn named_plans_of_session(root: Option<PathBuf>, options: &OpenOptions) -> Result<NamedPlansView, Error> {
    let said = hook::folder_in(&hook::read_request(hook::SESSION_PATIENCE));
    if session::is_attempt() {
        return Ok(NamedPlansView::default());
    }
    let root = root.or(said);
    Workspace::open_in(root.as_deref().unwrap_or(Path::new(".")), options)?.named_plans()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
