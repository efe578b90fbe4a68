//! The versions of a plan: why each was written as it is, its runs, and where its work went.

use std::path::Path;

use planwright_core::approval::ledger::{Drafting, LedgerEntry};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::Error;
use crate::api::path::shown;
use crate::api::plan::Plan;
use crate::approval::Approvals;
use crate::run::Runs;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::project::Project;
use crate::workspace::version;

#[derive(Debug, Serialize, JsonSchema)]
pub struct HistoryView {
    /// The versions, the oldest first.
    pub versions: Vec<VersionView>,
}

/// One version of a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionView {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: String,
    /// The number that it gives itself; empty where it has none.
    pub version: String,
    /// The version that it follows; empty for the first one.
    pub previous: String,
    /// The status that the file says.
    pub status: String,
    /// Why it was written as it is, the oldest first.
    pub drafts: Vec<DraftView>,
    /// Its runs, the oldest first.
    pub runs: Vec<VersionRunView>,
    /// Where its work went, the oldest first: merged, or evicted from a merge.
    pub merges: Vec<MergedView>,
}

/// What became of the work of a version when it was to be merged.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MergedView {
    /// Whether it landed.
    pub is_landed: bool,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The branch that it went into, or was to go.
    pub into: String,
    /// The commit that the branch stood at then.
    pub commit: String,
    /// What happened, in a line: the contract that failed, or the files in conflict.
    pub why: String,
}

/// Why a version was written as it is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DraftView {
    /// Who wrote it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The digest of what they wrote.
    pub digest: String,
    /// What they were asked for, and what they say.
    #[serde(flatten)]
    pub drafting: Drafting,
}

/// One run of a version.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionRunView {
    /// Its number.
    pub run: i64,
    /// The digest that was approved.
    pub digest: String,
    /// When it began, in milliseconds since 1970.
    pub at_ms: u64,
    /// Its state.
    pub state: String,
}

impl Plan {
    /// All versions of the plan.
    pub fn history(&self) -> Result<HistoryView, Error> {
        let project = self.workspace().project();
        let mut versions = Vec::new();
        for file in version::of(project, self.path()) {
            versions.extend(version_of(project, &file)?);
        }
        Ok(HistoryView { versions })
    }
}

/// What was said about a version.
fn said(project: &Project, path: &Path) -> Result<(Vec<DraftView>, Vec<MergedView>), Error> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok((Vec::new(), Vec::new())) };
    let case = decisions.case(path)?;
    let merges = case.ledger.iter().filter_map(|said| merge(said.at_ms, &said.entry)).collect();
    let drafts = case.standing.drafts.into_iter();
    let data = drafts.map(|drafted| DraftView {
        by: drafted.by.to_string(),
        at_ms: drafted.at_ms,
        digest: drafted.digest,
        drafting: drafted.drafting,
    });
    Ok((data.collect(), merges))
}

fn merge(at_ms: u64, entry: &LedgerEntry) -> Option<MergedView> {
    match entry {
        LedgerEntry::Merged { into, commit, .. } => {
            let (into, commit) = (into.clone(), commit.clone());
            Some(MergedView { is_landed: true, at_ms, into, commit, why: String::new() })
        }
        LedgerEntry::Evicted { into, onto, with, evidence, paths, .. } => {
            let why = match evidence {
                Some(evidence) if evidence.step.is_empty() => {
                    format!("{}: {}", evidence.plan, evidence.failure)
                }
                Some(evidence) => format!("{}/{}: {}", evidence.plan, evidence.step, evidence.failure),
                None => format!("conflict in {}", paths.join(", ")),
            };
            let with = if with.is_empty() { String::new() } else { format!(", with {}", with.join(", ")) };
            let (into, commit) = (into.clone(), onto.clone());
            Some(MergedView { is_landed: false, at_ms, into, commit, why: format!("{why}{with}") })
        }
        LedgerEntry::Proposed { .. }
        | LedgerEntry::Approved { .. }
        | LedgerEntry::Rejected { .. }
        | LedgerEntry::Commented { .. }
        | LedgerEntry::Answered { .. }
        | LedgerEntry::Drafted { .. }
        | LedgerEntry::Discovered { .. }
        | LedgerEntry::Added { .. }
        | LedgerEntry::Reopened { .. }
        | LedgerEntry::Cancelled { .. }
        | LedgerEntry::Lapsed { .. }
        | LedgerEntry::Started { .. }
        | LedgerEntry::Ended { .. }
        | LedgerEntry::Undone { .. }
        | LedgerEntry::Archived { .. }
        | LedgerEntry::Deleted { .. } => None,
    }
}

fn version_of(project: &Project, path: &Path) -> Result<Option<VersionView>, Error> {
    let FileText::Plan(source) = plan_file::read(path, &shown(path), project.reading())? else {
        return Ok(None);
    };
    let draft = (source.dialect().skim)(&source);
    let key = |name: &str| draft.frontmatter.value(name).map(|value| value.value.clone()).unwrap_or_default();
    let mut all = Vec::new();
    if let Some(runs) = Runs::open_existing(project)? {
        for run in runs.of_plan(path)? {
            all.push(VersionRunView {
                run: run.row.id.number(),
                digest: run.row.digest.clone(),
                at_ms: run.row.created_at_ms,
                state: run.word().to_owned(),
            });
        }
    }
    let (drafts, merges) = said(project, path)?;
    Ok(Some(VersionView {
        name: plan_file::name(path),
        path: shown(path),
        version: key("version"),
        previous: key("previousPlanId"),
        status: draft.status.0.as_ref().map(|status| status.value.clone()).unwrap_or_default(),
        drafts,
        runs: all,
        merges,
    }))
}
