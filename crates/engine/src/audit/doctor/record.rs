//! The records of the project: whether the database is whole, what is in it is what was written, and what a crash left around it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use planwright_core::workspace::worktree::typed;

use super::{Finding, Level, Repair, is_old};
use crate::approval;
use crate::approval::Decisions;
use crate::run;
use crate::store::journal::{self, RunId, Store};
use crate::store::state_dir;
use crate::system::process;
use crate::workspace::project::Project;

/// What says more about records that are not what was written.
const AUDIT: &str = "planwright audit";

/// Whether what is recorded of this project is what was written.
pub(super) fn records(project: &Project) -> Vec<Finding> {
    let folder = match state_dir::folder_of(&state_dir::folder(), &project.root) {
        Ok(folder) => folder,
        Err(error) => return vec![Finding::failed("records", &error)],
    };
    // Looking must not make what is not there.
    if !folder.join("state.db").exists() {
        return vec![Finding::ok("no records: nothing was run here yet")];
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
            |fault| Finding::error(format!("records: {}: {fault}", database.display())).fixed_by(AUDIT);
        return whole.into_iter().map(finding).collect();
    }
    let ids: Vec<RunId> = runs.iter().map(|row| row.id).collect();
    let mut findings = chains(&store, &ids);
    if findings.iter().all(|finding| finding.level == Level::Ok) {
        findings.extend(replay(project, &ids));
    }
    findings.extend(projection(&store));
    findings.extend(leftover_processes(&store));
    findings.extend(leftover_locks(&store, &ids));
    findings
}

/// What runs hold that are over, and whether it may go.
pub(super) fn old_outputs(project: &Project) -> Option<Finding> {
    const DAY_MS: u64 = 86_400_000;
    let (root, days) = (&project.root, project.config.retention.days);
    // A store that can't be opened is told of by itself.
    let store = Store::exists(root).ok().filter(|&is_there| is_there).and_then(|_| Store::open(root).ok())?;
    let before_ms = match days {
        0 => u64::MAX >> 1,
        days => run::now().saturating_sub(days * DAY_MS),
    };
    let found = store.old_outputs(before_ms).ok().filter(|found| found.outputs > 0)?;
    let megabytes = found.bytes.div_ceil(1_000_000);
    Some(match days {
        0 => Finding::ok(format!(
            "outputs of runs that are over are kept (runs: {}, MB: {megabytes})",
            found.runs
        )),
        _ => Finding::mendable(
            format!(
                "outputs of runs that are over for {days} days can go (runs: {}, MB: {megabytes})",
                found.runs
            ),
            Repair::DropOutputs(before_ms),
        ),
    })
}

fn chains(store: &Store, runs: &[RunId]) -> Vec<Finding> {
    let mut events = 0;
    let mut findings = Vec::new();
    for run in runs {
        match store.verify_chain(*run) {
            Ok(report) => {
                events += report.head.seq;
                let broken = report.breaks.iter();
                let broken = broken.map(|at| Finding::error(format!("records: {run}: {at}")).fixed_by(AUDIT));
                findings.extend(broken);
            }
            Err(error) => findings.push(Finding::failed("records", &error).fixed_by(AUDIT)),
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok(format!("records whole (runs: {}, events: {events})", runs.len())));
    }
    findings
}

/// Whether every journal and every ledger can be played again from its beginning.
fn replay(project: &Project, runs: &[RunId]) -> Vec<Finding> {
    let decisions = match Decisions::open(project) {
        Ok(decisions) => decisions,
        Err(error) => return vec![Finding::failed("records", &error)],
    };
    let failed = |error: &dyn std::error::Error| Finding::failed("records", error).fixed_by(AUDIT);
    let mut findings: Vec<Finding> =
        runs.iter().filter_map(|run| decisions.runs().run(*run).err()).map(|error| failed(&error)).collect();
    match decisions.runs().store().plans() {
        Ok(plans) => {
            let cases = plans.into_iter().filter_map(|plan| decisions.case_of(plan).err());
            // A run that can't be played again was told of.
            let own = cases.filter(|error| !matches!(error, approval::Error::Runs(_)));
            findings.extend(own.map(|error| failed(&error)));
        }
        Err(error) => findings.push(failed(&error)),
    }
    findings
}

/// A database that can't be read. One that is damaged can be put aside whole: what can still be read of it stays there, and a new
/// one is begun.
fn unusable(folder: &Path, error: &journal::Error) -> Finding {
    let finding = Finding::failed("records", error);
    if matches!(error, journal::Error::Broken { .. }) {
        return finding.fixed_by(AUDIT);
    }
    if !matches!(error, journal::Error::Damaged { .. }) {
        return finding;
    }
    let folder = folder.to_string_lossy();
    finding.fixed_by(&typed(&["mv", "--", &folder, &format!("{folder}.damaged")]))
}

/// Whether the tables say what the journal says.
fn projection(store: &Store) -> Vec<Finding> {
    match store.check_projection() {
        Ok(faults) if faults.is_empty() => vec![Finding::ok("queue and asks are what the journal says")],
        Ok(faults) => {
            let what = format!("queue and asks are not what the journal says: {}", faults.join("; "));
            vec![Finding { level: Level::Error, ..Finding::mendable(what, Repair::Rebuild) }]
        }
        Err(error) => vec![Finding::failed("queue and asks", &error)],
    }
}

/// Processes of runs that nobody drives.
fn leftover_processes(store: &Store) -> Vec<Finding> {
    let prefix = format!("{}/", store.key());
    let tags = match process::tags(&prefix) {
        Ok(tags) => tags,
        Err(error) => return vec![Finding::failed("processes", &error)],
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
            // A worker of its own goes on when the driver is gone; the next driver takes its result.
            Ok(None) if has_worker(store, run) => {}
            Ok(None) => findings.push(Finding::mendable(
                format!("processes of {run} are alive, though nobody drives it: {count}"),
                Repair::Reclaim(run),
            )),
            Ok(Some(_)) => {}
            Err(error) => findings.push(Finding::failed("processes", &error)),
        }
    }
    findings
}

/// Whether a worker that is alive has claimed something of a run.
fn has_worker(store: &Store, run: RunId) -> bool {
    let queue = store.queue().unwrap_or_default();
    let leases = queue.into_iter().filter(|queued| queued.run == run).filter_map(|queued| queued.lease);
    leases.into_iter().any(|lease| store.holder_named(&lease.worker).is_ok_and(|holder| holder.is_some()))
}

/// Locks of runs that are not there. Those of runs that are stay: somebody may be about to take one.
fn leftover_locks(store: &Store, runs: &[RunId]) -> Vec<Finding> {
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
            Finding::mendable(format!("{} is the lock of nobody", path.display()), Repair::Remove(path))
        })
        .collect()
}
