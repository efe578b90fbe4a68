//! Checks the records of the project: that the database is intact, that its contents match what was written,
//! and what a crash left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use planwright_core::syntax::count::{counted, number};

use super::{DoctorFinding, DoctorLevel, RepairKind, is_old};
use crate::approval;
use crate::approval::{Approvals, SecondStart};
use crate::store::journal::{self, RunId, Store};
use crate::system::clock;
use crate::system::process;
use crate::workspace::project::Project;

/// The command that says more about changed records.
const AUDIT: &str = "planwright audit";

/// Whether the records of this project are what was written.
pub(super) fn records(project: &Project) -> Vec<DoctorFinding> {
    // A check must not create what is not there.
    let store = match Store::open_for_audit(&project.root) {
        Ok(Some(store)) => store,
        Ok(None) => return vec![DoctorFinding::ok("no records: nothing has run here yet")],
        Err(error) => return vec![unusable(&error)],
    };
    let (whole, runs) = match (store.check_integrity(), store.runs()) {
        (Ok(faults), Ok(runs)) => (faults, runs),
        (Err(error), _) | (_, Err(error)) => return vec![unusable(&error)],
    };
    if let Err(error) = store.check_heads() {
        return vec![unusable(&error)];
    }
    if !whole.is_empty() {
        let database = store.folder().join("state.db");
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
        _ => {
            let output = format!(
                "output of {} older than {}",
                number(found.runs, "finished run"),
                number(days, "day")
            );
            DoctorFinding::mendable(
                format!("{output} can be deleted ({megabytes} MB)"),
                RepairKind::DropOutputs(before_ms),
                format!("deleted {output} ({megabytes} MB)"),
            )
        }
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
            for plan in plans {
                match decisions.case_of(plan.clone()) {
                    // A run that does not replay was reported.
                    Ok(_) | Err(approval::Error::Runs(_)) => {}
                    Err(error) => match decisions.second_start(&plan) {
                        Ok(Some(found)) => findings.push(second_start(&plan, &found)),
                        Ok(None) | Err(_) => findings.push(failed(&error)),
                    },
                }
            }
        }
        Err(error) => findings.push(failed(&error)),
    }
    findings
}

/// Two processes of planwright 0.1 that started one plan at once left a ledger that permits nothing.
fn second_start(plan: &Path, found: &SecondStart) -> DoctorFinding {
    let ([first, second], [one, two]) = (found.runs, found.entries);
    let what = format!(
        "records: {} was started twice at once (runs {first} and {second}, entries {one} and {two} of its ledger); the \
         fix cancels run {first}",
        plan.display()
    );
    DoctorFinding {
        level: DoctorLevel::Error,
        ..DoctorFinding::mendable(
            what,
            RepairKind::SecondStart(plan.to_owned()),
            format!("cancelled run {first} of {}, which was started twice", plan.display()),
        )
    }
}

/// A database that cannot be used. A damaged one can be set aside as a whole: its readable parts stay there,
/// and a new one is started.
fn unusable(error: &journal::Error) -> DoctorFinding {
    let finding = DoctorFinding::failed("records", error);
    if matches!(error, journal::Error::Broken { .. } | journal::Error::Older { .. }) {
        return finding.fixed_by(AUDIT);
    }
    let is_lost = matches!(
        error,
        journal::Error::Damaged { .. } | journal::Error::Lost { .. } | journal::Error::Cut { .. }
    );
    if is_lost { finding.fixed_by("planwright doctor --set-aside") } else { finding }
}

/// Whether the tables match the journal.
fn projection(store: &Store) -> Vec<DoctorFinding> {
    match store.check_projection() {
        Ok(faults) if faults.is_empty() => vec![DoctorFinding::ok("queue and questions match the journal")],
        Ok(faults) => {
            let what = format!("queue and questions do not match the journal: {}", faults.join("; "));
            vec![DoctorFinding {
                level: DoctorLevel::Error,
                ..DoctorFinding::mendable(
                    what,
                    RepairKind::Rebuild,
                    "rebuilt queue and questions from the journal",
                )
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
            Ok(None) => {
                let processes = counted(count, "process", "processes");
                findings.push(DoctorFinding::mendable(
                    format!("{run} is not running but left {processes} behind"),
                    RepairKind::Reclaim(run),
                    format!("ended {processes} left behind by {run}"),
                ));
            }
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
            let [what, done] = [
                format!("{} is a stale lock", path.display()),
                format!("removed stale lock {}", path.display()),
            ];
            DoctorFinding::mendable(what, RepairKind::Remove(path), done)
        })
        .collect()
}
