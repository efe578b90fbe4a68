//! The red check from the outside: real repositories, real contracts, run before anybody has worked.

use serde_json::Value;

use crate::sample::runnable;
use crate::test_env::{Place, Ran};

const AUTHOR: &str =
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; ";
/// What lies in the workspace and in the repository, with times and inodes, but for the state of planwright.
const LOOK: &str =
    "ls -lAiR --time-style=full-iso . && git rev-parse HEAD && git hash-object --no-filters .git/index";

/// A repository with a plan `it` of these steps (id, fields, contract) and the file `present`.
fn project(steps: &[(&str, &str, &str)]) -> Place {
    let place = Place::empty();
    let steps: Vec<_> =
        steps.iter().map(|&(id, fields, contract)| (id, fields, "echo x", contract)).collect();
    place.write("plans/it.md", runnable(&steps)).write("present", "here\n");
    place.bash("rm -r .git && git init --quiet -b main .").expect(0, &[]);
    commit(&place);
    place
}

fn commit(place: &Place) {
    place.bash(&format!("{AUTHOR}git add -A && git commit -qm base")).expect(0, &[]);
}

fn data(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

/// What each contract says, as `step says`.
fn says(ran: &Ran) -> Vec<String> {
    let data = data(ran);
    let rows = data["data"]["red"].as_array().expect("a list");
    let word = |row: &Value, key: &str| row[key].as_str().expect("a text").to_owned();
    rows.iter().map(|row| format!("{} {}", word(row, "step"), word(&row["before"], "says"))).collect()
}

// M-01: a good contract fails before the work, one that passes there proves nothing, and both are said.
#[test]
fn contracts_that_fail_before_the_work_are_told_from_those_that_pass() {
    let place = project(&[("good", "", "grep -q new present"), ("other", "", "test -s made")]);
    let ran = place.run(&["verify", "it", "--red"]);
    ran.expect(0, &["red check: 2 of 2 contracts fail before the work, as they should", "no warnings"]);
    let place = project(&[("good", "", "grep -q new present"), ("vacuous", "", "grep -q here present")]);
    let ran = place.run(&["verify", "it", "--red"]);
    ran.expect(
        0,
        &[
            "red check: 1 of 2 contracts fail before the work",
            "step 2 `vacuous` PASSES: proves nothing",
            "warning[PW0307]",
            "= note: run on main@",
            ", exit 0 in 0.",
        ],
    );
    assert_eq!(ran.stdout.matches("PW0307").count(), 1, "{ran:#?}");
    let static_too = project(&[("there", "", "test -f present")]);
    let ran = static_too.run(&["verify", "it", "--red"]);
    ran.expect(0, &["PASSES", "already exists", "run on main@"]);
    assert_eq!(ran.stdout.matches("warning[PW0307]").count(), 1, "said once: {ran:#?}");
    let denied = place.run(&["verify", "it", "--red", "--deny", "passes-already"]);
    denied.expect(1, &["error[PW0307]"]);
    project(&[("fixed", "", "true")])
        .run(&["verify", "it", "--red"])
        .expect(1, &["PW0306", "has errors; contracts not run"]);
}

// M-01: what is in the workspace and not committed is no part of the base.
#[test]
fn the_base_is_what_was_committed() {
    let place = project(&[("made", "", "grep -q done made")]);
    place.write("made", "done\n");
    place.run(&["verify", "it", "--red"]).expect(0, &["1 of 1 contract fails before the work, as it should"]);
    commit(&place);
    place.run(&["verify", "it", "--red"]).expect(0, &["step 1 `made` PASSES: proves nothing"]);
}

#[test]
fn a_step_may_say_why_its_contract_passes_already() {
    let place = project(&[("guard", "**green:** it guards what works today", "grep -q here present")]);
    let ran = place.run(&["verify", "it", "--red"]);
    ran.expect(0, &["passes, excused: it guards what works today", "no errors, no warnings"]);
    let json = place.run(&["verify", "it", "--red", "--json"]);
    assert_eq!(says(&json), ["guard excused"]);
    assert_eq!(data(&json)["data"]["red"][0]["before"]["because"], "it guards what works today");
}

#[test]
fn what_cannot_run_is_said_and_is_no_failure_of_the_plan() {
    let steps = [
        ("absent", "", "program=no-such-program; \"$program\" --all"),
        ("unprepared", "**setup:** `bash -c 'exit 3'`", "test -s made"),
        ("confirmed", "", "manual"),
        ("good", "", "test -s made"),
    ];
    let place = project(&steps);
    let ran = place.run(&["verify", "it", "--red"]);
    ran.expect(
        0,
        &[
            "red check: 1 of 3 contracts fail before the work; 1 step is confirmed by you",
            "step 1 `absent` cannot run (cannot run, exit 127)",
            "step 2 `unprepared` cannot run (not started: the setup failed (exit 3))",
        ],
    );
    let bare = Place::empty();
    bare.write("plans/it.md", runnable(&[("a", "", "x", "test -s made")]));
    bare.run(&["verify", "it", "--red"]).expect(0, &["cannot run (no base: no commit yet)"]);
    bare.bash("rm -r .git && touch planwright.toml").expect(0, &[]);
    bare.run(&["verify", "it", "--red"]).expect(0, &["cannot run (no base: not a git repository)"]);
}

#[test]
fn a_contract_that_never_ends_is_bounded_alone_and_with_the_others() {
    let place = project(&[("slow", "", "sleep 1000"), ("good", "", "test -s made")]);
    let ran = place.run(&["verify", "it", "--red", "--config", "red.seconds=1"]);
    ran.expect(0, &["step 1 `slow` cannot run (timed out after 1 s)", "1 of 2 contracts"]);
    let steps: Vec<String> = (0..64).map(|number| format!("slow-{number}")).collect();
    let steps: Vec<_> = steps.iter().map(|id| (id.as_str(), "", "sleep 1000")).collect();
    let place = project(&steps);
    let ran = place.run(&["verify", "it", "--red", "--config", "red.total_seconds=1"]);
    ran.expect(0, &["0 of 64 contracts", "step 64 `slow-63` cannot run (no time left)"]);
    assert_eq!(ran.stdout.matches("cannot run (no time left)").count(), 64, "{ran:#?}");
}

// M-01: contracts run in throw-away trees: nothing that they write is in the workspace, in the repository, or in the tree of
// another contract.
#[test]
fn what_a_contract_writes_is_seen_by_nobody() {
    let writes = "test ! -e litter && echo x > litter && mkdir -p deep/er && rm present \
                  && git rm -q --cached present && git config user.name x && exit 4";
    let steps: Vec<String> = (0..12).map(|number| format!("w{number}")).collect();
    let steps: Vec<_> = steps.iter().map(|id| (id.as_str(), "", writes)).collect();
    // The environment keeps them apart: the same contract is run once.
    let fields: Vec<String> = (0..steps.len()).map(|number| format!("**env:** N={number}")).collect();
    let steps: Vec<_> =
        steps.iter().zip(&fields).map(|((id, _, run), fields)| (*id, fields.as_str(), *run)).collect();
    let place = project(&steps);
    let before = place.bash(LOOK);
    let ran = place.run(&["verify", "it", "--red", "--json"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    for row in data(&ran)["data"]["red"].as_array().expect("a list") {
        assert_eq!(row["before"]["because"], "exit 4", "each has a tree of its own: {row}");
    }
    let after = place.bash(LOOK);
    assert_eq!((&after.stdout, after.code), (&before.stdout, 0));
    // The twin: in the workspace itself the same contract would be seen.
    place.bash(writes).expect(4, &[]);
    assert_ne!(place.bash(LOOK).stdout, before.stdout);
}

// A file that somebody cloned runs nothing because it was checked.
#[test]
fn verify_alone_runs_no_contract_and_shows_what_is_known() {
    let place = project(&[
        ("good", "", "touch \"$HOME/ran\"; grep -q new present"),
        ("vacuous", "", "grep -q here present"),
    ]);
    place.run(&["verify", "it"]).expect(0, &["no warnings"]);
    place.bash("test ! -e \"$HOME/ran\"").expect(0, &[]);
    place.run(&["verify", "it", "--red"]).expect(0, &["PW0307"]);
    // The twin, and the way to tell that a second check is free.
    place.bash("rm \"$HOME/ran\"").expect(0, &[]);
    for words in [&["verify", "it"][..], &["verify", "it", "--red"], &["verify"]] {
        place.run(words).expect(0, &["1 of 2 contracts fail before the work", "PW0307", "run on main@"]);
    }
    place.bash("test ! -e \"$HOME/ran\"").expect(0, &[]);
    // Another contract, or another base, is not known.
    place.write("present", "here and new\n");
    commit(&place);
    let ran = place.run(&["verify", "it"]);
    assert!(!ran.said().contains("red check"), "{ran:#?}");
    place.run(&["verify", "it", "--red"]).expect(0, &["0 of 2 contracts"]);
    place.bash("test -e \"$HOME/ran\"").expect(0, &[]);
}

#[test]
fn a_part_of_the_checks_that_is_known_is_shown_as_a_part() {
    let place = project(&[("one", "", "test -s made")]);
    place.run(&["verify", "it", "--red"]).expect(0, &["1 of 1 contract fails"]);
    let more = runnable(&[("one", "", "x", "test -s made"), ("two", "", "x", "test -s other")]);
    place.write("plans/it.md", more);
    place.run(&["verify", "it"]).expect(0, &["1 of 2 contracts", "1 not run yet: planwright verify --red"]);
}

#[test]
fn every_format_says_what_the_red_check_found() {
    let place = project(&[("vacuous", "", "grep -q here present"), ("good", "", "test -s made")]);
    for format in ["human", "short", "sarif", "github", "junit", "json"] {
        let ran = place.run(&["verify", "it", "--red", "--format", format]);
        ran.expect(0, &["PW0307"]);
        if format != "json" {
            ran.expect(0, &["red check: 1 of 2 contracts fail before the work", "PASSES"]);
        }
    }
    let json = place.run(&["verify", "it", "--red", "--json"]);
    assert_eq!(says(&json), ["vacuous passes", "good fails"]);
    let base = data(&json)["data"]["red"][0]["base"].as_str().expect("a base").to_owned();
    assert!(base.starts_with("main@"), "{base}");
}

// S7: in a repository that an agent can write to, the harness runs nothing that the agent configured.
#[test]
fn no_hook_and_no_filter_of_the_repository_runs_with_the_check() {
    let place = project(&[("good", "", "test -s made")]);
    let traps = "echo '* filter=trap' > .gitattributes && git add -A \
        && printf '#!/bin/sh\\ntouch \"%s/sprung\"\\ncat\\n' \"$HOME\" > \"$HOME/trap\" && mode=+x \
        && /bin/chmod $mode \"$HOME/trap\" && cp \"$HOME/trap\" .git/hooks/post-checkout \
        && git config filter.trap.smudge \"$HOME/trap\" && git config core.fsmonitor \"$HOME/trap\"";
    place.bash(traps).expect(0, &[]);
    commit(&place);
    place.bash("rm -f \"$HOME/sprung\"").expect(0, &[]);
    place.run(&["verify", "it", "--red"]).expect(0, &["1 of 1 contract fails"]);
    place.bash("test ! -e \"$HOME/sprung\"").expect(0, &[]);
    // The twin: the traps work.
    place.bash("git status; test -e \"$HOME/sprung\"").expect(0, &[]);
}

#[test]
fn a_check_leaves_no_tree_behind_and_a_killed_one_is_swept() {
    let place = project(&[("good", "", "test -s made"), ("slow", "", "touch \"$HOME/begun\"; sleep 1000")]);
    let trees = "ls \"$HOME\"/.cache/planwright/checkouts/*/ | grep -c -- - || true";
    let killed = "planwright verify it --red & child=$!; until test -e \"$HOME/begun\"; do sleep 0.05; done; \
                  kill -9 $child; wait $child || true; ";
    let left = place.bash(&format!("{killed}{trees}"));
    assert_ne!(left.stdout.trim(), "0", "{left:#?}");
    place.run(&["verify", "it", "--red", "--config", "red.seconds=1"]).expect(0, &["timed out after 1 s"]);
    let left = place.bash(trees);
    assert_eq!(left.stdout.trim(), "0", "{left:#?}");
}
