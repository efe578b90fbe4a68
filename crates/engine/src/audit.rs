//! Whether what is recorded is what was written, and proves what it says. Gathers the record, what was kept of it elsewhere and
//! the plan files; [`planwright_core::audit`] finds. The façade that faces use. Mends nothing.

pub mod doctor;
pub mod rerun;
mod external_anchor;
mod export;
mod authority;

pub use export::{Export, Written, export, write_statements};
pub use external_anchor::{Keep, keep};

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::Who;
use planwright_core::audit::bundle;
use planwright_core::audit::bundle::{Anchor, Bundle};
use planwright_core::audit::{
    self, Check, Checks, Claimed, Finding, Happened, KeptHead, Kind, TestResult, World,
};
use planwright_core::syntax::source::Source;

use crate::git::base;
use crate::store::journal::{self, Outputs, Recording, Store};
use crate::store::plan_file;
use crate::store::plan_file::Text;
use crate::workspace::project;
use crate::workspace::project::Project;
use authority::Right;
pub(crate) use export::Exported;
use external_anchor::Beyond;

/// What can go wrong with an audit. What is found is no error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error("the record can't be read")]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error("the heads can't be kept in git")]
    Git(#[from] base::Error),
    /// A file can't be written or read.
    #[error("cannot use {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A record can't be exported.
    #[error("the record of {plan} can't be exported")]
    Unwritable {
        plan: String,
        #[source]
        source: bundle::Unwritable,
    },
    /// Nothing is recorded of it.
    #[error("nothing is recorded of {plan}")]
    Nothing { plan: String },
    /// There is no store to anchor.
    #[error("nothing is recorded here")]
    NoRecord,
    /// Something was found, so that nothing is kept.
    #[error("a record in which something was found is not anchored (findings: {0})")]
    Found(usize),
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The plans, by path.
    pub plans: Vec<PlanReport>,
    /// What is about no plan: the database and what is kept beside it.
    pub findings: Vec<Finding>,
    /// What the records were compared with, in words.
    pub compared: Vec<String>,
    /// What is good to know, and no finding.
    pub notes: Vec<String>,
}

/// What an audit found about one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanReport {
    /// The plan, relative to the root of the project.
    pub plan: String,
    /// Where the record comes from.
    pub basis: Basis,
    /// How many records there are.
    pub records: usize,
    /// The head of their heads.
    pub head: String,
    pub findings: Vec<Finding>,
    pub history: Vec<Happened>,
    /// The verdicts, for tools of others.
    pub results: Vec<TestResult>,
}

/// Where a record comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    Nothing,
    /// The store of this machine.
    Store,
    /// A file beside the code.
    File(PathBuf),
}

impl Report {
    /// Everything that was found.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(self.plans.iter().flat_map(|plan| &plan.findings))
    }
}

pub struct Audit;

impl Audit {
    /// Audits one plan, or all of a project.
    pub fn of(project: &Project, plan: Option<&Path>) -> Result<Report, Error> {
        match Store::exists(&project.root)?.then(|| Store::open(&project.root)).transpose() {
            Ok(store) => Self::with(project, store, plan, &Checks::all()),
            // What can't be opened because it is damaged is what an audit is there to find.
            Err(error @ journal::Error::Damaged { .. }) => Ok(damaged(&error)),
            Err(error) => Err(error.into()),
        }
    }

    /// The same with another store, and with checks left out: for tests that show what each is good for.
    pub fn with(
        project: &Project,
        store: Option<Store>,
        plan: Option<&Path>,
        checks: &Checks,
    ) -> Result<Report, Error> {
        let asked = plan.map(|plan| relative(project, plan));
        let desk = Desk {
            project,
            right: Right::of(project),
            checks,
            // Read before the database: what is noted is in it by then.
            beyond: Beyond::read(store.as_ref(), &project.root)?,
            exported: Exported::all(&project.root)?,
            store,
        };
        desk.report(asked.as_deref())
    }
}

/// The plan of which something is recorded under this path or name, though its file may be gone.
pub fn recorded(project: &Project, address: &str) -> Result<Option<PathBuf>, Error> {
    let mut paths: BTreeSet<PathBuf> = Exported::all(&project.root)?.into_keys().collect();
    if Store::exists(&project.root)? {
        paths.extend(Store::open(&project.root)?.plans()?);
    }
    let is_meant = |path: &&PathBuf| path.as_path() == Path::new(address) || project::name(path) == address;
    Ok(paths.iter().find(is_meant).map(|path| project.root.join(path)))
}

fn damaged(error: &journal::Error) -> Report {
    let finding = Finding {
        kind: Kind::Database,
        plan: String::new(),
        where_: "the database".to_owned(),
        text: error.to_string(),
    };
    Report { findings: vec![finding], ..Report::default() }
}

/// A plan's path as records have it.
fn relative(project: &Project, plan: &Path) -> PathBuf {
    let real = plan.canonicalize().unwrap_or_else(|_| plan.to_owned());
    real.strip_prefix(&project.root).map(Path::to_owned).unwrap_or(real)
}

/// Everything that an audit looks at.
struct Desk<'a> {
    project: &'a Project,
    right: Right<'a>,
    checks: &'a Checks,
    store: Option<Store>,
    beyond: Beyond,
    exported: BTreeMap<PathBuf, Exported>,
}

