//! Gathers facts about a worktree: whether its plan exists, how far its work has come, and what removing it
//! would lose. Never trusts the worktree's own configuration; what cannot be determined is reported as
//! unknown.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use planwright_core::dialect::named;
use planwright_core::workspace::worktree::{
    CreatedBy, Landing, WorktreeFacts, WorktreeFolder, WorktreePlan, WorktreeWork, says_the_same,
};

use super::git_dir::Own;
use super::{Error, POINTER, marker, sibling, within};
use crate::git::base;
use crate::git::repository::OwnedRefs;
use crate::store::journal::Store;
use crate::store::journal::lock::workspace_lock;
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::system::process::Repository;
use crate::workspace::project::Project;

/// Branches that work is merged into, besides the current one of the user's working copy.
const MAIN: &[&str] = &["HEAD", "refs/heads/main", "refs/heads/master"];
/// How many files and commits are reported.
pub(super) const TOLD_MAX: usize = 1000;
/// How much of a progress file is compared.
const PROGRESS_BYTES_MAX: u64 = 64 << 20;
/// The most files whose sizes are added up.
const FILES_MAX: usize = 5_000_000;

/// Inspects the worktrees of one repository.
pub(super) struct WorktreeInspection<'a> {
    project: &'a Project,
    keep: &'a OwnedRefs,
    /// The commits that work is merged onto.
    mains: Vec<String>,
    store: Option<Store>,
    /// Whether a reference of the user's repository reaches a commit.
    reached: RefCell<BTreeMap<String, bool>>,
}

impl<'a> WorktreeInspection<'a> {
    pub(super) fn of(project: &'a Project, keep: &'a OwnedRefs) -> Result<Self, Error> {
        // The user may be in a git worktree, which has its own HEAD.
        let mut mains: Vec<String> = base::of(&project.root)?.map(|base| base.commit).into_iter().collect();
        for name in MAIN {
            mains.extend(keep.get(name)?);
        }
        mains.sort();
        mains.dedup();
        // Without a journal nothing has ever run anywhere.
        let store = match Store::exists(&project.root)? {
            true => Some(Store::open(&project.root)?),
            false => None,
        };
        Ok(Self { project, keep, mains, store, reached: RefCell::default() })
    }

    /// The facts about a worktree of ours, whose directory is at `at` now.
    pub(super) fn facts(&self, tree: &RegisteredWorktree, at: &Path) -> Result<WorktreeFacts, Error> {
        let folder = folder_at(at)?;
        let mut work = match folder {
            WorktreeFolder::There => self.work(at, Some(tree)),
            WorktreeFolder::Absent | WorktreeFolder::Other => WorktreeWork::default(),
        };
        sibling::add_work(tree, &mut work);
        let root = within(at, self.keep.part());
        Ok(WorktreeFacts {
            maker: CreatedBy::Planwright,
            is_known: true,
            folder,
            plan: self.plan(tree)?,
            dangling: marker::dangling(self.project, &root),
            landing: self.landing(tree)?,
            work,
            busy: self.busy(tree)?,
            beside: sibling::owner_of(tree).and(tree.owner.as_ref()).map(|root| root.display().to_string()),
        })
    }

    /// The same; if something cannot be determined, the worktree counts as unsafe to remove.
    pub(super) fn facts_or_doubt(&self, tree: &RegisteredWorktree) -> Result<WorktreeFacts, Error> {
        self.facts(tree, &tree.path).or_else(|error| {
            Ok(WorktreeFacts {
                maker: CreatedBy::Planwright,
                is_known: true,
                folder: folder_at(&tree.path)?,
                plan: WorktreePlan::Unsaid,
                dangling: None,
                landing: Landing::Nothing,
                work: unknown(&error),
                busy: None,
                beside: None,
            })
        })
    }

    /// The facts about an unregistered directory among the worktrees.
    pub(super) fn facts_of_stranger(&self, at: &Path) -> Result<WorktreeFacts, Error> {
        let folder = folder_at(at)?;
        Ok(WorktreeFacts {
            maker: CreatedBy::Planwright,
            is_known: false,
            folder,
            plan: WorktreePlan::Unsaid,
            dangling: None,
            landing: Landing::Nothing,
            work: self.work(at, None),
            busy: None,
            beside: None,
        })
    }

    /// The facts about a worktree of git.
    pub(super) fn facts_of_plain(&self, at: &Path) -> Result<WorktreeFacts, Error> {
        Ok(WorktreeFacts {
            maker: CreatedBy::Git,
            is_known: true,
            folder: folder_at(at)?,
            plan: WorktreePlan::Unsaid,
            dangling: marker::dangling(self.project, &within(at, self.keep.part())),
            landing: Landing::Nothing,
            work: WorktreeWork::default(),
            busy: None,
            beside: None,
        })
    }

