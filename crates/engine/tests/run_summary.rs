//! The rows that lists are made of, at the door of the store: they follow from the journals, lists read nothing else, and
//! what somebody changed in them is found. And what old runs hold, which can go without a hole in any chain.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planwright_core::agent::account::Usage;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{
    AgentCommands, AskEvent, AskReason, AttemptEnd, AttemptFinish, AttemptStart, Event, Judged, RunEvent,
    RunOutcome, RunStart, StepEvent, StopMode,
};
use planwright_core::run::judge::{ContractRun, Observation};
use planwright_core::run::receipt::{Blob, Provenance, Receipt};
use planwright_core::run::state::RunState;
use planwright_core::run::summary::RunSummary;
use planwright_core::syntax::source::Source;
use planwright_core::verify::trusted;
use planwright_engine::store::journal::{Append, Error, NewRun, RunId, blob_of};
use planwright_engine::store::plan_file::Store;
use rusqlite::Connection;

use crate::scratch::Scratch;

const TEXT: &str = "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Two steps\n\n### 1. First\n\n**id:** first\n\
    **target:** reviewer\n**task:** Do it.\n**contract:**\n```bash\ntest -e first\n```\n\n### 2. Second\n\n**id:** second\n\
    **target:** human\n**task:** Look.\n**contract:** manual\n";

#[expect(clippy::disallowed_methods, reason = "a test is not a command")]
fn plan() -> Plan {
    trusted(&Source::new("it", TEXT)).expect("the plan verifies")
}

struct Journal<'a> {
    store: &'a Store,
    run: RunId,
    state: RunState,
    seq: u64,
}

impl<'a> Journal<'a> {
    fn begin(store: &'a Store, path: &str, root: &str) -> Self {
        let new = NewRun {
            root: PathBuf::from(root),
            plan: PathBuf::from(path),
            name: "it".to_owned(),
            digest: Digest::of(&plan()).to_string(),
            text: TEXT.to_owned(),
            dialect: "native".to_owned(),
            created_at_ms: 1,
        };
        let started = Event::Run(RunEvent::Started(RunStart {
            digest: new.digest.clone(),
            approved_by: "ada".to_owned(),
            approved_at: "rev".to_owned(),
            base: None,
            agents: AgentCommands::new(),
            sealed: BTreeMap::new(),
            programs: BTreeMap::new(),
            approvals: Vec::new(),
            note: String::new(),
        }));
        let mut state = RunState::new(&plan());
        state.apply(&started).expect("a run begins");
        let run = store.begin_run(&new, &started, &RunSummary::of(&plan(), &state)).expect("recorded");
        Self { store, run, state, seq: 1 }
    }

    fn add(&mut self, at_ms: u64, events: &[Event], blobs: &[&[u8]]) {
        for event in events {
            self.state.apply(event).unwrap_or_else(|error| panic!("{error}"));
        }
        let addition = Append {
            after: self.seq,
            events,
            blobs: blobs.iter().map(|bytes| bytes.to_vec()).collect(),
            claim_for: None,
            tally: Some(RunSummary::of(&plan(), &self.state)),
            at_ms,
        };
        self.store.add(self.run, addition).expect("recorded");
        self.seq += events.len() as u64;
    }

    fn tally(&self) -> Option<RunSummary> {
        let listed = self.store.newest_runs(Path::new("/project")).expect("listed");
        let own = listed.into_iter().find(|listed| listed.id == self.run);
        own.and_then(|listed| listed.tally).map(|(tally, _)| tally)
    }
}

fn started() -> Event {
    Event::Step {
        step: "first".to_owned(),
        event: StepEvent::Started(AttemptStart {
            attempt: 1,
            agent: "claude".to_owned(),
            prompt: blob_of(b"prompt"),
        }),
    }
}

fn exited(output: &[u8]) -> Event {
    Event::Step {
        step: "first".to_owned(),
        event: StepEvent::Finished(AttemptFinish {
            attempt: 1,
            end: AttemptEnd::Exited(0),
            output: Some(blob_of(output)),
            usage: Usage { tokens: Some(7), micro_dollars: Some(9), milliseconds: 3 },
            changed: Vec::new(),
            account: planwright_core::agent::account::Account::default(),
        }),
    }
}

fn passed(output: &[u8]) -> Event {
    let observation = Observation::Exited(0);
    let receipt = Receipt::new(
        &ContractRun {
            expect: Some(0),
            contract: "c".to_owned(),
            observation,
            output: String::from_utf8_lossy(output).into_owned(),
            milliseconds: 1,
        },
        None,
        Provenance { digest: "d".to_owned(), tier: "open".to_owned(), ..Provenance::default() },
    );
    Event::Step {
        step: "first".to_owned(),
        event: StepEvent::Judged { of: Judged::Attempt(1), receipt, broken_by: None },
    }
}

fn asked() -> Event {
    Event::Ask {
        ask: "second/1".to_owned(),
        event: AskEvent::Opened {
            step: Some("second".to_owned()),
            reason: AskReason::Manual,
            text: "Look.".to_owned(),
        },
    }
}

