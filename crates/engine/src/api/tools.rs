//! The tools that plans can use here, which of them are guarded, and what agents were refused; and whether a task needs a plan.

use planwright_core::agent::planner::triage::{Advice, said, triage};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::Error;
use crate::api::workspace::Workspace;
use crate::run::permission;
use crate::run::permission::PermissionNotice;

/// The tools of a project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolsView {
    /// The tools that are listed in the settings; empty where none are, and a plan may ask for any.
    pub tools: Vec<ToolView>,
    /// Tools that need an approved plan, in sessions of people.
    pub guarded: Vec<String>,
    /// Calls that were out of scope, the oldest first; empty without `--refused`.
    pub refused: Vec<RefusedCallView>,
    /// The tools as listed for agents.
    #[serde(skip)]
    pub inventory: String,
}

/// One tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolView {
    /// Its name.
    pub name: String,
    /// What it can do.
    pub operations: Vec<String>,
}

/// One call that was out of scope.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefusedCallView {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The attempt: `plan/step@attempt`; empty for a session of a person.
    pub place: String,
    /// The tool, as the agent calls it.
    pub tool: String,
    /// Whether it was stopped; else it would have been.
    pub is_blocked: bool,
    /// Why.
    pub why: String,
}

/// Whether a task deserves a plan, and by which rule.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TriageView {
    /// The task.
    pub task: String,
    /// `plan` or `act`.
    pub advice: String,
    /// The rule that decided.
    pub rule: String,
    /// Why.
    pub why: String,
    /// Every rule that fits, in the order in which they decide.
    pub signs: Vec<SignView>,
    /// Tools that are guarded here.
    pub guarded: Vec<String>,
    #[serde(skip)]
    pub needs_plan: bool,
}

/// A rule that fits.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SignView {
    /// The rule.
    pub rule: String,
    /// The words of the task that it was recognized by.
    pub words: Vec<String>,
}

impl Workspace {
    pub fn tools(&self) -> ToolsView {
        let config = &self.project().config;
        let tools = config.tools.iter();
        let tools =
            tools.map(|(name, operations)| ToolView { name: name.clone(), operations: operations.clone() });
        ToolsView {
            tools: tools.collect(),
            guarded: self.guarded(),
            refused: Vec::new(),
            inventory: permission::inventory(config),
        }
    }

    /// The same with the calls that were out of scope.
    pub fn tools_and_refusals(&self) -> Result<ToolsView, Error> {
        let refused = permission::refused(self.project())?.into_iter();
        let refused = refused.map(|PermissionNotice { place, refused }| RefusedCallView {
            at_ms: refused.at_ms,
            place,
            tool: refused.tool,
            is_blocked: refused.is_blocked,
            why: refused.why,
        });
        Ok(ToolsView { refused: refused.collect(), ..self.tools() })
    }

    pub fn triage(&self, task: &str) -> TriageView {
        let guarded = self.guarded();
        let found = triage(task, &guarded);
        let (rule, why) = said(found.by);
        let needs_plan = found.advice == Advice::Plan;
        let signs = found.signs.into_iter();
        let signs = signs.map(|sign| SignView { rule: said(sign.rule).0.to_owned(), words: sign.words });
        TriageView {
            task: task.to_owned(),
            advice: if needs_plan { "plan" } else { "act" }.to_owned(),
            rule: rule.to_owned(),
            why: why.to_owned(),
            signs: signs.collect(),
            guarded,
            needs_plan,
        }
    }

    fn guarded(&self) -> Vec<String> {
        // A file that can't be read guards nothing, and is the doctor's to complain about.
        permission::guard_of(self.project()).0.tools
    }
}
