//! `run`: runs a plan step by step; only contracts decide what is done. Starts the engine or follows the process that
//! already runs the plan, and shows progress.

mod approve;
mod block;
mod difference;
mod dry_run;
mod escalation;
mod plain;
mod report;
mod watch;

use std::collections::BTreeSet;
use std::time::Duration;

use planwright_engine::api::{
    Blocker, Missing, Plan, PlanBlocker, ResolvedBy, Retry, RunnablePlan, Start, StartOptions, Step,
    StepSelection,
};

use crate::interaction::confirm::who;
use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::{Exit, Failure, NextCommand, Out, Response, clean_line};

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

/// What to run.
struct Subject<'a> {
    args: &'a Args,
    name: String,
    runnable: RunnablePlan<'a>,
    selection: StepSelection,
    /// Steps that may start; `None`: all.
    steps: Option<BTreeSet<usize>>,
    /// A step that several agents do against each other, by its id, and how many.
    tournament: Option<(String, u32)>,
}

impl Subject<'_> {
    /// These steps, as people name them.
    fn named(&self, places: &[usize]) -> String {
        let names: Vec<String> =
            places.iter().map(|&place| named(&self.runnable.plan.steps[place])).collect();
        names.join(", ")
    }
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(&args.plan)?;
    let plan = if args.worktree { in_its_tree(args, &plan, out)? } else { plan };
    run_plan(args, &plan, out)
}

/// Refuses to retry a plan that has not failed.
pub(crate) fn check_retry(plan: &str) -> Result<(), Failure> {
    Ok(workspace()?.plan(plan)?.may_retry()?)
}

/// The same plan in its own worktree, which is created if needed.
fn in_its_tree(args: &Args, plan: &Plan, out: &mut Out<'_>) -> Result<Plan, Failure> {
    if args.wait {
        // Before its worktree is created: it starts with what the others have merged.
        wait(&plan.name(), || Ok(plan.blocker()?), out)?;
    }
    let added = plan.in_worktree()?;
    out.warn_all(&added.complaints);
    let Some(copy) = added.plan else {
        let message = format!("the worktree {} is not set up", added.place.display());
        return Err(Failure::new(Exit::Person, message)
            .hint("nothing was started; run `worktree add` for details")
            .next(NextCommand::new(["planwright", "worktree", "add", plan.shown().as_str()])));
    };
    out.talk(&format!("worktree  {}", clean_line(&added.place.to_string_lossy())));
    tell_apart(args, plan, &copy, out)?;
    Ok(copy)
}

/// A worktree runs its own copy of the plan. Warns if the copy differs from the plan here, and fails if `--rev` names the
/// plan here.
fn tell_apart(args: &Args, here: &Plan, there: &Plan, out: &mut Out<'_>) -> Result<(), Failure> {
    let [ours, theirs] = [here.runnable()?, there.runnable()?].map(|plan| plan.map(|plan| plan.digest));
    if ours == theirs {
        return Ok(());
    }
    let message = format!("the worktree's copy of {} is different", here.shown());
    let is_meant = |rev: &String| ours.is_some_and(|ours| ours.to_string().starts_with(rev.as_str()));
    if args.rev.as_ref().is_some_and(is_meant) {
        let words = ["cp", "-rT", &here.shown(), &there.path().to_string_lossy()];
        return Err(Failure::new(Exit::Moved, message)
            .hint("nothing was started; planwright runs the copy: update it first")
            .next(NextCommand::new(words)));
    }
    out.warn(&clean_line(&format!("{message}; planwright runs the copy: {}", there.path().display())));
    Ok(())
}

/// Runs a plan that was read.
pub(crate) fn run_plan(args: &Args, plan: &Plan, out: &mut Out<'_>) -> Result<Response, Failure> {
    let name = plan.name();
    let Some(runnable) = plan.runnable()? else {
        return Err(Failure::new(Exit::No, format!("cannot run {name}: it has errors"))
            .next(NextCommand::new(["planwright", "verify", args.plan.as_str()])));
    };
    if args.jobs == Some(0) {
        return Err(Failure::new(Exit::Usage, "--jobs must be at least 1")
            .hint("--workers 0 leaves attempts to other processes")
            .next(NextCommand::new(["planwright", "help", "run"])));
    }
    let selection = wanted(args, plan)?;
    let steps = selection.places(runnable.plan);
    let tournament = tournament(args, &runnable)?;
    let subject = Subject { args, name, runnable, selection, steps, tournament };
    approve::print_plan(&subject, out);
    if args.dry_run {
        return dry_run::run(&subject, out);
    }
    if args.wait {
        wait(&subject.name, || Ok(plan.blocker_here()?), out)?;
    } else if let Some(other) = plan.blocker()? {
        out.warn(&format!(
            "{} {}; pass --wait to wait for it",
            clean_line(&other.plan),
            clean_line(&other.why)
        ));
    }
    out.warn_all(&subject.runnable.catch_up()?);
    carry_out(&subject, out)
}

/// Waits until nothing blocks the plan; asks and starts nothing before.
fn wait(
    name: &str,
    in_the_way: impl Fn() -> Result<Option<PlanBlocker>, Failure>,
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    let mut told = None;
    while let Some(PlanBlocker { plan, why }) = in_the_way()? {
        if told.as_ref() != Some(&plan) {
            let line = format!("waiting  {name} is blocked by {plan}, which {why}");
            out.talk(&clean_line(&line));
            told = Some(plan);
        }
        std::thread::sleep(PATIENCE);
    }
    Ok(())
}

