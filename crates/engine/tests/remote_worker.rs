//! Workers that are processes of their own: they make the attempts of a driver that is another process, and any of them is
//! killed, stopped and told to leave. Drivers, workers and supervisors are this program again, so it has its own `main`.

#![expect(clippy::disallowed_methods, reason = "lays out workspaces, and says go by making a file")]

#[path = "process/runner.rs"]
mod runner;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::run::event::{AskEvent, AskReason, Event, RunEvent, RunOutcome};
use planwright_core::run::schedule::ScheduleLimits;
use planwright_core::run::summary::RunSummary;
use planwright_engine::approval::{ApprovalRequest, Approvals};
use planwright_engine::run::baseline;
use planwright_engine::run::driver;
use planwright_engine::run::host::DriveSetup;
use planwright_engine::run::remote_worker::{WorkUntil, WorkerOptions, work};
use planwright_engine::run::{DriveOptions, Isolation, Run, Runs};
use planwright_engine::store::journal::{Health, LEASE_MS, LedgerStart, NewRun, RunId, WorkLease};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::{FileText, Store};
use planwright_engine::system::process::{SHIM, Stop, shim_main};
use planwright_engine::workspace::project::Project;
use runner::{Case, run_cases};

const DRIVE: &str = "__drive";
const WORK: &str = "__work";
const COMPETE: &str = "__compete";
const AGAIN: &str = "__again";
const PATIENCE: Duration = Duration::from_mins(2);

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|first| first.to_str()) {
        Some(SHIM) => shim_main(arguments),
        Some(DRIVE) => drive(Path::new(&arguments[2])),
        Some(WORK) => labour(Path::new(&arguments[2])),
        Some(COMPETE) => compete(Path::new(&arguments[2])),
        Some(AGAIN) => again(Path::new(&arguments[2])),
        _ => run_cases(CASES, &arguments),
    }
}

const CASES: &[Case] = &[
    ("a_worker_makes_the_attempts_of_a_driver_that_makes_none", a_worker_makes_the_attempts),
    ("an_attempt_of_a_killed_worker_is_lost_and_made_by_another", a_killed_worker_is_replaced),
    ("a_stopped_worker_is_silent_and_keeps_its_attempt", a_stopped_worker_keeps_its_attempt),
    ("what_a_worker_did_while_no_driver_lived_is_not_done_again", what_a_worker_did_is_not_done_again),
    ("a_worker_that_leaves_gives_its_attempt_back", a_worker_that_leaves_gives_its_attempt_back),
    ("a_worker_ends_what_nobody_wants_any_more", a_worker_ends_what_nobody_wants_any_more),
    ("a_plan_that_runs_is_not_started_again", a_plan_that_runs_is_not_started_again),
    ("a_panic_in_a_thread_asks_a_person", a_panic_asks_a_person),
];

/// The run of the plan, which is begun where there is none.
fn begun(root: &Path) -> (Runs, Run, PathBuf) {
    let project = Project::find(root).expect("a project");
    let path = root.join("plans/it.md");
    let runs = Runs::open(&project).expect("runs");
    if runs.latest(&path).expect("read").is_none() {
        let text = plan_file::read(&path, "plans/it.md", project.reading()).expect("a plan");
        assert!(matches!(text, FileText::Plan(_)));
        let verified = baseline::verify_text(&project, text).expect("checked");
        let decisions = Approvals::open(&project).expect("decisions");
        let ada = Identity::person("ada");
        let proposed = decisions.propose(&path, &verified, &ada).expect("a plan without faults");
        let yes = ApprovalRequest { by: ada.clone(), way: "rev", note: String::new(), key: None };
        decisions.approve(&path, &proposed.revision.subject.digest, &yes).expect("approved");
        decisions.start(&path, &verified, &ada).expect("begun");
    }
    let run = runs.latest(&path).expect("read").expect("a run");
    (runs, run, path)
}

/// Drives the run of the plan, and makes no attempt itself.
fn drive(root: &Path) -> ExitCode {
    let (runs, run, path) = begun(root);
    let drive = DriveOptions::together(ScheduleLimits::default(), 0, Stop::new());
    runs.drive(&run, &path, &drive, &mut |_, _| {}).expect("driven");
    ExitCode::SUCCESS
}

