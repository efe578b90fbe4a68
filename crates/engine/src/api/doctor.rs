//! Whether everything that planwright relies on is sound. Works where a workspace can't be opened.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::Right;
use crate::api::error::{Error, ErrorKind};
use crate::api::workspace::OpenOptions;
use crate::audit::doctor;
use crate::audit::doctor::{DoctorFinding, DoctorLevel};
use crate::workspace::project;

/// What is done besides looking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    No,
    /// What can be fixed without losing data is fixed.
    Yes,
    /// The project is given the record of this name, whose own project is gone.
    Adopt(String),
    /// The record of the project is moved out of the way.
    SetAside,
}

/// What was looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorView {
    /// Everything that was looked at, as it is now.
    pub findings: Vec<DoctorFindingView>,
    /// How many of them are errors.
    pub errors: usize,
    /// How many of them are warnings.
    pub warnings: usize,
    /// What was fixed.
    pub fixed: Vec<String>,
    /// What could not be, and why.
    #[serde(skip)]
    pub unfixed: Vec<String>,
    /// How many can be fixed.
    #[serde(skip)]
    pub fixable: usize,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorFindingView {
    /// `ok`, `warn` or `error`.
    pub level: String,
    /// What was found.
    pub what: String,
    /// A command that helps.
    pub fix: Option<String>,
}

impl DoctorView {
    /// The command that helps against the worst; at the same level in the order of the list.
    pub fn next(&self) -> Option<&String> {
        let with_fix = |level: DoctorLevel| {
            let mut findings = self.findings.iter().filter(|finding| finding.level == level.word());
            findings.find_map(|finding| finding.fix.as_ref())
        };
        with_fix(DoctorLevel::Error).or_else(|| with_fix(DoctorLevel::Warn))
    }
}

/// Examines the project of the current directory and this machine.
pub fn doctor(options: &OpenOptions, repair: &Repair) -> Result<DoctorView, Error> {
    let root = project::root_of(Path::new("."))?;
    let mut done = Vec::new();
    match repair {
        Repair::No => {}
        Repair::Yes => options.caller.may(Right::Repair)?,
        Repair::Adopt(record) => {
            options.caller.may(Right::AdoptRecord)?;
            let adopted = doctor::adopt(&root, record);
            done.push(adopted.map_err(|error| Error::from_error(ErrorKind::Refused, &error))?);
        }
        Repair::SetAside => {
            options.caller.may(Right::SetRecordAside)?;
            let aside = doctor::set_aside(&root);
            done.push(aside.map_err(|error| Error::from_error(ErrorKind::Machine, &error))?);
        }
    }
    let mut findings = doctor::examine(&root, &options.overrides);
    let (mut fixed, mut unfixed) = (done, Vec::new());
    if *repair == Repair::Yes {
        for DoctorFinding { what, repair, .. } in findings {
            let Some(repair) = repair else { continue };
            match doctor::mend(&root, &options.overrides, &repair.kind) {
                Ok(()) => fixed.push(repair.done),
                Err(why) => unfixed.push(format!("{what}: {why}")),
            }
        }
        findings = doctor::examine(&root, &options.overrides);
    }
    let count = |level: DoctorLevel| findings.iter().filter(|finding| finding.level == level).count();
    Ok(DoctorView {
        errors: count(DoctorLevel::Error),
        warnings: count(DoctorLevel::Warn),
        fixable: findings.iter().filter(|finding| finding.repair.is_some()).count(),
        findings: findings
            .into_iter()
            .map(|DoctorFinding { level, what, fix, .. }| DoctorFindingView {
                level: level.word().to_owned(),
                what,
                fix,
            })
            .collect(),
        fixed,
        unfixed,
    })
}

/// Why a project starts with an empty record although there is one that could be meant, as long as its own is
/// empty.
pub fn record_note(start: &Path) -> Option<String> {
    // What cannot be found out is reported by the command itself.
    let root = project::home_of(start).and_then(|home| project::root_of(&home)).ok()?;
    doctor::other_record(&root).ok().flatten()
}
