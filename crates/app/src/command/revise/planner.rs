//! `revise PLAN --planner`: has a planner write the next version of a plan after a step failed, and proposes it.
//! Finished steps stay finished; the new version needs its own approval, and the number of versions is limited.

use planwright_engine::api::{
    AnswerOrigin, Identity, NewVersion, Plan, PlannerAnswer, Revision, RevisionAuthor, RevisionOptions,
    WrittenVersion, read_input,
};

use crate::interaction::confirm::who;
use crate::interaction::planner;
use crate::interaction::planner::Reached;
use crate::interaction::project::workspace;
use crate::interaction::proposal;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// The plan, or PLAN/STEP, which `revise` takes
    #[arg(skip)]
    pub(crate) plan: String,
    /// Failed step [default: from the run]
    #[arg(long, value_name = "STEP", requires = "next_version", help_heading = "Next version")]
    step: Option<String>,
    /// Why the step failed [default: from the run]
    #[arg(long, value_name = "TEXT", requires = "next_version", help_heading = "Next version")]
    error: Option<String>,
    /// Tell the planner something new (repeatable)
    #[arg(long = "discovery", value_name = "TEXT", requires = "next_version", help_heading = "Next version")]
    discoveries: Vec<String>,
    /// Add a constraint for the new version (repeatable)
    #[arg(
        long = "constraint",
        value_name = "TEXT",
        requires = "next_version",
        help_heading = "Next version"
    )]
    constraints: Vec<String>,
    /// Copy the steps for you to edit; ask no planner
    #[arg(long, conflicts_with_all = ["from", "agent", "tries"], help_heading = "Next version")]
    copy: bool,
    /// What changed, if you write the version yourself
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        requires = "next_version",
        help_heading = "Next version"
    )]
    changes: String,
    /// Why it changed
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        requires = "next_version",
        help_heading = "Next version"
    )]
    reasoning: String,
    /// Read the planner's answer from a file; `-` reads standard input
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["agent", "tries"],
        help_heading = "Next version"
    )]
    from: Option<String>,
    /// Agent that writes the version [default: role planner, then coder]
    #[arg(long, value_name = "AGENT", requires = "next_version", help_heading = "Next version")]
    agent: Option<String>,
    /// Times to ask the planner [default: setting draft.tries]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=20),
        requires = "next_version",
        help_heading = "Next version"
    )]
    tries: Option<u32>,
    /// Write the new version without proposing it
    #[arg(long, requires = "next_version", help_heading = "Next version")]
    no_propose: bool,
}

impl Args {
    /// Whether a next version is asked for without `--planner`.
    pub(crate) const fn is_asked_for(&self) -> bool {
        self.copy || self.from.is_some()
    }
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(&args.plan)?;
    let author = match (args.copy, &args.from) {
        (true, _) => RevisionAuthor::Copy,
        (false, Some(_)) => RevisionAuthor::Answer,
        (false, None) => RevisionAuthor::Planner,
    };
    let revision = plan.revision(RevisionOptions {
        step: args.step.clone(),
        error: args.error.clone(),
        discoveries: args.discoveries.clone(),
        constraints: args.constraints.clone(),
        changes: args.changes.clone(),
        reasoning: args.reasoning.clone(),
        author,
    })?;
    revision.refuse_endless(&mut |warning| out.warn(warning))?;
    let (version, origin) = match &args.from {
        Some(file) => match revision.read(&read_input(file, file)?)? {
            PlannerAnswer::Plan(version) => (version, by_hand()),
            PlannerAnswer::Returned(returned) => {
                let mut failure = Failure::new(Exit::No, format!("no valid new version in {file}"));
                failure.causes = returned.complaints;
                return Err(failure.hint("nothing was written"));
            }
            PlannerAnswer::Done(summary) => return Ok(done(&plan, &revision, summary, out)),
            PlannerAnswer::Escalate { step, reason } => {
                return escalate(&plan, &revision, (step.as_deref(), &reason), &who(), out);
            }
        },
        None if args.copy => (Box::new(revision.copy()?), by_hand()),
        None => {
            let mut talk = revision.ask(args.agent.as_deref(), args.tries)?;
            let reached = planner::converse(&mut talk, |said| revision.read(said), out)?;
            let by = Identity::agent(talk.planner.name);
            match reached {
                Reached::Plan(version, tries) => (version, AnswerOrigin { by, tries, changed: talk.changed }),
                Reached::Escalated { step, reason } => {
                    return escalate(&plan, &revision, (step.as_deref(), &reason), &by, out);
                }
            }
        }
    };
    write(args, &revision, *version, origin, out)
}

fn by_hand() -> AnswerOrigin {
    AnswerOrigin { by: who(), tries: 0, changed: Vec::new() }
}

/// Writes the new version and proposes it.
fn write(
    args: &Args,
    revision: &Revision<'_>,
    version: NewVersion,
    origin: AnswerOrigin,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let WrittenVersion { plan, by, mut view } = revision.write(version, origin)?;
    out.line(&format!("{}  {}", out.palette().paint(Tone::Good, "wrote"), clean_line(&view.path)));
    planner::tell_reasoning("changes", &view.changes, out);
    planner::tell_reasoning("why", &view.reasoning, out);
    // A copy still contains the failure: edit it first.
    if !args.no_propose && !args.copy {
        let proposed = plan.propose_as(&by)?;
        proposal::print(&proposed, out);
        view.proposed = Some(proposed);
    }
    if revision.has_open_run() {
        out.talk("the run of the old version is still open; end it with `planwright cancel`");
    }
    let verb = if view.proposed.is_some() { "review" } else { "verify" };
    let next = NextCommand::new(["planwright", verb, view.path.as_str()]);
    Ok(Response::done("replan", &view).next(next))
}

/// Prints that the agent reports the work as done; this changes no state.
fn done(plan: &Plan, revision: &Revision<'_>, summary: String, out: &mut Out<'_>) -> Response {
    planner::tell_report(&summary, out);
    let next = NextCommand::new(["planwright", "status", plan.name().as_str()]);
    Response::done("replan", &revision.unwritten("done", summary)).next(next)
}

/// Records what the agent wants a person to look at.
fn escalate(
    plan: &Plan,
    revision: &Revision<'_>,
    (step, reason): (Option<&str>, &str),
    by: &Identity,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let text = format!("needs a person: {reason}");
    let number = revision.escalate(step, by, &text)?;
    let word = out.palette().paint(Tone::Attention, "commented");
    out.line(&format!("{word}  {}   {}", clean_line(&plan.name()), clean_line(&text)));
    out.talk(&format!("saved as comment {number}; no new version was written"));
    let next = NextCommand::new(["planwright", "comment", plan.shown().as_str()]);
    let view = revision.unwritten("escalate", reason.to_owned());
    Ok(Response::new(Exit::Person, "replan", &view).next(next))
}
