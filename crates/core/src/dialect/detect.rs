//! Detects the dialect of a plan by its content and path. Never guesses: for an undetected file, PW0116 lists what each
//! dialect requires.

use super::{DIALECTS, Dialect};

/// A dialect and the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    pub dialect: &'static Dialect,
    /// Such as `PLAN.md in .harness/`.
    pub because: String,
}

/// No dialect was detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlike;

/// The dialect of a plan with this path and text.
pub fn detect(place: &str, text: &str) -> Result<Detected, Unlike> {
    let recognised =
        |dialect: &&'static Dialect| Some(Detected { dialect, because: (dialect.recognises)(place, text)? });
    DIALECTS.iter().find_map(recognised).ok_or(Unlike)
}

pub fn named(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name == name)
}
