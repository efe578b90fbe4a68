//! A text as a plan: the dialect that it is written in, and what it says. [`Source`] itself only keeps the dialect's name.

use super::{Dialect, NATIVE, Unlike, detect, named};
use crate::plan::draft::Draft;
use crate::syntax::source::{Detection, Source};

impl Source {
    /// The same text in this dialect.
    #[must_use]
    pub fn written_in(self, dialect: &'static Dialect) -> Self {
        self.in_language(dialect.name)
    }

    /// The same text in the given dialect, or in the detected one.
    #[must_use]
    pub fn recognised(self, forced: Option<&'static Dialect>) -> Self {
        let (dialect, told) = match (forced, detect(self.place(), self.text())) {
            (Some(forced), _) => (forced, Detection::Forced),
            (None, Ok(detected)) => (detected.dialect, Detection::By(detected.because)),
            (None, Err(Unlike)) => (NATIVE, Detection::Nothing),
        };
        self.written_in(dialect).detected(told)
    }

    /// Its dialect; the default one if none was named.
    pub fn dialect(&self) -> &'static Dialect {
        self.language().and_then(named).unwrap_or(NATIVE)
    }

    pub fn draft(&self) -> Draft {
        (self.dialect().parse)(self)
    }
}
