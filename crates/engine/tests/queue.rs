//! The work queue at its door: claims, fences and results, the tables that follow from the journal, and many processes on
//! one queue. Tests that need other processes start this binary again, for the same test, with [`CHILD`] set.

#![expect(clippy::disallowed_methods, reason = "lays out state folders and damages databases on purpose")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use planwright_core::agent::account::Usage;
use planwright_core::run::event::{
    AskAnswer, AskEvent, AskReason, AttemptEnd, AttemptFinish, AttemptStart, Event, RunEvent, RunOutcome,
    StepEvent, StopMode,
};
use planwright_engine::store::journal::{
    Append, AppendResult, Health, LEASE_MS, NewRun, Queued, RunId, WorkClaim, blob_of, driver_name,
};
use planwright_engine::store::plan_file::Store;
use rusqlite::Connection;

use crate::random::Random;

/// Says to another process where the store is.
const CHILD: &str = "PLANWRIGHT_QUEUE_CHILD";
const PATIENCE: Duration = Duration::from_mins(2);

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("planwright-queue-{name}-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

/// The workspace of every run here.
fn root() -> PathBuf {
    PathBuf::from("/a/workspace")
}

fn new_run(plan: &str) -> NewRun {
    NewRun {
        root: root(),
        plan: PathBuf::from(plan),
        name: "a plan".to_owned(),
        digest: "d1".to_owned(),
        text: "# a plan\n".to_owned(),
        dialect: "native".to_owned(),
        created_at_ms: 7,
    }
}

fn store(name: &str) -> (Store, RunId) {
    let store = Store::open_folder(&scratch(name).join("state")).expect("a store");
    let run = store.create_run(&new_run("plans/a.md")).expect("a run");
    (store, run)
}

/// The database, past the store's own door.
fn burgle(store: &Store) -> Connection {
    Connection::open(store.folder().join("state.db")).expect("the database")
}

fn started(step: &str, attempt: u32) -> Event {
    let (step, agent) = (step.to_owned(), "shell".to_owned());
    Event::Step {
        step,
        event: StepEvent::Started(AttemptStart { attempt, agent, prompt: blob_of(b"do it") }),
    }
}

fn finished(step: &str, attempt: u32, end: AttemptEnd) -> Event {
    let (step, usage) = (step.to_owned(), Usage::default());
    Event::Step {
        step,
        event: StepEvent::Finished(AttemptFinish {
            attempt,
            end,
            output: None,
            usage,
            changed: Vec::new(),
            account: planwright_core::agent::account::Account::default(),
        }),
    }
}

fn asked(ask: &str, step: Option<&str>) -> Event {
    let (ask, step) = (ask.to_owned(), step.map(str::to_owned));
    Event::Ask {
        ask,
        event: AskEvent::Opened { step, reason: AskReason::AttemptsSpent, text: "it fails".to_owned() },
    }
}

fn answered(ask: &str) -> Event {
    let answer = AskAnswer::Retry { hint: String::new() };
    Event::Ask { ask: ask.to_owned(), event: AskEvent::Answered { answer, by: "ada".to_owned() } }
}

fn over() -> Event {
    Event::Run(RunEvent::Finished { outcome: RunOutcome::Cancelled, why: "enough".to_owned() })
}

#[track_caller]
fn append(store: &Store, run: RunId, events: &[Event]) {
    let after = store.run(run).expect("the run").head.seq;
    let appended = store.append(run, after, events, 100 + after).expect("appended");
    assert!(matches!(appended, AppendResult::Written { .. }), "{appended:?}");
}

#[track_caller]
fn claim(store: &Store, worker: &str) -> Option<WorkClaim> {
    store.claim(worker, &root(), 1000).expect("the queue answers")
}

fn queue(store: &Store) -> Vec<Queued> {
    store.queue().expect("the queue")
}

// P-01: the oldest comes first, each once, and only to workers of the same workspace.
#[test]
fn attempts_are_claimed_once_in_the_order_in_which_they_came() {
    let (store, run) = store("order");
    append(&store, run, &[started("b", 1), started("a", 1)]);
    let other = store.create_run(&NewRun { root: "/elsewhere".into(), ..new_run("plans/a.md") });
    append(&store, other.expect("a run"), &[started("c", 1)]);
    let steps: Vec<String> = std::iter::from_fn(|| claim(&store, "w1")).map(|claim| claim.step).collect();
    assert_eq!(steps, ["b", "a"]);
    let there = store.claim("w2", Path::new("/elsewhere"), 1000).expect("asked").expect("a claim");
    assert_eq!((there.step.as_str(), there.prompt), ("c", blob_of(b"do it")));
    assert_eq!(store.claim_this("w2", (run, "a", 1), 1000).expect("asked"), None, "it is taken");
    assert_eq!(store.claim_this("w2", (run, "a", 2), 1000).expect("asked"), None, "nobody intends it");
}

// P-01: what the driver makes itself is claimed with its intent, in one act.
#[test]
fn what_a_driver_claims_with_the_intent_is_never_free() {
    let (store, run) = store("own");
    let events = [started("a", 1)];
    let claim_for = Some(driver_name(run));
    let addition = Append {
        after: 0,
        events: &events,
        blobs: vec![b"do it".to_vec()],
        claim_for,
        tally: None,
        at_ms: 5,
    };
    store.add(run, addition).expect("added");
    assert_eq!(claim(&store, "w1"), None);
    let lease = queue(&store)[0].lease.clone().expect("a lease");
    assert_eq!((lease.worker, lease.claimed_at_ms, lease.is_delivered), (driver_name(run), 5, false));
}

// P-15: a claim that was given up is worth nothing, however late its worker comes.
#[test]
fn an_old_fence_delivers_nothing() {
    let (store, run) = store("fence");
    append(&store, run, &[started("a", 1)]);
    let old = claim(&store, "w1").expect("a claim");
    assert!(store.beat(&old, 1001).expect("asked"));
    append(&store, run, &[finished("a", 1, AttemptEnd::Lost), started("a", 2)]);
    let new = claim(&store, "w2").expect("a claim");
    assert!(new.fence > old.fence && new.attempt == 2);
    assert!(!store.beat(&old, 1002).expect("asked"));
    let late = finished("a", 1, AttemptEnd::Exited(0));
    assert!(!store.deliver(&old, &late, vec![b"too late".to_vec()]).expect("asked"));
    assert_eq!(store.delivered(run).expect("asked"), []);
    assert!(store.get(&blob_of(b"too late")).is_err(), "what nobody wants is not kept");
    assert!(store.beat(&new, 1003).expect("asked"));
}

// a result outlives its worker, and is delivered once.
#[test]
fn a_delivered_result_stays_until_a_driver_records_it() {
    let (store, run) = store("delivered");
    append(&store, run, &[started("a", 1)]);
    let claim = claim(&store, "w1").expect("a claim");
    let result = finished("a", 1, AttemptEnd::Exited(3));
    assert!(store.deliver(&claim, &result, vec![b"said".to_vec()]).expect("delivered"));
    let other = finished("a", 1, AttemptEnd::Exited(4));
    assert!(!store.deliver(&claim, &other, Vec::new()).expect("asked"), "the first result holds");
    let folder = store.folder().to_owned();
    drop(store);
    let store = Store::open_folder(&folder).expect("opened again");
    assert_eq!(store.delivered(run).expect("asked"), std::slice::from_ref(&result));
    assert_eq!(store.get(&blob_of(b"said")).expect("kept with it"), b"said");
    assert!(queue(&store)[0].lease.as_ref().is_some_and(|lease| lease.is_delivered));
    append(&store, run, &[result]);
    assert_eq!((store.delivered(run).expect("asked"), queue(&store)), (Vec::new(), Vec::new()));
}

#[test]
fn a_finished_run_clears_everything_that_waited() {
    let (store, run) = store("cleared");
    let other = store.create_run(&new_run("plans/b.md")).expect("a run");
    append(&store, run, &[started("a", 1), started("b", 1), asked("x/1", Some("x"))]);
    append(&store, other, &[started("a", 1), asked("x/1", Some("x"))]);
    let taken = claim(&store, "w1").expect("a claim");
    assert_eq!(taken.run, run);
    append(&store, run, &[over()]);
    assert!(!store.deliver(&taken, &finished("a", 1, AttemptEnd::Exited(0)), Vec::new()).expect("asked"));
    let left: Vec<RunId> = queue(&store).iter().map(|queued| queued.run).collect();
    assert_eq!(left, [other], "the other run is left alone");
    let asks = burgle(&store).query_row("SELECT run FROM ask", [], |row| row.get::<_, i64>(0));
    assert_eq!(asks.expect("one ask is left"), other.number());
    assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0]);
}

