//! Paths that are no plan files: folders, pipes, devices, links, closed doors, and files that never stand still.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they change its files under it"
)]

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sample::sound;
use crate::test_env::Place;

#[test]
fn what_is_no_file_is_named_and_never_waited_for() {
    let place = Place::harbor();
    place.bash("mkfifo pipe.md").expect(0, &[]);
    place.write("folder.md/x", "");
    place.link("gone.md", "dangling.md").link("loop.md", "loop.md");
    for path in ["plans", ".", "/", "folder.md", "pipe.md", "/dev/null", "/dev/zero", "/dev/tty"] {
        for command in [&["verify"][..], &["show"], &["fmt"], &["edit", "--note", "x"], &["verify", "--fix"]]
        {
            place
                .run(&[command, &[path]].concat())
                .expect(2, &["is not a regular file", "a plan is a file, or a directory with plan.md"]);
        }
    }
    place.run(&["verify", "dangling.md"]).expect(2, &["file dangling.md not found"]);
    place.run(&["verify", "loop.md"]).expect(5, &["cannot read loop.md"]);
    place.run(&["list"]).expect(0, &["auth-timeout"]);
    place.run(&["edit", "auth", "--expand", "1=plans"]).expect(5, &["cannot read the list plans"]);
}

#[test]
fn a_plan_may_lie_anywhere_that_the_user_names() {
    let place = Place::harbor();
    place.write("../outside.md", sound("Outside", 1));
    place.run(&["verify", "../outside.md"]).expect(0, &["checked  ../outside.md"]);
    let absolute = place.path("plans/auth-timeout.md");
    place.run(&["show", absolute.to_str().expect("text")]).expect(0, &["auth-timeout"]);
    place.run(&["verify", "../gone.md"]).expect(2, &["file ../gone.md not found"]);
    place.run(&["verify", "../nobody"]).expect(2, &["../nobody"]);
    for name in ["../up", "/up", "a/b", "", ".", "..", "-", "A"] {
        place.run(&["new", "--", name]).expect(2, &["is not a valid plan name"]);
    }
    assert!(!place.path("../up.md").exists() && !place.path("plans/../up.md").exists());
}

