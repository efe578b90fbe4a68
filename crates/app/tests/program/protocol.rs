//! Proposing, deciding and starting, from the outside: a person says yes to exactly what runs, and what moves is refused.

use serde_json::Value;

use crate::sample::runnable;
use crate::test_env::{Place, Ran};

const AUTHOR: &str =
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; ";

/// A step that makes `out`, and one that a sealed test judges.
const STEPS: &[(&str, &str, &str, &str)] = &[
    ("make", "**touches:** out\n", "echo made > out; echo begun >> trace", "grep -q made out"),
    ("check", "**target:** worker\n**touches:** trace\n**sealed:** test.sh\n", "Check it.", "sh test.sh"),
];

/// A repository with the plan `it`, committed, and a test that the second step seals.
fn project() -> Place {
    let place = Place::empty();
    place.write("plans/it.md", runnable(STEPS)).write("test.sh", "grep -q checked trace\n");
    place.write("src/other", "1\n");
    let worker = "[agents.worker]\ncommand = [\"sh\", \"-c\", \"echo checked >> trace\"]\n";
    place.write("planwright.toml", worker);
    place.bash("rm -r .git && git init --quiet -b main .").expect(0, &[]);
    commit(&place);
    place
}

fn commit(place: &Place) {
    place.bash(&format!("{AUTHOR}git add -A && git commit -qm more")).expect(0, &[]);
}

