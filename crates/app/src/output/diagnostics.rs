//! What the verifier complains about, in every format that people and programs read. Owns the formats; never adds, drops or
//! reorders a diagnostic.

mod github;
mod human;
mod json;
mod junit;
mod sarif;
mod short;
mod window;

use std::fmt;

use planwright_engine::core::syntax::count::number;
use planwright_engine::core::syntax::diagnostic::{Diagnostic, Severity};
use planwright_engine::core::syntax::source::Source;

pub use github::github;
pub use human::human;
pub use json::{
    DiagnosticData, EditData, FileData, FixData, FoundData, RedData, RelatedData, SpanData, SuggestionData,
    VerifyData, json,
};
pub use junit::junit;
pub use sarif::sarif;
pub use short::short;

/// A file and what is wrong with it.
#[derive(Debug, Clone, Copy)]
pub struct CheckedFile<'a> {
    /// The file.
    pub source: &'a Source,
    /// The diagnostics, in file order.
    pub diagnostics: &'a [Diagnostic],
}

/// What is known of a rule beside its diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleDoc<'a> {
    /// The stable code, such as `PW0203`.
    pub code: &'a str,
    /// The name, such as `unmade-file`.
    pub name: &'a str,
    /// What it finds, in one line.
    pub summary: &'a str,
}

/// Whether a plan with warnings passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Warnings {
    /// It does.
    #[default]
    Allowed,
    /// It does not (`--deny warnings`).
    Denied,
}

/// How many diagnostics of which kind there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, schemars::JsonSchema)]
pub struct Counts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Diagnostics of either kind that come with a fix.
    pub fixable: usize,
}

impl Warnings {
    /// Whether a diagnostic of this severity makes the plan fail.
    pub const fn fail(self, severity: Severity) -> bool {
        match (severity, self) {
            (Severity::Error, Self::Allowed | Self::Denied) | (Severity::Warning, Self::Denied) => true,
            (Severity::Warning, Self::Allowed) => false,
        }
    }
}

impl CheckedFile<'_> {
    /// Counts the diagnostics.
    pub fn counts(&self) -> Counts {
        let of =
            |severity| self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
        Counts {
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            fixable: self.diagnostics.iter().filter(|diagnostic| diagnostic.fix.is_some()).count(),
        }
    }

    /// Whether nothing makes the plan fail.
    pub fn is_ok(&self, warnings: Warnings) -> bool {
        !self.diagnostics.iter().any(|diagnostic| warnings.fail(diagnostic.severity))
    }
}

/// "2 errors, 1 warning", leaving out what there is none of, unless there is none of either.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.errors, self.warnings) {
            (0, 0) => f.write_str("no errors, no warnings"),
            (errors, 0) => f.write_str(&number(errors, "error")),
            (0, warnings) => f.write_str(&number(warnings, "warning")),
            (errors, warnings) => write!(f, "{}, {}", number(errors, "error"), number(warnings, "warning")),
        }
    }
}

#[cfg(test)]
mod folder;
#[cfg(test)]
mod sample;
