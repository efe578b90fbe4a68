//! Makes foreign text safe to show: nothing in a plan may control the terminal or reorder text. Never
//! changes what is stored.

use std::borrow::Cow;
use std::fmt::Write as _;

use planwright_engine::api::is_unprintable;

/// Returns `text` with control, bidirectional and invisible characters spelled out (`\u{1b}`). Line breaks and tabs stay; a CRLF
/// becomes LF.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|character| is_unprintable(character) && !matches!(character, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\n' | '\t' => shown.push(character),
            '\r' if rest.peek() == Some(&'\n') => {}
            _ => spell(character, &mut shown),
        }
    }
    Cow::Owned(shown)
}

/// Returns `text` as [`clean`] does, and with line breaks and tabs spelled out too, so that it stays on one line.
pub fn clean_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        spell(character, &mut shown);
    }
    Cow::Owned(shown)
}

fn spell(character: char, shown: &mut String) {
    if is_unprintable(character) {
        escape(character, shown);
    } else {
        shown.push(character);
    }
}

/// Appends `\u{…}`.
pub(super) fn escape(character: char, shown: &mut String) {
    write!(shown, "\\u{{{:x}}}", u32::from(character)).expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_sequence_becomes_text() {
        assert_eq!(clean("a\u{1b}[31mred\u{7}\u{9b}2J"), "a\\u{1b}[31mred\\u{7}\\u{9b}2J");
    }

    #[test]
    fn reordering_and_invisible_characters_become_text() {
        assert_eq!(
            clean("ok\u{202e}lave\u{2066}\u{200b}\u{feff}\u{e0041}"),
            "ok\\u{202e}lave\\u{2066}\\u{200b}\\u{feff}\\u{e0041}"
        );
    }

    #[test]
    fn lines_and_tabs_stay_in_text_and_are_spelled_out_on_a_line() {
        assert_eq!(clean("a\tb\r\nc\rd\n"), "a\tb\nc\\u{d}d\n");
        assert_eq!(clean_line("a\tb\r\n"), "a\\u{9}b\\u{d}\\u{a}");
    }

    #[test]
    fn ordinary_writing_is_not_even_copied() {
        for text in ["naïve ✅ 漢字 👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم", ""] {
            assert!(matches!(clean(text), Cow::Borrowed(same) if same == text));
            assert!(matches!(clean_line(text), Cow::Borrowed(same) if same == text));
        }
    }
}
