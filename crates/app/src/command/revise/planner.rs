//! `revise PLAN --planner`: has a planner write the next version of a plan after a step failed, and proposes it.
//! Finished steps stay finished; the new version needs its own approval, and the number of versions is limited.

mod case;
mod version;

use planwright_engine::Verified;
use planwright_engine::agent::planner as agent;
use planwright_engine::approval::Approvals;
use planwright_engine::core::agent::planner as planning;
use planwright_engine::core::agent::planner::FailureContext as Failed;
use planwright_engine::core::agent::planner::plan_json;
use planwright_engine::core::agent::planner::plan_json::PlanJsonAction;
use planwright_engine::core::approval::ledger::{Drafting, Setback};
use planwright_engine::core::plan::identity::Identity;
use planwright_engine::core::syntax::source::Source;
use planwright_engine::run::baseline;
use planwright_engine::store::plan_file::FileText;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::planner;
use crate::interaction::planner::{Judged, Talk};
use crate::interaction::proposal;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use case::Case;
use planwright_engine::api::shown;
use planwright_engine::api::{ProposalView, propose_written};

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Replanned {
    /// `plan`, or `done` or `escalate` if the answer is not a plan.
    pub(crate) action: String,
    /// The old version.
    pub(crate) previous: String,
    /// The id of the new version; empty where there is none.
    pub(crate) id: String,
    /// Its file.
    pub(crate) path: String,
    /// The step that failed.
    pub(crate) failed: String,
    /// Why.
    pub(crate) error: String,
    /// What is different, in the planner's words.
    pub(crate) changes: String,
    /// Why, in the planner's words.
    pub(crate) reasoning: String,
    /// Ids of the finished steps that were kept.
    pub(crate) kept: Vec<String>,
    /// How often the planner was asked; 0 if it was not.
    pub(crate) tries: u32,
    /// What was proposed; `None` where nothing was.
    pub(crate) proposed: Option<ProposalView>,
}

/// A new version that can be used.
struct Found {
    verified: Verified,
    changes: String,
    reasoning: String,
}

/// What an answer comes to.
enum Read {
    Plan(Box<Judged<Found>>),
    Done(String),
    Escalate(Option<String>, String),
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let case = Case::of(args)?;
    case.refuse_endless(args, out)?;
    if args.copy {
        let text = version::copied(args, &case)?;
        let found = Found {
            verified: baseline::verify_text(&case.project, FileText::Plan(text))?,
            changes: args.changes.clone(),
            reasoning: args.reasoning.clone(),
        };
        return write(args, &case, found, (who(), 0, Vec::new()), out);
    }
    if let Some(file) = &args.from {
        return match read(args, &case, &planner::input(file)?)? {
            Read::Plan(judged) => match *judged {
                Judged::Fit(found) => write(args, &case, found, (who(), 0, Vec::new()), out),
                Judged::Returned { complaints, .. } => {
                    let mut failure = Failure::new(Exit::No, format!("no valid new version in {file}"));
                    failure.causes = complaints;
                    Err(failure.hint("nothing was written"))
                }
            },
            Read::Done(summary) => Ok(done(&case, summary, out)),
            Read::Escalate(step, reason) => escalate(&case, step.as_deref(), (&who(), &reason), out),
        };
    }
    let asked = planner::find(&case.project, args.agent.as_deref())?;
    let tries = args.tries.unwrap_or(case.project.config.draft.tries);
    let talk = Talk {
        project: &case.project,
        planner: &asked,
        first: prompt(args, &case),
        tries,
        hand_in: ["planwright", "revise", &shown(&case.path), "--from"].map(str::to_owned).to_vec(),
    };
    let mut called = None;
    let judge = |said: &str| match read(args, &case, said)? {
        Read::Plan(judged) => Ok(*judged),
        Read::Done(_) => Ok(Judged::Returned {
            plan: None,
            complaints: vec!["a report is not a plan: answer with the whole plan".to_owned()],
        }),
        Read::Escalate(step, reason) => {
            called = Some((step, reason.clone()));
            Err(Failure::new(Exit::Person, format!("the planner needs a person: {reason}")))
        }
    };
    let reached = match planner::converse(&talk, judge, out) {
        Ok(reached) => reached,
        Err(failure) => match called {
            Some((step, reason)) => {
                let by = Identity::agent(asked.name);
                return escalate(&case, step.as_deref(), (&by, &reason), out);
            }
            None => return Err(failure),
        },
    };
    write(args, &case, reached.value, (Identity::agent(asked.name), reached.tries, reached.changed), out)
}

