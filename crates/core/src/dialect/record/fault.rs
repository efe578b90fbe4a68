//! Faults of YAML and JSON as the problems of a plan record, which rules turn into diagnostics.

use crate::plan::draft::RecordFault;
use crate::syntax::yaml;
use crate::syntax::yaml::FaultKind;

impl RecordFault {
    /// Translates a YAML error into the terms of this dialect.
    pub(super) fn of(kind: FaultKind, language: &str) -> Self {
        let is_end = Self::is_end(&kind);
        let why = match kind {
            FaultKind::DuplicateKey { key, first } => return Self::DuplicateKey { key, first },
            FaultKind::Syntax(message) => format!("invalid {language}: {message}"),
            FaultKind::Anchor => "anchors (`&name`) are not allowed in plans".to_owned(),
            FaultKind::Alias => "aliases (`*name`) are not allowed in plans".to_owned(),
            FaultKind::Tag => "tags (`!name`) are not allowed in plans".to_owned(),
            FaultKind::MergeKey => "merge keys (`<<`) are not allowed in plans".to_owned(),
            FaultKind::SecondDocument => "second YAML document; a file contains one plan".to_owned(),
            FaultKind::TooDeep => format!("the plan is nested deeper than {} levels", yaml::DEPTH_MAX),
            FaultKind::TooManyNodes => format!("the plan has more than {} values", super::NODES_MAX),
        };
        if is_end { Self::Unread(why) } else { Self::Forbidden(why) }
    }

    /// Whether parsing stopped at the fault, so that something that seems missing may be in the rest of the file.
    pub(super) fn is_end(kind: &FaultKind) -> bool {
        match kind {
            FaultKind::Syntax(_) | FaultKind::TooDeep | FaultKind::TooManyNodes => true,
            FaultKind::DuplicateKey { .. }
            | FaultKind::Anchor
            | FaultKind::Alias
            | FaultKind::Tag
            | FaultKind::MergeKey
            | FaultKind::SecondDocument => false,
        }
    }
}
