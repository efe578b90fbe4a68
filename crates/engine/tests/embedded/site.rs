//! The stage of the embedded host: a workspace with a plan, the store of this machine, agents and contracts in bash.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::{Contract, Last, Plan, Step};
use planwright_core::run::event::{AskAnswer, AskEvent, Event};
use planwright_core::run::schedule::HUMAN;
use planwright_core::run::state::StepStatus;
use planwright_core::syntax::source::Source;
use planwright_core::verify::trusted;
use planwright_engine::config::Config;
use planwright_engine::run::host::{DriveSetup, LocalHost};
use planwright_engine::run::remote_worker;
use planwright_engine::run::remote_worker::{WorkUntil, WorkerOptions};
use planwright_engine::run::{Run, Runs};
use planwright_engine::store::journal::{NewRun, RunId};
use planwright_engine::system::process::{Stop, TAG};
use planwright_engine::workspace::project::Project;

use crate::scratch::Scratch;
use crate::suite::{Codes, Stage};

/// The argument that makes this program a worker.
pub(crate) const WORKER: &str = "__worker";

/// How long something may take that is bound to happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// Enough files for a look at them to take longer than a look at all processes.
const FILES: usize = 5_000;

const PLAN: &str = "plan.md";

/// A run in a workspace of its own.
pub(crate) struct Site {
    /// The workspace, and beside it what agents say and what holds them.
    scratch: Scratch,
    runs: Runs,
    run: RunId,
    /// Told when the user of the present driver leaves.
    leave: RefCell<Stop>,
    is_employed: Cell<bool>,
    worker: RefCell<Option<Child>>,
    /// What dead drivers left behind.
    orphans: RefCell<Vec<Child>>,
}

/// Waits until something holds that is bound to.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn project(root: &Path) -> Project {
    Project { root: root.to_owned(), config: Config::default(), dialect: None }
}

/// Works for whoever drives a run in the workspace, until the standard input is closed.
pub(crate) fn work(root: &Path) -> ExitCode {
    let runs = Runs::open(&project(root)).expect("the store opens");
    let leave = Stop::new();
    let told = leave.clone();
    std::thread::spawn(move || {
        // Closed or broken: whoever employed this worker is gone.
        std::io::stdin().read_to_end(&mut Vec::new()).ok();
        told.request();
    });
    let shift = WorkerOptions { jobs: 2, until: WorkUntil::Told, leave };
    remote_worker::work(&runs, &shift, &mut |_| {}).expect("the worker works");
    ExitCode::SUCCESS
}

impl Site {
    #[expect(clippy::disallowed_methods, reason = "lays out a workspace")]
    pub(crate) fn new(plan: &Plan, codes: &Codes) -> Rc<Self> {
        let scratch = Scratch::new("site");
        let root = scratch.path().join("work");
        std::fs::create_dir(&root).expect("the folder is new");
        let text = text(plan, codes);
        std::fs::write(root.join(PLAN), &text).expect("a plan can be written");
        let driven =
            trusted(&Source::new(PLAN, text.as_str())).unwrap_or_else(|| panic!("the plan verifies: {text}"));
        assert_same_graph(plan, &driven);
        let runs = Runs::open(&project(&root)).expect("the store opens");
        let run = runs.store().create_run(&NewRun {
            root,
            plan: PathBuf::from(PLAN),
            name: PLAN.to_owned(),
            digest: Digest::of(&driven).to_string(),
            text,
            dialect: "native".to_owned(),
            created_at_ms: 0,
        });
        let run = run.expect("a run is recorded");
        Rc::new(Self {
            scratch,
            runs,
            run,
            leave: RefCell::default(),
            is_employed: Cell::new(false),
            worker: RefCell::new(None),
            orphans: RefCell::new(Vec::new()),
        })
    }

    fn work(&self) -> PathBuf {
        self.scratch.path().join("work")
    }

