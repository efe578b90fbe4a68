//! Worktrees: one working copy of the repository per plan. Creates, finds, provisions and removes them. Never
//! removes anything that would be lost: core decides from the facts gathered here, and they are checked again
//! once the directory is out of everyone's reach.

mod add;
mod sibling;
mod provision;
mod copy_ignored;
mod intent;
mod stack;
mod inspect;
mod marker;
mod git_dir;
mod user_made;
mod ports;
mod remove;
mod setup_script;

use std::io;
use std::path::{Path, PathBuf};

use planwright_core::workspace::worktree;
use planwright_core::workspace::worktree::{
    BadName, CreatedBy, KeepReason, PruneDecision, WorktreeFacts, WorktreeFolder, WorktreeState, typed,
};

pub use add::{AddOptions, AddedWorktree};
pub use ports::environment;
pub(super) use ports::lease;
pub use provision::{Furnished, Setup, furnish};
pub use remove::{Pruned, Removed};
pub use setup_script::{ScriptRun, digest as script_digest};
pub use stack::UnmergedPlan;

use crate::config::WorktreeScript;
use crate::git::base;
use crate::git::repository;
use crate::git::repository::OwnedRefs;
use crate::store::journal;
use crate::store::worktree_registry;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::store::{plan_file, state_dir};
use crate::system::process;
use crate::workspace::active_plan;
use crate::workspace::project;
use crate::workspace::project::Project;
use inspect::WorktreeInspection;
use intent::{WorktreeIntent, WorktreeIntents};

