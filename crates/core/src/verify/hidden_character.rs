//! PW0113: characters that a reviewer can't see, but an agent or a shell receives.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::invisible::{JOINER, kind};
use crate::syntax::source::{Edit, Span};

pub(super) const RULE: Rule = Rule {
    code: "PW0113",
    name: "hidden-character",
    severity: Severity::Error,
    summary: "a bidirectional, zero-width or control character in the text",
    page: include_str!("../../rules/hidden-character.md"),
    check,
};

/// A file with more hidden characters than this is probably binary; further diagnostics would only be noise.
const COMPLAINTS_MAX: usize = 20;

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let text = subject.source.text();
    // Checked per file: the separator between the files of a directory plan is itself a control character.
    let parts = subject.source.parts().iter().map(|part| part.span);
    let hidden = parts.flat_map(|part| {
        let characters = text[part.start..part.end].char_indices();
        characters.map(move |(at, character)| (part.start + at, character)).filter(move |&(at, character)| {
            let is_mark_of_file = at == part.start && character == '\u{feff}';
            !is_mark_of_file && kind(character).is_some() && !(character == JOINER && joins_emoji(text, at))
        })
    });
    for (at, character) in hidden.take(COMPLAINTS_MAX) {
        let span = Span::new(at, at + character.len_utf8());
        let what = kind(character).unwrap_or_default();
        let hidden = RULE
            .at(span, format!("hidden {what} (U+{:04X})", u32::from(character)))
            .label("invisible to readers, visible to agents");
        found.push(match subject.contracts().any(|contract| contract.command.span.covers(span)) {
            true => hidden.help("remove it by hand; a fix never changes a contract"),
            false => hidden.fix("remove it", vec![Edit::delete(span)]),
        });
    }
}

/// Families, flags and professions are emoji joined by a zero-width joiner.
fn joins_emoji(text: &str, at: usize) -> bool {
    let is_picture = |character: char| matches!(u32::from(character), 0x2190..=0x2bff | 0xfe0f | 0x1f000..=0x1faff);
    let before = text[..at].chars().next_back();
    let after = text[at + JOINER.len_utf8()..].chars().next();
    before.is_some_and(is_picture) && after.is_some_and(is_picture)
}
