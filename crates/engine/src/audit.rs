//! Whether the record is what was written and proves what it claims. Gathers the record, its copies elsewhere
//! and the plan files; [`planwright_core::audit`] finds problems. A façade for the user interfaces. Fixes
//! nothing.

pub mod doctor;
pub mod rerun;
mod external_anchor;
mod export;
mod authority;

pub use export::{Export, Written, export, write_statements};
pub use external_anchor::{AnchorRefs, keep};

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::audit;
use planwright_core::audit::bundle;
use planwright_core::audit::bundle::{Anchor, AuditBundle};
use planwright_core::audit::{
    AuditCheck, AuditContext, AuditFinding, CheckSet, Claimed, HistoryLine, KeptHead, Kind, TestResult,
};
use planwright_core::plan::identity::Identity;
use planwright_core::syntax::source::Source;

use crate::git::base;
use crate::store::journal;
use crate::store::journal::{Recording, RunOutputs, Store};
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::project;
use crate::workspace::project::Project;
use authority::RecordedRight;
pub(crate) use export::ExportedBundle;
use external_anchor::Beyond;

/// Errors of an audit. A finding is not an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error("cannot read the record")]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error("cannot keep the heads in git")]
    Git(#[from] base::Error),
    #[error("cannot use {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot export the record of {plan}")]
    Unwritable {
        plan: String,
        #[source]
        source: bundle::Unwritable,
    },
    #[error("no records of {plan}")]
    Nothing { plan: String },
    #[error("no records")]
    NoRecord,
    /// There were findings, so nothing is kept.
    #[error("cannot anchor a record with findings ({0})")]
    Found(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditReport {
    /// By path.
    pub plans: Vec<PlanReport>,
    /// Findings that belong to no plan: the database and the files next to it.
    pub findings: Vec<AuditFinding>,
    /// What the records were compared with, for people.
    pub compared: Vec<String>,
    /// Worth knowing, but not a finding.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanReport {
    /// Relative to the root of the project.
    pub plan: String,
    pub basis: AuditBasis,
    pub records: usize,
    /// The hash over all heads.
    pub head: String,
    pub findings: Vec<AuditFinding>,
    pub history: Vec<HistoryLine>,
    /// The verdicts, for third-party tools.
    pub results: Vec<TestResult>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditBasis {
    Nothing,
    /// The local store.
    Store,
    File(PathBuf),
}

impl AuditReport {
    pub fn findings(&self) -> impl Iterator<Item = &AuditFinding> {
        self.findings.iter().chain(self.plans.iter().flat_map(|plan| &plan.findings))
    }
}

pub struct Auditor;

impl Auditor {
    /// Audits one plan, or all plans of a project.
    pub fn of(project: &Project, plan: Option<&Path>) -> Result<AuditReport, Error> {
        match Store::open_for_audit(&project.root) {
            Ok(store) => Self::with(project, store, plan, &CheckSet::all()),
            // A store that cannot be opened because it is damaged is what an audit is there to find.
            Err(
                error @ (journal::Error::Damaged { .. }
                | journal::Error::Lost { .. }
                | journal::Error::Cut { .. }),
            ) => Ok(damaged(&error)),
            Err(error) => Err(error.into()),
        }
    }

    /// The same with another store and with checks left out, for tests that show what each check is good for.
    pub fn with(
        project: &Project,
        store: Option<Store>,
        plan: Option<&Path>,
        checks: &CheckSet,
    ) -> Result<AuditReport, Error> {
        let asked = plan.map(|plan| relative(project, plan));
        let desk = Desk {
            project,
            right: RecordedRight::of(project),
            checks,
            // Read before the database, which then contains everything noted here.
            beyond: Beyond::read(store.as_ref(), &project.root)?,
            exported: ExportedBundle::all(&project.root)?,
            store,
        };
        desk.report(asked.as_deref())
    }
}

/// The recorded plan with this path or name; its file may be gone.
pub fn recorded(project: &Project, address: &str) -> Result<Option<PathBuf>, Error> {
    let mut paths: BTreeSet<PathBuf> = ExportedBundle::all(&project.root)?.into_keys().collect();
    if let Some(store) = Store::open_for_audit(&project.root)? {
        paths.extend(store.plans()?);
    }
    let is_meant = |path: &&PathBuf| path.as_path() == Path::new(address) || plan_file::name(path) == address;
    Ok(paths.iter().find(is_meant).map(|path| project.root.join(path)))
}

fn damaged(error: &journal::Error) -> AuditReport {
    let finding = AuditFinding {
        kind: Kind::Database,
        plan: String::new(),
        where_: "the database".to_owned(),
        text: error.to_string(),
    };
    AuditReport { findings: vec![finding], ..AuditReport::default() }
}

/// A plan's path as records spell it.
fn relative(project: &Project, plan: &Path) -> PathBuf {
    let real = plan.canonicalize().unwrap_or_else(|_| plan.to_owned());
    real.strip_prefix(&project.root).map(Path::to_owned).unwrap_or(real)
}

struct Desk<'a> {
    project: &'a Project,
    right: RecordedRight<'a>,
    checks: &'a CheckSet,
    store: Option<Store>,
    beyond: Beyond,
    exported: BTreeMap<PathBuf, ExportedBundle>,
}

impl Desk<'_> {
    fn report(&self, asked: Option<&Path>) -> Result<AuditReport, Error> {
        let mut report = AuditReport::default();
        if let Some(store) = &self.store {
            report.findings = self.tables(store);
            report.findings.extend(self.gone(store)?);
            report.compared = self.beyond.words();
        }
        let paths = match asked {
            Some(plan) => BTreeSet::from([plan.to_owned()]),
            None => self.plans()?,
        };
        for path in paths {
            let plan = self.plan(&path, &mut report.notes)?;
            // A plan without records and claims is not worth a report, unless it was asked for.
            if asked.is_some() || plan.basis != AuditBasis::Nothing || !plan.findings.is_empty() {
                report.plans.push(plan);
            }
        }
        report.notes.extend(self.right.notes());
        Ok(report)
    }

    /// Every plan that is recorded, exported, or in the project.
    fn plans(&self) -> Result<BTreeSet<PathBuf>, Error> {
        let mut paths: BTreeSet<PathBuf> = self.exported.keys().cloned().collect();
        if let Some(store) = &self.store {
            paths.extend(store.plans()?);
        }
        paths.extend(self.project.plans()?.iter().map(|path| relative(self.project, path)));
        Ok(paths)
    }

    fn plan(&self, path: &Path, notes: &mut Vec<String>) -> Result<PlanReport, Error> {
        let recording = match &self.store {
            Some(store) => store.recording(path, RunOutputs::Left)?,
            None => Recording::default(),
        };
        let exported = self.exported.get(path);
        let mut findings = exported.map(|exported| self.file(exported)).unwrap_or_default();
        let is_recorded = recording.bundle.ledger.is_some() || !recording.bundle.runs.is_empty();
        let (bundle, basis) = match (is_recorded, exported) {
            (true, _) => (recording.bundle.clone(), AuditBasis::Store),
            (false, Some(exported)) => (exported.bundle.clone(), AuditBasis::File(exported.path.clone())),
            (false, None) => (
                AuditBundle { plan: path.to_string_lossy().into_owned(), ..AuditBundle::default() },
                AuditBasis::Nothing,
            ),
        };
        let mut kept = self.beyond.of(&bundle);
        if let (AuditBasis::Store, Some(exported)) = (&basis, exported) {
            match exported.bundle.store == bundle.store {
                true if exported.faults.is_empty() => kept.extend(exported.kept()),
                true => {}
                false => notes.push(format!("{} comes from another store", exported.shown)),
            }
        }
        let source = self.source(path)?;
        findings.extend(self.audit(&bundle, source.as_ref(), &kept));
        if basis == AuditBasis::Store {
            findings.extend(self.own(&recording)?);
        }
        Ok(PlanReport {
            plan: bundle.plan.clone(),
            basis,
            records: bundle.records(),
            head: bundle::head_of_heads(&bundle.heads()).to_hex().to_string(),
            findings,
            history: audit::history(&bundle),
            results: audit::test_results(&bundle),
        })
    }

    fn audit(&self, bundle: &AuditBundle, file: Option<&Source>, kept: &[KeptHead]) -> Vec<AuditFinding> {
        let may = |claimed: &Claimed<'_>| self.right.may(claimed);
        let signed = |text: (&str, &str), by: &Identity, at_ms: u64| self.right.signed(text, by, at_ms);
        audit::audit(bundle, &AuditContext { file, kept, may: &may, signed: &signed, checks: self.checks })
    }

    fn source(&self, path: &Path) -> Result<Option<Source>, Error> {
        let full = self.project.root.join(path);
        if !full.exists() {
            return Ok(None);
        }
        match plan_file::read(&full, &path.to_string_lossy(), self.project.reading())? {
            FileText::Plan(source) => Ok(Some(source)),
            FileText::Unreadable(_) => Ok(None),
        }
    }

    /// Audits an exported file on its own.
    fn file(&self, exported: &ExportedBundle) -> Vec<AuditFinding> {
        let plan = &exported.bundle.plan;
        let mut findings = audit::file_findings(&exported.shown, plan, &exported.faults, self.checks);
        let inside = self.audit(&exported.bundle, None, &[]).into_iter();
        findings.extend(inside.map(|finding| AuditFinding {
            where_: format!("{}: {}", exported.shown, finding.where_),
            ..finding
        }));
        findings
    }

    /// What only the store itself can tell about its record of a plan.
    fn own(&self, recording: &Recording) -> Result<Vec<AuditFinding>, Error> {
        let finding = |kind, where_: String, text: String| AuditFinding {
            kind,
            plan: recording.bundle.plan.clone(),
            where_,
            text,
        };
        let mut findings = Vec::new();
        if self.checks.has(AuditCheck::Tables) {
            let text = || "filed under another key".to_owned();
            let misfiled = recording.misfiled.iter();
            findings.extend(misfiled.map(|where_| finding(Kind::Misfiled, where_.clone(), text())));
        }
        let lost = self.lost(recording)?;
        findings.extend(lost.into_iter().map(|(where_, text)| finding(Kind::AnchorLost, where_, text)));
        Ok(findings)
    }

    /// Books whose end should be anchored but is not.
    fn lost(&self, recording: &Recording) -> Result<Vec<(String, String)>, Error> {
        let Some(store) = self.store.as_ref().filter(|_| self.checks.has(AuditCheck::Anchor)) else {
            return Ok(Vec::new());
        };
        let is_noted = |noted: &[Anchor], end: &Anchor| {
            noted.iter().any(|anchor| anchor.book.key() == end.book.key() && anchor.head.seq >= end.head.seq)
        };
        let ends = recording.bundle.heads();
        let missing = |noted: &[Anchor]| {
            let ends = ends.iter().filter(|end| end.head.seq > 0);
            ends.filter(|end| !is_noted(noted, end) && !is_noted(&recording.outstanding, end))
                .map(|end| end.book.to_string())
                .collect::<Vec<_>>()
        };
        let known =
            self.beyond.of(&recording.bundle).into_iter().filter(|kept| kept.by == external_anchor::FILE);
        if missing(&known.map(|kept| kept.anchor).collect::<Vec<_>>()).is_empty() {
            return Ok(Vec::new());
        }
        // Whatever was recorded since the file was read is anchored by now.
        let missing = missing(&store.anchored()?.anchors);
        let text = format!("{} does not contain its end", store.anchors_path().display());
        Ok(missing.into_iter().map(|book| (book, text.clone())).collect())
    }

    /// Anchored books that are missing, and anchors that cannot be read.
    fn gone(&self, store: &Store) -> Result<Vec<AuditFinding>, Error> {
        let mut findings = Vec::new();
        if !self.checks.has(AuditCheck::Anchor) {
            return Ok(findings);
        }
        let mut find = |kind, where_: String, text: String| {
            findings.push(AuditFinding { kind, plan: String::new(), where_, text });
        };
        for line in &self.beyond.anchored.unreadable {
            let where_ = format!("{}:{line}", store.anchors_path().display());
            find(Kind::AnchorUnreadable, where_, "invalid line".to_owned());
        }
        for (kind, where_, text) in &self.beyond.faults {
            find(*kind, where_.clone(), text.clone());
        }
        for KeptHead { anchor, by } in self.beyond.kept.values().filter_map(|kept| kept.last()) {
            if !store.has_book(&anchor.book)? {
                let text = format!("{by} lists {} records; none exist", anchor.head.seq);
                find(Kind::Gone, anchor.book.to_string(), text);
            }
        }
        Ok(findings)
    }

    /// The database itself, and the tables derived from the journals.
    fn tables(&self, store: &Store) -> Vec<AuditFinding> {
        let finding = |kind, where_: &str, text| AuditFinding {
            kind,
            plan: String::new(),
            where_: where_.to_owned(),
            text,
        };
        if !self.checks.has(AuditCheck::Tables) {
            return Vec::new();
        }
        let said = |faults: Result<Vec<String>, journal::Error>| {
            faults.unwrap_or_else(|error| vec![error.to_string()]).into_iter()
        };
        let damage = said(store.check_integrity()).map(|text| finding(Kind::Database, "the database", text));
        let tables = said(store.check_projection()).map(|text| finding(Kind::Table, "the tables", text));
        damage.chain(tables).collect()
    }
}
