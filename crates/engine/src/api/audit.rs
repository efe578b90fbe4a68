//! Whether the record of plans is intact and proves what it claims, and what their contracts say when they run again.

use std::path::{Path, PathBuf};

use planwright_core::audit::{AuditFinding, HistoryLine, Kind, bundle};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::Right;
use crate::api::error::Error;
use crate::api::path::shown;
use crate::api::workspace::Workspace;
use crate::audit;
use crate::audit::rerun::{PlanAudit, RerunBasis, RerunOptions, RerunReport, StepAudit, record};
use crate::audit::{AnchorRefs, AuditBasis, AuditReport, Auditor, PlanReport};
use crate::git::checkout::Content;
use crate::system::process::Stop;
use crate::workspace::project::Project;

/// What is audited.
#[derive(Debug, Default)]
pub struct AuditOptions<'a> {
    /// `None`: all plans.
    pub plan: Option<&'a str>,
    /// How contracts run again, if they do.
    pub rerun: Option<RerunOptions>,
    /// Where the heads of all records are kept if the audit passes.
    pub anchor: Option<AnchorRefs>,
}

/// An audit, and what can be made of it.
pub struct Audit {
    project: Project,
    report: AuditReport,
    anchor: Option<AnchorRefs>,
    pub view: AuditView,
}

/// What an audit found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditView {
    /// Whether nothing was found.
    pub is_intact: bool,
    /// The plans of which anything is recorded or claimed.
    pub plans: Vec<AuditedPlanView>,
    /// What is about no plan.
    pub findings: Vec<AuditFindingView>,
    /// What the records were compared with.
    pub compared: Vec<String>,
    /// What is good to know, and no finding.
    pub notes: Vec<String>,
    /// The in-toto statements that were written.
    pub statements: Vec<String>,
    /// Where the heads are kept now, if that was asked for.
    pub anchor: Option<AnchorView>,
    /// The plan that was asked for, as people see it.
    #[serde(skip)]
    pub asked: Option<String>,
}

/// One plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditedPlanView {
    /// The plan, relative to the root of the project.
    pub plan: String,
    /// Where the record comes from: `store`, the path of a file, or nothing.
    pub basis: String,
    /// How many records there are.
    pub records: usize,
    /// The hash over the ends of its ledger and of its runs.
    pub head: String,
    /// What was found.
    pub findings: Vec<AuditFindingView>,
    /// Who did what, the oldest first.
    pub history: Vec<HistoryLine>,
    /// Current contract results, if they were run again.
    pub rerun: Option<RerunView>,
}

/// Something that is not as it should be.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditFindingView {
    /// What was found, and where.
    #[serde(flatten)]
    pub finding: AuditFinding,
    pub meaning: &'static str,
}

/// Heads that are kept in the repository.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnchorView {
    pub place: String,
    /// The hash over the ends of all books.
    pub head: String,
}

/// What running the contracts of a plan again came to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RerunView {
    /// Where it was looked: `workspace`, or the commit.
    pub at: String,
    /// Names the content that was looked at.
    pub tree: String,
    /// The dialect of the plan.
    pub dialect: String,
    /// Where the receipts come from: `journal`, the path of a file, or nothing.
    pub receipts: String,
    /// How many contracts were run now.
    pub ran: usize,
    /// How many passed before on the same content, and were not run.
    pub cached: usize,
    /// The steps that were looked at.
    pub steps: Vec<StepAudit>,
    /// Why the plan can't be read; empty where it can.
    pub fault: String,
}

impl RerunView {
    fn of(audit: PlanAudit, at: &Content) -> Self {
        Self {
            at: match at {
                Content::Workspace => "workspace".to_owned(),
                Content::Commit(commit) => commit.clone(),
            },
            ran: audit.ran(),
            cached: audit.steps.iter().filter(|step| step.earlier_ms.is_some()).count(),
            tree: audit.tree,
            dialect: audit.dialect.to_owned(),
            receipts: match &audit.basis {
                RerunBasis::Nothing => String::new(),
                RerunBasis::Journal(_) => "journal".to_owned(),
                RerunBasis::File(path) => shown(path),
            },
            steps: audit.steps,
            fault: audit.fault.unwrap_or_default(),
        }
    }
}

