//! The durable store at its door: real files, real processes, real kills. Tests that need a second process start this
//! binary again, for the same test, with [`CHILD`] set.

#![expect(clippy::disallowed_methods, reason = "lays out workspaces and damages databases on purpose")]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use planwright_core::agent::account::Usage;
use planwright_core::run::event::{AskEvent, AskReason, Event, RunEvent, RunOutcome, StopMode};
use planwright_core::run::receipt::Blob;
use planwright_core::run::summary::{RunSummary, SummaryPhase};
use planwright_engine::store::journal::{
    Append, AppendResult, BYTES_MAX, Break, ChainFault, Error, NewRun, RunId, blob_of,
};
use planwright_engine::store::plan_file::Store;
use rusqlite::Connection;

use crate::scratch::Scratch;

/// Says to a second process where the store is.
const CHILD: &str = "PLANWRIGHT_STORE_CHILD";
/// Says to a second process which one it is.
const NUMBER: &str = "PLANWRIGHT_STORE_NUMBER";
const PATIENCE: Duration = Duration::from_mins(1);

fn child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

fn number() -> usize {
    std::env::var(NUMBER).expect("a number").parse().expect("a number")
}

/// What the runner calls a test of this suite.
fn named(test: &str) -> String {
    format!("store::{test}")
}

/// This binary again, for one test.
fn again(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", &named(test), "--nocapture", "--test-threads=1"]).env(CHILD, folder);
    command
}

/// This binary again, in a mount namespace of its own with a small disk at `folder`. `None` where that is not allowed.
#[expect(clippy::print_stdout, reason = "a test that can not run here must say so")]
fn on_a_small_disk(test: &str, folder: &Path) -> Option<Output> {
    let script = r#"mount -t tmpfs -o size=1m none "$1" || exit 77; exec "$2" --exact "$3" --nocapture"#;
    for flags in ["-m", "-rm"] {
        let mut command = Command::new("unshare");
        command.args([flags, "sh", "-c", script, "sh"]).arg(folder);
        command.arg(std::env::current_exe().expect("this binary")).arg(named(test)).env(CHILD, folder);
        let output = command.output().ok()?;
        let is_refused = output.status.code() == Some(77) || output.stderr.starts_with(b"unshare:");
        if !is_refused {
            return Some(output);
        }
    }
    println!("NOT TRIED {test}: no right to mount a small disk here");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must try everything: {test}");
    None
}

fn assert_success(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

fn new_run(plan: &str) -> NewRun {
    NewRun {
        root: PathBuf::from("/project"),
        plan: PathBuf::from(plan),
        name: "a plan".to_owned(),
        digest: "d1".to_owned(),
        text: "# a plan\n\r\u{fe0f}".to_owned(),
        dialect: "native".to_owned(),
        created_at_ms: 7,
    }
}

fn store(name: &str) -> (Scratch, Store, RunId) {
    let scratch = Scratch::new(name);
    let store = Store::open_folder(&scratch.path().join("state")).expect("a store");
    let run = store.create_run(&new_run("plans/a.md")).expect("a run");
    (scratch, store, run)
}

fn ask(name: &str) -> Event {
    Event::Ask {
        ask: name.to_owned(),
        event: AskEvent::Opened { step: None, reason: AskReason::Budget, text: format!("about {name}") },
    }
}

/// What a caller that has folded nothing adds.
fn nothing() -> Append<'static> {
    Append { after: 0, events: &[], blobs: Vec::new(), claim_for: None, tally: None, at_ms: 1 }
}

/// Where a run of no steps stands.
fn tally() -> RunSummary {
    RunSummary {
        findings: 0,
        phase: SummaryPhase::Stopped,
        steps: String::new(),
        attempts: Vec::new(),
        asks: Vec::new(),
        spent: Usage::default(),
        stopped_by: None,
    }
}

fn stop(by: &str) -> Event {
    Event::Run(RunEvent::Stopped { by: by.to_owned(), mode: StopMode::AfterAttempts })
}

/// A store with one run of five events.
fn five(name: &str) -> (Scratch, Store, RunId) {
    let (scratch, store, run) = store(name);
    for (after, word) in (0..).zip(["a", "b", "c", "d", "e"]) {
        assert_eq!(
            store.append(run, after, &[ask(word)], after).expect("appended"),
            AppendResult::Written { seq: after + 1 }
        );
    }
    (scratch, store, run)
}

/// The database, past the store's own door.
fn burgle(store: &Store) -> Connection {
    Connection::open(store.folder().join("state.db")).expect("the database")
}

fn events(store: &Store, run: RunId) -> Vec<Event> {
    store.events(run, 0).expect("events").into_iter().map(|recorded| recorded.event).collect()
}

fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

