//! `draft`: has a planner write a plan for a request, and proposes it. The planner only answers; planwright checks
//! the answer, sends it back with the errors, and writes the file.

use std::path::{Path, PathBuf};

use planwright_engine::agent::planner as agent;
use planwright_engine::approval::Approvals;
use planwright_engine::core::agent::planner as planning;
use planwright_engine::core::agent::planner::PlanRequest;
use planwright_engine::core::agent::planner::plan_json;
use planwright_engine::core::agent::planner::plan_json::PlanJsonAction;
use planwright_engine::core::approval::ledger::Drafting;
use planwright_engine::core::dialect::{NATIVE, NewPlan};
use planwright_engine::core::plan::digest::Digest;
use planwright_engine::core::plan::draft::Draft;
use planwright_engine::core::plan::edit::PlanEdit;
use planwright_engine::core::plan::identity::Identity;
use planwright_engine::core::plan::lifecycle::PlanState;
use planwright_engine::core::plan::verified;
use planwright_engine::core::syntax::source::Source;
use planwright_engine::run::baseline;
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::system::clock;
use planwright_engine::workspace::active_plan;
use planwright_engine::{Project, Verified};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::duplicate::warn_of_twins;
use crate::interaction::planner;
use crate::interaction::planner::{Judged, Talk};
use crate::interaction::project::here;
use crate::interaction::proposal;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{ProposalView, propose_written};

/// How many names are tried for a plan that has none of its own.
const NAMES_MAX: u32 = 1000;

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Drafted {
    /// `plan`, or `done` where the answer only says so.
    pub(crate) action: String,
    /// The plan; `None` where none was written.
    pub(crate) plan: Option<String>,
    /// Its file.
    pub(crate) path: Option<String>,
    /// How many steps it has.
    pub(crate) steps: usize,
    /// Its digest.
    pub(crate) digest: String,
    /// Who wrote it.
    pub(crate) by: String,
    /// How often the planner was asked; 0 if it was not.
    pub(crate) tries: u32,
    /// Why it is as it is, in the planner's words.
    pub(crate) reasoning: String,
    /// Files that changed while the planner was at work.
    pub(crate) changed: Vec<String>,
    /// What was proposed; `None` where nothing was.
    pub(crate) proposed: Option<ProposalView>,
}

/// A plan that can be used.
struct Found {
    verified: Verified,
    reasoning: String,
}

/// What an answer comes to.
enum Read {
    Plan(Box<Judged<Found>>),
    /// The agent says that it is done.
    Done(String),
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let project = here()?;
    refuse_name(args, &project)?;
    let task = task(args)?;
    let (found, by, tries, changed) = match &args.from {
        Some(file) => match read(&project, &planner::input(file)?)? {
            Read::Done(summary) => return Ok(done(summary, out)),
            Read::Plan(judged) => match *judged {
                Judged::Fit(found) => (found, who(), 0, Vec::new()),
                Judged::Returned { complaints, .. } => return Err(refused(file, complaints)),
            },
        },
        None => {
            let asked = planner::find(&project, args.agent.as_deref())?;
            let around = agent::surroundings(&project, &Draft::default());
            let code: Vec<_> = args.code.iter().map(|path| agent::code(&project, path)).collect();
            let wish = PlanRequest {
                task: &task,
                code: &code,
                memories: &args.memories,
                constraints: &args.constraints,
                around: &around,
            };
            let tries = args.tries.unwrap_or(project.config.draft.tries);
            let talk = Talk {
                project: &project,
                planner: &asked,
                first: planning::wish(&wish),
                tries,
                hand_in: ["planwright", "draft", "--from"].map(str::to_owned).to_vec(),
            };
            let judge = |said: &str| match read(&project, said)? {
                Read::Plan(judged) => Ok(*judged),
                Read::Done(_) => Ok(Judged::Returned {
                    plan: None,
                    complaints: vec!["a report is not a plan: answer with a plan".to_owned()],
                }),
            };
            let reached = planner::converse(&talk, judge, out)?;
            (reached.value, Identity::agent(asked.name), reached.tries, reached.changed)
        }
    };
    let drafting = Drafting { task, reasoning: found.reasoning, tries, changed, ..Drafting::default() };
    write(args, &project, (found.verified, drafting, by), out)
}