/// Has several agents do a step that no contract judges: refused at the door, and a bug for whoever gets past it.
fn compete(root: &Path) -> ExitCode {
    let (runs, run, path) = begun(root);
    let tournament = Some(("a".to_owned(), 2));
    let drive = DriveOptions {
        isolation: Isolation::Apart,
        tournament: tournament.clone(),
        ..DriveOptions::together(ScheduleLimits::default(), 1, Stop::new())
    };
    let refused = runs.drive(&run, &path, &drive, &mut |_, _| {}).expect_err("refused").to_string();
    assert!(refused.contains("step `a` has no contract"), "{refused}");
    assert_eq!(runs.run(run.row.id).expect("read").events.len(), 1, "nothing was begun");
    let hands = DriveSetup { workers: 1, leave: Stop::new(), tournament };
    let mut host = runs.host(&run, &path, hands).expect("nobody drives it");
    driver::drive(&run.plan, &ScheduleLimits::default(), &mut host, &mut |_, _| {})
        .expect("driven to a question");
    let events = runs.run(run.row.id).expect("read").events;
    let asked = events.iter().find_map(|recorded| match &recorded.event {
        Event::Ask { event: AskEvent::Opened { reason, text, .. }, .. } => Some((*reason, text.clone())),
        Event::Ask { event: AskEvent::Answered { .. }, .. } | Event::Run(_) | Event::Step { .. } => None,
    });
    let (reason, text) = asked.expect("a person is asked");
    assert_eq!(reason, AskReason::Machine);
    assert!(text.contains("internal error, please report it: a step without a contract"), "{text}");
    ExitCode::SUCCESS
}

/// Starts a plan that runs: refused, and whoever records the start all the same breaks the ledger, which is seen and mended.
fn again(root: &Path) -> ExitCode {
    let (runs, run, path) = begun(root);
    let project = Project::find(root).expect("a project");
    let text = plan_file::read(&path, "plans/it.md", project.reading()).expect("a plan");
    let verified = baseline::verify_text(&project, text).expect("checked");
    let decisions = Approvals::open(&project).expect("decisions");
    let ada = Identity::person("ada");
    let refused = decisions.start(&path, &verified, &ada).expect_err("it runs").to_string();
    assert_eq!(refused, "plans/it.md is running (run 1)");
    let (plan, store) = (Path::new("plans/it.md"), runs.store());
    assert_eq!(runs.of_plan(&path).expect("read").len(), 1);

    // The saboteur reads the ledger anew and records without asking whether a start fits, as planwright 0.1 did.
    let after = store.ledger(plan).expect("a ledger").last().expect("entries").seq;
    let new = NewRun {
        root: project.root.clone(),
        plan: plan.to_owned(),
        name: "it".to_owned(),
        digest: run.row.digest.clone(),
        text: run.row.text.clone(),
        dialect: run.row.dialect.clone(),
        created_at_ms: run.row.created_at_ms + 1,
    };
    let tally = RunSummary::of(&run.plan, &run.state);
    let start =
        LedgerStart { new: &new, first: &run.events[0].event, tally: &tally, after, due: &[], by: &ada };
    store.begin_approved(&start).expect("recorded").expect("begun");
    let broken = decisions.case(&path).err().expect("a broken ledger").to_string();
    assert!(broken.contains("cannot change a plan from running to running"), "{broken}");

    let found = decisions.second_start(plan).expect("read").expect("two starts");
    assert_eq!((found.entries, found.runs), ([3, 4], [1, 2]));
    let held = runs.store().lock(RunId::new(2)).expect("a lock").expect("free");
    assert!(decisions.mend_second_start(plan, &ada).is_err(), "somebody drives it");
    drop(held);
    decisions.mend_second_start(plan, &ada).expect("mended");
    assert_eq!(decisions.second_start(plan).expect("read"), None);
    let case = decisions.case(&path).expect("whole again");
    assert_eq!((case.standing.run, case.state()), (Some(2), PlanState::Running));
    let outcome = |run| runs.run(RunId::new(run)).expect("a run").state.outcome();
    assert_eq!((outcome(1), outcome(2)), (Some(RunOutcome::Cancelled), None));
    ExitCode::SUCCESS
}

/// Works until the file `leave` is there.
fn labour(root: &Path) -> ExitCode {
    let runs = Runs::open(&Project::find(root).expect("a project")).expect("runs");
    let shift = WorkerOptions { jobs: 1, until: WorkUntil::Told, leave: Stop::new() };
    let (leave, file) = (shift.leave.clone(), root.join("leave"));
    std::thread::spawn(move || {
        while !file.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        leave.request();
    });
    work(&runs, &shift, &mut |_| {}).expect("worked");
    ExitCode::SUCCESS
}

/// The agent says its number, waits for `go`, and leaves a line.
const PLAN: &str = "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Work\n\n**Context:** Because.\n\
    **Budget:** $1, 900 minutes\n\n## Steps\n\n### 1. Do it\n\n**id:** a\n**target:** shell\n**on_fail:** escalate\n\n\
    **task:**\n```sh\necho $$ >>agents\nuntil [ -e go ]; do sleep 0.01; done\necho once >>out\n```\n\n\
    **contract:**\n```shell\ntest -s out\n```\nexit_code == 0\n";

