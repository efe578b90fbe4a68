//! `rollback`: restores the workspace to before a step. That step, later work and dependent steps run again. Replaced
//! files are saved.

use planwright_engine::run::RolledBack;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::target::{RunOf, run_of};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

/// How many files are named.
const NAMED_MAX: usize = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan
    plan: String,
    /// Step, by number or id
    step: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Back {
    /// The plan.
    pub(crate) plan: String,
    /// The number of the run.
    pub(crate) run: i64,
    /// The steps that are to be done again.
    pub(crate) reopened: Vec<String>,
    /// The files that were put back or removed, relative to the top of the working copy.
    pub(crate) files: Vec<String>,
    /// Those of them that were removed: they were not there before the step.
    pub(crate) removed: Vec<String>,
    /// The commit with the previous workspace files.
    pub(crate) kept: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::RollBack)?;
    let RunOf { path, runs, run, .. } = run_of(&args.plan)?;
    let shown = shown(&path);
    let is_it = |step: &&planwright_engine::core::plan::verified::Step| {
        step.id == args.step || step.number.to_string() == args.step.trim_start_matches('#')
    };
    let Some(step) = run.plan.steps.iter().find(is_it) else {
        let message = format!("{} has no step `{}`", run.row.name, args.step);
        return Err(Failure::new(Exit::Usage, message).next(NextCommand::new([
            "planwright",
            "show",
            shown.as_str(),
        ])));
    };
    if run.state.outcome().is_some() {
        let message = format!("cannot roll back {}: its run has finished", run.row.name);
        return Err(Failure::new(Exit::No, message)
            .hint("the result of each step is kept as a commit: git for-each-ref refs/planwright")
            .next(NextCommand::new(["planwright", "log", shown.as_str(), "--versions"])));
    }
    let RolledBack { reopened, files, removed, kept } = runs.roll_back(&run, &path, &step.id)?;
    let name = clean_line(&run.row.name).into_owned();
    let word = out.palette().paint(Tone::Good, "rolled back");
    out.line(&format!("{word}  {name}   to before {} {}", step.number, clean_line(&step.id)));
    out.line(&format!("             runs again: {}", clean_line(&reopened.join(", "))));
    for file in files.iter().take(NAMED_MAX) {
        let what = if removed.contains(file) { "removed" } else { "restored" };
        out.line(&format!("             {what}: {}", clean_line(file)));
    }
    if files.len() > NAMED_MAX {
        out.line(&format!("             and {} more files", files.len() - NAMED_MAX));
    }
    out.line(&format!(
        "             previous files are saved: git show --stat {}",
        &kept[..kept.len().min(10)]
    ));
    let next = NextCommand::new(["planwright", "run", shown.as_str()]);
    let back = Back { plan: run.row.name.clone(), run: run.row.id.number(), reopened, files, removed, kept };
    Ok(Response::done("rollback", &back).next(next))
}
