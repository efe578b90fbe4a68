//! `run`: carries a plan through, step by step, and lets only the contracts say what is done.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;
use std::time::Instant;

use planwright_engine::core::decide::Limits;
use planwright_engine::core::digest::Digest;
use planwright_engine::core::event::{AttemptEnd, Event, Outcome};
use planwright_engine::core::plan::{Contract, Plan};
use planwright_engine::core::run::{CLAIM, RunState};
use planwright_engine::driver::Progress;
use planwright_engine::process::Stop;
use planwright_engine::runs::{Approval, Drive, Run, Runs, user};
use planwright_engine::store::Text;
use planwright_engine::{Verified, project};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Opened, open, refuse_agents};
use crate::out::{Answer, Exit, Failure, Glyph, Next, Out, Tone, clean, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan
    plan: String,
    /// Approve exactly this digest (its first 8 digits or more); needed where no person is at the terminal
    #[arg(long, value_name = "DIGEST")]
    rev: Option<String>,
    /// How many steps may be under way at once; `run.jobs` of the settings where it is not said
    #[arg(long)]
    jobs: Option<usize>,
    /// Show what would be done; start nothing
    #[arg(long)]
    dry_run: bool,
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
    /// `done`, `failed`, `cancelled`, `waiting`, `stopped`, `edited`, `left` or `dry-run`.
    pub(crate) state: String,
    /// Every step: its id and its status.
    pub(crate) steps: Vec<StepData>,
}

/// Where a step stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepData {
    /// The id.
    pub(crate) id: String,
    /// Its status.
    pub(crate) status: String,
    /// How many attempts were made.
    pub(crate) attempts: u32,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let Opened { path, project, source, .. } = open(&args.plan)?;
    let verified = project.check(Text::Plan(source))?;
    let name = project::name(&path);
    let Some(plan) = verified.plan.clone() else {
        return Err(Failure::new(Exit::No, format!("{name} has errors, so it can't be run"))
            .next(Next::new(["planwright", "verify", args.plan.as_str()])));
    };
    let digest = Digest::of(&plan);
    print_plan(&name, &plan, &digest, out);
    if args.dry_run {
        let ran = Ran {
            plan: name,
            digest: digest.to_string(),
            run: None,
            state: "dry-run".to_owned(),
            steps: Vec::new(),
        };
        return Ok(Answer::done("run", &ran).next(Next::new(["planwright", "run", args.plan.as_str()])));
    }
    let runs = Runs::open(&project)?;
    let run = match runs.latest(&path)? {
        Some(run) if goes_on(&run, &digest) => run,
        old => {
            let approval = approve(args, &name, &digest, out)?;
            begin(&runs, (&path, old), (&verified, &digest), &approval, out)?
        }
    };
    let began = Instant::now();
    let mut printer = Printer { plan: &run.plan, retried: 0, runs: &runs };
    let usual = project.config.run.limits();
    let jobs = args.jobs.unwrap_or(usual.jobs).max(1);
    let limits = Limits { jobs, ..usual };
    let drive = Drive { limits, workers: jobs, leave: Stop::new() };
    let mut watch = |state: &RunState, event: &Event| printer.event(state, event, out);
    let (progress, complaints) = runs.drive(&run, &path, &drive, &mut watch)?;
    let retried = printer.retried;
    for complaint in complaints {
        out.warn(&complaint);
    }
    let run = runs.latest(&path)?.unwrap_or(run);
    Ok(report(&name, &run, &progress, (began, retried), out))
}

/// Whether a run goes on with this plan: it is for exactly these bytes, and has neither failed nor been cancelled.
fn goes_on(run: &Run, digest: &Digest) -> bool {
    match run.state.outcome() {
        Some(Outcome::Failed | Outcome::Cancelled) => false,
        Some(Outcome::Done) | None => run.row.digest == digest.to_string(),
    }
}

/// Begins the run of a digest that a person approved, instead of the old run.
fn begin(
    runs: &Runs,
    (path, old): (&Path, Option<Run>),
    (verified, digest): (&Verified, &Digest),
    approval: &Approval,
    out: &mut Out<'_>,
) -> Result<Run, Failure> {
    if let Some(old) = old.filter(|old| old.state.outcome().is_none()) {
        // Its approval was for other bytes. It ends only now: who may not approve may not end a run either.
        runs.cancel(&old, "the plan was revised")?;
    }
    runs.begin(path, verified, approval)?;
    let how = if approval.way == "terminal" { "at this terminal" } else { "by --rev" };
    let word = out.talk_palette().paint(Tone::Good, "approved");
    out.talk(&format!("{word}  {}  by {}, {how}", digest.short(), clean_line(&approval.by)));
    out.talk("isolation  open: agents run as you and could reach planwright's records\n");
    runs.latest(path)?.ok_or_else(|| Failure::new(Exit::Machine, "the run that was just begun is not there"))
}

