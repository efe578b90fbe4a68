//! Tells in which dialect a plan is written, by what it says and where it lies. Never guesses: what looks like none is told
//! what it lacks for each.

use super::{DIALECTS, Dialect, HEAD_BYTES};

/// A dialect and by what it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    pub dialect: &'static Dialect,
    /// By what: `PLAN.md in .harness/`.
    pub because: String,
}

/// A text that looks like no dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlike;

/// The dialect of a plan at this place with this text.
pub fn detect(place: &str, text: &str) -> Result<Detected, Unlike> {
    let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
    let recognised =
        |dialect: &&'static Dialect| Some(Detected { dialect, because: (dialect.recognises)(place, head)? });
    DIALECTS.iter().find_map(recognised).ok_or(Unlike)
}

/// The dialect with this name.
pub fn named(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name == name)
}
