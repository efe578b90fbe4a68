//! `use`: chooses the named plan of this worktree, or none. Writes the marker and nothing else.

pub(crate) mod active;

use planwright_engine::api::BindingView;

use crate::interaction::project::workspace;
use crate::output::{Failure, NextCommand, Out, Response, Tone};

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

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let workspace = workspace()?;
    let view = match &args.plan {
        Some(plan) => workspace.bind(plan)?,
        None => workspace.unbind()?,
    };
    match &view {
        BindingView { name: Some(slug), file: Some(file), marker, .. } => {
            say("bound", &format!("{slug}   {marker} -> {file}"), out);
        }
        BindingView { changed: true, marker, .. } => {
            say("cleared", &format!("{marker}   commands without a plan use PLAN.md"), out);
        }
        BindingView { .. } => out.talk("this worktree uses no named plan"),
    }
    Ok(Response::done("use", &view).next(NextCommand::new(["planwright", "use"])))
}

fn say(word: &str, text: &str, out: &mut Out<'_>) {
    let word = out.palette().paint(Tone::Good, word);
    out.line(&format!("{word}  {text}"));
}