/// Prints that the agent reports the work as done; this changes no state.
fn done(summary: String, out: &mut Out<'_>) -> Response {
    out.line(&format!("the agent reports: {}", clean_line(&summary)));
    out.talk("no plan was written: the agent reports the work as done, but only contracts decide");
    let data = Drafted {
        action: "done".to_owned(),
        plan: None,
        path: None,
        steps: 0,
        digest: String::new(),
        by: who().to_string(),
        tries: 0,
        reasoning: summary,
        changed: Vec::new(),
        proposed: None,
    };
    Response::done("draft", &data).next(NextCommand::new(["planwright", "status"]))
}

/// The request, and the issue it is about.
fn task(args: &Args) -> Result<String, Failure> {
    let issue = args.from_issue.as_deref().map(planner::input).transpose()?;
    let parts: Vec<&str> = args.wish.iter().chain(&issue).map(|text| text.trim()).collect();
    let task = parts.join("\n\n");
    if task.trim().is_empty() && args.from.is_none() {
        return Err(Failure::new(Exit::Usage, "missing request: planwright draft \"what you want\"")
            .hint("describe what you want done in a sentence or more")
            .next(NextCommand::new(["planwright", "help", "draft"])));
    }
    Ok(task)
}

/// Rejects an invalid or existing name before the planner is asked.
fn refuse_name(args: &Args, project: &Project) -> Result<(), Failure> {
    let Some(name) = &args.name else { return Ok(()) };
    if name.is_empty() || verified::slug(name) != *name {
        let failure = Failure::new(Exit::Usage, format!("`{name}` is not a valid plan name"));
        return Err(failure.hint("use lowercase letters, digits and dashes"));
    }
    let path = home(project, name)?;
    if plan_file::is_there(&path) {
        return Err(plan_file::Error::Exists { path }.into());
    }
    Ok(())
}

fn home(project: &Project, name: &str) -> Result<PathBuf, Failure> {
    let home =
        (project.dialect.unwrap_or(NATIVE).home)(name, &planwright_engine::store::plan_file::chance()?);
    Ok(active_plan::place(project, &home.path))
}

/// Reads an answer and has the plan in it checked.
fn read(project: &Project, said: &str) -> Result<Read, Failure> {
    let returned = |complaint: String| {
        Ok(Read::Plan(Box::new(Judged::Returned { plan: None, complaints: vec![complaint] })))
    };
    let (text, reasoning) = match plan_json::find(said) {
        Some(Err(fault)) => return returned(fault.to_string()),
        Some(Ok(PlanJsonAction::Done { summary })) => return Ok(Read::Done(summary)),
        Some(Ok(PlanJsonAction::Escalate { reason, .. })) => {
            let failure = Failure::new(Exit::Person, format!("the planner needs a person: {reason}"));
            return Err(failure.hint("nothing was written; add detail to the request, or pass --constraint"));
        }
        Some(Ok(PlanJsonAction::Plan(planned))) if planned.replace_from.is_some() => {
            return returned(
                "`replace_from_step` applies to an existing plan; use `planwright revise PLAN --from`"
                    .to_owned(),
            );
        }
        Some(Ok(PlanJsonAction::Plan(planned))) => (plan_json::compose(&planned), plan_json::around(said)),
        None => match planning::read(said, NATIVE) {
            Ok(answer) => (answer.plan, answer.reasoning),
            Err(fault) => return returned(fault.to_string()),
        },
    };
    let source = Source::new("the plan", text).at("plans/draft.md").written_in(NATIVE);
    let source = match without_claims(&source) {
        Ok(source) => source,
        Err(complaint) => return returned(complaint),
    };
    let verified = baseline::verify_text(project, FileText::Plan(source))?;
    if verified.plan.is_some() {
        return Ok(Read::Plan(Box::new(Judged::Fit(Found { verified, reasoning }))));
    }
    let complaints = planning::complaints(&verified.source, &verified.diagnostics);
    Ok(Read::Plan(Box::new(Judged::Returned { plan: Some(verified.source), complaints })))
}