fn prompt(args: &Args, case: &Case) -> String {
    let around = agent::surroundings(&case.project, &case.draft);
    let named = |place: usize| {
        format!("step {} `{}`: {}", place + 1, case.ids[place], case.draft.steps[place].title.value)
    };
    let finished: Vec<String> = case.finished.iter().map(|&place| named(place)).collect();
    let earlier: Vec<String> = case
        .setbacks
        .iter()
        .map(|setback| format!("{}: step `{}`: {}", setback.previous, setback.step, setback.error))
        .collect();
    let step = case.failed.map_or_else(|| "not named; see below".to_owned(), named);
    planning::replan(&Failed {
        plan: &case.source,
        language: case.language(),
        finished: &finished,
        step: &step,
        error: &case.error,
        discoveries: &args.discoveries,
        constraints: &args.constraints,
        earlier: &earlier,
        around: &around,
    })
}

/// Reads an answer and has the version in it checked: by the rules, and by what it owes the version before.
fn read(args: &Args, case: &Case, said: &str) -> Result<Read, Failure> {
    let returned = |plan: Option<Source>, complaints: Vec<String>| {
        Ok(Read::Plan(Box::new(Judged::Returned { plan, complaints })))
    };
    let (text, changes, reasoning) = match plan_json::find(said) {
        Some(Err(fault)) => return returned(None, vec![fault.to_string()]),
        Some(Ok(PlanJsonAction::Done { summary })) => return Ok(Read::Done(summary)),
        Some(Ok(PlanJsonAction::Escalate { step, reason })) => return Ok(Read::Escalate(step, reason)),
        Some(Ok(PlanJsonAction::Plan(planned))) => {
            if let Some(fault) = case.other_revision(planned.revision)? {
                return returned(None, vec![fault]);
            }
            let text = match planned.replace_from {
                Some(_) => plan_json::replace(&case.source, &planned),
                None => Ok(plan_json::compose(&planned)),
            };
            match text {
                Ok(text) => (text, String::new(), plan_json::around(said)),
                Err(fault) => return returned(None, vec![fault.to_string()]),
            }
        }
        None => match planning::read(said, case.source.dialect()) {
            Ok(answer) => (answer.plan, answer.changes, answer.reasoning),
            Err(fault) => return returned(None, vec![fault.to_string()]),
        },
    };
    let changes = if args.changes.is_empty() { changes } else { args.changes.clone() };
    let reasoning = if args.reasoning.is_empty() { reasoning } else { args.reasoning.clone() };
    let written = case.source.with(text);
    let next = match version::adopted(args, case, &written, (&changes, &reasoning)) {
        Ok(next) => next,
        Err(refusal) => return returned(Some(written), vec![refusal.to_string()]),
    };
    let verified = baseline::verify_text(&case.project, FileText::Plan(next))?;
    let mut complaints = planning::complaints(&verified.source, &verified.diagnostics);
    complaints.extend(planning::unkept(&case.draft, &case.finished, &verified.source.draft()));
    complaints.extend(
        case.same_as(&verified.source)
            .map(|name| format!("identical to {name}, which failed: change what made it fail")),
    );
    match complaints.is_empty() && verified.plan.is_some() {
        true => Ok(Read::Plan(Box::new(Judged::Fit(Found { verified, changes, reasoning })))),
        false => returned(Some(written), complaints),
    }
}

