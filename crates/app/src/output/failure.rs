//! Errors of a command and their layout; the messages come from where the error arose.

use std::error::Error;
use std::fmt::Write as _;

use planwright_engine::api;
use planwright_engine::api::NextCommand;

use super::clean::clean;
use super::exit::Exit;
use super::glyph::{Palette, Tone};

/// The error that a command returns: what failed, on what, because of what, and the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The code that the command ends with.
    pub exit: Exit,
    /// A lowercase fragment that names the act and the thing.
    pub message: String,
    /// What led to it, nearest first.
    pub causes: Vec<String>,
    /// The fix, in words.
    pub hint: Option<String>,
    /// Commands that fix it.
    pub next: Vec<NextCommand>,
}

impl<E> From<E> for Failure
where
    api::Error: From<E>,
{
    fn from(error: E) -> Self {
        let api::Error { kind, message, causes, hint, next } = error.into();
        Self { exit: kind.into(), message, causes, hint, next }
    }
}

impl Failure {
    /// A failure with this message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), causes: Vec::new(), hint: None, next: Vec::new() }
    }

    /// A failure with the message and the causes of `error`.
    pub fn from_error(exit: Exit, error: &dyn Error) -> Self {
        let failure = Self::new(exit, error.to_string());
        match error.source() {
            Some(source) => failure.because(source),
            None => failure,
        }
    }

    /// Adds `error` and everything behind it as causes.
    #[must_use]
    pub fn because(mut self, error: &dyn Error) -> Self {
        let mut cause = Some(error);
        while let Some(error) = cause {
            let text = error.to_string();
            // Some libraries repeat the text of their source.
            if self.causes.last() != Some(&text) {
                self.causes.push(text);
            }
            cause = error.source();
        }
        self
    }

    /// Adds the fix.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a command that gets further.
    #[must_use]
    pub fn next(mut self, next: NextCommand) -> Self {
        self.next.push(next);
        self
    }

    /// The failure as people read it, without its `next:` line.
    pub(super) fn text(&self, palette: Palette) -> String {
        let mut text = format!("{} {}\n", palette.paint(Tone::Bad, "error:"), indented(&self.message));
        let causes = self.causes.iter().map(|cause| ("caused by:", cause));
        let hint = self.hint.iter().map(|hint| ("help:", hint));
        for (word, said) in causes.chain(hint) {
            writeln!(text, "  {} {}", palette.paint(Tone::Strong, word), indented(said))
                .expect("writing to a string cannot fail");
        }
        text
    }
}

fn indented(text: &str) -> String {
    clean(text.trim_end()).replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use std::{fmt, io};

    use super::*;

    #[derive(Debug)]
    struct Unreadable(io::Error);

    impl fmt::Display for Unreadable {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot read plans/x.md")
        }
    }

    impl Error for Unreadable {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_failure_names_its_causes_and_its_way_out() {
        let failure =
            Failure::from_error(Exit::Machine, &Unreadable(io::Error::other("disk\u{1b}[2J gone\nsector 3")))
                .hint("look at the disk");
        insta::assert_snapshot!(failure.text(Palette::PLAIN), @r"
        error: cannot read plans/x.md
          caused by: disk\u{1b}[2J gone
            sector 3
          help: look at the disk
        ");
    }
}