// P-15: paused and dead are told apart by the kernel, not by the clock.
#[test]
fn a_silent_worker_is_dead_only_when_its_lock_is_free() {
    let (store, run) = store("health");
    append(&store, run, &[started("a", 1)]);
    let lock = store.lock_named("worker-1").expect("asked").expect("a lock");
    claim(&store, "worker-1").expect("a claim");
    let lease = queue(&store)[0].lease.clone().expect("a lease");
    let health = |now| store.health(&lease, now).expect("asked");
    assert_eq!(health(1000 + LEASE_MS), Health::Well);
    assert_eq!(health(1000 + LEASE_MS + 1), Health::Silent);
    assert_eq!(health(u64::MAX), Health::Silent, "however long it is silent");
    store.beat_all("worker-1", 9000).expect("beaten");
    let heard = queue(&store)[0].lease.clone().expect("a lease");
    assert_eq!(store.health(&heard, 9000 + LEASE_MS).expect("asked"), Health::Well);
    drop(lock);
    assert_eq!(health(1000), Health::Dead);
}

/// What may happen to some runs, at random.
struct Chance {
    random: Random,
    runs: Vec<RunId>,
    /// Attempts and asks that are open, by run.
    attempts: BTreeMap<(RunId, String), (u32, bool)>,
    asks: BTreeMap<RunId, Vec<String>>,
    count: usize,
}

