//! M-17: a record belongs to a repository, not to a path, and nothing that is written in a workspace leads to another one's.
#![expect(clippy::disallowed_methods, reason = "lays out workspaces, and moves them")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use planwright_engine::config::policy::PolicyPaths;
use planwright_engine::store::state_dir::{OtherRecord, ProjectRecord};

use crate::repository::Repository;

/// Several repositories side by side, and a state directory of their own.
struct Town {
    folder: Repository,
}

impl Town {
    fn new(name: &str) -> Self {
        Self { folder: Repository::empty(name) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.root().join(name)
    }

    fn states(&self) -> PathBuf {
        self.path("states")
    }

    fn git(&self, name: &str, words: &[&str]) -> String {
        let path = self.path(name).display().to_string();
        self.folder.git(&[&["-C", &path], words].concat())
    }

    /// A repository with a commit and a record.
    fn repository(&self, name: &str) -> String {
        self.unknown(name);
        self.claim(name)
    }

    /// A repository with a commit that planwright has never seen.
    fn unknown(&self, name: &str) {
        self.folder.write(&format!("{name}/text"), name);
        self.git(name, &["init", "--quiet", "--initial-branch=main"]);
        self.git(name, &["add", "text"]);
        self.git(name, &["commit", "--quiet", "--message=x"]);
    }

    fn find(&self, name: &str) -> Result<ProjectRecord, planwright_engine::store::state_dir::Error> {
        ProjectRecord::find(&self.states(), &self.path(name))
    }

    fn record(&self, name: &str) -> String {
        self.find(name).expect("a record").name().to_owned()
    }

    fn claim(&self, name: &str) -> String {
        let record = self.find(name).expect("a record");
        record.claim().expect("claimed");
        record.name().to_owned()
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("moved");
    }

    fn remove(&self, name: &str) {
        fs::remove_dir_all(self.path(name)).expect("removed");
    }

    /// Copies a folder as `cp -r` does.
    fn copy(&self, from: &str, to: &str) {
        copy(&self.path(from), &self.path(to));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in from.read_dir().expect("a folder") {
        let entry = entry.expect("an entry");
        match entry.file_type().expect("a kind").is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => fs::copy(entry.path(), to.join(entry.file_name())).map(drop).expect("copied"),
        }
    }
}

#[test]
fn a_moved_repository_keeps_its_record() {
    let town = Town::new("identity-moved");
    let record = town.repository("a");
    town.rename("a", "elsewhere");
    assert_eq!(town.record("elsewhere"), record);
    let moved = town.find("elsewhere").expect("a record").moved();
    assert_eq!(moved, Some((town.path("a"), town.path("elsewhere"))));
    town.claim("elsewhere");
    assert_eq!(town.find("elsewhere").expect("a record").moved(), None);
}

#[test]
fn a_moved_folder_without_a_repository_keeps_its_record() {
    let town = Town::new("identity-moved-plain");
    town.folder.write("a/text", "a");
    let record = town.claim("a");
    town.rename("a", "b");
    assert_eq!(town.record("b"), record);
    // It is the same folder once it has a repository.
    town.git("b", &["init", "--quiet"]);
    assert_eq!(town.claim("b"), record);
}

#[test]
fn a_new_repository_at_an_old_path_starts_empty() {
    let town = Town::new("identity-anew");
    let old = town.repository("a");
    // Inodes are used again at once: ten times makes it likely that one is.
    for _ in 0..10 {
        town.remove("a");
        town.unknown("a");
        let new = town.find("a").expect("a record");
        assert_ne!(new.name(), old);
        assert!(!new.folder().exists(), "it starts empty");
    }
    assert!(town.states().join(&old).is_dir(), "the old one is kept");
}

#[test]
fn a_copy_is_told_from_its_original() {
    let town = Town::new("identity-copy");
    let record = town.repository("a");
    town.copy("a", "b");
    let copy = town.find("b").expect("a record");
    assert_ne!(copy.name(), record);
    assert_eq!(copy.other(), Some(&OtherRecord::CopyOf { record: record.clone(), path: town.path("a") }));
    assert_eq!(town.record("a"), record);
    // Moving between file systems copies, too.
    town.remove("a");
    let moved = town.find("b").expect("a record");
    assert_eq!(moved.other(), Some(&OtherRecord::MovedFrom { record, path: town.path("a") }));
}

#[test]
fn all_worktrees_share_one_record_and_each_part_has_its_own() {
    let town = Town::new("identity-worktrees");
    town.unknown("a");
    town.git("a", &["worktree", "add", "--quiet", "../b"]);
    // Whichever comes first.
    let record = town.claim("b");
    assert_eq!(town.claim("a"), record);
    town.rename("b", "c");
    town.git("a", &["worktree", "repair", "../c"]);
    assert_eq!(town.record("c"), record);
    fs::create_dir_all(town.path("a/web")).expect("made");
    fs::create_dir_all(town.path("c/web")).expect("made");
    let web = town.claim("a/web");
    assert_ne!(web, record);
    assert_eq!(town.record("c/web"), web);
    town.rename("a", "moved");
    assert_eq!((town.record("moved"), town.record("moved/web")), (record, web));
}

#[test]
fn a_repository_that_was_put_in_another_folder_keeps_its_record() {
    let town = Town::new("identity-git-moved");
    let record = town.repository("a");
    town.folder.write("b/text", "a");
    town.rename("a/.git", "b/.git");
    assert_eq!(town.record("b"), record);
}

#[test]
fn another_repository_in_the_same_folder_starts_empty_with_the_policy() {
    let town = Town::new("identity-replaced");
    let record = town.repository("a");
    town.rename("a/.git", "aside");
    town.git("a", &["init", "--quiet"]);
    let new = town.find("a").expect("a record");
    assert_ne!(new.name(), record);
    assert_eq!(new.other(), Some(&OtherRecord::Replaced { record: record.clone() }));
    for _ in 0..2 {
        let found = town.find("a").expect("a record");
        assert_eq!(found.policies().expect("found"), [town.states().join(&record)]);
        town.claim("a");
    }
    // Doing it twice does not do away with it either.
    let second = town.states().join(town.record("a"));
    town.remove("a/.git");
    town.git("a", &["init", "--quiet"]);
    let found = town.find("a").expect("a record");
    assert_eq!(found.policies().expect("found"), [second, town.states().join(&record)]);
    // The first one comes back with its record.
    town.remove("a/.git");
    town.rename("aside", "a/.git");
    assert_eq!(town.record("a"), record);
}

// Everything that an agent can write in its workspace: its git directory, pointers to that of others, and copies of their files.
#[test]
fn nothing_in_a_workspace_leads_to_the_record_of_another_project() {
    type Deed = (&'static str, fn(&Town));
    let deeds: &[Deed] = &[
        ("a pointer to the other git directory", |town| {
            town.remove("a/.git");
            town.folder.write("a/.git", &format!("gitdir: {}\n", town.path("b/.git").display()));
        }),
        ("a link to it", |town| {
            town.remove("a/.git");
            symlink(town.path("b/.git"), town.path("a/.git")).expect("linked");
        }),
        ("a common directory", |town| {
            town.folder.write("a/.git/commondir", &format!("{}\n", town.path("b/.git").display()));
        }),
        ("a worktree that nobody has made", |town| {
            town.remove("a/.git");
            let fake = town.path("a/fake").display().to_string();
            town.folder.write("a/.git", &format!("gitdir: {fake}\n"));
            town.folder.write("a/fake/commondir", &format!("{}\n", town.path("b/.git").display()));
            town.folder.write("a/fake/gitdir", &format!("{}\n", town.path("a/.git").display()));
        }),
        ("a submodule that nobody has made", |town| {
            town.remove("a/.git");
            town.copy("b/.git", "a/fake");
            town.folder.write("a/.git", "gitdir: fake\n");
            town.folder.write("a/fake/config", "[core]\n\tworktree = ..\n");
        }),
        ("a copy of it, with its hint", |town| {
            town.remove("a/.git");
            town.copy("b/.git", "a/.git");
        }),
        ("its hint alone", |town| {
            let hint = fs::read_to_string(town.path("b/.git/planwright-record")).expect("a hint");
            town.folder.write("a/.git/planwright-record", &hint);
        }),
        ("a hint that leaves the state directory", |town| {
            town.folder.write("a/.git/planwright-record", "../../b\n");
        }),
        ("a link in the place of the hint", |town| {
            fs::remove_file(town.path("a/.git/planwright-record")).expect("removed");
            symlink(town.path("b/text"), town.path("a/.git/planwright-record")).expect("linked");
        }),
        ("no repository", |town| town.remove("a/.git")),
    ];
    for (number, (name, deed)) in deeds.iter().enumerate() {
        for is_known in [true, false] {
            let town = Town::new(&format!("identity-hostile-{number}-{is_known}"));
            town.unknown("a");
            let other = town.repository("b");
            let policy = town.states().join(&other).join("policy.toml");
            fs::write(policy, "").expect("written");
            if is_known {
                town.claim("a");
            } else {
                town.folder.write("a/.git/planwright-record", "");
            }
            deed(&town);
            // Refusing is right as well: then nothing goes on.
            if let Ok(found) = town.find("a") {
                found.claim().expect("claimed");
                let found = town.find("a").expect("the same");
                assert_ne!(found.name(), other, "{name}");
                let policies = found.policies().expect("found");
                assert!(!policies.contains(&town.states().join(&other)), "{name}");
            }
            assert_eq!(town.record("b"), other, "{name}: the other one is as it was");
            assert_eq!(fs::read_to_string(town.path("b/text")).expect("text"), "b", "{name}");
        }
    }
}

// Otherwise a `planwright.toml` or a `git init` in a folder of the workspace would do away with the policy.
#[test]
fn a_project_within_another_is_under_its_policy() {
    let town = Town::new("identity-within");
    let outer = PolicyPaths::of(town.folder.root()).expect("paths");
    fs::create_dir_all(town.path("draft")).expect("made");
    fs::write(town.path("draft/policy.toml"), "").expect("written");
    outer.install(&town.path("draft/policy.toml")).expect("installed");
    town.unknown("plans");
    let inner = PolicyPaths::of(&town.path("plans")).expect("paths");
    assert_ne!(inner.repository, outer.repository);
    assert_eq!(inner.load().expect("loaded").map(|loaded| loaded.path), Some(outer.repository));
}
