//! `list-plans`: plans in the `.harness` directory and the one this worktree uses, for scripts, sessions and the
//! naming gate. A dangling marker is shown and never fatal here.

use std::path::PathBuf;

use planwright_engine::api::{NamedPlansView, Workspace, named_plans_of_session, shown};

use crate::interaction::project::{options, workspace_at};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the session-start text; reads the hook input from standard input
    #[arg(long, conflicts_with = "gate")]
    session: bool,
    /// Fail if a document claims a single plan, a session-start script is outdated, or no resolver exists
    #[arg(long)]
    gate: bool,
    /// Project [default: the current directory]
    #[arg(long, value_name = "FOLDER")]
    project_root: Option<PathBuf>,
}

/// Lists the plans; `words` are the words that mean a command, which the gate looks for.
pub(crate) fn run(args: &Args, words: fn() -> Vec<String>, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.session {
        return Ok(tell(args, out));
    }
    let workspace = workspace_at(args.project_root.as_deref())?;
    if args.gate {
        return gate(&workspace, &words(), out);
    }
    let view = workspace.named_plans()?;
    for plan in &view.plans {
        out.line(&plan.plan);
    }
    if let Some(marked) = &view.marked {
        out.line(&format!("active-binding={marked}"));
    }
    if let Some(fault) = &view.dangling {
        out.warn(&format!("DANGLING: {fault}"));
    }
    for copy in &view.copies {
        out.warn(&format!("{copy} is a conflict copy; planwright ignores it"));
    }
    let next = match (&view.dangling, &view.bound, view.plans.first()) {
        (Some(_), ..) => NextCommand::new(["planwright", "use", "--clear"]),
        (None, Some(_), _) => NextCommand::new(["planwright", "use"]),
        (None, None, Some(first)) => {
            NextCommand::new(["planwright", "show", shown(first.plan.as_ref()).as_str()])
        }
        (None, None, None) => NextCommand::new(["planwright", "list"]),
    };
    Ok(Response::done("list-plans", &view).next(next))
}

/// Prints the session-start text. Errors never block a session.
fn tell(args: &Args, out: &mut Out<'_>) -> Response {
    let view = named_plans_of_session(args.project_root.clone(), options()).map_err(Failure::from);
    let view = view.unwrap_or_else(|failure| {
        if failure.exit != Exit::No {
            out.warn(&format!("cannot show plans: {}", failure.message));
        }
        NamedPlansView::default()
    });
    out.data(&clean(view.text.as_deref().unwrap_or_default()));
    Response::done("list-plans", &view)
}

/// Looks for what would lead a worker to the wrong plan again.
fn gate(workspace: &Workspace, words: &[String], out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = workspace.naming_breaches(words)?;
    for breach in &view.breaches {
        let word = out.palette().paint(Tone::Bad, &breach.kind);
        out.line(&format!("{word}  {}", clean_line(&breach.what)));
        out.line(&format!("  help: {}", clean_line(&breach.fix)));
    }
    let exit = if view.breaches.is_empty() { Exit::Done } else { Exit::No };
    if view.breaches.is_empty() {
        let word = out.palette().paint(Tone::Good, "ok");
        out.line(&format!("{word}  no document claims a single plan; scripts and resolver are up to date"));
    }
    Ok(Response::new(exit, "list-plans", &view).next(NextCommand::new(["planwright", "help", "list-plans"])))
}