impl Chance {
    fn events(&mut self) -> (RunId, Vec<Event>) {
        let run = self.random.pick(&self.runs);
        let many = 1 + self.random.below(3);
        (run, (0..many).filter_map(|_| self.event(run)).collect())
    }

    fn event(&mut self, run: RunId) -> Option<Event> {
        self.count += 1;
        let step = format!("s{}", self.random.below(4));
        let (attempt, is_open) = self.attempts.entry((run, step.clone())).or_default();
        match self.random.below(6) {
            0 | 1 if !*is_open => {
                (*attempt, *is_open) = (*attempt + 1, true);
                Some(started(&step, *attempt))
            }
            2 if *is_open => {
                *is_open = false;
                Some(finished(&step, *attempt, AttemptEnd::Exited(0)))
            }
            3 => {
                let ask = format!("{step}/{}", self.count);
                self.asks.entry(run).or_default().push(ask.clone());
                Some(asked(&ask, Some(&step).filter(|_| self.count.is_multiple_of(2)).map(String::as_str)))
            }
            4 => self.asks.get_mut(&run).and_then(Vec::pop).map(|ask| answered(&ask)),
            5 if self.count.is_multiple_of(3) => {
                Some(Event::Run(RunEvent::Stopped { by: "ada".to_owned(), mode: StopMode::Now }))
            }
            _ => None,
        }
    }
}

