//! Where work starts: the commit of a project, temporary checkouts of it, and the hash of the workspace.
//! Never writes to the repository and never trusts it: only [`Repository`] runs git.

use std::io;
use std::path::{Path, PathBuf};

pub use crate::git::log::{LogCommit, changed_by, commits_since, named};
pub(crate) use crate::git::tree_hash::{Lists, hidden_in, repositories_in, walked};
pub use crate::git::tree_hash::{TreeFiles, tree_of_workspace};
pub use planwright_core::approval::ledger::Base;

use crate::git::checkout;
use crate::git::tree_hash;
use crate::git::worktree;
use crate::store::state_dir;
use crate::store::temp_dir;
use crate::system::fault::Fault;
use crate::system::process;
use crate::system::process::{GitOutput, Repository};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository of the project cannot be determined, or the state directory cannot be used.
    #[error("cannot find the repository of the project or its state directory")]
    State(#[from] state_dir::Error),
    #[error("cannot run git")]
    Process(#[from] process::Error),
    #[error("git cannot {act} in {}: {said}", tree.display())]
    Git {
        /// What git was asked to do.
        act: &'static str,
        tree: PathBuf,
        said: String,
    },
    #[error("{} is not in a git repository", root.display())]
    NoRepository { root: PathBuf },
    #[error("invalid commit `{commit}`")]
    NoCommit { commit: String },
    #[error("cannot reserve ports for the checkout")]
    Ports(#[source] Box<worktree::Error>),
    #[error(
        "{} is too large to hash ({gibibytes} GiB; all new files together {all} GiB, limit {} GiB): ignore it in .gitignore or move it out of the workspace",
        path.display(), tree_hash::BYTES_MAX >> 30
    )]
    TooLarge {
        /// The largest one.
        path: PathBuf,
        gibibytes: u64,
        all: u64,
    },
    /// A contract could not run.
    #[error(transparent)]
    Machine(#[from] Fault),
    /// A file of the workspace or of a temporary checkout.
    #[error("cannot copy or read {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl From<temp_dir::Error> for Error {
    fn from(error: temp_dir::Error) -> Self {
        match error {
            temp_dir::Error::State(error) => Self::State(error),
            temp_dir::Error::File { path, source } => Self::File { path, source },
        }
    }
}

/// The project's place in its repository.
pub(super) struct Home {
    pub(super) repository: Repository,
    /// The project's path in the repository; empty at its root.
    pub(super) part: PathBuf,
}

impl Home {
    /// `None` if the project is not in a repository.
    pub(super) fn of(root: &Path) -> Result<Option<Self>, Error> {
        let root = root.canonicalize().map_err(|source| Error::File { path: root.to_owned(), source })?;
        let Some(tree) = state_dir::tree_of(&root)? else { return Ok(None) };
        // An empty `.git` marks the root of a project; git does not see a repository there either.
        let git = tree.join(".git");
        if git.is_dir() && !git.join("HEAD").exists() && !git.join("HEAD").is_symlink() {
            return Ok(None);
        }
        let part = root.strip_prefix(tree).unwrap_or(Path::new("")).to_owned();
        // The nearest `.git` is the repository, wherever its configuration claims its files are.
        let repository = Repository { tree: tree.to_owned(), git };
        Ok(Some(Self { repository, part }))
    }

    pub(super) fn must(root: &Path) -> Result<Self, Error> {
        Self::of(root)?.ok_or_else(|| Error::NoRepository { root: root.to_owned() })
    }

    /// The object directory of the repository, and its shallow file, which need not exist.
    pub(super) fn objects(&self) -> Result<(PathBuf, PathBuf), Error> {
        let words = ["rev-parse", "--path-format=absolute", "--git-path", "objects", "--git-path", "shallow"];
        let text = asked(&self.repository, "find its objects", &words)?.text();
        let (objects, shallow) = text.split_once('\n').unwrap_or((&text, ""));
        Ok((PathBuf::from(objects), PathBuf::from(shallow)))
    }
}

pub fn is_repository(root: &Path) -> Result<bool, Error> {
    Ok(Home::of(root)?.is_some())
}

/// The project's path in its repository; empty at its root or without one.
pub(crate) fn part_of(root: &Path) -> Result<PathBuf, Error> {
    Ok(Home::of(root)?.map(|home| home.part).unwrap_or_default())
}

pub fn repository(root: &Path) -> Result<Option<Repository>, Error> {
    Ok(Home::of(root)?.map(|home| home.repository))
}

/// Runs git for something that must succeed.
pub(super) fn asked(repository: &Repository, act: &'static str, words: &[&str]) -> Result<GitOutput, Error> {
    let answer = repository.ask(words)?;
    match answer.code {
        Some(0) => Ok(answer),
        Some(_) | None => {
            let said = answer.stderr.lines().next().unwrap_or("git gave no reason").to_owned();
            Err(Error::Git { act, tree: repository.tree.clone(), said })
        }
    }
}

/// The commit of HEAD, its tree and its branch. `None` without a repository or a commit.
pub fn of(root: &Path) -> Result<Option<Base>, Error> {
    let Some(Home { repository, .. }) = Home::of(root)? else { return Ok(None) };
    let named = |name: &str| -> Result<Option<String>, Error> {
        let answer = repository.ask(&["rev-parse", "--quiet", "--verify", "--end-of-options", name])?;
        match answer.code {
            Some(0) => Ok(Some(answer.text())),
            Some(1) => Ok(None),
            Some(_) | None => {
                let said = answer.stderr.lines().next().unwrap_or_default().to_owned();
                Err(Error::Git { act: "resolve HEAD", tree: repository.tree.clone(), said })
            }
        }
    };
    let (Some(commit), Some(tree)) = (named("HEAD^{commit}")?, named("HEAD^{tree}")?) else {
        return Ok(None);
    };
    let branch = repository.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    let branch = (branch.code == Some(0)).then(|| branch.text()).filter(|name| !name.is_empty());
    Ok(Some(Base { commit, tree, branch }))
}

/// The paths that differ between two commits, relative to the root of the project: paths elsewhere in the
/// repository start with `../`.
pub fn moved(root: &Path, from: &Base, to: &Base) -> Result<Vec<String>, Error> {
    if from.tree == to.tree {
        return Ok(Vec::new());
    }
    let (from, to) = (name_of(&from.commit)?, name_of(&to.commit)?);
    let words = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-ext-diff", from, to];
    let (answer, part) = checkout::ask_apart(root, from, "compare two commits", &words)?;
    let paths = answer.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| seen_from(&part, &String::from_utf8_lossy(path))).collect())
}

/// A path in the repository, relative to a project at this part of it.
pub(super) fn seen_from(part: &Path, path: &str) -> String {
    let mut up = String::new();
    for above in part.ancestors() {
        match Path::new(path).strip_prefix(above) {
            Ok(rest) => return format!("{up}{}", rest.display()),
            Err(_) => up.push_str("../"),
        }
    }
    path.to_owned()
}

/// Accepts only a full commit id: nothing that could be a branch, an option or a range.
pub(super) fn name_of(commit: &str) -> Result<&str, Error> {
    let is_name = matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then_some(commit).ok_or_else(|| Error::NoCommit { commit: commit.to_owned() })
}
