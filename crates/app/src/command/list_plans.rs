//! `list-plans`: plans in the `.harness` directory and the one this worktree uses, for scripts, sessions and the
//! naming gate. A dangling marker is shown and never fatal here.

use std::path::PathBuf;

use planwright_engine::Project;
use planwright_engine::agent::{hook, session};
use planwright_engine::core::dialect::named::Slug;
use planwright_engine::workspace::active_plan;
use planwright_engine::workspace::active_plan::PlanNamesListing;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::project_at;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean, clean_line};
use planwright_engine::api::shown;

/// Placeholder for a plan that the marker doesn't name.
const NOBODY: &str = "?";

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

/// The data of the envelope.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Plans {
    /// The `.harness` directory; `None` if it doesn't exist.
    pub(crate) folder: Option<String>,
    /// The plans: the one without a name first, then by name.
    pub(crate) plans: Vec<PlanData>,
    /// The slug of the plan that this worktree is bound to.
    pub(crate) bound: Option<String>,
    /// Why the marker of this worktree leads to no plan.
    pub(crate) dangling: Option<String>,
    /// Conflict copies of sync services, ignored as plans.
    pub(crate) copies: Vec<String>,
    /// The session-start text.
    pub(crate) text: Option<String>,
    /// What the gate does not let through.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) breaches: Vec<BreachData>,
}

/// One plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlanData {
    /// Its slug; `None` for the one without a name.
    pub(crate) name: Option<String>,
    /// Its file.
    pub(crate) plan: String,
    /// The file of its progress.
    pub(crate) progress: String,
}

/// One thing that the gate does not let through.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BreachData {
    /// `singleton`, `no-resolver`, `unasked`, `drift` or `missing`.
    pub(crate) kind: String,
    /// What it is.
    pub(crate) what: String,
    /// What helps.
    pub(crate) fix: String,
}

/// Lists the plans; `words` are the words that mean a command, which the gate looks for.
pub(crate) fn run(args: &Args, words: fn() -> Vec<String>, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.session {
        return Ok(tell(args, out));
    }
    let project = project_at(args.project_root.as_deref())?;
    if args.gate {
        return gate(&project, &words(), out);
    }
    let listing = active_plan::list(&project)?;
    for (_, plan, _) in listing.files() {
        out.line(&plan.to_string_lossy());
    }
    match &listing.bound {
        None => {}
        Some(Ok(slug)) => out.line(&format!("active-binding={slug}")),
        Some(Err(fault)) => {
            out.line(&format!("active-binding={}", fault.slug().map_or(NOBODY, Slug::as_str)));
            out.warn(&format!("DANGLING: {fault}"));
        }
    }
    for copy in &listing.copies {
        out.warn(&format!("{copy} is a conflict copy; planwright ignores it"));
    }
    let first = listing.files().next().map(|(_, plan, _)| shown(&plan));
    let next = match (&listing.bound, first) {
        (Some(Err(_)), _) => NextCommand::new(["planwright", "use", "--clear"]),
        (Some(Ok(_)), _) => NextCommand::new(["planwright", "use"]),
        (None, Some(plan)) => NextCommand::new(["planwright", "show", plan.as_str()]),
        (None, None) => NextCommand::new(["planwright", "list"]),
    };
    Ok(Response::done("list-plans", &data(&listing)).next(next))
}

fn data(listing: &PlanNamesListing) -> Plans {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    Plans {
        folder: Some(text(listing.folder.clone())),
        plans: listing
            .files()
            .map(|(name, plan, progress)| PlanData {
                name: name.slug().map(Slug::to_string),
                plan: text(plan),
                progress: text(progress),
            })
            .collect(),
        bound: listing.bound.as_ref().and_then(|bound| bound.as_ref().ok()).map(Slug::to_string),
        dangling: listing.bound.as_ref().and_then(|bound| bound.as_ref().err()).map(ToString::to_string),
        copies: listing.copies.clone(),
        text: listing.told(),
        breaches: Vec::new(),
    }
}

/// Prints the session-start text. Errors never block a session, and planwright's own agents get no plan.
fn tell(args: &Args, out: &mut Out<'_>) -> Response {
    let said = hook::folder_in(&hook::read_request(hook::SESSION_PATIENCE));
    let root = args.project_root.clone().or(said);
    if session::is_attempt() {
        return Response::done("list-plans", &Plans::default());
    }
    let listing =
        project_at(root.as_deref()).and_then(|project| active_plan::list(&project).map_err(Failure::from));
    match listing {
        Ok(listing) => {
            let data = data(&listing);
            out.data(&clean(data.text.as_deref().unwrap_or_default()));
            Response::done("list-plans", &data)
        }
        Err(failure) => {
            if failure.exit != Exit::No {
                out.warn(&format!("cannot show plans: {}", failure.message));
            }
            Response::done("list-plans", &Plans::default())
        }
    }
}

/// Looks for what would lead a worker to the wrong plan again.
fn gate(project: &Project, words: &[String], out: &mut Out<'_>) -> Result<Response, Failure> {
    let breaches = active_plan::breaches(project, words)?;
    for breach in &breaches {
        let word = out.palette().paint(Tone::Bad, breach.word());
        out.line(&format!("{word}  {}", clean_line(&breach.to_string())));
        out.line(&format!("  help: {}", clean_line(&breach.way_out())));
    }
    let exit = if breaches.is_empty() { Exit::Done } else { Exit::No };
    if breaches.is_empty() {
        let word = out.palette().paint(Tone::Good, "ok");
        out.line(&format!("{word}  no document claims a single plan; scripts and resolver are up to date"));
    }
    let data = breaches.iter().map(|breach| BreachData {
        kind: breach.word().to_owned(),
        what: breach.to_string(),
        fix: breach.way_out(),
    });
    let data = Plans { breaches: data.collect(), ..Plans::default() };
    Ok(Response::new(exit, "list-plans", &data).next(NextCommand::new(["planwright", "help", "list-plans"])))
}