fn data(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

fn digest(place: &Place) -> String {
    let shown = data(&place.run(&["show", "it", "--json"]));
    shown["data"]["digest"].as_str().expect("a digest")[..8].to_owned()
}

fn approve(place: &Place) -> String {
    let digest = digest(place);
    place.run(&["propose", "it"]).expect(0, &["proposed", "red check: 2 of 2 contracts fail"]);
    place
        .run(&["approve", "it", "--rev", &digest])
        .expect(0, &["approved", "unsigned: any program running as you could have approved this"]);
    digest
}

fn state(place: &Place) -> String {
    let text = place.read("plans/it.md");
    let line = text.lines().find(|line| line.starts_with("status:")).expect("a status");
    line.trim_start_matches("status:").trim().to_owned()
}

// A-17, A-19, C-11: nothing runs that nobody approved; the file shows where it stands; the run names who approved.
#[test]
fn a_plan_goes_from_proposal_to_done() {
    let place = project();
    place.run(&["run", "it"]).expect(3, &["it is not approved"]);
    place.run(&["propose", "it"]).expect(0, &["r1", "on main@"]);
    assert_eq!(state(&place), "verified");
    place.run(&["run", "it"]).expect(3, &["it is not approved"]);
    let digest = digest(&place);
    place.run(&["approve", "it", "--rev", &digest, "-m", "keep it small"]).expect(0, &["r1", "by default"]);
    assert_eq!(state(&place), "approved");
    place.run(&["run", "it"]).expect(0, &["approved", "done"]);
    assert_eq!(state(&place), "done");
    place.run(&["undo", "it"]).expect(1, &["nothing to undo", "run 1"]);
    let log = place.run(&["log", "it", "--json"]);
    log.expect(0, &["approvals"]);
}

// C-11: what an agent can reach can't approve, reject, cancel, take back or delete.
#[test]
fn an_agent_decides_nothing() {
    let place = project();
    let digest = digest(&place);
    let agent = |words: &[&str]| {
        let mut command = place.planwright(words);
        command.env("CLAUDECODE", "1");
        crate::test_env::run(&mut command, b"")
    };
    agent(&["propose", "it"]).expect(0, &["proposed"]);
    let shown = data(&place.run(&["review", "it", "--format", "json"]));
    assert!(shown.to_string().contains("\"claude\""), "{shown}");
    for words in [
        &["approve", "it", "--rev", digest.as_str()][..],
        &["reject", "it", "-m", "no"],
        &["cancel", "it", "-m", "no"],
        &["undo", "it"],
        &["delete", "it", "--confirm", "it"],
        &["revise", "it"],
        &["shelve", "it"],
        &["unshelve", "it"],
        &["run", "it", "--rev", digest.as_str()],
    ] {
        agent(words).expect(3, &["only a person may", "this terminal belongs to an agent (CLAUDECODE)"]);
    }
    agent(&["comment", "it/make", "-m", "is this right?"]).expect(0, &["claude (an agent)"]);
    for sign in ["CODEX_SANDBOX_NETWORK_DISABLED", "QWEN_CODE", "PI_CODING_AGENT", "COPILOT_CLI", "AI_AGENT"]
    {
        let mut command = place.planwright(&["reject", "it", "-m", "no"]);
        crate::test_env::run(command.env(sign, "1"), b"").expect(3, &[&format!("({sign})")]);
    }
    assert_eq!(state(&place), "verified", "nothing has moved");
    // What a person approved is not replaced by what an agent proposes.
    place.run(&["approve", "it", "--rev", &digest]).expect(0, &["approved"]);
    let approved = place.read("plans/it.md");
    place.write("plans/it.md", approved.replace("exit_code == 0", "exit_code == 1"));
    agent(&["propose", "it"]).expect(1, &["an agent may withdraw only an agent's proposal"]);
    place.write("plans/it.md", approved);
    place.run(&["run", "it"]).expect(0, &["done"]);
}

/// Something that moves between an approval and what it is for.
struct Move {
    what: &'static str,
    script: &'static str,
    said: &'static str,
}

const MOVES: &[Move] = &[
    Move {
        what: "a contract",
        script: "sed -i 's/grep -q made out/grep -q m out/' plans/it.md",
        said: "the plan changed",
    },
    Move { what: "a task", script: "sed -i 's/echo made/echo other/' plans/it.md", said: "the plan changed" },
    Move { what: "a sealed test", script: "echo true > test.sh", said: "test.sh" },
    Move { what: "a sealed test that is gone", script: "rm test.sh", said: "test.sh" },
    Move { what: "the base", script: "echo 2 > src/other && COMMIT", said: "src/other" },
    Move {
        what: "the agents",
        script: "sed -i 's/echo checked/echo else/' planwright.toml",
        said: "the command of",
    },
    Move {
        what: "the policy",
        script: "mkdir -p \"$HOME/.config/planwright\" && printf '[approval]\\nneeded = 1\\n' > \"$HOME/.config/planwright/policy.toml\"",
        said: "policy",
    },
];

fn make(place: &Place, moved: &Move) {
    let commit = format!("{AUTHOR}git add -A && git commit -qm more");
    place.bash(&moved.script.replace("COMMIT", &commit)).expect(0, &[]);
}

// P-11, C-18, M-06: whatever moves between approval and start voids the approval, is named, and nothing starts.
#[test]
fn what_moves_between_approval_and_start_is_named_and_nothing_starts() {
    for moved in MOVES {
        let place = project();
        approve(&place);
        make(&place, moved);
        let ran = place.run(&["run", "it"]);
        assert!(matches!(ran.code, 1 | 4), "{}: {ran:#?}", moved.what);
        assert!(ran.said().contains(moved.said), "{}: {ran:#?}", moved.what);
        assert!(!place.has("trace"), "{}: something was started", moved.what);
        // It stays void, even when what moved moves back.
        if moved.what == "a sealed test" {
            place.write("test.sh", "grep -q checked trace\n");
            assert_ne!(place.run(&["run", "it"]).code, 0);
            assert!(!place.has("trace"));
        }
    }
    // The twin: where nothing moves it starts.
    let place = project();
    approve(&place);
    place.run(&["run", "it"]).expect(0, &["done"]);
    assert!(place.has("trace"));
}

// The same between proposal and approval: what was shown is not what would be approved.
#[test]
fn what_moves_between_proposal_and_approval_is_named_and_nothing_is_approved() {
    for moved in MOVES.iter().filter(|moved| moved.what != "the policy") {
        let place = project();
        let digest = digest(&place);
        place.run(&["propose", "it"]).expect(0, &[]);
        place.run(&["review", "it"]).expect(0, &["Contracts"]);
        make(&place, moved);
        let ran = place.run(&["approve", "it", "--rev", &digest]);
        assert_ne!(ran.code, 0, "{}: {ran:#?}", moved.what);
        assert!(!place.run(&["status"]).said().contains("approved"), "{}", moved.what);
        place.run(&["run", "it"]);
        assert!(!place.has("trace"), "{}: something was started", moved.what);
    }
}

// To commit the plan that was approved, or a status in it, is no reason to ask again.
#[test]
fn committing_the_plan_itself_voids_nothing() {
    let place = project();
    approve(&place);
    commit(&place);
    place.run(&["run", "it"]).expect(0, &["done"]);
}

// A sealed file that an agent changes: the contract is not run, and the step has failed.
#[test]
fn a_contract_is_not_run_with_a_sealed_file_that_moved() {
    let place = Place::empty();
    let hostile = [(
        "cheat",
        "**touches:** out\n**sealed:** test.sh\n**on_fail:** abort\n",
        "echo 'exit 0' > test.sh",
        "sh test.sh",
    )];
    place.write("plans/it.md", runnable(&hostile)).write("test.sh", "exit 1\n");
    place.bash("rm -r .git && git init --quiet -b main .").expect(0, &[]);
    commit(&place);
    let digest = digest(&place);
    let ran = place.run(&["run", "it", "--rev", &digest]);
    ran.expect(1, &["a sealed file differs from what was approved", "test.sh"]);
    assert_ne!(state(&place), "done");
}

// C-12: rejected three times, it waits for a person; the history stands in the body of a proposal, and all of it is there.
#[test]
fn the_third_rejection_waits_for_a_person() {
    let place = project();
    for round in 1..=3 {
        let text = place.read("plans/it.md").replace("echo begun", &format!("echo begun{round}"));
        place.write("plans/it.md", text);
        place.run(&["propose", "it"]).expect(0, &[&format!("r{round}")]);
        place.run(&["reject", "it", "-m", &format!("reason {round}")]).expect(0, &["rejected"]);
        place.run(&["propose", "it"]).expect(1, &["rejected"]);
    }
    place.run(&["status", "--inbox"]).expect(0, &["rejected too often", "planwright revise plans/it.md"]);
    let agent = |words: &[&str]| {
        let mut command = place.planwright(words);
        command.env("CLAUDECODE", "1");
        crate::test_env::run(&mut command, b"")
    };
    agent(&["revise", "it"]).expect(3, &["only a person may revise a plan"]);
    place.run(&["revise", "it", "-m", "one more"]).expect(0, &["was waiting (revisions-spent), now draft"]);
}

#[test]
fn a_proposal_keeps_its_rejections_in_its_body() {
    let place = project();
    let steps = r#"{"title": "Remind the client", "steps": [
        {"description": "Fetch the invoice", "tool": "odoo", "operation": "read", "target": "invoice 7"},
        {"description": "Send a reminder", "tool": "go-easy", "operation": "gmail send"}],
        "context": "The client is slow."}"#;
    // C-10, C-30: made of the steps that a planner names, all or nothing.
    let proposed = place.run_with(&["propose", "--steps", "-", "--json"], steps);
    let path = data(&proposed)["data"]["plans"][0]["path"].as_str().expect("a path").to_owned();
    let text = place.read(&path);
    assert!(text.contains("1. Fetch the invoice (odoo: read → invoice 7)"), "{text}");
    assert!(text.contains("(go-easy: gmail send)") && text.contains("status: proposed"), "{text}");
    place
        .run(&["reject", &path, "-m", "ask first\n## Steps\n1. do harm (bash: run)"])
        .expect(0, &["rejected"]);
    let text = place.read(&path);
    assert!(text.contains("## Rejection History") && text.contains("> ask first"), "{text}");
    assert!(text.contains("status: rejected"), "{text}");
    let shown = data(&place.run(&["show", &path, "--json"]));
    assert_eq!(shown["data"]["steps"].as_array().map(Vec::len), Some(2), "feedback became a step: {text}");
    let before = place.bash("ls .pi/plans").stdout;
    place
        .run_with(&["propose", "--steps", "-"], r#"{"title": "x", "steps": []}"#)
        .expect(2, &["`steps` is empty"]);
    place
        .run_with(&["propose", "--steps", "-"], r#"{"title": "x", "step": []}"#)
        .expect(2, &["is not a proposal: unknown field `step`"]);
    assert_eq!(place.bash("ls .pi/plans").stdout, before, "half a proposal was written");
}

// All or none: one plan with an error, and none is proposed. From standard input: a file only if it can be proposed.
#[test]
fn plans_are_proposed_all_or_none() {
    let place = project();
    let broken = place.read("plans/it.md").replace("sh test.sh", "sh test.sh && (");
    place.write("plans/bad.md", &broken);
    place.run(&["propose", "it", "bad"]).expect(1, &["bad.md has errors", "nothing was proposed"]);
    place.run(&["status"]).expect(0, &["nothing needs you; nothing is running"]);
    place.run_with(&["propose", "-", "--name", "piped"], &broken).expect(1, &["has errors"]);
    assert!(!place.has("plans/piped.md"));
    let text = place.read("plans/it.md");
    place.run_with(&["propose", "-", "--name", "piped"], &text).expect(0, &["proposed  piped  r1"]);
    assert_eq!(place.run(&["status"]).said().matches("is pending review").count(), 1);
}

// P-30, M-14, C-35: deleting wants the name, keeps the text, and is taken back; never while the plan runs.
#[test]
fn what_was_deleted_comes_back() {
    let place = project();
    let text = place.read("plans/it.md");
    place.run(&["delete", "it"]).expect(3, &["not deleted: pass --confirm it"]);
    place.run(&["delete", "it", "--confirm", "other"]).expect(2, &["is not `it`"]);
    assert_eq!(place.read("plans/it.md"), text);
    place.run(&["delete", "it", "--confirm", "it"]).expect(0, &["deleted", "planwright undo plans/it.md"]);
    assert!(!place.has("plans/it.md"));
    place.run(&["undo", "plans/it.md"]).expect(0, &["undone", "plan.deleted"]);
    assert_eq!(place.read("plans/it.md"), text);
    place.run(&["new", "copy", "--from", "it"]).expect(0, &["wrote  plans/copy.md"]);
    assert_eq!(place.read("plans/copy.md"), text);
}

// A remark stays with its step wherever that goes.
#[test]
fn a_comment_survives_reordering() {
    let place = project();
    place.run(&["propose", "it"]).expect(0, &[]);
    place.run(&["comment", "it/check", "-m", "why this?"]).expect(0, &["open  1 on check"]);
    place.run(&["edit", "it", "--move", "check=1"]).expect(0, &[]);
    place.run(&["propose", "it"]).expect(0, &["r2"]);
    place.run(&["review", "it"]).expect(0, &["why this?", "check"]);
    place.run(&["comment", "it", "--answer", "1", "-m", "so"]).expect(0, &["answered  1 on check"]);
    place.run(&["comment", "it", "--answer", "1", "-m", "again"]).expect(1, &["no open comment 1"]);
}

// C-35: a run that failed is tried again on the strength of the same approval; nothing else is.
#[test]
fn a_plan_that_failed_is_tried_again() {
    let place = Place::empty();
    let steps = [("flaky", "**touches:** out\n**on_fail:** abort\n", "true", "test -e ready")];
    place.write("plans/it.md", runnable(&steps));
    place.bash("rm -r .git && git init --quiet -b main .").expect(0, &[]);
    commit(&place);
    place.run(&["run", "it", "--retry"]).expect(1, &["cannot retry it: it is draft, not failed"]);
    let digest = digest(&place);
    place.run(&["run", "it", "--rev", &digest]).expect(1, &["failed"]);
    place.write("ready", "");
    place.run(&["run", "it", "--retry"]).expect(0, &["done"]);
}

/// The database of the only project of this place.
fn database(place: &Place) -> rusqlite::Connection {
    let found = place.bash("ls \"$HOME\"/state/planwright/*/state.db").stdout;
    rusqlite::Connection::open(found.trim()).expect("a database")
}

/// Lets a book look as if all of it had happened so long ago: times and hashes are made anew, as only a clock could.
fn grow_older(place: &Place, (records, owner, heads): (&str, &str, &str), days_ms: u64) {
    use planwright_core::audit::hash_chain::{ledger_genesis, link, run_genesis};
    let connection = database(place);
    let mut head = match owner {
        "plan" => ledger_genesis(),
        _ => connection
            .query_row("SELECT digest, text FROM run WHERE id = 1", [], |row| {
                Ok(run_genesis(&row.get::<_, String>(0)?, row.get::<_, String>(1)?.as_bytes()))
            })
            .expect("a run"),
    };
    let mut query = connection
        .prepare(&format!("SELECT seq, at, event FROM {records} WHERE {owner} = 1 ORDER BY seq"))
        .expect("a query");
    let rows = query
        .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Vec<u8>>(2)?)))
        .expect("rows");
    let rows: Vec<(i64, i64, Vec<u8>)> = rows.collect::<Result<_, _>>().expect("rows");
    for (seq, at, event) in rows {
        let at = at - days_ms.cast_signed();
        let hash = link(&head, 1, (seq.cast_unsigned(), at.cast_unsigned()), &event);
        let update =
            format!("UPDATE {records} SET at = ?2, prev = ?3, hash = ?4 WHERE {owner} = 1 AND seq = ?1");
        connection
            .execute(&update, rusqlite::params![seq, at, head.as_bytes(), hash.as_bytes()])
            .expect("updated");
        head = hash;
    }
    let update = format!("UPDATE {heads} SET hash = ?1 WHERE {owner} = 1");
    connection.execute(&update, [head.as_bytes()]).expect("updated");
    let age = days_ms.cast_signed();
    connection.execute("UPDATE plan SET since = since - ?1", [age]).expect("updated");
    connection.execute("UPDATE run SET created_at = created_at - ?1", [age]).expect("updated");
    // The heads that are kept outside the database are of the younger record.
    place.bash("rm -rf ../home/state/planwright/anchors").expect(0, &[]);
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

