//! `rollback`: restores the workspace to before a step. That step, later work and dependent steps run again. Replaced
//! files are saved.

use planwright_engine::api::RolledBack;

use crate::interaction::project::workspace;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

/// How many files are named.
const NAMED_MAX: usize = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan
    plan: String,
    /// Step, by number or id
    step: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let run = workspace()?.run_of(&args.plan)?;
    let view = run.roll_back(&args.step)?;
    let RolledBack { reopened, files, removed, kept } = &view.rolled_back;
    let name = clean_line(&view.plan).into_owned();
    let word = out.palette().paint(Tone::Good, "rolled back");
    out.line(&format!("{word}  {name}   to before {}", clean_line(&view.step)));
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
    let next = NextCommand::new(["planwright", "run", run.shown().as_str()]);
    Ok(Response::done("rollback", &view).next(next))
}
