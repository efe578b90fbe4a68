//! Checks the state directory: that it exists, is private, belongs to the user, and is on a disk with room.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};
use planwright_core::workspace::worktree::typed;

use super::{DoctorFinding, RepairKind};
use crate::git::worktree;
use crate::store::state_dir;
use crate::workspace::project::Project;

/// Whether the state directory, and that of the project at `root`, are writable and private.
pub(super) fn states(root: &Path) -> Vec<DoctorFinding> {
    let states = match state_dir::folder() {
        Ok(states) => states,
        Err(error) => return vec![DoctorFinding::failed("state directory", &error)],
    };
    if !states.exists() {
        return vec![match is_writable(nearest(&states)) {
            true => {
                DoctorFinding::ok(format!("state directory {}: created by the first run", states.display()))
            }
            false => DoctorFinding::error(format!("cannot create state directory {}", states.display())),
        }];
    }
    // If the repository cannot be determined, that is reported with the records.
    let own = state_dir::of_project(root).ok().filter(|own| own.exists());
    let findings: Vec<DoctorFinding> = std::iter::once(states).chain(own).filter_map(private).collect();
    match findings.is_empty() {
        true => vec![DoctorFinding::ok("state directory: writable, private")],
        false => findings,
    }
}

/// What is wrong with a directory that must be private.
fn private(folder: PathBuf) -> Option<DoctorFinding> {
    let shown = folder.display();
    let Ok(data) = folder.metadata() else {
        return Some(DoctorFinding::error(format!("cannot read state directory {shown}")));
    };
    // Where the system does not say who we are, assume the directory is ours.
    let is_own = Path::new("/proc/self").metadata().map_or(true, |us| us.uid() == data.uid());
    if !data.is_dir() || !is_writable(&folder) {
        let open = is_own && data.is_dir();
        let fix = open.then(|| typed(&["chmod", "u+rwx", &folder.to_string_lossy()]));
        return Some(DoctorFinding {
            fix,
            ..DoctorFinding::error(format!("state directory {shown} is not writable"))
        });
    }
    if !is_own {
        let fix = format!("sudo chown -R \"$(id -un)\" {}", typed(&[&folder.to_string_lossy()]));
        return Some(DoctorFinding::warn(format!("state directory {shown} belongs to another user"), fix));
    }
    if data.permissions().mode() & 0o077 != 0 {
        let what = format!("state directory {shown} is accessible to others");
        let done = format!("made state directory {shown} private");
        return Some(DoctorFinding::mendable(what, RepairKind::Close(folder), done));
    }
    None
}

fn is_writable(folder: &Path) -> bool {
    access(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

/// A directory, or its nearest existing ancestor.
fn nearest(folder: &Path) -> &Path {
    folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"))
}

/// Whether there is room on the disks of the project and of planwright's own directories.
pub(super) fn disks(project: &Project) -> Vec<DoctorFinding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    let (states, cache, trees) = (state_dir::folder(), state_dir::cache(), worktree::home(project));
    // Without a state directory that is an error of its own.
    let states = states.unwrap_or_else(|_| project.root.clone());
    for folder in [project.root.as_path(), nearest(&states), nearest(&cache), nearest(&trees)] {
        let Ok(data) = folder.metadata() else { continue };
        if !seen.insert(data.dev()) {
            continue;
        }
        let (Ok(disk), fewest) = (statvfs(folder), project.config.limits.free_mb) else { continue };
        let free = (u128::from(disk.blocks_available()) * u128::from(disk.fragment_size()) / 1_000_000)
            .try_into()
            .unwrap_or(u64::MAX);
        if free < fewest {
            let shown = folder.to_string_lossy();
            findings.push(DoctorFinding::warn(
                format!("{free} MB free at {shown}, less than {fewest} MB (limits.free_mb)"),
                typed(&["df", "-h", &shown]),
            ));
        }
    }
    findings
}