    fn loaded(&self) -> Run {
        self.runs.run(self.run).expect("the run is there")
    }

    /// How the tags of everything in this run begin.
    fn tag(&self) -> String {
        format!("{}/{}/", self.runs.store().key(), self.run.number())
    }

    /// The name of the attempt whose agent has this tag.
    fn agent(&self, tag: &str) -> Option<String> {
        Some(tag.strip_prefix(&self.tag())?.strip_suffix("/agent")?.to_owned())
    }

    /// From now on attempts are left to workers of other processes, of which there is none yet.
    pub(crate) fn leave_work_to_others(&self) {
        self.is_employed.set(true);
    }

    /// Makes the workspace one that takes a while to be looked at.
    #[expect(clippy::disallowed_methods, reason = "lays out a workspace")]
    pub(crate) fn fill(&self) {
        for number in 0..FILES {
            std::fs::write(self.work().join(format!("file-{number}")), "").expect("a file can be written");
        }
    }

    /// Waits until no thread of a host that is gone uses the store.
    pub(crate) fn until_idle(&self) {
        until("what a host had under way ends with it", || Arc::strong_count(self.runs.store()) == 1);
    }

    /// A driver that was killed together with its supervisors leaves this behind of each attempt: somebody with its tag.
    fn leave_orphans(&self) {
        for step in self.loaded().state.steps {
            let StepStatus::Running { attempt } = step.status else { continue };
            let mut sleep = Command::new("sleep");
            sleep.arg("999").env(TAG, format!("{}{}/{attempt}/agent", self.tag(), step.id));
            self.orphans.borrow_mut().push(sleep.spawn().expect("`sleep` starts"));
        }
    }

    /// A person does by hand what an agent would have.
    #[expect(clippy::disallowed_methods, reason = "plays a person in a workspace")]
    fn do_by_hand(&self, ask: &str) {
        let run = self.loaded();
        let place = run.state.asks[ask].step.expect("a step is asked about");
        let step = &run.state.steps[place];
        let tries = (step.history.failures() + 1).to_string();
        std::fs::write(self.work().join(&step.id), tries).expect("a file can be written");
    }

    fn holder(&self, step: &str) -> PathBuf {
        self.scratch.path().join(format!("hold-{step}"))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            drop(worker.stdin.take());
            worker.wait().expect("the worker ends");
        }
        for mut orphan in self.orphans.take() {
            // Mostly it was found and killed.
            orphan.kill().ok();
            orphan.wait().expect("`sleep` ends");
        }
        // Whatever happened to the run, the tables that lists are made of followed.
        if !std::thread::panicking() {
            let differences = self.runs.store().check_projection().expect("the tables can be read");
            assert_eq!(differences, [] as [&str; 0]);
        }
    }
}

impl Stage for Rc<Site> {
    type Host = LocalHost;

    fn host(&self) -> LocalHost {
        if !self.is_employed.get() {
            self.leave_orphans();
        }
        let leave = Stop::new();
        self.leave.replace(leave.clone());
        let workers = if self.is_employed.get() { 0 } else { 2 };
        let hands = DriveSetup { workers, leave, tournament: None };
        self.runs.host(&self.loaded(), &self.work().join(PLAN), hands).expect("nobody drives the run")
    }

    fn record(&self, event: &Event) {
        if let Event::Ask { ask, event: AskEvent::Answered { answer: AskAnswer::TakeOver, .. } } = event {
            self.do_by_hand(ask);
        }
        self.runs.record(&self.loaded(), event).expect("it fits");
    }