// M-04: there is no moment at which a run is there and its beginning is not.
#[test]
fn a_run_begins_with_its_first_event_in_one_act() {
    let folder = Scratch::new("store-begun");
    let store = Store::open_folder(&folder.path().join("state")).expect("a store");
    let run = store.begin_run(&new_run("plans/a.md"), &stop("ada"), &tally()).expect("a run");
    assert_eq!(events(&store, run), [stop("ada")]);
    let refused = NewRun { text: "x".repeat(BYTES_MAX + 1), ..new_run("plans/b.md") };
    assert!(store.begin_run(&refused, &stop("ada"), &tally()).is_err());
    // A first event that can't be written takes the run with it.
    let burglar = burgle(&store);
    burglar
        .execute_batch("CREATE TRIGGER t BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'no'); END")
        .expect("laid");
    assert!(store.begin_run(&new_run("plans/c.md"), &stop("ada"), &tally()).is_err());
    assert_eq!(store.runs().expect("runs").len(), 1);
}

#[test]
fn a_run_is_what_was_recorded_even_after_reopening() {
    let (_scratch, store, run) = store("runs");
    let other = store.create_run(&new_run("plans/b.md")).expect("a run");
    let again = store.create_run(&new_run("plans/a.md")).expect("a run");
    assert_eq!((run.number(), other.number(), again.number()), (1, 2, 3));
    assert_eq!(run.to_string(), "run 1");
    let end = Event::Run(RunEvent::Finished { outcome: RunOutcome::Done, why: String::new() });
    store.append(again, 0, &[ask("x"), end.clone()], 99).expect("appended");
    let folder = store.folder().to_owned();
    drop(store);
    let store = Store::open_folder(&folder).expect("opened again");
    let rows = store.runs().expect("runs");
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [run, other, again]);
    let new = new_run("plans/a.md");
    assert_eq!((&rows[0].plan, &rows[0].text, rows[0].created_at_ms), (&new.plan, &new.text, 7));
    assert_eq!((rows[0].head.seq, &rows[0].last), (0, &None));
    let latest =
        store.latest_run(Path::new("/project"), Path::new("plans/a.md")).expect("read").expect("a run");
    assert_eq!(latest.id, again);
    assert_eq!(latest.last.map(|last| (last.seq, last.at_ms, last.event)), Some((2, 99, end)));
    assert_eq!(store.latest_run(Path::new("/project"), Path::new("plans/c.md")).expect("read"), None);
    let missing = words(&store.run(RunId::new(9)).expect_err("no such run"));
    assert!(missing.contains("run 9 not found in"), "{missing}");
    assert!(matches!(store.append(RunId::new(9), 0, &[ask("x")], 0), Err(Error::NoRun { .. })));
    assert!(matches!(store.events(RunId::new(9), 0), Err(Error::NoRun { .. })));
}

#[test]
fn events_are_added_only_after_the_last_one_all_or_none() {
    let (_scratch, store, run) = store("append");
    assert_eq!(
        store.append(run, 0, &[ask("a"), ask("b")], 5).expect("appended"),
        AppendResult::Written { seq: 2 }
    );
    assert_eq!(store.append(run, 0, &[ask("c")], 5).expect("asked"), AppendResult::Moved);
    assert_eq!(store.append(run, 3, &[ask("c")], 5).expect("asked"), AppendResult::Moved);
    // A late duplicate is recognised as such even by somebody who missed the rest; nothing of its call is written.
    assert_eq!(store.append(run, 0, &[ask("c"), ask("a")], 5).expect("asked"), AppendResult::Known);
    assert_eq!(store.append(run, 2, &[ask("c"), ask("b")], 5).expect("asked"), AppendResult::Known);
    assert_eq!(events(&store, run), [ask("a"), ask("b")]);
    // What has no key may happen again.
    assert_eq!(
        store.append(run, 2, &[stop("me"), stop("me")], 6).expect("appended"),
        AppendResult::Written { seq: 4 }
    );
    let later: Vec<(u64, u64)> =
        store.events(run, 2).expect("events").iter().map(|event| (event.seq, event.at_ms)).collect();
    assert_eq!(later, [(3, 6), (4, 6)]);
    assert_eq!(store.events(run, 9).expect("none"), []);
    // One call that says a thing twice is a fault of the caller: nothing of it stays.
    assert!(matches!(store.append(run, 4, &[ask("z"), ask("z")], 6), Err(Error::Append { .. })));
    assert_eq!(store.run(run).expect("the run").head.seq, 4);
    assert!(store.verify_chain(run).expect("checked").is_whole());
}

#[test]
fn the_same_key_in_another_run_is_another_event() {
    let (_scratch, store, run) = store("keys");
    let other = store.create_run(&new_run("plans/a.md")).expect("a run");
    for run in [run, other] {
        assert_eq!(store.append(run, 0, &[ask("a")], 5).expect("appended"), AppendResult::Written { seq: 1 });
    }
    let hash = |run| store.events(run, 0).expect("events")[0].hash;
    assert_ne!(hash(run), hash(other), "the hash must name the run");
}

