//! What is kept of work in the user's repository: commits of what lies in a tree, merges, and the references to them. The only
//! place that writes to a repository of the user.
//!
//! Git works with a folder of our own, in the state folder: it has no configuration, hooks or attributes of anybody, and puts
//! its objects among the user's. No branch is ever forced or deleted: a reference moves only if it still is what was seen.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use crate::git::clone::History;
pub use crate::git::sync::Brought;

use crate::store::{state_dir, worktree_registry};
use crate::system::process;
use crate::system::process::{Answer, Repository, identity};

/// The folder with our own git folder, in the state folder.
const FOLDER: &str = "keep";
/// Where references of ours are, which no branch list shows.
pub const HIDDEN: &str = "refs/planwright/";
/// How names of branches begin that hold the work of a plan.
pub const BRANCHES: &str = "plan/";

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It can't be told which repository the project is in, or the state folder can't be used.
    #[error("cannot find the repository of the project, or its state folder")]
    State(#[from] state_dir::Error),
    /// Git can't be asked.
    #[error("git cannot be asked")]
    Process(#[from] process::Error),
    #[error("git cannot {act} in {}: {said}", repository.display())]
    Git {
        /// What it was to do.
        act: &'static str,
        repository: PathBuf,
        said: String,
    },
    /// The project is in no repository.
    #[error("{} is not in a git repository", root.display())]
    NoRepository {
        /// The root of the project.
        root: PathBuf,
    },
    /// A file can't be read or written.
    #[error("cannot read or write {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// This tree is both.
    Clean { tree: String },
    /// They can't be joined without somebody who decides.
    Conflict {
        /// The paths in question.
        paths: Vec<String>,
        /// What git says about them.
        said: String,
    },
}

/// The user's repository, to keep work in.
#[derive(Debug, Clone)]
pub struct Keep {
    /// The git folder that all worktrees of the user's repository have in common.
    pub(super) common: PathBuf,
    /// Where the user's objects are.
    pub(super) objects: PathBuf,
    /// Our own git folder.
    pub(super) own: PathBuf,
    /// The top of the working copy that the project lies in.
    pub(super) top: PathBuf,
    /// Where the project lies in it; empty where it is all of it.
    part: PathBuf,
}

impl Keep {
    /// The repository that the project at `root` is in: where that is a tree of ours, the one that it was made of.
    pub fn of(root: &Path) -> Result<Self, Error> {
        Self::find(root)?.ok_or_else(|| Error::NoRepository { root: root.to_owned() })
    }

    /// The same, `None` where the project is in none, or nothing is in it yet.
    pub fn find(root: &Path) -> Result<Option<Self>, Error> {
        let root = root.canonicalize().map_err(|source| Error::File { path: root.to_owned(), source })?;
        let Some(top) = state_dir::tree_of(&root)?.map(Path::to_owned) else { return Ok(None) };
        let common = state_dir::common_git_folder(&top)?;
        if !common.join("HEAD").exists() {
            return Ok(None);
        }
        let part = root.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        let own = state_dir::folder_of(&state_dir::folder(), &root)?.join(FOLDER);
        let keep = Self { objects: common.join("objects"), common, own, top, part };
        keep.prepare()?;
        Ok(Some(keep))
    }

    /// The top of the working copy that the project lies in.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Where the project lies in its working copy; empty where it is all of it.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// The git folder that all worktrees of the user's repository have in common.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// The file that is locked by whoever must be alone with something of this name.
    pub(crate) fn door(&self, name: &str) -> PathBuf {
        let name = blake3::hash(name.as_bytes()).to_hex();
        self.own.join("doors").join(&name[..32])
    }

    /// Makes our own git folder, unless it is there.
    fn prepare(&self) -> Result<(), Error> {
        let format = self.theirs("tell how it hashes", &["rev-parse", "--show-object-format"])?.text();
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

    /// Has git do something with our own git folder and the user's objects, in a working copy.
    pub(super) fn ours(
        &self,
        act: &'static str,
        (tree, words): (&Path, &[&str]),
        environment: &[(&str, &OsStr)],
        input: &[u8],
    ) -> Result<Answer, Error> {
        let answer = self.try_ours((tree, words), environment, input)?;
        self.must(act, answer)
    }

    fn try_ours(
        &self,
        (tree, words): (&Path, &[&str]),
        environment: &[(&str, &OsStr)],
        input: &[u8],
    ) -> Result<Answer, Error> {
        let own = Repository { tree: tree.to_owned(), git: self.own.clone() };
        let mut all = vec![("GIT_OBJECT_DIRECTORY", self.objects.as_os_str())];
        all.extend_from_slice(environment);
        Ok(own.tell(words, &all, input)?)
    }

    /// Asks the user's repository about its references, or moves one.
    fn theirs(&self, act: &'static str, words: &[&str]) -> Result<Answer, Error> {
        let answer = self.repository().ask(words)?;
        self.must(act, answer)
    }

    pub(super) fn repository(&self) -> Repository {
        Repository { tree: self.common.clone(), git: self.common.clone() }
    }

    pub(super) fn must(&self, act: &'static str, answer: Answer) -> Result<Answer, Error> {
        match answer.code {
            Some(0) => Ok(answer),
            Some(_) | None => {
                let said = answer.stderr.lines().next().unwrap_or("it did not say why").to_owned();
                Err(Error::Git { act, repository: self.common.clone(), said })
            }
        }
    }

    /// The commit that a reference, a branch or HEAD of the user's repository is at. `HEAD` is that of the main working copy.
    pub fn get(&self, reference: &str) -> Result<Option<String>, Error> {
        let name = format!("{reference}^{{commit}}");
        let answer =
            self.repository().ask(&["rev-parse", "--quiet", "--verify", "--end-of-options", &name])?;
        Ok((answer.code == Some(0)).then(|| answer.text()))
    }

    /// Moves a reference, if it still is at `old`; `None`: if there is none yet. Returns whether it was.
    pub fn set(&self, reference: &str, new: &str, old: Option<&str>) -> Result<bool, Error> {
        let nothing = "0".repeat(new.len());
        let words = ["update-ref", "-m", "planwright", reference, new, old.unwrap_or(&nothing)];
        let answer = self.repository().ask(&words)?;
        if answer.code == Some(0) {
            return Ok(true);
        }
        // Only a reference that moved is no error.
        if self.get(reference)?.as_deref() != old {
            return Ok(false);
        }
        self.must("move a reference", answer).map(|_| true)
    }

    /// Removes one of our hidden references. A branch is never removed.
    pub fn drop_hidden(&self, reference: &str) -> Result<(), Error> {
        assert!(reference.starts_with(HIDDEN), "only references of ours are removed: {reference}");
        self.theirs("remove a reference", &["update-ref", "-d", reference]).map(drop)
    }

    /// All references that begin so, with their commits.
    pub fn list(&self, prefix: &str) -> Result<Vec<(String, String)>, Error> {
        let words = ["for-each-ref", "--format=%(refname) %(objectname)", prefix];
        let text = self.theirs("list references", &words)?.text();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(name, commit)| (name.to_owned(), commit.to_owned())).collect())
    }

    /// How many bytes the repository holds for these references alone: what no branch and no tag leads to.
    pub fn weight(&self, references: &[String]) -> Result<u64, Error> {
        let words =
            ["rev-list", "--objects", "--disk-usage", "--not", "--branches", "--tags", "--not", "--stdin"];
        let names = references.iter().map(|name| format!("{name}\n")).collect::<String>();
        let answer = self.repository().tell(&words, &[], names.as_bytes())?;
        Ok(self.must("measure what is kept", answer)?.text().parse().unwrap_or_default())
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: &str) -> Result<String, Error> {
        let name = format!("{commit}^{{tree}}");
        let words = ["rev-parse", "--verify", "--end-of-options", &name];
        Ok(self.look("find a tree", &words)?.text())
    }

    /// The commits that a commit comes after.
    pub fn parents_of(&self, commit: &str) -> Result<Vec<String>, Error> {
        let words = ["rev-list", "--parents", "--max-count=1", "--end-of-options", commit];
        let text = self.look("find what a commit comes after", &words)?.text();
        Ok(text.split_whitespace().skip(1).map(str::to_owned).collect())
    }

    /// What is said with a commit.
    pub fn message_of(&self, commit: &str) -> Result<String, Error> {
        let words = ["show", "--no-patch", "--format=%B", "--end-of-options", commit];
        Ok(self.look("read a commit", &words)?.text())
    }

    /// Whether one commit is, or comes before, another.
    pub fn is_ancestor(&self, one: &str, of: &str) -> Result<bool, Error> {
        let answer = self.try_ours((&self.own, &["merge-base", "--is-ancestor", one, of]), &[], &[])?;
        match answer.code {
            Some(1) => Ok(false),
            Some(_) | None => self.must("compare two commits", answer).map(|_| true),
        }
    }

    /// The paths that differ between two commits or trees, for people to read.
    pub fn changed(&self, from: &str, to: &str) -> Result<Vec<String>, Error> {
        Ok(self.differing(from, to)?.iter().map(|path| shown(path)).collect())
    }

    /// Those that only the first one has.
    pub fn removed(&self, from: &str, to: &str) -> Result<Vec<String>, Error> {
        Ok(self.compared(from, to, "--diff-filter=D")?.iter().map(|path| shown(path)).collect())
    }

    /// The paths that differ, as they are: a name may be no text.
    pub(super) fn differing(&self, from: &str, to: &str) -> Result<Vec<PathBuf>, Error> {
        self.compared(from, to, "--diff-filter=ADMT")
    }

    fn compared(&self, from: &str, to: &str, kinds: &str) -> Result<Vec<PathBuf>, Error> {
        let words = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", kinds, from, to];
        let answer = self.look("compare two commits", &words)?;
        let paths = answer.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// How many lines differ between two commits or trees. A file that is no text counts as one line.
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

    /// The commit at which two part; `None` where they have nothing in common.
    pub fn fork(&self, one: &str, other: &str) -> Result<Option<String>, Error> {
        let answer = self.try_ours((&self.own, &["merge-base", one, other]), &[], &[])?;
        match answer.code {
            Some(1) => Ok(None),
            Some(_) | None => {
                self.must("find where two commits part", answer).map(|answer| Some(answer.text()))
            }
        }
    }

    /// The text of a file in a commit; `None` where there is none, or it is no text.
    pub fn text_of(&self, commit: &str, path: &str) -> Result<Option<String>, Error> {
        let name = format!("{commit}:{path}");
        let answer = self.try_ours((&self.own, &["cat-file", "blob", &name]), &[], &[])?;
        Ok(String::from_utf8(answer.stdout).ok().filter(|_| answer.code == Some(0)))
    }

    /// Joins two commits, as data: no working copy is touched. Plans and progress files are joined by what they say.
    pub fn merge(&self, ours: &str, theirs: &str) -> Result<Merged, Error> {
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
                Ok(Merged::Clean { tree })
            }
            Some(1) => {
                let text = String::from_utf8_lossy(&answer.stdout).into_owned();
                let mut parts = text.split('\0').skip(1);
                let paths = parts.by_ref().take_while(|path| !path.is_empty()).map(str::to_owned).collect();
                let said: Vec<&str> = parts.filter(|part| part.starts_with("CONFLICT")).collect();
                Ok(Merged::Conflict { paths, said: said.join("\n").trim().to_owned() })
            }
            Some(_) | None => Err(self.must("join two commits", answer).expect_err("it did not go well")),
        }
    }

    /// A commit of a tree. Nothing refers to it yet.
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
        // A message that is empty is no input at all.
        let message = format!("{}\n", message.trim_end());
        Ok(self.ours("make a commit", (&self.own, &words), &who, message.as_bytes())?.text())
    }

    pub(super) fn look(&self, act: &'static str, words: &[&str]) -> Result<Answer, Error> {
        self.ours(act, (&self.own, words), &[], &[])
    }
}

/// Says that a tree has nothing at a path.
pub(crate) fn is_empty_there(path: &Path) -> String {
    format!("{} is a submodule, and is empty in a tree; a set-up can fill it: worktree.setup", path.display())
}

/// A path for people to read.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The branch that the work of a plan with this name goes to.
pub fn branch_of(name: &str) -> String {
    format!("refs/heads/{BRANCHES}{name}")
}

/// The tree of ours that a project lies in.
pub fn tree_around(root: &Path) -> Result<Option<worktree_registry::Tree>, Error> {
    let root = root.canonicalize().map_err(|source| Error::File { path: root.to_owned(), source })?;
    for folder in root.ancestors() {
        if let Some(tree) = worktree_registry::tree_at(folder)? {
            return Ok(Some(tree));
        }
    }
    Ok(None)
}
