//! The spellings in which a plan may be written. Each dialect is one entry in [`DIALECTS`] and one file in `dialect/`;
//! nobody else knows how a plan is spelled.

pub mod native;

use crate::change::{Change, Refusal};
use crate::draft::Draft;
use crate::source::{self, Edit, Source};

/// One spelling of plans.
pub struct Dialect {
    /// The name that people use.
    pub name: &'static str,
    /// Whether a file with this text looks like a plan in this dialect. Cheap: it reads the first lines at most.
    pub recognises: fn(&str) -> bool,
    /// Reads a plan. Never fails: what can't be read becomes an oddity or a hole of the draft.
    pub parse: fn(&Source) -> Draft,
    /// Reads only what a list shows: frontmatter, title, and which steps there are with which marks.
    pub skim: fn(&Source) -> Draft,
    /// The edits that make a change; [`Dialect::patch`] is how they are asked for.
    edits: fn(&Source, &Draft, &Change) -> Result<Vec<Edit>, Refusal>,
    /// The text in canonical form; [`Dialect::format`] is how it is asked for.
    canonical: fn(&Source) -> String,
}

impl Dialect {
    /// The edits that make `change` and nothing else.
    ///
    /// Whatever the dialect came up with is applied, read again and compared with what the change means: a file in which
    /// the edit would be read in any other way is left alone.
    pub fn patch(&self, source: &Source, change: &Change) -> Result<Vec<Edit>, Refusal> {
        self.patch_all(source, std::slice::from_ref(change))
    }

    /// The edits that make several changes at once, none of which may touch what another one does.
    pub fn patch_all(&self, source: &Source, changes: &[Change]) -> Result<Vec<Edit>, Refusal> {
        let before = (self.parse)(source);
        let mut meant = before.clone();
        let mut edits = Vec::new();
        for change in changes {
            change.apply(&mut meant)?;
            edits.extend((self.edits)(source, &before, change)?);
        }
        let after = (self.parse)(&Source::new(source.name(), source::apply(source.text(), &edits)));
        if after == meant {
            Ok(edits)
        } else {
            Err(Refusal::WouldChangeMore(first_difference(&meant, &after)))
        }
    }

    /// The text of `source` in canonical form. It says the same, or it is refused.
    pub fn format(&self, source: &Source) -> Result<String, Refusal> {
        let text = (self.canonical)(source);
        let before = (self.parse)(source);
        let after = (self.parse)(&Source::new(source.name(), text.as_str()));
        if after == before {
            Ok(text)
        } else {
            Err(Refusal::WouldChangeMore(first_difference(&before, &after)))
        }
    }
}

/// Names the first part in which two drafts differ.
fn first_difference(meant: &Draft, found: &Draft) -> String {
    if meant.frontmatter != found.frontmatter {
        return "the frontmatter would be read in another way".to_owned();
    }
    if meant.steps.len() != found.steps.len() {
        return format!("{} steps would be read where {} are meant", found.steps.len(), meant.steps.len());
    }
    match meant.steps.iter().zip(&found.steps).position(|(meant, found)| meant != found) {
        Some(place) => format!("the step at place {} would be read in another way", place + 1),
        None if meant.notes != found.notes => "the notes would be read in another way".to_owned(),
        None => "the text in front of the steps would be read in another way".to_owned(),
    }
}

/// Every dialect, in the order in which they are tried.
pub const DIALECTS: &[Dialect] = &[native::DIALECT];

/// The dialect of a file with this text; the native one when none recognises it.
pub fn of(text: &str) -> &'static Dialect {
    DIALECTS.iter().find(|dialect| (dialect.recognises)(text)).unwrap_or(&DIALECTS[0])
}