    fn plan(&self, tree: &RegisteredWorktree) -> Result<WorktreePlan, Error> {
        let Some(plan) = &tree.plan else { return Ok(WorktreePlan::Unsaid) };
        let path = tree.owner.as_ref().unwrap_or(&self.project.root).join(plan);
        match path.symlink_metadata() {
            Ok(_) => Ok(WorktreePlan::There),
            Err(error) if is_nothing(&error) => Ok(WorktreePlan::Gone),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    /// How far the work of a worktree has come.
    fn landing(&self, tree: &RegisteredWorktree) -> Result<Landing, Error> {
        let Some(tip) = self.tip(tree)?.filter(|tip| *tip != tree.base) else { return Ok(Landing::Nothing) };
        for main in &self.mains {
            if self.keep.is_ancestor(&tip, main)? {
                return Ok(Landing::Landed);
            }
        }
        Ok(Landing::OnBranch)
    }

    fn tip(&self, tree: &RegisteredWorktree) -> Result<Option<String>, Error> {
        let Some(branch) = &tree.branch else { return Ok(None) };
        Ok(self.keep.get(&format!("refs/heads/{branch}"))?)
    }

    /// Who works in a worktree now.
    fn busy(&self, tree: &RegisteredWorktree) -> Result<Option<String>, Error> {
        if let (Some(root), Some(owner)) = (&tree.owner, sibling::owner_of(tree)) {
            // Whoever works there works in its neighbors as well.
            let name = workspace_lock(&within(&owner.path, owner_part(root, &owner)));
            return match Store::exists(root)? {
                true => Ok(Store::open(root)?.holder_named(&name)?.map(|holder| holder.to_string())),
                false => Ok(None),
            };
        }
        let Some(store) = &self.store else { return Ok(None) };
        let name = workspace_lock(&within(&tree.path, self.keep.part()));
        Ok(store.holder_named(&name)?.map(|holder| holder.to_string()))
    }

    /// What would be lost with the directory at `at`.
    pub(super) fn work(&self, at: &Path, tree: Option<&RegisteredWorktree>) -> WorktreeWork {
        self.try_work(at, tree).unwrap_or_else(|error| unknown(&error))
    }

    fn try_work(&self, at: &Path, tree: Option<&RegisteredWorktree>) -> Result<WorktreeWork, Error> {
        let failed = |source| Error::File { path: at.to_owned(), source };
        if at.read_dir().map_err(failed)?.next().is_none() {
            return Ok(WorktreeWork::default());
        }
        let git = at.join(".git");
        // A link or a file would lead to a git directory that somebody else fills.
        if !git.symlink_metadata().is_ok_and(|data| data.is_dir()) {
            return Err(Error::NoGit { path: at.to_owned() });
        }
        let own = Own { look: self, git: Repository { tree: at.to_owned(), git } };
        let (head, commits) = own.commits()?;
        let tip = tree.map(|tree| self.tip(tree)).transpose()?.flatten();
        let kept = tip.or_else(|| tree.map(|tree| tree.base.clone())).or_else(|| head.clone());
        let Some(kept) = kept else { return Err(Error::NoGit { path: at.to_owned() }) };
        let mut files = match self.is_reached(&kept)? {
            true => self.files(at, tree, &kept)?,
            // Its base is gone from the repository, so nothing of it is known to be saved.
            false => return Err(Error::NoBase { path: at.to_owned(), commit: kept }),
        };
        own.is_alone(&kept)?;
        // It may be at a commit that the repository has as well.
        let others = head.iter().cloned().chain(tree.map(|tree| tree.base.clone()));
        for other in others.filter(|other| *other != kept) {
            if !files.is_empty() && self.is_reached(&other)? && self.files(at, tree, &other)?.is_empty() {
                files.clear();
            }
        }
        files.extend(own.staged(head.as_deref(), &kept)?);
        files.extend(self.hidden(at)?);
        files.truncate(TOLD_MAX);
        Ok(WorktreeWork { files, commits, unknown: None })
    }

    /// The files that only an ignore list in the worktree's own git directory hides, which agents can write,
    /// and that are not our copies.
    fn hidden(&self, at: &Path) -> Result<Vec<String>, Error> {
        let part = self.keep.part();
        let own = [part.join(marker::MARKER), part.join(POINTER)];
        let is_work =
            |path: &PathBuf| !own.contains(path) && !is_same(&at.join(path), &self.keep.top().join(path));
        let hidden = base::hidden_in(at)?.into_iter().filter(is_work);
        Ok(hidden.map(|path| path.to_string_lossy().into_owned()).collect())
    }

    /// Whether a reference of the user's repository reaches a commit: then it stays.
    pub(super) fn is_reached(&self, commit: &str) -> Result<bool, Error> {
        if let Some(known) = self.reached.borrow().get(commit) {
            return Ok(*known);
        }
        let words = ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit];
        let answer = self.theirs().ask(&words)?;
        // Git complains about a missing commit.
        let is_reached = answer.code == Some(0) && !answer.text().is_empty();
        self.reached.borrow_mut().insert(commit.to_owned(), is_reached);
        Ok(is_reached)
    }

    /// The user's repository, to query.
    pub(super) fn theirs(&self) -> Repository {
        Repository { tree: self.keep.common().to_owned(), git: self.keep.common().to_owned() }
    }

    /// The tree of a worktree as the user's repository stores it, without what only we write.
    pub(super) fn lies(&self, at: &Path, commit: &str) -> Result<String, Error> {
        let part = self.keep.part();
        let without = [part.join(marker::MARKER), part.join(POINTER)];
        Ok(self.keep.snapshot_tree(at, commit, &without)?)
    }

    /// The files of a worktree that are neither in a commit nor in the workspace it belongs to.
    fn files(
        &self,
        at: &Path,
        tree: Option<&RegisteredWorktree>,
        commit: &str,
    ) -> Result<Vec<String>, Error> {
        let part = self.keep.part();
        let mut changed = self.keep.changed(commit, &self.lies(at, commit)?)?;
        if changed.is_empty() {
            return Ok(changed);
        }
        changed.retain(|path| !is_same(&at.join(path), &self.keep.top().join(path)));
        if let Some(plan) = tree.and_then(|tree| tree.plan.as_deref())
            && !changed.is_empty()
        {
            let excused = self.excused(&within(at, part), plan);
            changed.retain(|path| !excused.iter().any(|own| Path::new(path).starts_with(part.join(own))));
        }
        Ok(changed)
    }

    /// What planwright itself writes in a worktree: the plan, if only its marks differ, and its progress, if
    /// it only grew. Both are saved before the worktree goes.
    pub(super) fn excused(&self, root: &Path, plan: &Path) -> Vec<PathBuf> {
        let mut excused = Vec::new();
        let draft = |root: &Path| match plan_file::read(&root.join(plan), "plan", self.project.reading()) {
            Ok(FileText::Plan(source)) => Some(parse(&source)),
            Ok(FileText::Unreadable(_)) | Err(_) => None,
        };
        if let (Some(ours), Some(theirs)) = (draft(&self.project.root), draft(root))
            && says_the_same(&ours, &theirs)
        {
            excused.push(plan.to_owned());
        }
        if let Some(progress) = progress_of(plan) {
            let text = |root: &Path| match plan_file::read_text(&root.join(&progress), PROGRESS_BYTES_MAX) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Some(String::new()),
                read => read.ok(),
            };
            if let (Some(ours), Some(theirs)) = (text(&self.project.root), text(root))
                && theirs.starts_with(&ours)
            {
                excused.push(progress);
            }
        }
        excused
    }
}

