//! Records exported next to the code: written on request, and read where a clone has no store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planwright_core::audit::bundle::{AuditBundle, BundleFault};
use planwright_core::audit::{KeptHead, TestResult};

use super::{Error, PlanReport};
use crate::store::journal::{RunOutputs, Store};
use crate::store::plan_file;
use crate::store::plan_file::folder_within;
use crate::workspace::project::Project;

/// The directory of exported records, below the root of the project.
pub(super) const FOLDER: &str = ".planwright/receipts";
/// The most bytes read of a file.
const BYTES_MAX: u64 = 256 << 20;
/// The most files read.
const FILES_MAX: usize = 10_000;

#[derive(Debug)]
pub(crate) struct ExportedBundle {
    pub(crate) path: PathBuf,
    /// Relative to the root of the project.
    pub(super) shown: String,
    pub(crate) bundle: AuditBundle,
    pub(super) faults: Vec<BundleFault>,
}

impl ExportedBundle {
    /// Every record next to the code, by plan.
    pub(crate) fn all(root: &Path) -> Result<BTreeMap<PathBuf, Self>, Error> {
        let folder = root.join(FOLDER);
        let entries = folder.read_dir().into_iter().flatten().flatten().take(FILES_MAX);
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        paths.sort();
        let mut all = BTreeMap::new();
        for path in paths {
            let read = |source| Error::File { path: path.clone(), source };
            let bytes = plan_file::read_bytes(&path, BYTES_MAX).map_err(read)?;
            let (bundle, faults) = AuditBundle::read(&bytes);
            let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            // A file whose first line is unreadable belongs to the plan in its name.
            let plan = match bundle.plan.as_str() {
                "" => plan_named(&path),
                plan => PathBuf::from(plan),
            };
            all.insert(plan, Self { path, shown, bundle, faults });
        }
        Ok(all)
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = KeptHead> {
        let by = format!("{} (exported)", self.shown);
        self.bundle.heads().into_iter().map(move |anchor| KeptHead { anchor, by: by.clone() })
    }
}

/// The file name for a plan: its path with `--` for each `/`.
fn file_name(plan: &str) -> String {
    format!("{}.jsonl", plan.replace('/', "--"))
}

fn plan_named(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    PathBuf::from(stem.replace("--", "/"))
}

#[derive(Debug, Clone)]
pub struct Export<'a> {
    /// `None` exports every recorded plan.
    pub plan: Option<&'a Path>,
    /// `None` exports next to the code.
    pub folder: Option<&'a Path>,
    /// Whether to include what agents and contracts printed.
    pub outputs: RunOutputs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Relative to the root of the project.
    pub plan: String,
    pub path: PathBuf,
    pub records: usize,
    /// The hash over all heads.
    pub head: String,
}

/// Writes records next to the code, or elsewhere. Replaces existing files.
pub fn export(project: &Project, export: &Export<'_>) -> Result<Vec<Written>, Error> {
    let plans = |store: &Store| match export.plan {
        Some(plan) => Ok(vec![super::relative(project, plan)]),
        None => store.plans(),
    };
    let store = Store::exists(&project.root)?.then(|| Store::open(&project.root)).transpose()?;
    let store = store.ok_or(Error::NoRecord)?;
    let folder = match export.folder {
        Some(folder) => folder.to_owned(),
        None => folder_within(&project.root, Path::new(FOLDER))?,
    };
    let mut written = Vec::new();
    for plan in plans(&store)? {
        let bundle = store.recording(&plan, export.outputs)?.bundle;
        if bundle.ledger.is_none() && bundle.runs.is_empty() {
            return Err(Error::Nothing { plan: bundle.plan });
        }
        let unwritable = |source| Error::Unwritable { plan: bundle.plan.clone(), source };
        let path = folder.join(file_name(&bundle.plan));
        plan_file::fill_or_create(&path, &bundle.text().map_err(unwritable)?)?;
        let head = planwright_core::audit::bundle::head_of_heads(&bundle.heads()).to_hex().to_string();
        written.push(Written { records: bundle.records(), plan: bundle.plan, path, head });
    }
    Ok(written)
}

/// Writes the verdicts of a plan as in-toto statements, one file each, and returns the files.
pub fn write_statements(report: &PlanReport, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let prefix = report.plan.replace('/', "--");
    let mut paths = Vec::new();
    for TestResult { name, statement } in &report.results {
        let path = folder.join(format!("{prefix}.{name}.intoto.json"));
        plan_file::fill_or_create(&path, &format!("{statement}\n"))?;
        paths.push(path);
    }
    Ok(paths)
}
