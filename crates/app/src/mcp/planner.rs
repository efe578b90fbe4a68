//! Tools for agents that write plans: read, check and propose. Approve and reject only return the command a person
//! types.

use std::path::PathBuf;

use planwright_engine::agent::submission;
use planwright_engine::agent::submission::Submission;
use planwright_engine::approval::{Approvals, Proposed};
use planwright_engine::core::agent::integration::SKILL;
use planwright_engine::core::dialect;
use planwright_engine::core::dialect::{NewPlan, proposal};
use planwright_engine::core::plan::tool::ToolKind;
use planwright_engine::core::syntax::diagnostic::Severity;
use planwright_engine::core::verify;
use planwright_engine::run::baseline;
use planwright_engine::run::permission;
use planwright_engine::run::simulate::{SimulatedStep, simulate as look_ahead};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::system::clock;
use planwright_engine::workspace::facts;
use planwright_engine::{Project, Verified};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::shared::{One, PLAN_GET, PLAN_LIST, complaints, refusal, shown};
use super::tool::{McpTool, ToolEffect, ToolError, ToolOutcome, ToolReply, ToolRequest, ToolResult, schema};
use crate::output::wording;

pub(super) const INSTRUCTIONS: &str = "Plans that agents run and only shell commands (contracts) can finish. Read \
    plan_format, write a plan, call plan_propose, fix what it reports. A person approves or rejects it; you never do.";

/// What is said before the part of the skill that teaches the format.
const TAUGHT: &str = "A step is done when its contract, a bash command, exits as expected. planwright runs it after \
    the agent exits; no report counts. Check with plan_verify, submit with plan_propose; then a person decides, and \
    plan_feedback shows what they want changed.\n";