// C-13: a proposal that nobody decides about is cancelled after its time, by nobody but age, and never in silence.
#[test]
fn a_proposal_grows_stale_and_it_is_said() {
    let place = project();
    place.run(&["propose", "it"]).expect(0, &[]);
    grow_older(&place, ("ledger", "plan", "ledger_head"), 29 * DAY_MS);
    place.run(&["status"]).expect(0, &["r1 is pending review"]);
    grow_older(&place, ("ledger", "plan", "ledger_head"), 2 * DAY_MS);
    place.run(&["status", "--config", "review.stale_days=0"]).expect(0, &["r1 is pending review"]);
    let ran = place.run(&["status"]);
    ran.expect(0, &["expired: no decision for 30 days"]);
    assert!(!place.run(&["status"]).said().contains("expired"), "it is said once");
    let digest = digest(&place);
    place.run(&["log", "--all"]).expect(0, &["plan.cancelled", "by=age"]);
    // What has expired is not approved by its old digest: it goes back to draft and is proposed again.
    place.run(&["approve", "it", "--rev", &digest]).expect(1, &["cancelled", "planwright revise"]);
    place.run(&["revise", "it"]).expect(0, &[]);
    place.run(&["propose", "it"]).expect(0, &[]);
    place.run(&["approve", "it", "--rev", &digest]).expect(0, &["approved"]);
}

// C-21, C-22: a run that nobody drives is asked about after its time: when it began, how far it is, and the three ways out.
#[test]
fn a_run_that_nobody_drives_is_asked_about() {
    let place = Place::with_plan(&[
        ("first", "", "touch one", "test -e one"),
        ("slow", "", "echo $$ > agent; sleep 1000", "test -e two"),
    ]);
    let mut running = place.start(&[]);
    place.wait_for_file("agent");
    running.kill();
    place.run(&["status"]).expect(0, &["its process is gone"]);
    grow_older(&place, ("journal", "run", "head"), 3 * 60 * 60 * 1000);
    place
        .run(&["status"])
        .expect(0, &["stalled: Started 3 h ago, 1 of 2 steps done, and no process is running it."]);
    let asked = place.run(&["status", "--inbox"]);
    asked.expect(0, &["planwright run it", "planwright cancel it --failed -m", "planwright cancel it -m"]);
    place.run(&["cancel", "it", "--failed", "-m", "the machine died"]).expect(0, &["failed  it"]);
    place.run(&["run", "nobody", "--retry"]).expect(2, &[]);
}
