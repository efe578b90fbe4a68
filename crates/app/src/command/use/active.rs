//! `resolve-active-plan`: the plan of this worktree as two paths for scripts; `use` shows it to people. Read-only; a
//! dangling marker is an error and never resolves to another plan.

use std::path::PathBuf;

use planwright_engine::api::{ActivePlanView, ResolvedBy};

use crate::interaction::project::{workspace, workspace_at};
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan: a slug, PLAN-SLUG or PLAN-SLUG.md [default: the marker's, then PLAN.md]
    plan: Option<String>,
    /// Same as PLAN
    #[arg(long = "plan", value_name = "PLAN", conflicts_with = "plan")]
    named: Option<String>,
    /// Project [default: the current directory]
    #[arg(long, value_name = "DIR")]
    project_root: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let said = args.plan.as_deref().or(args.named.as_deref());
    let view = workspace_at(args.project_root.as_deref())?.active_plan(said)?;
    out.data(&format!("{}\t{}\n", view.plan, view.progress));
    Ok(answer(&view, out))
}

/// `use` without a plan: the current one, for people.
pub(crate) fn show(out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = workspace()?.active_plan(None)?;
    let name = view.name.as_deref().unwrap_or("PLAN.md");
    let by = match view.resolved_by {
        ResolvedBy::Argument => "named",
        ResolvedBy::Marker => "chosen for this worktree",
        ResolvedBy::Default => "default: no plan is chosen for this worktree",
    };
    let name = out.palette().paint(Tone::Strong, &clean_line(name));
    out.line(&format!("{name}   {}   {by}", clean_line(&view.shown)));
    Ok(answer(&view, out))
}

fn answer(view: &ActivePlanView, out: &mut Out<'_>) -> Response {
    let next = match view.is_there {
        true => NextCommand::new(["planwright", "show", view.shown.as_str()]),
        false => {
            out.talk("note: the plan file does not exist yet");
            NextCommand::new(["planwright", "list-plans"])
        }
    };
    Response::done("active", view).next(next)
}
