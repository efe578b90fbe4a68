//! What waits for a person: plans to review, and plans that were evicted from a merge.

use std::path::Path;

use planwright_engine::Project;
use planwright_engine::agent::planning_session;
use planwright_engine::approval::Approvals;
use planwright_engine::portfolio::merge_queue;
use planwright_engine::store::plan_file;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Failure, NextCommand, Out, clean_line};
use planwright_engine::api::{merge_failed, session_trouble};

/// A plan that waits for a yes or a no.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ReviewData {
    /// The plan.
    pub(crate) plan: String,
    /// Its file, relative to the root of the project.
    pub(crate) path: String,
    /// The revision.
    pub(crate) revision: u32,
    /// The first digits of its digest.
    pub(crate) digest: String,
    /// Where it stands: `proposed`, `waiting (lapsed)` or `waiting (revisions-spent)`.
    pub(crate) state: String,
    /// Who proposed it.
    pub(crate) by: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: u64,
}

impl ReviewData {
    /// What it waits for, in words.
    pub(crate) fn words(&self) -> String {
        let revision = self.revision;
        match self.state.as_str() {
            "proposed" => format!("r{revision} is pending review"),
            "waiting (lapsed)" => format!("the approval of r{revision} has lapsed"),
            _ => format!("r{revision} was rejected too often and needs you"),
        }
    }

    /// The command that a person types next.
    pub(crate) fn command(&self) -> NextCommand {
        let verb = if self.state == "waiting (revisions-spent)" { "revise" } else { "review" };
        // What lies outside of the project is called by its name: nobody types such a path.
        let plan = if Path::new(&self.path).is_absolute() { &self.plan } else { &self.path };
        NextCommand::new(["planwright", verb, plan.as_str()])
    }
}

/// Every plan that waits for a yes or a no, the oldest first. What time has ended meanwhile is ended first, and said.
pub(crate) fn reviews(project: &Project, out: &mut Out<'_>) -> Result<Vec<ReviewData>, Failure> {
    for trouble in planning_session::settle(project).into_iter().map(session_trouble) {
        out.warn(&clean_line(&trouble));
    }
    waiting_reviews(project, out)
}

/// The same without what ends planning sessions: for who looks again and again.
pub(crate) fn waiting_reviews(project: &Project, out: &mut Out<'_>) -> Result<Vec<ReviewData>, Failure> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok(Vec::new()) };
    for expired in decisions.sweep()? {
        out.warn(&format!("{}: {}", expired.plan.display(), expired.text));
    }
    let data = decisions.waiting()?.into_iter().map(|row| ReviewData {
        plan: plan_file::name(&row.plan),
        path: row.plan.to_string_lossy().into_owned(),
        revision: row.summary.revision,
        digest: row.summary.digest.get(..8).unwrap_or_default().to_owned(),
        state: row.summary.state,
        by: row.summary.proposer,
        since_ms: row.summary.since_ms,
    });
    Ok(data.collect())
}

/// A plan that is done, was evicted from a merge, and has not landed since.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct OutcastData {
    /// The plan.
    pub(crate) plan: String,
    /// Its file, relative to the root of the project.
    pub(crate) path: String,
    /// Its branch.
    pub(crate) branch: String,
    /// The branch that it was to go into.
    pub(crate) into: String,
    /// Why it did not.
    pub(crate) why: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: u64,
}

impl OutcastData {
    /// The command that a person types next, on the branch that it was to go into.
    pub(crate) fn command(&self) -> NextCommand {
        NextCommand::new(["git", "merge", self.branch.as_str()])
    }
}

/// Every plan that was evicted and has not landed since, the oldest first.
pub(crate) fn outcasts(project: &Project) -> Result<Vec<OutcastData>, Failure> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok(Vec::new()) };
    let found = merge_queue::evicted(&decisions)
        .map_err(|error| merge_failed(error, || NextCommand::new(["planwright", "merge"])))?;
    let data = found.into_iter().map(|outcast| OutcastData {
        plan: outcast.plan,
        path: outcast.path.to_string_lossy().into_owned(),
        branch: outcast.branch,
        into: outcast.into,
        why: outcast.why,
        since_ms: outcast.since_ms,
    });
    Ok(data.collect())
}