impl Desk<'_> {
    fn report(&self, asked: Option<&Path>) -> Result<Report, Error> {
        let mut report = Report::default();
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
            // A plan of which nothing is recorded and nothing claimed is no news, unless it was asked for.
            if asked.is_some() || plan.basis != Basis::Nothing || !plan.findings.is_empty() {
                report.plans.push(plan);
            }
        }
        report.notes.extend(self.right.notes());
        Ok(report)
    }

    /// Every plan that is recorded, exported, or lies in the project.
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
            Some(store) => store.recording(path, Outputs::Left)?,
            None => Recording::default(),
        };
        let exported = self.exported.get(path);
        let mut findings = exported.map(|exported| self.file(exported)).unwrap_or_default();
        let is_recorded = recording.bundle.ledger.is_some() || !recording.bundle.runs.is_empty();
        let (bundle, basis) = match (is_recorded, exported) {
            (true, _) => (recording.bundle.clone(), Basis::Store),
            (false, Some(exported)) => (exported.bundle.clone(), Basis::File(exported.path.clone())),
            (false, None) => {
                (Bundle { plan: path.to_string_lossy().into_owned(), ..Bundle::default() }, Basis::Nothing)
            }
        };
        let mut kept = self.beyond.of(&bundle);
        if let (Basis::Store, Some(exported)) = (&basis, exported) {
            match exported.bundle.store == bundle.store {
                true if exported.faults.is_empty() => kept.extend(exported.kept()),
                true => {}
                false => notes.push(format!("{} comes from another store", exported.shown)),
            }
        }
        let source = self.source(path)?;
        findings.extend(self.audit(&bundle, source.as_ref(), &kept));
        if basis == Basis::Store {
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

    fn audit(&self, bundle: &Bundle, file: Option<&Source>, kept: &[KeptHead]) -> Vec<Finding> {
        let may = |claimed: &Claimed<'_>| self.right.may(claimed);
        let signed = |text: (&str, &str), by: &Who, at_ms: u64| self.right.signed(text, by, at_ms);
        audit::audit(bundle, &World { file, kept, may: &may, signed: &signed, checks: self.checks })
    }

    /// The plan file as it is now.
    fn source(&self, path: &Path) -> Result<Option<Source>, Error> {
        let full = self.project.root.join(path);
        if !full.exists() {
            return Ok(None);
        }
        match plan_file::read(&full, &path.to_string_lossy(), self.project.reading())? {
            Text::Plan(source) => Ok(Some(source)),
            Text::Unreadable(_) => Ok(None),
        }
    }

    /// An exported file by itself.
    fn file(&self, exported: &Exported) -> Vec<Finding> {
        let plan = &exported.bundle.plan;
        let mut findings = audit::file_findings(&exported.shown, plan, &exported.faults, self.checks);
        let inside = self.audit(&exported.bundle, None, &[]).into_iter();
        findings.extend(
            inside.map(|finding| Finding {
                where_: format!("{}: {}", exported.shown, finding.where_),
                ..finding
            }),
        );
        findings
    }

    /// What only the store itself can tell about its record of a plan.
    fn own(&self, recording: &Recording) -> Result<Vec<Finding>, Error> {
        let finding = |kind, where_: String, text: String| Finding {
            kind,
            plan: recording.bundle.plan.clone(),
            where_,
            text,
        };
        let mut findings = Vec::new();
        if self.checks.has(Check::Tables) {
            let text = || "it is filed under the key of another".to_owned();
            let misfiled = recording.misfiled.iter();
            findings.extend(misfiled.map(|where_| finding(Kind::Misfiled, where_.clone(), text())));
        }
        let lost = self.lost(recording)?;
        findings.extend(lost.into_iter().map(|(where_, text)| finding(Kind::AnchorLost, where_, text)));
        Ok(findings)
    }

    /// Books whose end is noted nowhere, though it should be.
    fn lost(&self, recording: &Recording) -> Result<Vec<(String, String)>, Error> {
        let Some(store) = self.store.as_ref().filter(|_| self.checks.has(Check::Anchor)) else {
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
        // What was recorded since the file was read is noted by now.
        let missing = missing(&store.anchored()?.anchors);
        let text = format!("{} does not know its end", store.anchors_path().display());
        Ok(missing.into_iter().map(|book| (book, text.clone())).collect())
    }

    /// Books that were kept elsewhere and are not there at all, and what was kept and can't be read.
    fn gone(&self, store: &Store) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        if !self.checks.has(Check::Anchor) {
            return Ok(findings);
        }
        let mut find = |kind, where_: String, text: String| {
            findings.push(Finding { kind, plan: String::new(), where_, text });
        };
        for line in &self.beyond.anchored.unreadable {
            let where_ = format!("{}:{line}", store.anchors_path().display());
            find(Kind::AnchorUnreadable, where_, "the line can't be read".to_owned());
        }
        for (kind, where_, text) in &self.beyond.faults {
            find(*kind, where_.clone(), text.clone());
        }
        for KeptHead { anchor, by } in self.beyond.kept.values().filter_map(|kept| kept.last()) {
            if !store.has_book(&anchor.book)? {
                let text = format!("{by} knows {} records of it, and there is none", anchor.head.seq);
                find(Kind::Gone, anchor.book.to_string(), text);
            }
        }
        Ok(findings)
    }

    /// The database itself, and what follows from the journals.
    fn tables(&self, store: &Store) -> Vec<Finding> {
        let finding =
            |kind, where_: &str, text| Finding { kind, plan: String::new(), where_: where_.to_owned(), text };
        if !self.checks.has(Check::Tables) {
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
