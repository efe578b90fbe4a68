//! Checks the records of the project: that the database is intact, that its contents match what was written,
//! and what a crash left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use planwright_core::syntax::count::{counted, number};
use planwright_core::workspace::worktree::typed;

use super::{DoctorFinding, DoctorLevel, RepairKind, is_old};
use crate::approval;
use crate::approval::Approvals;
use crate::store::journal::{self, RunId, Store};
use crate::store::state_dir;
use crate::system::clock;
use crate::system::process;
use crate::workspace::project::Project;

/// The command that says more about changed records.
const AUDIT: &str = "planwright audit";

/// Whether the records of this project are what was written.
pub(super) fn records(project: &Project) -> Vec<DoctorFinding> {
    let folder = match state_dir::folder_of(&state_dir::folder(), &project.root) {
        Ok(folder) => folder,
        Err(error) => return vec![DoctorFinding::failed("records", &error)],
    };
    // A check must not create what is not there.
    if !folder.join("state.db").exists() {
        return vec![DoctorFinding::ok("no records: nothing has run here yet")];
    }
    let store = match Store::open_folder(&folder) {
        Ok(store) => store,
        Err(error) => return vec![unusable(&folder, &error)],
    };
    let (whole, runs) = match (store.check_integrity(), store.runs()) {
        (Ok(faults), Ok(runs)) => (faults, runs),
        (Err(error), _) | (_, Err(error)) => return vec![unusable(&folder, &error)],
    };
    if !whole.is_empty() {
        let database = folder.join("state.db");
        let finding =
            |fault| DoctorFinding::error(format!("records: {}: {fault}", database.display())).fixed_by(AUDIT);
        return whole.into_iter().map(finding).collect();
    }
    let ids: Vec<RunId> = runs.iter().map(|row| row.id).collect();
    let mut findings = chains(&store, &ids);
    if findings.iter().all(|finding| finding.level == DoctorLevel::Ok) {
        findings.extend(replay(project, &ids));
    }
    findings.extend(projection(&store));
    findings.extend(leftover_processes(&store));
    findings.extend(leftover_locks(&store, &ids));
    findings
}

/// The outputs of finished runs, and whether they may be deleted.
pub(super) fn old_outputs(project: &Project) -> Option<DoctorFinding> {
    const DAY_MS: u64 = 86_400_000;
    let (root, days) = (&project.root, project.config.retention.days);
    // A store that cannot be opened is reported on its own.
    let store = Store::exists(root).ok().filter(|&is_there| is_there).and_then(|_| Store::open(root).ok())?;
    let before_ms = match days {
        0 => u64::MAX >> 1,
        days => clock::now().saturating_sub(days * DAY_MS),
    };
    let found = store.old_outputs(before_ms).ok().filter(|found| found.outputs > 0)?;
    let megabytes = found.bytes.div_ceil(1_000_000);
    Some(match days {
        0 => DoctorFinding::ok(format!(
            "output of {} kept ({megabytes} MB)",
            number(found.runs, "finished run")
        )),
        _ => DoctorFinding::mendable(
            format!(
                "output of {} older than {} can be deleted ({megabytes} MB)",
                number(found.runs, "finished run"),
                number(days, "day")
            ),
            RepairKind::DropOutputs(before_ms),
        ),
    })
}

fn chains(store: &Store, runs: &[RunId]) -> Vec<DoctorFinding> {
    let mut events = 0;
    let mut findings = Vec::new();
    for run in runs {
        match store.verify_chain(*run) {
            Ok(report) => {
                events += report.head.seq;
                let broken = report.breaks.iter();
                let broken =
                    broken.map(|at| DoctorFinding::error(format!("records: {run}: {at}")).fixed_by(AUDIT));
                findings.extend(broken);
            }
            Err(error) => findings.push(DoctorFinding::failed("records", &error).fixed_by(AUDIT)),
        }
    }
    if findings.is_empty() {
        findings.push(DoctorFinding::ok(format!(
            "records intact ({}, {})",
            number(runs.len(), "run"),
            number(events, "event")
        )));
    }
    findings
}