/// A store after some random events, claims and results.
fn busy(name: &str, seed: u64) -> (Store, RunId) {
    let (store, run) = store(name);
    let runs = vec![run, store.create_run(&new_run("plans/b.md")).expect("a run")];
    let mut chance = Chance {
        random: Random::new(seed),
        runs,
        attempts: BTreeMap::new(),
        asks: BTreeMap::new(),
        count: 0,
    };
    for round in 0..60 {
        let (run, events) = chance.events();
        append(&store, run, &events);
        if chance.random.once_in(3)
            && let Some(taken) = claim(&store, &format!("w{round}"))
            && chance.random.once_in(2)
        {
            let result = finished(&taken.step, taken.attempt, AttemptEnd::Exited(1));
            assert!(store.deliver(&taken, &result, Vec::new()).expect("delivered"));
        }
        assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0], "seed {seed}, round {round}");
    }
    let open = ["ghost", "live", "kept"].map(|step| started(step, 1));
    append(&store, run, &open);
    append(&store, run, &[asked("last/1", None)]);
    (store, run)
}

#[test]
fn after_any_events_the_tables_are_what_the_journal_says() {
    for seed in 1..=4 {
        let (store, run) = busy(&format!("random-{seed}"), seed);
        append(&store, run, &[over()]);
        assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0]);
    }
}

/// Everything that the tables hold, leases included.
fn tables(store: &Store) -> Vec<String> {
    let connection = burgle(store);
    let mut lines = Vec::new();
    for (table, order) in [("work", "run, step, attempt"), ("ask", "run, ask"), ("lease", "fence")] {
        let mut query =
            connection.prepare(&format!("SELECT * FROM {table} ORDER BY {order}")).expect("a query");
        let columns = query.column_count();
        let mut rows = query.query([]).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            let cells = (0..columns).map(|column| format!("{:?}", row.get_ref(column).expect("a cell")));
            lines.push(format!("{table} {}", cells.collect::<Vec<_>>().join(" ")));
        }
    }
    lines
}

#[test]
fn a_row_that_somebody_changed_is_found_and_put_right() {
    let (store, _) = busy("tampered", 9);
    assert!(claim(&store, "w").is_some(), "a lease that must be kept");
    let before = tables(&store);
    let faults = [
        "UPDATE work SET agent = 'root' WHERE step = 'ghost'",
        "UPDATE work SET prompt = 'another' WHERE step = 'ghost'",
        "UPDATE work SET queued_at = queued_at + 1 WHERE step = 'ghost'",
        "UPDATE work SET step = 'gone' WHERE step = 'ghost'",
        "DELETE FROM work WHERE step = 'ghost'",
        "INSERT INTO work VALUES (1, 'made-up', 1, 'shell', 'p', 0)",
        "UPDATE ask SET reason = 'budget' WHERE ask = 'last/1'",
        "UPDATE ask SET text = 'all is well' WHERE ask = 'last/1'",
        "UPDATE ask SET step = 'ghost' WHERE ask = 'last/1'",
        "UPDATE ask SET opened_at = 0 WHERE ask = 'last/1'",
        "DELETE FROM ask WHERE ask = 'last/1'",
        "INSERT INTO ask VALUES (1, 'made-up', NULL, 'budget', 't', 0)",
    ];
    for fault in faults {
        assert_eq!(burgle(&store).execute(fault, []).expect("changed"), 1, "{fault}");
        let found = store.check_projection().expect("checked");
        let named = ["ghost", "gone", "made-up", "last/1"];
        assert!(
            !found.is_empty() && found.iter().all(|line| named.iter().any(|name| line.contains(name))),
            "{fault}: {found:?}"
        );
        store.rebuild_projection().expect("rebuilt");
        assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0], "{fault}");
        assert_eq!(tables(&store), before, "{fault}");
    }
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
fn a_database_of_version_1_gets_its_tables_from_the_journal() {
    let (new, run) = busy("version-1", 5);
    let folder = scratch("version-1-old").join("state");
    std::fs::create_dir_all(&folder).expect("a folder");
    let old = Connection::open(folder.join("state.db")).expect("a database");
    old.execute_batch(VERSION_1).expect("the old tables");
    let path = new.folder().join("state.db").to_string_lossy().into_owned();
    old.execute("ATTACH ?1 AS new", [path]).expect("attached");
    old.execute_batch(
        "INSERT INTO run SELECT id, plan, name, digest, text, created_at FROM new.run;
         INSERT INTO head SELECT * FROM new.head; INSERT INTO journal SELECT * FROM new.journal;
         INSERT INTO blob SELECT * FROM new.blob;",
    )
    .expect("copied");
    drop(old);
    let store = Store::open_folder(&folder).expect("migrated");
    assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0]);
    let rows = |store: &Store| -> Vec<String> {
        tables(store).into_iter().filter(|line| !line.starts_with("lease")).collect()
    };
    assert_eq!(rows(&store), rows(&new), "the same rows as those that were written with the events");
    assert_eq!(store.events(run, 0).expect("events"), new.events(run, 0).expect("events"));
    // Nobody knows in which folder those runs were made: everybody finds them, and no worker takes their attempts.
    let latest = store.latest_run(&root(), Path::new("plans/a.md")).expect("asked").expect("a run");
    assert_eq!((latest.id, claim(&store, "w")), (run, None));
    append(&store, run, &[over()]);
    assert_eq!(store.check_projection().expect("checked"), [] as [&str; 0]);
}