#[test]
fn every_flipped_byte_of_an_event_is_found_and_named() {
    let (_scratch, store, run) = five("flipped");
    let connection = burgle(&store);
    let read = "SELECT event FROM journal WHERE run = 1 AND seq = ?1";
    let write = "UPDATE journal SET event = ?2 WHERE run = 1 AND seq = ?1";
    for seq in 1..=5_u64 {
        let number = seq.cast_signed();
        let whole: Vec<u8> = connection.query_row(read, [number], |row| row.get(0)).expect("an event");
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            connection.execute(write, (number, bytes)).expect("changed");
            let report = store.verify_chain(run).expect("checked");
            assert_eq!(report.breaks[0], Break { seq, fault: ChainFault::Changed }, "byte {place}");
            assert!(report.breaks.iter().all(|at| at.seq == seq), "{:?}", report.breaks);
        }
        let refused = words(&store.events(run, 0).expect_err("a broken journal is not read"));
        assert!(refused.contains(&format!("run 1 in {}", store.folder().display())), "{refused}");
        assert!(refused.ends_with(&format!("is corrupt: event {seq} was changed")), "{refused}");
        connection.execute(write, (number, whole)).expect("mended");
    }
    assert!(store.verify_chain(run).expect("checked").is_whole(), "the check must also be able to pass");
}

#[test]
fn every_other_change_of_a_row_is_found() {
    let (_scratch, store, run) = five("columns");
    let found = |sql: &str| {
        let connection = burgle(&store);
        connection.execute_batch(&format!("SAVEPOINT intact; {sql}")).expect("changed");
        connection.execute_batch("RELEASE intact").expect("kept");
        let breaks = store.verify_chain(run).expect("checked").breaks;
        breaks.first().copied().unwrap_or_else(|| panic!("not found: {sql}"))
    };
    let copy = burgle(&store);
    copy.execute_batch("CREATE TABLE j AS SELECT * FROM journal; CREATE TABLE r AS SELECT * FROM run; CREATE TABLE h AS SELECT * FROM head;")
        .expect("copied");
    let mend = || {
        copy.execute_batch(
            "DELETE FROM journal; DELETE FROM head; DELETE FROM run; INSERT INTO run SELECT * FROM r; \
             INSERT INTO head SELECT * FROM h; INSERT INTO journal SELECT * FROM j;",
        )
        .expect("mended");
        assert!(store.verify_chain(run).expect("checked").is_whole());
    };
    let cases = [
        ("UPDATE journal SET at = at + 1 WHERE seq = 2", 2, ChainFault::Changed),
        ("UPDATE journal SET prev = zeroblob(32) WHERE seq = 3", 3, ChainFault::Unlinked),
        ("UPDATE journal SET hash = zeroblob(32) WHERE seq = 3", 3, ChainFault::Changed),
        ("UPDATE journal SET hash = zeroblob(3) WHERE seq = 3", 3, ChainFault::Unreadable),
        ("UPDATE journal SET key = 'x' WHERE seq = 4", 4, ChainFault::Misfiled),
        ("UPDATE journal SET key = NULL WHERE seq = 4", 4, ChainFault::Misfiled),
        ("UPDATE journal SET seq = 9 WHERE seq = 5", 5, ChainFault::Missing),
        ("DELETE FROM journal WHERE seq = 1", 1, ChainFault::Missing),
        ("DELETE FROM journal WHERE seq = 3", 3, ChainFault::Missing),
        ("DELETE FROM journal WHERE seq = 5", 5, ChainFault::OtherHead),
        ("UPDATE head SET seq = 4", 4, ChainFault::OtherHead),
        ("UPDATE head SET hash = zeroblob(32)", 5, ChainFault::OtherHead),
        ("DELETE FROM head", 0, ChainFault::OtherHead),
        ("UPDATE run SET text = text || ' '", 1, ChainFault::Unlinked),
        ("UPDATE run SET digest = 'd2'", 1, ChainFault::Unlinked),
    ];
    for (sql, seq, fault) in cases {
        assert_eq!(found(sql), Break { seq, fault }, "{sql}");
        mend();
    }
    burgle(&store).execute_batch("UPDATE run SET text = 'other'").expect("changed");
    assert!(
        matches!(store.run(run), Err(Error::Broken { .. })),
        "an approved text that was changed is not handed out"
    );
}

