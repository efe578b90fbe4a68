//! Contracts that are run again by the program: on what lies here, on a commit, on a clone that never saw the state folder.

use serde_json::Value;

use crate::follow::FILE;
use crate::sample::{Sketch, runnable};
use crate::test_env::{Place, Ran};

/// Six steps.
const SIX: [Sketch<'static>; 6] = [
    ("a", "", "touch a.out", "test -e a.out"),
    ("b", "", "echo hello >app.txt", "grep -q hello app.txt"),
    ("c", "", "touch c.out", "test -e c.out"),
    ("d", "", "touch d.out", "test -e d.out"),
    ("e", "", "touch e.out", "test -e e.out"),
    ("f", "", "touch f.out", "test -e f.out"),
];
/// Spoils what the second one has made; as a plan of its own, since no run ends with one of its contracts broken.
const SPOILS: Sketch<'static> = ("g", "", "echo spoiled >app.txt; touch g.out", "test -e g.out");

/// Six steps that are done, and what a later plan did to them.
#[track_caller]
fn spoiled() -> Place {
    let place = repository(&SIX);
    place.approve_and_run().expect(0, &["6 of 6 steps passed"]);
    place.write("plans/later.md", runnable(&[SPOILS]));
    let digest = place.printed("planwright run later --dry-run | head -1 | grep -o '[0-9a-f]*$'");
    place.run(&["run", "later", "--rev", &digest]).expect(0, &["1 of 1 step passed"]);
    place
}
const GIT: &str = "git -c user.name=ada -c user.email=ada@example.org";

