//! Tools for an agent that does one step: read the step, run its contract as advice, and add lines to the attempt's
//! report. None of them finishes anything: planwright runs the contract after the attempt.

use planwright_engine::api::{FindingSeverity, ReportFinding, ReportLine, StepToolsAttempt, TEXT_BYTES_MAX};
use schemars::JsonSchema;
use serde::Deserialize;

use super::tool::{McpTool, ToolEffect, ToolError, ToolReply, ToolRequest, ToolResult, schema};

/// How much of a contract's output is returned: its end, where the error is.
const OUTPUT_BYTES_MAX: usize = 8 << 10;

pub(super) const INSTRUCTIONS: &str = "You do one step of a plan. Its contract, a shell command, decides whether it \
    is done after you exit; your own report does not. step_check shows its current result. Ask with step_ask rather \
    than guess.";

pub(super) const TOOLS: &[McpTool] = &[
    McpTool {
        name: "step_get",
        about: "Your step: task, acceptance, files it may touch, tools, contract, attempt.",
        effect: ToolEffect::Reads,
        schema: schema::<Nothing>,
        call: get,
    },
    McpTool {
        name: "step_check",
        about: "Run the step's contract in the workspace now. Advice, never a verdict.",
        effect: ToolEffect::Reads,
        schema: schema::<Nothing>,
        call: check,
    },
    McpTool {
        name: "step_note",
        about: "Record something for people: a fact, follow-up work outside this step, or a review finding.",
        effect: ToolEffect::Adds,
        schema: schema::<Noting>,
        call: note,
    },
    McpTool {
        name: "step_ask",
        about: "Ask a person a question, then exit; the next attempt gets the answer.",
        effect: ToolEffect::Adds,
        schema: schema::<Asking>,
        call: ask,
    },
    McpTool {
        name: "step_finish",
        about: "Report that you are done, with a summary. Finishes nothing: the contract decides after you exit.",
        effect: ToolEffect::Adds,
        schema: schema::<Finishing>,
        call: finish,
    },
];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Noting {
    text: String,
    #[serde(default)]
    kind: Kind,
    /// title of follow-up work
    title: Option<String>,
    /// of a finding
    severity: Option<FindingSeverity>,
    /// of a finding
    path: Option<String>,
    line: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    #[default]
    Note,
    Discovered,
    Finding,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Asking {
    question: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Finishing {
    summary: String,
}

fn get(call: &ToolRequest<'_>) -> ToolResult {
    call.read::<Nothing>()?;
    Ok(ToolReply::data(&StepToolsAttempt::here()?.assignment).into())
}

fn check(call: &ToolRequest<'_>) -> ToolResult {
    call.read::<Nothing>()?;
    let attempt = StepToolsAttempt::here()?;
    let Some(seen) = attempt.look(call.stop)? else {
        return Err(ToolError::new("the contract was stopped before it finished"));
    };
    let said = match &seen.failure {
        None => "passes now".to_owned(),
        Some(failure) => format!("fails now ({failure})"),
    };
    let output = seen.output.trim_end();
    let start = output.ceil_char_boundary(output.len().saturating_sub(OUTPUT_BYTES_MAX));
    let output = if output.is_empty() { "it printed nothing" } else { &output[start..] };
    Ok(ToolReply::text(format!(
        "The contract {said}. This is advice, not a verdict: planwright runs it again after you exit, and only that \
         run counts.\n\n{output}"
    ))
    .into())
}

fn note(call: &ToolRequest<'_>) -> ToolResult {
    let Noting { text, kind, title, severity, path, line } = call.read()?;
    let text = said(&text)?;
    let (line, reply) = match kind {
        Kind::Note => (ReportLine::Note { text }, "noted"),
        Kind::Discovered => {
            let title = title.unwrap_or_else(|| text.lines().next().unwrap_or_default().to_owned());
            (ReportLine::Discovered { title, text }, "recorded as follow-up work; do not do it in this step")
        }
        Kind::Finding => {
            let severity = severity.unwrap_or_default();
            let finding = ReportFinding { severity, path: path.unwrap_or_default(), line, text };
            (ReportLine::Finding(finding), "finding recorded")
        }
    };
    StepToolsAttempt::here()?.report(&line)?;
    Ok(ToolReply::text(reply).into())
}

fn ask(call: &ToolRequest<'_>) -> ToolResult {
    let Asking { question } = call.read()?;
    let text = said(&question)?;
    StepToolsAttempt::here()?.report(&ReportLine::Ask { text })?;
    Ok(ToolReply::text(
        "Question recorded. It is not answered during this attempt: do what you can without the answer, then exit. \
         If the contract fails, planwright asks a person, and the next attempt gets the answer.",
    )
    .into())
}

fn finish(call: &ToolRequest<'_>) -> ToolResult {
    let Finishing { summary } = call.read()?;
    let text = said(&summary)?;
    StepToolsAttempt::here()?.report(&ReportLine::Finish { text })?;
    Ok(ToolReply::text("Recorded. This finishes nothing: exit now, and the contract decides.").into())
}

/// What was said, if it is something and not too much.
fn said(text: &str) -> Result<String, ToolError> {
    match text.trim() {
        "" => Err(ToolError::new("the text is empty")),
        text if text.len() > TEXT_BYTES_MAX => Err(ToolError(format!("use {TEXT_BYTES_MAX} bytes at most"))),
        text => Ok(text.to_owned()),
    }
}
