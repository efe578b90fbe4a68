//! One shape for every complaint about a plan. Owns no text of its own: messages are written by the rules.

use crate::syntax::source::{Edit, Span};

/// How bad a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The plan can be run, but something about it is doubtful.
    Warning,
    /// The plan must not be run as it is.
    Error,
}

impl Severity {
    /// The word that people see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Some bytes of the plan and what is to be said of them (which may be nothing).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The bytes to underline.
    pub span: Span,
    /// A few words beside the underline.
    pub text: String,
}

/// Changes that repair the fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What the repair does, as an imperative: "let step 2 wait for step 4".
    pub title: String,
    /// The changes, none of which overlap.
    pub edits: Vec<Edit>,
}

/// One complaint: where, what, why, and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable code of the rule, such as `PW0203`.
    pub code: &'static str,
    /// The name of the rule, such as `unmade-file`.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// One line that names the thing and the fault.
    pub message: String,
    /// Where the fault is.
    pub primary: Label,
    /// Other places that explain it.
    pub secondary: Vec<Label>,
    /// Facts that explain it.
    pub notes: Vec<String>,
    /// The way out, in words. A fix brings its own.
    pub help: Option<String>,
    /// The way out, ready to be applied.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Underlines `span` and says nothing beside it.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Underlines a second place.
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

    /// Says the way out.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Offers the way out.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.fix = Some(Fix { title: title.into(), edits });
        self
    }
}
