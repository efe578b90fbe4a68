//! The labels of a task: `- **What:** …`, `**Verification**: …`, `Status: …`, in the styles that people use.

use crate::plan::draft::DraftField;
use crate::syntax::markdown::Blocks;
use crate::syntax::nearest;
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

/// Longer bold text is a sentence, not a label.
const NAME_CHARS_MAX: usize = 40;

/// A label at the start of a line.
#[derive(Debug, Clone)]
pub(super) struct NamedLabel {
    /// As written.
    pub(super) name: Spanned<String>,
    pub(super) kind: Option<DraftField>,
    pub(super) line: Span,
    /// The number of bytes before its bullet or first letter.
    pub(super) indent: usize,
    /// With stars and colon.
    pub(super) span: Span,
    /// The rest of its line, trimmed.
    pub(super) value: Span,
    /// Whether a list bullet precedes it.
    pub(super) is_bulleted: bool,
}

/// The preferred name of a field.
pub(super) fn name(field: DraftField) -> &'static str {
    FIELDS.iter().find(|&&(known, _)| known == field).map_or("", |(_, names)| names[0])
}

/// The field with this name, ignoring case, dashes and a comment in brackets.
pub(super) fn kind(name: &str) -> Option<DraftField> {
    let normal = normal(name);
    FIELDS.iter().find(|(_, names)| names.contains(&normal.as_str())).map(|&(field, _)| field)
}

/// The field that a label resembles.
pub(super) fn nearly(name: &str) -> Option<&'static str> {
    let names =
        [DraftField::Task, DraftField::Contract, DraftField::Status, DraftField::Needs].map(self::name);
    nearest::nearest(&normal(name), names)
}

fn normal(name: &str) -> String {
    let bare = name.split(['(', '（']).next().unwrap_or_default();
    bare.trim().to_lowercase().replace(['_', '-'], " ")
}

/// Parses the label at the start of a line: `**name:** value`, `**name**: value`, `*name*: value`, `**name: value**`,
/// and without stars if the name is that of a field.
pub(super) fn label(source: &Source, line: Span) -> Option<NamedLabel> {
    let text = source.slice(line);
    let unquoted = text.trim_start_matches([' ', '\t', '>']);
    let indent = text.len() - unquoted.len();
    let bullet = unquoted.strip_prefix(['-', '*', '+']).filter(|behind| behind.starts_with([' ', '\t']));
    let begins = bullet.map_or(unquoted, str::trim_start);
    let start = line.end - begins.len();
    let (name, name_at, label_length, value) = starred(begins).or_else(|| plain(begins))?;
    let name_start = start + name_at;
    let value = trimmed(source, Span::new(start + value.start, start + value.end));
    Some(NamedLabel {
        name: Spanned::new(name.to_owned(), Span::new(name_start, name_start + name.len())),
        kind: kind(name),
        line,
        indent,
        span: Span::new(start, start + label_length),
        value,
        is_bulleted: bullet.is_some(),
    })
}

/// Name, its offset, the length of the label, and the span of the value.
type Parts<'a> = (&'a str, usize, usize, std::ops::Range<usize>);

fn starred(text: &str) -> Option<Parts<'_>> {
    let stars = ["**", "__", "*", "_"].into_iter().find(|stars| text.starts_with(stars))?;
    let (inner, behind) = text[stars.len()..].split_once(stars)?;
    let behind_at = text.len() - behind.len();
    let (name, label_length, value) = if let Some(name) = inner.trim_end().strip_suffix([':', '：']) {
        (name, behind_at, behind_at..text.len())
    } else if let Some(value) = behind.trim_start().strip_prefix([':', '：']) {
        (inner, text.len() - value.len(), text.len() - value.len()..text.len())
    } else if behind.trim().is_empty() {
        // `**Status: done**`: the value is inside the stars.
        let (name, value) = inner.split_once([':', '：'])?;
        let at = stars.len() + inner.len() - value.len();
        (name, behind_at, at..at + value.len())
    } else {
        return None;
    };
    let bare = name.trim();
    let at = stars.len() + (name.len() - name.trim_start().len());
    let is_name = !bare.is_empty()
        && bare.chars().count() <= NAME_CHARS_MAX
        && bare.starts_with(char::is_alphabetic)
        && !bare.contains(['`', '[', ':']);
    is_name.then_some((bare, at, label_length, value))
}

/// Without stars, only the name of a field is a label; anything else is a sentence with a colon.
fn plain(text: &str) -> Option<Parts<'_>> {
    let at = text.find([':', '：'])?;
    let (name, behind) = text.split_at(at);
    let sign = behind.chars().next().map_or(1, char::len_utf8);
    let is_set_off = behind[sign..].is_empty() || behind[sign..].starts_with([' ', '\t']) || sign > 1;
    // A lowercase start continues a sentence, unless it starts a list item.
    let is_label = name.starts_with(|first: char| !first.is_lowercase()) && kind(name).is_some();
    (is_set_off && is_label).then(|| (name.trim_end(), 0, at + sign, at + sign..text.len()))
}

/// The lines of `span` that are running text, without their line endings.
pub(super) fn text_lines<'a>(
    source: &'a Source,
    blocks: &'a Blocks,
    span: Span,
) -> impl Iterator<Item = Span> + 'a {
    lines(source, span).filter(|line| !blocks.is_opaque(line.start))
}

/// The lines of `span`, without their line endings.
pub(super) fn lines(source: &Source, span: Span) -> impl Iterator<Item = Span> + '_ {
    let mut at = span.start;
    std::iter::from_fn(move || {
        if at >= span.end {
            return None;
        }
        let line = Span::new(at, source.line_at(at).end.clamp(at, span.end));
        at = source.next_line(at).max(at + 1);
        Some(line)
    })
}

/// The text without the blanks around it.
pub(super) fn trimmed(source: &Source, span: Span) -> Span {
    let text = source.slice(span);
    let start = span.start + text.len() - text.trim_start().len();
    Span::new(start, start + text.trim().len())
}

/// The indentation of a line; a tab counts as four.
pub(super) fn indent(text: &str) -> usize {
    text.chars()
        .take_while(|character| matches!(character, ' ' | '\t'))
        .map(|character| if character == '\t' { 4 } else { 1 })
        .sum()
}

/// The offset of the text after the bullet or number of a list item.
pub(super) fn item(text: &str) -> Option<usize> {
    let bare = text.trim_start_matches([' ', '\t', '>']);
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let behind = match digits {
        0 => bare.strip_prefix(['-', '*', '+'])?,
        1..=9 => bare[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let inner = behind.trim_start_matches([' ', '\t']);
    (inner.len() < behind.len()).then(|| text.len() - inner.len())
}

/// A dividing line of dashes, stars or underscores.
pub(super) fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|character| !character.is_whitespace());
    let Some(first) = marks.next().filter(|mark| ['-', '*', '_'].contains(mark)) else { return false };
    let more = marks.clone().count();
    more >= 2 && marks.all(|mark| mark == first)
}