/// Whether every journal and ledger replays from the start.
fn replay(project: &Project, runs: &[RunId]) -> Vec<DoctorFinding> {
    let decisions = match Approvals::open(project) {
        Ok(decisions) => decisions,
        Err(error) => return vec![DoctorFinding::failed("records", &error)],
    };
    let failed = |error: &dyn std::error::Error| DoctorFinding::failed("records", error).fixed_by(AUDIT);
    let mut findings: Vec<DoctorFinding> =
        runs.iter().filter_map(|run| decisions.runs().run(*run).err()).map(|error| failed(&error)).collect();
    match decisions.runs().store().plans() {
        Ok(plans) => {
            let cases = plans.into_iter().filter_map(|plan| decisions.case_of(plan).err());
            // A run that does not replay was reported.
            let own = cases.filter(|error| !matches!(error, approval::Error::Runs(_)));
            findings.extend(own.map(|error| failed(&error)));
        }
        Err(error) => findings.push(failed(&error)),
    }
    findings
}

/// A database that cannot be read. A damaged one can be moved aside as a whole: its readable parts stay
/// there, and a new one is started.
fn unusable(folder: &Path, error: &journal::Error) -> DoctorFinding {
    let finding = DoctorFinding::failed("records", error);
    if matches!(error, journal::Error::Broken { .. }) {
        return finding.fixed_by(AUDIT);
    }
    if !matches!(error, journal::Error::Damaged { .. }) {
        return finding;
    }
    let folder = folder.to_string_lossy();
    finding.fixed_by(&typed(&["mv", "--", &folder, &format!("{folder}.damaged")]))
}

/// Whether the tables match the journal.
fn projection(store: &Store) -> Vec<DoctorFinding> {
    match store.check_projection() {
        Ok(faults) if faults.is_empty() => vec![DoctorFinding::ok("queue and questions match the journal")],
        Ok(faults) => {
            let what = format!("queue and questions do not match the journal: {}", faults.join("; "));
            vec![DoctorFinding {
                level: DoctorLevel::Error,
                ..DoctorFinding::mendable(what, RepairKind::Rebuild)
            }]
        }
        Err(error) => vec![DoctorFinding::failed("queue and questions", &error)],
    }
}

/// Processes of runs that are not running.
fn leftover_processes(store: &Store) -> Vec<DoctorFinding> {
    let prefix = format!("{}/", store.key());
    let tags = match process::tags(&prefix) {
        Ok(tags) => tags,
        Err(error) => return vec![DoctorFinding::failed("processes", &error)],
    };
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for (tag, count) in tags {
        let run = tag[prefix.len()..].split('/').next().and_then(|number| number.parse().ok());
        *counts.entry(run.unwrap_or_default()).or_default() += count;
    }
    let mut findings = Vec::new();
    for (number, count) in counts {
        let run = RunId::new(number);
        match store.holder(run) {
            // A separate worker continues without the run's process; the next process takes its result.
            Ok(None) if has_worker(store, run) => {}
            Ok(None) => findings.push(DoctorFinding::mendable(
                format!("{run} is not running but left {} behind", counted(count, "process", "processes")),
                RepairKind::Reclaim(run),
            )),
            Ok(Some(_)) => {}
            Err(error) => findings.push(DoctorFinding::failed("processes", &error)),
        }
    }
    findings
}

/// Whether a live worker has claimed something of a run.
fn has_worker(store: &Store, run: RunId) -> bool {
    let queue = store.queue().unwrap_or_default();
    let leases = queue.into_iter().filter(|queued| queued.run == run).filter_map(|queued| queued.lease);
    leases.into_iter().any(|lease| store.holder_named(&lease.worker).is_ok_and(|holder| holder.is_some()))
}

/// Locks of runs that do not exist. Locks of existing runs stay: somebody may be about to take one.
fn leftover_locks(store: &Store, runs: &[RunId]) -> Vec<DoctorFinding> {
    let known: BTreeSet<String> = runs.iter().map(|run| format!("run-{}", run.number())).collect();
    let entries = store.folder().join("locks").read_dir().into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.starts_with("run-") || name.starts_with("worker-"))
            && !known.contains(name.as_ref())
            && is_old(path)
    });
    names
        .map(|path| {
            DoctorFinding::mendable(format!("{} is a stale lock", path.display()), RepairKind::Remove(path))
        })
        .collect()
}
