//! `audit --rerun` and `audit --marks`: contracts run again, with no agent, on a fresh checkout, and what that settles.

use std::path::{Path, PathBuf};

use planwright_engine::Project;
use planwright_engine::audit::rerun::{
    Earlier, PlanAudit, RerunBasis, RerunOptions, RerunReport, RerunScope, StepAudit, record,
};
use planwright_engine::audit::{AuditBasis as Source, AuditReport, PlanReport};
use planwright_engine::core::audit::bundle;
use planwright_engine::core::audit::rerun::{Broke, CurrentResult, MarkClaim, Recorded, RerunOutcome};
use planwright_engine::core::audit::{AuditFinding, Kind};
use planwright_engine::git::checkout::Content;
use planwright_engine::system::process::Stop;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::shown;
use crate::output::wording;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Table, Tone, clean_line};

/// How much of what a contract printed is given.
const OUTPUT_BYTES_MAX: usize = 2_000;

#[derive(Debug, clap::Args)]
// A part of the arguments of `audit`: a second group of the same name is none.
#[group(skip)]
pub(crate) struct Args {
    /// Run every contract again in a fresh checkout, without an agent
    #[arg(long)]
    rerun: bool,
    /// Run the contracts of steps marked done; list false claims
    #[arg(long, conflicts_with = "rerun")]
    marks: bool,
    /// Audit this commit [default: the working directory]
    #[arg(long, value_name = "COMMIT")]
    at: Option<String>,
    /// Run contracts that already passed on the same content
    #[arg(long)]
    no_cache: bool,
}

/// A plan whose contracts were run again.
pub(crate) struct Again {
    /// The plan, as the report has it.
    pub(crate) plan: String,
    /// What came of its steps.
    pub(crate) audit: PlanAudit,
    at: Content,
}

impl Again {
    pub(crate) fn data(&self) -> RerunData {
        RerunData::of(&self.audit, &self.at)
    }
}

/// What running the contracts of a plan again came to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RerunData {
    /// Where it was looked: `workspace`, or the commit.
    pub(crate) at: String,
    /// Names the content that was looked at.
    pub(crate) tree: String,
    /// The dialect of the plan.
    pub(crate) dialect: String,
    /// Where the receipts come from: `journal`, the path of a file, or nothing.
    pub(crate) receipts: String,
    /// How many contracts were run now.
    pub(crate) ran: usize,
    /// How many passed before on the same content, and were not run.
    pub(crate) cached: usize,
    /// The steps that were looked at.
    pub(crate) steps: Vec<StepData>,
    /// Why the plan can't be read; empty where it can.
    pub(crate) fault: String,
}

/// One step.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepData {
    /// Its number.
    pub(crate) number: String,
    /// Its id.
    pub(crate) id: String,
    /// Its heading.
    pub(crate) title: String,
    /// Whether the file says that it is done.
    pub(crate) is_claimed: bool,
    /// What is recorded: `passed`, `confirmed`, `skipped`, or nothing.
    pub(crate) recorded: String,
    /// The hash of its contract; empty where it has none.
    pub(crate) contract: String,
    /// The contract's result now.
    pub(crate) now: CurrentResult,
    /// What follows.
    pub(crate) settled: RerunOutcome,
    /// When it was run, in milliseconds since 1970, where that was an earlier time on the same content.
    pub(crate) cached_at_ms: Option<u64>,
    /// Why no earlier result can be reused; empty if one can.
    pub(crate) uncached: String,
    /// How long the contract took.
    pub(crate) milliseconds: u64,
    /// The end of what it printed, where it did not pass.
    pub(crate) output: String,
    /// Since when it fails, where it passed once.
    pub(crate) broke: Option<Broke>,
}

impl StepData {
    fn of(step: &StepAudit) -> Self {
        let recorded = match &step.recorded {
            Recorded::Nothing => "",
            Recorded::Passed(_) => "passed",
            Recorded::Confirmed { .. } => "confirmed",
            Recorded::Skipped { .. } => "skipped",
        };
        let output = if step.now == CurrentResult::Passes { "" } else { step.output.as_str() };
        let start = output.ceil_char_boundary(output.len().saturating_sub(OUTPUT_BYTES_MAX));
        Self {
            number: step.number.clone(),
            id: step.id.clone(),
            title: step.title.clone(),
            is_claimed: step.claim == MarkClaim::Done,
            recorded: recorded.to_owned(),
            contract: step.contract.clone(),
            now: step.now.clone(),
            settled: step.settled,
            cached_at_ms: step.earlier_ms,
            uncached: step.uncached.clone().unwrap_or_default(),
            milliseconds: step.milliseconds,
            output: output[start..].to_owned(),
            broke: step.broke.clone(),
        }
    }
}

