//! `run`: runs a plan step by step; only contracts decide what is done. Starts the engine or follows the process that
//! already runs the plan, and shows progress.

mod approve;
mod block;
mod board;
mod difference;
mod dry_run;
mod escalation;
mod plain;
mod report;
pub(crate) mod retry;
mod watch;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use planwright_engine::api::plan::find_step;
use planwright_engine::api::start::{Blocker, Missing, Retry, Start, StartOptions, StepSelection, goes_on};
use planwright_engine::approval::Approvals;
use planwright_engine::core::plan::digest::Digest;
use planwright_engine::core::plan::lifecycle::PlanState;
use planwright_engine::core::plan::verified::{Contract, Plan, Step};
use planwright_engine::core::workspace::active_plan::ResolvedBy;
use planwright_engine::git::worktree;
use planwright_engine::git::worktree::{AddOptions, ScriptRun as SetUp, Setup, Worktrees};
use planwright_engine::portfolio::board as coordination;
use planwright_engine::portfolio::board::Blocker as Hindrance;
use planwright_engine::run as runs;
use planwright_engine::run::baseline;
use planwright_engine::run::{Isolation, Run, Runs};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::system::process;
use planwright_engine::{Project, Verified};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::target::{NamedPlan, Opened, open, open_file};
use crate::output::wording::ahead::Simulated;
use crate::output::{Exit, Failure, NextCommand, Out, Response, clean_line};
use planwright_engine::api::FindingView;
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

/// Polling interval while waiting.
const PATIENCE: Duration = Duration::from_millis(200);
/// The most agents of a tournament: each has a tree of its own.
const ENTRANTS_MAX: u32 = 16;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to run [default: the plan this worktree uses]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    /// Run step N only, same as --only N
    #[arg(value_name = "task N", num_args = 0..=2, conflicts_with_all = ["only", "until"])]
    pub(crate) task: Vec<String>,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Approve this digest (8 digits or more); required without a terminal
    #[arg(long, value_name = "DIGEST")]
    rev: Option<String>,
    /// Run a step and everything it needs, then stop
    #[arg(long, value_name = "STEP", conflicts_with = "only")]
    until: Option<String>,
    /// Run one step; the steps it needs must be done
    #[arg(long, value_name = "STEP")]
    pub(crate) only: Option<String>,
    /// Run up to N steps in parallel [default: run.jobs, 1]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Attempts in this process; 0 leaves all to `planwright worker` [default: same as --jobs]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Let N agents compete on a step
    #[arg(long, num_args = 2, value_names = ["N", "STEP"])]
    tournament: Option<Vec<String>>,
    /// Run in the plan's worktree; create it if needed
    #[arg(long)]
    worktree: bool,
    /// Wait for plans this one depends on or overlaps with
    #[arg(long)]
    wait: bool,
    /// Print one line per event; redraw nothing
    #[arg(long)]
    plain: bool,
    /// Show steps, agents, files and forecast; start nothing
    #[arg(long)]
    dry_run: bool,
    /// Run a failed plan again under the same approval
    #[arg(long, conflicts_with_all = ["task", "dry_run"])]
    pub(crate) retry: bool,
    /// By what the plan was chosen: a person is asked only about one that was named
    #[arg(skip = ResolvedBy::Argument)]
    pub(crate) by: ResolvedBy,
}

impl Args {
    /// A whole plan in its current state.
    pub(crate) fn of(plan: &str) -> Self {
        Self {
            plan: plan.to_owned(),
            task: Vec::new(),
            named: NamedPlan::default(),
            rev: None,
            until: None,
            only: None,
            jobs: None,
            workers: None,
            tournament: None,
            worktree: false,
            wait: false,
            plain: false,
            dry_run: false,
            retry: false,
            by: ResolvedBy::Argument,
        }
    }

    /// The same, with the digest that was typed.
    pub(crate) fn approving(self, rev: Option<String>) -> Self {
        Self { rev, ..self }
    }

    /// Whether nothing is started or recorded.
    pub(crate) const fn is_dry(&self) -> bool {
        self.dry_run
    }