/// Writes the new version, records why there is one, and proposes it.
fn write(
    args: &Args,
    case: &Case,
    found: Found,
    (by, tries, changed): (Identity, u32, Vec<String>),
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let file = case.file();
    planwright_engine::store::plan_file::create_plan(
        &file,
        found.verified.source.text(),
        case.source.dialect(),
    )?;
    let verified = baseline::verify(&case.project, &file, &shown(&file))?;
    let step = case.failed.map(|place| case.ids[place].clone()).unwrap_or_default();
    let drafting = Drafting {
        task: case.draft.title.as_ref().map(|title| title.value.clone()).unwrap_or_default(),
        reasoning: found.reasoning.clone(),
        changes: found.changes.clone(),
        tries,
        changed,
        after: Some(Setback {
            previous: case.name.clone(),
            step: step.clone(),
            error: case.error.clone(),
            discoveries: args.discoveries.clone(),
            constraints: args.constraints.clone(),
        }),
    };
    let decisions = Approvals::open(&case.project)?;
    let digest = verified.plan.as_ref().map(planwright_engine::core::plan::digest::Digest::of);
    let digest = digest.map(|digest| digest.to_string()).unwrap_or_default();
    decisions.drafted(&file, &by, &digest, &drafting)?;
    out.line(&format!("{}  {}", out.palette().paint(Tone::Good, "wrote"), clean_line(&shown(&file))));
    planner::tell_reasoning("changes", &found.changes, out);
    planner::tell_reasoning("why", &found.reasoning, out);
    let mut proposed = None;
    // A copy still contains the failure: edit it first.
    if !args.no_propose && !args.copy {
        let offered = propose_written(&decisions, &file, &verified, &by)?;
        proposal::print(&offered, out);
        proposed = Some(offered);
    }
    case.talk_of_the_old_run(out);
    let verb = if proposed.is_some() { "review" } else { "verify" };
    let next = NextCommand::new(["planwright", verb, shown(&file).as_str()]);
    let data = Replanned {
        action: "plan".to_owned(),
        previous: shown(&case.path),
        id: case.next.id.clone(),
        path: shown(&file),
        failed: step,
        error: case.error.clone(),
        changes: found.changes,
        reasoning: found.reasoning,
        kept: case.finished.iter().map(|&place| case.ids[place].clone()).collect(),
        tries,
        proposed,
    };
    Ok(Response::done("replan", &data).next(next))
}

fn nothing(case: &Case, action: &str, reasoning: String) -> Replanned {
    Replanned {
        action: action.to_owned(),
        previous: shown(&case.path),
        id: String::new(),
        path: String::new(),
        failed: case.failed.map(|place| case.ids[place].clone()).unwrap_or_default(),
        error: case.error.clone(),
        changes: String::new(),
        reasoning,
        kept: Vec::new(),
        tries: 0,
        proposed: None,
    }
}

/// Prints that the agent reports the work as done; this changes no state.
fn done(case: &Case, summary: String, out: &mut Out<'_>) -> Response {
    out.line(&format!("the agent reports: {}", clean_line(&summary)));
    out.talk("no plan was written: the agent reports the work as done, but only contracts decide");
    let next = NextCommand::new(["planwright", "status", case.name.as_str()]);
    Response::done("replan", &nothing(case, "done", summary)).next(next)
}

/// Records what the agent wants a person to look at. It opens no question and ends nothing.
fn escalate(
    case: &Case,
    step: Option<&str>,
    (by, reason): (&Identity, &str),
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let known = step
        .and_then(|step| planwright_engine::core::plan::verified::find_step(&case.draft, &case.ids, step));
    let step = known.or(case.failed).map(|place| case.ids[place].as_str());
    let text = format!("needs a person: {reason}");
    let number = Approvals::open(&case.project)?.comment(&case.path, step, by, &text)?;
    let word = out.palette().paint(Tone::Attention, "commented");
    out.line(&format!("{word}  {}   {}", clean_line(&case.name), clean_line(&text)));
    out.talk(&format!("saved as comment {number}; no new version was written"));
    let next = NextCommand::new(["planwright", "comment", shown(&case.path).as_str()]);
    let data = nothing(case, "escalate", reason.to_owned());
    Ok(Response::new(Exit::Person, "replan", &data).next(next))
}
