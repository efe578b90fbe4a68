//! Extracts the command from a scalar with the position of every character, so that a diagnostic can point at the exact
//! word.

use crate::syntax::source::{Excerpt, Source, Span};
use crate::syntax::tree::{Node, Style, Value};

/// The text of a scalar without its last line ending; `None` of anything else.
pub(super) fn of(source: &Source, node: &Node) -> Option<Excerpt> {
    let Value::Scalar { text, style } = &node.value else { return None };
    let text = text.trim_end_matches('\n');
    let pieces = match style {
        Style::Plain => Some(vec![(node.span.start, source.slice(node.span).to_owned())]),
        Style::SingleQuoted | Style::DoubleQuoted => unquoted(source, node.span),
        Style::Block => lines(source, node.span, text),
    };
    let is_exact = |pieces: &Vec<(usize, String)>| {
        pieces.iter().map(|(_, piece)| piece.as_str()).collect::<String>().trim_end_matches('\n') == text
    };
    let mut excerpt = Excerpt::new(node.span);
    match pieces.filter(is_exact) {
        Some(pieces) => {
            for (at, piece) in pieces {
                let left = text.len() - excerpt.value.len();
                excerpt.push(&piece[..piece.len().min(left)], at);
            }
        }
        // Folded lines: every character maps to the whole scalar.
        None => {
            for character in text.chars() {
                excerpt.push(character.encode_utf8(&mut [0; 4]), node.span.start);
            }
            excerpt.push("", node.span.start);
        }
    }
    Some(excerpt)
}

/// The characters of a quoted scalar with their positions; `None` if it spans several lines or has an escape that
/// commands don't need.
fn unquoted(source: &Source, span: Span) -> Option<Vec<(usize, String)>> {
    let quoted = source.slice(span);
    let quote = quoted.chars().next()?;
    let inner = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut pieces = Vec::new();
    let mut rest = inner;
    while let Some(first) = rest.chars().next() {
        let (said, length) = match (quote, first) {
            (_, '\n' | '\r') => return None,
            ('\'', '\'') => ('\'', 2),
            ('"', '\\') => match rest.as_bytes().get(1)? {
                b'n' => ('\n', 2),
                b't' => ('\t', 2),
                &byte @ (b'"' | b'\\' | b'/') => (char::from(byte), 2),
                b'u' => (char::from_u32(u32::from_str_radix(rest.get(2..6)?, 16).ok()?)?, 6),
                _ => return None,
            },
            (_, other) => (other, other.len_utf8()),
        };
        pieces.push((span.end - quote.len_utf8() - rest.len(), said.to_string()));
        rest = rest.get(length..)?;
    }
    pieces.push((span.end - quote.len_utf8(), String::new()));
    Some(pieces)
}

/// The lines of a literal block with their positions; `None` if lines were folded.
fn lines(source: &Source, span: Span, text: &str) -> Option<Vec<(usize, String)>> {
    let mut at = span.start;
    let mut pieces = Vec::new();
    let below = source.slice(span).split_inclusive('\n').skip(1);
    at += source.slice(span).find('\n').map_or(0, |newline| newline + 1);
    for (line, said) in below.zip(text.split_inclusive('\n')) {
        let bare = line.trim_end_matches(['\n', '\r']);
        let indent = bare.strip_suffix(said.trim_end_matches('\n'))?.len();
        pieces.push((at + indent, said.to_owned()));
        at += line.len();
    }
    Some(pieces)
}
