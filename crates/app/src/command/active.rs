//! `active`: which plan is worked on here, as a pair of paths that scripts read. Only reads; a binding that leads nowhere is an error,
//! and never another plan.

use std::path::{Path, PathBuf};

use planwright_engine::core::dialect::named::Slug;
use planwright_engine::core::workspace::active_plan::Audience;
use planwright_engine::store::plan_file;
use planwright_engine::workspace::active_plan;
use schemars::JsonSchema;
use serde::Serialize;

use super::{project_at, shown};
use crate::output::{Failure, NextCommand, Out, Response};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan: its slug, PLAN-SLUG or PLAN-SLUG.md; without one, what the marker says, and without that PLAN.md
    plan: Option<String>,
    /// The same as PLAN
    #[arg(long = "plan", value_name = "PLAN", conflicts_with = "plan")]
    named: Option<String>,
    /// The project, where it is not the one that you stand in
    #[arg(long, value_name = "FOLDER")]
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
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (plan, progress) = (text(&bound.plan), text(&bound.progress));
    out.data(&format!("{plan}\t{progress}\n"));
    let next = match plan_file::is_there(&bound.plan) {
        true => NextCommand::new(["planwright", "show", shown(&bound.plan).as_str()]),
        false => {
            out.talk("note: the plan is not written yet");
            NextCommand::new(["planwright", "list-plans"])
        }
    };
    let name = bound.name.slug().map(Slug::to_string);
    let data = Active { plan, progress, name, by: bound.by.word().to_owned() };
    Ok(Response::done("active", &data).next(next))
}