impl AuditedPlanView {
    fn of(report: &PlanReport, rerun: Option<RerunView>) -> Self {
        Self {
            plan: report.plan.clone(),
            basis: match &report.basis {
                AuditBasis::Nothing => String::new(),
                AuditBasis::Store => "store".to_owned(),
                AuditBasis::File(path) => shown(path),
            },
            records: report.records,
            head: report.head.clone(),
            findings: findings(&report.findings),
            history: report.history.clone(),
            rerun,
        }
    }
}

fn findings(findings: &[AuditFinding]) -> Vec<AuditFindingView> {
    let view = |finding: &AuditFinding| AuditFindingView {
        finding: finding.clone(),
        meaning: finding.kind.meaning(),
    };
    findings.iter().map(view).collect()
}

impl Workspace {
    /// Audits one plan or all of them. A plan whose file is gone is known by its record.
    pub fn audit(&self, options: &AuditOptions<'_>) -> Result<Audit, Error> {
        if options.anchor.is_some() {
            self.caller().may(Right::Anchor)?;
        }
        let (project, path) = self.audited(options.plan)?;
        let mut report = Auditor::of(&project, path.as_deref())?;
        let mut reruns = match &options.rerun {
            Some(rerun) => run_again(&project, path.as_deref(), rerun, &mut report)?,
            None => Vec::new(),
        };
        let mut rerun_of = |plan: &str| {
            let place = reruns.iter().position(|(name, _)| name == plan)?;
            Some(reruns.swap_remove(place).1)
        };
        let view = AuditView {
            is_intact: report.findings().next().is_none(),
            plans: report.plans.iter().map(|plan| AuditedPlanView::of(plan, rerun_of(&plan.plan))).collect(),
            findings: findings(&report.findings),
            compared: report.compared.clone(),
            notes: report.notes.clone(),
            statements: Vec::new(),
            anchor: None,
            asked: path.as_deref().map(shown),
        };
        Ok(Audit { project, report, anchor: options.anchor, view })
    }

    fn audited(&self, plan: Option<&str>) -> Result<(Project, Option<PathBuf>), Error> {
        let own = || self.project().clone();
        let Some(plan) = plan else { return Ok((own(), None)) };
        match self.project().address(plan) {
            Ok(address) => {
                let workspace = Self::open_for(&address.plan, self.options())?;
                Ok((workspace.project().clone(), Some(address.plan)))
            }
            Err(error) => match audit::recorded(self.project(), plan)? {
                Some(path) => Ok((own(), Some(path))),
                None => Err(error.into()),
            },
        }
    }
}

impl Audit {
    /// Writes each verdict as an in-toto statement.
    pub fn write_statements(&mut self, folder: &Path) -> Result<(), Error> {
        for plan in &self.report.plans {
            let written = audit::write_statements(plan, folder)?;
            self.view.statements.extend(written.iter().map(|path| shown(path)));
        }
        Ok(())
    }

    /// Keeps the heads of all records in the repository, if that was asked for.
    pub fn anchor(&mut self) -> Result<Option<&AnchorView>, Error> {
        if let Some(place) = self.anchor {
            let (head, place) = audit::keep(&self.project, place, self.report.findings().count())?;
            self.view.anchor = Some(AnchorView { place, head });
        }
        Ok(self.view.anchor.as_ref())
    }
}

/// Runs contracts again, puts what it settles into the report, and returns what came of each plan.
fn run_again(
    project: &Project,
    plan: Option<&Path>,
    options: &RerunOptions,
    report: &mut AuditReport,
) -> Result<Vec<(String, RerunView)>, Error> {
    let mut rerun = RerunReport::open(project, options)?;
    let at = rerun.at().clone();
    let paths = match plan {
        Some(plan) => vec![plan.to_owned()],
        None => project.plans()?,
    };
    let mut views = Vec::new();
    for path in paths {
        let known = record(project, &path)?;
        let settled = rerun.plan(&path, &known, &Stop::new(), &mut |_| ())?;
        // Plans without claims are not listed.
        if plan.is_none() && settled.steps.is_empty() && settled.fault.is_none() {
            continue;
        }
        let name = known.plan.to_string_lossy().into_owned();
        settle(report, &name, settled.findings(&name));
        views.push((name, RerunView::of(settled, &at)));
    }
    Ok(views)
}

/// Puts in the place of claims that no receipt shows what the contracts said about them.
fn settle(report: &mut AuditReport, plan: &str, findings: Vec<AuditFinding>) {
    let place = report.plans.iter().position(|known| known.plan == plan).unwrap_or_else(|| {
        report.plans.push(PlanReport {
            plan: plan.to_owned(),
            basis: AuditBasis::Nothing,
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