/// A workspace with the plan, and a state folder of its own.
struct Place(PathBuf);

/// A process that is killed when the test is over.
struct Process(Child);

impl Process {
    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).expect("a number of a process");
        kill(Pid::from_raw(pid), signal).expect("a signal");
    }

    fn kill(&mut self) {
        self.0.kill().expect("a child can be killed");
        self.0.wait().expect("a child can be waited for");
    }

    /// Waits for its end, and that it went well.
    fn end(&mut self) {
        wait_until("a process ends", || self.0.try_wait().expect("a child").is_some());
        assert!(self.0.wait().expect("a child").success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that ended by itself can't be killed, and need not be.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Place {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("planwright-crew-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        for inside in ["project/.git", "project/plans", "state"] {
            std::fs::create_dir_all(folder.join(inside)).expect("a scratch folder");
        }
        std::fs::write(folder.join("project/plans/it.md"), PLAN).expect("written");
        Self(folder.canonicalize().expect("it is there"))
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.0.join("project").join(inside)
    }

    fn start(&self, what: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg(what).arg(self.0.join("project"));
        command.env("XDG_STATE_HOME", self.0.join("state")).stdin(Stdio::null());
        Process(command.spawn().expect("it starts"))
    }

    fn say(&self, file: &str) {
        std::fs::write(self.path(file), "").expect("written");
    }

    /// Lines of a file that the agent writes.
    fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(file)).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(str::to_owned).collect()
    }

    /// The numbers of the agents that were started, once there are so many.
    fn agents(&self, count: usize) -> Vec<String> {
        wait_until("an agent is at work", || self.lines("agents").len() >= count);
        self.lines("agents")
    }

    /// The store of the workspace, once it is there and has a run.
    fn store(&self) -> Store {
        let states = self.0.join("state/planwright");
        let mut found = None;
        wait_until("a run is recorded", || {
            let mut folders = std::fs::read_dir(&states).into_iter().flatten().flatten();
            let folder = folders.find(|entry| entry.path().join("state.db").exists());
            let store = folder.and_then(|folder| Store::open_folder(&folder.path()).ok());
            found = store.filter(|store| store.runs().is_ok_and(|runs| !runs.is_empty()));
            found.is_some()
        });
        found.expect("it was found")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left in the temporary folder harms nobody.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// The events in short: `attempt.finished 1 lost`.
fn facts(store: &Store) -> Vec<String> {
    let events = store.events(RunId::new(1), 0).expect("events");
    let fact = |event: &Event| {
        let value = serde_json::to_value(event).expect("an event has a text");
        let end = value["end"].as_str().map(str::to_owned);
        let end = end.or_else(|| value["end"].as_object().and_then(|end| end.keys().next().cloned()));
        let attempt = event.attempt().map(|attempt| attempt.to_string());
        let words = [Some(event.name().to_owned()), attempt, end];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    events.iter().map(|recorded| fact(&recorded.event)).collect()
}

fn lease(store: &Store) -> Option<WorkLease> {
    store.queue().expect("the queue").into_iter().next().and_then(|queued| queued.lease)
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

/// The end of a run in which the first attempt was the only one.
const DONE_AT_ONCE: [&str; 6] = [
    "run.started",
    "attempt.started 1",
    "attempt.finished 1 exited",
    "contract.finished 1",
    "closing.started",
    "run.finished",
];

// M-18: two starts of one plan are one run, whoever comes second.
fn a_plan_that_runs_is_not_started_again() {
    let place = Place::new();
    place.start(AGAIN).end();
}

// P-01: the attempt waits on the queue until somebody takes it.
fn a_worker_makes_the_attempts() {
    let place = Place::new();
    let mut driver = place.start(DRIVE);
    let store = place.store();
    wait_until("the attempt is queued", || !store.queue().expect("the queue").is_empty());
    assert_eq!((lease(&store), place.lines("agents")), (None, Vec::new()), "nobody has taken it");
    let _worker = place.start(WORK);
    place.agents(1);
    let taken = lease(&store).expect("a lease");
    assert!(taken.worker.starts_with("worker-"), "{taken:?}");
    assert_eq!(store.health(&taken, taken.heard_at_ms).expect("asked"), Health::Well);
    place.say("go");
    driver.end();
    assert_eq!(facts(&store), DONE_AT_ONCE);
    assert_eq!(place.lines("out"), ["once"]);
}

// P-15, A-24: the driver notices that the worker is dead, and only then is the attempt made again.
fn a_killed_worker_is_replaced() {
    let place = Place::new();
    let mut driver = place.start(DRIVE);
    let mut worker = place.start(WORK);
    let agents = place.agents(1);
    let store = place.store();
    worker.kill();
    wait_until("the attempt is lost", || facts(&store).contains(&"attempt.finished 1 lost".to_owned()));
    assert!(!is_alive(&agents[0]), "an attempt is lost only when nothing of it is alive");
    place.say("go");
    let _other = place.start(WORK);
    driver.end();
    let wanted = [
        "run.started",
        "attempt.started 1",
        "attempt.finished 1 lost",
        "attempt.started 2",
        "attempt.finished 2 exited",
        "contract.finished 2",
        "closing.started",
        "run.finished",
    ];
    assert_eq!(facts(&store), wanted);
    assert_eq!(place.lines("out"), ["once"]);
}

// P-15: paused is not dead, however long it is silent; the attempt stays with its worker.
fn a_stopped_worker_keeps_its_attempt() {
    let place = Place::new();
    let mut driver = place.start(DRIVE);
    let worker = place.start(WORK);
    place.agents(1);
    let store = place.store();
    worker.signal(Signal::SIGSTOP);
    let database = rusqlite::Connection::open(store.folder().join("state.db")).expect("the database");
    database.execute("UPDATE lease SET heard_at = 0", []).expect("it was silent for very long");
    let silent = lease(&store).expect("a lease");
    assert_eq!(store.health(&silent, LEASE_MS + 1).expect("asked"), Health::Silent);
    let _idle = place.start(WORK);
    // Long enough for a driver that would take it away, and for a worker that would take it: both look every second.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(facts(&store), ["run.started", "attempt.started 1"]);
    assert_eq!(lease(&store).map(|lease| lease.fence), Some(silent.fence));
    worker.signal(Signal::SIGCONT);
    place.say("go");
    driver.end();
    assert_eq!(facts(&store), DONE_AT_ONCE);
    assert_eq!(place.lines("out"), ["once"]);
}

// A-24: the driver dies, the worker goes on; the next driver takes what was delivered.
fn what_a_worker_did_is_not_done_again() {
    let place = Place::new();
    let mut driver = place.start(DRIVE);
    let mut worker = place.start(WORK);
    place.agents(1);
    let store = place.store();
    driver.kill();
    place.say("go");
    wait_until("the result is delivered", || lease(&store).is_some_and(|lease| lease.is_delivered));
    worker.kill();
    assert_eq!(facts(&store), ["run.started", "attempt.started 1"], "only a driver records");
    place.start(DRIVE).end();
    assert_eq!(facts(&store), DONE_AT_ONCE);
    assert_eq!((place.lines("out"), place.lines("agents").len()), (vec!["once".to_owned()], 1));
}

// A-24: a worker that leaves in order loses nothing, and its attempt counts for nothing.
fn a_worker_that_leaves_gives_its_attempt_back() {
    let place = Place::new();
    let mut driver = place.start(DRIVE);
    let mut worker = place.start(WORK);
    let agents = place.agents(1);
    let store = place.store();
    place.say("leave");
    worker.end();
    assert!(!is_alive(&agents[0]));
    wait_until("the driver knows", || facts(&store).contains(&"attempt.finished 1 stopped".to_owned()));
    std::fs::remove_file(place.path("leave")).expect("removed");
    place.say("go");
    let _other = place.start(WORK);
    driver.end();
    assert_eq!(
        facts(&store)[3..],
        [
            "attempt.started 2",
            "attempt.finished 2 exited",
            "contract.finished 2",
            "closing.started",
            "run.finished"
        ]
    );
    assert_eq!(place.lines("out"), ["once"]);
}

fn a_worker_ends_what_nobody_wants_any_more() {
    let place = Place::new();
    let mut driver = place.start(DRIVE);
    let _worker = place.start(WORK);
    let agents = place.agents(1);
    driver.kill();
    let (store, run) = (place.store(), RunId::new(1));
    let seen = store.events(run, 0).expect("read").len() as u64;
    let end = Event::Run(RunEvent::Finished { outcome: RunOutcome::Cancelled, why: "no more".to_owned() });
    store.append(run, seen, &[end], 1).expect("stalled: no process is running it, and it ends");
    wait_until("the agent is ended", || !is_alive(&agents[0]));
    assert_eq!(facts(&store).last().map(String::as_str), Some("run.finished"));
}

// Whoever waits for the report of a thread that panicked would wait for ever.
fn a_panic_asks_a_person() {
    let place = Place::new();
    let plan = PLAN.split_once("**contract:**").map_or(PLAN, |(before, _)| before);
    std::fs::write(place.path("plans/it.md"), format!("{plan}**contract:** manual\n")).expect("written");
    place.say("go");
    place.start(COMPETE).end();
}