fn approve(args: &Args, name: &str, digest: &Digest, out: &mut Out<'_>) -> Result<Approval, Failure> {
    let full = digest.to_string();
    let by_hand = Next::new(["planwright", "run", args.plan.as_str(), "--rev", digest.short().as_str()]);
    refuse_agents("approve")
        .map_err(|failure| failure.hint(format!("a person runs: {}", by_hand.command)))?;
    if let Some(rev) = &args.rev {
        return match full.starts_with(rev.as_str()) {
            true if rev.len() >= 8 => Ok(Approval { by: user(), way: "rev" }),
            true => {
                Err(Failure::new(Exit::Usage, format!("`{rev}` is too short to name a digest")).next(by_hand))
            }
            false => Err(Failure::new(Exit::Moved, format!("{name} is {}, not {rev}", digest.short()))
                .hint("look at it again; nothing was started")
                .next(Next::new(["planwright", "show", args.plan.as_str()]))),
        };
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Exit::Person, format!("nobody has approved {name} {}", digest.short()))
            .next(by_hand));
    }
    out.talk(&format!("Nobody has approved {}. Approve it and start?  [y]es  [n]o", digest.short()));
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::new(Exit::Machine, "cannot read your answer").because(&error))?;
    match answer.trim() {
        "y" | "yes" => Ok(Approval { by: user(), way: "terminal" }),
        _ => Err(Failure::new(Exit::Person, format!("{name} was not approved; nothing was started"))),
    }
}

fn print_plan(name: &str, plan: &Plan, digest: &Digest, out: &mut Out<'_>) {
    let palette = out.palette();
    out.line(&format!(
        "{}  {}   {}",
        palette.paint(Tone::Strong, &clean_line(name)),
        clean_line(&plan.title),
        digest.short()
    ));
    let mut table = crate::out::Table::new();
    for step in &plan.steps {
        let must = match &step.contract {
            Contract::Shell { command, .. } => format!("must pass: {}", command.trim().replace('\n', "; ")),
            Contract::Manual => "a person confirms".to_owned(),
        };
        let after: Vec<String> =
            step.needs.iter().map(|&place| plan.steps[place].number.to_string()).collect();
        let after = if after.is_empty() { String::new() } else { format!("after {}", after.join(", ")) };
        table.row([
            format!("  {}", step.number),
            step.id.clone(),
            step.title.clone(),
            step.target.clone(),
            after,
            must,
        ]);
    }
    // What is approved here is shown whole, however narrow the terminal is.
    let text = table.text(out.palette(), None);
    out.data(&text);
    for step in plan.steps.iter().filter(|step| !step.env.is_empty()) {
        out.line(&clean_line(&format!("  {} {} runs with {}", step.number, step.id, step.env.join(", "))));
    }
    out.line("");
    out.flush();
}

struct Printer<'a> {
    plan: &'a Plan,
    retried: usize,
    runs: &'a Runs,
}

