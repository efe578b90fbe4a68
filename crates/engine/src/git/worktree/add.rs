//! Creates the worktree of a plan. Every action is recorded before it happens and can be repeated, so the
//! same command finishes the job after a crash.

use std::path::{Path, PathBuf};

use planwright_core::dialect::named;
use planwright_core::workspace::worktree::{WorktreeName, WorktreePointer};

use super::inspect::{folder_at, is_same, progress_of};
use super::intent::WorktreeIntent;
use super::provision;
use super::provision::{Furnished, Setup, furnish};
use super::setup_script::ScriptRun;
use super::stack::UnmergedPlan;
use super::{Error, POINTER, Worktrees, copy_ignored, marker};
use crate::git::base;
use crate::git::checkout::{Checkout, Content, History, Lifetime, Objects};
use crate::git::repository;
use crate::git::repository::{BRANCH_PREFIX, OwnedRefs};
use crate::store::temp_dir;
use crate::store::worktree_registry;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::store::{plan_file, state_dir};
use crate::system::clock;
use crate::system::process;
use crate::workspace::active_plan;

#[derive(Debug, Clone, Copy)]
pub struct AddOptions<'a> {
    pub plan: &'a Path,
    /// `None`: named after the plan.
    pub name: Option<&'a str>,
    /// The commit to start with; `None`: the branch of the plan, or the workspace.
    pub base: Option<&'a str>,
    /// The plans whose work a new worktree starts with, unless it starts with a given commit.
    pub after: &'a [UnmergedPlan],
    /// Whether the setup command runs.
    pub setup: Setup,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedWorktree {
    pub tree: RegisteredWorktree,
    pub place: PathBuf,
    /// `None` if it already existed and was ready.
    pub furnished: Option<Furnished>,
    /// What could not be done; nothing is lost by it.
    pub complaints: Vec<String>,
}

/// What a worktree starts with.
pub(super) struct WorktreeStart {
    pub(super) commit: String,
    /// What is not in it, and why.
    pub(super) complaints: Vec<String>,
}

impl Worktrees {
    /// Creates a worktree for a plan, or returns the existing one.
    pub fn add(&self, wish: &AddOptions<'_>) -> Result<AddedWorktree, Error> {
        let plan = self.plan_in(wish.plan)?;
        let name = match wish.name {
            Some(name) => WorktreeName::of(name)?,
            None => WorktreeName::of_plan(&plan_file::name(&self.project.root.join(&plan)))?,
        };
        let door = self.notes.lock()?;
        self.settle()?;
        let known = self.of_plan(&plan, &name, wish)?;
        let name = known.as_ref().map_or(name.as_str(), |tree| tree.name.as_str()).to_owned();
        let at_work = || Error::AtWork { name: name.clone() };
        let _turn = self.notes.lock_tree(&name)?.ok_or_else(at_work)?;
        let is_there = known.as_ref().is_some_and(|tree| tree.path.is_dir());
        if let (Some(tree), true, false) = (&known, is_there, self.is_unfinished(&name)) {
            self.plant_beside(tree)?;
            return Ok(AddedWorktree {
                place: self.place(&tree.path),
                tree: tree.clone(),
                furnished: None,
                complaints: self.lacking(tree)?,
            });
        }
        let (tree, mut complaints) = match (known, is_there) {
            (Some(tree), true) => (tree, Vec::new()),
            (known, _) => self.plant(known, (&name, &plan), wish)?,
        };
        self.plant_beside(&tree)?;
        complaints.extend(self.bind(&tree)?);
        // What follows may take long, and others may create worktrees meanwhile.
        drop(door);
        let furnished = furnish(&self.project, &tree.path, wish.setup)?;
        let tree = worktree_registry::tree_at(&tree.path)?.unwrap_or(tree);
        complaints.extend(self.point(&tree)?);
        complaints.extend(self.lacking(&tree)?);
        match furnished.setup {
            ScriptRun::Nothing | ScriptRun::Well => self.notes.clear(&name)?,
            // The next request for this worktree continues with the setup.
            ScriptRun::Unallowed { .. } | ScriptRun::Badly { .. } => {}
        }
        Ok(AddedWorktree { place: self.place(&tree.path), tree, furnished: Some(furnished), complaints })
    }

