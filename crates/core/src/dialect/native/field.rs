//! The `**name:**` labels of a plan: the known names, how to parse a label, and the fields before the steps.

use crate::plan::draft::{Draft, DraftField};
use crate::syntax::markdown::Blocks;
use crate::syntax::source::{Source, Span, Spanned};

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

/// The longest name that is taken for a label: longer bold text is a sentence.
const NAME_CHARS_MAX: usize = 32;

/// A label at the start of a line.
#[derive(Debug, Clone)]
pub(super) struct NativeLabel {
    /// The name as written.
    pub(super) name: Spanned<String>,
    /// The label with its stars and colon.
    pub(super) span: Span,
    /// Where the value starts on the label's line, blanks included.
    pub(super) value: Span,
    /// Whether a list bullet precedes it.
    pub(super) is_bulleted: bool,
    /// The field that it names.
    pub(super) kind: Option<DraftField>,
}

impl NativeLabel {
    /// The name of the field that the label nearly names.
    pub(super) fn meant(&self) -> Option<&'static str> {
        let names = FIELDS.iter().flat_map(|(_, names)| names.iter().copied());
        crate::syntax::nearest::nearest(&normal(&self.name.value), names)
    }
}

/// The canonical name of a field.
pub(super) fn name(field: DraftField) -> &'static str {
    FIELDS.iter().find(|&&(known, _)| known == field).map_or("", |(_, names)| names[0])
}

/// A name as the table spells it: `On fail`, `on-fail` and `ON_FAIL` are `on_fail`.
pub(super) fn normal(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

/// The field with this name, ignoring spelling as [`normal`] does. Called for every label, so it must not allocate.
pub(super) fn kind(name: &str) -> Option<DraftField> {
    let plain = |byte: u8| if byte == b' ' || byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    let is_same = |known: &str| known.len() == name.len() && known.bytes().eq(name.bytes().map(plain));
    FIELDS.iter().find(|(_, names)| names.iter().any(|known| is_same(known))).map(|&(field, _)| field)
}

/// Reads the label that starts the line `line`: `**name:** value`, `**name**: value` or `**name: value**`.
pub(super) fn label(source: &Source, line: Span) -> Option<NativeLabel> {
    let text = source.slice(line);
    let unindented = text.trim_start();
    let bullet = unindented.strip_prefix(['-', '*', '+']).filter(|behind| behind.starts_with([' ', '\t']));
    let begins = bullet.map_or(unindented, str::trim_start);
    let stars = ["**", "__"].into_iter().find(|stars| begins.starts_with(stars))?;
    let start = line.end - begins.len();
    let inner = &begins[stars.len()..];
    let (bold, behind) = inner.split_once(stars)?;
    let (name, value_start) = match bold.split_once(':') {
        Some((name, "")) => (name, line.end - behind.len()),
        // `**status: done**`: the value is inside the stars.
        Some((name, value)) if behind.trim().is_empty() => {
            (name, line.end - behind.len() - stars.len() - value.len())
        }
        Some(_) => return None,
        None => (bold, line.end - behind.trim_start().strip_prefix(':')?.len()),
    };
    let is_name = name.chars().count() <= NAME_CHARS_MAX
        && name.starts_with(|first: char| first.is_alphabetic())
        && name.chars().all(|character| character.is_alphanumeric() || [' ', '_', '-'].contains(&character));
    if !is_name {
        return None;
    }
    let name_start = start + stars.len();
    let is_inside = bold.split_once(':').is_some_and(|(_, value)| !value.is_empty());
    let value_end = if is_inside { line.end - behind.len() - stars.len() } else { line.end };
    Some(NativeLabel {
        name: Spanned::new(
            name.trim_end().to_owned(),
            Span::new(name_start, name_start + name.trim_end().len()),
        ),
        span: Span::new(start, if is_inside { line.end - behind.len() } else { value_start }),
        value: Span::new(value_start, value_end),
        is_bulleted: bullet.is_some(),
        kind: kind(name.trim_end()),
    })
}

/// Whether a line would be read as the start of a field.
pub(super) fn is_label(line: &str) -> bool {
    let source = Source::new("line", line);
    label(&source, Span::new(0, line.len())).is_some_and(|label| label.kind.is_some())
}

/// The lines of `span` that are running text, without their line endings.
pub(super) fn text_lines<'a>(
    source: &'a Source,
    blocks: &'a Blocks,
    span: Span,
) -> impl Iterator<Item = Span> + 'a {
    let mut at = span.start;
    std::iter::from_fn(move || {
        while at < span.end {
            let line = Span::new(at, source.line_at(at).end.min(span.end));
            at = source.next_line(at).max(at + 1);
            if !blocks.is_opaque(line.start) {
                return Some(line);
            }
        }
        None
    })
}

/// Whether the text below a numbered heading has the fields of a step.
pub(super) fn begins_a_step(source: &Source, blocks: &Blocks, below: Span) -> bool {
    text_lines(source, blocks, below)
        .filter_map(|line| label(source, line)?.kind)
        .any(|field| matches!(field, DraftField::Task | DraftField::Contract | DraftField::Target))
}

/// Parses `**Context:**`, `**Budget:**` and `**Priority:**` before the first step.
pub(super) fn read_preamble(source: &Source, blocks: &Blocks, preamble: Span, draft: &mut Draft) {
    let headings = blocks.headings.iter().map(|heading| heading.span.start);
    let labels: Vec<NativeLabel> =
        text_lines(source, blocks, preamble).filter_map(|line| label(source, line)).collect();
    let starts = labels.iter().map(|label| source.line_at(label.span.start).start);
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

/// A dividing line of dashes, stars or underscores.
pub(super) fn is_rule(line: &str) -> bool {
    let marks: Vec<char> = line.chars().filter(|character| !character.is_whitespace()).collect();
    marks.len() >= 3 && ['-', '*', '_'].iter().any(|&mark| marks.iter().all(|&character| character == mark))
}