pub(super) const TOOLS: &[McpTool] = &[
    McpTool {
        name: "plan_propose",
        about: "Propose a plan for approval by a person. Pass `plan` (text of a plan file, see plan_format), or \
            title and steps, or only `path` of an existing plan. On errors nothing is proposed: fix them and call \
            again.",
        effect: ToolEffect::Adds,
        schema: schema::<Propose>,
        call: propose,
    },
    PLAN_LIST,
    PLAN_GET,
    McpTool {
        name: "plan_approve",
        about: "Approves nothing: only a person approves. Returns the command to review and approve the plan.",
        effect: ToolEffect::Reads,
        schema: schema::<One>,
        call: approve,
    },
    McpTool {
        name: "plan_reject",
        about: "Rejects nothing: only a person rejects. Returns the command to do it.",
        effect: ToolEffect::Reads,
        schema: schema::<Reject>,
        call: reject,
    },
    McpTool {
        name: "plan_format",
        about: "How to write a plan, and the agents, roles and tools available here. Read it before you write one.",
        effect: ToolEffect::Reads,
        schema: schema::<Nothing>,
        call: format,
    },
    McpTool {
        name: "plan_verify",
        about: "Check a plan; writes and runs nothing. Every error has a line and a fix.",
        effect: ToolEffect::Reads,
        schema: schema::<Which>,
        call: verify_plan,
    },
    McpTool {
        name: "plan_simulate",
        about: "Show what a run would do: waves of steps, agents, files, contracts. Starts nothing.",
        effect: ToolEffect::Reads,
        schema: schema::<Which>,
        call: simulate,
    },
    McpTool {
        name: "plan_feedback",
        about: "Show the state of a plan, every rejection and every comment.",
        effect: ToolEffect::Reads,
        schema: schema::<One>,
        call: feedback,
    },
];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Document C's parameters, and a text as the other way.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Propose {
    title: Option<String>,
    steps: Option<Vec<ProposedStep>>,
    /// tool outputs, notes
    context: Option<String>,
    /// text of a plan file, instead of title and steps
    plan: Option<String>,
    /// path of the new plan, such as plans/name.md
    path: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProposedStep {
    description: String,
    tool: String,
    operation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reject {
    /// name or path of the plan
    id: String,
    /// what should change
    feedback: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// name or path of an existing plan
    id: Option<String>,
    /// or text of a plan file
    plan: Option<String>,
    /// path for that text
    path: Option<String>,
}

/// A plan that a call is about, checked.
struct Given {
    project: Project,
    path: PathBuf,
    verified: Verified,
}

fn there(call: &ToolRequest<'_>, id: &str) -> Result<Given, ToolError> {
    let (project, path) = call.session.plan(id)?;
    let verified = baseline::verify(&project, &path, &shown(&project, &path))?;
    Ok(Given { project, path, verified })
}

fn handed_in(call: &ToolRequest<'_>, text: &str, path: Option<&str>) -> Result<Given, ToolError> {
    let project = call.session.project()?;
    let Submission { path, text } = Submission::of(&project, text, path)?;
    let verified = baseline::verify_text(&project, text)?;
    Ok(Given { project, path, verified })
}

fn which(call: &ToolRequest<'_>) -> Result<Given, ToolError> {
    let Which { id, plan, path } = call.read()?;
    match (id, plan) {
        (Some(id), None) => there(call, &id),
        (None, Some(text)) => handed_in(call, &text, path.as_deref()),
        (Some(_), Some(_)) | (None, None) => {
            Err(ToolError::new("pass either `id` of an existing plan, or `plan`, the text of one"))
        }
    }
}

fn propose(call: &ToolRequest<'_>) -> ToolResult {
    let given: Propose = call.read()?;
    let Given { project, path, verified } = match given {
        Propose { plan: Some(text), title: None, steps: None, path, .. } => {
            handed_in(call, &text, path.as_deref())?
        }
        Propose { plan: None, title: Some(_), steps: Some(_), path: None, .. } => inline(call, &given)?,
        Propose { plan: None, title: None, steps: None, path: Some(path), .. } => there(call, &path)?,
        Propose { .. } => {
            return Err(ToolError::new(
                "pass `plan` (the text of a plan file, with or without `path`), or `title` and `steps`, or `path` alone",
            ));
        }
    };
    if verified.plan.is_none() {
        return Err(refusal(&verified, "nothing was proposed and nothing was written"));
    }
    let decisions = Approvals::open(&project)?;
    // Expired plans no longer block this one.
    decisions.sweep()?;
    let (verified, proposed) = submission::propose(&decisions, &path, verified, &call.session.agent())?;
    Ok(ToolReply::text(told(&shown(&project, &path), &verified, &proposed)).into())
}

/// A proposal out of the steps that document C's `plan_propose` takes.
fn inline(call: &ToolRequest<'_>, given: &Propose) -> Result<Given, ToolError> {
    let project = call.session.project()?;
    let Propose { title, steps, context, .. } = given;
    let mut text = json!({ "title": title, "steps": steps });
    if let Some(context) = context {
        text["context"] = json!(context);
    }
    let draft =
        proposal::inline(&text.to_string()).map_err(|why| ToolError(format!("invalid steps: {why}")))?;
    let dialect = dialect::named("proposal").expect("the proposal dialect exists");
    let home = (dialect.home)("proposal", &planwright_engine::store::plan_file::chance()?);
    let text = dialect.compose(&draft, &NewPlan { id: &home.id, now: &clock::utc_now() });
    let source = planwright_engine::core::syntax::source::Source::new(home.path.as_str(), text);
    let source = source.at(home.path.as_str()).written_in(dialect);
    let path = project.root.join(&home.path);
    let verified = baseline::verify_text(&project, FileText::Plan(source))?;
    Ok(Given { project, path, verified })
}

fn told(path: &str, verified: &Verified, proposed: &Proposed) -> String {
    let revision = &proposed.revision;
    let digest = &revision.subject.digest[..8];
    let word = if proposed.is_known { "was already proposed" } else { "is proposed" };
    let mut text = format!("{path} {word}: revision {}, digest {digest}.\n", revision.number);
    match &proposed.rule {
        Some(rule) => text.push_str(&format!("Policy rule `{rule}` approved it.\n")),
        None => text.push_str(&format!(
            "It is pending review: a person decides with `planwright review {path}`. You can't; plan_feedback shows their feedback.\n"
        )),
    }
    if verified.count(Severity::Warning) > 0 {
        text.push_str(&format!("Warnings:\n\n{}", complaints(verified)));
    }
    text
}

fn approve(call: &ToolRequest<'_>) -> ToolResult {
    let One { id } = call.read()?;
    let (what, commands) = standing(call, &id, |path, digest| {
        let approve = digest.map(|digest| format!("planwright approve {path} --rev {digest}"));
        std::iter::once(format!("planwright review {path}")).chain(approve).collect()
    })?;
    Ok(left_to_a_person("approves", &what, &commands))
}

fn reject(call: &ToolRequest<'_>) -> ToolResult {
    let Reject { id, feedback } = call.read()?;
    let feedback = wording::word(feedback.as_deref().unwrap_or("what should change"));
    let (what, commands) =
        standing(call, &id, |path, _| vec![format!("planwright reject {path} -m {feedback}")])?;
    Ok(left_to_a_person("rejects", &what, &commands))
}

/// The state of a plan, and the commands a person can type.
fn standing(
    call: &ToolRequest<'_>,
    id: &str,
    commands: impl FnOnce(&str, Option<&str>) -> Vec<String>,
) -> Result<(String, Vec<String>), ToolError> {
    let (project, path) = call.session.plan(id)?;
    let shown = shown(&project, &path);
    let case = Approvals::open_existing(&project)?.map(|decisions| decisions.case(&path)).transpose()?;
    let newest = case.as_ref().and_then(|case| Some((case.state(), case.standing.newest()?)));
    let what = match &newest {
        Some((state, newest)) => format!("{shown} is {state} (revision {})", newest.number),
        None => format!("{shown} is not proposed"),
    };
    let digest = newest.as_ref().and_then(|(_, newest)| newest.subject.digest.get(..8));
    Ok((what, commands(&wording::word(&shown), digest)))
}

fn left_to_a_person(verb: &str, what: &str, commands: &[String]) -> ToolOutcome {
    let text = format!(
        "Only a person {verb} a plan, never an agent. Nothing was changed: {what}. Ask the person to type:\n  {}",
        commands.join("\n  ")
    );
    ToolReply::error(text).into()
}

fn format(call: &ToolRequest<'_>) -> ToolResult {
    call.read::<Nothing>()?;
    let project = call.session.project()?;
    let mut text = format!("{TAUGHT}{}\n", section(SKILL, "\n## The format\n", "\n## Which model"));
    let roles = project.config.roles.iter().map(|(role, agent)| format!("{role} ({agent})"));
    let others = facts::agents(&project).into_iter().filter(|name| !project.config.roles.contains_key(name));
    let targets: Vec<String> = roles.chain(others).collect();
    text.push_str(&format!("\nAvailable targets: {}.\n", targets.join(", ")));
    let tools = permission::inventory(&project.config);
    if !tools.is_empty() {
        let all: Vec<&str> = ToolKind::words().collect();
        text.push_str(&format!(
            "\n{tools}Steps can use these, and the tools of every agent: {}.\n",
            all.join(", ")
        ));
    }
    Ok(ToolReply::text(text).into())
}

/// The text between two headings; all of it if one is missing.
fn section<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_default();
    let end = text[start..].find(to).map_or(text.len(), |length| start + length);
    &text[start..end]
}

