//! What those who listen are told: an event of a run or an entry of a plan's ledger, in one shape and with a name that stays.
//! Owns which of them calls for somebody; tells nobody itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::ledger::{Entry, Role};
use crate::approval::status::{Said, Standing};
use crate::plan::lifecycle::{Reason, State};
use crate::run::event::{Event, Outcome};

/// One thing that happened, as listeners get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Notice {
    /// Its name, which it keeps for good: `run/12/61`, or `plan/7/3` where it was said about a plan.
    pub id: String,
    /// The repository that it happened in; together with the id it is unique on a machine.
    pub project: String,
    /// The name of the plan.
    pub plan: String,
    /// The file of the plan, relative to the project.
    pub path: String,
    /// The number of the run; `None`: it was said about the plan itself.
    pub run: Option<i64>,
    /// Its place in the journal of the run, or in the ledger of the plan.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What it calls for, if it calls for somebody.
    pub occasion: Option<Occasion>,
    /// What happened: its name under `event`, and everything that goes with it.
    pub event: Value,
    /// What else this tells, by name: `scope.violated` where an attempt changed files that it may not touch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// Why somebody would want to hear of something at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Occasion {
    /// Only a person can go on.
    NeedsYou,
    /// A run is done.
    Done,
    /// A run has failed.
    Failed,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub project: &'a str,
    /// The name of the plan.
    pub plan: &'a str,
    /// The file of the plan, relative to the project.
    pub path: &'a str,
}

impl Notice {
    /// The notice of an event of a run.
    pub fn of_event(about: About<'_>, run: i64, (seq, at_ms): (u64, u64), event: &Event) -> Self {
        let id = format!("run/{run}/{seq}");
        let also = also(event);
        let (occasion, event) = (Occasion::of_event(event), serde_json::to_value(event).unwrap_or_default());
        Self { run: Some(run), also, ..Self::new(about, id, (seq, at_ms), (occasion, event)) }
    }

    /// The notice of the last of these entries, which are the beginning of the ledger of the plan with this number; `None`
    /// where there are none. The id names the plan by its number: a plan that is moved keeps it.
    pub fn of_last(about: About<'_>, plan: i64, ledger: &[Said]) -> Option<Self> {
        let said = ledger.last()?;
        let id = format!("plan/{plan}/{}", said.seq);
        let told = (Occasion::of_last(ledger), named_event(&said.entry));
        Some(Self::new(about, id, (said.seq, said.at_ms), told))
    }

    /// The name of what happened: `ask.opened`.
    pub fn name(&self) -> &str {
        self.event.get("event").and_then(Value::as_str).unwrap_or_default()
    }

    fn new(
        about: About<'_>,
        id: String,
        (seq, at_ms): (u64, u64),
        (occasion, event): (Option<Occasion>, Value),
    ) -> Self {
        Self {
            id,
            project: about.project.to_owned(),
            plan: about.plan.to_owned(),
            path: about.path.to_owned(),
            run: None,
            seq,
            at_ms,
            occasion,
            event,
            also: Vec::new(),
        }
    }
}

/// The name by which listeners know that an attempt changed files that it may not touch.
pub const SCOPE_VIOLATED: &str = "scope.violated";

/// What an event tells beyond its name.
fn also(event: &Event) -> Vec<String> {
    match event {
        Event::AttemptFinished { account, .. } if !account.outside.is_empty() => {
            vec![SCOPE_VIOLATED.to_owned()]
        }
        Event::AttemptFinished { .. }
        | Event::RunStarted { .. }
        | Event::AgentsApproved { .. }
        | Event::AttemptStarted { .. }
        | Event::ContractFinished { .. }
        | Event::AskOpened { .. }
        | Event::AskAnswered { .. }
        | Event::BudgetWarned { .. }
        | Event::RunStopped { .. }
        | Event::RunResumed { .. }
        | Event::StepsReopened { .. }
        | Event::RunFinished { .. } => Vec::new(),
    }
}

impl Occasion {
    pub const ALL: [Self; 3] = [Self::NeedsYou, Self::Done, Self::Failed];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NeedsYou => "needs-you",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// What an event of a run calls for. A run that a person cancelled is no news to them.
    const fn of_event(event: &Event) -> Option<Self> {
        match event {
            Event::AskOpened { .. } => Some(Self::NeedsYou),
            Event::RunFinished { outcome: Outcome::Done, .. } => Some(Self::Done),
            Event::RunFinished { outcome: Outcome::Failed, .. } => Some(Self::Failed),
            Event::RunFinished { outcome: Outcome::Cancelled, .. }
            | Event::RunStarted { .. }
            | Event::AgentsApproved { .. }
            | Event::AttemptStarted { .. }
            | Event::AttemptFinished { .. }
            | Event::ContractFinished { .. }
            | Event::AskAnswered { .. }
            | Event::BudgetWarned { .. }
            | Event::RunStopped { .. }
            | Event::RunResumed { .. }
            | Event::StepsReopened { .. } => None,
        }
    }

    /// What the last of these entries calls for: a review, a lapse, an end for age's sake, and the rejection after which
    /// only a person can open the plan again.
    fn of_last(ledger: &[Said]) -> Option<Self> {
        match &ledger.last()?.entry {
            Entry::Proposed { .. } | Entry::Lapsed { .. } | Entry::Evicted { .. } => Some(Self::NeedsYou),
            Entry::Cancelled { by, .. } if by.role == Role::Age => Some(Self::NeedsYou),
            Entry::Rejected { .. } => {
                let spent = State::Waiting(Reason::RevisionsSpent);
                let is_spent = Standing::of(ledger).is_ok_and(|standing| standing.state(None) == spent);
                is_spent.then_some(Self::NeedsYou)
            }
            Entry::Approved { .. }
            | Entry::Commented { .. }
            | Entry::Answered { .. }
            | Entry::Drafted { .. }
            | Entry::Discovered { .. }
            | Entry::Added { .. }
            | Entry::Reopened { .. }
            | Entry::Cancelled { .. }
            | Entry::Started { .. }
            | Entry::Ended { .. }
            | Entry::Undone { .. }
            | Entry::Merged { .. }
            | Entry::Archived { .. }
            | Entry::Deleted { .. } => None,
        }
    }
}

/// An entry with its name where events have theirs, so that a listener looks in one place.
fn named_event(entry: &Entry) -> Value {
    let mut event = Map::from_iter([("event".to_owned(), Value::from(entry.name()))]);
    if let Ok(Value::Object(fields)) = serde_json::to_value(entry) {
        event.extend(fields.into_iter().filter(|(name, _)| name != "entry"));
    }
    Value::Object(event)
}