#[test]
fn a_journal_with_a_lost_end_is_neither_read_nor_continued() {
    let (_scratch, store, run) = five("tail");
    burgle(&store).execute_batch("DELETE FROM journal WHERE seq = 5").expect("cut");
    for after in [0, 3] {
        assert!(matches!(store.events(run, after), Err(Error::Broken { .. })), "after {after}");
    }
    for after in [4, 5] {
        assert!(
            matches!(store.append(run, after, &[ask("f")], 0), Err(Error::Broken { .. })),
            "after {after}"
        );
    }
}

// Who can write the database can make a shorter journal that holds together. This is a limit of any chain, and why a head
// is worth keeping elsewhere.
#[test]
fn a_journal_that_was_cut_with_its_record_is_found_only_by_a_head_that_was_kept() {
    let (_scratch, store, run) = five("cut");
    let kept = store.run(run).expect("the run").head;
    assert!(store.verify_chain_with(run, kept).expect("checked").is_whole());
    let cut = "DELETE FROM journal WHERE seq > 3;
               UPDATE head SET seq = 3, hash = (SELECT hash FROM journal WHERE seq = 3)";
    burgle(&store).execute_batch(cut).expect("cut");
    assert!(store.verify_chain(run).expect("checked").is_whole(), "nothing in the database can tell");
    let report = store.verify_chain_with(run, kept).expect("checked");
    assert_eq!(report.breaks, [Break { seq: 5, fault: ChainFault::NotKept }]);
    // Written anew to the same length it is not the same journal either.
    store.append(run, 3, &[ask("other"), ask("end")], 0).expect("appended");
    assert!(store.verify_chain(run).expect("checked").is_whole());
    assert_eq!(
        store.verify_chain_with(run, kept).expect("checked").breaks,
        [Break { seq: 5, fault: ChainFault::NotKept }]
    );
}

#[test]
fn bytes_are_kept_once_and_checked_when_they_are_read() {
    let (_scratch, store, run) = store("blobs");
    let blob = store.put(b"some output").expect("kept");
    assert_eq!(blob, store.put(b"some output").expect("kept"));
    assert_eq!(blob, blob_of(b"some output"));
    assert_eq!(store.get(&blob).expect("read"), b"some output");
    let blobs = vec![b"with an event".to_vec(), Vec::new()];
    let addition = Append { events: &[ask("a")], blobs, ..nothing() };
    assert_eq!(store.add(run, addition).expect("added"), AppendResult::Written { seq: 1 });
    assert_eq!(store.get(&blob_of(b"with an event")).expect("read"), b"with an event");
    assert_eq!(store.get(&blob_of(b"")).expect("read"), b"");
    let refused = Append { events: &[ask("b")], blobs: vec![b"never".to_vec()], ..nothing() };
    assert_eq!(store.add(run, refused).expect("asked"), AppendResult::Moved);
    assert!(matches!(store.get(&blob_of(b"never")), Err(Error::NoBlob { .. })));
    let count = burgle(&store).query_row("SELECT count(*) FROM blob", [], |row| row.get::<_, i64>(0));
    assert_eq!(count.expect("counted"), 3);

    burgle(&store).execute("UPDATE blob SET bytes = x'00' WHERE hash = ?1", [&blob.0]).expect("changed");
    assert!(matches!(store.get(&blob), Err(Error::BlobChanged { .. })));
    store.put(b"some output").expect("kept again");
    assert_eq!(store.get(&blob).expect("mended"), b"some output");
    let missing = words(&store.get(&Blob("0".repeat(64))).expect_err("nothing"));
    assert!(missing.starts_with("blob 0000"), "{missing}");
}

#[test]
fn what_is_larger_than_the_limit_is_refused() {
    let (_scratch, store, run) = store("caps");
    let large = vec![b'x'; BYTES_MAX + 1];
    store.put(&large[1..]).expect("the limit itself is allowed");
    assert!(matches!(store.put(&large), Err(Error::TooLarge { .. })));
    let text = String::from_utf8(large).expect("text");
    let event = Event::Ask {
        ask: "a".to_owned(),
        event: AskEvent::Opened { step: None, reason: AskReason::Budget, text: text.clone() },
    };
    assert!(matches!(store.append(run, 0, &[event], 0), Err(Error::TooLarge { .. })));
    assert!(matches!(store.create_run(&NewRun { text, ..new_run("a.md") }), Err(Error::TooLarge { .. })));
    assert_eq!(store.runs().expect("runs").len(), 1);
}

#[test]
fn a_store_of_a_later_version_is_refused_and_left_alone() {
    let (_scratch, store, _) = store("newer");
    let path = store.folder().join("state.db");
    burgle(&store).pragma_update(None, "user_version", 99).expect("a version");
    let folder = store.folder().to_owned();
    drop(store);
    let before = std::fs::read(&path).expect("the file");
    let refused = words(&Store::open_folder(&folder).expect_err("refused"));
    let said = format!("store {} has version 99; this planwright supports versions up to ", path.display());
    assert!(refused.starts_with(&said), "{refused}");
    assert_eq!(std::fs::read(&path).expect("the file"), before);
}

