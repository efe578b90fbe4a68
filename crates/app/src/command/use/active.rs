//! `resolve-active-plan`: the plan of this worktree as two paths for scripts; `use` shows it to people. Read-only; a
//! dangling marker is an error and never resolves to another plan.

use std::path::{Path, PathBuf};

use planwright_engine::core::dialect::named::Slug;
use planwright_engine::core::workspace::active_plan::{Audience, ResolvedBy};
use planwright_engine::store::plan_file;
use planwright_engine::workspace::active_plan;
use planwright_engine::workspace::active_plan::Binding;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::{here, project_at};
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Active {
    /// The file of the plan.
    pub(crate) plan: String,
    /// The file of its progress.
    pub(crate) progress: String,
    /// The slug of the plan; `None` for the one without a name.
    pub(crate) name: Option<String>,
    /// By what it was chosen: `argument`, `marker` or `default`.
    pub(crate) by: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let project = project_at(args.project_root.as_deref())?;
    let said = args.plan.as_deref().or(args.named.as_deref());
    let bound = active_plan::resolve(&project, said.map_or(Audience::Any, Audience::New))?;
    let data = data(&bound);
    out.data(&format!("{}\t{}\n", data.plan, data.progress));
    Ok(answer(&bound, &data, out))
}

/// `use` without a plan: the current one, for people.
pub(crate) fn show(out: &mut Out<'_>) -> Result<Response, Failure> {
    let bound = active_plan::resolve(&here()?, Audience::Any)?;
    let data = data(&bound);
    let name = data.name.as_deref().unwrap_or("PLAN.md");
    let by = match bound.by {
        ResolvedBy::Argument => "named",
        ResolvedBy::Marker => "chosen for this worktree",
        ResolvedBy::Default => "default: no plan is chosen for this worktree",
    };
    let name = out.palette().paint(Tone::Strong, &clean_line(name));
    out.line(&format!("{name}   {}   {by}", clean_line(&shown(&bound.plan))));
    Ok(answer(&bound, &data, out))
}

fn data(bound: &Binding) -> Active {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Active {
        plan: text(&bound.plan),
        progress: text(&bound.progress),
        name: bound.name.slug().map(Slug::to_string),
        by: bound.by.word().to_owned(),
    }
}

fn answer(bound: &Binding, data: &Active, out: &mut Out<'_>) -> Response {
    let next = match plan_file::is_there(&bound.plan) {
        true => NextCommand::new(["planwright", "show", shown(&bound.plan).as_str()]),
        false => {
            out.talk("note: the plan file does not exist yet");
            NextCommand::new(["planwright", "list-plans"])
        }
    };
    Response::done("active", data).next(next)
}