    /// The same, but nothing is started.
    pub(crate) fn dry(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// The typed command, to be extended in a hint.
    fn words(&self) -> Vec<String> {
        let number =
            |flag: &str, count: Option<usize>| count.map(|count| vec![flag.to_owned(), count.to_string()]);
        let text = |flag: &str, text: Option<&String>| text.map(|text| vec![flag.to_owned(), text.clone()]);
        let flag = |flag: &str, is_set: Option<()>| is_set.map(|()| vec![flag.to_owned()]);
        let mut words = vec!["planwright".to_owned(), "run".to_owned(), self.plan.clone()];
        let more = [
            text("--until", self.until.as_ref()),
            text("--only", self.only.as_ref()),
            number("--jobs", self.jobs),
            number("--workers", self.workers),
            self.tournament.clone().map(|words| [vec!["--tournament".to_owned()], words].concat()),
            flag("--worktree", self.worktree.then_some(())),
            flag("--wait", self.wait.then_some(())),
            flag("--retry", self.retry.then_some(())),
        ];
        words.extend(more.into_iter().flatten().flatten());
        words
    }
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ran {
    /// The plan.
    pub(crate) plan: String,
    /// The digest that was approved.
    pub(crate) digest: String,
    /// The number of the run; `None` where nothing was started.
    pub(crate) run: Option<i64>,
    /// `done`, `failed`, `cancelled`, `waiting`, `reached`, `stopped`, `edited`, `left` or `dry-run`.
    pub(crate) state: String,
    /// Every step: its id and its status.
    pub(crate) steps: Vec<StepData>,
    /// The agents of the steps.
    pub(crate) agents: Vec<AgentData>,
    /// Ids of the steps that are done.
    pub(crate) succeeded: Vec<String>,
    /// Ids of the steps that were tried and are not done.
    pub(crate) failed: Vec<String>,
    /// Ids of the steps that nothing was tried for yet.
    pub(crate) left: Vec<String>,
    /// What reviewers found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<FindingView>,
    /// Waves, agents, reads, tools and forecast, with `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) simulation: Option<Simulated>,
}

/// The state of a step.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepData {
    /// The id.
    pub(crate) id: String,
    /// Its status.
    pub(crate) status: String,
    /// How many attempts were made.
    pub(crate) attempts: u32,
}

/// Who does the steps for one target.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentData {
    /// The target of the steps.
    pub(crate) target: String,
    /// The command line; `None` where none is known.
    pub(crate) command: Option<Vec<String>>,
}

/// What is to be run.
struct Subject<'a> {
    args: &'a Args,
    path: &'a Path,
    project: &'a Project,
    name: String,
    verified: &'a Verified,
    plan: &'a Plan,
    digest: Digest,
    selection: StepSelection,
    /// Steps that may start; `None`: all.
    steps: Option<BTreeSet<usize>>,
    /// A step that several agents do against each other, by its id, and how many.
    tournament: Option<(String, u32)>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let opened = open(&args.plan)?;
    let opened = if args.worktree { in_its_tree(args, opened, out)? } else { opened };
    run_opened(args, opened, out)
}

/// The same plan in its own worktree, which is made where there is none.
fn in_its_tree(args: &Args, opened: Opened, out: &mut Out<'_>) -> Result<Opened, Failure> {
    let Opened { path, project, source, step } = opened;
    if args.wait {
        // Before its worktree is created: it starts with what the others have merged.
        let (runs, draft) = (Runs::open(&project)?, source.draft());
        let plan = runs.relative(&path);
        let in_the_way = || {
            let hindrance = coordination::hindrance(&project, (&plan, &draft))?;
            Ok(hindrance.map(|hindrance| (hindrance.plan, hindrance.why)))
        };
        wait(&plan_file::name(&path), in_the_way, out)?;
    }
    let trees = Worktrees::of(&project)?;
    let after = coordination::unmerged(&trees, &path);
    let added =
        trees.add(&AddOptions { plan: &path, name: None, base: None, after: &after, setup: Setup::Run })?;
    out.warn_all(&added.complaints);
    let setup = added.furnished.as_ref().map(|furnished| &furnished.setup);
    if !matches!(setup, None | Some(SetUp::Nothing | SetUp::Well)) {
        let message = format!("the worktree {} is not set up", added.place.display());
        return Err(Failure::new(Exit::Person, message)
            .hint("nothing was started; run `worktree add` for details")
            .next(NextCommand::new(["planwright", "worktree", "add", shown(&path).as_str()])));
    }
    out.talk(&format!("worktree  {}", clean_line(&added.place.to_string_lossy())));
    let plan = added.place.join(added.tree.plan.clone().unwrap_or_default());
    let here = Opened { path, project, source, step };
    tell_apart(args, here, &plan, out)?;
    open_file(plan)
}