// C-07: whatever is read is one state of the file; where there is none, exit code 4 says so.
#[test]
fn a_file_that_changes_while_it_is_read_is_never_seen_half() {
    let place = Place::empty();
    let texts = [sound("One", 4), sound("Two", 200)];
    place.write("plan.md", &texts[0]);
    let (is_over, new) = (AtomicBool::new(false), place.path("plan.md.new"));
    let mut seen = [0; 3];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for text in texts.iter().cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                fs::write(&new, text).expect("written");
                fs::rename(&new, place.path("plan.md")).expect("renamed");
            }
        });
        for _ in 0..25 {
            let ran = place.run(&["verify", "plan.md"]);
            match ran.code {
                0 if ran.stdout.contains(" 4 steps") => seen[0] += 1,
                0 if ran.stdout.contains(" 200 steps") => seen[1] += 1,
                _ => {
                    ran.expect(4, &["plan.md keeps changing while it is read"]);
                    seen[2] += 1;
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(seen.iter().sum::<usize>(), 25, "{seen:?}");
}

/// A file that is written in place is half written at times, and then that is what it is: a report, or exit code 4.
#[test]
fn a_file_that_is_rewritten_in_place_never_ends_in_a_panic() {
    let place = Place::empty();
    let (text, is_over) = (sound("One", 100), AtomicBool::new(false));
    place.write("plan.md", &text);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::write(place.path("plan.md"), &text).expect("written");
            }
        });
        for _ in 0..15 {
            let ran = place.run(&["verify", "plan.md", "--format", "short"]);
            assert!([0, 1, 4].contains(&ran.code) && !ran.said().contains("panicked"), "{ran:#?}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

// P-22: what may not be read or written is the machine's business, and is named.
#[test]
fn closed_doors_are_named_and_nothing_is_changed() {
    let place = Place::harbor();
    let plan = sound("Closed", 2).replace("### 2.", "###  3.");
    place.write("closed.md", &plan).permit("closed.md", 0o000);
    place.write("fixed/plan.md", &plan).permit("fixed/plan.md", 0o644).permit("fixed", 0o555);
    place.write("secret/plan.md", &plan).permit("secret", 0o000);
    let Some(ran) = place.run_unprivileged(&["verify", "closed.md"]) else { return };
    ran.expect(5, &["cannot read closed.md", "Permission denied"]);
    for words in [
        &["verify", "--fix", "fixed/plan.md"][..],
        &["fmt", "fixed/plan.md"],
        &["edit", "fixed/plan.md", "--note", "x"],
    ] {
        let ran = place.run_unprivileged(words).expect("it worked a moment ago");
        ran.expect(5, &["cannot write fixed/plan.md", "Permission denied"]);
    }
    assert_eq!(place.read("fixed/plan.md"), plan);
    let run = |words: &[&str]| place.run_unprivileged(words).expect("it worked a moment ago");
    run(&["list"]).expect(0, &["auth-timeout", "fixed/plan.md"]);
    run(&["verify", "secret/plan.md"]).expect(5, &["cannot read secret/plan.md"]);
    run(&["verify", "fixed/plan.md"]).expect(1, &["PW0"]);
    place.permit("plans", 0o555);
    run(&["new", "another"]).expect(5, &["cannot write plans/another.md"]);
    place.permit("planwright.toml", 0o000);
    run(&["list"]).expect(5, &["cannot read planwright.toml"]);
}

#[test]
fn links_in_the_tree_do_not_lead_in_circles() {
    let place = Place::harbor();
    place.link("..", "plans/up").link("plans/auth-timeout.md", "alias.md").link("nowhere", "plans/lost.md");
    let ran = place.run(&["list"]);
    ran.expect(0, &["plans/auth-timeout.md", "alias.md"]);
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:#?}");
}

// A plan that can't be read is not a plan that isn't there: the next command would write another one.
#[test]
fn a_plan_that_can_not_be_read_is_not_missing() {
    let place = Place::harbor();
    place.write("plans/closed.md", sound("Closed", 1)).permit("plans/closed.md", 0o000);
    for words in [&["run", "closed"][..], &["show", "closed"], &["verify", "closed"]] {
        let Some(ran) = place.run_unprivileged(words) else { return };
        ran.expect(5, &["cannot find plan `closed`: cannot read", "plans/closed.md", "Permission denied"]);
    }
    let Some(listed) = place.run_unprivileged(&["list"]) else { return };
    listed.expect(0, &["auth-timeout", "cannot read plans/closed.md: Permission denied"]);
    let Some(ran) = place.run_unprivileged(&["show", "nobody"]) else { return };
    ran.expect(2, &["plan `nobody` not found"]);
}

// Nothing says that the path of a project is text, or one line.
#[test]
fn the_path_of_a_project_may_have_any_bytes() {
    use std::os::unix::ffi::OsStringExt;
    for name in [b"two\nlines".to_vec(), b"caf\xe9".to_vec(), b"a 'b' \"c\" $d".to_vec()] {
        let place = Place::with_plan(&[("a", "", "touch a.out", "test -e a.out")]);
        let name = std::ffi::OsString::from_vec(name);
        let project = place.path("..").join(&name);
        fs::rename(place.project(), &project).expect("moved");
        fs::create_dir(place.project()).expect("made");
        let run = |words: &[&str]| {
            let mut command = place.planwright(words);
            crate::test_env::run(command.current_dir(&project), b"")
        };
        let envelope = run(&["run", "it", "--dry-run", "--json"]).stdout;
        let envelope: serde_json::Value = serde_json::from_str(&envelope).expect("an envelope");
        let digest = envelope["data"]["digest"].as_str().expect("a digest").to_owned();
        run(&["run", "it", "--rev", &digest]).expect(0, &["done"]);
        run(&["status", "it"]).expect(0, &["done"]);
        run(&["audit"]).expect(0, &["intact"]);
        run(&["doctor"]).expect(0, &["healthy"]);
    }
}
