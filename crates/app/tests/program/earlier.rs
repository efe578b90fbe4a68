//! State folders and projects of release 0.1 (`fixtures/state-0.1/make.py` made them with that binary): this one reads every run of
//! them, says the same facts, and goes on where that one stopped.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they lay out what another release left"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::test_env::{Place, run};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/state-0.1");

/// Keys of what is said in words of a release's own, outside of what was recorded.
const SAYINGS: &[&str] = &["about", "answers", "compared", "note", "notes", "remark", "what", "why", "words"];

/// Keys that answers have gained since.
const GAINED: &[&str] = &["proven", "unproven"];

/// A project as release 0.1 left it, and what it said of it.
struct Left {
    place: Place,
    said: Value,
}

/// The first digits of the hash by which the state folder names a path.
fn hash(path: &Path, digits: usize) -> String {
    blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex()[..digits].to_owned()
}

impl Left {
    /// Lays a project out where this test is, with everything that names the place where it was made.
    fn behind(name: &str) -> Self {
        let place = Place::empty();
        let project = place.project();
        let base = project.parent().expect("a project lies in a folder").to_owned();
        fs::remove_dir_all(&project).expect("an empty project can go");
        let archive = format!("{FOLDER}/{name}.tar.gz");
        let unpacked = Command::new("tar").args(["xzf", &archive, "-C"]).arg(&base).status();
        assert!(unpacked.expect("tar starts").success(), "{archive}");
        let record = fs::read_to_string(format!("{FOLDER}/{name}.json")).expect("what was said");
        let record: Value = serde_json::from_str(&record).expect("JSON");
        let word = |key: &str| record[key].as_str().expect("a word").to_owned();
        let (old_base, old_key) = (word("base"), word("key"));
        let key = format!("project-{}", hash(&project.join(".git"), 8));
        let moved = |text: &str| text.replace(&old_base, &base.display().to_string()).replace(&old_key, &key);
        let states = base.join("home/state/planwright");
        fs::rename(states.join(&old_key), states.join(&key)).expect("the state folder is there");
        let anchors = states.join("anchors");
        let log = fs::read_to_string(anchors.join(format!("{old_key}.log"))).expect("anchors are text");
        fs::write(anchors.join(format!("{key}.log")), moved(&log)).expect("written");
        let refs = project.join(".git/refs/planwright");
        if refs.join(&old_key).exists() {
            fs::rename(refs.join(&old_key), refs.join(&key)).expect("renamed");
        }
        let tree = |base: &Path| format!("desks/tree-{}.json", hash(&base.join("project"), 16));
        let desk = states.join(&key).join(tree(Path::new(&old_base)));
        if let Ok(text) = fs::read_to_string(&desk) {
            fs::write(states.join(&key).join(tree(&base)), moved(&text)).expect("written");
            fs::remove_file(desk).expect("removed");
        }
        let database = rusqlite::Connection::open(states.join(&key).join("state.db")).expect("a database");
        for (table, column) in [("run", "root"), ("run", "plan"), ("plan", "path")] {
            let mut query =
                database.prepare(&format!("SELECT DISTINCT {column} FROM {table}")).expect("a question");
            let values = query.query_map([], |row| row.get::<_, Vec<u8>>(0)).expect("asked");
            for value in values.map(|value| value.expect("a path")) {
                let new = moved(std::str::from_utf8(&value).expect("paths of the fixture are text"));
                let change = format!("UPDATE {table} SET {column} = ?1 WHERE {column} = ?2");
                database.execute(&change, (new.as_bytes(), &value)).expect("changed");
            }
        }
        let said = serde_json::from_str(&moved(&record["said"].to_string())).expect("JSON");
        Self { place, said }
    }

    fn run(&self, words: &[&str]) -> crate::test_env::Ran {
        run(self.place.planwright(words).env("USER", "ada"), b"")
    }

    /// Holds every answer of this release against that of the other one.
    fn says_the_same(&self) {
        self.says_the_same_but(&[]);
    }

