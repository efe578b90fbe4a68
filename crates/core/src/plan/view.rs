//! Plain data for every face: what a plan says, ready to be shown or serialised. Works on drafts, so that a plan with
//! faults can be looked at; what is a hole in the draft is empty here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::budget;
use crate::plan::budget::Budget;
use crate::plan::digest::Digest;
use crate::plan::draft::{Draft, Mark, StepDraft, StepNumber};
use crate::plan::graph::Graph;
use crate::plan::verified;
use crate::plan::verified::{OnFail, Plan};
use crate::syntax::source::{Source, text, texts};

/// A plan in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The name of the file, without the extension.
    pub name: String,
    /// The path, relative to the project.
    pub path: String,
    /// The dialect that it is written in; empty where it can't be read.
    pub dialect: String,
    /// The title; empty where there is none.
    pub title: String,
    /// The status that the file says, in its own word: a mirror, no proof.
    pub status: String,
    pub owner: String,
    /// How many steps it has.
    pub steps: usize,
    /// How many of them are marked as done: claims, no proofs.
    pub marked_done: usize,
    /// Why the file could not be read as a plan, if it could not.
    pub fault: Option<String>,
}

impl Summary {
    /// The summary of a plan that was read.
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

    /// The summary of a file that can't be read.
    pub fn unreadable(name: String, path: String, fault: String) -> Self {
        Self { fault: Some(fault), ..Self::of(name, path, ("", &Draft::default())) }
    }
}

/// A plan with everything that it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanView {
    /// The name of the file, without the extension.
    pub name: String,
    /// The path as the user gave it.
    pub path: String,
    /// The dialect that it is written in.
    pub dialect: String,
    pub title: String,
    /// The status that the file says, in its own word: a mirror, no proof.
    pub status: String,
    pub owner: String,
    pub context: String,
    /// How urgent it is.
    pub priority: String,
    /// What it may cost.
    pub budget: BudgetView,
    /// What names exactly this plan; `None` while it has errors.
    pub digest: Option<String>,
    /// The steps in file order.
    pub steps: Vec<StepView>,
    /// Ids of the steps that can run at the same time, wave after wave.
    pub waves: Vec<Vec<String>>,
    /// Ids of a longest chain of steps that wait for each other.
    pub critical_path: Vec<String>,
    /// What was noted about it.
    pub notes: Vec<String>,
}

/// What a plan may cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BudgetView {
    /// As the author wrote it.
    pub text: String,
    pub tokens: Option<u64>,
    /// Money, in millionths of a dollar.
    pub micro_dollars: Option<u64>,
    pub seconds: Option<u64>,
}

/// A step with everything that it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepView {
    /// The number in the heading; `3–N` for a template.
    pub number: String,
    /// The id, written or made of the title.
    pub id: String,
    pub title: String,
    /// The line of the heading.
    pub line: usize,
    /// What the file claims: `done`, `running`, `failed` or `skipped`.
    pub mark: Option<String>,
    pub target: String,
    /// What the agent is told.
    pub task: String,
    /// The command that decides; `None`: a person does.
    pub contract: Option<String>,
    /// The exit code that means done.
    pub exit_code: String,
    /// What happens after a failure.
    pub on_fail: String,
    /// Ids of the steps that must be done first.
    pub needs: Vec<String>,
    /// What the agent is given to read.
    pub reads: Vec<String>,
    /// Files that the step may change; `None`: not declared.
    pub touches: Option<Vec<String>>,
    /// Files that judge the work and must not change.
    pub sealed: Vec<String>,
    /// Criteria for agent and reviewer.
    pub accept: Vec<String>,
    /// Why the contract may pass before the work.
    pub green: Option<String>,
    /// What an agent is asked about the work once the contract has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// How long an attempt may take, in seconds.
    pub timeout_seconds: Option<u64>,
    /// How long the contract may take, in seconds.
    pub contract_timeout_seconds: Option<u64>,
    /// Tools that the agent may use.
    pub tools: Vec<String>,
    /// Environment of agent and contract.
    pub env: Vec<String>,
    /// Whether the network may be used.
    pub network: Option<String>,
    /// A command that prepares the place where the contract runs.
    pub setup: Option<String>,
}

impl PlanView {
    /// The view of a plan file: what was read, and the plan if it verified.
    pub fn of(name: String, source: &Source, draft: &Draft, plan: Option<&Plan>) -> Self {
        let ids = verified::ids(draft);
        let graph = graph(draft);
        let named = |places: &[usize]| places.iter().map(|&place| ids[place].clone()).collect::<Vec<_>>();
        let budget = draft.budget.as_ref().map(|budget| Budget::read(&budget.value)).unwrap_or_default();
        Self {
            name,
            path: source.name().to_owned(),
            dialect: source.dialect().name.to_owned(),
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

/// Which step waits for which, as places, without what follows from the rest.
pub fn graph(draft: &Draft) -> Graph {
    Graph::new(verified::needs(draft, &verified::ids(draft))).reduced()
}

impl StepView {
    fn of(source: &Source, step: &StepDraft, id: &str, needs: Vec<String>) -> Self {
        let contract = step.contract.as_ref();
        let on_fail = step.on_fail.as_ref();
        Self {
            number: number(step),
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

fn number(step: &StepDraft) -> String {
    match &step.number.value {
        StepNumber::Counted(number) => number.to_string(),
        StepNumber::Template(text) => text.clone(),
    }
}