fn carry_out(subject: &Subject<'_>, out: &mut Out<'_>) -> Result<Response, Failure> {
    let (run, driving, seen) = match start(subject, out)? {
        Start::Begun(run, driving, _) => {
            out.talk("isolation  none: agents run as you and can reach planwright's records\n");
            (run, driving, 0)
        }
        Start::Resumed(run, driving) => {
            let seen = run.last_seq();
            (run, driving, seen)
        }
        Start::Following(run, holder) => {
            let args = subject.args;
            if subject.steps.is_some() || args.jobs.is_some() || args.workers.is_some() {
                out.warn("step and job options are ignored: this run is owned by another process");
            }
            let watched = watch::follow(subject, &run, &holder, out)?;
            return report::report(subject, &run, &watched, out);
        }
        Start::Proven(proven) | Start::Lapsed(proven) => {
            return report::report_proven(subject, &proven, out);
        }
        Start::NeedsApproval(_) | Start::NeedsRetry => {
            return Err(Failure::new(Exit::Moved, format!("{} changed in the meantime", subject.name))
                .hint("nothing was started")
                .next(NextCommand::new(subject.args.words())));
        }
        Start::Blocked(blocker) => return Err(blocked(subject, blocker)),
    };
    if driving.drive.workers == 0 {
        out.talk("workers  none here: attempts wait for `planwright worker`");
    }
    if !subject.args.worktree {
        out.warn_all(&driving.lacking(&run)?);
    }
    let watched = watch::drive(subject, (&run, seen), driving, out)?;
    report::report(subject, &run, &watched, out)
}

/// Starts the run. If a person must decide something first, asks them and tries once more.
fn start(subject: &Subject<'_>, out: &mut Out<'_>) -> Result<Start, Failure> {
    let mut options = StartOptions {
        steps: subject.selection,
        jobs: subject.args.jobs,
        workers: subject.args.workers,
        tournament: subject.tournament.clone(),
        retry: if subject.args.retry { Retry::Yes } else { Retry::No },
        expected: subject.args.rev.as_deref(),
        ..StartOptions::by(who())
    };
    match subject.runnable.start(&options)? {
        Start::NeedsApproval(missing @ Missing::Agents { .. }) => approve::renew(subject, &missing, out)?,
        Start::NeedsApproval(missing @ Missing::Plan { .. }) => {
            approve::approve(subject, Some(&missing), out)?;
        }
        Start::NeedsRetry => approve::approve(subject, None, out)?,
        start @ (Start::Begun(..)
        | Start::Resumed(..)
        | Start::Proven(_)
        | Start::Lapsed(_)
        | Start::Following(..)
        | Start::Blocked(_)) => {
            approve::say_begun(subject, &start, out);
            return Ok(start);
        }
    }
    // It was just answered; the typed digest may be that of the command lines.
    options.retry = Retry::Yes;
    options.expected = None;
    Ok(subject.runnable.start(&options)?)
}

/// The failure for a blocker.
fn blocked(subject: &Subject<'_>, blocker: Blocker) -> Failure {
    match blocker {
        Blocker::Needs { step, open } => {
            let message = format!("step {} is blocked by {}", subject.named(&[step]), subject.named(&open));
            Failure::new(Exit::No, message).hint("nothing was started").next(NextCommand::new([
                "planwright",
                "run",
                subject.args.plan.as_str(),
                "--until",
                subject.runnable.plan.steps[step].id.as_str(),
            ]))
        }
        Blocker::Elsewhere(error) => error.into(),
        Blocker::OtherDigest => {
            let rev = subject.args.rev.as_deref().unwrap_or_default();
            let message = format!("{} is {}, not {rev}", subject.name, subject.runnable.digest.short());
            Failure::new(Exit::Moved, message)
                .hint("review it; nothing was started")
                .next(NextCommand::new(subject.args.words()))
        }
    }
}

/// The steps that the options allow to start.
fn wanted(args: &Args, plan: &Plan) -> Result<StepSelection, Failure> {
    match (&args.only, &args.until) {
        (Some(step), _) => Ok(StepSelection::Only(plan.find_step_as(step, &args.plan)?)),
        (None, Some(step)) => Ok(StepSelection::Until(plan.find_step_as(step, &args.plan)?)),
        (None, None) => Ok(StepSelection::All),
    }
}

/// The step that several agents compete on, and how many.
fn tournament(args: &Args, runnable: &RunnablePlan<'_>) -> Result<Option<(String, u32)>, Failure> {
    let Some([count, step]) = args.tournament.as_deref() else { return Ok(None) };
    let place = runnable.file.find_step_as(step, &args.plan)?;
    let count = count.parse().ok().filter(|count| (2..=ENTRANTS_MAX).contains(count));
    let count = count.ok_or_else(|| {
        Failure::new(Exit::Usage, format!("a tournament needs 2 to {ENTRANTS_MAX} agents"))
            .next(NextCommand::new(["planwright", "help", "run"]))
    })?;
    let tournament = (runnable.plan.steps[place].id.clone(), count);
    // Before anything is asked or recorded.
    runnable.check_tournament(&tournament)?;
    Ok(Some(tournament))
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
