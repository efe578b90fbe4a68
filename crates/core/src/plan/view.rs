//! Plain data about plans for all front ends, ready to be shown or serialized. Works on drafts, so that plans with
//! errors can be shown; missing values are empty.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::budget;
use crate::plan::budget::Budget;
use crate::plan::digest::Digest;
use crate::plan::draft::{Draft, Mark, StepDraft};
use crate::plan::graph::Graph;
use crate::plan::verified;
use crate::plan::verified::{OnFail, Plan};
use crate::syntax::source::{Source, text, texts};

/// A plan in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The file name without extension.
    pub name: String,
    /// The path, relative to the project.
    pub path: String,
    /// Empty if unreadable.
    pub dialect: String,
    /// Empty if missing.
    pub title: String,
    /// The status as written in the file, which proves nothing.
    pub status: String,
    pub owner: String,
    /// The number of steps.
    pub steps: usize,
    /// The number of steps marked as done, which proves nothing.
    pub marked_done: usize,
    /// Why the file could not be read as a plan.
    pub fault: Option<String>,
}

impl Summary {
    pub fn of(name: String, path: String, (dialect, draft): (&str, &Draft)) -> Self {
        Self {
            name,
            path,
            dialect: dialect.to_owned(),
            title: text(draft.title.as_ref()),
            status: text(draft.status.0.as_ref()),
            owner: text(draft.owner.0.as_ref()),
            steps: draft.steps.len(),
            marked_done: draft.steps.iter().filter(|step| step.mark() == Some(Mark::Done)).count(),
            fault: None,
        }
    }

    /// A summary of an unreadable file.
    pub fn unreadable(name: String, path: String, fault: String) -> Self {
        Self { fault: Some(fault), ..Self::of(name, path, ("", &Draft::default())) }
    }
}

/// A plan in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanView {
    /// The file name without extension.
    pub name: String,
    /// As the user gave it.
    pub path: String,
    pub dialect: String,
    pub title: String,
    /// The status as written in the file, which proves nothing.
    pub status: String,
    pub owner: String,
    pub context: String,
    /// How urgent it is.
    pub priority: String,
    /// What it may cost.
    pub budget: BudgetView,
    /// `None` while the plan has errors.
    pub digest: Option<String>,
    /// In file order.
    pub steps: Vec<StepView>,
    /// Step ids by wave; the steps of a wave can run in parallel.
    pub waves: Vec<Vec<String>>,
    /// Step ids of a longest dependency chain.
    pub critical_path: Vec<String>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BudgetView {
    /// As written.
    pub text: String,
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub micro_dollars: Option<u64>,
    pub seconds: Option<u64>,
}

/// A step in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepView {
    /// The number in the heading; `3–N` for a template.
    pub number: String,
    /// Written, or derived from the title.
    pub id: String,
    pub title: String,
    /// Line of the heading.
    pub line: usize,
    /// What the file claims: `done`, `running`, `failed` or `skipped`.
    pub mark: Option<String>,
    pub target: String,
    /// The instructions for the agent.
    pub task: String,
    /// The contract's command; `None` if a person confirms the step.
    pub contract: Option<String>,
    /// The expected exit code.
    pub exit_code: String,
    pub on_fail: String,
    /// Step ids.
    pub needs: Vec<String>,
    /// References whose content the agent gets.
    pub reads: Vec<String>,
    /// Files that the step may change; `None` if not declared.
    pub touches: Option<Vec<String>>,
    /// Sealed files.
    pub sealed: Vec<String>,
    /// Criteria for agent and reviewer.
    pub accept: Vec<String>,
    /// The reason why the contract may pass before the work.
    pub green: Option<String>,
    /// A question to an agent about the work after the contract passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// Time limit of an attempt.
    pub timeout_seconds: Option<u64>,
    /// Time limit of the contract.
    pub contract_timeout_seconds: Option<u64>,
    /// Tools that the agent may use.
    pub tools: Vec<String>,
    /// Environment of agent and contract.
    pub env: Vec<String>,
    /// Whether the network may be used.
    pub network: Option<String>,
    /// A command that prepares the checkout in which the contract runs.
    pub setup: Option<String>,
}

impl PlanView {
    /// Builds the view from the draft, and from the plan if it verified.
    pub fn of(name: String, (source, dialect): (&Source, &str), draft: &Draft, plan: Option<&Plan>) -> Self {
        let ids = verified::ids(draft);
        let graph = graph(draft);
        let named = |places: &[usize]| places.iter().map(|&place| ids[place].clone()).collect::<Vec<_>>();
        let budget = draft.budget.as_ref().map(|budget| Budget::read(&budget.value)).unwrap_or_default();
        Self {
            name,
            path: source.name().to_owned(),
            dialect: dialect.to_owned(),
            title: text(draft.title.as_ref()),
            status: text(draft.status.0.as_ref()),
            owner: text(draft.owner.0.as_ref()),
            context: text(draft.context.as_ref()),
            priority: text(draft.priority.as_ref()),
            budget: BudgetView {
                text: text(draft.budget.as_ref()),
                tokens: budget.tokens,
                micro_dollars: budget.micro_dollars,
                seconds: budget.seconds,
            },
            digest: plan.map(|plan| Digest::of(plan).to_string()),
            steps: (0..draft.steps.len())
                .map(|place| {
                    StepView::of(source, &draft.steps[place], &ids[place], named(graph.needs(place)))
                })
                .collect(),
            waves: graph.waves().iter().map(|wave| named(wave)).collect(),
            critical_path: named(&graph.critical_path()),
            notes: texts(&draft.notes),
        }
    }
}

/// The dependencies as positions, without implied ones.
pub fn graph(draft: &Draft) -> Graph {
    Graph::new(verified::needs(draft, &verified::ids(draft))).reduced()
}

impl StepView {
    fn of(source: &Source, step: &StepDraft, id: &str, needs: Vec<String>) -> Self {
        let contract = step.contract.as_ref();
        let on_fail = step.on_fail.as_ref();
        Self {
            number: step.number.value.to_string(),
            id: id.to_owned(),
            title: step.title.value.clone(),
            line: source.position(step.heading.0.start).line,
            mark: step.mark().map(|mark| mark.word().to_owned()),
            target: text(step.target.as_ref()),
            task: text(step.task.as_ref()),
            contract: contract.and_then(|contract| Some(contract.command.as_ref()?.value.clone())),
            exit_code: contract
                .and_then(|contract| contract.expect.clone())
                .map_or("0".to_owned(), |code| code.value),
            on_fail: on_fail.map_or_else(|| OnFail::DEFAULT.to_string(), |text| text.value.clone()),
            needs,
            reads: texts(&step.reads),
            touches: step.touches.as_ref().map(|touches| texts(touches)),
            sealed: texts(&step.sealed),
            accept: texts(&step.accept),
            green: step.green.as_ref().map(|green| green.value.clone()),
            judge: step.judge.as_ref().map(|judge| judge.value.clone()),
            timeout_seconds: step.timeout.as_ref().and_then(|timeout| budget::seconds(&timeout.value)),
            contract_timeout_seconds: step
                .contract_timeout
                .as_ref()
                .and_then(|timeout| budget::seconds(&timeout.value)),
            tools: texts(&step.tools),
            env: texts(&step.env),
            network: step.network.as_ref().map(|network| network.value.clone()),
            setup: step.setup.as_ref().map(|setup| setup.value.clone()),
        }
    }
}
