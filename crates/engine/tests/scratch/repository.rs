//! Real repositories, and the traps that an agent can lay in them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use planwright_engine::git::base;
use planwright_engine::git::base::Base;
use planwright_engine::git::checkout::{Checkout, Content, History, Lifetime, Objects};
use planwright_engine::git::repository::OwnedRefs;
use planwright_engine::store::state_dir;

use crate::scratch::Scratch;

/// A repository, and the state folder that belongs to it, both gone at the end.
#[derive(Debug)]
pub(crate) struct Repository {
    scratch: Scratch,
}

impl Repository {
    pub(crate) fn new(name: &str) -> Self {
        let repository = Self::empty(name);
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// A folder without a repository.
    pub(crate) fn empty(name: &str) -> Self {
        Self { scratch: Scratch::new(name) }
    }

    pub(crate) fn root(&self) -> &Path {
        self.scratch.path()
    }

    #[expect(clippy::disallowed_methods, reason = "lays out a workspace")]
    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
        self
    }

    pub(crate) fn program(&self, path: &str, text: &str) -> PathBuf {
        self.write(path, text);
        let path = self.root().join(path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        path
    }

    pub(crate) fn git(&self, words: &[&str]) -> String {
        let ended = Command::new("git")
            .args(words)
            .current_dir(self.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b")])
            .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@b")])
            .output()
            .expect("git is here");
        assert!(ended.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8_lossy(&ended.stdout).trim().to_owned()
    }

    pub(crate) fn commit(&self) -> Base {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=x"]);
        self.base()
    }

    pub(crate) fn base(&self) -> Base {
        base::of(self.root()).expect("told").expect("a commit")
    }

    pub(crate) fn state(&self) -> PathBuf {
        state_dir::of_project(self.root()).expect("a folder")
    }

    /// Where throw-away trees are made.
    pub(crate) fn checkouts(&self) -> PathBuf {
        let home = || Path::new(&std::env::var_os("HOME").expect("a home")).join(".cache");
        let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
        state_dir::cache_of(&cache.join("planwright/checkouts"), self.root()).expect("a folder")
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        // What is left of it harms nobody.
        std::fs::remove_dir_all(self.state()).ok();
        std::fs::remove_dir_all(self.checkouts()).ok();
    }
}

/// Lays every trap that git has for whoever works in a repository. Each of them makes the file `sprung`.
pub(crate) fn lay_traps(repository: &Repository) -> PathBuf {
    let sprung = repository
        .root()
        .parent()
        .expect("a folder")
        .join(format!("{}-sprung", repository.root().file_name().expect("a name").to_string_lossy()));
    let trap =
        repository.program(".git/trap", &format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", sprung.display()));
    let trap = trap.to_str().expect("text").to_owned();
    for hook in ["post-checkout", "post-index-change", "pre-commit", "reference-transaction", "post-rewrite"]
    {
        repository.program(
            &format!(".git/hooks/{hook}"),
            &format!("#!/bin/sh\necho {hook} >> {}\n", sprung.display()),
        );
    }
    let settings = [
        "core.fsmonitor",
        "filter.trap.smudge",
        "filter.trap.clean",
        "filter.trap.process",
        "core.pager",
        "diff.external",
        "diff.trap.textconv",
        "diff.trap.command",
        "core.sshCommand",
        "core.gitProxy",
        "alias.ls-files",
        "alias.checkout-index",
        "alias.diff-tree",
        "core.alternateRefsCommand",
        "credential.helper",
    ];
    for name in settings {
        repository.git(&["config", name, &trap]);
    }
    repository.git(&["config", "filter.trap.required", "true"]);
    repository.git(&["config", "core.worktree", "/tmp"]);
    sprung
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Checks out a commit on the branch `plan/x`, in a new directory that stays.
pub(crate) fn plant(
    keep: &OwnedRefs,
    commit: &str,
    tree: &Path,
    history: History,
) -> Result<(), base::Error> {
    let objects = Objects::Copied { from: keep, branch: "plan/x", history };
    let content = Content::Commit(commit.to_owned());
    Checkout::of(keep.top(), &content, objects, Lifetime::Permanent(tree)).map(drop)
}
