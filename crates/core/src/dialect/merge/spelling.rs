//! Editor artifacts: line endings, byte order mark, final newline. Removed before a merge and restored after it.

use std::collections::BTreeMap;

use crate::syntax::source::{FILE_SEPARATOR, Source};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// How a file is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Saved {
    has_mark: bool,
    is_crlf: bool,
    is_ended: bool,
}

/// How to save every file of the merged text, by path.
#[derive(Debug)]
pub(super) struct Spelling(BTreeMap<String, Saved>);

/// The three texts with LF line endings, and how to restore the merged one.
pub(super) fn plain(sources: [&Source; 3]) -> ([Source; 3], Spelling) {
    let saved: [BTreeMap<String, Saved>; 3] = sources.map(|source| {
        source.parts().iter().map(|part| (part.path.clone(), saved(source.slice(part.span)))).collect()
    });
    let mut spelling = BTreeMap::new();
    for path in saved.iter().flat_map(BTreeMap::keys) {
        let sides = saved.each_ref().map(|saved| saved.get(path));
        let one = |fact: fn(&Saved) -> bool| match sides.map(|side| side.map(fact)) {
            [Some(base), Some(ours), Some(theirs)] => {
                if ours == base {
                    theirs
                } else {
                    ours
                }
            }
            [_, Some(one), None] | [_, None, Some(one)] | [Some(one), None, None] => one,
            [None, Some(ours), Some(theirs)] => ours || theirs,
            [None, None, None] => true,
        };
        let merged = Saved {
            has_mark: one(|saved| saved.has_mark),
            is_crlf: one(|saved| saved.is_crlf),
            is_ended: one(|saved| saved.is_ended),
        };
        spelling.insert(path.clone(), merged);
    }
    (sources.map(unspelled), Spelling(spelling))
}

fn saved(text: &str) -> Saved {
    let newlines = text.matches('\n').count();
    Saved {
        has_mark: text.starts_with(BYTE_ORDER_MARK),
        // With mixed line endings, every line keeps its own.
        is_crlf: newlines > 0 && text.matches("\r\n").count() == newlines,
        is_ended: text.is_empty() || text.ends_with('\n'),
    }
}

fn unspelled(source: &Source) -> Source {
    let plain = |text: &str| {
        let saved = saved(text);
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let text = if saved.is_crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
        if saved.is_ended { text } else { text + "\n" }
    };
    if !source.text().starts_with(FILE_SEPARATOR) {
        return source.with(plain(source.text()));
    }
    let files: Vec<(&str, String)> =
        source.parts().iter().map(|part| (part.path.as_str(), plain(source.slice(part.span)))).collect();
    source.with(Source::bundle(files.iter().map(|(path, text)| (*path, text.as_str()))))
}

impl Spelling {
    /// The merged text as the files were saved.
    pub(super) fn restore(&self, text: &str) -> String {
        let merged = Source::new("merged", text);
        let respelled = |path: &str, text: &str| match self.0.get(path) {
            Some(saved) => respelled(text, *saved),
            None => text.to_owned(),
        };
        if !text.starts_with(FILE_SEPARATOR) {
            return respelled("", text);
        }
        let files: Vec<(&str, String)> = merged
            .parts()
            .iter()
            .map(|part| (part.path.as_str(), respelled(&part.path, merged.slice(part.span))))
            .collect();
        Source::bundle(files.iter().map(|(path, text)| (*path, text.as_str())))
    }
}

fn respelled(text: &str, saved: Saved) -> String {
    let text = if saved.is_ended { text } else { text.strip_suffix('\n').unwrap_or(text) };
    let text = if saved.is_crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
    if saved.has_mark { format!("{BYTE_ORDER_MARK}{text}") } else { text }
}