/// Claims whatever it can, once everybody is ready, and says what it got.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn claim_all(folder: &Path) {
    let store = Store::open_folder(&folder.join("state")).expect("a store");
    let worker = format!("worker-{}", std::process::id());
    let begin = Instant::now();
    while !folder.join("go").exists() {
        assert!(begin.elapsed() < PATIENCE, "nobody said go");
        std::thread::sleep(Duration::from_millis(1));
    }
    while let Some(claim) = claim(&store, &worker) {
        println!("\nclaimed {} {} {} {worker}", claim.step, claim.attempt, claim.fence);
    }
}

// P-01: 50 processes, 200 attempts: each is claimed once, and none is left.
#[test]
fn of_fifty_processes_no_two_claim_the_same() {
    const NAME: &str = "queue::of_fifty_processes_no_two_claim_the_same";
    const PROCESSES: usize = 50;
    const ITEMS: usize = 200;
    if let Some(folder) = std::env::var_os(CHILD) {
        return claim_all(Path::new(&folder));
    }
    let folder = scratch("fifty");
    let store = Store::open_folder(&folder.join("state")).expect("a store");
    let run = store.create_run(&new_run("plans/a.md")).expect("a run");
    let items: Vec<Event> = (0..ITEMS).map(|number| started(&format!("s{number}"), 1)).collect();
    append(&store, run, &items);
    let children: Vec<_> = (0..PROCESSES)
        .map(|_| {
            Command::new(std::env::current_exe().expect("this binary"))
                .args(["--exact", NAME, "--nocapture", "--test-threads=1"])
                .env(CHILD, &folder)
                .stdout(Stdio::piped())
                .spawn()
                .expect("another process")
        })
        .collect();
    std::fs::write(folder.join("go"), "").expect("said");
    let mut claims: Vec<Vec<String>> = Vec::new();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        let lines = text.lines().filter_map(|line| line.strip_prefix("claimed "));
        claims.extend(lines.map(|line| line.split(' ').map(str::to_owned).collect()));
    }
    let distinct = |column: usize| claims.iter().map(|claim| &claim[column]).collect::<BTreeSet<_>>().len();
    assert_eq!((claims.len(), distinct(0), distinct(2)), (ITEMS, ITEMS, ITEMS));
    assert!(distinct(3) > 1, "one process took everything: this shows nothing");
    let leases: BTreeMap<String, String> = queue(&store)
        .into_iter()
        .map(|queued| (queued.step, queued.lease.expect("all are claimed").worker))
        .collect();
    assert!(claims.iter().all(|claim| leases[&claim[0]] == claim[3]), "everybody has what they were given");
}
