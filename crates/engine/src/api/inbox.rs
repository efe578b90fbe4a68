//! What waits for a person: what runs ask, plans to review, and plans that were evicted from a merge.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::planning_session;
use crate::api::ask::answers;
use crate::api::error::Error;
use crate::api::error::merge::merge_failed;
use crate::api::next::NextCommand;
use crate::api::session::session_trouble;
use crate::api::workspace::Workspace;
use crate::approval::Approvals;
use crate::portfolio::merge_queue;
use crate::portfolio::merge_queue::EvictedView;
use crate::run;
use crate::run::{RunSummaryRow, Runs};
use crate::store::journal::RunId;
use crate::store::plan_file;

/// Everything in a project that needs a person.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InboxView {
    /// What runs ask, the oldest first.
    pub asks: Vec<InboxAskView>,
    /// Plans pending review, the oldest first.
    pub reviews: Vec<ReviewView>,
    /// Finished plans that could not be merged, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evicted: Vec<EvictedView>,
    /// What has expired, and what could not be finished.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// Something that only a person can settle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InboxAskView {
    /// The plan.
    pub plan: String,
    /// The number of the run.
    pub run: i64,
    /// The step that waits for it; `None` where the whole run does.
    pub step: Option<String>,
    /// `attempts-spent`, `manual`, `budget`, `lost`, `parked`, `stalled`, `question`, `strayed` or `machine`.
    pub reason: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// What the person should know.
    pub text: String,
    /// Commands that answer it.
    pub answers: Vec<String>,
    /// The plan, or the step of it.
    #[serde(skip)]
    pub subject: String,
    /// The reason in words.
    #[serde(skip)]
    pub words: &'static str,
    /// The answers with what each does.
    #[serde(skip)]
    pub choices: Vec<NextCommand>,
}

/// Plans pending review.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReviewsView {
    /// What waits, the longest wait first.
    pub waiting: Vec<ReviewView>,
}

/// A plan pending review.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReviewView {
    /// The plan.
    pub plan: String,
    /// Its file, relative to the root of the project.
    pub path: String,
    /// The revision.
    pub revision: u32,
    /// The first digits of its digest.
    pub digest: String,
    /// Its state: `proposed`, `waiting (lapsed)` or `waiting (revisions-spent)`.
    pub state: String,
    /// Who proposed it.
    pub by: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
}

impl ReviewView {
    /// What it waits for, in words.
    pub fn words(&self) -> String {
        let revision = self.revision;
        match self.state.as_str() {
            "proposed" => format!("r{revision} is pending review"),
            "waiting (lapsed)" => format!("the approval of r{revision} has lapsed"),
            _ => format!("r{revision} was rejected too often and needs you"),
        }
    }

    /// The command that a person types next.
    pub fn command(&self) -> NextCommand {
        let verb = if self.state == "waiting (revisions-spent)" { "revise" } else { "review" };
        // A plan outside the project is shown by its name: nobody types such a path.
        let plan = if Path::new(&self.path).is_absolute() { &self.plan } else { &self.path };
        NextCommand::new(["planwright", verb, plan.as_str()])
    }
}

impl EvictedView {
    /// The command that a person types next, on the branch that it was to go into.
    pub fn command(&self) -> NextCommand {
        NextCommand::new(["git", "merge", self.branch.as_str()])
    }
}

impl InboxView {
    /// The command that a person types next.
    pub fn next(&self) -> NextCommand {
        match (self.asks.first(), self.reviews.first(), self.evicted.first()) {
            (Some(ask), ..) if ask.reason == "stalled" => {
                NextCommand::new(["planwright", "run", ask.subject.as_str()])
            }
            (Some(ask), ..) => NextCommand::new(["planwright", "answer", ask.subject.as_str()]),
            (None, Some(review), _) => review.command(),
            (None, None, Some(evicted)) => evicted.command(),
            (None, None, None) => NextCommand::new(["planwright", "status"]),
        }
    }
}

impl Workspace {
    /// Everything that needs a person. What time has ended meanwhile is ended first, and said.
    pub fn inbox(&self) -> Result<InboxView, Error> {
        let (reviews, warnings) = self.reviews()?;
        Ok(InboxView { asks: self.asks()?, reviews, evicted: self.evicted()?, warnings })
    }

    /// The same without what ends planning sessions.
    pub fn inbox_now(&self) -> Result<InboxView, Error> {
        let (reviews, warnings) = self.waiting_reviews()?;
        Ok(InboxView { asks: self.asks()?, reviews, evicted: self.evicted()?, warnings })
    }

    fn asks(&self) -> Result<Vec<InboxAskView>, Error> {
        let Some(runs) = Runs::open_existing(self.project())? else { return Ok(Vec::new()) };
        let newest: BTreeMap<RunId, RunSummaryRow> =
            runs.everywhere()?.into_iter().map(|run| (run.run, run)).collect();
        let mut asks = Vec::new();
        for ask in runs.store().asks().map_err(run::Error::from)? {
            // Older runs of a plan ask nothing any more.
            let Some(run) = newest.get(&ask.run) else { continue };
            let subject = match &ask.step {
                Some(step) => format!("{}/{step}", run.plan),
                None => run.plan.clone(),
            };
            let choices = answers(&subject, ask.reason, run.tally.judged_by(&ask.ask));
            asks.push(InboxAskView {
                plan: run.plan.clone(),
                run: ask.run.number(),
                step: ask.step,
                reason: ask.reason.word().to_owned(),
                since_ms: ask.opened_at_ms,
                text: ask.text,
                answers: choices.iter().map(|choice| choice.command.clone()).collect(),
                subject,
                words: ask.reason.words(),
                choices,
            });
        }
        asks.sort_by_key(|ask| ask.since_ms);
        Ok(asks)
    }

    /// Every plan pending review, the oldest first. Ends what has expired first, and reports it.
    pub fn reviews(&self) -> Result<(Vec<ReviewView>, Vec<String>), Error> {
        let unsettled: Vec<String> =
            planning_session::settle(self.project()).into_iter().map(session_trouble).collect();
        let (reviews, expired) = self.waiting_reviews()?;
        Ok((reviews, unsettled.into_iter().chain(expired).collect()))
    }

    /// The same without what ends planning sessions: for who looks again and again.
    pub(super) fn waiting_reviews(&self) -> Result<(Vec<ReviewView>, Vec<String>), Error> {
        let expired = self.expire()?;
        let Some(approvals) = Approvals::open_existing(self.project())? else {
            return Ok((Vec::new(), expired));
        };
        let reviews = approvals.waiting()?.into_iter().map(|row| ReviewView {
            plan: plan_file::name(&row.plan),
            path: row.plan.to_string_lossy().into_owned(),
            revision: row.summary.revision,
            digest: row.summary.digest.get(..8).unwrap_or_default().to_owned(),
            state: row.summary.state,
            by: row.summary.proposer,
            since_ms: row.summary.since_ms,
        });
        Ok((reviews.collect(), expired))
    }

    /// Every plan that was evicted and has not landed since, the oldest first.
    pub(super) fn evicted(&self) -> Result<Vec<EvictedView>, Error> {
        let Some(approvals) = Approvals::open_existing(self.project())? else { return Ok(Vec::new()) };
        merge_queue::evicted(&approvals)
            .map_err(|error| merge_failed(error, || NextCommand::new(["planwright", "merge"])))
    }
}
