//! The labels of a task: `- **What:** …`, `**Verification**: …`, `Status: …`, in the styles that people use.

use crate::dialect::label::{Label, Labels, Markdown};
use crate::plan::draft::DraftField;
use crate::syntax::markdown::Blocks;
use crate::syntax::nearest;
use crate::syntax::outline::behind_marker;
use crate::syntax::source::{Source, Span};

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