fn verify_plan(call: &ToolRequest<'_>) -> ToolResult {
    let Given { verified, .. } = which(call)?;
    match &verified.plan {
        None => Err(refusal(&verified, "nothing was written")),
        Some(plan) => {
            let steps = wording::number(plan.steps.len(), "step");
            let warnings = complaints(&verified);
            let warnings = if warnings.is_empty() { String::new() } else { format!("\n\n{warnings}") };
            Ok(ToolReply::text(format!("No errors: {steps} ({}).{warnings}", verified.dialect().name)).into())
        }
    }
}

fn simulate(call: &ToolRequest<'_>) -> ToolResult {
    let Given { project, path, verified } = which(call)?;
    let Some(plan) = verify::trusted(&verified.source) else {
        return Err(refusal(&verified, "so nothing would run"));
    };
    let simulation = look_ahead(&project, &plan_file::name(&path), &plan)?;
    let waves: Vec<Vec<serde_json::Value>> =
        simulation.waves.iter().map(|wave| wave.iter().map(ahead).collect()).collect();
    let data = json!({
        "plan": simulation.plan,
        "digest": simulation.digest,
        "waves": waves,
        "contracts": simulation.contracts,
        "attempts_max": simulation.attempts_max,
        "forecast": simulation.forecast.as_ref().map(wording::forecast),
    });
    Ok(ToolReply::data(&data).into())
}

fn ahead(step: &SimulatedStep) -> serde_json::Value {
    let missing = step.tools.iter().filter(|tool| !tool.is_here).map(|tool| &tool.tool);
    json!({
        "id": step.id,
        "agent": step.agent,
        "has_command": !step.command.is_empty(),
        "reads": step.reads.iter().map(|read| json!({"what": read.reference, "tokens": read.tokens})).collect::<Vec<_>>(),
        "tools_missing": missing.collect::<Vec<_>>(),
        "touches": step.touches.as_ref().map(|globs| json!({"globs": globs, "files_now": step.files_count})),
        "contract": step.contract,
        "attempts_max": step.attempts_max,
    })
}

fn feedback(call: &ToolRequest<'_>) -> ToolResult {
    let One { id } = call.read()?;
    let (project, path) = call.session.plan(&id)?;
    let case = Approvals::open(&project)?.case(&path)?;
    let standing = &case.standing;
    let rejections = standing.rejections.iter().map(|rejection| {
        json!({"revision": rejection.revision, "by": rejection.by.to_string(), "feedback": rejection.feedback})
    });
    let comments = standing.comments.iter().map(|comment| {
        json!({
            "number": comment.number,
            "revision": comment.revision,
            "step": comment.step,
            "by": comment.by.to_string(),
            "text": comment.text,
            "answer": comment.answer.as_ref().map(|(_, text)| text),
        })
    });
    let data = json!({
        "plan": shown(&project, &path),
        "state": case.state().to_string(),
        "revision": standing.newest().map(|newest| newest.number),
        "rejections": rejections.collect::<Vec<_>>(),
        "comments": comments.collect::<Vec<_>>(),
        "lapsed_because": standing.moved,
    });
    Ok(ToolReply::data(&data).into())
}
