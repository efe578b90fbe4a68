//! The `**name:**` labels of a plan: the known names, how to parse a label, and the fields before the steps.

use super::unread;
use crate::dialect::label::{Label, Labels, Markdown};
use crate::plan::draft::{Draft, DraftField};
use crate::syntax::markdown::Blocks;
use crate::syntax::nearest::nearest;
use crate::syntax::outline::is_rule;
use crate::syntax::source::{Source, Span, Spanned};

pub(super) const LABELS: Labels = Labels { fields: FIELDS, style: Markdown::Strict };

/// Every field of a step: what it is and the names that it goes by, the canonical one first.
pub(super) const FIELDS: &[(DraftField, &[&str])] = &[
    (DraftField::Id, &["id"]),
    (DraftField::Target, &["target"]),
    (DraftField::Needs, &["needs", "depends_on"]),
    (DraftField::Reads, &["reads", "subscriptions"]),
    (DraftField::Touches, &["touches"]),
    (DraftField::Sealed, &["sealed"]),
    (DraftField::Tools, &["tools"]),
    (DraftField::Env, &["env"]),
    (DraftField::Network, &["network"]),
    (DraftField::Setup, &["setup"]),
    (DraftField::Timeout, &["timeout"]),
    (DraftField::ContractTimeout, &["contract_timeout"]),
    (DraftField::Each, &["each"]),
    (DraftField::Accept, &["accept", "acceptance", "acceptance_criteria"]),
    (DraftField::Task, &["task"]),
    (DraftField::Contract, &["contract"]),
    (DraftField::ExitCode, &["exit_code"]),
    (DraftField::Green, &["green"]),
    (DraftField::Judge, &["judge"]),
    (DraftField::OnFail, &["on_fail"]),
    (DraftField::Status, &["status"]),
];

/// The name of the field that a label nearly names.
pub(super) fn nearly(label: &Label) -> Option<&'static str> {
    nearest(&normal(&label.name.value), FIELDS.iter().flat_map(|(_, names)| names.iter().copied()))
}

/// A name as the table spells it: `On fail`, `on-fail` and `ON_FAIL` are `on_fail`.
pub(super) fn normal(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

/// Whether a line would be read as the start of a field.
pub(super) fn is_label(line: &str) -> bool {
    let source = Source::new("line", line);
    LABELS.read(&source, Span::new(0, line.len())).is_some_and(|label| label.kind.is_some())
}

/// The fields without which there is hardly a step.
pub(super) const ESSENTIAL: [DraftField; 3] = [DraftField::Target, DraftField::Task, DraftField::Contract];

/// Whether the text below a numbered heading has the fields of a step.
pub(super) fn begins_a_step(source: &Source, blocks: &Blocks, below: Span) -> bool {
    let labels = blocks.text_lines(source, below).filter_map(|line| LABELS.read(source, line)?.kind);
    labels.into_iter().any(|field| ESSENTIAL.contains(&field)) || unread::is_step_like(source, blocks, below)
}

/// Parses `**Context:**`, `**Budget:**` and `**Priority:**` before the first step.
pub(super) fn read_preamble(source: &Source, blocks: &Blocks, preamble: Span, draft: &mut Draft) {
    let headings = blocks.headings.iter().map(|heading| heading.span.start);
    let labels: Vec<Label> =
        blocks.text_lines(source, preamble).filter_map(|line| LABELS.read(source, line)).collect();
    let starts = labels.iter().map(|label| label.line.start);
    let mut ends: Vec<usize> = starts.chain(headings).chain([preamble.end]).collect();
    ends.sort_unstable();
    for label in &labels {
        let slot = match normal(&label.name.value).as_str() {
            "context" => &mut draft.context,
            "budget" => &mut draft.budget,
            "priority" => &mut draft.priority,
            _ => continue,
        };
        let end = ends[ends.partition_point(|&end| end <= label.span.start)];
        if slot.is_none() {
            *slot = text_value(source, Span::new(label.value.start, end));
        }
    }
}

/// The text of `span` without surrounding blank lines and a trailing dividing line; `None` if nothing is left.
pub(super) fn text_value(source: &Source, span: Span) -> Option<Spanned<String>> {
    let kept = undivided(source.slice(span));
    let first_line_end = kept.find('\n').unwrap_or(kept.len());
    let start = if kept[..first_line_end].trim().is_empty() {
        // The value starts on a separate line, so its indentation is part of it.
        let first = kept.len() - kept.trim_start().len();
        kept[..first].rfind('\n').map_or(first, |newline| newline + 1)
    } else {
        kept.len() - kept.trim_start().len()
    };
    let value = &kept[start.min(kept.len())..];
    let place = Span::new(span.start + start.min(kept.len()), span.start + kept.len());
    (!value.is_empty()).then(|| Spanned::new(value.replace("\r\n", "\n"), place))
}

/// The text without trailing blank and dividing lines.
fn undivided(text: &str) -> &str {
    let mut kept = text.trim_end();
    while let Some((before, last)) = kept.rsplit_once('\n') {
        let is_code = last.starts_with(['\t']) || last.starts_with("    ");
        if is_code || !is_rule(last) {
            break;
        }
        kept = before.trim_end();
    }
    kept
}
