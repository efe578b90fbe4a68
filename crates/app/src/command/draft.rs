//! `draft`: has a planner write a plan for a request, and proposes it. The planner only answers; planwright checks
//! the answer, sends it back with the errors, and writes the file.

use planwright_engine::api::{
    AnswerOrigin, DraftAnswer, DraftRequest, DraftedView, Identity, PlannerAnswer, STDIN, Workspace,
    WrittenDraft, read_input,
};

use crate::interaction::confirm::who;
use crate::interaction::duplicate;
use crate::interaction::planner;
use crate::interaction::planner::Reached;
use crate::interaction::project::workspace;
use crate::interaction::proposal;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Task for the plan
    #[arg(value_name = "WISH", required_unless_present_any = ["from_issue", "from"])]
    wish: Option<String>,
    /// Plan name [default: from the title]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Relevant file (repeatable)
    #[arg(long, value_name = "PATH", num_args = 1..)]
    code: Vec<String>,
    /// Fact from earlier work (repeatable)
    #[arg(long = "memory", value_name = "TEXT")]
    memories: Vec<String>,
    /// Constraint for the plan (repeatable)
    #[arg(long = "constraint", value_name = "TEXT")]
    constraints: Vec<String>,
    /// Read the issue from a file; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    from_issue: Option<String>,
    /// Read the planner's answer from a file; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agent", "tries", "from_issue"])]
    from: Option<String>,
    /// Agent that writes the plan [default: role planner, then coder]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Times to ask the planner [default: setting draft.tries]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    tries: Option<u32>,
    /// Write the plan without proposing it
    #[arg(long)]
    no_propose: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let workspace = workspace()?;
    args.name.as_deref().map(|name| workspace.may_draft(name)).transpose()?;
    let task = task(args)?;
    let (answer, origin) = match &args.from {
        Some(file) => match workspace.read_draft(&read_input(file, file)?)? {
            PlannerAnswer::Plan(answer) => {
                (answer, AnswerOrigin { by: who(), tries: 0, changed: Vec::new() })
            }
            PlannerAnswer::Returned(returned) => return Err(refused(file, returned.complaints)),
            PlannerAnswer::Done(summary) => return Ok(done(summary, out)),
            PlannerAnswer::Escalate { reason, .. } => return Err(needs_person(&reason)),
        },
        None => ask(args, &workspace, &task, out)?,
    };
    let written = workspace.write_draft(*answer, task, origin, args.name.as_deref())?;
    finish(args, written, out)
}

/// Asks a planner until it has written a plan.
fn ask(
    args: &Args,
    workspace: &Workspace,
    task: &str,
    out: &mut Out<'_>,
) -> Result<(Box<DraftAnswer>, AnswerOrigin), Failure> {
    let Args { code, memories, constraints, .. } = args;
    let request = DraftRequest { task, code, memories, constraints };
    let mut talk = workspace.ask_for_draft(request, args.agent.as_deref(), args.tries)?;
    match planner::converse(&mut talk, |said| workspace.read_draft(said), out)? {
        Reached::Plan(answer, tries) => {
            let origin =
                AnswerOrigin { by: Identity::agent(talk.planner.name), tries, changed: talk.changed };
            Ok((answer, origin))
        }
        Reached::Escalated { reason, .. } => Err(needs_person(&reason)),
    }
}

fn needs_person(reason: &str) -> Failure {
    Failure::new(Exit::Person, format!("the planner needs a person: {reason}"))
        .hint("nothing was written; add detail to the request, or pass --constraint")
}

/// Prints that the agent reports the work as done; this changes no state.
fn done(summary: String, out: &mut Out<'_>) -> Response {
    planner::tell_report(&summary, out);
    Response::done("draft", &DraftedView::done(summary, &who()))
        .next(NextCommand::new(["planwright", "status"]))
}

/// The request, and the issue it is about.
fn task(args: &Args) -> Result<String, Failure> {
    let issue = args.from_issue.as_deref().map(|file| read_input(file, file)).transpose()?;
    let parts: Vec<&str> = args.wish.iter().chain(&issue).map(|text| text.trim()).collect();
    let task = parts.join("\n\n");
    if task.trim().is_empty() && args.from.is_none() {
        return Err(Failure::new(Exit::Usage, "missing request: planwright draft \"what you want\"")
            .hint("describe what you want done in a sentence or more")
            .next(NextCommand::new(["planwright", "help", "draft"])));
    }
    Ok(task)
}

fn refused(file: &str, complaints: Vec<String>) -> Failure {
    let from = if file == STDIN { "standard input" } else { file };
    let mut failure = Failure::new(Exit::No, format!("no valid plan in {from}"));
    failure.causes = complaints;
    failure.hint("nothing was written")
}

/// Says what was written, and proposes it.
fn finish(args: &Args, written: WrittenDraft, out: &mut Out<'_>) -> Result<Response, Failure> {
    let WrittenDraft { plan, duplicates, by, mut view } = written;
    duplicate::warn_of_duplicates(&duplicates, out);
    let path = plan.shown();
    let word = out.palette().paint(Tone::Good, "wrote");
    out.line(&format!("{word}     {}   {}", clean_line(&path), wording::number(view.steps, "step")));
    planner::tell_reasoning("why", &view.reasoning, out);
    if !args.no_propose {
        let proposed = plan.propose_as(&by)?;
        proposal::print(&proposed, out);
        view.proposed = Some(proposed);
    }
    let verb = match &view.proposed {
        None => "propose",
        Some(proposed) if proposed.approved_by_rule.is_some() => "run",
        Some(_) => "review",
    };
    Ok(Response::done("draft", &view).next(NextCommand::new(["planwright", verb, path.as_str()])))
}