impl RerunData {
    fn of(audit: &PlanAudit, at: &Content) -> Self {
        Self {
            at: match at {
                Content::Workspace => "workspace".to_owned(),
                Content::Commit(commit) => commit.clone(),
            },
            tree: audit.tree.clone(),
            dialect: audit.dialect.to_owned(),
            receipts: match &audit.basis {
                RerunBasis::Nothing => String::new(),
                RerunBasis::Journal(_) => "journal".to_owned(),
                RerunBasis::File(path) => shown(path),
            },
            ran: audit.ran(),
            cached: cached(audit),
            steps: audit.steps.iter().map(StepData::of).collect(),
            fault: audit.fault.clone().unwrap_or_default(),
        }
    }
}

fn cached(audit: &PlanAudit) -> usize {
    audit.steps.iter().filter(|step| step.earlier_ms.is_some()).count()
}

/// Runs contracts again, if that was asked for, and puts what it settles into the report. Returns what came of each plan, in
/// the order of the report.
pub(crate) fn rerun(
    args: &Args,
    project: &Project,
    plan: Option<&Path>,
    report: &mut AuditReport,
) -> Result<Vec<Again>, Failure> {
    let scope = match (args.rerun, args.marks) {
        (true, _) => RerunScope::All,
        (false, true) => RerunScope::Claims,
        (false, false) if args.at.is_some() || args.no_cache => {
            let failure = Failure::new(Exit::Usage, "`--at` and `--no-cache` apply to reruns only");
            return Err(failure.hint("pass `--rerun` or `--marks` as well").next(NextCommand::new([
                "planwright",
                "help",
                "audit",
            ])));
        }
        (false, false) => return Ok(Vec::new()),
    };
    let earlier = if args.no_cache { Earlier::Ignored } else { Earlier::Counts };
    let options = RerunOptions { at: args.at.clone(), scope, earlier };
    let mut audit = RerunReport::open(project, &options)?;
    let at = audit.at().clone();
    let mut audits = Vec::new();
    for path in plans(project, plan)? {
        let known = record(project, &path)?;
        let settled = audit.plan(&path, &known, &Stop::new(), &mut |_| ())?;
        // Plans without claims are not listed.
        if plan.is_none() && settled.steps.is_empty() && settled.fault.is_none() {
            continue;
        }
        let name = known.plan.to_string_lossy().into_owned();
        settle(report, &name, settled.findings(&name));
        audits.push(Again { plan: name, audit: settled, at: at.clone() });
    }
    Ok(audits)
}

fn plans(project: &Project, plan: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    match plan {
        Some(plan) => Ok(vec![plan.to_owned()]),
        None => Ok(project.plans()?),
    }
}

/// Puts in the place of claims that no receipt shows what the contracts said about them.
fn settle(report: &mut AuditReport, plan: &str, findings: Vec<AuditFinding>) {
    let place = report.plans.iter().position(|known| known.plan == plan).unwrap_or_else(|| {
        report.plans.push(PlanReport {
            plan: plan.to_owned(),
            basis: Source::Nothing,
            records: 0,
            head: bundle::head_of_heads(&[]).to_hex().to_string(),
            findings: Vec::new(),
            history: Vec::new(),
            results: Vec::new(),
        });
        report.plans.len() - 1
    });
    let known = &mut report.plans[place].findings;
    known.retain(|finding| finding.kind != Kind::UnprovenMark);
    known.extend(findings);
}

/// Shows what came of the steps of a plan.
pub(crate) fn show(audit: &PlanAudit, out: &mut Out<'_>) {
    if let Some(fault) = &audit.fault {
        out.line(&format!("{}: {}", out.palette().paint(Tone::Bad, "unreadable"), clean_line(fault)));
        return;
    }
    let now = wording::now();
    let mut table = Table::new();
    for step in &audit.steps {
        let tone = match step.settled {
            RerunOutcome::Holds | RerunOutcome::Confirmed => Tone::Good,
            RerunOutcome::False | RerunOutcome::Broken | RerunOutcome::Moved => Tone::Bad,
            RerunOutcome::Open | RerunOutcome::Unknown => Tone::Muted,
        };
        let note = match (step.earlier_ms, step.now.because()) {
            (Some(at_ms), _) => format!("ran {} on the same content", wording::age(at_ms, now)),
            (None, because) => because.to_owned(),
        };
        table.row(vec![
            Cell::new(&step.number).right(),
            Cell::new(&step.id),
            Cell::new(step.settled.word()).tone(tone),
            Cell::new(step.now.word()),
            Cell::new(note).tone(Tone::Muted),
        ]);
    }
    out.table(&table);
    let count = audit.steps.iter().filter(|step| step.now == CurrentResult::Passes).count();
    let contracts = audit.steps.iter().filter(|step| step.now != CurrentResult::Manual).count();
    let spared = match cached(audit) {
        0 => String::new(),
        cached => format!("; {cached} cached: nothing changed since"),
    };
    out.line(&format!("{count} of {} pass{spared}", wording::number(contracts, "contract")));
}