/// The plan as a draft of which nothing is done, whatever its author says.
fn without_claims(source: &Source) -> Result<Source, String> {
    let draft = source.draft();
    let marked = draft.steps.iter().enumerate().filter(|(_, step)| !step.marks.is_empty());
    let mut changes: Vec<PlanEdit> = marked.map(|(step, _)| PlanEdit::Mark { step, mark: None }).collect();
    let is_draft = draft.state.as_ref().is_some_and(|state| state.value == PlanState::Draft);
    changes.extend((!is_draft).then_some(PlanEdit::Become { state: PlanState::Draft }));
    let edits = NATIVE.patch_all(source, &changes);
    edits
        .map(|edits| source.edited(&edits))
        .map_err(|refusal| format!("the plan must have `status: draft` and no step marked done ({refusal})"))
}

fn refused(file: &str, complaints: Vec<String>) -> Failure {
    let from = if file == "-" { "standard input" } else { file };
    let mut failure = Failure::new(Exit::No, format!("no valid plan in {from}"));
    failure.causes = complaints;
    failure.hint("nothing was written")
}

/// Writes the plan, records why it is as it is, and proposes it.
fn write(
    args: &Args,
    project: &Project,
    (verified, drafting, by): (Verified, Drafting, Identity),
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let title =
        verified.draft.as_ref().and_then(|draft| draft.title.as_ref()).map(|title| title.value.clone());
    let path = create(args, project, &verified, &title.unwrap_or_else(|| drafting.task.clone()))?;
    // Check the written file: this is what gets proposed.
    let verified = baseline::verify(project, &path, &shown(&path))?;
    if let Some(draft) = &verified.draft {
        warn_of_twins(project, (&path, draft), out)?;
    }
    let digest = verified.plan.as_ref().map(|plan| Digest::of(plan).to_string()).unwrap_or_default();
    let steps = verified.plan.as_ref().map_or(0, |plan| plan.steps.len());
    let decisions = Approvals::open(project)?;
    decisions.drafted(&path, &by, &digest, &drafting)?;
    let count = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
    let word = out.palette().paint(Tone::Good, "wrote");
    out.line(&format!("{word}     {}   {count}", clean_line(&shown(&path))));
    planner::tell_reasoning("why", &drafting.reasoning, out);
    let proposed = match args.no_propose {
        true => None,
        false => Some(propose(&decisions, (&path, &verified), &by, out)?),
    };
    let next = match &proposed {
        None => NextCommand::new(["planwright", "propose", shown(&path).as_str()]),
        Some(proposed) if proposed.approved_by_rule.is_some() => {
            NextCommand::new(["planwright", "run", shown(&path).as_str()])
        }
        Some(_) => NextCommand::new(["planwright", "review", shown(&path).as_str()]),
    };
    let data = Drafted {
        action: "plan".to_owned(),
        plan: Some(plan_file::name(&path)),
        path: Some(shown(&path)),
        steps,
        digest,
        by: by.to_string(),
        tries: drafting.tries,
        reasoning: drafting.reasoning,
        changed: drafting.changed,
        proposed,
    };
    Ok(Response::done("draft", &data).next(next))
}

fn propose(
    decisions: &Approvals,
    (path, verified): (&Path, &Verified),
    by: &Identity,
    out: &mut Out<'_>,
) -> Result<ProposalView, Failure> {
    let proposed = propose_written(decisions, path, verified, by)?;
    proposal::print(&proposed, out);
    Ok(proposed)
}

/// Makes the file, under the name that was asked for or the first free one. Never over one that is there.
fn create(args: &Args, project: &Project, verified: &Verified, title: &str) -> Result<PathBuf, Failure> {
    let slug = verified::slug(title);
    let base = args.name.clone().unwrap_or(if slug.is_empty() { "plan".to_owned() } else { slug });
    let dialect = project.dialect.unwrap_or(NATIVE);
    for count in 1..=NAMES_MAX {
        let name = if count == 1 { base.clone() } else { format!("{base}-{count}") };
        let home = (dialect.home)(&name, &planwright_engine::store::plan_file::chance()?);
        let path = active_plan::place(project, &home.path);
        let text = match dialect.is_native() {
            true => verified.source.text().to_owned(),
            false => {
                dialect.compose(&verified.source.draft(), &NewPlan { id: &home.id, now: &clock::utc_now() })
            }
        };
        match plan_file::create_plan(&path, &text, dialect) {
            Ok(()) => return Ok(path),
            Err(plan_file::Error::Exists { .. }) if args.name.is_none() && count < NAMES_MAX => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::new(Exit::No, format!("all names like {base} already exist"))
        .hint("pass another with --name"))
}