// The states that a first start leaves behind when it is killed: nothing, an empty file, a database without tables.
#[test]
fn a_store_that_was_only_begun_is_finished() {
    for (name, sql) in
        [("empty", None), ("bare", Some("PRAGMA journal_mode = DELETE; PRAGMA user_version = 0; VACUUM"))]
    {
        let scratch = Scratch::new(&format!("begun-{name}"));
        let path = scratch.path().join("state.db");
        std::fs::write(&path, "").expect("written");
        if let Some(sql) = sql {
            Connection::open(&path).expect("a database").execute_batch(sql).expect("begun");
        }
        let store = Store::open_folder(scratch.path()).expect("finished");
        let run = store.create_run(&new_run("a.md")).expect("a run");
        assert!(store.verify_chain(run).expect("checked").is_whole());
    }
}

#[test]
fn a_damaged_database_is_named_and_never_used() {
    let (_scratch, store, run) = five("damaged");
    store.put(&vec![7; 20_000]).expect("kept");
    let (folder, path) = (store.folder().to_owned(), store.folder().join("state.db"));
    drop(store);
    let whole = std::fs::read(&path).expect("the file");
    let mut noise = whole.clone();
    noise[..64].fill(b'x');
    std::fs::write(&path, &noise).expect("damaged");
    let refused = words(&Store::open_folder(&folder).expect_err("refused"));
    assert!(refused.starts_with(&format!("store {} is damaged: ", path.display())), "{refused}");

    // Every page but the first: either the damage is seen or what is read is right.
    let mut seen = 0;
    for page in 1..whole.len() / 4096 {
        let mut noise = whole.clone();
        noise[page * 4096..(page + 1) * 4096].fill(0x5a);
        std::fs::write(&path, &noise).expect("damaged");
        let store = Store::open_folder(&folder);
        match store.and_then(|store| store.events(run, 0)) {
            Ok(events) => assert_eq!(events.len(), 5, "page {page}: events were lost in silence"),
            Err(Error::Damaged { .. } | Error::Broken { .. } | Error::Open { .. }) => seen += 1,
            Err(other) => panic!("page {page}: {}", words(&other)),
        }
    }
    assert!(seen > 1, "no damage was seen at all");
    std::fs::write(&path, &whole).expect("mended");
    assert_eq!(Store::open_folder(&folder).expect("opened").events(run, 0).expect("events").len(), 5);
}

#[test]
fn many_processes_make_one_store() {
    const NAME: &str = "many_processes_make_one_store";
    if let Some(folder) = child() {
        Store::open_folder(&folder).expect("a store").create_run(&new_run("a.md")).expect("a run");
        return;
    }
    let scratch = Scratch::new("made");
    let folder = scratch.path().join("deep/state");
    let start =
        |_| again(NAME, &folder).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a process");
    let children: Vec<_> = (0..16).map(start).collect();
    for child in children {
        assert_success(&child.wait_with_output().expect("an end"));
    }
    let rows = Store::open_folder(&folder).expect("a store").runs().expect("runs");
    assert_eq!(rows.iter().map(|row| row.id.number()).collect::<Vec<_>>(), (1..=16).collect::<Vec<_>>());
}

const PROCESSES: usize = 50;
const EVENTS_EACH: usize = 4;

/// What is wrong with a journal that shall hold each of these events once.
fn audit(journal: &[(u64, Event)], names: impl IntoIterator<Item = String>) -> Vec<String> {
    let places = (1..).zip(journal).filter(|(place, (seq, _))| place != seq);
    let mut faults: Vec<String> =
        places.map(|(place, (seq, _))| format!("event {seq} at place {place}")).collect();
    for name in names {
        let count = journal.iter().filter(|(_, event)| *event == ask(&name)).count();
        if count != 1 {
            faults.push(format!("{name} is there {count} times"));
        }
    }
    faults
}

/// Appends one event, again and again until nobody else comes first.
fn append_at_last(store: &Store, run: RunId, event: &Event) -> AppendResult {
    loop {
        let after = store.run(run).expect("the run").head.seq;
        let begin = Instant::now();
        match store.append(run, after, std::slice::from_ref(event), 1) {
            Ok(AppendResult::Moved) => {}
            Ok(done @ (AppendResult::Written { .. } | AppendResult::Known)) => return done,
            // A machine that is too slow for all of them is no fault of the store; one that does not wait is.
            Err(Error::Busy { .. }) => {
                assert!(begin.elapsed() > Duration::from_secs(2), "busy, and nobody waited");
            }
            Err(other) => panic!("{}", words(&other)),
        }
    }
}