/// The path of the project with this root in a worktree of it.
fn owner_part<'a>(root: &'a Path, tree: &RegisteredWorktree) -> &'a Path {
    root.strip_prefix(&tree.origin).unwrap_or(Path::new(""))
}

/// What would be lost cannot be determined, for this reason.
pub(super) fn unknown(error: &Error) -> WorktreeWork {
    let mut why = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        why.push_str(&format!(": {error}"));
        cause = error.source();
    }
    WorktreeWork { unknown: Some(why), ..WorktreeWork::default() }
}

/// The progress file of a named plan.
pub(super) fn progress_of(plan: &Path) -> Option<PathBuf> {
    let name = named::plan_of(plan.file_name()?.to_str()?)?;
    Some(plan.with_file_name(named::progress_file(name.slug())))
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn folder_at(path: &Path) -> Result<WorktreeFolder, Error> {
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => Ok(WorktreeFolder::There),
        Ok(_) => Ok(WorktreeFolder::Other),
        Err(error) if is_nothing(&error) => Ok(WorktreeFolder::Absent),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}

/// Whether two files exist and are equal.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let (Ok(a), Ok(b)) = (one.symlink_metadata(), other.symlink_metadata()) else { return false };
    if a.is_symlink() && b.is_symlink() {
        return matches!((one.read_link(), other.read_link()), (Ok(a), Ok(b)) if a == b);
    }
    let hash = |path: &Path| -> io::Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path)?)?;
        Ok(hasher.finalize())
    };
    a.is_file()
        && b.is_file()
        && a.len() == b.len()
        && matches!((hash(one), hash(other)), (Ok(a), Ok(b)) if a == b)
}

/// The size of a directory, and the last change in it, in milliseconds since 1970.
pub(super) fn measure(folder: &Path) -> (u64, u64) {
    let (mut bytes, mut changed, mut count) = (0, 0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // An unreadable directory is not counted.
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(data) = path.symlink_metadata() else { continue };
            count += 1;
            if count > FILES_MAX {
                return (bytes, changed);
            }
            bytes += data.blocks() * 512;
            let modified = data.mtime() * 1000 + data.mtime_nsec() / 1_000_000;
            changed = changed.max(u64::try_from(modified).unwrap_or_default());
            if data.is_dir() {
                folders.push(path);
            }
        }
    }
    (bytes, changed)
}
