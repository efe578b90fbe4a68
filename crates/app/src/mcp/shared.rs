//! Tools shared by several roles: plan lists, one plan, and diagnostics.

use planwright_engine::api::{Diagnostic, Severity, Source, Verified};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::{McpTool, ToolEffect, ToolError, ToolReply, ToolRequest, ToolResult, schema};
use crate::output::wording;

/// How many plans a list names.
const PLANS_MAX: usize = 100;
/// Maximum number of diagnostics shown; the rest follow on the next call.
const COMPLAINTS_MAX: usize = 40;
/// How much of a line of the plan is repeated.
const LINE_CHARACTERS_MAX: usize = 160;

pub(super) const PLAN_LIST: McpTool = McpTool {
    name: "plan_list",
    about: "List the plans of this project: id, title, status, steps.",
    effect: ToolEffect::Reads,
    schema: schema::<List>,
    call: list,
};

pub(super) const PLAN_GET: McpTool = McpTool {
    name: "plan_get",
    about: "Read a plan: text, state and step states.",
    effect: ToolEffect::Reads,
    schema: schema::<One>,
    call: get,
};

/// One plan.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct One {
    /// name or path of the plan
    pub(super) id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// only plans with this status
    status: Option<String>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    path: String,
    title: String,
    status: String,
    steps: usize,
    marked_done: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

#[derive(Serialize)]
struct Listing {
    plans: Vec<Row>,
    /// How many more there are.
    left_out: usize,
}

fn list(call: &ToolRequest<'_>) -> ToolResult {
    let List { status } = call.read()?;
    let all = call.session.workspace()?.recorded_plans()?;
    let names: Vec<String> = all.iter().map(|plan| plan.name.clone()).collect();
    let is_wanted = |word: &String| status.as_ref().is_none_or(|status| word.eq_ignore_ascii_case(status));
    let wanted: Vec<_> = all.into_iter().filter(|plan| is_wanted(&plan.status)).collect();
    let left_out = wanted.len().saturating_sub(PLANS_MAX);
    let plans = wanted.into_iter().take(PLANS_MAX).map(|plan| Row {
        // Where several plans have a name, only the path says which one is meant.
        id: match names.iter().filter(|name| **name == plan.name).count() {
            1 => plan.name,
            _ => plan.path.clone(),
        },
        path: plan.path,
        title: plan.title,
        status: plan.status,
        steps: plan.steps,
        marked_done: plan.marked_done,
        fault: plan.fault,
    });
    Ok(ToolReply::data(&Listing { plans: plans.collect(), left_out }).into())
}

fn get(call: &ToolRequest<'_>) -> ToolResult {
    let One { id } = call.read()?;
    let path = call.session.plan(&id)?;
    Ok(ToolReply::data(&call.session.workspace()?.recorded_plan(&path)?).into())
}

/// Everything that the checker has against a plan, in words from which it can be fixed; errors first.
pub(super) fn complaints(verified: &Verified) -> String {
    let (errors, warnings): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
        verified.diagnostics.iter().partition(|diagnostic| diagnostic.severity == Severity::Error);
    let all = errors.len() + warnings.len();
    let said = errors.into_iter().chain(warnings).take(COMPLAINTS_MAX);
    let mut text: String = said.map(|diagnostic| complaint(&verified.source, diagnostic)).collect();
    if all > COMPLAINTS_MAX {
        text.push_str(&format!("{} more not shown\n", all - COMPLAINTS_MAX));
    }
    text
}

fn complaint(source: &Source, diagnostic: &Diagnostic) -> String {
    let start = diagnostic.primary.span.start;
    let line = source.position(start).line;
    let file = match source.parts().len() {
        1 => String::new(),
        _ => format!("{} ", source.name_at(start)),
    };
    let mut text = format!(
        "{}[{}] {file}line {line}: {}\n",
        diagnostic.severity.word(),
        diagnostic.code,
        diagnostic.message
    );
    let quoted: String =
        source.slice(source.line_at(start)).trim_end().chars().take(LINE_CHARACTERS_MAX).collect();
    if !quoted.is_empty() {
        text.push_str(&format!("  {line} | {quoted}\n"));
    }
    if !diagnostic.primary.text.is_empty() {
        text.push_str(&format!("  here: {}\n", diagnostic.primary.text));
    }
    for label in diagnostic.secondary.iter().filter(|label| !label.text.is_empty()) {
        text.push_str(&format!("  line {}: {}\n", source.position(label.span.start).line, label.text));
    }
    for note in &diagnostic.notes {
        text.push_str(&format!("  note: {note}\n"));
    }
    let fix = diagnostic.fix.as_ref().map(|fix| &fix.title);
    for help in diagnostic.help.iter().chain(fix) {
        text.push_str(&format!("  help: {help}\n"));
    }
    text
}

/// The message about a plan with errors.
pub(super) fn refusal(verified: &Verified, effect: &str) -> ToolError {
    let errors = verified.count(Severity::Error);
    let count = wording::number(errors, "error");
    ToolError(format!("The plan has {count}; {effect}. Fix each and call again:\n\n{}", complaints(verified)))
}
