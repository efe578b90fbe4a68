//! `cancel`: a person ends a plan or its run for good. Running attempts end.

use planwright_engine::approval::Approvals;
use planwright_engine::core::plan::lifecycle::PlanState;
use planwright_engine::core::run::event::RunOutcome;
use planwright_engine::run::{Run, Runs};
use planwright_engine::store::plan_file;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::driver::{under_way, wait_for_driver};
use crate::interaction::target::{NamedPlan, Opened, open};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to cancel
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Reason
    #[arg(short, long)]
    message: String,
    /// Record the run as failed, not as cancelled
    #[arg(long)]
    failed: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cancelled {
    /// The plan.
    pub(crate) plan: String,
    /// The number of the run; `None` where the plan was not run.
    pub(crate) run: Option<i64>,
    /// What was running and was ended.
    pub(crate) under_way: Vec<String>,
    /// The process that still runs it, because something has not ended.
    pub(crate) driven_by: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::Cancel)?;
    if args.message.trim().is_empty() {
        let failure = Failure::new(Exit::Usage, "missing reason: pass -m");
        return Err(failure.next(NextCommand::new(["planwright", "help", "cancel"])));
    }
    let Opened { path, project, .. } = open(&args.plan)?;
    let name = plan_file::name(&path);
    let next = NextCommand::new(["planwright", "log", shown(&path).as_str()]);
    let runs = Runs::open(&project)?;
    if let Some(run) = runs.latest(&path)?.filter(|run| run.state.outcome().is_none()) {
        let cancelled = end(args, (&runs, &run), &path, out)?;
        return Ok(Response::done("cancel", &cancelled).next(next));
    }
    if args.failed {
        let message = format!("{name} is not running");
        return Err(Failure::new(Exit::No, message).next(next));
    }
    let decisions = Approvals::open(&project)?;
    let state = decisions.case(&path)?.state();
    if state == PlanState::Draft {
        let message = format!("cannot cancel {name}: it was neither proposed nor run");
        let next = NextCommand::new(["planwright", "propose", shown(&path).as_str()]);
        return Err(Failure::new(Exit::No, message).next(next));
    }
    if matches!(state, PlanState::Done | PlanState::Failed | PlanState::Cancelled) {
        let message = format!("cannot cancel {name}: it has already finished ({state})");
        return Err(Failure::new(Exit::No, message).next(next));
    }
    let (_, complaints) = decisions.cancel(&path, &who(), &args.message)?;
    out.warn_all(&complaints);
    let word = out.palette().paint(Tone::Good, "cancelled");
    out.line(&format!("{word}  {}   {}", clean_line(&name), clean_line(&args.message)));
    let cancelled = Cancelled { plan: name, run: None, under_way: Vec::new(), driven_by: None };
    Ok(Response::done("cancel", &cancelled).next(NextCommand::new([
        "planwright",
        "undo",
        shown(&path).as_str(),
    ])))
}

/// Ends a run.
fn end(
    args: &Args,
    (runs, run): (&Runs, &Run),
    path: &std::path::Path,
    out: &mut Out<'_>,
) -> Result<Cancelled, Failure> {
    let name = run.row.name.clone();
    let busy = under_way(run);
    let (outcome, word) =
        if args.failed { (RunOutcome::Failed, "failed") } else { (RunOutcome::Cancelled, "cancelled") };
    runs.end(run, outcome, &args.message)?;
    let holder = wait_for_driver(runs, run)?;
    if holder.is_none() {
        for complaint in runs.mirror(run.row.id, path)? {
            out.warn(&complaint);
        }
    }
    let word = out.palette().paint(Tone::Good, word);
    out.line(&format!("{word}  {}   {}", clean_line(&name), clean_line(&args.message)));
    for what in &busy {
        out.line(&format!("           was running: {}", clean_line(what)));
    }
    if let Some(holder) = &holder {
        let who = clean_line(&holder.to_string()).into_owned();
        out.line(&format!("           {who} is still ending its attempts"));
    }
    Ok(Cancelled {
        plan: name,
        run: Some(run.row.id.number()),
        under_way: busy,
        driven_by: holder.map(|holder| holder.to_string()),
    })
}
