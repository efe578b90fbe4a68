//! The common form of every diagnostic about a plan. Contains no message texts: the rules write them.

use crate::syntax::source::{Edit, Span};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The plan can run, but something about it is doubtful.
    Warning,
    /// The plan must not run.
    Error,
}

impl Severity {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A span of the plan with an optional text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    /// Shown next to the underline; may be empty.
    pub text: String,
}

/// Edits that fix the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// An imperative: "make step 2 need step 4".
    pub title: String,
    /// Must not overlap.
    pub edits: Vec<Edit>,
}

/// One problem: where it is, what it is, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The code of the rule, such as `PW0203`.
    pub code: &'static str,
    /// The name of the rule, such as `unmade-file`.
    pub rule: &'static str,
    pub severity: Severity,
    /// One line that names the object and the problem.
    pub message: String,
    pub primary: Label,
    /// Related places.
    pub secondary: Vec<Label>,
    /// Further explanation.
    pub notes: Vec<String>,
    /// What to do. A fix has its own title.
    pub help: Option<String>,
    /// What `verify --fix` applies.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Sets the text next to the underline.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds a related place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.fix = Some(Fix { title: title.into(), edits });
        self
    }
}