    fn journal(&self) -> Vec<Event> {
        let recorded = self.runs.store().events(self.run, 0).expect("the journal can be read");
        recorded.into_iter().map(|recorded| recorded.event).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "lays a file for agents to find")]
    fn hold(&self, step: &str) {
        std::fs::write(self.holder(step), "").expect("a file can be written");
    }

    fn release(&self, step: &str) {
        std::fs::remove_file(self.holder(step)).expect("the step was held");
    }

    fn employ(&self) {
        self.leave_work_to_others();
        let mut worker = Command::new(std::env::current_exe().expect("this program has a path"));
        worker.arg(WORKER).arg(self.work()).stdin(Stdio::piped());
        self.worker.replace(Some(worker.spawn().expect("the worker starts")));
    }

    fn leave(&self) {
        self.leave.borrow().request();
    }

    fn begun(&self) -> Vec<String> {
        let tags = std::fs::read_to_string(self.scratch.path().join("begun")).unwrap_or_default();
        tags.lines().filter_map(|tag| self.agent(tag)).collect()
    }

    fn until_begun(&self, attempt: &str) {
        until("the agent begins", || self.begun().iter().any(|begun| begun == attempt));
    }

    fn alive(&self) -> BTreeSet<String> {
        let processes = std::fs::read_dir("/proc").expect("/proc is there").flatten();
        // A process that is gone meanwhile, or dead, or somebody else's, shows nothing.
        let environments = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
        let tag = |environment: Vec<u8>| {
            let text = String::from_utf8_lossy(&environment).into_owned();
            text.split('\0').find_map(|entry| self.agent(entry.strip_prefix(TAG)?.strip_prefix('=')?))
        };
        environments.filter_map(tag).collect()
    }
}

/// What the suite decides about must be what the plan in the workspace says.
fn assert_same_graph(suite: &Plan, driven: &Plan) {
    let graph = |plan: &Plan| -> Vec<_> {
        let parts = |step: &Step| (step.id.clone(), step.needs.clone(), step.touches.clone(), step.on_fail);
        plan.steps.iter().map(parts).collect()
    };
    assert_eq!(graph(suite), graph(driven));
}

/// The plan of the suite, with scripts for tasks and contracts.
fn text(plan: &Plan, codes: &Codes) -> String {
    let mut text = "---\ntype: plan\nstatus: approved\nowner: harness\n---\n\n# Site\n".to_owned();
    for step in &plan.steps {
        let codes = codes.get(&step.id).map_or(&[0][..], Vec::as_slice);
        text.push_str(&step_text(plan, step, codes));
    }
    text
}

/// A step whose agent says that it began, waits as long as it is held, and counts the tries that were judged: what the
/// last contract said is all that it knows. The contract exits with the code for this try.
fn step_text(plan: &Plan, step: &Step, codes: &[i32]) -> String {
    assert!(
        step.target != HUMAN && step.contract != Contract::Manual,
        "the suite has no use for people here"
    );
    let Step { id, number, .. } = step;
    let needs: Vec<&str> = step.needs.iter().map(|&before| plan.steps[before].id.as_str()).collect();
    let needs = if needs.is_empty() { "none".to_owned() } else { needs.join(", ") };
    let touches = step
        .touches
        .as_ref()
        .map_or_else(String::new, |touches| format!("**touches:** {}\n", touches.join(", ")));
    let then = match step.on_fail.then {
        Last::Escalate => "escalate",
        Last::Abort => "abort",
    };
    let retries = step.on_fail.retries;
    let codes: Vec<String> = codes.iter().map(i32::to_string).collect();
    let codes = codes.join(" ");
    format!(
        r#"
### {number}. Step {id}

**id:** {id}
**target:** shell
**needs:** {needs}
{touches}**task:**
```bash
echo "$PLANWRIGHT_TAG" >> ../begun
while [ -e ../hold-{id} ]; do sleep 0.01; done
tries=$(sed -n 's/^tries //p' "$PLANWRIGHT_FEEDBACK" | tail -n 1)
echo $((${{tries:-0}} + 1)) > {id}
```
**contract:**
```bash
tries=$(cat {id})
echo "tries $tries"
code=0
for next in {codes}; do
    code=$next
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || break
done
exit "$code"
```
**on_fail:** retry({retries}), then {then}
"#
    )
}
