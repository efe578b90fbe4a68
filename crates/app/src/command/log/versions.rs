//! `log PLAN --versions`: the versions of a plan and the runs of each, oldest first.

use std::path::Path;

use planwright_engine::Project;
use planwright_engine::approval::Approvals;
use planwright_engine::core::approval::ledger::{Drafting, LedgerEntry};
use planwright_engine::run::Runs;
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::system::clock;
use planwright_engine::workspace::version as versions;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::target::{Opened, open};
use crate::output::wording::run_word;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, clean, clean_line};
use planwright_engine::api::shown;

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct History {
    /// The versions, the oldest first.
    pub(crate) versions: Vec<Version>,
}

/// One version of a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Version {
    /// Its name.
    pub(crate) name: String,
    /// Its file.
    pub(crate) path: String,
    /// The number that it gives itself; empty where it has none.
    pub(crate) version: String,
    /// The version that it follows; empty for the first one.
    pub(crate) previous: String,
    /// The status that the file says.
    pub(crate) status: String,
    /// Why it was written as it is, the oldest first.
    pub(crate) drafts: Vec<DraftData>,
    /// Its runs, the oldest first.
    pub(crate) runs: Vec<RunData>,
    /// Where its work went, the oldest first: merged, or evicted from a merge.
    pub(crate) merges: Vec<Merge>,
}

/// What became of the work of a version when it was to be merged.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Merge {
    /// Whether it landed.
    pub(crate) is_landed: bool,
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The branch that it went into, or was to go.
    pub(crate) into: String,
    /// The commit that the branch stood at then.
    pub(crate) commit: String,
    /// What happened, in a line: the contract that failed, or the files in conflict.
    pub(crate) why: String,
}

/// Why a version was written as it is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DraftData {
    /// Who wrote it.
    pub(crate) by: String,
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The digest of what they wrote.
    pub(crate) digest: String,
    /// What they were asked for, and what they say.
    #[serde(flatten)]
    pub(crate) drafting: Drafting,
}

/// One run of a version.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunData {
    /// Its number.
    pub(crate) run: i64,
    /// The digest that was approved.
    pub(crate) digest: String,
    /// When it began, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// Its state.
    pub(crate) state: String,
}

pub(crate) fn run(plan: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let Opened { path, project, .. } = open(plan)?;
    let mut all = Vec::new();
    for file in versions::of(&project, &path) {
        all.extend(version(&project, &file)?);
    }
    let mut table = Table::new();
    for version in &all {
        table.row(vec![
            Cell::new(&version.name).tone(Tone::Strong),
            Cell::new(if version.version.is_empty() {
                String::new()
            } else {
                format!("v{}", version.version)
            }),
            Cell::new(&version.status),
            Cell::new(&version.path).tone(Tone::Muted),
        ]);
        for draft in &version.drafts {
            let after = draft.drafting.after.as_ref();
            let why = after.map(|after| {
                let error = after.error.lines().next().unwrap_or_default();
                match after.step.as_str() {
                    "" => format!("after {}", after.previous),
                    step => format!("after {}, where {step} failed: {error}", after.previous),
                }
            });
            table.row(vec![
                Cell::new("  drafted").tone(Tone::Muted),
                Cell::new(&draft.digest[..draft.digest.len().min(8)]),
                Cell::new(format!("by {}", draft.by)),
                Cell::new(why.unwrap_or_else(|| clock::local(draft.at_ms))).tone(Tone::Muted),
            ]);
        }
        let mut merges = Vec::new();
        for merge in &version.merges {
            let (word, how) = if merge.is_landed { ("merged", "into") } else { ("evicted", "from") };
            let when = clock::local(merge.at_ms);
            let note = if merge.why.is_empty() { when } else { merge.why.clone() };
            merges.push(vec![
                Cell::new(format!("  {word}")).tone(Tone::Muted),
                Cell::new(&merge.commit[..merge.commit.len().min(8)]),
                Cell::new(format!("{how} {}", merge.into)),
                Cell::new(note).tone(Tone::Muted),
            ]);
        }
        for run in &version.runs {
            let when = clock::local(run.at_ms);
            let word = format!("run {}", run.run);
            table.row(vec![
                Cell::new(format!("  {word}")).tone(Tone::Muted),
                Cell::new(&run.digest[..run.digest.len().min(8)]),
                Cell::new(&run.state),
                Cell::new(when).tone(Tone::Muted),
            ]);
        }
        for row in merges {
            table.row(row);
        }
    }
    out.table(&table);
    for version in &all {
        for draft in &version.drafts {
            print_reasons(&version.name, &draft.drafting, out);
        }
    }
    if all.iter().all(|version| version.runs.is_empty()) {
        out.talk(&format!("{} has not been run", clean_line(&plan_file::name(&path))));
    }
    let next = NextCommand::new(["planwright", "show", shown(&path).as_str()]);
    Ok(Response::done("history", &History { versions: all }).next(next))
}

/// All that a planner said about a version.
fn print_reasons(name: &str, drafting: &Drafting, out: &mut Out<'_>) {
    for (word, text) in [("changes", &drafting.changes), ("why", &drafting.reasoning)] {
        if !text.trim().is_empty() {
            out.line(&format!("{} {word}:", clean_line(name)));
            let lines = clean(text.trim());
            out.data(&lines.lines().map(|line| format!("  {line}\n")).collect::<String>());
        }
    }
}

/// What was said about a version.
fn said(project: &Project, path: &Path) -> Result<(Vec<DraftData>, Vec<Merge>), Failure> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok((Vec::new(), Vec::new())) };
    let case = decisions.case(path)?;
    let merges = case.ledger.iter().filter_map(|said| merge(said.at_ms, &said.entry)).collect();
    let drafts = case.standing.drafts.into_iter();
    let data = drafts.map(|drafted| DraftData {
        by: drafted.by.to_string(),
        at_ms: drafted.at_ms,
        digest: drafted.digest,
        drafting: drafted.drafting,
    });
    Ok((data.collect(), merges))
}

fn merge(at_ms: u64, entry: &LedgerEntry) -> Option<Merge> {
    match entry {
        LedgerEntry::Merged { into, commit, .. } => {
            let (into, commit) = (into.clone(), commit.clone());
            Some(Merge { is_landed: true, at_ms, into, commit, why: String::new() })
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
            Some(Merge { is_landed: false, at_ms, into, commit, why: format!("{why}{with}") })
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

fn version(project: &Project, path: &Path) -> Result<Option<Version>, Failure> {
    let FileText::Plan(source) = plan_file::read(path, &shown(path), project.reading())? else {
        return Ok(None);
    };
    let draft = (source.dialect().skim)(&source);
    let key = |name: &str| draft.frontmatter.value(name).map(|value| value.value.clone()).unwrap_or_default();
    let mut all = Vec::new();
    if let Some(runs) = Runs::open_existing(project)? {
        for run in runs.of_plan(path)? {
            all.push(RunData {
                run: run.row.id.number(),
                digest: run.row.digest.clone(),
                at_ms: run.row.created_at_ms,
                state: run_word(&run).to_owned(),
            });
        }
    }
    let (drafts, merges) = said(project, path)?;
    Ok(Some(Version {
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