fn over() -> Event {
    Event::Run(RunEvent::Finished { outcome: RunOutcome::Cancelled, why: "enough".to_owned() })
}

fn store(name: &str) -> (Scratch, Store) {
    let scratch = Scratch::new(name);
    let store = Store::open_folder(&scratch.path().join("state")).expect("a store");
    (scratch, store)
}

/// The database, past the store's own door.
fn burgle(store: &Store) -> Connection {
    Connection::open(store.folder().join("state.db")).expect("the database")
}

/// Lists of ten thousand runs must read ten thousand rows: here every journal is gone, and they are the same.
#[test]
fn lists_read_no_journal_and_no_plan() {
    let (_scratch, store) = store("lists");
    let mut waiting = Journal::begin(&store, "plans/a.md", "/project");
    waiting.add(2, &[started()], &[b"prompt"]);
    waiting.add(3, &[exited(b"said"), passed(b"printed"), asked()], &[]);
    let mut queued = Journal::begin(&store, "plans/b.md", "/project");
    queued.add(4, &[started()], &[]);
    let mut done = Journal::begin(&store, "plans/c.md", "/project");
    done.add(5, &[over()], &[]);
    assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0]);
    let lists = || {
        let runs = store.newest_runs(Path::new("/project")).expect("listed");
        (runs, store.asks().expect("listed"), store.queued_runs().expect("listed"))
    };
    let before = lists();
    let tallies: Vec<String> =
        before.0.iter().map(|run| run.tally.as_ref().expect("a row").0.steps.clone()).collect();
    assert_eq!(tallies, ["pw", "ro", "oo"]);
    let (tally, at_ms) = before.0[0].tally.clone().expect("a row");
    assert_eq!((at_ms, tally.settled(), tally.spent.micro_dollars), (3, 1, Some(9)));
    assert!(tally.asks[0].is_manual && before.1[0].opened_at_ms == 3);
    let tally = before.2[&queued.run].1.as_ref().expect("a row");
    assert_eq!((tally.attempts[0].number, tally.attempts[0].kind.word()), (1, "REVIEW"));
    burgle(&store).execute_batch("DELETE FROM journal; UPDATE run SET text = ''").expect("burgled");
    assert_eq!(lists(), before);
}

/// The tables of version 1, as they were released.
const VERSION_1: &str = "
    CREATE TABLE run (
        id INTEGER PRIMARY KEY AUTOINCREMENT, plan BLOB NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
        text TEXT NOT NULL, created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX run_of_plan ON run (plan, id);
    CREATE TABLE head (
        run INTEGER PRIMARY KEY REFERENCES run (id), seq INTEGER NOT NULL, hash BLOB NOT NULL
    ) STRICT;
    CREATE TABLE journal (
        run INTEGER NOT NULL REFERENCES run (id), seq INTEGER NOT NULL, key TEXT, at INTEGER NOT NULL,
        event BLOB NOT NULL, prev BLOB NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (run, seq), UNIQUE (run, key)
    ) STRICT;
    CREATE TABLE blob (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
    PRAGMA user_version = 1;
";

#[test]
fn a_database_of_version_1_gets_its_rows_from_the_journals() {
    let (_scratch, new) = store("new");
    let mut journal = Journal::begin(&new, "plans/a.md", "/project");
    journal.add(2, &[started(), exited(b"said")], &[]);
    let (scratch, _) = store("old");
    let folder = scratch.path().join("older");
    std::fs::create_dir_all(&folder).expect("a folder");
    let old = Connection::open(folder.join("state.db")).expect("a database");
    old.execute_batch(VERSION_1).expect("the old tables");
    let path = new.folder().join("state.db").to_string_lossy().into_owned();
    old.execute("ATTACH ?1 AS new", [path]).expect("attached");
    old.execute_batch(
        "INSERT INTO run SELECT id, plan, name, digest, text, created_at FROM new.run;
         INSERT INTO head SELECT * FROM new.head; INSERT INTO journal SELECT * FROM new.journal;",
    )
    .expect("copied");
    drop(old);
    let store = Store::open_folder(&folder).expect("migrated");
    assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0]);
    let rows = |store: &Store| store.newest_runs(Path::new("/project")).expect("listed");
    assert_eq!(rows(&store), rows(&new));
    assert!(rows(&store)[0].tally.is_some());
}

/// Only the newest run of a plan is listed, and only those of this workspace.
#[test]
fn the_newest_run_of_a_plan_in_this_workspace_is_listed() {
    let (_scratch, store) = store("newest");
    Journal::begin(&store, "plans/a.md", "/project");
    let newest = Journal::begin(&store, "plans/a.md", "/project").run;
    Journal::begin(&store, "plans/a.md", "/elsewhere");
    let of = |root: &str| -> Vec<RunId> {
        store.newest_runs(Path::new(root)).expect("listed").iter().map(|run| run.id).collect()
    };
    assert_eq!((of("/project"), of("/nowhere")), (vec![newest], Vec::new()));
    burgle(&store).execute("UPDATE run SET root = NULL", []).expect("as before the root was recorded");
    assert_eq!(of("/nowhere").len(), 1);
}

