//! Where the work begins: real repositories, real git, and an agent that has laid its traps in them.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use planwright_core::plan::verified::Plan;
use planwright_engine::git::base;
use planwright_engine::git::base::{Base, tree_of_workspace};
use planwright_engine::git::checkout::{Checkout, Content, Lifetime, Objects};
use planwright_engine::git::repository::OwnedRefs;
use planwright_engine::git::sealed;
use planwright_engine::workspace::project::Project;

use crate::repository::{Repository, lay_traps, read};
use planwright_engine::run::baseline;

fn of_commit(root: &Path, commit: &str) -> Result<Checkout, base::Error> {
    Checkout::of(root, &Content::Commit(commit.to_owned()), Objects::Borrowed, Lifetime::Temporary)
}

fn of_workspace(root: &Path) -> Result<Checkout, base::Error> {
    Checkout::of(root, &Content::Workspace, Objects::Borrowed, Lifetime::Temporary)
}

fn tree(repository: &Repository) -> String {
    tree_of_workspace(repository.root(), &[]).expect("hashed")
}

/// How many throw-away trees there are.
fn trees(repository: &Repository) -> usize {
    let entries = std::fs::read_dir(repository.checkouts()).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_dir()).count()
}

#[test]
fn the_base_is_commit_tree_and_branch_of_head() {
    let repository = Repository::new("base-of");
    assert_eq!(base::of(repository.root()).expect("told"), None, "nothing was committed yet");
    let base = repository.write("a", "1").commit();
    assert_eq!(base.commit, repository.git(&["rev-parse", "HEAD"]));
    assert_eq!(base.tree, repository.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(base.branch.as_deref(), Some("main"));
    repository.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(repository.base().branch, None);
    let bare = Repository::empty("base-none");
    assert_eq!(base::of(bare.root()).expect("told"), None);
    bare.write(".git/config", "");
    assert_eq!(base::of(bare.root()).expect("told"), None, "an empty `.git` only marks a root");
    repository.write(".git/HEAD", "garbage");
    base::of(repository.root()).expect_err("a broken repository is no missing one");
}

#[test]
fn what_moved_between_two_commits_is_named_as_the_project_calls_it() {
    let repository = Repository::new("base-moved");
    let first = repository.write("app/a", "1").write("app/b", "1").write("lib/c", "1").commit();
    let second = repository.write("app/b", "2").write("lib/c", "2").write("app/new\nline", "1").commit();
    let moved = |root: &Path| base::moved(root, &first, &second).expect("compared");
    assert_eq!(moved(repository.root()), ["app/b", "app/new\nline", "lib/c"]);
    assert_eq!(moved(&repository.root().join("app")), ["b", "new\nline", "../lib/c"]);
    assert!(base::moved(repository.root(), &first, &first).expect("compared").is_empty());
    let unknown = Base { commit: "0".repeat(40), tree: String::new(), branch: None };
    let error = base::moved(repository.root(), &unknown, &second).expect_err("no such commit").to_string();
    assert!(error.contains("compare two commits"), "{error}");
    let option = Base { commit: "--output=/tmp/x".to_owned(), ..unknown };
    base::moved(repository.root(), &option, &second).expect_err("no name of a commit");
}

#[test]
fn a_checkout_is_the_commit_and_nothing_else() {
    let repository = Repository::new("base-checkout");
    repository.write("app/a", "committed").write("lib/b", "beside").program("app/run", "#!/bin/sh\n");
    symlink("/etc/passwd", repository.root().join("app/link")).expect("a link");
    repository.write(".gitattributes", "crlf text eol=crlf\nlib/b export-ignore\n").write("crlf", "x\n");
    let base = repository.commit();
    repository.write("app/a", "changed").write("app/new", "untracked");
    let checkout = of_commit(&repository.root().join("app"), &base.commit).expect("laid out");
    let path = checkout.path();
    assert!(!path.starts_with(repository.root()));
    assert_eq!(read(&path.join("a")), "committed");
    assert_eq!(read(&path.join("../lib/b")), "beside");
    assert_eq!(read(&path.join("../crlf")), "x\r\n", "as git lays it out");
    assert!(!path.join("new").exists());
    assert_eq!(std::fs::read_link(path.join("link")).expect("a link"), Path::new("/etc/passwd"));
    assert!(path.join("run").metadata().expect("there").permissions().mode() & 0o100 != 0);
    let asked = |words: &[&str]| {
        let ended = Command::new("git").args(words).current_dir(&path).output().expect("git is here");
        String::from_utf8_lossy(&ended.stdout).trim().to_owned()
    };
    assert_eq!(asked(&["status", "--porcelain"]), "");
    assert_eq!(asked(&["rev-parse", "HEAD"]), base.commit);
    assert_eq!(asked(&["log", "--format=%s"]), "x");
    drop(checkout);
    assert!(!path.exists());
}

#[test]
fn a_part_of_the_repository_that_no_commit_has_yet_is_an_empty_folder() {
    let repository = Repository::new("base-part");
    let base = repository.write("a", "1").commit();
    repository.write("new/planwright.toml", "");
    let root = repository.root().join("new");
    let checkout = of_commit(&root, &base.commit).expect("laid out");
    assert_eq!(std::fs::read_dir(checkout.path()).expect("a folder").count(), 0);
}

#[test]
fn a_checkout_of_the_workspace_is_what_lies_there_but_for_what_is_ignored() {
    let repository = Repository::new("base-workspace");
    repository.write(".gitignore", "*.log\n").write("a", "1").write("gone", "1").write("kept.log", "tracked");
    repository.git(&["add", "--force", "kept.log"]);
    repository.commit();
    repository.write("a", "2").write("sub/new", "3").write("x.log", "ignored").write("nested/.git/HEAD", "");
    repository.write("nested/file", "4");
    std::fs::remove_file(repository.root().join("gone")).expect("removed");
    symlink("a", repository.root().join("link")).expect("a link");
    let checkout = of_workspace(repository.root()).expect("copied");
    let path = checkout.path();
    let there = |name: &str| path.join(name).symlink_metadata().is_ok();
    assert_eq!(read(&path.join("a")), "2");
    assert_eq!(read(&path.join("kept.log")), "tracked");
    assert_eq!((read(&path.join("sub/new")), read(&path.join("nested/file"))), ("3".into(), "4".into()));
    assert_eq!((there("x.log"), there("gone"), there("nested/.git")), (false, false, false));
    assert!(path.join("link").is_symlink());
    let plain = Repository::empty("base-workspace-plain");
    plain.write("x", "1");
    let copy = of_workspace(plain.root()).expect("copied");
    assert_eq!(read(&copy.path().join("x")), "1");
    assert!(!copy.path().join(".git").exists());
}

// M-01: the harness looks at a repository that an agent can write to, and nothing that the agent configured is run.
#[test]
fn no_hook_monitor_or_filter_of_the_repository_runs() {
    let repository = Repository::new("base-hostile");
    repository.write("a", "1").write("b", "1").write(".gitattributes", "* filter=trap diff=trap\n");
    let first = repository.commit();
    let second = repository.write("a", "2").commit();
    let sprung = lay_traps(&repository);
    std::fs::remove_file(&sprung).ok();
    let root = repository.root();
    repository.write("a", "3");
    assert_eq!(base::of(root).expect("told"), Some(second.clone()));
    assert_eq!(base::moved(root, &first, &second).expect("compared"), ["a"]);
    let checkout = of_commit(root, &first.commit).expect("laid out");
    assert_eq!(read(&checkout.path().join("a")), "1");
    assert_eq!(read(&of_workspace(root).expect("copied").path().join("a")), "3");
    tree(&repository);
    assert!(!sprung.exists(), "{}", read(&sprung));
    // The twin: git as everybody runs it springs them.
    let worktree = format!("core.worktree={}", root.display());
    let mut git = Command::new("git");
    git.args(["-c", &worktree, "status"]).current_dir(root).output().expect("git is here");
    assert!(sprung.exists(), "the traps are none");
    std::fs::remove_file(&sprung).ok();
}

// The user's repository is never written: not an object, not the index, not a reference.
#[test]
fn the_repository_of_the_user_stays_as_it_is() {
    let repository = Repository::new("base-untouched");
    let first = repository.write("a", "1").commit();
    let second = repository.write("a", "2").commit();
    repository.write("b", "new");
    let look = || {
        let ended = Command::new("bash")
            .args([
                "-c",
                "find . -printf '%p %s %T@ %i\\n' | sort; find . -type f -exec sha256sum {} + | sort",
            ])
            .current_dir(repository.root())
            .output();
        String::from_utf8_lossy(&ended.expect("bash is here").stdout).into_owned()
    };
    let before = look();
    assert!(before.contains("./.git/index"), "{before}");
    base::moved(repository.root(), &first, &second).expect("compared");
    let checkout = of_commit(repository.root(), &first.commit).expect("laid out");
    let words =
        "git config user.name x; git config user.email x@y; echo 1 > new; git add new; git commit -qm new";
    let ended = Command::new("bash").args(["-ec", words]).current_dir(checkout.path()).status();
    assert!(ended.expect("bash is here").success());
    of_workspace(repository.root()).expect("copied");
    tree(&repository);
    assert_eq!(look(), before);
}

#[test]
fn what_a_dead_process_left_is_swept_and_what_a_living_one_uses_is_not() {
    let repository = Repository::new("base-sweep");
    let base = repository.write("a", "1").commit();
    let used = of_commit(repository.root(), &base.commit).expect("laid out");
    let left = repository.checkouts().join("1-0-0/tree/closed");
    std::fs::create_dir_all(&left).expect("made");
    std::fs::set_permissions(&left, std::fs::Permissions::from_mode(0o000)).expect("a mode");
    assert_eq!(trees(&repository), 2);
    let other = of_commit(repository.root(), &base.commit).expect("laid out");
    assert_eq!(trees(&repository), 2, "the one that nobody uses is gone");
    assert!(used.path().join("a").exists() && other.path().join("a").exists());
    std::fs::create_dir(other.path().join("closed")).expect("made");
    std::fs::set_permissions(other.path(), std::fs::Permissions::from_mode(0o500)).expect("a mode");
    drop((used, other));
    assert_eq!(trees(&repository), 0);
}

#[test]
fn the_hash_of_a_workspace_is_its_content_and_nothing_of_the_machine() {
    let [one, other] = ["base-hash-one", "base-hash-other"].map(|name| {
        let repository = Repository::new(name);
        repository.write("a", "1").write("sub/b", "2").write(".gitignore", "*.log\n").program("run", "x");
        repository
    });
    one.commit();
    assert_eq!(tree(&one), tree(&other), "committed or not, here or there");
    one.write("x.log", "ignored");
    assert_eq!(tree(&one), tree(&other), "what is ignored");
    let mut seen = vec![tree(&one)];
    let mut differs = |what: &str, repository: &Repository| {
        let hash = tree(repository);
        assert!(!seen.contains(&hash), "{what}");
        assert_eq!(tree(repository), hash, "{what}, again");
        seen.push(hash);
    };
    one.write("a", "3");
    differs("content", &one);
    one.write("new", "");
    differs("a new file", &one);
    std::fs::set_permissions(one.root().join("new"), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    differs("a mode", &one);
    std::fs::remove_file(one.root().join("new")).expect("removed");
    symlink("a", one.root().join("new")).expect("a link");
    differs("a link", &one);
    one.git(&["add", "--force", "x.log"]);
    differs("tracked, though ignored", &one);
    std::fs::create_dir(one.root().join("c")).expect("made");
    std::fs::remove_dir_all(one.root().join("sub")).expect("removed");
    symlink("c", one.root().join("sub")).expect("a link");
    one.write("c/b", "2");
    differs("a link in place of a folder", &one);
}

#[test]
fn a_file_that_is_left_out_of_the_hash_moves_nothing() {
    let repository = Repository::new("base-hash-plan");
    repository.write("app/plans/p.md", "pending").write("app/a", "1").commit();
    let root = repository.root().join("app");
    let hash = |without: &[&str]| {
        let without: Vec<PathBuf> = without.iter().map(PathBuf::from).collect();
        tree_of_workspace(&root, &without).expect("hashed")
    };
    let (with, without) = (hash(&[]), hash(&["plans/p.md"]));
    assert_eq!(without, hash(&["plans"]));
    repository.write("app/plans/p.md", "done");
    assert_eq!(hash(&["plans/p.md"]), without);
    assert_ne!(hash(&[]), with);
}

// The twin of the cache: a file that is changed to the same size, with its times set back, is read again.
#[test]
fn a_change_that_hides_behind_its_times_is_seen() {
    let repository = Repository::new("base-hash-times");
    repository.write("a", "1").commit();
    let path = repository.root().join("a");
    let touched =
        |word: &str| Command::new("touch").args(["-d", word]).arg(&path).status().expect("touch is here");
    touched("2001-01-01T00:00:00");
    let before = tree(&repository);
    let cache = repository.state().join("tree-cache");
    // As if it had been written long after, so that its entries are believed.
    let known = read(&cache);
    let (_, rest) = known.split_once('\0').expect("a time first");
    lay(&cache, &format!("99999999999999\0{rest}"));
    assert_eq!(tree(&repository), before);
    repository.write("a", "2");
    touched("2001-01-01T00:00:00");
    assert_ne!(tree(&repository), before);
    lay(&cache, "garbage");
    assert_ne!(tree(&repository), before);
}

#[expect(clippy::disallowed_methods, reason = "plays somebody who writes without asking us")]
fn lay(path: &Path, text: &str) {
    std::fs::write(path, text).expect("written");
}

#[test]
fn without_a_repository_there_is_a_hash_and_no_commit() {
    let plain = Repository::empty("base-hash-plain");
    plain.write("a", "1").write("sub/b", "2");
    let before = tree(&plain);
    assert_eq!(tree(&plain), before);
    plain.write("sub/b", "3");
    assert_ne!(tree(&plain), before);
    let error = of_commit(plain.root(), &"0".repeat(40)).expect_err("no repository").to_string();
    assert!(error.contains("not in a git repository"), "{error}");
}

/// A plan with one step that seals these.
fn sealing(repository: &Repository, patterns: &[&str]) -> Plan {
    let list: String = patterns.iter().map(|pattern| format!("- `{pattern}`\n")).collect();
    let text = format!(
        "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Seal\n\n### 1. One\n\n**target:** shell\n\
         **sealed:**\n{list}\n**task:**\nDo it.\n\n**contract:**\n```shell\ntest -s made\n```\n"
    );
    repository.write("plans/seal.md", &text);
    let project = Project::find(repository.root()).expect("a project");
    let verified =
        baseline::verify(&project, &repository.root().join("plans/seal.md"), "seal.md").expect("checked");
    verified.plan.unwrap_or_else(|| panic!("{:#?}", verified.diagnostics))
}

// C-11, M-14: the files that judge are named by their content, and what moved is said.
#[test]
fn sealed_files_are_known_by_their_content() {
    let repository = Repository::new("seal-of");
    repository
        .write("tests/a.py", "1")
        .write("tests/deep/b.py", "2")
        .write("tests/c.txt", "3")
        .write("one", "4");
    let plan = sealing(&repository, &["tests/**/*.py", "one"]);
    let before = sealed::of(repository.root(), &plan).expect("sealed");
    assert_eq!(before.keys().collect::<Vec<_>>(), ["one", "tests/a.py", "tests/deep/b.py"]);
    assert_eq!(before["one"], blake3::hash(b"4").to_hex().to_string());
    assert!(sealed::moved(&before, &sealed::of(repository.root(), &plan).expect("sealed")).is_empty());
    repository.write("tests/a.py", "changed").write("tests/new.py", "").write("tests/c.txt", "none of ours");
    std::fs::remove_file(repository.root().join("tests/deep/b.py")).expect("removed");
    let now = sealed::of(repository.root(), &plan).expect("sealed");
    assert_eq!(
        sealed::moved(&before, &now),
        [
            "sealed file tests/a.py was changed",
            "sealed file tests/deep/b.py is missing",
            "sealed file tests/new.py is new"
        ]
    );
}

#[test]
fn what_can_not_be_sealed_is_named() {
    let repository = Repository::new("seal-not");
    repository.write("real/a", "1").write("b", "1");
    symlink("real", repository.root().join("folder")).expect("a link");
    let cases = [
        ("gone", "seals gone: file not found"),
        ("b/c", "seals b/c: file not found"),
        ("*.none", "seals *.none, which matches no file"),
        ("real", "seals real, which is not a file of the workspace"),
        ("folder/a", "seals folder/a, which is not a file of the workspace"),
    ];
    for (pattern, said) in cases {
        let plan = sealing(&repository, &[pattern]);
        let error = sealed::of(repository.root(), &plan).expect_err(pattern).to_string();
        assert!(error.contains(said), "{pattern}: {error}");
    }
}

// A link in the place of a sealed file is another file, even if it leads to the same text.
#[test]
fn a_link_does_not_pass_for_the_file_that_was_sealed() {
    let repository = Repository::new("seal-link");
    repository.write("judge", "text").write("elsewhere", "text");
    let plan = sealing(&repository, &["judge"]);
    let before = sealed::of(repository.root(), &plan).expect("sealed");
    std::fs::remove_file(repository.root().join("judge")).expect("removed");
    symlink("elsewhere", repository.root().join("judge")).expect("a link");
    let now = sealed::of(repository.root(), &plan).expect("sealed");
    assert_eq!(sealed::moved(&before, &now), ["sealed file judge was changed"]);
}

// M-20: a file of any size that takes no space does not hang a run, and is not left out of a verdict either.
#[test]
#[expect(clippy::disallowed_methods, reason = "makes a sparse file, which is no plan")]
fn a_file_that_would_take_hours_to_read_is_refused_by_name_until_it_is_ignored() {
    let repository = Repository::new("base-sparse");
    repository.write("a", "1").commit();
    let before = tree(&repository);
    let huge = std::fs::File::create(repository.root().join("disk.img")).expect("made");
    huge.set_len(2 << 40).expect("a sparse file");
    let refused = tree_of_workspace(repository.root(), &[]).expect_err("too large").to_string();
    assert!(refused.contains("disk.img") && refused.contains(".gitignore"), "{refused}");
    let keep = OwnedRefs::find(repository.root()).expect("looked").expect("a repository");
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let refused = keep.snapshot_tree(repository.root(), &commit, &[]).expect_err("too large").to_string();
    assert!(refused.contains("disk.img"), "{refused}");
    repository.write(".gitignore", "*.img\n");
    assert_ne!(tree(&repository), before);
}
