//! `undo`: takes back your last decision about a plan, while nobody has acted on it, and says what it took back.

use planwright_engine::approval::Decisions;
use planwright_engine::core::approval::ledger::Entry;
use planwright_engine::system::clock;
use planwright_engine::workspace::project;
use schemars::JsonSchema;
use serde::Serialize;

use super::{here, project_of, refuse_agents, shown};
use crate::interaction::confirm::who;
use crate::interaction::target::Named;
use crate::output::{Answer, Failure, Next, Out, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan; the path of one that was deleted brings it back
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: Named,
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
    /// Where the plan stands now.
    pub(crate) state: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    refuse_agents("take back a decision")?;
    let here = here()?;
    // A plan that was deleted is no plan any more: only its path is left of it.
    let (path, project) = match here.address(&args.plan) {
        Ok(project::Address { plan, .. }) => {
            let own = project_of(&plan).ok().filter(|project| !project.root.as_os_str().is_empty());
            (plan, own.unwrap_or(here))
        }
        Err(_) => (here.root.join(&args.plan), here),
    };
    let decisions = Decisions::open(&project)?;
    let (said, case, complaints) = decisions.undo(&path, &who())?;
    out.warn_all(&complaints);
    let data = Undone {
        plan: project::name(&path),
        took_back: said.entry.name().to_owned(),
        said_at_ms: said.at_ms,
        text: text(&said.entry),
        state: case.state().to_string(),
    };
    let word = out.palette().paint(Tone::Good, "took back");
    let what = format!("{} of {}", data.took_back, clock::local(said.at_ms));
    out.line(&format!(
        "{word}  {}  {}   {}",
        clean_line(&data.plan),
        clean_line(&what),
        clean_line(&data.text)
    ));
    out.line(&format!("           it is {} again", data.state));
    Ok(Answer::done("undo", &data).next(Next::new(["planwright", "review", shown(&path).as_str()])))
}

/// What an entry said, in a line.
fn text(entry: &Entry) -> String {
    match entry {
        Entry::Approved { revision, subject, note, .. } => {
            format!("r{revision} {} {note}", &subject.digest[..subject.digest.len().min(8)])
                .trim_end()
                .to_owned()
        }
        Entry::Rejected { feedback, .. } => feedback.clone(),
        Entry::Commented { text, .. } | Entry::Answered { text, .. } => text.clone(),
        Entry::Reopened { why, .. } | Entry::Cancelled { why, .. } => why.clone(),
        Entry::Deleted { .. } => "the plan is back".to_owned(),
        Entry::Proposed { .. }
        | Entry::Drafted { .. }
        | Entry::Discovered { .. }
        | Entry::Added { .. }
        | Entry::Lapsed { .. }
        | Entry::Started { .. }
        | Entry::Ended { .. }
        | Entry::Undone { .. }
        | Entry::Merged { .. }
        | Entry::Evicted { .. }
        | Entry::Archived { .. } => String::new(),
    }
}