/// A row that follows another event than the last one is not believed: the run is folded instead.
#[test]
fn a_row_that_is_not_of_the_last_event_is_not_believed() {
    let (_scratch, store) = store("stale");
    let mut journal = Journal::begin(&store, "plans/a.md", "/project");
    assert!(journal.tally().is_some());
    let stop = Event::Run(RunEvent::Stopped { by: "ada".to_owned(), mode: StopMode::Now });
    store.append(journal.run, 1, &[stop], 2).expect("recorded by somebody who has not folded");
    assert_eq!(journal.tally(), None);
    assert_eq!(store.check_projection().expect("checked"), ["`tally 1` is missing"]);
    store.rebuild_projection().expect("rebuilt");
    let tally = journal.tally().expect("a row");
    assert_eq!(tally.stopped_by.as_deref(), Some("ada"));
    journal
        .state
        .apply(&Event::Run(RunEvent::Stopped { by: "ada".to_owned(), mode: StopMode::Now }))
        .expect("stopped");
    assert_eq!(tally, RunSummary::of(&plan(), &journal.state));
    // The journal of another history under the same row.
    burgle(&store).execute("UPDATE head SET hash = zeroblob(32)", []).expect("burgled");
    assert_eq!(journal.tally(), None);
}

#[test]
fn a_row_that_somebody_changed_is_found_and_put_right() {
    let (_scratch, store) = store("changed");
    let mut journal = Journal::begin(&store, "plans/a.md", "/project");
    journal.add(2, &[started(), exited(b"said")], &[]);
    let before = journal.tally();
    let faults = [
        "UPDATE tally SET tally = replace(tally, 'jo', 'po')",
        "UPDATE tally SET tally = replace(tally, '\"running\"', '{\"finished\":\"done\"}')",
        "UPDATE tally SET tally = 'no tally'",
        "UPDATE tally SET at = at + 1",
        "UPDATE tally SET hash = zeroblob(32)",
        "DELETE FROM tally",
    ];
    for fault in faults {
        assert_eq!(burgle(&store).execute(fault, []).expect("changed"), 1, "{fault}");
        let found = store.check_projection().expect("checked");
        assert!(found.len() == 1 && found[0].contains("tally 1"), "{fault}: {found:?}");
        store.rebuild_projection().expect("rebuilt");
        assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0], "{fault}");
        assert_eq!(journal.tally(), before, "{fault}");
    }
}

// C-31: outputs of old runs go; everything that proves something stays.
#[test]
fn old_outputs_go_and_every_chain_stays_whole() {
    let (_scratch, store) = store("retention");
    let mut old = Journal::begin(&store, "plans/a.md", "/project");
    let kept: [&[u8]; 4] = [b"prompt", b"shared", b"said", b"printed"];
    old.add(10, &[started()], &kept);
    old.add(20, &[exited(b"said"), passed(b"printed"), over()], &[]);
    let mut shares = Journal::begin(&store, "plans/b.md", "/project");
    shares.add(11, &[started(), exited(b"shared")], &[]);
    let mut also_old = Journal::begin(&store, "plans/c.md", "/project");
    also_old.add(12, &[started(), exited(b"shared"), over()], &[]);
    let mut young = Journal::begin(&store, "plans/d.md", "/project");
    young.add(50, &[started(), exited(b"young"), over()], &[b"young"]);
    let found = store.old_outputs(50).expect("looked");
    assert_eq!((found.runs, found.outputs, found.bytes), (2, 2, 11), "{found:?}");
    assert_eq!(store.old_outputs(20).expect("looked").outputs, 0, "not before that time");
    assert_eq!(store.drop_outputs(50, 99).expect("dropped"), found);
    for (bytes, is_kept) in [
        (b"said".as_slice(), false),
        (b"printed", false),
        // Another run that is not over names it.
        (b"shared", true),
        (b"prompt", true),
        (b"young", true),
    ] {
        let got = store.get(&blob_of(bytes));
        let name = String::from_utf8_lossy(bytes).into_owned();
        match is_kept {
            true => assert_eq!(got.expect("kept"), bytes, "{name}"),
            false => assert!(matches!(got, Err(Error::Dropped { at_ms: 99, .. })), "{name}: {got:?}"),
        }
    }
    let unknown = store.get(&Blob("never".to_owned()));
    assert!(matches!(unknown, Err(Error::NoBlob { .. })), "what never was is not called dropped");
    for journal in [&old, &shares, &also_old, &young] {
        assert!(store.verify_chain(journal.run).expect("checked").is_whole());
    }
    assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0]);
    assert_eq!(store.check_integrity().expect("checked"), [] as [&str; 0]);
    assert_eq!(store.old_outputs(50).expect("looked").outputs, 0, "once is enough");
}
