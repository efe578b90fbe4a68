//! `undo`: undoes your last decision about a plan, unless it has already been acted on.

use planwright_engine::approval::Approvals;
use planwright_engine::core::approval::ledger::LedgerEntry;
use planwright_engine::store::plan_file;
use planwright_engine::system::clock;
use planwright_engine::workspace::project;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::project::{here, project_of};
use crate::interaction::target::NamedPlan;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan; the path of a deleted plan restores it
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Undone {
    /// The plan.
    pub(crate) plan: String,
    /// What was taken back: `plan.approved`, for example.
    pub(crate) took_back: String,
    /// When that was said, in milliseconds since 1970.
    pub(crate) said_at_ms: u64,
    /// What it said.
    pub(crate) text: String,
    /// The state of the plan now.
    pub(crate) state: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::Undo)?;
    let here = here()?;
    // Only the path of a deleted plan is known.
    let (path, project) = match here.address(&args.plan) {
        Ok(project::Address { plan, .. }) => {
            let own = project_of(&plan).ok().filter(|project| !project.root.as_os_str().is_empty());
            (plan, own.unwrap_or(here))
        }
        Err(_) => (here.root.join(&args.plan), here),
    };
    let decisions = Approvals::open(&project)?;
    let (said, case, complaints) = decisions.undo(&path, &who())?;
    out.warn_all(&complaints);
    let data = Undone {
        plan: plan_file::name(&path),
        took_back: said.entry.name().to_owned(),
        said_at_ms: said.at_ms,
        text: text(&said.entry),
        state: case.state().to_string(),
    };
    let word = out.palette().paint(Tone::Good, "undone");
    let what = format!("{} of {}", data.took_back, clock::local(said.at_ms));
    out.line(&format!(
        "{word}  {}  {}   {}",
        clean_line(&data.plan),
        clean_line(&what),
        clean_line(&data.text)
    ));
    out.line(&format!("        the plan is {} again", data.state));
    Ok(Response::done("undo", &data).next(NextCommand::new(["planwright", "review", shown(&path).as_str()])))
}

/// An entry in one line.
fn text(entry: &LedgerEntry) -> String {
    match entry {
        LedgerEntry::Approved { revision, subject, note, .. } => {
            format!("r{revision} {} {note}", &subject.digest[..subject.digest.len().min(8)])
                .trim_end()
                .to_owned()
        }
        LedgerEntry::Rejected { feedback, .. } => feedback.clone(),
        LedgerEntry::Commented { text, .. } | LedgerEntry::Answered { text, .. } => text.clone(),
        LedgerEntry::Reopened { why, .. } | LedgerEntry::Cancelled { why, .. } => why.clone(),
        LedgerEntry::Deleted { .. } => "plan restored".to_owned(),
        LedgerEntry::Proposed { .. }
        | LedgerEntry::Drafted { .. }
        | LedgerEntry::Discovered { .. }
        | LedgerEntry::Added { .. }
        | LedgerEntry::Lapsed { .. }
        | LedgerEntry::Started { .. }
        | LedgerEntry::Ended { .. }
        | LedgerEntry::Undone { .. }
        | LedgerEntry::Merged { .. }
        | LedgerEntry::Evicted { .. }
        | LedgerEntry::Archived { .. } => String::new(),
    }
}
