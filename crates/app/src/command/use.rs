//! `use`: binds this worktree to a named plan, or to none. Writes the marker and nothing else.

use planwright_engine::core::dialect::named::plan_file;
use planwright_engine::core::workspace::active_plan::{Audience, MARKER};
use planwright_engine::workspace::active_plan;
use schemars::JsonSchema;
use serde::Serialize;

use super::here;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan: its slug, PLAN-SLUG or PLAN-SLUG.md
    #[arg(required_unless_present = "clear")]
    plan: Option<String>,
    /// Bind this worktree to no plan: then PLAN.md is meant where none is named
    #[arg(long, conflicts_with = "plan")]
    clear: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Used {
    /// The slug of the plan that this worktree is bound to now.
    pub(crate) name: Option<String>,
    /// The file that says so, relative to the root of the project.
    pub(crate) marker: String,
    /// Whether anything was changed.
    pub(crate) changed: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let project = here()?;
    let Some(plan) = &args.plan else {
        let changed = active_plan::clear_marker(&project.root)?;
        match changed {
            true => say("cleared", &format!("{MARKER}   without a name the plan is PLAN.md again"), out),
            false => out.talk("this worktree is bound to no plan"),
        }
        return Ok(answer(&Used { name: None, marker: MARKER.to_owned(), changed }));
    };
    let bound = active_plan::resolve(&project, Audience::Old(plan))?;
    let Some(slug) = bound.name.slug() else {
        return Err(Failure::new(
            Exit::Usage,
            "PLAN.md is the plan without a name, to which nothing is bound",
        )
        .hint("without a marker it is the one that is meant")
        .next(NextCommand::new(["planwright", "use", "--clear"])));
    };
    let old = active_plan::of_marker(&project).ok().flatten().map(|old| old.name);
    active_plan::write_marker(&project.root, slug)?;
    say("bound", &format!("{slug}   {MARKER} -> {}", plan_file(Some(slug))), out);
    let changed = old.as_ref() != Some(&bound.name);
    Ok(answer(&Used { name: Some(slug.to_string()), marker: MARKER.to_owned(), changed }))
}

fn say(word: &str, text: &str, out: &mut Out<'_>) {
    let word = out.palette().paint(Tone::Good, word);
    out.line(&format!("{word}  {text}"));
}

fn answer(data: &Used) -> Response {
    Response::done("use", data).next(NextCommand::new(["planwright", "active"]))
}
