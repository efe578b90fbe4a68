//! Many plans in one project: what may begin, what is held back and by which reason, what is staged, what happened.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use serde_json::Value;

use crate::sample::{runnable, sound};
use crate::test_env::Place;

/// A named plan with one step that makes a file.
fn named(name: &str, depends_on: &str, touches: &str, status: &str) -> String {
    let keys = match touches {
        "" => format!("depends_on: [{depends_on}]\n"),
        _ => format!("depends_on: [{depends_on}]\ntouches:\n  - \"{touches}\"\n"),
    };
    format!(
        "---\n{keys}---\n# Plan: All about {name}\n\n**Status:** {status}\n\n## Tasks\n\n### 1. Make {name}\n\
         - **Agent:** shell\n- **What:** touch {name}.txt\n- **Verification:** `test -e {name}.txt`\n- **Status:** [ ]\n"
    )
}

fn envelope(place: &Place, words: &[&str]) -> Value {
    let ran = place.run(words);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

fn data(place: &Place, words: &[&str]) -> Value {
    envelope(place, words)["data"].take()
}

fn names(list: &Value) -> Vec<String> {
    let name = |one: &Value| one["name"].as_str().or(one.as_str()).map(str::to_owned);
    list.as_array().into_iter().flatten().filter_map(name).collect()
}

/// Approves a plan and carries it out.
fn carry_out(place: &Place, plan: &str) -> i32 {
    let dry = data(place, &["run", plan, "--dry-run", "--json"]);
    let digest = dry["digest"].as_str().expect("a digest").to_owned();
    place.run(&["run", plan, "--rev", &digest]).code
}

// D-05, D-06: a mark is a claim; only the journal makes ready.
#[test]
fn a_plan_waits_until_the_journal_proves_what_it_depends_on() {
    let place = Place::empty();
    place
        .write(".harness/PLAN-auth.md", named("auth", "", "a/**", "planning"))
        .write(".harness/PLAN-ship.md", named("ship", "auth", "s/**", "planning"))
        .write(".harness/PLAN-late.md", named("late", "PLAN-told.md", "l/**", "planning"))
        .write(".harness/PLAN-told.md", named("told", "", "t/**", "done"))
        .write(".harness/PLAN-lost.md", named("lost", "auht", "o/**", "planning"))
        .write(
            "plans/own.md",
            sound("A native plan", 1).replace("owner: ada", "owner: ada\ndepends_on:\n  - ship"),
        );
    let queue = data(&place, &["status", "--queue", "--json"]);
    assert_eq!(names(&queue["ready"]), ["auth"]);
    let reasons = |queue: &Value| -> Vec<String> {
        let held = queue["held_back"].as_array().expect("a list");
        held.iter()
            .map(|held| {
                let reason = &held["reasons"][0];
                format!("{}: {} [{}] {}", held["name"], reason["text"], held["recovery"], reason["command"])
            })
            .map(|text| text.replace('"', ""))
            .collect()
    };
    assert_eq!(
        reasons(&queue),
        [
            "late: needs told, which is marked as done without proof [waits] planwright run told",
            "lost: needs unknown plan auht; did you mean auth? [replan] planwright show lost",
            "ship: needs auth, which is not done [waits] planwright run auth",
            "told: is marked as done without proof [person] planwright run told",
            "own: needs ship, which is not done [waits] planwright run ship",
        ]
    );
    // Somebody marks it: nothing changes but what is claimed.
    place.write(".harness/PLAN-auth.md", named("auth", "", "a/**", "done"));
    assert_eq!(names(&data(&place, &["status", "--queue", "--json"])["ready"]), [] as [&str; 0]);
    assert_eq!(carry_out(&place, "auth"), 0);
    assert_eq!(names(&data(&place, &["status", "--queue", "--json"])["ready"]), ["ship"]);
    // What was proven is not what the file says now.
    let text = place.read(".harness/PLAN-auth.md").replace("touch auth.txt", "touch other.txt");
    place.write(".harness/PLAN-auth.md", text);
    let queue = data(&place, &["status", "--queue", "--json"]);
    assert_eq!(queue["ready"][0]["state"], "changed since it was done", "{queue:#}");
    assert_eq!(names(&queue["ready"]), ["auth"]);
}

// D-06: the harness folder is looked at wherever it lies, and also where Git ignores it.
#[test]
fn plans_of_a_harness_folder_that_git_ignores_are_on_the_queue() {
    let place = Place::empty();
    place
        .write(".gitignore", ".harness/\n")
        .write(".harness/PLAN-auth.md", named("auth", "", "a/**", "planning"))
        .write(".harness/PLAN-auth (1).md", "x")
        .write(".harness/queued-plans/PLAN-later.md", named("later", "", "l/**", "planning"));
    let queue = data(&place, &["status", "--queue", "--json"]);
    assert_eq!(names(&queue["ready"]), ["auth"]);
    assert_eq!(names(&queue["staged"]), ["later"]);
    place.run(&["status", "--queue"]).expect(0, &["PLAN-auth (1).md is a conflict copy"]);
    place.run(&["unshelve", "later"]).expect(0, &["unshelved  .harness/PLAN-later.md"]);
    assert_eq!(names(&data(&place, &["status", "--queue", "--json"])["ready"]), ["auth", "later"]);
}

// D-06: what is archived is not listed, and counts by what the journal says of it.
#[test]
fn an_archived_plan_is_not_listed_and_counts_as_its_journal_says() {
    let place = Place::empty();
    place
        .write(".harness/PLAN-auth.md", named("auth", "", "a/**", "planning"))
        .write(".harness/archive/PLAN-old.md", named("old", "", "o/**", "done"))
        .write(".harness/PLAN-next.md", named("next", "auth", "n/**", "planning"))
        .write(".harness/PLAN-later.md", named("later", "old", "l/**", "planning"));
    assert_eq!(carry_out(&place, "auth"), 0);
    place.run(&["archive", "auth"]).expect(0, &["moved"]);
    let queue = data(&place, &["status", "--queue", "--json"]);
    assert_eq!(names(&queue["ready"]), ["next"]);
    assert_eq!(names(&queue["held_back"]), ["later"]);
    assert_eq!(
        queue["held_back"][0]["reasons"][0]["text"],
        "needs old, which is marked as done without proof"
    );
}

// D-06: what document D's tools put away beside the others is archived, and nothing else.
#[test]
fn a_plan_that_was_put_away_beside_the_others_is_archived() {
    let place = Place::empty();
    place
        .write(".harness/PLAN-auth.md", named("auth", "", "a/**", "planning"))
        .write(".harness/PLAN.archive.20260612-old.md", named("old", "", "o/**", "done"))
        .write(".harness/queued-plans/PLAN-old.md", named("old", "", "o/**", "planning"));
    let queue = data(&place, &["status", "--queue", "--json"]);
    assert_eq!(names(&queue["ready"]), ["auth"]);
    let ran = place.run(&["list"]);
    assert!(!ran.expect(0, &["auth"]).stdout.contains("archive"), "{ran:#?}");
    place.run(&["unshelve", "old"]).expect(3, &["archived as .harness/PLAN.archive.20260612-old.md"]);
    // Neither Git nor a shared folder makes a difference.
    place.write(".gitignore", ".harness\n");
    place.run(&["unshelve", "old"]).expect(3, &["archived as .harness/PLAN.archive.20260612-old.md"]);
}

// D-08: the command that the queue names answers about the plan that it means.
#[test]
fn the_status_of_a_plan_is_asked_for_by_its_name() {
    let place = Place::empty();
    place.write(".harness/PLAN-m1.md", named("m1", "", "a/**", "planning"));
    assert_eq!(carry_out(&place, "m1"), 0);
    for words in [&["status", "m1"][..], &["status", "PLAN-m1"], &["status", "--name", "m1"]] {
        let ran = place.run(words);
        assert!(!ran.expect(0, &["m1"]).said().contains("has not been run"), "{words:?}: {ran:#?}");
    }
    place.run(&["shelve", "m1"]).expect(1, &["`m1` is done; only drafts can be shelved"]);
    // What was run is known by its name, also where its file is gone.
    place.bash("rm .harness/PLAN-m1.md").expect(0, &[]);
    place.run(&["status", "PLAN-m1"]).expect(0, &["Finished"]);
    place.run(&["status", "nobody"]).expect(0, &["nobody has not been run"]);
}

// D-07, D-08
#[test]
fn what_may_run_together_is_proven_and_the_order_of_landing_is_one() {
    let place = Place::empty();
    place
        .write(".harness/PLAN-one.md", named("one", "", "a*.py", "planning"))
        .write(".harness/PLAN-two.md", named("two", "", "*b.py", "planning"))
        .write(".harness/PLAN-far.md", named("far", "one", "far/**", "planning"))
        .write(".harness/PLAN-near.md", named("near", "", "near/**", "planning"))
        .write(".harness/PLAN-mute.md", named("mute", "", "", "planning"));
    let queue = data(&place, &["status", "--queue", "--json"]);
    let together = &queue["together"];
    assert_eq!(names(&together["plans"]), ["near", "one"]);
    assert_eq!(together["overlaps"][0]["path"], "ab.py", "{together:#}");
    assert_eq!(together["overlaps"][0]["patterns"], serde_json::json!(["a*.py", "*b.py"]));
    assert_eq!(together["excluded"][0]["plan"], "mute");
    assert_eq!(together["excluded"][0]["why"], "it declares no `touches`");
    assert_eq!(names(&queue["merge_order"]), ["mute", "near", "one", "far", "two"]);
    place
        .run(&["status", "--queue"])
        .expect(0, &["not one with two: both may change ab.py", "mute alone: it declares no `touches`"]);
    place.write(".harness/PLAN-one.md", named("one", "far", "a*.py", "planning"));
    let queue = data(&place, &["status", "--queue", "--json"]);
    assert_eq!(queue["merge_order"], Value::Null);
    assert_eq!(names(&queue["cycle"]), ["far", "one"]);
    place.run(&["status", "--queue"]).expect(0, &["needs itself: far → one → far"]);
}

// D-17: name, status, last progress; whatever is broken is named, and the exit code is 0.
#[test]
fn the_dashboard_never_fails_and_writes_nothing() {
    let place = Place::empty();
    place
        .write(".harness/PLAN.md", named("it", "", "a/**", "planning"))
        .write(".harness/progress.md", "2026-06-10 14:30 /work — one\n2026-06-10 14:31 /work — two\n\n")
        .write(".harness/PLAN-broken.md", b"\xff\xfe")
        .write(".harness/PLAN (conflicted copy 2026-05-27).md", "x")
        .write(".harness/progress (1).md", "x");
    for words in [["queue", "--status"].as_slice(), &["queue-status"], &["queue-status-lite"]] {
        let ran = place.run(words);
        ran.expect(0, &["PLAN", "planning", "2026-06-10 14:31 /work — two", "broken", "unreadable"]);
        ran.expect(
            0,
            &[
                "PLAN (conflicted copy 2026-05-27).md is a conflict copy",
                "progress (1).md is a conflict copy",
            ],
        );
    }
    let dashboard = data(&place, &["queue-status", "--json"]);
    assert_eq!(names(&dashboard["plans"]), ["broken", "PLAN"]);
    assert!(place.has(".harness/progress (1).md"), "a copy is never deleted");
    place.write("planwright.toml", "run = [").run(&["queue-status"]).expect(0, &["PLAN", "planning"]);
    let empty = Place::empty();
    empty.run(&["queue-status"]).expect(0, &["no plans"]);
}

// D-20: guarded moves, and their exit codes.
#[test]
fn a_staged_plan_is_put_in_its_place_and_never_over_another() {
    let place = Place::empty();
    let later = named("later", "", "l/**", "planning");
    place.write(".harness/queued-plans/PLAN-later.md", &later);
    let staged = |place: &Place| place.has(".harness/queued-plans/PLAN-later.md");
    place.run(&["list"]).expect(0, &["no plans;"]);
    place.run(&["status", "--queue"]).expect(0, &["Shelved", "later"]);
    place.run(&["run", "later"]).expect(2, &["is shelved", "planwright unshelve later"]);
    let by_path = place.run(&["propose", ".harness/queued-plans/PLAN-later.md"]);
    by_path.expect(1, &["is shelved; unshelve it first"]);
    for name in ["nothing", "../later", "", ".harness/queued-plans/PLAN-later.md"] {
        assert_eq!(place.run(&["unshelve", name]).code, 2, "{name}");
    }
    place.write(".harness/PLAN-later.md", "mine");
    place.run(&["unshelve", "later"]).expect(2, &["already exists"]);
    assert!(staged(&place) && place.read(".harness/PLAN-later.md") == "mine");
    place.bash("rm .harness/PLAN-later.md");
    place.run(&["unshelve", "PLAN-later.md"]).expect(0, &["unshelved  .harness/PLAN-later.md"]);
    assert!(!staged(&place) && place.read(".harness/PLAN-later.md") == later);
    place.run(&["unshelve", "later"]).expect(2, &["shelved plan `later` not found"]);
    place.run(&["shelve", "later"]).expect(0, &["shelved  .harness/queued-plans/PLAN-later.md"]);
    assert!(staged(&place) && !place.has(".harness/PLAN-later.md"));
    place.run(&["unshelve", "later"]).expect(0, &[]);
    assert_eq!(carry_out(&place, "later"), 0);
    place.write(".harness/queued-plans/PLAN-later.md", &later);
    place.run(&["unshelve", "later"]).expect(3, &["is already done", "the journal proves"]);
    place.run(&["shelve", "later"]).expect(1, &["only drafts can be shelved"]);
    place.run(&["archive", "later"]).expect(0, &[]);
    place.run(&["unshelve", "later"]).expect(3, &["archived as"]);
    place
        .write(".harness/PLAN.archive.20260612-old.md", &later)
        .write(".harness/queued-plans/README.md", "# Read me\n");
    place.run(&["unshelve", "old"]).expect(3, &["archived as"]);
    assert_eq!(names(&data(&place, &["status", "--queue", "--json"])["staged"]), ["later"]);
    assert!(staged(&place), "what was refused is where it was");
    let elsewhere = Place::empty();
    elsewhere
        .write(".harness/PLAN-it.md", &later)
        .write("outside/keep", "")
        .link("../outside", ".harness/queued-plans");
    elsewhere.run(&["shelve", "it"]).expect(5, &["is a link that leaves"]);
    assert!(elsewhere.has(".harness/PLAN-it.md"), "no link is followed");
}

// D-20: whoever is killed leaves the plan in one place, whole.
#[test]
fn a_move_that_is_killed_leaves_the_plan_in_one_place() {
    let place = Place::empty();
    let text = named("it", "", "l/**", "planning");
    place.write(".harness/PLAN-it.md", &text);
    let (home, aside) = (".harness/PLAN-it.md", ".harness/queued-plans/PLAN-it.md");
    for turn in 0..40_u32 {
        let verb = if place.has(home) { "shelve" } else { "unshelve" };
        let mut command = place.planwright(&[verb, "it"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        // Every turn dies a little later; where exactly does not matter: what is asserted holds at every moment.
        for _ in 0..turn * 3000 {
            std::thread::yield_now();
        }
        child.kill().expect("killed");
        let ended = child.wait().expect("ended");
        assert!(ended.signal().is_some() || ended.success(), "{ended:?}");
        let places = [home, aside].into_iter().filter(|path| place.has(path)).collect::<Vec<_>>();
        assert_eq!(places.len(), 1, "turn {turn}: {places:?}");
        assert_eq!(place.read(places[0]), text);
    }
}

// D-24: three failures in a row, over all runs: only a person has it begun again.
#[test]
fn what_failed_three_times_is_not_begun_again_without_a_person() {
    let place = Place::empty();
    place.write("plans/bad.md", runnable(&[("build", "**on_fail:** abort", "true", "test -e never")]));
    assert_eq!(carry_out(&place, "bad"), 1);
    let held = |place: &Place| data(place, &["status", "--queue", "--json"])["held_back"][0].take();
    assert_eq!(held(&place)["recovery"], "retry");
    for _ in 0..2 {
        place.run(&["run", "bad", "--retry"]).expect(1, &["failed"]);
    }
    let tripped = held(&place);
    assert_eq!(tripped["recovery"], "person");
    let text = "step `build` failed 3 times in a row; it won't start again without you";
    assert_eq!(tripped["reasons"][0]["text"], text);
    assert_eq!(tripped["reasons"][0]["command"], "planwright run bad");
    place.run(&["run", "bad", "--retry"]).expect(3, &["held  step `build` failed 3 times in a row"]);
    let runs = |place: &Place| {
        data(place, &["log", "bad", "--versions", "--json"])["versions"][0]["runs"]
            .as_array()
            .map_or(0, Vec::len)
    };
    assert_eq!(runs(&place), 3, "nothing began");
    // A person looks, and says the digest: it begins, and the count begins anew.
    assert_eq!(carry_out(&place, "bad"), 1);
    assert_eq!(runs(&place), 4);
    assert_eq!(held(&place)["recovery"], "retry");
}

// D-24: a rule that approves would begin it for ever.
#[test]
fn no_rule_approves_what_tripped() {
    let place = Place::empty();
    let plan = runnable(&[("build", "**on_fail:** abort", "true", "test -e never")]);
    place
        .write("plans/bad.md", &plan)
        .write("policy.toml", "[[auto]]\nname = \"docs\"\nagents = [\"shell\"]\nsteps_max = 1\n");
    place.run(&["policy", "install", "policy.toml"]).expect(0, &[]);
    place.run(&["propose", "bad"]).expect(0, &["docs"]);
    for _ in 0..3 {
        place.run(&["run", "bad"]);
        place.run(&["run", "bad", "--retry"]);
    }
    let runs = data(&place, &["log", "bad", "--versions", "--json"])["versions"][0]["runs"]
        .as_array()
        .map_or(0, Vec::len);
    assert_eq!(runs, 3, "the rule began it three times and no more");
    place.run(&["revise", "bad"]);
    let proposed = data(&place, &["propose", "bad", "--json"]);
    assert_eq!(proposed["plans"][0]["approved_by_rule"], Value::Null, "{proposed:#}");
}

// D-24: the duplicate guard names the other plan, wherever it lies.
#[test]
fn a_plan_that_repeats_another_is_told_of_it() {
    let place = Place::empty();
    place
        .write("plans/first.md", sound("Fix the login timeout", 2))
        .write(".harness/queued-plans/PLAN-cache.md", named("cache", "", "c/**", "planning"))
        .write("plans/archive/mail.md", sound("Send the mail", 1));
    let new = |name: &str, title: &str| place.run(&["new", name, "--title", title]);
    new("second", "Fix the login timeout")
        .expect(0, &["first may be the same work: the titles are nearly the same"]);
    new("cache", "Something else").expect(0, &["cache may be the same work", "is shelved"]);
    new("mail", "Another thing").expect(0, &["mail may be the same work", "is archived"]);
    let alone = new("alone", "Move the users table");
    assert!(!alone.expect(0, &[]).said().contains("may be the same"), "{alone:#?}");
    place.run(&["status", "--queue"]).expect(0, &["plans/first.md and plans/second.md may be the same work"]);
}

// D-16: every family is told of by whoever lists plans, and no file is touched.
#[test]
fn copies_of_all_four_families_are_reported_and_stay() {
    let place = Place::empty();
    let copies = [
        ".harness/PLAN-x (conflicted copy 2026-05-27) - Mac.md",
        ".harness/PLAN-x [Conflict 2].md",
        ".harness/Copy of progress-x.md",
        ".harness/progress-x (1).md",
        ".harness/queued-plans/PLAN-y (1).md",
    ];
    place.write(".harness/PLAN-x.md", named("x", "", "x/**", "planning"));
    for copy in copies {
        place.write(copy, named("x", "", "x/**", "planning"));
    }
    for words in
        [["list"].as_slice(), &["status", "--queue"], &["queue-status"], &["status", "--since", "24h"]]
    {
        let ran = place.run(words);
        for copy in copies {
            ran.expect(0, &[copy]);
        }
    }
    assert_eq!(names(&data(&place, &["status", "--queue", "--json"])["ready"]), ["x"]);
    assert!(copies.iter().all(|copy| place.has(copy)));
}

#[test]
fn a_standup_says_what_was_done_what_failed_and_what_waits() {
    let place = Place::empty();
    place
        .write(".harness/PLAN-auth.md", named("auth", "", "a/**", "planning"))
        .write(".harness/PLAN-ship.md", named("ship", "bad", "s/**", "planning"))
        .write(
            "plans/bad.md",
            runnable(&[("build", "", "true", "test -e never"), ("tell", "", "true", "test -e told")]),
        );
    place.run(&["status", "--since", "24h"]).expect(0, &["no events"]);
    assert_eq!(carry_out(&place, "auth"), 0);
    assert_eq!(carry_out(&place, "bad"), 3);
    place.run(&["status", "--since", "24h"]).expect(
        0,
        &[
            "auth: done, 1 of 1 step",
            "- done: Make auth",
            "- failed: build",
            "- waiting: needs you: step `build`, all attempts failed",
            "- next: build: Do build",
            "Held back: ship: needs bad, which is waiting for an answer",
        ],
    );
    let since = data(&place, &["status", "--since", "1h", "--json"]);
    assert_eq!(names(&since["plans"]), ["auth", "bad"]);
    assert_eq!(since["plans"][1]["recovery"], "person");
    place.run(&["status", "--since", "soon"]).expect(2, &["invalid time `soon`"]);
}

// D-03: one file, a hundred processes.
#[test]
fn a_hundred_processes_append_a_hundred_whole_lines() {
    const WRITERS: usize = 100;
    let place = Place::empty();
    place.write(".harness/PLAN-it.md", named("it", "", "l/**", "planning"));
    place.write(".harness/progress-it.md", "2026-06-10 14:30 /work — before");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let place = &place;
            scope.spawn(move || {
                let note = format!("note of {writer} {}", "x".repeat(200));
                while place.run(&["edit", "it", "--note", &note]).code == 4 {}
            });
        }
    });
    let text = place.read(".harness/progress-it.md");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), WRITERS + 1, "{text}");
    assert_eq!(lines[0], "2026-06-10 14:30 /work — before");
    for writer in 0..WRITERS {
        let end = format!(" /work — note of {writer} {}", "x".repeat(200));
        assert_eq!(lines.iter().filter(|line| line.ends_with(&end)).count(), 1, "{writer}");
    }
}
