//! What `audit` finds in a real store: everything that somebody could do who can write the database, the file beside it, the
//! repository, the exported record or the plan. Each is found and named; without its check it is not.
#![expect(clippy::disallowed_methods, reason = "these tests are those who write what they should not")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use planwright_core::audit::{AuditCheck, CheckSet, Kind};
use planwright_engine::audit::{AuditReport, Auditor};
use planwright_engine::store::journal::Store;
use planwright_engine::workspace::project::Project;
use serde_json::Value;

use crate::test_env::Place;

const EXPORTED: &str = ".planwright/receipts/plans--it.md.jsonl";

/// A project that was run, with its record exported and anchored in the repository.
fn ground() -> Place {
    let place = Place::with_plan(&[
        ("one", "**on_fail:** retry(1), then escalate", "echo x >>one", "test $(grep -c x one) -ge 2"),
        ("two", "", "touch two", "test -e two"),
    ]);
    let git = "git -c user.name=ada -c user.email=ada@example.org";
    let made = format!("git init -q && git add -A && {git} commit -q -m first");
    place.bash(&made).expect(0, &[]);
    place.approve_and_run().expect(0, &[]);
    place.run(&["audit", "it"]).expect(0, &["chain intact"]);
    place.run(&["export", "it", "--receipts"]).expect(0, &[EXPORTED]);
    place.run(&["audit", "--anchor", "ref"]).expect(0, &["anchored", "refs/planwright/anchor"]);
    place
}

/// The same in another place, for somebody to alter.
fn copy(ground: &Place) -> Place {
    let place = Place::empty();
    place.lay(&ground.project(), "");
    place.lay(&ground.path("../home"), "../home");
    place
}

fn records(place: &Place) -> PathBuf {
    let entries = fs::read_dir(place.path("../home/state/planwright")).expect("the state folder");
    let mut folders = entries.map(|entry| entry.expect("an entry").path());
    folders.find(|path| path.join("state.db").exists()).expect("records")
}

fn anchors(place: &Place) -> PathBuf {
    let entries = fs::read_dir(place.path("../home/state/planwright/anchors")).expect("the anchors");
    let mut files = entries.map(|entry| entry.expect("an entry").path());
    files.find(|path| path.extension().is_some_and(|end| end == "log")).expect("an anchor file")
}

/// What is found, by the same code as `audit` runs.
fn found(place: &Place, checks: &CheckSet) -> AuditReport {
    let project = Project::find(&place.project()).expect("a project");
    let store = Store::open_folder(&records(place)).expect("a store");
    Auditor::with(&project, Some(store), None, checks).expect("an audit")
}

fn edit(path: &Path, change: impl FnOnce(&str) -> String) {
    let text = fs::read_to_string(path).expect("read");
    let new = change(&text);
    assert_ne!(new, text, "{}", path.display());
    fs::write(path, new).expect("written");
}

