//! Tools for agents that write plans: read, check and propose. Approve and reject only return the command a person
//! types.

use planwright_engine::api::{FeedbackView, ProposalView, Severity, SimulatedStep, SubmittedPlan, Verified};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::shared::{One, PLAN_GET, PLAN_LIST, complaints, refusal};
use super::tool::{McpTool, ToolEffect, ToolError, ToolOutcome, ToolReply, ToolRequest, ToolResult, schema};
use crate::output::wording;

pub(super) const INSTRUCTIONS: &str = "Plans that agents run and only shell commands (contracts) can finish. Read \
    plan_format, write a plan, call plan_propose, fix what it reports. A person approves or rejects it; you never do.";

/// The text before the part of the skill that teaches the format.
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

fn which(call: &ToolRequest<'_>) -> Result<SubmittedPlan, ToolError> {
    let Which { id, plan, path } = call.read()?;
    let workspace = call.session.workspace()?;
    match (id, plan) {
        (Some(id), None) => Ok(workspace.submitted_plan(&id)?),
        (None, Some(text)) => Ok(workspace.submit_text(&text, path.as_deref())?),
        (Some(_), Some(_)) | (None, None) => {
            Err(ToolError::new("pass either `id` of an existing plan, or `plan`, the text of one"))
        }
    }
}

fn propose(call: &ToolRequest<'_>) -> ToolResult {
    let given: Propose = call.read()?;
    let workspace = call.session.workspace()?;
    let plan = match given {
        Propose { plan: Some(text), title: None, steps: None, path, .. } => {
            workspace.submit_text(&text, path.as_deref())?
        }
        Propose { plan: None, title: Some(title), steps: Some(steps), path: None, context } => {
            let mut text = json!({ "title": title, "steps": steps });
            if let Some(context) = context {
                text["context"] = json!(context);
            }
            workspace.submit_steps(&text.to_string())?
        }
        Propose { plan: None, title: None, steps: None, path: Some(path), .. } => {
            workspace.submitted_plan(&path)?
        }
        Propose { .. } => {
            return Err(ToolError::new(
                "pass `plan` (the text of a plan file, with or without `path`), or `title` and `steps`, or `path` alone",
            ));
        }
    };
    if plan.verified.plan.is_none() {
        return Err(refusal(&plan.verified, "nothing was proposed and nothing was written"));
    }
    let path = plan.shown();
    let (verified, proposed) = plan.propose()?;
    Ok(ToolReply::text(told(&path, &verified, &proposed)).into())
}

fn told(path: &str, verified: &Verified, proposed: &ProposalView) -> String {
    let word = if proposed.is_known { "was already proposed" } else { "is proposed" };
    let (revision, digest) = (proposed.revision, &proposed.digest[..8]);
    let mut text = format!("{path} {word}: revision {revision}, digest {digest}.\n");
    match &proposed.approved_by_rule {
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
    let standing = call.session.workspace()?.feedback(&id)?;
    let path = wording::word(&standing.plan);
    let approve = standing.digest.as_ref().map(|digest| format!("planwright approve {path} --rev {digest}"));
    let commands: Vec<String> = std::iter::once(format!("planwright review {path}")).chain(approve).collect();
    Ok(left_to_a_person("approves", &standing, &commands))
}

fn reject(call: &ToolRequest<'_>) -> ToolResult {
    let Reject { id, feedback } = call.read()?;
    let standing = call.session.workspace()?.feedback(&id)?;
    let feedback = wording::word(feedback.as_deref().unwrap_or("what should change"));
    let command = format!("planwright reject {} -m {feedback}", wording::word(&standing.plan));
    Ok(left_to_a_person("rejects", &standing, &[command]))
}

/// The state of a plan, and the commands a person can type.
fn left_to_a_person(verb: &str, standing: &FeedbackView, commands: &[String]) -> ToolOutcome {
    let plan = &standing.plan;
    let what = match standing.revision {
        Some(revision) => format!("{plan} is {} (revision {revision})", standing.state),
        None => format!("{plan} is not proposed"),
    };
    let text = format!(
        "Only a person {verb} a plan, never an agent. Nothing was changed: {what}. Ask the person to type:\n  {}",
        commands.join("\n  ")
    );
    ToolReply::error(text).into()
}

fn format(call: &ToolRequest<'_>) -> ToolResult {
    call.read::<Nothing>()?;
    let guide = call.session.workspace()?.author_guide();
    let mut text = format!("{TAUGHT}{}\n", section(guide.skill, "\n## The format\n", "\n## Which model"));
    text.push_str(&format!("\nAvailable targets: {}.\n", guide.targets.join(", ")));
    if !guide.tools.is_empty() {
        text.push_str(&format!(
            "\n{}Steps can use these, and the tools of every agent: {}.\n",
            guide.tools,
            guide.tool_kinds.join(", ")
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
    let SubmittedPlan { verified, .. } = which(call)?;
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
    let plan = which(call)?;
    let Some(simulation) = plan.simulate()? else {
        return Err(refusal(&plan.verified, "so nothing would run"));
    };
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
    Ok(ToolReply::data(&call.session.workspace()?.feedback(&id)?).into())
}