#[test]
fn fifty_processes_append_to_one_run_and_nothing_is_lost_or_doubled() {
    const NAME: &str = "fifty_processes_append_to_one_run_and_nothing_is_lost_or_doubled";
    if let Some(folder) = child() {
        let store = Store::open_folder(&folder).expect("a store");
        for each in 0..EVENTS_EACH {
            let event = ask(&format!("{}.{each}", number()));
            let written = append_at_last(&store, RunId::new(1), &event);
            assert!(matches!(written, AppendResult::Written { .. }), "{written:?}");
            assert_eq!(append_at_last(&store, RunId::new(1), &event), AppendResult::Known, "said twice");
        }
        append_at_last(&store, RunId::new(1), &ask("shared"));
        return;
    }
    let (_scratch, store, run) = store("fifty");
    let start = |number: usize| {
        let mut command = again(NAME, store.folder());
        command.env(NUMBER, number.to_string()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("a process")
    };
    let children: Vec<_> = (0..PROCESSES).map(start).collect();
    for child in children {
        assert_success(&child.wait_with_output().expect("an end"));
    }
    let recorded = store.events(run, 0).expect("events");
    let journal: Vec<_> = recorded.into_iter().map(|recorded| (recorded.seq, recorded.event)).collect();
    let own =
        (0..PROCESSES).flat_map(|process| (0..EVENTS_EACH).map(move |each| format!("{process}.{each}")));
    assert_eq!(audit(&journal, own.chain(std::iter::once("shared".to_owned()))), [] as [String; 0]);
    assert_eq!(journal.len(), PROCESSES * EVENTS_EACH + 1);
    assert!(store.verify_chain(run).expect("checked").is_whole());
}

// The saboteur: two writers that look first and write later, without the comparison in one transaction.
#[test]
fn writers_that_do_not_compare_lose_events_and_the_audit_sees_it() {
    let (_scratch, store, run) = store("saboteur");
    store.append(run, 0, &[ask("0")], 0).expect("appended");
    let writers = [burgle(&store), burgle(&store)];
    let last = |connection: &Connection| {
        connection
            .query_row("SELECT max(seq) FROM journal", [], |row| row.get::<_, i64>(0))
            .expect("the last one")
    };
    let seen = [last(&writers[0]), last(&writers[1])];
    for (writer, (connection, seen)) in (1..).zip(writers.iter().zip(seen)) {
        let event = serde_json::to_vec(&ask(&writer.to_string())).expect("text");
        let insert = "INSERT OR REPLACE INTO journal SELECT run, ?1, ?2, at, ?3, prev, hash FROM journal WHERE seq = 1";
        connection.execute(insert, (seen + 1, format!("{writer}/ask.opened"), event)).expect("written");
    }
    let mut query = writers[0].prepare("SELECT seq, event FROM journal ORDER BY seq").expect("a query");
    let rows =
        query.query_map([], |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, Vec<u8>>(1)?)));
    let rows = rows.expect("rows").map(|row| row.expect("a row"));
    let journal: Vec<_> =
        rows.map(|(seq, text)| (seq, serde_json::from_slice(&text).expect("an event"))).collect();
    assert_eq!(audit(&journal, ["0", "1", "2"].map(str::to_owned)), ["1 is there 0 times"]);
    assert!(!store.verify_chain(run).expect("checked").is_whole());
}

#[test]
fn threads_of_one_process_share_the_writer() {
    let (_scratch, store, run) = store("threads");
    std::thread::scope(|scope| {
        for thread in 0..32 {
            let store = &store;
            scope.spawn(move || {
                let own = store.create_run(&new_run("b.md")).expect("a run");
                for each in 0..8 {
                    append_at_last(store, run, &ask(&format!("{thread}.{each}")));
                    assert_eq!(
                        store.append(own, each, &[stop("x")], 0).expect("own"),
                        AppendResult::Written { seq: each + 1 }
                    );
                    assert!(
                        store.verify_chain(run).expect("checked").is_whole(),
                        "a journal that grows is no broken one"
                    );
                    let bytes = format!("{thread} {each}");
                    let blob = store.put(bytes.as_bytes()).expect("kept");
                    assert_eq!(
                        store.get(&blob).expect("read"),
                        bytes.as_bytes(),
                        "what was kept can be read at once"
                    );
                }
            });
        }
    });
    assert_eq!(store.events(run, 0).expect("events").len(), 256);
    for row in store.runs().expect("runs") {
        assert!(store.verify_chain(row.id).expect("checked").is_whole(), "{}", row.id);
    }
}