    /// A plan as a path relative to the root of the project, whether the user is in the workspace or in a
    /// worktree.
    pub(crate) fn plan_in(&self, plan: &Path) -> Result<PathBuf, Error> {
        let elsewhere = || Error::Elsewhere { plan: plan.to_owned(), root: self.project.root.clone() };
        let above = plan.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // The plan itself may be a link; its directory counts.
        let real =
            above.canonicalize().map_err(|_| elsewhere())?.join(plan.file_name().ok_or_else(elsewhere)?);
        let inner = [&self.project.root, &self.here].into_iter().find_map(|root| {
            let root = root.canonicalize().unwrap_or_else(|_| root.clone());
            real.strip_prefix(root).ok().map(Path::to_owned)
        });
        // A `.harness` directory shared by several repositories is in none of them.
        let shared = || active_plan::holds(&self.project, &real).then_some(real.clone());
        inner.filter(|inner| !inner.as_os_str().is_empty()).or_else(shared).ok_or_else(elsewhere)
    }

    /// The worktree of a plan, if it has one. The name must not be another's.
    fn of_plan(
        &self,
        plan: &Path,
        name: &WorktreeName,
        wish: &AddOptions<'_>,
    ) -> Result<Option<RegisteredWorktree>, Error> {
        let known = self.known();
        let is_its = |tree: &&RegisteredWorktree| tree.owner.is_none() && tree.plan.as_deref() == Some(plan);
        if let Some(tree) = known.iter().find(is_its) {
            return match wish.name.is_some() && tree.name != name.as_str() {
                true => Err(Error::HasTree { name: tree.name.clone(), plan: plan.to_owned() }),
                false => Ok(Some(tree.clone())),
            };
        }
        match known.into_iter().find(|tree| tree.name == name.as_str()) {
            Some(tree) => Err(Error::Taken { name: tree.name, plan: tree.plan.unwrap_or_default() }),
            None => Ok(None),
        }
    }

    /// Checks out the commit of a new worktree, and registers it.
    fn plant(
        &self,
        known: Option<RegisteredWorktree>,
        (name, plan): (&str, &Path),
        wish: &AddOptions<'_>,
    ) -> Result<(RegisteredWorktree, Vec<String>), Error> {
        let branch = known
            .as_ref()
            .and_then(|tree| tree.branch.clone())
            .unwrap_or_else(|| format!("{BRANCH_PREFIX}{name}"));
        let (mut commit, mut begin) = self.beginning(&branch, wish.base)?;
        let mut complaints = Vec::new();
        let reference = format!("refs/heads/{branch}");
        if wish.base.is_none() && self.keep.get(&reference)?.is_none() {
            let joined = self.joined(wish.after, &commit)?;
            complaints = joined.complaints;
            if joined.commit != commit {
                // A merge commit of two plans' work belongs to nobody yet.
                self.keep.set(&reference, &joined.commit, None)?;
                (commit, begin) = (joined.commit.clone(), joined.commit);
            }
        }
        state_dir::create(&self.folder)?;
        let path = self.site_of(name, plan)?;
        state_dir::create(path.parent().unwrap_or(&self.folder))?;
        if folder_at(&path)? != planwright_core::workspace::worktree::WorktreeFolder::Absent {
            return Err(Error::InTheWay { path });
        }
        let tree = RegisteredWorktree {
            path: path.clone(),
            repository: self.keep.common().to_owned(),
            origin: self.keep.top().to_owned(),
            name: name.to_owned(),
            plan: Some(plan.to_owned()),
            owner: None,
            branch: Some(branch.clone()),
            base: begin,
            ports: known.map(|tree| tree.ports).unwrap_or_default(),
            created_at_ms: clock::now(),
        };
        self.notes.set(name, WorktreeIntent::Add)?;
        worktree_registry::register(&tree)?;
        check_out(&self.keep, &commit, &branch, &self.staging(name), &path)?;
        Ok((tree, complaints))
    }

    /// The commit that a worktree is created from, and the one that its work started with.
    fn beginning(&self, branch: &str, base: Option<&str>) -> Result<(String, String), Error> {
        let said = base.unwrap_or("HEAD");
        let wanted = base::repository(&self.project.root)?;
        let asked = wanted.as_ref().map(|repository| {
            let name = format!("{said}^{{commit}}");
            repository.ask(&["rev-parse", "--quiet", "--verify", "--end-of-options", &name])
        });
        let wanted = asked.transpose()?.filter(|answer| answer.code == Some(0)).map(|answer| answer.text());
        let wanted = wanted.ok_or_else(|| Error::NoCommit { revision: said.to_owned() })?;
        let Some(tip) = self.keep.get(&repository::branch_of(branch.trim_start_matches(BRANCH_PREFIX)))?
        else {
            return Ok((wanted.clone(), wanted));
        };
        if base.is_some() && wanted != tip {
            return Err(Error::HasBranch { branch: branch.to_owned(), commit: tip });
        }
        // The work already exists, from where the branch diverged.
        let theirs =
            process::Repository { tree: self.keep.common().to_owned(), git: self.keep.common().to_owned() };
        let fork = theirs.ask(&["merge-base", &wanted, &tip])?;
        let begin = if fork.code == Some(0) { fork.text() } else { tip.clone() };
        Ok((tip, begin))
    }