/// The file that leads people from a worktree back to its workspace, relative to the root of the project in
/// it.
pub const POINTER: &str = ".planwright/tree.md";
/// Their directory, below the user's data directory.
const FOLDER: &str = "planwright/trees";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Repositories(#[from] crate::workspace::repository_set::Error),
    #[error("cannot use the state directory")]
    State(#[from] state_dir::Error),
    #[error(transparent)]
    Base(#[from] base::Error),
    #[error(transparent)]
    Keep(#[from] repository::Error),
    #[error("cannot run git")]
    Process(#[from] process::Error),
    #[error("cannot access the journal")]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error(transparent)]
    Binding(#[from] active_plan::Error),
    #[error("cannot use the workspace that this worktree belongs to")]
    Project(#[source] Box<project::Error>),
    #[error("cannot use {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("invalid file pattern `{pattern}`")]
    Pattern {
        pattern: String,
        #[source]
        source: ignore::Error,
    },
    #[error("cannot reserve {count} {}: {free} free in {min}-{max}", if *count == 1 { "port" } else { "ports" })]
    Ports {
        /// Requested.
        count: usize,
        /// Available.
        free: usize,
        min: u16,
        max: u16,
    },
    #[error(transparent)]
    Name(#[from] BadName),
    #[error("worktree `{name}` not found")]
    NoTree {
        name: String,
        /// What was probably meant.
        meant: Option<String>,
    },
    #[error("worktree `{name}` belongs to another plan: {}", plan.display())]
    Taken { name: String, plan: PathBuf },
    /// The plan has a worktree of another name.
    #[error("{} already has a worktree: `{name}`", plan.display())]
    HasTree { name: String, plan: PathBuf },
    #[error("{} already exists and was not created by planwright", path.display())]
    InTheWay { path: PathBuf },
    #[error("worktree `{name}` is in use by another planwright")]
    AtWork { name: String },
    #[error("{} is outside {}", plan.display(), root.display())]
    Elsewhere { plan: PathBuf, root: PathBuf },
    /// The directory for worktrees is not usable.
    #[error("cannot create worktrees in {}: {why}", folder.display())]
    Misplaced {
        /// As set.
        folder: PathBuf,
        why: &'static str,
    },
    #[error("commit `{revision}` not found")]
    NoCommit { revision: String },
    /// The plan already has a branch, which starts elsewhere.
    #[error("branch `{branch}` already exists at {commit}")]
    HasBranch { branch: String, commit: String },
    /// A directory without a readable git directory.
    #[error("{} has no git directory of its own", path.display())]
    NoGit { path: PathBuf },
    /// A worktree contains something that its commits cannot.
    #[error("{} contains another repository", path.join(folder).display())]
    Another { path: PathBuf, folder: PathBuf },
    /// The base of a worktree is no longer in the user's repository.
    #[error("{} is at {commit}, which no reference in the repository reaches", path.display())]
    NoBase { path: PathBuf, commit: String },
    /// Kept, because something would be lost.
    #[error("kept worktree `{name}`: {why}")]
    Kept { name: String, path: PathBuf, why: KeepReason },
    /// Kept, because the teardown failed.
    #[error("kept worktree `{name}`: its teardown failed: {how}")]
    TearDown { name: String, how: String, said: String },
    /// Kept, because the teardown is not allowed.
    #[error("kept worktree `{name}`: its teardown command in planwright.toml is not allowed yet")]
    Unallowed { name: String, command: Vec<String> },
}

/// The plan of the worktree around a project; `None` if the project is not in a plan's worktree. Nothing in
/// the worktree can influence it.
pub fn plan_of(root: &Path) -> Result<Option<PathBuf>, Error> {
    Ok(repository::tree_around(root)?.and_then(|tree| tree.plan).map(|plan| root.join(plan)))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeFinding {
    pub name: String,
    /// The top of the working copy.
    pub path: PathBuf,
    pub maker: CreatedBy,
    /// Relative to the root of the project.
    pub plan: Option<PathBuf>,
    /// The branch that receives its work.
    pub branch: Option<String>,
    pub ports: Vec<u16>,
    pub state: WorktreeState,
    pub bytes: u64,
    /// The last change in it, in milliseconds since 1970; `None` if unknown.
    pub changed_at_ms: Option<u64>,
    /// Whether it may be removed.
    pub reclaim: PruneDecision,
    /// The command that fixes a problem, if there is one.
    pub mend: Option<String>,
}

pub struct Worktrees {
    /// The project they belong to: never one in a worktree.
    project: Project,
    /// Where the user is, which may be a worktree.
    here: PathBuf,
    keep: OwnedRefs,
    folder: PathBuf,
    states: PathBuf,
    notes: WorktreeIntents,
}

impl Worktrees {
    /// The project that the worktrees belong to: that of the workspace, even from within a worktree.
    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    /// The worktrees of a project's repository. A project in a worktree has those of the workspace it belongs
    /// to.
    pub fn of(project: &Project) -> Result<Self, Error> {
        let here = project.root.clone();
        let project = match repository::tree_around(&project.root)? {
            None => project.clone(),
            Some(tree) => {
                let part = here.strip_prefix(&tree.path).unwrap_or(Path::new(""));
                let origin = Project::find(&tree.origin.join(part));
                origin.map_err(|error| Error::Project(Box::new(error)))?
            }
        };
        let keep = OwnedRefs::of(&project.root)?;
        let states = state_dir::of_project(&project.root)?;
        let folder = folder_for(&project, &keep, &states)?;
        let notes = WorktreeIntents::of(&states);
        Ok(Self { project, here, keep, folder, states, notes })
    }

    /// Their directory, which need not exist yet.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The root of the project in a worktree.
    pub fn place(&self, tree: &Path) -> PathBuf {
        within(tree, self.keep.part())
    }

    /// The setup command of new worktrees, if the user has yet to allow it.
    pub fn unallowed_setup(&self) -> Result<Option<&WorktreeScript>, Error> {
        self.unallowed(&self.project.config.worktree.setup)
    }

    /// The same for the teardown command.
    pub fn unallowed_teardown(&self) -> Result<Option<&WorktreeScript>, Error> {
        self.unallowed(&self.project.config.worktree.teardown)
    }

    fn unallowed<'a>(&self, script: &'a WorktreeScript) -> Result<Option<&'a WorktreeScript>, Error> {
        Ok((!setup_script::is_allowed(&self.project.root, script)?).then_some(script))
    }

    /// Records that the user has allowed exactly this command in the worktrees of this repository.
    pub fn allow(&self, script: &WorktreeScript) -> Result<(), Error> {
        setup_script::allow(&self.project.root, script)
    }

    /// The registered worktrees of this repository and this part of it, by name.
    fn known(&self) -> Vec<RegisteredWorktree> {
        let mut known = worktree_registry::trees();
        // Other parts of the repository have their own worktrees, and so have the attempts of runs.
        let is_here = |tree: &RegisteredWorktree| {
            let above = tree.path.parent().and_then(Path::file_name);
            above == self.states.file_name() || above.is_some_and(|above| sibling::is_site(above, &tree.name))
        };
        known.retain(|tree| tree.repository == self.keep.common() && is_here(tree));
        known.sort_by(|one, other| one.name.cmp(&other.name));
        known
    }

    pub fn find(&self, name: &str) -> Result<RegisteredWorktree, Error> {
        let known = self.known();
        let by_name = known.iter().find(|tree| tree.name == name);
        let by_plan =
            || known.iter().find(|tree| tree.plan.as_ref().is_some_and(|plan| plan_file::name(plan) == name));
        match by_name.or_else(by_plan) {
            Some(tree) => Ok(tree.clone()),
            None => {
                let names = known.iter().map(|tree| tree.name.as_str());
                let meant = planwright_core::syntax::nearest::nearest(name, names).map(str::to_owned);
                Err(Error::NoTree { name: name.to_owned(), meant })
            }
        }
    }

    pub fn is_there(&self, tree: &RegisteredWorktree) -> bool {
        self.place(&tree.path).is_dir()
    }

    /// Whether a worktree is incomplete: its creation was interrupted, or its setup failed.
    pub fn is_unfinished(&self, name: &str) -> bool {
        self.notes.get(name) == Some(WorktreeIntent::Add)
    }

    /// Inspects one worktree.
    pub fn look_at(&self, tree: &RegisteredWorktree) -> Result<WorktreeFinding, Error> {
        let look = WorktreeInspection::of(&self.project, &self.keep)?;
        Ok(self.finding(tree, &look.facts(tree, &tree.path)?))
    }

    /// Inspects every worktree: registered ones, unregistered directories among them, and git's own.
    pub fn inspect(&self) -> Result<Vec<WorktreeFinding>, Error> {
        let look = WorktreeInspection::of(&self.project, &self.keep)?;
        let mut findings = Vec::new();
        let known = self.known();
        for tree in &known {
            let facts = look.facts_or_doubt(tree)?;
            findings.push(self.finding(tree, &facts));
        }
        for path in self.strangers(&known)? {
            let facts = look.facts_of_stranger(&path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            findings.push(found((name, path), None, &facts));
        }
        for plain in user_made::worktrees(self.keep.common())? {
            let facts = look.facts_of_plain(&plain.path)?;
            let name = plain.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut finding = found((name, plain.path), None, &facts);
            finding.branch = plain.branch;
            findings.push(finding);
        }
        Ok(findings)
    }

    fn finding(&self, tree: &RegisteredWorktree, facts: &WorktreeFacts) -> WorktreeFinding {
        let mut finding = found((tree.name.clone(), tree.path.clone()), Some(tree), facts);
        let plan = tree.plan.as_ref().map(|plan| plan.to_string_lossy());
        if let (true, Some(plan), true) =
            (self.is_unfinished(&tree.name), plan, worktree::state(facts) == WorktreeState::Active)
        {
            finding.mend = Some(typed(&["planwright", "worktree", "add", &plan]));
        }
        finding
    }

    /// Unregistered entries in the directory of worktrees.
    fn strangers(&self, known: &[RegisteredWorktree]) -> Result<Vec<PathBuf>, Error> {
        let entries = match self.folder.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::File { path: self.folder.clone(), source }),
        };
        let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        found.retain(|path| known.iter().all(|tree| tree.path != *path));
        // What is being created or removed belongs to the process that does it, or to the next one that
        // finishes it.
        let busy = self.notes.all();
        found.retain(|path| {
            !busy.iter().any(|(name, _)| [self.staging(name), self.aside(name)].contains(path))
        });
        found.sort();
        Ok(found)
    }

    /// Where a worktree is created before it is complete.
    fn staging(&self, name: &str) -> PathBuf {
        self.folder.join(format!(".planting-{name}"))
    }

    /// Where a worktree is moved before its removal.
    fn aside(&self, name: &str) -> PathBuf {
        self.folder.join(format!(".removed-{name}"))
    }
}

fn found(
    (name, path): (String, PathBuf),
    tree: Option<&RegisteredWorktree>,
    facts: &WorktreeFacts,
) -> WorktreeFinding {
    let (state, reclaim) = (worktree::state(facts), worktree::prune(facts));
    let (bytes, changed) = match facts.folder {
        WorktreeFolder::There => inspect::measure(&path),
        WorktreeFolder::Absent | WorktreeFolder::Other => (0, 0),
    };
    let mend = mend(&path, facts, &reclaim);
    WorktreeFinding {
        name,
        path,
        maker: facts.maker,
        plan: tree.and_then(|tree| tree.plan.clone()),
        branch: tree.and_then(|tree| tree.branch.clone()),
        ports: tree.map(|tree| tree.ports.clone()).unwrap_or_default(),
        state,
        bytes,
        changed_at_ms: Some(changed).filter(|changed| *changed > 0),
        reclaim,
        mend,
    }
}

/// The command that fixes a finding.
fn mend(path: &Path, facts: &WorktreeFacts, reclaim: &PruneDecision) -> Option<String> {
    let marker = path.join(marker::MARKER);
    match (worktree::state(facts), reclaim) {
        (WorktreeState::Active, _) => None,
        (_, PruneDecision::Kept { why: KeepReason::Beside(root) }) => {
            Some(format!("{} && planwright worktree prune", typed(&["cd", root])))
        }
        (WorktreeState::Orphaned, _) if facts.maker == CreatedBy::Git => {
            Some(typed(&["git", "worktree", "prune"]))
        }
        (WorktreeState::Dangling, _) => Some(typed(&["rm", &marker.to_string_lossy()])),
        (WorktreeState::Merged | WorktreeState::Orphaned, PruneDecision::Safe) => {
            Some(typed(&["planwright", "worktree", "prune"]))
        }
        (WorktreeState::Merged | WorktreeState::Orphaned, PruneDecision::Kept { .. }) => {
            // Not git: where agents can write, it runs what they configured.
            Some(typed(&["cd", &path.to_string_lossy()]))
        }
    }
}

/// A path below a directory; the directory itself for an empty part. A trailing separator would make another
/// path when compared by bytes.
pub(crate) fn within(folder: &Path, part: &Path) -> PathBuf {
    if part.as_os_str().is_empty() { folder.to_owned() } else { folder.join(part) }
}

/// The directory for the worktrees of all repositories, as set.
pub(crate) fn home(project: &Project) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = || {
        let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
        data.unwrap_or_else(std::env::temp_dir).join(FOLDER)
    };
    match &project.config.worktree.folder {
        None => usual(),
        Some(said) => match (said.strip_prefix("~"), set("HOME")) {
            (Ok(rest), Some(home)) => home.join(rest),
            (Ok(_), None) | (Err(_), _) => said.clone(),
        },
    }
}

/// The directory for the worktrees of one repository: a subdirectory of the common one.
fn folder_for(project: &Project, keep: &OwnedRefs, states: &Path) -> Result<PathBuf, Error> {
    let folder = home(project);
    let misplaced = |why| Error::Misplaced { folder: folder.clone(), why };
    if !folder.is_absolute() {
        return Err(misplaced("the path must be absolute"));
    }
    let folder = real(&folder).map_err(|source| Error::File { path: folder.clone(), source })?;
    if folder.starts_with(keep.top()) {
        // Whoever works in the workspace would work in all of them, and their files would be files of the
        // workspace.
        return Err(misplaced("it is inside the workspace"));
    }
    Ok(folder.join(states.file_name().unwrap_or_default()))
}

/// A path with links resolved, as far as it exists.
fn real(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => Ok(real(above)?.join(name)),
            (_, None) | (None, _) => Err(error),
        },
        found => found,
    }
}