#[test]
fn a_lock_is_given_back_when_its_holder_is_killed() {
    const NAME: &str = "a_lock_is_given_back_when_its_holder_is_killed";
    if let Some(folder) = child() {
        let store = Store::open_folder(&folder).expect("a store");
        let _lock = store.lock(RunId::new(1)).expect("a lock").expect("free");
        println!("\nlocked");
        std::thread::sleep(PATIENCE);
        return;
    }
    let (_scratch, store, run) = store("lock");
    assert_eq!(store.holder(run).expect("read"), None);
    let mut holder = again(NAME, store.folder()).stdout(Stdio::piped()).spawn().expect("a process");
    let said = BufReader::new(holder.stdout.take().expect("its words"));
    assert!(said.lines().any(|line| line.expect("a line") == "locked"), "the child has no lock");
    assert!(store.lock(run).expect("asked").is_none(), "two would drive one run");
    let known = store.holder(run).expect("read").expect("somebody");
    assert_eq!(known.pid, holder.id());
    assert!(known.to_string().starts_with(&format!("process {} on ", holder.id())), "{known}");
    let other = store.create_run(&new_run("b.md")).expect("a run");
    assert!(store.lock(other).expect("asked").is_some(), "another run is another lock");

    holder.kill().expect("killed");
    holder.wait().expect("an end");
    let record = std::fs::read_to_string(store.folder().join("locks/run-1")).expect("the file");
    assert!(record.starts_with(&holder.id().to_string()), "the dead left their record behind: {record}");
    assert_eq!(store.holder(run).expect("read"), None, "the record of the dead is no lock");
    let lock = store.lock(run).expect("asked").expect("free again");
    assert!(store.lock(run).expect("asked").is_none(), "nor twice in one process");
    assert_eq!(store.holder(run).expect("read").map(|holder| holder.pid), Some(std::process::id()));
    drop(lock);
    assert!(store.lock(run).expect("asked").is_some());
}

#[test]
fn what_was_acknowledged_outlives_a_kill() {
    const NAME: &str = "what_was_acknowledged_outlives_a_kill";
    if let Some(folder) = child() {
        let store = Store::open_folder(&folder).expect("a store");
        for each in 0.. {
            append_at_last(&store, RunId::new(1), &ask(&format!("{}.{each}", number())));
            println!("\nacknowledged {}.{each}", number());
        }
    }
    let (_scratch, store, run) = store("kill");
    let mut acknowledged = Vec::new();
    for number in 0..8 {
        let mut command = again(NAME, store.folder());
        let mut child =
            command.env(NUMBER, number.to_string()).stdout(Stdio::piped()).spawn().expect("a process");
        let mut lines = BufReader::new(child.stdout.take().expect("its words")).lines();
        for _ in 0..=number * 2 {
            let line = lines
                .by_ref()
                .map(|line| line.expect("a line"))
                .find(|line| line.starts_with("acknowledged"));
            acknowledged.push(line.expect("a word").replace("acknowledged ", ""));
        }
        child.kill().expect("killed");
        child.wait().expect("an end");
        let rest = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("acknowledged ").map(str::to_owned));
        acknowledged.extend(rest);
    }
    let recorded = events(&store, run);
    let lost: Vec<_> = acknowledged.iter().filter(|name| !recorded.contains(&ask(name))).collect();
    assert!(lost.is_empty(), "{lost:?}");
    // Each kill may leave one event behind that was written and not said.
    assert!(recorded.len() <= acknowledged.len() + 8, "{} of {}", acknowledged.len(), recorded.len());
    assert!(store.verify_chain(run).expect("checked").is_whole());
}

#[test]
fn who_waits_is_told_of_what_another_process_adds() {
    const NAME: &str = "who_waits_is_told_of_what_another_process_adds";
    if let Some(folder) = child() {
        let store = Store::open_folder(&folder).expect("a store");
        append_at_last(&store, RunId::new(1), &ask("news"));
        return;
    }
    let (_scratch, store, run) = store("wait");
    assert!(!store.wait(run, 0, Duration::ZERO).expect("waited"), "nothing happened");
    assert!(!store.wait(run, 0, Duration::from_millis(30)).expect("waited"), "nothing happened");
    let mut child = again(NAME, store.folder()).stdout(Stdio::null()).spawn().expect("a process");
    assert!(store.wait(run, 0, PATIENCE).expect("waited"), "not told of the other process");
    child.wait().expect("an end");
    assert!(!store.wait(run, 1, Duration::ZERO).expect("waited"));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store.wait(run, 1, PATIENCE).expect("waited"));
        store.append(run, 1, &[ask("more")], 0).expect("appended");
        assert!(waiting.join().expect("no panic"), "not told of this process");
    });
    assert!(matches!(store.wait(RunId::new(9), 0, PATIENCE), Err(Error::NoRun { .. })));
}