    /// Copies the user's version of the plan into a worktree, and binds the worktree to it.
    fn bind(&self, tree: &RegisteredWorktree) -> Result<Vec<String>, Error> {
        let Some(plan) = &tree.plan else { return Ok(Vec::new()) };
        let root = self.place(&tree.path);
        let mut complaints = Vec::new();
        for path in std::iter::once(plan.clone()).chain(progress_of(plan)) {
            if let Err(error) = carry(&self.project.root, &root, &path) {
                complaints.push(format!("cannot copy {} into the worktree: {error}", path.display()));
            }
        }
        let part = self.keep.part();
        provision::exclude(&tree.path, &[part.join(marker::MARKER), part.join(POINTER)])?;
        let name = plan.file_name().and_then(|name| named::plan_of(name.to_str()?));
        let slug = name.as_ref().and_then(named::PlanSlug::slug);
        // A marker is for plans of the `.harness` directory; the registry binds every other plan.
        if let Some(slug) = slug.filter(|_| active_plan::holds(&self.project, &self.project.root.join(plan)))
        {
            active_plan::write_marker(&root, slug)?;
        }
        Ok(complaints)
    }

    /// What a worktree lacks, for people.
    fn lacking(&self, tree: &RegisteredWorktree) -> Result<Vec<String>, Error> {
        let is_empty = |path: &PathBuf| {
            tree.path.join(path).read_dir().map_or(true, |mut entries| entries.next().is_none())
        };
        let others = self.keep.submodules(&tree.base)?.into_iter().filter(is_empty);
        Ok(others.map(|path| repository::is_empty_there(&path)).collect())
    }

    /// Writes the file that leads people back.
    fn point(&self, tree: &RegisteredWorktree) -> Result<Option<String>, Error> {
        let root = self.place(&tree.path);
        let plan = tree.plan.as_ref().map(|plan| plan.to_string_lossy().into_owned()).unwrap_or_default();
        let pointer = WorktreePointer {
            name: &tree.name,
            plan: &plan,
            branch: tree.branch.as_deref().unwrap_or_default(),
            base: &tree.base,
            origin: &self.project.root.to_string_lossy(),
            ports: &tree.ports,
        };
        let above = Path::new(POINTER).parent().unwrap_or(Path::new(""));
        let written = plan_file::folder_within(&root, above)
            .and_then(|_| plan_file::fill_or_create(&root.join(POINTER), &pointer.text()));
        match written {
            Ok(()) => Ok(None),
            // The commit may have something else there.
            Err(error @ plan_file::Error::Astray { .. }) => {
                Ok(Some(format!("cannot write {POINTER}: {error}")))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Checks out a commit on a branch, and moves the complete directory into place.
pub(super) fn check_out(
    from: &OwnedRefs,
    commit: &str,
    branch: &str,
    staging: &Path,
    path: &Path,
) -> Result<(), Error> {
    // Nothing ever worked in what is there: it was never where a worktree is found.
    if staging.symlink_metadata().is_ok() {
        temp_dir::remove(staging).map_err(|source| Error::File { path: staging.to_owned(), source })?;
    }
    let content = Content::Commit(commit.to_owned());
    let objects = Objects::Copied { from, branch, history: History::Whole };
    Checkout::of(from.top(), &content, objects, Lifetime::Permanent(staging))?;
    place(staging, path)
}

/// Moves a complete directory into place. Never over anything.
#[expect(clippy::disallowed_methods, reason = "moves a whole worktree, never a plan file")]
pub(super) fn place(from: &Path, to: &Path) -> Result<(), Error> {
    std::fs::rename(from, to).map_err(|source| Error::File { path: to.to_owned(), source })
}

/// Copies a file or a directory from the workspace into a worktree where they differ.
fn carry(from: &Path, to: &Path, path: &Path) -> Result<(), Error> {
    let (source, target) = (from.join(path), to.join(path));
    let failed = |source| Error::File { path: from.join(path), source };
    let Ok(data) = source.symlink_metadata() else { return Ok(()) };
    if data.is_dir() {
        for entry in source.read_dir().map_err(failed)? {
            carry(from, to, &path.join(entry.map_err(failed)?.file_name()))?;
        }
        return Ok(());
    }
    if is_same(&source, &target) {
        return Ok(());
    }
    if let Some(above) = path.parent() {
        plan_file::folder_within(to, above)?;
    }
    match std::fs::remove_file(&target) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    // The target of a link is the plan; the link itself may be dangling in the worktree.
    copy_ignored::duplicate(&source.canonicalize().map_err(failed)?, &target).map_err(failed)
}
