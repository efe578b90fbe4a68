//! What lists cost where ten thousand plans were run, as ratios to nothing but reading their rows, in one interleaved run.
//! `cargo bench --bench scale` measures; `cargo test --benches` only shows that it still runs. With `PLANWRIGHT_PROGRAM` set to
//! a release build of the program, the commands are measured too.
//!
//! The benchmark starts itself again with a state folder of its own: nothing of the user's is touched.

#[path = "plans/clock.rs"]
mod clock;
#[path = "plans/corpus.rs"]
mod corpus;
#[path = "plans/memory.rs"]
mod memory;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clock::Cost;
use planwright_core::agent::account::Usage;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::Plan;
use planwright_core::plan::view::Summary;
use planwright_core::run::event::{
    AgentCommands, AskEvent, AskReason, AttemptEnd, AttemptFinish, AttemptStart, Event, Judged, RunEvent,
    RunOutcome, RunStart, StepEvent, StopMode,
};
use planwright_core::run::judge::{ContractRun, Observation};
use planwright_core::run::receipt::{Provenance, Receipt};
use planwright_core::run::state::RunState;
use planwright_core::run::summary::RunSummary;
use planwright_core::syntax::source::Source;
use planwright_core::verify::trusted;
use planwright_engine::run::Runs;
use planwright_engine::store::journal::{Append, NewRun, Store, blob_of};
use planwright_engine::store::plan_file;
use planwright_engine::workspace::project::Project;
use rusqlite::{Connection, OpenFlags};

const PLANS_FULL: usize = 10_000;
const PLANS_SMOKE: usize = 200;
const ROUNDS_FULL: usize = 9;
/// Says that the state folder is one of the benchmark.
const AGAIN: &str = "PLANWRIGHT_SCALE_AGAIN";
/// So many write at once: they share transactions.
const WRITERS: usize = 64;

fn main() -> ExitCode {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    if std::env::var_os(AGAIN).is_none() {
        return again();
    }
    let (plans, rounds) = if is_bench { (PLANS_FULL, ROUNDS_FULL) } else { (PLANS_SMOKE, 1) };
    let texts: Vec<String> = (0..plans).map(corpus::plan).collect();
    let folder = corpus::Folder::with(&texts);
    let project = Project::find(&folder.0).expect("the folder is a project");
    let runs = Runs::open(&project).expect("a store");
    record_all(&project, &runs, &texts);
    measure_rows(&runs, rounds);
    measure_list(&project, rounds);
    if let Some(program) = std::env::var_os("PLANWRIGHT_PROGRAM") {
        measure_program(Path::new(&program), &project, rounds);
    }
    say(&format!("\nMemory: {} KiB at most, the making of the plans included", memory::peak_kib()));
    ExitCode::SUCCESS
}

/// Starts this program with a state folder of its own, which is removed afterwards.
fn again() -> ExitCode {
    let state = std::env::temp_dir().join(format!("planwright-scale-{}", std::process::id()));
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(std::env::args().skip(1)).env(AGAIN, "1").env("XDG_STATE_HOME", &state);
    let status = command.status().expect("this program starts again");
    // What stays behind lies in the folder for temporary files; nothing depends on its going.
    let _ = std::fs::remove_dir_all(&state);
    ExitCode::from(u8::from(!status.success()))
}

#[expect(clippy::print_stdout, reason = "the table is what a benchmark is for")]
fn say(line: &str) {
    println!("{line}");
}

