//! Trees: working copies of the repository, one for a plan. Makes, finds, furnishes and removes them. Nothing is ever removed that
//! would be lost: core decides that by what is found here, and it is looked at once more when the folder is out of reach.

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
use planwright_core::workspace::worktree::{BadName, Facts, Folder, Maker, Reclaim, State, Why, typed};

pub use add::{Added, Wish};
pub use ports::{Lease, environment, lend};
pub use provision::{Furnished, Setup, furnish};
pub use remove::{Pruned, Removed};
pub use setup_script::{Ran, digest as script_digest};

use crate::config::Script;
use crate::git::base;
use crate::git::repository;
use crate::git::repository::Keep;
use crate::store::journal;
use crate::store::worktree_registry;
use crate::store::worktree_registry::Tree;
use crate::store::{plan_file, state_dir};
use crate::system::process;
use crate::workspace::active_plan;
use crate::workspace::project;
use crate::workspace::project::Project;
use inspect::Look;
use intent::{Intent, Notes};

/// The file by which people find back into a tree, from the root of the project in it.
pub const POINTER: &str = ".planwright/tree.md";
/// Where trees are, below the folder for the user's data.
const FOLDER: &str = "planwright/trees";

/// What can go wrong with trees.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repositories that a plan works in.
    #[error(transparent)]
    Repositories(#[from] crate::workspace::repository_set::Error),
    /// The state folder or the registry.
    #[error("the state folder can't be used")]
    State(#[from] state_dir::Error),
    #[error(transparent)]
    Base(#[from] base::Error),
    /// The user's repository, where work is kept.
    #[error(transparent)]
    Keep(#[from] repository::Error),
    /// Git can't be asked.
    #[error("git cannot be asked")]
    Process(#[from] process::Error),
    #[error("the journal failed")]
    Journal(#[from] journal::Error),
    /// A file can't be written.
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    /// The marker can't be written.
    #[error(transparent)]
    Binding(#[from] active_plan::Error),
    /// The project that a tree belongs to.
    #[error("the workspace that this tree belongs to can't be used")]
    Project(#[source] Box<project::Error>),
    /// A file or folder can't be read, copied or removed.
    #[error("cannot use {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A pattern of what is copied is none.
    #[error("`{pattern}` is no pattern of files to copy")]
    Pattern {
        pattern: String,
        #[source]
        source: ignore::Error,
    },
    /// There are not enough ports.
    #[error("a tree is to have {count} ports, and only {free} from {min} to {max} are free")]
    Ports {
        /// How many it is to have.
        count: usize,
        /// How many there are.
        free: usize,
        min: u16,
        max: u16,
    },
    /// That is no name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// No tree is called so.
    #[error("there is no tree `{name}`")]
    NoTree {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        meant: Option<String>,
    },
    /// The name is another plan's.
    #[error("the tree `{name}` belongs to another plan: {}", plan.display())]
    Taken { name: String, plan: PathBuf },
    /// The plan has a tree of another name.
    #[error("{} has its tree already: `{name}`", plan.display())]
    HasTree { name: String, plan: PathBuf },
    /// Something lies where the tree is to be.
    #[error("{} is in the way: planwright did not put it there", path.display())]
    InTheWay { path: PathBuf },
    /// Somebody else is at it.
    #[error("another planwright is at the tree `{name}`")]
    AtWork { name: String },
    /// The plan lies outside of the workspace.
    #[error("{} lies outside of {}", plan.display(), root.display())]
    Elsewhere {
        plan: PathBuf,
        /// The root of the project.
        root: PathBuf,
    },
    /// The folder for trees can't be one.
    #[error("trees can't be in {}: {why}", folder.display())]
    Misplaced {
        /// The folder that the settings say.
        folder: PathBuf,
        why: &'static str,
    },
    /// There is no such commit, or none at all.
    #[error("there is no commit `{revision}` in the repository")]
    NoCommit {
        /// What was asked for.
        revision: String,
    },
    /// The plan has a branch already, which begins elsewhere.
    #[error("the branch `{branch}` is there already, at {commit}")]
    HasBranch { branch: String, commit: String },
    /// A folder has no git folder that can be read.
    #[error("{} has no git folder of its own", path.display())]
    NoGit { path: PathBuf },
    /// Something lies in a tree that no commit of it can hold.
    #[error("another repository lies in {}", path.join(folder).display())]
    Another { path: PathBuf, folder: PathBuf },
    /// What a tree began with is not in the user's repository any more.
    #[error("{} stands on {commit}, which no reference of the repository leads to", path.display())]
    NoBase { path: PathBuf, commit: String },
    /// The tree stays, because something would be lost.
    #[error("the tree `{name}` stays: {why}")]
    Kept { name: String, path: PathBuf, why: Why },
    /// The tear-down did not go well, so the tree stays.
    #[error("the tree `{name}` stays: its tear-down failed, {how}")]
    TearDown { name: String, how: String, said: String },
    /// The tear-down may not be run, so the tree stays.
    #[error("the tree `{name}` stays: nobody has allowed its tear-down, which only planwright.toml says")]
    Unallowed { name: String, command: Vec<String> },
}

/// The plan that the tree around a project is for; `None` where the project lies in no tree of a plan. Nothing in the tree has a say
/// in it.
pub fn plan_of(root: &Path) -> Result<Option<PathBuf>, Error> {
    Ok(repository::tree_around(root)?.and_then(|tree| tree.plan).map(|plan| root.join(plan)))
}

/// What was found about one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is called.
    pub name: String,
    /// Its folder: the top of the working copy.
    pub path: PathBuf,
    pub maker: Maker,
    /// The plan that it is for, from the root of the project.
    pub plan: Option<PathBuf>,
    /// The branch that its work goes to.
    pub branch: Option<String>,
    pub ports: Vec<u16>,
    /// The state that it is in.
    pub state: State,
    /// How many bytes it takes.
    pub bytes: u64,
    /// When something in it changed last, in milliseconds since 1970; `None`: nobody can tell.
    pub changed_at_ms: Option<u64>,
    /// Whether it may be reclaimed.
    pub reclaim: Reclaim,
    /// The command that mends it, where something is to be mended.
    pub mend: Option<String>,
}

/// The trees of one repository.
pub struct Trees {
    /// The project that they belong to: never one in a tree.
    project: Project,
    /// Where the user stands, which may be a tree.
    here: PathBuf,
    keep: Keep,
    /// The folder that the trees are in.
    folder: PathBuf,
    states: PathBuf,
    notes: Notes,
}

impl Trees {
    /// The trees of the repository that a project is in. A project in a tree has those of the workspace that it belongs to.
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
        let keep = Keep::of(&project.root)?;
        let states = state_dir::folder_of(&state_dir::folder(), &project.root)?;
        let folder = folder_for(&project, &keep, &states)?;
        let notes = Notes::of(&states);
        Ok(Self { project, here, keep, folder, states, notes })
    }

    /// The folder that they are in, which need not be there yet.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The root of the project in a tree.
    pub fn place(&self, tree: &Path) -> PathBuf {
        within(tree, self.keep.part())
    }

    /// The set-up that is run in new trees, if a person has yet to allow it.
    pub fn unallowed_setup(&self) -> Result<Option<&Script>, Error> {
        self.unallowed(&self.project.config.worktree.setup)
    }

    /// The same of the tear-down.
    pub fn unallowed_teardown(&self) -> Result<Option<&Script>, Error> {
        self.unallowed(&self.project.config.worktree.teardown)
    }

    fn unallowed<'a>(&self, script: &'a Script) -> Result<Option<&'a Script>, Error> {
        Ok((!setup_script::is_allowed(&self.project.root, script)?).then_some(script))
    }

    /// Notes that a person has allowed exactly this command line in the trees of this repository.
    pub fn allow(&self, script: &Script) -> Result<(), Error> {
        setup_script::allow(&self.project.root, script)
    }

    /// The trees that are registered for this repository and this part of it, by name.
    fn known(&self) -> Vec<Tree> {
        let mut known = worktree_registry::trees();
        // Another part of the repository has trees of its own, and so have the attempts of runs.
        let is_here = |tree: &Tree| {
            let above = tree.path.parent().and_then(Path::file_name);
            above == self.states.file_name() || above.is_some_and(|above| sibling::is_site(above, &tree.name))
        };
        known.retain(|tree| tree.repository == self.keep.common() && is_here(tree));
        known.sort_by(|one, other| one.name.cmp(&other.name));
        known
    }

    /// The tree of this name.
    pub fn find(&self, name: &str) -> Result<Tree, Error> {
        let known = self.known();
        let by_name = known.iter().find(|tree| tree.name == name);
        let by_plan =
            || known.iter().find(|tree| tree.plan.as_ref().is_some_and(|plan| project::name(plan) == name));
        match by_name.or_else(by_plan) {
            Some(tree) => Ok(tree.clone()),
            None => {
                let names = known.iter().map(|tree| tree.name.as_str());
                let meant = planwright_core::syntax::nearest::nearest(name, names).map(str::to_owned);
                Err(Error::NoTree { name: name.to_owned(), meant })
            }
        }
    }

    /// Whether the folder of a tree is there.
    pub fn is_there(&self, tree: &Tree) -> bool {
        self.place(&tree.path).is_dir()
    }

    /// Whether a tree was never finished: its maker died, or its set-up did not go well.
    pub fn is_unfinished(&self, name: &str) -> bool {
        self.notes.get(name) == Some(Intent::Add)
    }

    /// Looks at one tree.
    pub fn look_at(&self, tree: &Tree) -> Result<Finding, Error> {
        let look = Look::of(&self.project, &self.keep)?;
        Ok(self.finding(tree, &look.facts(tree, &tree.path)?))
    }

    /// Looks at every tree: those that are registered, folders among them that nobody registered, and worktrees of git.
    pub fn inspect(&self) -> Result<Vec<Finding>, Error> {
        let look = Look::of(&self.project, &self.keep)?;
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

    fn finding(&self, tree: &Tree, facts: &Facts) -> Finding {
        let mut finding = found((tree.name.clone(), tree.path.clone()), Some(tree), facts);
        let plan = tree.plan.as_ref().map(|plan| plan.to_string_lossy());
        if let (true, Some(plan), true) =
            (self.is_unfinished(&tree.name), plan, worktree::state(facts) == State::Active)
        {
            finding.mend = Some(typed(&["planwright", "worktree", "add", &plan]));
        }
        finding
    }

    /// What lies among the trees and is registered for nobody.
    fn strangers(&self, known: &[Tree]) -> Result<Vec<PathBuf>, Error> {
        let entries = match self.folder.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::File { path: self.folder.clone(), source }),
        };
        let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        found.retain(|path| known.iter().all(|tree| tree.path != *path));
        // What is being made or removed belongs to whoever is at it, or to the next one who settles it.
        let busy = self.notes.all();
        found.retain(|path| {
            !busy.iter().any(|(name, _)| [self.staging(name), self.aside(name)].contains(path))
        });
        found.sort();
        Ok(found)
    }

    /// Where a tree is made, before it is whole.
    fn staging(&self, name: &str) -> PathBuf {
        self.folder.join(format!(".planting-{name}"))
    }

    /// Where a tree is put that is removed.
    fn aside(&self, name: &str) -> PathBuf {
        self.folder.join(format!(".removed-{name}"))
    }
}

fn found((name, path): (String, PathBuf), tree: Option<&Tree>, facts: &Facts) -> Finding {
    let (state, reclaim) = (worktree::state(facts), worktree::reclaim(facts));
    let (bytes, changed) = match facts.folder {
        Folder::There => inspect::measure(&path),
        Folder::Absent | Folder::Other => (0, 0),
    };
    let mend = mend(&path, facts, &reclaim);
    Finding {
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

/// The command that mends what was found.
fn mend(path: &Path, facts: &Facts, reclaim: &Reclaim) -> Option<String> {
    let marker = path.join(marker::MARKER);
    match (worktree::state(facts), reclaim) {
        (State::Active, _) => None,
        (_, Reclaim::Kept { why: Why::Beside(root) }) => {
            Some(format!("{} && planwright worktree prune", typed(&["cd", root])))
        }
        (State::Orphaned, _) if facts.maker == Maker::Git => Some(typed(&["git", "worktree", "prune"])),
        (State::Dangling, _) => Some(typed(&["rm", &marker.to_string_lossy()])),
        (State::Merged | State::Orphaned, Reclaim::Safe) => Some(typed(&["planwright", "worktree", "prune"])),
        (State::Merged | State::Orphaned, Reclaim::Kept { .. }) => {
            // Not git: in a folder that agents write to it runs what they configured.
            Some(typed(&["cd", &path.to_string_lossy()]))
        }
    }
}

/// A part of a folder; the folder itself where the part is all of it. A path that ends with a separator is another one to whoever
/// compares by bytes.
pub(crate) fn within(folder: &Path, part: &Path) -> PathBuf {
    if part.as_os_str().is_empty() { folder.to_owned() } else { folder.join(part) }
}

/// The folder for the trees of all repositories, as the settings say it.
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

/// The folder for the trees of a repository: one of its own in the folder for all of them.
fn folder_for(project: &Project, keep: &Keep, states: &Path) -> Result<PathBuf, Error> {
    let folder = home(project);
    let misplaced = |why| Error::Misplaced { folder: folder.clone(), why };
    if !folder.is_absolute() {
        return Err(misplaced("say an absolute path"));
    }
    let folder = real(&folder).map_err(|source| Error::File { path: folder.clone(), source })?;
    if folder.starts_with(keep.top()) {
        // Whoever works in the workspace would work in all of them, and their files would be files of the workspace.
        return Err(misplaced("it is in the workspace"));
    }
    Ok(folder.join(states.file_name().unwrap_or_default()))
}

/// A path without links on the way, as far as it is there.
fn real(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => Ok(real(above)?.join(name)),
            (_, None) | (None, _) => Err(error),
        },
        found => found,
    }
}
