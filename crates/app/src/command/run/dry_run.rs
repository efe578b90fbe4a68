//! `run --dry-run`: what a run would do, and which agents would do it. Starts and writes nothing.

use planwright_engine::api::{Contract, DryRun, RunChoice, RunView};

use super::{Subject, approve, named};
use crate::output::wording::ahead;
use crate::output::wording::ahead::Contracts;
use crate::output::{Failure, NextCommand, Out, Response, clean_line};

/// Says what a run would do.
pub(super) fn run(subject: &Subject<'_>, out: &mut Out<'_>) -> Result<Response, Failure> {
    approve::warn_of_missing_agents(subject, out);
    let dry = match subject.runnable.dry_run(subject.selection)? {
        Ok(dry) => dry,
        Err(blocker) => return Err(super::blocked(subject, blocker)),
    };
    print(subject, &dry, out);
    ahead::print(&dry.simulation, Contracts::Omitted, out);
    out.line("nothing was started or written");
    let view = RunView { simulation: Some(dry.simulation), ..dry.view };
    let mut words = vec!["planwright", "run", subject.args.plan.as_str()];
    for (flag, step) in [("--until", &subject.args.until), ("--only", &subject.args.only)] {
        if let Some(step) = step {
            words.extend([flag, step.as_str()]);
        }
    }
    Ok(Response::done("run", &view).next(NextCommand::new(words)))
}

fn print(subject: &Subject<'_>, dry: &DryRun, out: &mut Out<'_>) {
    match &dry.how {
        RunChoice::New => {
            out.line(&format!("new run     after approval of {}", subject.runnable.digest.short()));
        }
        RunChoice::Followed(run, holder) => {
            out.line(&clean_line(&format!("follows     run {run} ({holder})")));
        }
        RunChoice::Finished(run) => out.line(&format!("finished    run {run} is done")),
        RunChoice::Resumed(run) => out.line(&format!("resumes     run {run}, approved")),
    }
    if dry.are_agents_lapsed {
        out.line("            agent commands changed since approval");
    }
    let list = |word: &str, places: &[usize], out: &mut Out<'_>| {
        if !places.is_empty() {
            out.line(&clean_line(&format!("{word:<12}{}", subject.named(places))));
        }
    };
    list("done", &dry.done, out);
    list("marked", &dry.claimed, out);
    if !dry.claimed.is_empty() {
        out.line("            marked done in the file; the contract runs first and decides");
    }
    list("needs you", &dry.asked, out);
    list("would run", &dry.to_do, out);
    list("not run", &dry.not_run, out);
    for step in subject.runnable.plan.steps.iter().filter(|step| step.contract == Contract::Manual) {
        out.line(&clean_line(&format!("            you confirm {}", named(step))));
    }
}
