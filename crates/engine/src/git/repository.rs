//! Work saved in the user's repository: commits of working copies, merges, and the references to them. The
//! only place that writes to a repository of the user.
//!
//! Git runs on a git directory of ours inside the state directory: without foreign configuration, hooks or
//! attributes, and with the user's object store. No branch is ever forced or deleted: a reference moves only
//! if it is still what was read.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use crate::git::sync::SyncResult;

use crate::git::base;
use crate::git::base::Home;
use crate::store::{state_dir, worktree_registry};
use crate::system::process;
use crate::system::process::{GitOutput, Repository, identity};

const FOLDER: &str = "keep";
/// The prefix of our references, which no branch list shows.
pub const REF_NAMESPACE: &str = "refs/planwright/";
/// The prefix of branches with the work of a plan.
pub const BRANCH_PREFIX: &str = "plan/";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository of the project cannot be determined, or the state directory cannot be used.
    #[error("cannot find the repository of the project or its state directory")]
    State(#[from] state_dir::Error),
    #[error("cannot run git")]
    Process(#[from] process::Error),
    #[error(transparent)]
    Files(#[from] base::Error),
    #[error("git cannot {act} in {}: {said}", repository.display())]
    Git { act: &'static str, repository: PathBuf, said: String },
    #[error("{} is not in a git repository", root.display())]
    NoRepository { root: PathBuf },
    #[error("cannot read or write {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeCommit {
    /// The merged tree.
    Clean { tree: String },
    Conflict {
        paths: Vec<String>,
        /// Git's messages about them.
        said: String,
    },
}

/// The user's repository, to save work in.
#[derive(Debug, Clone)]
pub struct OwnedRefs {
    /// The git directory that all worktrees of the user's repository share.
    pub(super) common: PathBuf,
    pub(super) objects: PathBuf,
    /// Our own git directory.
    pub(super) own: PathBuf,
    /// The top of the project's working copy.
    pub(super) top: PathBuf,
    /// The project's path in it; empty at its root.
    part: PathBuf,
}

impl OwnedRefs {
    /// The repository of the project at `root`; for one of our worktrees, the repository it was created from.
    pub fn of(root: &Path) -> Result<Self, Error> {
        Self::find(root)?.ok_or_else(|| Error::NoRepository { root: root.to_owned() })
    }

    /// The same; `None` without a repository or a commit.
    pub fn find(root: &Path) -> Result<Option<Self>, Error> {
        let root = root.canonicalize().map_err(|source| Error::File { path: root.to_owned(), source })?;
        let Some(top) = state_dir::tree_of(&root)?.map(Path::to_owned) else { return Ok(None) };
        let common = state_dir::common_git_folder(&top)?;
        if !common.join("HEAD").exists() {
            return Ok(None);
        }
        let part = root.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        let own = state_dir::of_project(&root)?.join(FOLDER);
        let keep = Self { objects: common.join("objects"), common, own, top, part };
        keep.prepare()?;
        Ok(Some(keep))
    }

    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The project's path in its working copy; empty at its root.
    pub fn part(&self) -> &Path {
        &self.part
    }

    pub fn common(&self) -> &Path {
        &self.common
    }

    /// The lock file for exclusive access to something of this name.
    pub(crate) fn door(&self, name: &str) -> PathBuf {
        let name = blake3::hash(name.as_bytes()).to_hex();
        self.own.join("doors").join(&name[..32])
    }

    /// Creates our own git directory if needed.
    fn prepare(&self) -> Result<(), Error> {
        let format = self.theirs("read its object format", &["rev-parse", "--show-object-format"])?.text();
        let format = match format.as_str() {
            "sha256" => "[extensions]\n\tobjectFormat = sha256\n",
            _ => "",
        };
        let config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tfsync = committed\n\tfsyncMethod = batch\n{format}"
        );
        let has = |name: &str, text: &str| {
            std::fs::read_to_string(self.own.join(name)).is_ok_and(|own| own == text)
        };
        let head = "ref: refs/heads/none\n";
        let attributes = crate::git::merge_attributes::attributes(&self.part);
        if has("config", &config) && has("HEAD", head) && has("info/attributes", &attributes) {
            return Ok(());
        }
        for folder in ["objects", "refs", "indexes", "doors", "info"] {
            state_dir::create(&self.own.join(folder))?;
        }
        state_dir::keep(&self.own.join("info"), "attributes", attributes.as_bytes())?;
        state_dir::keep(&self.own, "config", config.as_bytes())?;
        Ok(state_dir::keep(&self.own, "HEAD", head.as_bytes())?)
    }

    /// Runs git with our own git directory and the user's objects, in a working copy.
    pub(super) fn ours(
        &self,
        act: &'static str,
        (tree, words): (&Path, &[&str]),
        environment: &[(&str, &OsStr)],
        input: &[u8],
    ) -> Result<GitOutput, Error> {
        let answer = self.try_ours((tree, words), environment, input)?;
        self.must(act, answer)
    }

    fn try_ours(
        &self,
        (tree, words): (&Path, &[&str]),
        environment: &[(&str, &OsStr)],
        input: &[u8],
    ) -> Result<GitOutput, Error> {
        let own = Repository { tree: tree.to_owned(), git: self.own.clone() };
        let mut all = vec![("GIT_OBJECT_DIRECTORY", self.objects.as_os_str())];
        all.extend_from_slice(environment);
        Ok(own.tell(words, &all, input)?)
    }

    /// Reads or moves references of the user's repository.
    fn theirs(&self, act: &'static str, words: &[&str]) -> Result<GitOutput, Error> {
        let answer = self.repository().ask(words)?;
        self.must(act, answer)
    }

    pub(super) fn home(&self) -> Home {
        Home { repository: self.repository(), part: self.part.clone() }
    }

    pub(super) fn repository(&self) -> Repository {
        Repository { tree: self.common.clone(), git: self.common.clone() }
    }

    pub(super) fn must(&self, act: &'static str, answer: GitOutput) -> Result<GitOutput, Error> {
        match answer.code {
            Some(0) => Ok(answer),
            Some(_) | None => {
                let said = answer.stderr.lines().next().unwrap_or("git gave no reason").to_owned();
                Err(Error::Git { act, repository: self.common.clone(), said })
            }
        }
    }

    /// The commit of a reference, a branch or HEAD of the user's repository. `HEAD` is that of the main
    /// working copy.
    pub fn get(&self, reference: &str) -> Result<Option<String>, Error> {
        let name = format!("{reference}^{{commit}}");
        let answer =
            self.repository().ask(&["rev-parse", "--quiet", "--verify", "--end-of-options", &name])?;
        Ok((answer.code == Some(0)).then(|| answer.text()))
    }

    /// Moves a reference if it is still at `old`; with `None`, if it does not exist yet. Returns whether it
    /// was.
    pub fn set(&self, reference: &str, new: &str, old: Option<&str>) -> Result<bool, Error> {
        let nothing = "0".repeat(new.len());
        let words = ["update-ref", "-m", "planwright", reference, new, old.unwrap_or(&nothing)];
        let answer = self.repository().ask(&words)?;
        if answer.code == Some(0) {
            return Ok(true);
        }
        // Only a reference that moved is not an error.
        if self.get(reference)?.as_deref() != old {
            return Ok(false);
        }
        self.must("move a reference", answer).map(|_| true)
    }

    /// Removes one of our hidden references. A branch is never removed.
    pub fn drop_hidden(&self, reference: &str) -> Result<(), Error> {
        assert!(reference.starts_with(REF_NAMESPACE), "only references of ours are removed: {reference}");
        self.theirs("remove a reference", &["update-ref", "-d", reference]).map(drop)
    }

    /// All references with this prefix, with their commits.
    pub fn list(&self, prefix: &str) -> Result<Vec<(String, String)>, Error> {
        let words = ["for-each-ref", "--format=%(refname) %(objectname)", prefix];
        let text = self.theirs("list references", &words)?.text();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(name, commit)| (name.to_owned(), commit.to_owned())).collect())
    }

    /// How many bytes the repository holds for these references alone: what no branch or tag reaches.
    pub fn weight(&self, references: &[String]) -> Result<u64, Error> {
        let words =
            ["rev-list", "--objects", "--disk-usage", "--not", "--branches", "--tags", "--not", "--stdin"];
        let names = references.iter().map(|name| format!("{name}\n")).collect::<String>();
        let answer = self.repository().tell(&words, &[], names.as_bytes())?;
        Ok(self.must("measure the kept objects", answer)?.text().parse().unwrap_or_default())
    }

    pub fn tree_of(&self, commit: &str) -> Result<String, Error> {
        let name = format!("{commit}^{{tree}}");
        let words = ["rev-parse", "--verify", "--end-of-options", &name];
        Ok(self.look("find a tree", &words)?.text())
    }

    pub fn parents_of(&self, commit: &str) -> Result<Vec<String>, Error> {
        let words = ["rev-list", "--parents", "--max-count=1", "--end-of-options", commit];
        let text = self.look("find the parents of a commit", &words)?.text();
        Ok(text.split_whitespace().skip(1).map(str::to_owned).collect())
    }

    pub fn message_of(&self, commit: &str) -> Result<String, Error> {
        let words = ["show", "--no-patch", "--format=%B", "--end-of-options", commit];
        Ok(self.look("read a commit", &words)?.text())
    }

    /// Whether one commit is another or its ancestor.
    pub fn is_ancestor(&self, one: &str, of: &str) -> Result<bool, Error> {
        let answer = self.try_ours((&self.own, &["merge-base", "--is-ancestor", one, of]), &[], &[])?;
        match answer.code {
            Some(1) => Ok(false),
            Some(_) | None => self.must("compare two commits", answer).map(|_| true),
        }
    }

    /// The paths that differ between two commits or trees, for people.
    pub fn changed(&self, from: &str, to: &str) -> Result<Vec<String>, Error> {
        Ok(self.differing(from, to)?.iter().map(|path| shown(path)).collect())
    }

    /// Those that only the first one has.
    pub fn removed(&self, from: &str, to: &str) -> Result<Vec<String>, Error> {
        Ok(self.compared(from, to, "--diff-filter=D")?.iter().map(|path| shown(path)).collect())
    }

    /// The paths that differ, as bytes: a name need not be text.
    pub(super) fn differing(&self, from: &str, to: &str) -> Result<Vec<PathBuf>, Error> {
        self.compared(from, to, "--diff-filter=ADMT")
    }

    fn compared(&self, from: &str, to: &str, kinds: &str) -> Result<Vec<PathBuf>, Error> {
        let words = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", kinds, from, to];
        let answer = self.look("compare two commits", &words)?;
        let paths = answer.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// How many lines differ between two commits or trees. A binary file counts as one line.
    pub fn size(&self, from: &str, to: &str) -> Result<u64, Error> {
        let words = ["diff-tree", "-r", "--no-renames", "--numstat", from, to];
        let text = self.look("compare two commits", &words)?.text();
        let counts = text.lines().map(|line| {
            let mut counts = line.split('\t').map(str::parse::<u64>);
            match (counts.next(), counts.next()) {
                (Some(Ok(more)), Some(Ok(less))) => more + less,
                (_, _) => 1,
            }
        });
        Ok(counts.sum())
    }

    /// The merge base of two commits; `None` without one.
    pub fn fork(&self, one: &str, other: &str) -> Result<Option<String>, Error> {
        let answer = self.try_ours((&self.own, &["merge-base", one, other]), &[], &[])?;
        match answer.code {
            Some(1) => Ok(None),
            Some(_) | None => self.must("find a merge base", answer).map(|answer| Some(answer.text())),
        }
    }

    /// The text of a file in a commit; `None` if it does not exist or is not text.
    pub fn text_of(&self, commit: &str, path: &str) -> Result<Option<String>, Error> {
        let name = format!("{commit}:{path}");
        let answer = self.try_ours((&self.own, &["cat-file", "blob", &name]), &[], &[])?;
        Ok(String::from_utf8(answer.stdout).ok().filter(|_| answer.code == Some(0)))
    }

    /// Merges two commits in memory: no working copy is touched. Plans and progress files are merged by
    /// meaning.
    pub fn merge(&self, ours: &str, theirs: &str) -> Result<MergeCommit, Error> {
        let mut words = vec!["merge-tree", "--write-tree", "-z", "--name-only", ours, theirs];
        let driver = crate::git::merge_attributes::setting();
        if let Some(driver) = &driver {
            words.splice(0..0, ["-c", driver.as_str()]);
        }
        let answer = self.try_ours((&self.own, &words), &[], &[])?;
        match answer.code {
            Some(0) => {
                let text = String::from_utf8_lossy(&answer.stdout).into_owned();
                let tree = text.split(['\0', '\n']).next().unwrap_or_default().to_owned();
                Ok(MergeCommit::Clean { tree })
            }
            Some(1) => {
                let text = String::from_utf8_lossy(&answer.stdout).into_owned();
                let mut parts = text.split('\0').skip(1);
                let paths = parts.by_ref().take_while(|path| !path.is_empty()).map(str::to_owned).collect();
                let said: Vec<&str> = parts.filter(|part| part.starts_with("CONFLICT")).collect();
                Ok(MergeCommit::Conflict { paths, said: said.join("\n").trim().to_owned() })
            }
            Some(_) | None => Err(self.must("merge two commits", answer).expect_err("it did not go well")),
        }
    }

    /// Creates a commit of a tree. Nothing refers to it yet.
    pub fn commit(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, Error> {
        let mut words = vec!["commit-tree", tree];
        for parent in parents {
            words.extend(["-p", parent]);
        }
        let (name, address) = identity(&self.repository());
        let name = name.unwrap_or_else(|| "planwright".to_owned());
        let address = address.unwrap_or_else(|| "planwright@localhost".to_owned());
        let (name, address) = (OsStr::new(&name), OsStr::new(&address));
        let who = [
            ("GIT_AUTHOR_NAME", name),
            ("GIT_COMMITTER_NAME", name),
            ("GIT_AUTHOR_EMAIL", address),
            ("GIT_COMMITTER_EMAIL", address),
        ];
        // Git rejects an empty message.
        let message = format!("{}\n", message.trim_end());
        Ok(self.ours("create a commit", (&self.own, &words), &who, message.as_bytes())?.text())
    }

    pub(super) fn look(&self, act: &'static str, words: &[&str]) -> Result<GitOutput, Error> {
        self.ours(act, (&self.own, words), &[], &[])
    }
}

/// Says that a worktree has nothing at a path.
pub(crate) fn is_empty_there(path: &Path) -> String {
    format!("{} is a submodule and is empty in a worktree; fill it with worktree.setup", path.display())
}

/// A path for people.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The branch for the work of the plan with this name.
pub fn branch_of(name: &str) -> String {
    format!("refs/heads/{BRANCH_PREFIX}{name}")
}

/// The worktree of ours that a project is in.
pub fn tree_around(root: &Path) -> Result<Option<worktree_registry::RegisteredWorktree>, Error> {
    let root = root.canonicalize().map_err(|source| Error::File { path: root.to_owned(), source })?;
    for folder in root.ancestors() {
        if let Some(tree) = worktree_registry::tree_at(folder)? {
            return Ok(Some(tree));
        }
    }
    Ok(None)
}
