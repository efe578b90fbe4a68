//! Diagnostics as data: everything that one holds, with byte offsets and with places as people count them.

use std::fmt;

use planwright_core::run::baseline::Baseline;
use planwright_core::syntax::count::number;
use planwright_core::syntax::diagnostic::{Diagnostic, Severity};
use planwright_core::syntax::source::{Edit, Source, Span};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VerifyView {
    /// Every file that was checked.
    pub files: Vec<FileView>,
    /// Contracts that were suggested for steps that have none, where that was asked for.
    pub suggested: Vec<SuggestionView>,
    /// What contracts say before the work, as far as that is known: all of them after `--red`.
    pub red: Vec<BaselineView>,
    /// What a reviewer found, where one was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<ReviewFindingView>,
}

/// Something that a reviewer found in a plan.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReviewFindingView {
    /// The plan.
    pub plan: String,
    /// The agent that found it.
    pub by: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The file, as the reviewer names it; empty where it names none.
    pub path: String,
    /// The line there.
    pub line: Option<u32>,
    /// What is wrong.
    pub text: String,
    /// All of it on one line.
    #[serde(skip)]
    pub summary: String,
}

/// What a contract says before the work.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BaselineView {
    /// The plan.
    pub plan: String,
    /// Where it was run: branch and commit; `None`: there is nothing to run it on.
    pub base: Option<String>,
    /// The step, the hash of the command, what it says and how long it took.
    #[serde(flatten)]
    pub red: Baseline,
}

/// A contract that a step could have.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SuggestionView {
    /// The plan.
    pub plan: String,
    /// The id of the step.
    pub step: String,
    /// The command.
    pub command: String,
    /// Where it comes from.
    pub because: String,
}

/// One file and what is wrong with it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileView {
    /// The path as given; for a directory plan, the directory.
    pub path: String,
    /// Whether the file passes: no errors, and no warnings where they are denied.
    pub ok: bool,
    /// How many diagnostics of which kind there are.
    pub counts: CheckCounts,
    /// The diagnostics in file order.
    pub diagnostics: Vec<DiagnosticView>,
}

/// One diagnostic.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiagnosticView {
    /// The stable code of the rule, such as `PW0203`.
    pub code: String,
    /// The name of the rule, such as `unmade-file`.
    pub rule: String,
    /// `error` or `warning`.
    pub severity: String,
    /// One line that names the thing and the fault.
    pub message: String,
    /// The file of the span, for a directory plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where the fault is.
    pub span: SpanView,
    /// A few words about that place; may be empty.
    pub label: String,
    /// Other places that explain it.
    pub related: Vec<RelatedView>,
    /// Facts that explain it.
    pub notes: Vec<String>,
    /// The fix, in words.
    pub help: Option<String>,
    /// The fix, ready to apply.
    pub fix: Option<FixView>,
}

/// A range of bytes. In a directory plan, bytes and lines count per file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpanView {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset one past the last byte.
    pub end: usize,
    /// Line of the start, from 1.
    pub line: usize,
    /// Column of the start in characters, from 1.
    pub column: usize,
    /// Line of the end.
    pub end_line: usize,
    /// Column one past the last character.
    pub end_column: usize,
}

/// A second place.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RelatedView {
    /// The file of the span, for a directory plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where it is.
    pub span: SpanView,
    /// What it has to do with the fault.
    pub label: String,
}

/// A fix.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FixView {
    /// What it does, as an imperative.
    pub title: String,
    /// The changes, all against the text as it was checked; none overlap.
    pub edits: Vec<TextEditView>,
}

/// One change of a fix.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TextEditView {
    /// The changed file, for a directory plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Offset of the first byte that goes.
    pub start: usize,
    /// Offset one past the last byte that goes.
    pub end: usize,
    /// The text that comes instead.
    pub text: String,
}

/// A file and what is wrong with it.
#[derive(Debug, Clone, Copy)]
pub struct CheckedFile<'a> {
    /// The file.
    pub source: &'a Source,
    /// The diagnostics, in file order.
    pub diagnostics: &'a [Diagnostic],
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct CheckCounts {
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
    pub fn counts(&self) -> CheckCounts {
        let of =
            |severity| self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
        CheckCounts {
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
impl fmt::Display for CheckCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.errors, self.warnings) {
            (0, 0) => f.write_str("no errors, no warnings"),
            (errors, 0) => f.write_str(&number(errors, "error")),
            (0, warnings) => f.write_str(&number(warnings, "warning")),
            (errors, warnings) => write!(f, "{}, {}", number(errors, "error"), number(warnings, "warning")),
        }
    }
}

impl VerifyView {
    /// Everything that is known about the diagnostics of these files.
    pub fn of(checked: &[CheckedFile<'_>], warnings: Warnings) -> Self {
        let files = checked.iter().map(|file| FileView {
            path: file.source.name().to_owned(),
            ok: file.is_ok(warnings),
            counts: file.counts(),
            diagnostics: file.diagnostics.iter().map(|found| view(file.source, found)).collect(),
        });
        Self { files: files.collect(), suggested: Vec::new(), red: Vec::new(), found: Vec::new() }
    }
}

fn view(source: &Source, diagnostic: &Diagnostic) -> DiagnosticView {
    let related = diagnostic.secondary.iter().map(|label| RelatedView {
        file: file(source, label.span),
        span: SpanView::new(source, label.span),
        label: label.text.clone(),
    });
    let fix = diagnostic.fix.as_ref().map(|fix| FixView {
        title: fix.title.clone(),
        edits: fix.edits.iter().map(|edit| TextEditView::new(source, edit)).collect(),
    });
    DiagnosticView {
        code: diagnostic.code.to_owned(),
        rule: diagnostic.rule.to_owned(),
        severity: diagnostic.severity.word().to_owned(),
        message: diagnostic.message.clone(),
        file: file(source, diagnostic.primary.span),
        span: SpanView::new(source, diagnostic.primary.span),
        label: diagnostic.primary.text.clone(),
        related: related.collect(),
        notes: diagnostic.notes.clone(),
        help: diagnostic.help.clone(),
        fix,
    }
}

impl SpanView {
    fn new(source: &Source, span: Span) -> Self {
        let inside = source.within(span);
        let (start, end) = (source.position(inside.start), source.position(inside.end));
        let span = source.in_file(span);
        Self {
            start: span.start,
            end: span.end,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

impl TextEditView {
    fn new(source: &Source, edit: &Edit) -> Self {
        let span = source.in_file(edit.span);
        Self { file: file(source, edit.span), start: span.start, end: span.end, text: edit.text.clone() }
    }
}

/// The file that holds `span`, where there are several.
fn file(source: &Source, span: Span) -> Option<String> {
    let at = source.within(span).start;
    (!source.part_at(at).path.is_empty()).then(|| source.name_at(at))
}