impl Printer<'_> {
    /// One line for what ended; a failure with the end of what the contract said.
    fn event(&mut self, state: &RunState, event: &Event, out: &mut Out<'_>) {
        match event {
            Event::ContractFinished { step, attempt, receipt } => {
                let Some(place) = state.place(step) else { return };
                let known = &self.plan.steps[place];
                let name = format!("{} {}", known.number, known.id);
                let time = seconds(receipt.milliseconds);
                match receipt.verdict.failure() {
                    None if *attempt == CLAIM => {
                        Self::line(Glyph::Done, &format!("{name}   was done before"), out);
                    }
                    None if *attempt > 1 => {
                        self.retried += 1;
                        Self::line(Glyph::Done, &format!("{name}   {time}   attempt {attempt}"), out);
                    }
                    None => Self::line(Glyph::Done, &format!("{name}   {time}"), out),
                    Some(_) if *attempt == CLAIM => {
                        Self::line(
                            Glyph::Waiting,
                            &format!("{name}   is marked as done, but its contract says no"),
                            out,
                        );
                    }
                    Some(failure) => {
                        let of = known.on_fail.retries + state.steps[place].granted + 1;
                        Self::line(
                            Glyph::Failed,
                            &format!("{name}   {time}   attempt {attempt} of {of}, {failure}"),
                            out,
                        );
                        self.end_of(&receipt.output, out);
                    }
                }
            }
            Event::AttemptFinished { step, attempt, end, .. } => match end {
                AttemptEnd::TimedOut(limit) => {
                    Self::line(
                        Glyph::Failed,
                        &format!("{step}   attempt {attempt} took longer than {limit} s"),
                        out,
                    );
                }
                AttemptEnd::Lost => Self::line(
                    Glyph::Waiting,
                    &format!("{step}   attempt {attempt} was lost; it does not count"),
                    out,
                ),
                AttemptEnd::Parked { why, .. } => Self::line(Glyph::Waiting, &format!("{step}   {why}"), out),
                AttemptEnd::Stopped => {
                    Self::line(Glyph::Waiting, &format!("{step}   attempt {attempt} was stopped"), out);
                }
                AttemptEnd::Exited(_) | AttemptEnd::Signalled(_) => {}
            },
            Event::AskOpened { step, text, .. } => {
                let what = step.as_deref().unwrap_or("the run");
                Self::line(Glyph::NeedsYou, &format!("{what} needs you"), out);
                out.data(&indented(text));
            }
            Event::BudgetWarned { limit, percent } => {
                out.warn(&format!("{percent} % of the {limit} are spent"));
            }
            Event::RunStarted { .. }
            | Event::AgentsApproved { .. }
            | Event::AttemptStarted { .. }
            | Event::AskAnswered { .. }
            | Event::RunStopped { .. }
            | Event::RunResumed { .. }
            | Event::RunFinished { .. } => {}
        }
        out.flush();
    }

    fn line(glyph: Glyph, text: &str, out: &mut Out<'_>) {
        let glyph = out.palette().glyph(glyph);
        out.line(&format!("{glyph} {}", clean_line(text)));
    }

    /// The last lines of what a contract printed.
    fn end_of(&self, output: &planwright_engine::core::event::Blob, out: &mut Out<'_>) {
        const LINES_MAX: usize = 8;
        let Ok(bytes) = self.runs.blob(output) else { return };
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        out.data(&indented(&lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")));
    }
}

fn indented(text: &str) -> String {
    clean(text).lines().map(|line| format!("    {line}\n")).collect()
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100)
}

fn report(
    name: &str,
    run: &Run,
    progress: &Progress,
    (began, retried): (Instant, usize),
    out: &mut Out<'_>,
) -> Answer {
    let settled = run.state.steps.iter().filter(|step| step.status.is_settled()).count();
    let (exit, state) = match progress {
        Progress::Finished(Outcome::Done) => (Exit::Done, "done"),
        Progress::Finished(Outcome::Failed) => (Exit::No, "failed"),
        Progress::Finished(Outcome::Cancelled) => (Exit::No, "cancelled"),
        Progress::NeedsPerson => (Exit::Person, "waiting"),
        Progress::Reached => (Exit::Done, "reached"),
        Progress::Stopped => (Exit::Person, "stopped"),
        Progress::Edited => (Exit::Moved, "edited"),
        Progress::Left => (Exit::Interrupted, "left"),
    };
    let tone = if exit == Exit::Done { Tone::Good } else { Tone::Attention };
    let time = seconds(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
    let retried = if retried > 0 { format!(", {retried} on a retry") } else { String::new() };
    let word = out.palette().paint(tone, state);
    out.line(&format!(
        "{word}  {name}   {settled} of {} steps settled{retried}   {time}",
        run.plan.steps.len()
    ));
    let steps = run.state.steps.iter().map(|step| StepData {
        id: step.id.clone(),
        status: step.status.word().to_owned(),
        attempts: step.attempts,
    });
    let ran = Ran {
        plan: name.to_owned(),
        digest: run.row.digest.clone(),
        run: Some(run.row.id.number()),
        state: state.to_owned(),
        steps: steps.collect(),
    };
    let next = match progress {
        Progress::NeedsPerson => Next::new(["planwright", "status", name]),
        Progress::Edited => Next::new(["planwright", "verify", name]),
        Progress::Finished(_) | Progress::Reached | Progress::Stopped | Progress::Left => {
            Next::new(["planwright", "log", name])
        }
    };
    Answer::new(exit, "run", &ran).next(next)
}