/// A worktree runs its own copy of the plan. Warns if the copy differs from the plan here, and fails if `--rev` names the
/// plan here.
fn tell_apart(args: &Args, here: Opened, there: &Path, out: &mut Out<'_>) -> Result<(), Failure> {
    let digest = |opened: Opened| -> Result<Option<String>, Failure> {
        let verified = baseline::verify_text(&opened.project, FileText::Plan(opened.source))?;
        Ok(verified.plan.as_ref().map(|plan| Digest::of(plan).to_string()))
    };
    let path = here.path.clone();
    let (ours, theirs) = (digest(here)?, digest(open_file(there.to_owned())?)?);
    if ours == theirs {
        return Ok(());
    }
    let message = format!("the worktree's copy of {} is different", shown(&path));
    let is_meant = |rev: &String| ours.is_some_and(|ours| ours.starts_with(rev.as_str()));
    if args.rev.as_ref().is_some_and(is_meant) {
        let words = ["cp", "-rT", &shown(&path), &there.to_string_lossy()];
        return Err(Failure::new(Exit::Moved, message)
            .hint("nothing was started; planwright runs the copy: update it first")
            .next(NextCommand::new(words)));
    }
    out.warn(&clean_line(&format!("{message}; planwright runs the copy: {}", there.display())));
    Ok(())
}

/// Runs an opened plan.
pub(crate) fn run_opened(args: &Args, opened: Opened, out: &mut Out<'_>) -> Result<Response, Failure> {
    let Opened { path, project, source, .. } = opened;
    let verified = baseline::verify_text(&project, FileText::Plan(source))?;
    let name = plan_file::name(&path);
    let Some(plan) = &verified.plan else {
        return Err(Failure::new(Exit::No, format!("cannot run {name}: it has errors"))
            .next(NextCommand::new(["planwright", "verify", args.plan.as_str()])));
    };
    if args.jobs == Some(0) {
        return Err(Failure::new(Exit::Usage, "--jobs must be at least 1")
            .hint("--workers 0 leaves attempts to other processes")
            .next(NextCommand::new(["planwright", "help", "run"])));
    }
    let selection = wanted(args, &verified)?;
    let steps = selection.places(plan);
    let tournament = tournament(args, &verified)?;
    let digest = Digest::of(plan);
    let verified = &verified;
    let subject = Subject {
        args,
        path: &path,
        project: &project,
        name,
        verified,
        plan,
        digest,
        selection,
        steps,
        tournament,
    };
    approve::print_plan(&subject, out);
    if args.dry_run {
        return dry_run::run(&subject, out);
    }
    let runs = Runs::open(&project)?;
    if args.wait {
        wait(&subject.name, || in_the_way(&subject, &runs), out)?;
    } else if let Some(other) = hindrance(&subject, &runs)? {
        out.warn(&format!(
            "{} {}; pass --wait to wait for it",
            clean_line(&other.plan),
            clean_line(&other.why)
        ));
    }
    let is_new = runs.latest(&path)?.is_none_or(|old| !goes_on(&old, &subject.digest.to_string()));
    if is_new && worktree::plan_of(&project.root)?.is_some() && !is_pinned(&project, &path)? {
        // What it waited for is on a branch, and not in its tree.
        let trees = Worktrees::of(&project)?;
        out.warn_all(&trees.catch_up(&path, &coordination::unmerged(&trees, &path))?);
    }
    carry_out(&subject, &runs, out)
}