enum Act {
    Sql(&'static str),
    /// Some lines of the anchor file.
    Anchor(fn(&str) -> String),
    Export(fn(&str) -> String),
    Plan(fn(&str) -> String),
    Bash(&'static str),
    All(&'static [Act]),
}

impl Act {
    fn on(&self, place: &Place) {
        match self {
            Self::Sql(statement) => {
                let connection =
                    rusqlite::Connection::open(records(place).join("state.db")).expect("a database");
                connection.execute_batch("PRAGMA foreign_keys = OFF").expect("turned off");
                connection.execute_batch(statement).expect("altered");
                connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("all in one file");
            }
            Self::Anchor(change) => edit(&anchors(place), change),
            Self::Export(change) => edit(&place.path(EXPORTED), change),
            Self::Plan(change) => edit(&place.path("plans/it.md"), change),
            Self::Bash(script) => drop(place.bash(script).expect(0, &[])),
            Self::All(acts) => acts.iter().for_each(|act| act.on(place)),
        }
    }
}

fn without_last_line(text: &str) -> String {
    let end = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
    text[..end].to_owned()
}

/// Takes the last line away that is about the run.
fn without_last_of_run(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().rposition(|line| line.starts_with("run ")).expect("a line");
    lines.remove(last);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The last event is gone, and the journal says that it ends before it.
const CUT: &str = "DELETE FROM journal WHERE run = 1 AND seq = (SELECT seq FROM head WHERE run = 1);\
    UPDATE head SET (seq, hash) = (SELECT seq, hash FROM journal WHERE run = 1 ORDER BY seq DESC LIMIT 1) WHERE run = 1;\
    DELETE FROM news WHERE run = 1 AND seq > (SELECT seq FROM head WHERE run = 1);\
    DELETE FROM tally;";

/// What is done, the kind that must be among what is found, and a word that must be said.
const ALTERED: &[(&str, Act, Kind, &str)] = &[
    (
        "a code",
        Act::Sql(
            "UPDATE journal SET event = CAST(replace(CAST(event AS TEXT), '\"exited\":0', '\"exited\":3') AS BLOB) WHERE key = 'two/1/contract.finished'",
        ),
        Kind::Changed,
        "of run 1",
    ),
    (
        "a verdict",
        Act::Sql(
            "UPDATE journal SET event = CAST(replace(CAST(event AS TEXT), '\"code\":1', '\"code\":2') AS BLOB) WHERE key = 'one/1/contract.finished'",
        ),
        Kind::WrongVerdict,
        "step `one`",
    ),
    (
        "a tree",
        Act::Sql(
            "UPDATE journal SET event = CAST(replace(CAST(event AS TEXT), '\"tree\":\"', '\"tree\":\"0') AS BLOB) WHERE key = 'two/1/contract.finished'",
        ),
        Kind::Changed,
        "of run 1",
    ),
    (
        "a tier",
        Act::Sql(
            "UPDATE journal SET event = CAST(replace(CAST(event AS TEXT), '\"open\"', '\"sealed\"') AS BLOB) WHERE key = 'two/1/contract.finished'",
        ),
        Kind::Changed,
        "of run 1",
    ),
    (
        "a time of an event",
        Act::Sql("UPDATE journal SET at = at + 1 WHERE run = 1 AND seq = 4"),
        Kind::Changed,
        "event 4 of run 1",
    ),
    (
        "a hash of an event",
        Act::Sql("UPDATE journal SET hash = zeroblob(32) WHERE run = 1 AND seq = 4"),
        Kind::Changed,
        "event 4 of run 1",
    ),
    (
        "a hash that is none",
        Act::Sql("UPDATE journal SET hash = x'00' WHERE run = 1 AND seq = 4"),
        Kind::Changed,
        "event 4 of run 1",
    ),
    (
        "a link of an event",
        Act::Sql("UPDATE journal SET prev = zeroblob(32) WHERE run = 1 AND seq = 4"),
        Kind::Unlinked,
        "event 4 of run 1",
    ),
    (
        "an event that is none",
        Act::Sql("UPDATE journal SET event = x'7b7d' WHERE run = 1 AND seq = 4"),
        Kind::Unreadable,
        "event 4 of run 1",
    ),
    (
        "an event that is gone",
        Act::Sql("DELETE FROM journal WHERE run = 1 AND seq = 4"),
        Kind::Missing,
        "event 4 of run 1",
    ),
    (
        "the first event that is gone",
        Act::Sql("DELETE FROM journal WHERE run = 1 AND seq = 1"),
        Kind::Missing,
        "event 1 of run 1",
    ),
    (
        "the last event that is gone",
        Act::Sql("DELETE FROM journal WHERE run = 1 AND seq = (SELECT seq FROM head WHERE run = 1)"),
        Kind::OtherHead,
        "run 1",
    ),
    (
        "an event with another number",
        Act::Sql("UPDATE journal SET seq = 99 WHERE run = 1 AND seq = 4"),
        Kind::Missing,
        "event 4 of run 1",
    ),
    (
        "an event of another run",
        Act::Sql("UPDATE journal SET run = 9 WHERE run = 1 AND seq = 4"),
        Kind::Missing,
        "event 4 of run 1",
    ),
    (
        "a key",
        Act::Sql("UPDATE journal SET key = 'one/9/contract.finished' WHERE key = 'one/1/contract.finished'"),
        Kind::Misfiled,
        "of run 1",
    ),
    ("an end that is gone", Act::Sql("DELETE FROM head"), Kind::OtherHead, "run 1"),
    ("an end that is another", Act::Sql("UPDATE head SET hash = zeroblob(32)"), Kind::OtherHead, "run 1"),
    ("an end that is earlier", Act::Sql("UPDATE head SET seq = 2"), Kind::OtherHead, "run 1"),
    ("a journal that is cut", Act::Sql(CUT), Kind::CutOff, "the anchor file has record"),
    (
        "a journal that is cut, and its anchor",
        Act::All(&[Act::Sql(CUT), Act::Anchor(without_last_of_run)]),
        Kind::CutOff,
        "(exported) has record",
    ),
    (
        "a journal that is cut, its anchor and its copy",
        Act::All(&[Act::Sql(CUT), Act::Anchor(without_last_of_run), Act::Bash("rm -r .planwright")]),
        Kind::CutOff,
        "refs/planwright/anchor has record",
    ),
    (
        "a run that is gone",
        Act::Sql(
            "DELETE FROM journal; DELETE FROM head; DELETE FROM tally; DELETE FROM news WHERE run = 1; DELETE FROM run",
        ),
        Kind::Gone,
        "run 1",
    ),
    (
        "a run that the ledger knows",
        Act::Sql(
            "DELETE FROM journal; DELETE FROM head; DELETE FROM tally; DELETE FROM news WHERE run = 1; DELETE FROM run",
        ),
        Kind::NoRun,
        "run 1",
    ),
    (
        "a text that was approved",
        Act::Sql("UPDATE run SET text = replace(text, 'test -e two', 'true')"),
        Kind::OtherPlan,
        "run 1",
    ),
    (
        "a digest that was approved",
        Act::Sql("UPDATE run SET digest = '00' || substr(digest, 3)"),
        Kind::OtherPlan,
        "run 1",
    ),
    ("a dialect", Act::Sql("UPDATE run SET dialect = 'record'"), Kind::OtherPlan, "run 1"),
    ("a time of a run", Act::Sql("UPDATE run SET created_at = created_at - 1"), Kind::Changed, "run 1"),
    (
        "a run of another plan",
        Act::Sql("UPDATE run SET plan = CAST('plans/else.md' AS BLOB)"),
        Kind::Unapproved,
        "run 1",
    ),
    (
        "a ledger of another plan",
        Act::Sql("UPDATE plan SET path = CAST('plans/else.md' AS BLOB)"),
        Kind::Unapproved,
        "run 1",
    ),
    (
        "an entry",
        Act::Sql(
            "UPDATE ledger SET event = CAST(replace(CAST(event AS TEXT), '\"person\"', '\"policy\"') AS BLOB) WHERE seq = 2",
        ),
        Kind::Changed,
        "entry 2 of the ledger",
    ),
    (
        "an approval by an agent",
        Act::Sql(
            "UPDATE ledger SET event = CAST(replace(CAST(event AS TEXT), '\"person\"', '\"agent\"') AS BLOB) WHERE seq = 2",
        ),
        Kind::WrongPerson,
        "an agent",
    ),
    (
        "an entry that is gone",
        Act::Sql("DELETE FROM ledger WHERE seq = 2"),
        Kind::Missing,
        "entry 2 of the ledger",
    ),
    (
        "the last entry that is gone",
        Act::Sql("DELETE FROM ledger WHERE seq = (SELECT seq FROM ledger_head)"),
        Kind::OtherHead,
        "the ledger",
    ),
    ("an approval that is gone", Act::Sql("DELETE FROM ledger WHERE seq = 2"), Kind::Unapproved, "run 1"),
    (
        "an end of a ledger",
        Act::Sql("UPDATE ledger_head SET hash = zeroblob(32)"),
        Kind::OtherHead,
        "the ledger",
    ),
    (
        "a ledger that is gone",
        Act::Sql(
            "DELETE FROM ledger; DELETE FROM ledger_head; DELETE FROM news WHERE plan = 1; DELETE FROM plan",
        ),
        Kind::Gone,
        "the ledger of plans/it.md",
    ),
    (
        "an output",
        Act::Sql("UPDATE blob SET bytes = CAST(bytes || x'00' AS BLOB)"),
        Kind::OtherOutput,
        "output",
    ),
    ("an output that is gone", Act::Sql("DELETE FROM blob"), Kind::NoOutput, "not found, but a record"),
    (
        "an output under another name",
        Act::Sql("UPDATE blob SET hash = '00' || substr(hash, 3)"),
        Kind::Database,
        "is corrupt: hash mismatch",
    ),
    (
        "work that nobody intended",
        Act::Sql("INSERT INTO work VALUES (1, 'two', 7, 'shell', 'x', 1)"),
        Kind::Table,
        "work 1 two 7",
    ),
    (
        "a question that nobody asked",
        Act::Sql("INSERT INTO ask VALUES (1, 'two/1', 'two', 'manual', 'x', 1)"),
        Kind::Table,
        "ask 1 two/1",
    ),
    ("another store", Act::Sql("UPDATE identity SET id = 'another'"), Kind::OtherStore, "another store"),
    (
        "an anchor that is gone",
        Act::Bash("rm ~/state/planwright/anchors/*.log"),
        Kind::AnchorLost,
        "does not contain its end",
    ),
    ("an anchor that is empty", Act::Anchor(|_| String::new()), Kind::AnchorLost, "does not contain its end"),
    (
        "an anchor without its last line",
        Act::Anchor(without_last_line),
        Kind::AnchorLost,
        "does not contain its end",
    ),
    ("an anchor with garbage", Act::Anchor(|text| format!("x{text}")), Kind::AnchorUnreadable, ":1: "),
    (
        "an anchor with another hash",
        Act::Anchor(|text| text.replacen("run 1 1 ", "run 1 2 ", 1)),
        Kind::Rewritten,
        "run 1",
    ),
    (
        "an anchor that knows more",
        Act::Anchor(|text| text.replacen("run 1 1 ", "run 1 900 ", 1)),
        Kind::CutOff,
        "has record 900",
    ),
    (
        "an anchor of a run that there is not",
        Act::Anchor(|text| text.replacen("run 1 1 ", "run 5 1 ", 1)),
        Kind::Gone,
        "run 5",
    ),
    (
        "a ref that is none of ours",
        Act::Bash("git update-ref refs/planwright/anchor $(echo x | git hash-object -w --stdin)"),
        Kind::AnchorUnreadable,
        "refs/planwright/anchor",
    ),
    (
        "a copy with another byte",
        Act::Export(|text| text.replacen("\"warnings\":0", "\"warnings\":1", 1)),
        Kind::FileChanged,
        EXPORTED,
    ),
    ("a copy that is cut", Act::Export(without_last_line), Kind::FileCut, EXPORTED),
    (
        "a copy that begins with something else",
        Act::Export(|text| text.replacen('{', "", 1)),
        Kind::FileUnreadable,
        ":1",
    ),
    (
        "a forged mark",
        Act::Plan(|text| {
            format!(
                "{text}\n### 3. ✅ More\n\n**id:** more\n**target:** shell\n\n**task:**\nDo.\n\n**contract:**\n```shell\ntrue\n```\n"
            )
        }),
        Kind::UnprovenMark,
        "step `more`",
    ),
    (
        "a mark on another contract",
        Act::Plan(|text| text.replace("test -e two", "true")),
        Kind::UnprovenMark,
        "a different contract",
    ),
];

// A-03, M-03, P-11, P-36: the record in the store, its anchors, its copy and the plan.
#[test]
fn what_was_altered_is_found_and_named() {
    let ground = ground();
    let mut faults = Vec::new();
    for (name, act, kind, says) in ALTERED {
        let place = copy(&ground);
        act.on(&place);
        let report = found(&place, &CheckSet::all());
        let lines: Vec<String> = report.findings().map(ToString::to_string).collect();
        let is_found =
            report.findings().any(|finding| finding.kind == *kind && finding.to_string().contains(says));
        if !is_found {
            faults.push(format!("{name}: no {kind} with `{says}` in\n  {}", lines.join("\n  ")));
        }
        // Without the check that finds it, it is not; without all that find anything, nothing is.
        let without = found(&place, &CheckSet::without([kind.check()]));
        if without.findings().any(|finding| finding.kind == *kind) {
            faults.push(format!("{name}: {kind} is found without its check"));
        }
        let all: BTreeSet<AuditCheck> = report.findings().map(|finding| finding.kind.check()).collect();
        if found(&place, &CheckSet::without(all)).findings().next().is_some() {
            faults.push(format!("{name}: something is found without any check"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_database_that_is_none_any_more_is_a_finding() {
    let place = ground();
    place
        .bash("for f in ~/state/planwright/*/state.db; do echo garbage >$f; rm -f $f-wal $f-shm; done")
        .expect(0, &[]);
    let ran = place.run(&["audit", "--json"]);
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    assert_eq!(
        (ran.code, &envelope["data"]["findings"][0]["kind"]),
        (1, &Value::from("database")),
        "{ran:#?}"
    );
}

// A-03: a clone that never saw the state folder has all it takes in the exported file.
#[test]
fn a_stranger_checks_the_record_from_a_clone() {
    let ground = ground();
    let place = Place::empty();
    place.lay(&ground.project(), "");
    place
        .run(&["audit", "it"])
        .expect(0, &["chain intact", "from .planwright/receipts", "passed", "approved"]);
    edit(&place.path(EXPORTED), |text| text.replacen("\"exited\":1", "\"exited\":0", 1));
    let ran = place.run(&["audit", "it"]);
    ran.expect(1, &["changed-file", "changed-record", "wrong-verdict", "of run 1"]);
    place.bash("rm -r .planwright").expect(0, &[]);
    place.run(&["audit", "it"]).expect(1, &["unproven-mark", "step `one`", "step `two`", "the status"]);
    assert!(!place.path("../home/state").exists(), "looking makes nothing");
}

#[test]
fn verdicts_are_written_as_statements() {
    let place = ground();
    place.run(&["audit", "it", "--statements", "out"]).expect(0, &["wrote 4 statements to out"]);
    let text = place.read("out/plans--it.md.run-1-two-1.intoto.json");
    let statement: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(statement["predicate"]["result"], "PASSED");
    assert_eq!(statement["subject"][0]["digest"]["blake3"].as_str().map(str::len), Some(64));
    assert!(place.read("out/plans--it.md.run-1-one-1.intoto.json").contains("FAILED"));
}

// Between the commit and the note of it lies an instant in which the harness may die.
#[test]
fn an_anchor_that_is_behind_is_caught_up() {
    let place = copy(&ground());
    edit(&anchors(&place), without_last_of_run);
    Act::Sql("INSERT INTO unanchored SELECT 'journal', run, seq FROM head").on(&place);
    let before = fs::read_to_string(anchors(&place)).expect("read");
    assert_eq!(found(&place, &CheckSet::all()).findings().next(), None);
    let store = Store::open_folder(&records(&place)).expect("a store");
    store.put(b"anything that is written").expect("kept");
    drop(store);
    let after = fs::read_to_string(anchors(&place)).expect("read");
    assert!(after.starts_with(&before) && after.len() > before.len(), "{after}");
    assert_eq!(found(&place, &CheckSet::all()).findings().next(), None);
}

#[test]
fn heads_are_kept_in_a_note_too_and_nothing_is_kept_of_a_record_that_was_altered() {
    let place = ground();
    place.run(&["audit", "--anchor", "note"]).expect(0, &["refs/notes/planwright"]);
    place.run(&["audit"]).expect(0, &["compared with the anchor file", "the note on"]);
    Act::Sql(CUT).on(&place);
    place.run(&["audit", "--anchor", "ref"]).expect(1, &["cannot anchor a record with findings"]);
    place.run(&["audit"]).expect(1, &["but the note on", "refs/planwright/anchor has record"]);
}

// An agent in the middle of a run must not make a forged record the truth.
#[test]
fn an_agent_anchors_nothing() {
    let place = ground();
    let mut command = place.planwright(&["audit", "--anchor", "ref"]);
    crate::test_env::run(command.env("CLAUDECODE", "1"), b"").expect(3, &["only a person"]);
}

// P-20: who takes an approval back and gives it again has approved once.
#[test]
fn an_approval_that_was_taken_back_and_given_again_is_one() {
    let place = Place::with_plan(&[("a", "", "touch a", "test -e a")]);
    place.run(&["propose", "it"]).expect(0, &[]);
    for verb in ["approve", "undo", "approve"] {
        let digest = place.digest();
        let words = ["it", "--rev", &digest];
        place
            .run(&[&[verb][..], if verb == "undo" { &words[..1] } else { &words[..] }].concat())
            .expect(0, &[]);
    }
    place.run(&["audit"]).expect(0, &["chain intact"]);
}
