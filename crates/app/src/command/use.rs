//! `use`: chooses the named plan of this worktree, or none. Writes the marker and nothing else.

pub(crate) mod active;

use planwright_engine::core::dialect::named::plan_file;
use planwright_engine::core::workspace::active_plan::{Audience, MARKER};
use planwright_engine::workspace::active_plan;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::here;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan: a slug, PLAN-SLUG or PLAN-SLUG.md [default: show the current one]
    plan: Option<String>,
    /// Use no named plan; commands without a plan then use PLAN.md
    #[arg(long, conflicts_with = "plan")]
    clear: bool,
}

impl Args {
    /// Whether only the current plan is asked for.
    pub(crate) const fn only_shows(&self) -> bool {
        self.plan.is_none() && !self.clear
    }
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
            true => say("cleared", &format!("{MARKER}   commands without a plan use PLAN.md"), out),
            false => out.talk("this worktree uses no named plan"),
        }
        return Ok(answer(&Used { name: None, marker: MARKER.to_owned(), changed }));
    };
    let bound = active_plan::resolve(&project, Audience::Old(plan))?;
    let Some(slug) = bound.name.slug() else {
        return Err(Failure::new(Exit::Usage, "PLAN.md has no name to use")
            .hint("commands without a plan use it when no named plan is chosen")
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
    Response::done("use", data).next(NextCommand::new(["planwright", "use"]))
}