/// Waits until nothing blocks the plan; asks and starts nothing before.
fn wait(
    name: &str,
    in_the_way: impl Fn() -> Result<Option<(String, String)>, Failure>,
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    let mut told = None;
    while let Some((plan, why)) = in_the_way()? {
        if told.as_ref() != Some(&plan) {
            let line = format!("waiting  {name} is blocked by {plan}, which {why}");
            out.talk(&clean_line(&line));
            told = Some(plan);
        }
        std::thread::sleep(PATIENCE);
    }
    Ok(())
}

/// Whether the plan is proposed or approved on a base commit, which must then stay the same.
fn is_pinned(project: &Project, path: &Path) -> Result<bool, Failure> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok(false) };
    Ok(matches!(decisions.case(path)?.state(), PlanState::Proposed | PlanState::Approved))
}

/// The plan that is in the way of this one, and why: it is at work in this directory, or is to be done first, or is at work on
/// the same files.
fn in_the_way(subject: &Subject<'_>, runs: &Runs) -> Result<Option<(String, String)>, Failure> {
    if let Some((plan, holder)) = runs.occupant()?.filter(|(plan, _)| *plan != subject.name) {
        return Ok(Some((plan, format!("is running in this directory ({holder})"))));
    }
    Ok(hindrance(subject, runs)?.map(|hindrance| (hindrance.plan, hindrance.why)))
}

/// What blocks the plan, according to its dependencies and files.
fn hindrance(subject: &Subject<'_>, runs: &Runs) -> Result<Option<Hindrance>, Failure> {
    let Some(draft) = &subject.verified.draft else { return Ok(None) };
    Ok(coordination::hindrance(subject.project, (&runs.relative(subject.path), draft))?)
}

fn carry_out(subject: &Subject<'_>, runs: &Runs, out: &mut Out<'_>) -> Result<Response, Failure> {
    // The environment of this process decides which `bash` and other programs judge the work.
    if process::job_above().is_some() {
        Caller::of_process().may(Right::ApproveOrRun)?;
    }
    let (run, driving, seen) = match start(subject, runs, out)? {
        Start::Begun(run, driving, _) => {
            out.talk("isolation  none: agents run as you and can reach planwright's records\n");
            (run, driving, 0)
        }
        Start::Resumed(run, driving) => {
            let seen = last(&run);
            (run, driving, seen)
        }
        Start::Following(run, holder) => return follow(subject, runs, (*run, holder), out),
        Start::NeedsApproval(_) | Start::NeedsRetry(_) => {
            return Err(Failure::new(Exit::Moved, format!("{} changed in the meantime", subject.name))
                .hint("nothing was started")
                .next(NextCommand::new(subject.args.words())));
        }
        Start::Blocked(blocker) => return Err(blocked(subject, blocker)),
    };
    if driving.drive.workers == 0 {
        out.talk("workers  none here: attempts wait for `planwright worker`");
    }
    if driving.drive.spread == Isolation::Apart && !subject.args.worktree {
        out.warn_all(&runs.lacking()?);
    }
    let watched = watch::drive(subject, runs, (&run, seen), driving, out)?;
    report::report(subject, runs, &watched, out)
}

/// Starts the run; where a person has to say something first, they are asked, and it is tried once more.
fn start(subject: &Subject<'_>, runs: &Runs, out: &mut Out<'_>) -> Result<Start, Failure> {
    let mut options = StartOptions {
        steps: subject.selection,
        jobs: subject.args.jobs,
        workers: subject.args.workers,
        tournament: subject.tournament.clone(),
        retry: if subject.args.retry { Retry::Yes } else { Retry::No },
        expected: subject.args.rev.as_deref(),
        ..StartOptions::of(subject.path, subject.verified, who())
    };
    match runs.start(&options)? {
        Start::NeedsApproval(Missing::Agents { run, now }) => {
            approve::renew(subject, runs, (&run, &now), out)?;
        }
        Start::NeedsApproval(Missing::Plan { lapsed, trip, live }) => {
            approve::approve(subject, runs, (&lapsed, trip.as_ref(), live.as_deref()), out)?;
        }
        Start::NeedsRetry(_) => approve::approve(subject, runs, (&[], None, None), out)?,
        start @ (Start::Begun(..) | Start::Resumed(..) | Start::Following(..) | Start::Blocked(_)) => {
            approve::say_begun(subject, &start, out);
            return Ok(start);
        }
    }
    // What was asked about was said just now; the digest that was typed may be that of the command lines.
    options.retry = Retry::Yes;
    options.expected = None;
    Ok(runs.start(&options)?)
}

