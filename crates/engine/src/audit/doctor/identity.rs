//! Which record belongs to the project, and what a person can do about it.

use std::path::Path;

use super::DoctorFinding;
use crate::store::journal::{self, Store};
use crate::store::state_dir;
use crate::store::state_dir::{OtherRecord, ProjectRecord};

/// The record of the project, and another one that could be meant.
pub(super) fn identity(root: &Path) -> Vec<DoctorFinding> {
    let record = match find(root) {
        Ok(record) => record,
        Err(error) => return vec![DoctorFinding::failed("record", &error)],
    };
    let mut findings = Vec::new();
    if record.folder().is_dir() {
        findings.push(DoctorFinding::ok(format!("record of this project: {}", record.name())));
    }
    match record.other() {
        Some(other @ (OtherRecord::MovedFrom { record, .. } | OtherRecord::Replaced { record })) => {
            let finding = DoctorFinding::ok(note(other));
            findings.push(finding.fixed_by(&format!("planwright doctor --adopt {record}")));
        }
        Some(other @ OtherRecord::CopyOf { .. }) => findings.push(DoctorFinding::ok(note(other))),
        None => {}
    }
    findings
}

/// Another record that could be meant, as long as the project's own is empty.
pub fn other_record(root: &Path) -> Result<Option<String>, state_dir::Error> {
    let record = find(root)?;
    let way_out = |other: &OtherRecord| match other {
        OtherRecord::MovedFrom { record, .. } | OtherRecord::Replaced { record } => {
            format!("{}; to use that one: planwright doctor --adopt {record}", note(other))
        }
        OtherRecord::CopyOf { path, .. } => {
            format!("{}; to continue its plans, work in {}", note(other), path.display())
        }
    };
    Ok(record.other().map(way_out).filter(|_| !journal::has_entries(&record.folder())))
}

fn note(other: &OtherRecord) -> String {
    match other {
        OtherRecord::Replaced { record } => {
            format!("another repository was here before: its record {record} is kept, this one starts empty")
        }
        OtherRecord::CopyOf { record, path } => {
            format!("this is a copy of {} (record {record}): it starts with an empty record", path.display())
        }
        OtherRecord::MovedFrom { record, path } => {
            format!(
                "this may be {}, which is gone (record {record}): it starts with an empty record",
                path.display()
            )
        }
    }
}

/// Gives the project a record whose own project is gone, and says so.
pub fn adopt(root: &Path, record: &str) -> Result<String, journal::Error> {
    let error = |source| journal::Error::State { root: root.to_owned(), source };
    find(root).and_then(|project| project.adopt(record)).map_err(error)?;
    // Opening it notes that its project was moved here.
    Store::open(root)?;
    Ok(format!("record {record} is now that of this project"))
}

/// Moves the record of the project out of the way, and says so.
pub fn set_aside(root: &Path) -> Result<String, state_dir::Error> {
    Ok(match ProjectRecord::set_aside(&state_dir::folder()?, root)? {
        Some(aside) => format!("record set aside as {aside}; this project starts with an empty one"),
        None => "nothing to set aside: this project has no record".to_owned(),
    })
}

fn find(root: &Path) -> Result<ProjectRecord, state_dir::Error> {
    ProjectRecord::find(&state_dir::folder()?, root)
}