/// Records a run of every plan: one in a hundred waits for a person, one for a worker, one is stopped, the rest is done.
fn record_all(project: &Project, runs: &Runs, texts: &[String]) {
    let paths = project.plans().expect("the plans are found");
    let work: Vec<(usize, (&PathBuf, &String))> = paths.iter().zip(texts).enumerate().collect();
    std::thread::scope(|scope| {
        for share in work.chunks(work.len().div_ceil(WRITERS)) {
            scope.spawn(move || {
                for (number, (path, text)) in share {
                    record(runs.store(), (&project.root, path), text, *number);
                }
            });
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is not a command")]
fn record(store: &Store, (root, path): (&Path, &Path), text: &str, number: usize) {
    let name = plan_file::name(path);
    let plan = trusted(&Source::new(name.as_str(), text)).expect("the corpus verifies");
    let new = NewRun {
        root: root.to_owned(),
        plan: path.strip_prefix(root).expect("below the root").to_owned(),
        name,
        digest: Digest::of(&plan).to_string(),
        text: text.to_owned(),
        dialect: "native".to_owned(),
        created_at_ms: 1_000,
    };
    let started = Event::Run(RunEvent::Started(RunStart {
        digest: new.digest.clone(),
        approved_by: "ada".to_owned(),
        approved_at: "terminal".to_owned(),
        base: None,
        agents: AgentCommands::new(),
        sealed: BTreeMap::new(),
        programs: BTreeMap::new(),
        approvals: Vec::new(),
        note: String::new(),
    }));
    let mut state = RunState::new(&plan);
    state.apply(&started).expect("a run begins");
    let run = store.begin_run(&new, &started, &RunSummary::of(&plan, &state)).expect("a run is recorded");
    let events = story(&plan, number);
    for event in &events {
        state.apply(event).unwrap_or_else(|illegal| panic!("{illegal}"));
    }
    let addition = Append {
        after: 1,
        events: &events,
        blobs: vec![b"Do it.".to_vec()],
        claim_for: None,
        tally: Some(RunSummary::of(&plan, &state)),
        at_ms: 2_000,
    };
    store.add(run, addition).expect("events are recorded");
}

/// What happened to the run of a plan.
fn story(plan: &Plan, number: usize) -> Vec<Event> {
    let mut events = Vec::new();
    for step in &plan.steps {
        if step.mark.is_some() {
            events.push(judged(&step.id, 0, 0));
            continue;
        }
        events.push(Event::Step {
            step: step.id.clone(),
            event: StepEvent::Started(AttemptStart {
                attempt: 1,
                agent: "claude".to_owned(),
                prompt: blob_of(b"Do it."),
            }),
        });
        if number % 100 == 1 {
            return events;
        }
        events.push(finished(&step.id));
        if number.is_multiple_of(100) {
            events.push(judged(&step.id, 1, 1));
            events.push(Event::Ask {
                ask: format!("{}/1", step.id),
                event: AskEvent::Opened {
                    step: Some(step.id.clone()),
                    reason: AskReason::AttemptsSpent,
                    text: "The contract failed once: exit 1.".to_owned(),
                },
            });
            return events;
        }
        events.push(judged(&step.id, 1, 0));
        if number % 100 == 2 {
            events
                .push(Event::Run(RunEvent::Stopped { by: "ada".to_owned(), mode: StopMode::AfterAttempts }));
            return events;
        }
    }
    events.push(Event::Run(RunEvent::Finished { outcome: RunOutcome::Done, why: String::new() }));
    events
}

fn finished(step: &str) -> Event {
    Event::Step {
        step: step.to_owned(),
        event: StepEvent::Finished(AttemptFinish {
            attempt: 1,
            end: AttemptEnd::Exited(0),
            output: None,
            usage: Usage { tokens: Some(12_000), micro_dollars: Some(90_000), milliseconds: 60_000 },
            changed: vec!["src/main.py".to_owned()],
            account: planwright_core::agent::account::Account::default(),
        }),
    }
}

fn judged(step: &str, attempt: u32, code: i32) -> Event {
    let observation = Observation::Exited(code);
    Event::Step {
        step: step.to_owned(),
        event: StepEvent::Judged {
            of: Judged::attempt(attempt),
            broken_by: None,
            receipt: Receipt::new(
                &ContractRun {
                    expect: Some(0),
                    contract: "c".to_owned(),
                    observation,
                    output: "o".to_owned(),
                    milliseconds: 40,
                },
                None,
                Provenance { digest: "d".to_owned(), tier: "open".to_owned(), ..Provenance::default() },
            ),
        },
    }
}

/// The columns that a list needs, read as they are.
fn read_rows(connection: &Connection, query: &str) -> usize {
    let mut query = connection.prepare_cached(query).expect("a query");
    let columns = query.column_count();
    let mut rows = query.query([]).expect("rows");
    let mut read = Vec::new();
    while let Some(row) = rows.next().expect("a row") {
        let cell = |column| row.get::<_, rusqlite::types::Value>(column).expect("a cell");
        read.push((0..columns).map(cell).collect::<Vec<_>>());
    }
    read.len()
}

const RUN_ROWS: &str = "SELECT run.id, run.plan, run.name, run.digest, run.created_at, tally.tally, tally.at, head.hash \
    FROM run INDEXED BY run_listed JOIN head ON head.run = run.id JOIN tally ON tally.run = run.id ORDER BY run.plan, run.id";
const ASK_ROWS: &str = "SELECT run, ask, step, reason, text, opened_at FROM ask";
const QUEUE_ROWS: &str = "SELECT work.run, work.step, work.attempt, work.agent, work.prompt, work.queued_at, run.name, \
    tally.tally FROM work JOIN run ON run.id = work.run JOIN tally ON tally.run = work.run ORDER BY work.queued_at";

fn measure_rows(runs: &Runs, rounds: usize) {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection =
        Connection::open_with_flags(runs.store().folder().join("state.db"), flags).expect("opened");
    let table = clock::medians(rounds, || {
        [
            Cost::of(|| read_rows(&connection, RUN_ROWS)),
            Cost::of(|| runs.newest().expect("runs").len()),
            Cost::of(|| read_rows(&connection, RUN_ROWS) + read_rows(&connection, ASK_ROWS)),
            Cost::of(|| runs.newest().expect("runs").len() + runs.store().asks().expect("asks").len()),
            Cost::of(|| read_rows(&connection, QUEUE_ROWS)),
            Cost::of(|| runs.pending().expect("the queue").len()),
        ]
    });
    let count = runs.newest().expect("runs").len();
    say(&format!("\nRows: the newest run of {count} plans, on the wall"));
    let names = ["rows of runs", "status", "rows of runs and asks", "inbox", "rows of the queue", "queue"];
    for (place, (name, cost)) in names.iter().zip(&table).enumerate() {
        let base = table[place / 2 * 2].wall_ms;
        say(&format!("  {name:<36} {:>9.2} ms   {:>6.2}", cost.wall_ms, cost.wall_ms / base));
    }
}

fn measure_list(project: &Project, rounds: usize) {
    // A file is believed to be as it was only if it was not changed just before it was seen.
    std::thread::sleep(std::time::Duration::from_millis(3_100));
    let first = Cost::of(|| project.survey().expect("the plans are listed").plans.len());
    let table = clock::medians(rounds, || {
        [
            Cost::of(|| visit(&project.root) + read_seen(project)),
            Cost::of(|| project.survey().expect("the plans are listed").plans.len()),
        ]
    });
    say("\nList: time of all processors, and on the wall");
    let names = ["visit every file, read the rows", "list"];
    for (name, cost) in names.iter().zip(&table).chain([(&"the first list, which reads the plans", &first)]) {
        let (all, wall) = (cost.threads_ms, cost.wall_ms);
        let ratios = [all / table[0].threads_ms, wall / table[0].wall_ms];
        say(&format!(
            "  {name:<38} {all:>9.1} ms   {:>6.2}   {wall:>9.1} ms   {:>6.2}",
            ratios[0], ratios[1]
        ));
    }
}

/// Walks the folder as a search does, and asks every file what it is.
fn visit(root: &Path) -> usize {
    let walk = ignore::WalkBuilder::new(root).hidden(false).build();
    walk.flatten().filter(|entry| entry.path().metadata().is_ok_and(|data| data.is_file())).count()
}

/// Reads what was seen of the files, as it lies on the disk.
fn read_seen(project: &Project) -> usize {
    let store = Store::open(&project.root).expect("the store");
    let files = store.folder().read_dir().expect("the state folder").flatten();
    let seen = files
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seen-")));
    let text = seen.map(|path| std::fs::read_to_string(path).expect("the record")).unwrap_or_default();
    let rows: Vec<Row> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    rows.iter().filter(|row| row.plan.is_some() && row.stamp[2] > 0 && !row.path.is_empty()).count()
}

/// What the record has of one file.
#[derive(serde::Deserialize)]
struct Row {
    path: String,
    stamp: [i64; 7],
    plan: Option<Summary>,
}

fn measure_program(program: &Path, project: &Project, rounds: usize) {
    say("\nThe program, on the wall: start to end, output thrown away");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&project.root).stdout(Stdio::null()).stderr(Stdio::null());
        Cost::of(|| command.status().expect("the program starts"))
    };
    let faces: [&[&str]; 7] = [
        &["--version"],
        &["status"],
        &["status", "--json"],
        &["inbox"],
        &["queue"],
        &["list"],
        &["list", "--json"],
    ];
    let table = clock::medians(rounds, || faces.map(run));
    for (face, cost) in faces.iter().zip(&table) {
        say(&format!("  {:<36} {:>9.2} ms", face.join(" "), cost.wall_ms));
    }
}
