//! What can be wrong with a plan record: rules turn these into diagnostics.

use crate::syntax::source::Span;
use crate::syntax::yaml;
use crate::syntax::yaml::FaultKind;

/// A rule of the record dialect that a plan breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The text is no plan record from here on, and nothing behind was read; says why.
    Unread(String),
    /// Something that plans may not use; says what.
    Forbidden(String),
    /// A key stands twice in a map.
    DuplicateKey { key: String, first: Span },
    /// A key holds something else than it should.
    WrongKind {
        /// The key, or `a step`.
        what: String,
        /// What it should hold: `a list`.
        expected: &'static str,
    },
    /// A key holds one value where a list is expected; it was read as a list of one.
    LoneItem(String),
    /// The `index` of a step is not its place.
    Index {
        /// Its place, counted from 0.
        expected: usize,
    },
    /// The complexity is no number from 1 to 10.
    Complexity(String),
    /// A step is skipped, and nothing says why.
    UnexplainedSkip,
}

impl Fault {
    /// What the reader of YAML found, in the words of this dialect.
    pub(super) fn of(kind: FaultKind, language: &str) -> Self {
        let is_end = Self::is_end(&kind);
        let why = match kind {
            FaultKind::DuplicateKey { key, first } => return Self::DuplicateKey { key, first },
            FaultKind::Syntax(message) => format!("the plan is not valid {language}: {message}"),
            FaultKind::Anchor => "the plan has an anchor (`&name`), which plans may not use".to_owned(),
            FaultKind::Alias => "the plan has an alias (`*name`), which plans may not use".to_owned(),
            FaultKind::Tag => "the plan has a tag (`!name`), which plans may not use".to_owned(),
            FaultKind::MergeKey => "the plan has a merge key (`<<`), which plans may not use".to_owned(),
            FaultKind::SecondDocument => "a second YAML document begins here; a file is one plan".to_owned(),
            FaultKind::TooDeep => format!("the plan is nested deeper than {} levels", yaml::DEPTH_MAX),
            FaultKind::TooManyNodes => format!("the plan has more than {} values", super::NODES_MAX),
        };
        if is_end { Self::Unread(why) } else { Self::Forbidden(why) }
    }

    /// Whether nothing was read behind the fault, so that what seems to be missing may well be there.
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
