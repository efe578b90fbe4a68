//! Labels at the start of a line, `**name:** value`, and the fields that they name. Every dialect has a table of its
//! own names.

use crate::plan::draft::DraftField;
use crate::syntax::outline::behind_bullet;
use crate::syntax::source::{Source, Span, Spanned};

/// The labels of a dialect.
pub(super) struct Labels {
    /// The fields with their names, the preferred one first.
    pub(super) fields: &'static [(DraftField, &'static [&'static str])],
    pub(super) style: Markdown,
}

/// Which labels to accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Markdown {
    /// Bold words and a colon.
    Strict,
    /// Also in italics, in a block quote, with a wide colon and with a comment in brackets; and the names of fields
    /// without stars.
    Lenient,
}

/// A label at the start of a line.
#[derive(Debug, Clone)]
pub(super) struct Label {
    /// As written.
    pub(super) name: Spanned<String>,
    pub(super) kind: Option<DraftField>,
    pub(super) line: Span,
    /// The number of bytes before its bullet or first letter.
    pub(super) indent: usize,
    /// With stars and colon.
    pub(super) span: Span,
    /// The rest of its line, blanks included.
    pub(super) value: Span,
    /// Whether a list bullet precedes it.
    pub(super) is_bulleted: bool,
}

/// The parts of a label: its name, where that is, where the label ends, and the value.
type Parts<'a> = (&'a str, usize, usize, Span);

impl Labels {
    /// The preferred name of a field.
    pub(super) fn name(&self, field: DraftField) -> &'static str {
        self.fields.iter().find(|&&(known, _)| known == field).map_or("", |(_, names)| names[0])
    }

    /// The field with this name. Case doesn't count, and blanks, dashes and underscores are the same. Called for every
    /// label, so it must not allocate.
    pub(super) fn field(&self, name: &str) -> Option<DraftField> {
        fn plain(text: &str) -> impl Iterator<Item = char> + '_ {
            let letters = text.chars().flat_map(char::to_lowercase);
            letters.map(|letter| if matches!(letter, ' ' | '-') { '_' } else { letter })
        }
        let name = match self.style {
            Markdown::Strict => name,
            Markdown::Lenient => name.split(['(', '（']).next().unwrap_or_default().trim(),
        };
        let is_same = |known: &&'static str| plain(known).eq(plain(name));
        self.fields.iter().find(|(_, names)| names.iter().any(is_same)).map(|&(field, _)| field)
    }

    /// The label at the start of `line`: `**name:** value`, `**name**: value` or `**name: value**`.
    pub(super) fn read(&self, source: &Source, line: Span) -> Option<Label> {
        let text = source.slice(line);
        let unquoted = match self.style {
            Markdown::Strict => text.trim_start(),
            Markdown::Lenient => text.trim_start_matches([' ', '\t', '>']),
        };
        let bullet = behind_bullet(unquoted);
        let begins = bullet.map_or(unquoted, str::trim_start);
        let start = line.end - begins.len();
        let (name, name_at, length, value) = self.starred(begins).or_else(|| self.plain(begins))?;
        Some(Label {
            name: Spanned::new(name.to_owned(), Span::new(name_at, name_at + name.len()).shifted(start)),
            kind: self.field(name),
            line,
            indent: text.len() - unquoted.len(),
            span: Span::new(start, start + length),
            value: value.shifted(start),
            is_bulleted: bullet.is_some(),
        })
    }

    /// The field whose name starts `line` without the stars of a label, and the span of name and colon:
    /// `contract: make test`, `*contract:* make test`.
    pub(super) fn unstarred(&self, source: &Source, line: Span) -> Option<(DraftField, Span)> {
        const FRAME: [char; 3] = ['*', '_', '`'];
        let text = source.slice(line).trim_start();
        let begins = behind_bullet(text).map_or(text, str::trim_start);
        let bare = begins.trim_start_matches(FRAME);
        let (name, behind) = bare.split_once([':', '：'])?;
        let value = behind.trim_start_matches(FRAME);
        let plain = name.trim_end_matches(FRAME);
        let opened = &begins[..begins.len() - bare.len()];
        // The frame ends before the colon or after it.
        let closed = [&name[plain.len()..], &behind[..behind.len() - value.len()]].concat();
        let is_set_off = value.is_empty() || value.starts_with([' ', '\t', '\r']);
        let field = self.field(plain.trim_end()).filter(|_| is_set_off && opened == closed)?;
        Some((field, Span::new(line.end - begins.len(), line.end - value.len())))
    }

    fn starred<'a>(&self, text: &'a str) -> Option<Parts<'a>> {
        let is_lenient = self.style == Markdown::Lenient;
        let (all_stars, colons): (&[&str], &[char]) = match self.style {
            Markdown::Strict => (&["**", "__"], &[':']),
            Markdown::Lenient => (&["**", "__", "*", "_"], &[':', '：']),
        };
        let stars = *all_stars.iter().find(|stars| text.starts_with(**stars))?;
        let (bold, behind) = text[stars.len()..].split_once(stars)?;
        let behind_at = text.len() - behind.len();
        let ended = if is_lenient { bold.trim_end() } else { bold }.strip_suffix(colons);
        let (name, length, value) =
            if let Some(name) = ended.filter(|name| is_lenient || !name.contains(colons)) {
                (name, behind_at, Span::new(behind_at, text.len()))
            } else if let Some(value) = behind.trim_start().strip_prefix(colons) {
                let at = text.len() - value.len();
                (bold, at, Span::new(at, text.len()))
            } else if behind.trim().is_empty() {
                // `**status: done**`: the value is inside the stars.
                let (name, value) = bold.split_once(colons)?;
                let end = stars.len() + bold.len();
                (name, behind_at, Span::new(end - value.len(), end))
            } else {
                return None;
            };
        let bare = if is_lenient { name.trim_start() } else { name };
        let name_at = stars.len() + name.len() - bare.len();
        self.is_name(bare).then(|| (bare.trim_end(), name_at, length, value))
    }

    /// Longer bold text is a sentence, not a label.
    fn is_name(&self, name: &str) -> bool {
        let is_part = |sign: char| sign.is_alphanumeric() || [' ', '_', '-'].contains(&sign);
        let is_sound = match self.style {
            Markdown::Strict => name.chars().count() <= 32 && name.chars().all(is_part),
            Markdown::Lenient => name.trim_end().chars().count() <= 40 && !name.contains(['`', '[', ':']),
        };
        name.starts_with(char::is_alphabetic) && is_sound
    }

    /// Without stars, only the name of a field is a label; anything else is a sentence with a colon.
    fn plain<'a>(&self, text: &'a str) -> Option<Parts<'a>> {
        let at = text.find([':', '：']).filter(|_| self.style == Markdown::Lenient)?;
        let (name, behind) = text.split_at(at);
        let sign = behind.chars().next().map_or(1, char::len_utf8);
        let is_set_off = behind[sign..].is_empty() || behind[sign..].starts_with([' ', '\t']) || sign > 1;
        // A lowercase start continues a sentence, unless it starts a list item.
        let is_label = name.starts_with(|first: char| !first.is_lowercase()) && self.field(name).is_some();
        (is_set_off && is_label).then(|| (name.trim_end(), 0, at + sign, Span::new(at + sign, text.len())))
    }
}
