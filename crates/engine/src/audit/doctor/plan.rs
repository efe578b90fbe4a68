//! Checks the plan files of the project: which are named and bound, stray files next to them, and where they
//! differ from the record.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use planwright_core::dialect::named::{PlanSlug, plan_file};
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::syntax::count::number;
use planwright_core::workspace::active_plan::MARKER;
use planwright_core::workspace::worktree::typed;

use super::{DoctorFinding, DoctorLevel, LEFTOVER_SUFFIX, RepairKind, is_old};
use crate::approval::{Approvals, Drift};
use crate::config;
use crate::workspace::active_plan;
use crate::workspace::project;
use crate::workspace::project::Project;

/// Conflict copies of plans, and dangling pointers. The user must look: nothing is removed, and everything
/// put aside still exists.
pub(super) fn astray(project: &Project) -> Vec<DoctorFinding> {
    // A directory that cannot be searched was reported with the plans.
    let mut astray = project.astray().unwrap_or_default();
    // The `.harness` directory may be ignored by git, or elsewhere.
    if let Ok(listing) = active_plan::list(project) {
        for path in listing.copies.iter().map(|copy| listing.folder.join(copy)) {
            if astray.iter().all(|(known, _)| active_plan::real(known) != path) {
                let fault = format!("{} is a conflict copy; planwright ignores it", path.display());
                astray.push((path, fault));
            }
        }
    }
    let finding = |(path, fault): (PathBuf, String)| {
        let path = path.strip_prefix(&project.root).unwrap_or(&path).to_string_lossy().into_owned();
        let aside = format!("{path}.aside");
        DoctorFinding::warn(fault, typed(&["mv", "--", &path, &aside]))
    };
    astray.into_iter().map(finding).collect()
}

/// The named plans, and the one that this worktree is bound to. A project without named plans gets no
/// finding, and a missing unnamed plan is fine. A dangling marker blocks no other work: whoever asks for the
/// plan is told.
pub(super) fn bindings(project: &Project) -> Vec<DoctorFinding> {
    let listing = match active_plan::list(project) {
        Ok(listing) => listing,
        Err(active_plan::Error::NoFolder { .. }) => {
            return match active_plan::of_marker(project) {
                Ok(_) => Vec::new(),
                Err(error) => vec![DoctorFinding::warn(error.to_string(), "planwright config plans.harness")],
            };
        }
        Err(error) => return vec![DoctorFinding::doubt("named plans", &error, "planwright list-plans")],
    };
    let named: Vec<String> =
        listing.plans.iter().filter_map(PlanSlug::slug).map(|slug| plan_file(Some(slug))).collect();
    let mut findings = Vec::new();
    if !named.is_empty() {
        let count = number(named.len(), "named plan");
        findings.push(DoctorFinding::ok(format!("{count}: {}", named.join(", "))));
    }
    findings.extend(listing.bound.map(|bound| match bound {
        Ok(slug) => DoctorFinding::ok(format!("bound to {} ({MARKER})", plan_file(Some(&slug)))),
        Err(fault) => DoctorFinding::warn(format!("dangling: {fault}"), "planwright use --clear"),
    }));
    findings
}

/// Plan files that differ from the record. Recorded state is written again; an unproven claim is kept, and
/// running its contract settles it.
pub(super) fn drifts(project: &Project) -> Vec<DoctorFinding> {
    // Unreadable records and directories are reported on their own.
    let (Ok(Some(decisions)), Ok(plans)) = (Approvals::open_existing(project), project.plans()) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for path in plans {
        // An inconsistent ledger is reported with the records.
        if let Ok(Some(drift)) = decisions.drift(&path) {
            findings.extend(drifted(project, &path, &drift));
        }
    }
    findings
}

fn drifted(project: &Project, path: &Path, drift: &Drift) -> Vec<DoctorFinding> {
    let shown = path.strip_prefix(&project.root).unwrap_or(path).to_string_lossy();
    let mut findings = Vec::new();
    if !drift.behind.is_empty() {
        let what = format!("{shown} is out of date with the record: {}", drift.behind.join(", "));
        let done = format!("{shown} now matches the record: {}", drift.behind.join(", "));
        findings.push(DoctorFinding::mendable(what, RepairKind::Reflect(path.to_owned()), done));
    }
    if !drift.unproven.is_empty() {
        let steps: Vec<String> = drift.unproven.iter().map(|step| format!("`{step}`")).collect();
        let words = match drift.state {
            PlanState::Failed => &["run", "--retry"][..],
            PlanState::Done | PlanState::Cancelled | PlanState::Rejected => &["revise"],
            PlanState::Draft
            | PlanState::Proposed
            | PlanState::Approved
            | PlanState::Running
            | PlanState::Waiting(_) => &["run"],
        };
        let mut command = vec!["planwright"];
        command.extend(words);
        command.push(&shown);
        findings.push(DoctorFinding::warn(
            format!("{shown} marks steps done without a receipt: {}", steps.join(", ")),
            typed(&command),
        ));
    }
    findings
}

/// The settings of proposals, if the project has any.
pub(super) fn proposal_settings(project: &Project) -> Vec<DoctorFinding> {
    const FILE: &str = project::PROPOSAL_SETTINGS;
    let (config, wrong) = match project.proposal_settings() {
        Err(error) => return vec![DoctorFinding::failed(FILE, &error)],
        Ok(None) => return Vec::new(),
        Ok(Some(said)) => said,
    };
    let said = format!(
        "{FILE}: {}, stale after {}, stalled after {}",
        number(config.guarded_tools.len(), "guarded tool"),
        number(config.stale_after_days, "day"),
        number(config.executor_timeout_minutes, "minute")
    );
    let wrong =
        wrong.into_iter().map(|wrong| DoctorFinding::new(DoctorLevel::Warn, format!("{FILE}: {wrong}")));
    std::iter::once(DoctorFinding::ok(said)).chain(wrong).collect()
}

/// Files next to plans that an interrupted write left behind.
pub(super) fn leftover_files(project: &Project) -> Vec<DoctorFinding> {
    let mut files = match project.plans() {
        Ok(plans) => plans,
        Err(error) => return vec![DoctorFinding::failed("plans", &error)],
    };
    files.push(project.root.join(config::FILE));
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let entries = folders.iter().flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    let left = entries.map(|entry| entry.path()).filter(|path| {
        let whole = written_to(path);
        whole.is_some_and(|whole| files.contains(&whole)) && is_old(path)
    });
    left.map(|path| {
        let what = format!("{} was left behind by an interrupted write", path.display());
        let done = format!("removed {}", path.display());
        DoctorFinding::mendable(what, RepairKind::Remove(path), done)
    })
    .collect()
}

/// The file that a temporary one was to replace: `.NAME.XXXXXX` is for `NAME`.
fn written_to(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_prefix('.')?;
    let (name, suffix) = name.rsplit_once('.')?;
    let is_random =
        suffix.len() == LEFTOVER_SUFFIX && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_random.then(|| path.with_file_name(name))
}
