//! The labels of a task: `- **What:** …`, `**Verification**: …`, `Status: …`, in the styles that people use.

use crate::dialect::label::{Label, Labels, Markdown};
use crate::plan::draft::{DraftField, ParseIssue, StepDraft};
use crate::syntax::markdown::Blocks;
use crate::syntax::nearest;
use crate::syntax::outline::behind_marker;
use crate::syntax::source::{Source, Span, Spanned};

/// The known fields with their names, the preferred one first. Other labels are part of the task.
pub(super) const FIELDS: &[(DraftField, &[&str])] = &[
    (DraftField::Task, &["what"]),
    (
        DraftField::Contract,
        &[
            "verification",
            "verify",
            "verify with",
            "verified by",
            "verification command",
            "how to verify",
            "validation",
            "validate",
            "test command",
            "验证",
            "検証",
            "검증",
            "verificación",
            "vérification",
            "verifikasi",
        ],
    ),
    (DraftField::Status, &["status", "状态", "상태", "ステータス", "estado", "statut"]),
    (
        DraftField::Needs,
        &[
            "depends on",
            "needs",
            "dependencies",
            "depends",
            "blocked by",
            "requires",
            "prerequisites",
            "依赖",
        ],
    ),
    (DraftField::Touches, &["touches"]),
    (
        DraftField::Accept,
        &[
            "acceptance",
            "acceptance criteria",
            "accept",
            "done when",
            "done criteria",
            "definition of done",
            "exit criteria",
            "success criteria",
            "验收标准",
        ],
    ),
    (DraftField::Id, &["id"]),
    (DraftField::Target, &["agent"]),
];

const LABELS: Labels = Labels { fields: FIELDS, style: Markdown::Lenient };

/// The field that a label resembles.
pub(super) fn nearly(name: &str) -> Option<&'static str> {
    let names = [DraftField::Task, DraftField::Contract, DraftField::Status, DraftField::Needs];
    let bare = name.split(['(', '（']).next().unwrap_or_default();
    let normal = bare.trim().to_lowercase().replace(['_', '-'], " ");
    nearest::nearest(&normal, names.map(|field| LABELS.name(field)))
}

/// The label at the start of a line, with its value trimmed.
pub(super) fn label(source: &Source, line: Span) -> Option<Label> {
    let label = LABELS.read(source, line)?;
    Some(Label { value: source.trimmed(label.value), ..label })
}

/// A text or a verification whose name is not written as a label, where the task has none before it: in the text for the agent it
/// judges nothing.
pub(super) fn plain(
    source: &Source,
    blocks: &Blocks,
    text: Span,
    step: &StepDraft,
) -> Vec<Spanned<ParseIssue>> {
    let names: Vec<(DraftField, Span)> = plain_names(source, blocks, text).collect();
    let has = |field: DraftField| names.iter().any(|&(kind, _)| kind == field);
    // Both together are another task, whose heading is none.
    let is_task = has(DraftField::Task) && has(DraftField::Contract);
    let is_missing =
        |kind: DraftField, name: Span| step.field(kind).is_none_or(|field| name.end <= field.label.start);
    let meant = names.iter().copied().filter(|&(kind, name)| is_task || is_missing(kind, name));
    let issue = |(kind, span)| {
        let label = if kind == DraftField::Task { "**What:**" } else { "**Verification:**" };
        Spanned::new(ParseIssue::PlainField { label: label.to_owned() }, span)
    };
    meant.map(issue).collect()
}

/// The names of text and verification that start a line and are not written as labels.
pub(super) fn plain_names<'a>(
    source: &'a Source,
    blocks: &'a Blocks,
    text: Span,
) -> impl Iterator<Item = (DraftField, Span)> + 'a {
    let lines = blocks.text_lines(source, text).filter(|&line| LABELS.read(source, line).is_none());
    lines.filter_map(|line| LABELS.unstarred(source, line)).filter(|&(kind, span)| {
        let name = source.slice(span).trim_matches(['*', '_', '`', ':', ' ']);
        matches!(kind, DraftField::Task | DraftField::Contract)
            && LABELS.name(kind).eq_ignore_ascii_case(name)
    })
}

/// The labels in the running text of `span`.
pub(super) fn labels<'a>(
    source: &'a Source,
    blocks: &'a Blocks,
    span: Span,
) -> impl Iterator<Item = Label> + 'a {
    blocks.text_lines(source, span).filter_map(|line| label(source, line))
}

/// The text after the bullet or number of a list item in `line`.
pub(super) fn item(source: &Source, line: Span) -> Option<Span> {
    let bare = source.slice(line).trim_start_matches([' ', '\t', '>']);
    let is_number = bare.bytes().take_while(u8::is_ascii_digit).count() <= 9;
    let behind = behind_marker(bare).filter(|_| is_number)?;
    let inner = behind.trim_start_matches([' ', '\t']);
    (inner.len() < behind.len()).then(|| Span::new(line.end - inner.len(), line.end))
}