/// The failure for a blocker.
fn blocked(subject: &Subject<'_>, blocker: Blocker) -> Failure {
    match blocker {
        Blocker::Needs { step, open } => {
            let step = &subject.plan.steps[step];
            let open: Vec<String> =
                open.into_iter().map(|before| named(&subject.plan.steps[before])).collect();
            let message = format!("step {} is blocked by {}", named(step), open.join(", "));
            Failure::new(Exit::No, message).hint("nothing was started").next(NextCommand::new([
                "planwright",
                "run",
                subject.args.plan.as_str(),
                "--until",
                step.id.as_str(),
            ]))
        }
        Blocker::OtherText { run, holder } => runs::Error::Driven { run, holder }.into(),
        Blocker::Occupied { plan, holder } => runs::Error::Occupied { plan, holder }.into(),
        Blocker::OtherDigest { .. } => {
            let rev = subject.args.rev.as_deref().unwrap_or_default();
            let message = format!("{} is {}, not {rev}", subject.name, subject.digest.short());
            Failure::new(Exit::Moved, message)
                .hint("review it; nothing was started")
                .next(NextCommand::new(subject.args.words()))
        }
    }
}

/// Follows a run of another process.
fn follow(
    subject: &Subject<'_>,
    runs: &Runs,
    (run, holder): (Run, String),
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let args = subject.args;
    if subject.steps.is_some() || args.jobs.is_some() || args.workers.is_some() {
        out.warn("step and job options are ignored: this run is owned by another process");
    }
    let watched = watch::follow(subject, runs, (&run, last(&run), &holder), out)?;
    report::report(subject, runs, &watched, out)
}

/// The last event of a run that was seen.
fn last(run: &Run) -> u64 {
    run.events.last().map_or(0, |last| last.seq)
}

/// The steps that the options allow to start.
fn wanted(args: &Args, verified: &Verified) -> Result<StepSelection, Failure> {
    let Some(draft) = &verified.draft else { return Ok(StepSelection::All) };
    let place = |step: &String| find_step(draft, step, &args.plan);
    match (&args.only, &args.until) {
        (Some(step), _) => Ok(StepSelection::Only(place(step)?)),
        (None, Some(step)) => Ok(StepSelection::Until(place(step)?)),
        (None, None) => Ok(StepSelection::All),
    }
}

/// The step that several agents shall do, and how many.
fn tournament(args: &Args, verified: &Verified) -> Result<Option<(String, u32)>, Failure> {
    let (Some([count, step]), Some(draft), Some(plan)) =
        (args.tournament.as_deref(), &verified.draft, &verified.plan)
    else {
        return Ok(None);
    };
    let place = find_step(draft, step, &args.plan)?;
    let count = count.parse().ok().filter(|count| (2..=ENTRANTS_MAX).contains(count));
    let count = count.ok_or_else(|| {
        Failure::new(Exit::Usage, format!("a tournament needs 2 to {ENTRANTS_MAX} agents"))
            .next(NextCommand::new(["planwright", "help", "run"]))
    })?;
    let step = &plan.steps[place];
    if step.contract == Contract::Manual {
        // Before anything is asked or recorded.
        return Err(runs::Error::NoJudge { step: step.id.clone() }.into());
    }
    Ok(Some((step.id.clone(), count)))
}

/// A step as people name it: its number and its id.
fn named(step: &Step) -> String {
    format!("{} {}", step.number, step.id)
}

/// Money, in millionths of a dollar, as people write it.
fn dollars(micro_dollars: u64) -> String {
    let cents = micro_dollars.div_ceil(10_000);
    if cents == 0 { "$0".to_owned() } else { format!("${}.{:02}", cents / 100, cents % 100) }
}

/// A duration, in milliseconds: tenths of a second, or minutes where it was long.
fn seconds(milliseconds: u64) -> String {
    match milliseconds / 1000 {
        seconds @ 0..120 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        seconds => format!("{} min", seconds / 60),
    }
}
