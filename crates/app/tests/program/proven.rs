//! A verdict is about a tree: `done` is said only of a tree for which every contract has a receipt, and no mark stands in for
//! one.

use serde_json::json;

use crate::client::Client;
use crate::follow::FILE;
use crate::sample::Sketch;
use crate::test_env::Place;

const STEPS: [Sketch<'static>; 2] =
    [("a", "", "echo a >a.out", "grep -q a a.out"), ("b", "", "echo b >b.out", "grep -q b b.out")];

fn done() -> Place {
    let place = Place::repository(&STEPS);
    place.approve_and_run().expect(0, &["done  it   2 of 2 steps passed"]);
    place
}

fn clean(place: &Place) {
    place.bash("git clean -fdq && git checkout -q .").expect(0, &[]);
}

// M-17: the tree of the receipts is there: nothing runs. With the work gone, contracts run, and nothing is done any more.
#[test]
fn a_plan_whose_work_is_gone_is_not_done() {
    let place = done();
    place.run(&["run", "it"]).expect(0, &["done  it   2 of 2 steps passed", "proven for this tree"]);
    let before = place.facts().len();
    let again = place.run(&["run", "it"]);
    again.expect(0, &["done  it   2 of 2 steps passed   proven for this tree"]);
    assert_eq!(place.facts().len(), before, "a tree that is proven is not looked at again");
    clean(&place);
    let next = format!("planwright run it --retry --rev {}", &place.digest()[..8]);
    let lapsed = place.run(&["run", "it"]);
    lapsed.expect(
        3,
        &["not done  it   0 of 2 steps hold for this tree", "1 a   exit 2", "2 b   exit 2", &next],
    );
    assert!(!lapsed.said().contains("done  it   2 of 2"), "{lapsed:#?}");
    assert!(
        !place.read(FILE).contains('✅') && place.read(FILE).contains("status: failed"),
        "{}",
        place.read(FILE)
    );
    place.run(&["list"]).expect(0, &["failed  0/2"]);
    place.run(&["status", "it"]).expect(0, &["failed, 0 of 2 steps done"]);
    place.run(&["audit", "it"]).expect(0, &["a, b no longer hold on tree"]);
    // The command that is told starts a new run, and only with a person's word.
    place.run(&["run", "it", "--retry"]).expect(3, &["it is not approved", &next]);
    place
        .run(&["run", "it", "--retry", "--rev", &place.digest()[..8]])
        .expect(0, &["done  it   2 of 2 steps passed"]);
    assert!(place.has("a.out") && place.has("b.out"));
    let history = place.run(&["audit", "it"]).stdout;
    assert!(history.lines().any(|line| line.contains("began") && line.ends_with("run 2")), "{history}");
}

// M-17: work that comes back is proven again without a new run: what was said before was about another tree.
#[test]
fn a_plan_whose_work_comes_back_is_done_again() {
    let place = done();
    place.bash("git add -A && git commit -qm work && git rm -q b.out && git commit -qm gone").expect(0, &[]);
    place.run(&["run", "it"]).expect(3, &["not done  it   1 of 2 steps hold for this tree", "2 b   exit 2"]);
    assert_eq!(place.read(FILE).matches('✅').count(), 1, "{}", place.read(FILE));
    place.bash("git show HEAD~1:b.out >b.out").expect(0, &[]);
    place
        .run(&["run", "it"])
        .expect(0, &["done  it   2 of 2 steps passed", "run again, proven for this tree"]);
    assert_eq!(place.read(FILE).matches('✅').count(), 2, "{}", place.read(FILE));
    place.run(&["audit", "it"]).expect(0, &[]);
    assert_eq!(place.count("a attempt.started 1"), 1);
}

// M-17: a plan that was reopened begins a new run once it is approved; the old one is not replayed.
#[test]
fn a_new_approval_begins_a_new_run() {
    let place = done();
    clean(&place);
    place.run(&["revise", "it"]).expect(0, &["was done, now draft"]);
    place.run(&["propose", "it"]).expect(0, &[]);
    place.approve_and_run().expect(0, &["done  it   2 of 2 steps passed"]);
    assert!(place.has("a.out") && place.has("b.out"));
    place.run(&["audit", "it"]).expect(0, &["began     run 2"]);
}

// The same over MCP: nobody is told `done` of a tree without receipts.
#[test]
fn an_agent_is_not_told_that_a_plan_is_done_whose_work_is_gone() {
    let place = done();
    place.run(&["run", "it"]).expect(0, &["proven for this tree"]);
    let it = json!({"id": "it"});
    let mut client = Client::with_person(&place, json!({"action": "accept", "content": {"confirm": "yes"}}));
    client.call("run_start", &it).fine(&["is done, proven for this tree"]);
    clean(&place);
    client.call("run_start", &it).refused(&["is not done", "a, b", "planwright run --retry"]);
    client.end();
}

// Marks that somebody wrote count nowhere: not in the list, not as a status.
#[test]
fn a_mark_without_a_receipt_is_not_counted() {
    let place = Place::repository(&STEPS);
    place.rewrite("### 1. Do a", "### 1. Do a ✅");
    place.rewrite("### 2. Do b", "### 2. Do b ✅");
    place.rewrite("status: draft", "status: done");
    place.run(&["list"]).expect(0, &["unproven  0/2"]);
}

// A-17, findings 6: what is over is reopened before it is proposed or approved, and the refusal says what is allowed.
#[test]
fn a_plan_that_is_over_is_neither_proposed_nor_approved() {
    let allowed = ["it.md has ended", "allowed: draft (by the planner)", "planwright revise"];
    let place = done();
    let text = place.read(FILE);
    place.run(&["propose", "it"]).expect(1, &allowed);
    place.run(&["approve", "it", "--rev", &place.digest()]).expect(1, &allowed);
    assert_eq!(place.read(FILE), text);
    let place = Place::repository(&STEPS);
    place.run(&["propose", "it"]).expect(0, &[]);
    place.run(&["cancel", "it", "-m", "not wanted"]).expect(0, &[]);
    let text = place.read(FILE);
    place.run(&["propose", "it"]).expect(1, &allowed);
    place.run(&["approve", "it", "--rev", &place.digest()]).expect(1, &allowed);
    place.run(&["run", "it", "--rev", &place.digest()]).expect(1, &allowed);
    assert_eq!(place.read(FILE), text);
    let place = Place::repository(&[("a", "**on_fail:** abort", "true", "test -e never")]);
    place.approve_and_run().expect(1, &["failed  it"]);
    let allowed = ["it.md has ended", "allowed: draft (by the planner), running (by the person)"];
    place.run(&["propose", "it"]).expect(1, &allowed);
    place.run(&["approve", "it", "--rev", &place.digest()]).expect(1, &allowed);
}

// A-21, findings 8: what failed and what was skipped is shown as that in the file, and is a claim at most when it is read.
#[test]
fn a_failed_and_a_skipped_step_are_shown_as_that() {
    let place = Place::repository(&[
        ("a", "**on_fail:** escalate", "true", "test -e never"),
        ("b", "**needs:** none\n**on_fail:** abort", "true", "test -e never"),
    ]);
    place.run(&["run", "it", "--rev", &place.digest(), "--only", "a"]).expect(3, &["needs you"]);
    assert!(place.read(FILE).contains("### 1. ❌ Do a"), "{}", place.read(FILE));
    place.run(&["answer", "it/a", "--skip", "-m", "not today"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(1, &["failed  it"]);
    let file = place.read(FILE);
    assert!(file.contains("### 1. ⏭ Do a") && file.contains("### 2. ❌ Do b"), "{file}");
    let digest = place.digest();
    place.rewrite("### 1. ⏭ Do a", "### 1. Do a");
    assert_eq!(place.digest(), digest, "a mark is no part of the digest");
    place.run(&["list"]).expect(0, &["failed  0/2"]);
}

// Findings 16: a decision whose process was killed before it wrote the file is written by the next command that opens the plan;
// an edit that somebody made is not.
#[test]
fn a_decision_that_was_cut_short_is_shown_by_the_next_command() {
    let place = Place::repository(&STEPS);
    place.run(&["propose", "it"]).expect(0, &[]);
    place.run(&["approve", "it", "--rev", &place.digest()]).expect(0, &[]);
    let approved = place.read(FILE);
    place.run(&["undo", "it"]).expect(0, &[]);
    let proposed = place.read(FILE);
    assert!(approved.contains("status: approved") && proposed.contains("status: verified"), "{proposed}");
    // The file as a process leaves it that is killed between the ledger and the file.
    place.write(FILE, &approved);
    place.run(&["show", "it"]).expect(0, &[]);
    assert_eq!(place.read(FILE), proposed);
    place.run(&["cancel", "it", "-m", "not wanted"]).expect(0, &[]);
    let cancelled = place.read(FILE);
    place.write(FILE, &proposed);
    place.run(&["log", "it", "--versions"]).expect(0, &[]);
    place.run(&["show", "it"]).expect(0, &[]);
    assert_eq!(place.read(FILE), cancelled);
    let edited = cancelled.replace("status: failed", "status: draft");
    place.write(FILE, &edited);
    place.run(&["show", "it"]).expect(0, &[]);
    assert_eq!(place.read(FILE), edited, "nobody's edit is overwritten");
}