#[test]
fn the_store_of_a_project_lies_outside_it_and_is_private() {
    const NAME: &str = "the_store_of_a_project_lies_outside_it_and_is_private";
    if let Some(base) = child() {
        let store = Store::open(&base.join("My App")).expect("a store");
        assert_eq!(store.folder().parent(), Some(base.join("state/planwright").as_path()));
        assert!(
            store.key().starts_with("my-app-") && store.key().len() == "my-app-".len() + 8,
            "{}",
            store.key()
        );
        for folder in [store.folder(), &base.join("state/planwright"), &store.folder().join("locks")] {
            assert_eq!(
                folder.metadata().expect("there").permissions().mode() & 0o777,
                0o700,
                "{}",
                folder.display()
            );
        }
        let same = Store::open(&base.join("elsewhere")).expect("a store");
        assert_eq!(same.folder(), store.folder(), "a worktree shares it");
        assert!(
            std::fs::read_dir(base.join("My App")).expect("read").count() == 1,
            "only .git lies in the project"
        );
        return;
    }
    let scratch = Scratch::new("project");
    let base = scratch.path();
    std::fs::create_dir_all(base.join("My App/.git/worktrees/w")).expect("made");
    std::fs::create_dir_all(base.join("elsewhere")).expect("made");
    std::fs::write(base.join("My App/.git/worktrees/w/commondir"), "../..\n").expect("written");
    std::fs::write(base.join("My App/.git/worktrees/w/gitdir"), "../../../../elsewhere/.git\n")
        .expect("written");
    std::fs::write(base.join("elsewhere/.git"), "gitdir: ../My App/.git/worktrees/w\n").expect("written");
    assert_success(&again(NAME, base).env("XDG_STATE_HOME", base.join("state")).output().expect("an end"));
}

#[test]
fn a_folder_that_can_not_be_written_is_named() {
    const NAME: &str = "a_folder_that_can_not_be_written_is_named";
    if let Some(folder) = child() {
        let known = folder.join("known");
        drop(Store::open_folder(&known).expect("a store"));
        let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(&folder).status().expect("mount");
        assert!(remount.success());
        for state in [folder.join("new"), known] {
            let refused = words(&Store::open_folder(&state).expect_err("refused"));
            assert!(refused.contains(&state.display().to_string()), "{refused}");
        }
        return;
    }
    if let Some(output) = on_a_small_disk(NAME, Scratch::new("read-only").path()) {
        assert_success(&output);
    }
    // A file in the place of the folder is refused for everybody, root included.
    let scratch = Scratch::new("not-a-folder");
    let folder = scratch.path().join("state");
    std::fs::write(&folder, "in the way").expect("written");
    let refused = words(&Store::open_folder(&folder).expect_err("refused"));
    assert!(refused.contains(&folder.display().to_string()), "{refused}");
}

#[test]
fn a_full_disk_is_an_error_and_the_store_goes_on_when_there_is_room() {
    const NAME: &str = "a_full_disk_is_an_error_and_the_store_goes_on_when_there_is_room";
    if let Some(folder) = child() {
        let store = Store::open_folder(&folder.join("state")).expect("a store");
        let run = store.create_run(&new_run("a.md")).expect("a run");
        let filler = folder.join("filler");
        std::fs::write(&filler, vec![0; 400 * 1024]).expect("written");
        let (mut kept, full) = (Vec::new(), |word: &str| word.contains("full") || word.contains("disk"));
        let refused =
            (0..64_u8).find_map(|byte| store.put(&vec![byte; 32 * 1024]).map(|blob| kept.push(blob)).err());
        let refused = words(&refused.expect("the disk is never full"));
        assert!(refused.starts_with("cannot store 32768 bytes in ") && full(&refused), "{refused}");
        let (mut written, text) = (0, "x".repeat(4000));
        let refused = (0..256).find_map(|number| {
            let event = Event::Ask {
                ask: number.to_string(),
                event: AskEvent::Opened { step: None, reason: AskReason::Budget, text: text.clone() },
            };
            store.append(run, written, &[event], 0).map(|_| written += 1).err()
        });
        let refused = words(&refused.expect("the disk is never full"));
        assert!(
            refused.starts_with("cannot append to the journal of run 1 in ") && full(&refused),
            "{refused}"
        );
        std::fs::remove_file(&filler).expect("room again");
        assert_eq!(
            store.append(run, written, &[ask("on")], 0).expect("room"),
            AppendResult::Written { seq: written + 1 }
        );
        assert!(store.verify_chain(run).expect("checked").is_whole());
        drop(store);
        let store = Store::open_folder(&folder.join("state")).expect("opened again");
        assert_eq!(store.events(run, 0).expect("events").len() as u64, written + 1);
        for blob in &kept {
            assert_eq!(store.get(blob).expect("kept").len(), 32 * 1024);
        }
        return;
    }
    if let Some(output) = on_a_small_disk(NAME, Scratch::new("full").path()) {
        assert_success(&output);
    }
}