/// A plan in a real repository.
fn repository(steps: &[Sketch<'_>]) -> Place {
    let place = Place::with_plan(steps);
    place.bash("rm -rf .git && git init -q --initial-branch=main .").expect(0, &[]);
    place
}

#[track_caller]
fn data(ran: &Ran) -> Value {
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    envelope["data"].clone()
}

/// The steps of the first plan of an answer.
fn steps(data: &Value) -> Vec<Value> {
    data["plans"][0]["rerun"]["steps"].as_array().unwrap_or_else(|| panic!("{data:#}")).clone()
}

// A-03, M-09: "step 2 broke at step g of the later plan"; nothing of the workspace changes, and what did not change is not run again.
#[test]
fn a_step_that_a_later_one_broke_is_named_with_the_later_one() {
    let place = spoiled();
    place.run(&["audit", "it"]).expect(0, &["chain intact"]);
    let before = place.bash("git status --short; ls -la; cat plans/it.md app.txt").stdout;
    let ran = place.run(&["audit", "it", "--rerun"]);
    ran.expect(
        1,
        &[
            "broke  step `b`",
            "step 2 broke at step `g` of later, which changed app.txt",
            "5 of 6 contracts pass",
        ],
    );
    let again = data(&place.run(&["audit", "it", "--rerun", "--json"]));
    assert_eq!(
        (&again["is_intact"], &again["plans"][0]["rerun"]["cached"]),
        (&false.into(), &5.into()),
        "{again:#}"
    );
    let steps = steps(&again);
    assert_eq!(
        (&steps[1]["settled"], &steps[1]["broke"]["step"]),
        (&"broken".into(), &"g".into()),
        "{again:#}"
    );
    assert_eq!(place.bash("git status --short; ls -la; cat plans/it.md app.txt").stdout, before);
    place.run(&["audit", "it", "--rerun", "--no-cache"]).expect(1, &["5 of 6 contracts pass\n"]);
    place.write("app.txt", "hello again\n");
    place.run(&["audit", "it", "--rerun"]).expect(0, &["6 of 6 contracts pass"]);
}

// A-03, M-03: a clone that never saw the state folder is judged by its contracts, and compared with the receipts beside the code.
#[test]
fn a_clone_is_judged_by_its_contracts_and_compared_with_its_receipts() {
    let place = spoiled();
    place.run(&["export", "it", "--receipts"]).expect(0, &[]);
    place.bash(&format!("{GIT} add -A && {GIT} commit -qm done")).expect(0, &[]);
    let clone = "git clone -q . ../clone && cd ../clone && export XDG_STATE_HOME=$HOME/other";
    let ran = place.bash(&format!("{clone} && planwright audit it --rerun"));
    ran.expect(1, &["from .planwright/receipts/", "step 2 broke", "5 of 6 contracts pass"]);
    // With the plan alone there is nothing but what the contracts say, and what the file claims.
    let bare = "cd ../clone && export XDG_STATE_HOME=$HOME/third && rm -rf .planwright";
    let ran = place.bash(&format!("{bare} && planwright audit it --rerun"));
    ran.expect(1, &["no records", "false-mark  step `b`", "5 of 6 contracts pass"]);
}

// P-20: the sweep over all plans lists what does not hold, with no mark touched; what holds now needs no receipt.
#[test]
fn the_sweep_lists_the_claims_that_do_not_hold() {
    let place = repository(&[("one", "", "", "test -e one"), ("two", "", "", "test -e two")]);
    let forged = place.read(FILE).replace("1. Do", "1. ✅ Do").replace("2. Do", "2. ✅ Do");
    place.write(FILE, &forged).write("one", "");
    place.write(
        "PLAN.md",
        "# Plan: all is well\n\n**Status:** done\n\n## Tasks\n\n### 1. Make three\n\n- **What:** Make it.\n\
         - **Verification:** `test -e three`\n- **Status:** [x]\n\n### 2. Look\n\n- **What:** Look at it.\n\
         - **Verification:** It looks good.\n- **Status:** [x]\n",
    );
    place.write("plans/idle.md", forged.replace('✅', "").replace("# Carry", "# Idle"));
    place.run(&["audit"]).expect(1, &["unproven-mark  step `one`"]);
    let ran = place.run(&["audit", "--marks"]);
    ran.expect(
        1,
        &["false-mark  step `two`", "plans/it.md", "PLAN.md", "unproven-mark  step `look`", "no contract"],
    );
    assert!(!ran.said().contains("step `one`") && !ran.said().contains("idle"), "{ran:#?}");
    assert_eq!(place.read(FILE), forged);
    let all = data(&place.run(&["audit", "--marks", "--json"]));
    let plans: Vec<&str> =
        all["plans"].as_array().expect("plans").iter().filter_map(|plan| plan["plan"].as_str()).collect();
    assert_eq!(plans, ["PLAN.md", "plans/it.md"]);
    place.write("two", "");
    place.run(&["audit", "it", "--marks"]).expect(0, &["2 of 2 contracts pass", "next: planwright"]);
}

#[test]
fn how_contracts_are_run_again_is_said_together_with_that_they_are() {
    let place = repository(&[("one", "", "", "test -e one")]);
    place.write("one", "");
    place.run(&["audit", "it", "--at", "HEAD"]).expect(2, &["`--at` and `--no-cache`", "--rerun"]);
    place.run(&["audit", "it", "--rerun", "--at", "nowhere"]).expect(2, &["invalid commit `nowhere`"]);
    place.run(&["audit", "it", "--rerun", "--marks"]).expect(2, &["--marks"]);
    place.bash(&format!("{GIT} add plans && {GIT} commit -qm begin")).expect(0, &[]);
    place
        .run(&["audit", "it", "--rerun", "--at", "HEAD"])
        .expect(0, &["1  one  open", "0 of 1 contract pass"]);
    place.run(&["audit", "it", "--rerun"]).expect(0, &["1  one  holds", "1 of 1 contract pass"]);
}

// A contract that has contracts run again would run itself for ever.
#[test]
fn a_contract_cannot_have_itself_run_again() {
    let place = repository(&[("one", "", "", "planwright audit plans/it.md --rerun 2>&1")]);
    let again = data(&place.run(&["audit", "it", "--rerun", "--json"]));
    let output = steps(&again)[0]["output"].as_str().unwrap_or_default().to_owned();
    assert!(output.contains("cannot run inside a rerun contract"), "{again:#}");
}