    /// The same, apart from keys that this fixture can't keep.
    fn says_the_same_but(&self, lost: &[&str]) {
        let said = self.said.as_object().expect("answers by commands");
        assert!(said.len() >= 9, "{}", said.len());
        for (command, before) in said {
            let renamed = today(command);
            let words: Vec<&str> = renamed.split(' ').chain(["--json"]).collect();
            let ran = self.run(&words);
            let now: Value =
                serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{command}: {ran:#?}"));
            assert_eq!(ran.code, before["exit"], "{command}: {ran:#?}");
            assert_eq!(now["schema"], before["schema"], "{command}");
            let sayings = if command.starts_with("log ") { &[][..] } else { SAYINGS };
            let sayings = [sayings, GAINED, lost].concat();
            let facts = |answer: &Value| facts(&answer["data"], &sayings);
            let (now, before) = (facts(&now), facts(before));
            assert!(now == before, "{command}:\n{now:#}\nwas\n{before:#}");
        }
    }
}

/// The command of this release that answers what a command of release 0.1 did.
fn today(command: &str) -> String {
    match command.split_once(' ') {
        None if command == "inbox" => "status --inbox".to_owned(),
        Some(("history", plan)) => format!("log {plan} --versions"),
        _ => command.to_owned(),
    }
}

/// What an answer says apart from its wording, and from what grows with time. The events of a record have no wording.
fn facts(value: &Value, sayings: &[&str]) -> Value {
    match value {
        Value::Object(fields) => {
            let is_fact = |key: &&String| !sayings.contains(&key.as_str());
            // How long people have been waited for, up to now.
            let is_still = |value: &Value| value.get("waiting_ms").is_none();
            let fields = fields.iter().filter(|(key, value)| is_fact(key) && is_still(value));
            Value::Object(fields.map(|(key, value)| (key.clone(), facts(value, sayings))).collect())
        }
        Value::Array(values) => values.iter().map(|value| facts(value, sayings)).collect(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
    }
}

#[test]
fn every_run_of_the_first_release_is_read() {
    Left::behind("native").says_the_same();
}

#[test]
fn every_dialect_of_the_first_release_is_read() {
    Left::behind("dialects").says_the_same();
}

#[test]
fn merged_and_evicted_plans_of_the_first_release_are_read() {
    let left = Left::behind("merging");
    left.says_the_same();
    left.run(&["status", "--next"]).expect(3, &["git merge plan/c"]);
}

#[test]
fn signed_approvals_and_planning_sessions_of_the_first_release_are_read() {
    // Reading settles the planning session, which records an entry with the time of now.
    Left::behind("strict").says_the_same_but(&["head"]);
}

#[test]
fn runs_of_the_first_release_go_on() {
    let left = Left::behind("native");
    let state = |plan: &str| {
        let ran = left.run(&["status", plan, "--json"]);
        let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
        said["data"]["runs"][0]["state"].as_str().unwrap_or_default().to_owned()
    };
    // Stopped half-way.
    left.place.write("stopped-go.out", "");
    left.run(&["run", "stopped"]).expect(0, &[]);
    assert_eq!(state("stopped"), "done");
    // Waiting for a person, who has done it.
    left.place.write("waiting.out", "");
    left.run(&["answer", "waiting/a", "--take-over"]).expect(0, &[]);
    left.run(&["run", "waiting"]).expect(0, &[]);
    assert_eq!(state("waiting"), "done");
    // Rolled back: what was kept of the steps is found again.
    let removed = "\"removed\":[\"both.txt\",\"left.txt\",\"ra.txt\",";
    left.run(&["rollback", "rolled-back", "a", "--json"]).expect(0, &[removed]);
    left.place.write("rollback-go.out", "");
    left.run(&["answer", "rolled-back/d", "--retry"]).expect(0, &[]);
    left.run(&["run", "rolled-back"]).expect(0, &[]);
    assert_eq!(state("rolled-back"), "done");
    // Approved, and never begun.
    left.run(&["run", "approved"]).expect(3, &[]);
    assert_eq!(state("approved"), "waiting");
    left.run(&["audit"]).expect(0, &[]);
}
