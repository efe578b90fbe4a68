//! What listeners receive: an event of a run or an entry of a plan's ledger, in one format and with a stable
//! id. Decides which of them call for attention; never delivers them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::ledger::LedgerEntry;
use crate::approval::status::{ApprovalStatus, RecordedEntry};
use crate::plan::identity::Role;
use crate::plan::lifecycle::{PlanState, WaitReason};
use crate::run::event::{AskEvent, Event, RunEvent, RunOutcome, StepEvent};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Notification {
    /// Stable: `run/12/61`, or `plan/7/3` for an entry about a plan.
    pub id: String,
    /// The repository; together with the id it is unique on a machine.
    pub project: String,
    pub plan: String,
    /// Relative to the project.
    pub path: String,
    /// `None` for an entry about the plan itself.
    pub run: Option<i64>,
    /// The position in the run's journal or the plan's ledger.
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// Why it calls for attention, if it does.
    pub occasion: Option<Trigger>,
    /// The name under `event`, and all its data.
    pub event: Value,
    /// Further names: `scope.violated` if an attempt changed files outside its scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// Why somebody would want to know immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Blocked until a person answers.
    NeedsYou,
    Done,
    Failed,
}

#[derive(Debug, Clone, Copy)]
pub struct NotificationSubject<'a> {
    pub project: &'a str,
    pub plan: &'a str,
    /// Relative to the project.
    pub path: &'a str,
}

impl Notification {
    pub fn of_event(
        about: NotificationSubject<'_>,
        run: i64,
        (seq, at_ms): (u64, u64),
        event: &Event,
    ) -> Self {
        let id = format!("run/{run}/{seq}");
        let also = also(event);
        let (occasion, event) = (Trigger::of_event(event), serde_json::to_value(event).unwrap_or_default());
        Self { run: Some(run), also, ..Self::new(about, id, (seq, at_ms), (occasion, event)) }
    }

    /// The notice of the last of these entries, which start the ledger of the plan with this number; `None`
    /// if there are none. The id contains the plan's number, which stays when the plan moves.
    pub fn of_last(about: NotificationSubject<'_>, plan: i64, ledger: &[RecordedEntry]) -> Option<Self> {
        let said = ledger.last()?;
        let id = format!("plan/{plan}/{}", said.seq);
        let told = (Trigger::of_last(ledger), named_event(&said.entry));
        Some(Self::new(about, id, (said.seq, said.at_ms), told))
    }

    /// Such as `ask.opened`.
    pub fn name(&self) -> &str {
        self.event.get("event").and_then(Value::as_str).unwrap_or_default()
    }

    fn new(
        about: NotificationSubject<'_>,
        id: String,
        (seq, at_ms): (u64, u64),
        (occasion, event): (Option<Trigger>, Value),
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

/// The name that listeners get when an attempt changed files outside its scope.
pub const SCOPE_VIOLATED: &str = "scope.violated";

fn also(event: &Event) -> Vec<String> {
    match event {
        Event::Step { event: StepEvent::Finished(finish), .. } if !finish.account.outside.is_empty() => {
            vec![SCOPE_VIOLATED.to_owned()]
        }
        Event::Step { .. } | Event::Run(_) | Event::Ask { .. } => Vec::new(),
    }
}

impl Trigger {
    pub const ALL: [Self; 3] = [Self::NeedsYou, Self::Done, Self::Failed];

    pub const fn word(self) -> &'static str {
        match self {
            Self::NeedsYou => "needs-you",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// Whether an event calls for attention. A run that a person cancelled is no news to them.
    const fn of_event(event: &Event) -> Option<Self> {
        match event {
            Event::Ask { event: AskEvent::Opened { .. }, .. } => Some(Self::NeedsYou),
            Event::Run(RunEvent::Finished { outcome: RunOutcome::Done, .. }) => Some(Self::Done),
            Event::Run(RunEvent::Finished { outcome: RunOutcome::Failed, .. }) => Some(Self::Failed),
            Event::Run(_) | Event::Step { .. } | Event::Ask { event: AskEvent::Answered { .. }, .. } => None,
        }
    }

    /// Whether the last of these entries calls for attention: a proposal, a lapsed approval, a cancellation
    /// by age, and the rejection after which only a person can reopen the plan.
    fn of_last(ledger: &[RecordedEntry]) -> Option<Self> {
        match &ledger.last()?.entry {
            LedgerEntry::Proposed { .. } | LedgerEntry::Lapsed { .. } | LedgerEntry::Evicted { .. } => {
                Some(Self::NeedsYou)
            }
            LedgerEntry::Cancelled { by, .. } if by.role == Role::Age => Some(Self::NeedsYou),
            LedgerEntry::Rejected { .. } => {
                let spent = PlanState::Waiting(WaitReason::RevisionsSpent);
                let is_spent = ApprovalStatus::of(ledger).is_ok_and(|standing| standing.state(None) == spent);
                is_spent.then_some(Self::NeedsYou)
            }
            LedgerEntry::Approved { .. }
            | LedgerEntry::Commented { .. }
            | LedgerEntry::Answered { .. }
            | LedgerEntry::Drafted { .. }
            | LedgerEntry::Discovered { .. }
            | LedgerEntry::Added { .. }
            | LedgerEntry::Reopened { .. }
            | LedgerEntry::Cancelled { .. }
            | LedgerEntry::Started { .. }
            | LedgerEntry::Ended { .. }
            | LedgerEntry::Undone { .. }
            | LedgerEntry::Merged { .. }
            | LedgerEntry::Archived { .. }
            | LedgerEntry::Deleted { .. } => None,
        }
    }
}

/// An entry with its name in the same field as an event's, so that listeners look in one place.
fn named_event(entry: &LedgerEntry) -> Value {
    let mut event = Map::from_iter([("event".to_owned(), Value::from(entry.name()))]);
    if let Ok(Value::Object(fields)) = serde_json::to_value(entry) {
        event.extend(fields.into_iter().filter(|(name, _)| name != "entry"));
    }
    Value::Object(event)
}
