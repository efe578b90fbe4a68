//! Whether everything that planwright relies on is sound. Works where a workspace can't be opened.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::Right;
use crate::api::error::Error;
use crate::api::workspace::OpenOptions;
use crate::audit::doctor;
use crate::audit::doctor::{DoctorFinding, DoctorLevel};
use crate::workspace::project;

/// Whether what can be fixed without losing data is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    No,
    Yes,
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
pub fn doctor(options: &OpenOptions, repair: Repair) -> Result<DoctorView, Error> {
    if repair == Repair::Yes {
        options.caller.may(Right::Repair)?;
    }
    let root = project::root_of(Path::new("."))?;
    let mut findings = doctor::examine(&root, &options.overrides);
    let (mut fixed, mut unfixed) = (Vec::new(), Vec::new());
    if repair == Repair::Yes {
        for DoctorFinding { what, repair, .. } in findings {
            let Some(repair) = repair else { continue };
            match doctor::mend(&root, &options.overrides, &repair) {
                Ok(()) => fixed.push(what),
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
