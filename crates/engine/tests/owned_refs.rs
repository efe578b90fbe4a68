//! What is kept of work in the user's repository: real git, and an agent that has laid its traps.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use planwright_engine::git::checkout::History;
use planwright_engine::git::repository::{MergeCommit, OwnedRefs, SyncResult};
use planwright_engine::store::{state_dir, worktree_registry};

use crate::repository::{Repository, lay_traps, plant, read};
use crate::scratch::Scratch;

fn shell(folder: &std::path::Path, words: &str) -> String {
    let ended = Command::new("bash").args(["-ec", words]).current_dir(folder).output().expect("bash is here");
    assert!(ended.status.success(), "{words}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).trim().to_owned()
}

// P-23: what lies in a tree, with what is new, changed, removed, a link or a program, is one commit; what is ignored is not.
#[test]
fn a_snapshot_is_what_lies_in_the_tree() {
    let repository = Repository::new("keep-snapshot");
    repository.write("a", "1").write("gone", "1").write("dir", "file").write(".gitignore", "*.log\n");
    let base = repository.commit();
    let root = repository.root();
    let keep = OwnedRefs::of(root).expect("a repository");
    repository.write("a", "2").write("sub/new", "3").write("x.log", "ignored").write("plans/p.md", "marked");
    repository.write("nested/inside", "4").write("nested/.git/HEAD", "ref: refs/heads/x\n");
    std::fs::remove_file(root.join("gone")).expect("removed");
    std::fs::remove_file(root.join("dir")).expect("removed");
    repository.write("dir/inside", "5").write(".planwright.1-2.fresh", "half");
    repository.program("run.sh", "#!/bin/sh\n");
    symlink("/etc/hostname", root.join("link")).expect("a link");
    let before = repository.git(&["status", "--porcelain"]);
    let commit = keep.snapshot(root, &base.commit, &[PathBuf::from("plans/p.md")], "step 1").expect("kept");
    let listed = repository.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", &commit]);
    let wanted = "100644 .gitignore\n100644 a\n100644 dir/inside\n120000 link\n100644 nested/inside\n100755 \
                  run.sh\n100644 sub/new";
    assert_eq!(listed, wanted);
    assert_eq!(repository.git(&["show", &format!("{commit}:link")]), "/etc/hostname");
    assert_eq!(repository.git(&["rev-parse", &format!("{commit}^")]), base.commit);
    assert_eq!(repository.git(&["log", "-1", "--format=%s", &commit]), "step 1");
    assert_eq!(repository.git(&["status", "--porcelain"]), before, "nothing of the user's moved");
    // The second one finds what changed since, and what has been put back.
    repository.write("a", "1").write("gone", "1");
    let again = keep.snapshot(root, &commit, &[PathBuf::from("plans/p.md")], "step 2").expect("kept");
    assert_eq!(keep.changed(&commit, &again).expect("compared"), ["a", "gone"]);
    assert_eq!(keep.size(&commit, &again).expect("compared"), 3);
    assert_eq!(keep.parents_of(&again).expect("known"), std::slice::from_ref(&commit));
    assert!(keep.is_ancestor(&commit, &again).expect("known"));
    assert!(!keep.is_ancestor(&again, &commit).expect("known"));
}

// S7: nothing that an agent configured is run by any of it, in the repository or in a tree.
#[test]
fn no_trap_is_sprung() {
    let repository = Repository::new("keep-hostile");
    repository
        .write("a", "1")
        .write("b", "1")
        .write(".gitattributes", "* filter=trap diff=trap merge=trap\n");
    let base = repository.commit();
    let sprung = lay_traps(&repository);
    std::fs::remove_file(&sprung).ok();
    let root = repository.root();
    let keep = OwnedRefs::of(root).expect("a repository");
    repository.write("a", "2");
    let ours = keep.snapshot(root, &base.commit, &[], "ours").expect("kept");
    repository.write("a", "1").write("b", "2");
    let theirs = keep.snapshot(root, &base.commit, &[], "theirs").expect("kept");
    let MergeCommit::Clean { tree } = keep.merge(&ours, &theirs).expect("joined") else {
        panic!("no conflict")
    };
    let joined = keep.commit(&tree, &[&ours, &theirs], "both").expect("a commit");
    assert!(keep.set("refs/heads/plan/x", &joined, None).expect("set"));
    let scratch = Scratch::new("keep-hostile-tree");
    let tree = scratch.path().join("tree");
    plant(&keep, &joined, &tree, History::Whole).expect("planted");
    assert_eq!((read(&tree.join("a")), read(&tree.join("b"))), ("2".to_owned(), "2".to_owned()));
    assert_eq!(keep.bring(root, &theirs, &joined, &[]).expect("brought"), SyncResult::Done);
    assert_eq!(read(&root.join("a")), "2");
    keep.bring_index(root, &base.commit, &joined).expect("brought");
    assert!(!sprung.exists(), "{}", read(&sprung));
    // In a tree an agent can configure what it likes, too.
    std::fs::create_dir_all(tree.join(".git/hooks")).expect("made");
    shell(
        &tree,
        &format!(
            "git config core.fsmonitor 'touch {0}'; git config filter.trap.clean 'touch {0}; cat'; printf '#!/bin/sh\\ntouch {0}\\n' > .git/hooks/reference-transaction; chmod +x .git/hooks/*",
            sprung.display()
        ),
    );
    std::fs::remove_file(&sprung).ok();
    shell(&tree, "echo 3 > a");
    keep.snapshot(&tree, &joined, &[], "of the tree").expect("kept");
    assert!(!sprung.exists(), "{}", read(&sprung));
    shell(&tree, "git status >/dev/null; true");
    assert!(sprung.exists(), "the traps are none");
    std::fs::remove_file(&sprung).ok();
}

// S7: a tree shares neither objects nor references nor configuration with the repository that it was made of.
#[test]
fn nothing_in_a_tree_reaches_the_repository() {
    let repository = Repository::new("keep-plant");
    let first = repository.write("a", "1").commit();
    let base = repository.write("a", "2").commit();
    let keep = OwnedRefs::of(repository.root()).expect("a repository");
    for (history, commits) in [(History::Whole, "2"), (History::None, "1")] {
        let scratch = Scratch::new("keep-plant-tree");
        let tree = scratch.path().join("tree");
        plant(&keep, &base.commit, &tree, history).expect("planted");
        assert_eq!(shell(&tree, "git status --porcelain; git symbolic-ref HEAD"), "refs/heads/plan/x");
        assert_eq!(shell(&tree, "git rev-list --count HEAD"), commits);
        assert_eq!(shell(&tree, "git fsck --full --strict 2>&1 | grep -v '^notice' || true"), "");
        let common = repository.root().join(".git").display().to_string();
        assert_eq!(shell(&tree, &format!("grep -rl '{common}' .git || true")), "", "nothing names it");
        // Hard links would carry a change of an object over.
        shell(&tree, "find .git -type f -links +1 | (! grep .)");
        shell(
            &tree,
            "chmod -R u+w .git/objects; find .git/objects -type f -exec sh -c 'echo x > $1' _ {} \\;",
        );
        shell(
            &tree,
            "git update-ref refs/heads/main HEAD 2>/dev/null || true; git config core.hooksPath /nowhere",
        );
    }
    assert_eq!(repository.git(&["fsck", "--full"]), "");
    assert_eq!(repository.base(), base);
    assert_eq!(repository.git(&["rev-parse", "HEAD^"]), first.commit);
}

// D-08, P-13: a conflict is said, with its paths, and nothing is written.
#[test]
fn a_conflict_names_its_paths() {
    let repository = Repository::new("keep-conflict");
    let base = repository.write("a", "1\n").write("b", "1\n").commit();
    let root = repository.root();
    let keep = OwnedRefs::of(root).expect("a repository");
    repository.write("a", "2\n");
    let ours = keep.snapshot(root, &base.commit, &[], "ours").expect("kept");
    repository.write("a", "3\n").write("b", "3\n");
    let theirs = keep.snapshot(root, &base.commit, &[], "theirs").expect("kept");
    let MergeCommit::Conflict { paths, said } = keep.merge(&ours, &theirs).expect("tried") else {
        panic!("they are in conflict")
    };
    assert_eq!(paths, ["a"]);
    assert!(said.contains("CONFLICT") && said.contains('a'), "{said}");
}

#[test]
fn a_reference_moves_only_if_it_is_what_was_seen() {
    let repository = Repository::new("keep-set");
    let one = repository.write("a", "1").commit().commit;
    let two = repository.write("a", "2").commit().commit;
    let keep = OwnedRefs::of(repository.root()).expect("a repository");
    let name = "refs/planwright/runs/1/head";
    assert_eq!(keep.get(name).expect("asked"), None);
    assert!(keep.set(name, &one, None).expect("set"));
    assert!(!keep.set(name, &two, None).expect("asked"), "it already exists");
    assert!(!keep.set(name, &two, Some(&two)).expect("asked"), "it is at another commit");
    assert!(keep.set(name, &two, Some(&one)).expect("set"));
    assert_eq!(keep.get(name).expect("asked"), Some(two.clone()));
    assert_eq!(keep.list("refs/planwright/runs/1/").expect("listed"), [(name.to_owned(), two)]);
    keep.drop_hidden(name).expect("removed");
    assert_eq!(keep.get(name).expect("asked"), None);
}

// What somebody wrote meanwhile is never written over, and then nothing is written at all.
#[test]
fn a_workspace_is_brought_along_whole_or_not_at_all() {
    let repository = Repository::new("keep-bring");
    repository.write("a", "1").write("b", "1").write("gone/x", "1").write("file", "1").write("own", "1");
    let from = repository.write("same", "1").commit().commit;
    let root = repository.root();
    let keep = OwnedRefs::of(root).expect("a repository");
    repository.write("a", "2").write("new/deep/x", "2");
    std::fs::remove_file(root.join("gone/x")).expect("removed");
    std::fs::remove_file(root.join("file")).expect("removed");
    repository.write("file/inside", "2");
    repository.program("b", "1");
    let to = keep.snapshot(root, &from, &[], "to").expect("kept");
    repository.git(&["checkout", "--quiet", "--force", "HEAD"]);
    repository.git(&["clean", "--quiet", "-ffd"]);
    let edits: [(&str, &dyn Fn()); 4] = [
        ("a", &|| {
            repository.write("a", "mine");
        }),
        ("gone/x", &|| {
            repository.write("gone/x", "mine");
        }),
        ("new/deep/x", &|| {
            repository.write("new/deep/x", "mine");
        }),
        ("new/deep/x", &|| symlink("/nowhere", root.join("new")).expect("a link")),
    ];
    for (path, edit) in edits {
        edit();
        let brought = keep.bring(root, &from, &to, &[]).expect("tried");
        assert_eq!(brought, SyncResult::Conflict { paths: vec![path.to_owned()] });
        repository.git(&["checkout", "--quiet", "--force", "HEAD"]);
        repository.git(&["clean", "--quiet", "-ffd"]);
        assert_eq!(repository.git(&["status", "--porcelain"]), "", "nothing else was written");
    }
    // What does not differ between the two is nobody's business, and half of it may be there already.
    repository.write("same", "mine").write("a", "2").write("own", "mine");
    for _ in 0..2 {
        assert_eq!(keep.bring(root, &from, &to, &[PathBuf::from("own")]).expect("brought"), SyncResult::Done);
        let now = keep.snapshot_tree(root, &from, &[]).expect("kept");
        assert_eq!(keep.changed(&to, &now).expect("compared"), ["own", "same"]);
    }
    assert!(!root.join("gone").exists(), "an empty folder stays nowhere");
    keep.bring_index(root, &from, &to).expect("brought");
    assert_eq!(repository.git(&["write-tree"]), keep.tree_of(&to).expect("known"));
}

// A folder that becomes a file makes room, and the other way round; a link, too, wherever it leads. What somebody keeps in such
// a folder stays, and all of it.
#[test]
fn folders_files_and_links_take_each_others_places() {
    let repository = Repository::new("keep-kinds");
    let root = repository.root();
    repository.write("lib/a", "1").write("lib/deep/b", "1").write("file", "1").write("linked/x", "1");
    repository.write("target/x", "1").write(".gitignore", "*.log\n");
    symlink("target", root.join("link")).expect("a link");
    let from = repository.commit().commit;
    let keep = OwnedRefs::of(root).expect("a repository");
    shell(
        root,
        "rm -r lib file linked link; echo f >lib; mkdir file link; echo 2 >file/in; echo 2 >link/x; ln -s target linked",
    );
    let to = keep.snapshot(root, &from, &[], "to").expect("kept");
    for _ in 0..2 {
        for (one, other) in [(&to, &from), (&from, &to)] {
            assert_eq!(keep.bring(root, one, other, &[]).expect("brought"), SyncResult::Done);
            let now = keep.snapshot_tree(root, one, &[]).expect("kept");
            assert_eq!(now, keep.tree_of(other).expect("known"));
        }
    }
    assert_eq!(read(&root.join("target/x")), "1", "nothing was written through a link");
    assert_eq!(keep.bring(root, &to, &from, &[]).expect("brought"), SyncResult::Done);
    repository.write("lib/deep/mine.log", "mine");
    let brought = keep.bring(root, &from, &to, &[]).expect("tried");
    assert_eq!(brought, SyncResult::Conflict { paths: vec!["lib".to_owned()] });
    assert_eq!(read(&root.join("lib/deep/mine.log")), "mine");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    shell(root, "rm lib/deep/mine.log; mkdir lib/empty");
    assert_eq!(keep.bring(root, &from, &to, &[]).expect("brought"), SyncResult::Done);
    keep.take_back(root, &to, &from, &[]).expect("taken back");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

// A name of a file is bytes.
#[test]
fn a_name_that_is_no_text_goes_along() {
    let repository = Repository::new("keep-bytes");
    let from = repository.write("a", "1").commit().commit;
    let root = repository.root();
    let keep = OwnedRefs::of(root).expect("a repository");
    shell(root, "printf y >$'bad\\xff'; printf n >$'new\\nline'");
    let to = keep.snapshot(root, &from, &[], "to").expect("kept");
    shell(root, "git clean -qfd");
    assert_eq!(keep.bring(root, &from, &to, &[]).expect("brought"), SyncResult::Done);
    assert_eq!(keep.snapshot_tree(root, &to, &[]).expect("kept"), keep.tree_of(&to).expect("known"));
    keep.bring_index(root, &from, &to).expect("brought");
    assert_eq!(repository.git(&["write-tree"]), keep.tree_of(&to).expect("known"));
}

// What a sparse checkout leaves out is not removed; where it changes it is laid out.
#[test]
fn what_a_sparse_checkout_leaves_out_is_as_it_was() {
    let repository = Repository::new("keep-sparse");
    let from = repository.write("in/a", "1").write("out/b", "1").write("out/c", "1").commit().commit;
    let root = repository.root();
    repository.write("out/b", "2");
    let to = repository.commit().commit;
    repository.git(&["reset", "--quiet", "--hard", &from]);
    repository.git(&["sparse-checkout", "set", "in"]);
    assert!(!root.join("out").exists());
    let keep = OwnedRefs::of(root).expect("a repository");
    assert_eq!(keep.snapshot_tree(root, &from, &[]).expect("kept"), keep.tree_of(&from).expect("known"));
    // Also where the parent has moved since.
    assert_eq!(keep.snapshot_tree(root, &to, &[]).expect("kept"), keep.tree_of(&to).expect("known"));
    assert_eq!(keep.bring(root, &from, &to, &[]).expect("brought"), SyncResult::Done);
    assert_eq!(read(&root.join("out/b")), "2");
    assert!(!root.join("out/c").exists());
    shell(root, "rm in/a");
    let now = keep.snapshot_tree(root, &to, &[]).expect("kept");
    assert_eq!(keep.changed(&to, &now).expect("compared"), ["in/a"], "what somebody removes is gone");
}

// No filter is run: what went through one, and was not touched since, is kept as the index has it; none is written.
#[test]
fn what_is_filtered_is_kept_as_it_is_committed() {
    let repository = Repository::new("keep-filter");
    let root = repository.root();
    shell(
        root,
        "git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'; echo 'secret filter=up' >.gitattributes",
    );
    let from = repository.write("secret", "word").write("plain", "word").commit().commit;
    assert_eq!(repository.git(&["show", &format!("{from}:secret")]), "WORD");
    let keep = OwnedRefs::of(root).expect("a repository");
    repository.write("plain", "other");
    let now = keep.snapshot_tree(root, &from, &[]).expect("kept");
    assert_eq!(keep.changed(&from, &now).expect("compared"), ["plain"]);
    repository.write("secret", "new word");
    let edited = keep.snapshot_tree(root, &from, &[]).expect("kept");
    assert_eq!(keep.changed(&from, &edited).expect("compared"), ["plain", "secret"], "an edit is not lost");
    repository.git(&["checkout", "--quiet", "."]);
    let blob = shell(root, "echo TREE | git hash-object -w --no-filters --stdin");
    shell(root, &format!("GIT_INDEX_FILE=.git/other git read-tree {from}"));
    let to = shell(
        root,
        &format!(
            "export GIT_INDEX_FILE=.git/other; git update-index --cacheinfo 100644,{blob},secret; git commit-tree -p {from} -m to $(git write-tree)"
        ),
    );
    let brought = keep.bring(root, &from, &to, &[]).expect("tried");
    let said = "secret (has a git filter, which planwright does not run)".to_owned();
    assert_eq!(brought, SyncResult::Conflict { paths: vec![said] });
    assert_eq!(read(&root.join("secret")), "word");
}

// What is another repository stays what it is, and what looks like ours and is not stays as well.
#[test]
fn other_repositories_and_files_of_others_are_left_alone() {
    let repository = Repository::new("keep-others");
    let from = repository.write("a", "1").commit().commit;
    let root = repository.root();
    let keep = OwnedRefs::of(root).expect("a repository");
    repository.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{from},mod")]);
    repository.write("a", "2");
    repository.git(&["add", "a"]);
    repository.git(&["commit", "--quiet", "--message=to"]);
    let to = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["reset", "--quiet", "--hard", &from]);
    let long = "x".repeat(250);
    repository.write(".a.planwright", "precious").write(&long, "1");
    assert_eq!(keep.bring(root, &from, &to, &[]).expect("brought"), SyncResult::Done);
    assert_eq!(
        (read(&root.join("a")), read(&root.join(".a.planwright"))),
        ("2".to_owned(), "precious".to_owned())
    );
    let landed = keep.snapshot(root, &to, &[], "with a long name").expect("kept");
    std::fs::remove_file(root.join(&long)).expect("removed");
    assert_eq!(keep.bring(root, &to, &landed, &[]).expect("brought"), SyncResult::Done);
    assert_eq!(read(&root.join(&long)), "1");
}

// A tree is the repository's that it was made of, whatever lies in it; nothing in it can say otherwise.
#[test]
fn a_registered_tree_shares_the_state_of_its_repository() {
    let repository = Repository::new("keep-register");
    let base = repository.write("a", "1").commit();
    let keep = OwnedRefs::of(repository.root()).expect("a repository");
    let scratch = Scratch::new("keep-register-tree");
    let top = scratch.path().join("tree");
    plant(&keep, &base.commit, &top, History::None).expect("planted");
    let of = |root: &std::path::Path| state_dir::of_project(root).expect("a folder");
    assert_ne!(of(&top), of(repository.root()), "nobody knows it yet");
    let tree = worktree_registry::RegisteredWorktree {
        path: top.clone(),
        repository: keep.common().to_owned(),
        origin: repository.root().to_owned(),
        name: "x".to_owned(),
        plan: None,
        owner: None,
        branch: Some("plan/x".to_owned()),
        base: base.commit,
        ports: vec![],
        created_at_ms: 1,
    };
    worktree_registry::register(&tree).expect("registered");
    assert_eq!(worktree_registry::tree_at(&top).expect("read"), Some(tree));
    assert_eq!(of(&top), of(repository.root()));
    std::fs::remove_dir_all(top.join(".git")).expect("removed");
    assert_eq!(of(&top), of(repository.root()), "also without its git folder");
    assert_eq!(OwnedRefs::of(&top).expect("a repository").common(), keep.common());
    worktree_registry::forget(&top).expect("forgotten");
    assert_eq!(worktree_registry::tree_at(&top).expect("read"), None);
}
