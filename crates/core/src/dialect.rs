//! The spellings in which a plan may be written. Each dialect is one entry in [`DIALECTS`] and one file in `dialect/`;
//! nobody else knows how a plan is spelled.

pub mod convert;
pub mod frontmatter;
pub mod import;
pub mod merge;
pub mod template;
mod detect;
pub mod directory;
pub mod named;
pub mod native;
mod needs;
mod order;
pub mod proposal;
pub mod record;
mod verification;

pub use detect::{Detected, Unlike, detect, named};

use std::fmt;

use crate::plan::draft::{Draft, Field, Mark};
use crate::plan::edit::{Change, Refusal};
use crate::plan::lifecycle::State;
use crate::syntax::source::{Edit, Source};

/// One spelling of plans.
pub struct Dialect {
    /// The name that people use.
    pub name: &'static str,
    /// What plans of this dialect are, in a line that says how one is told from the others.
    pub summary: &'static str,
    /// Whether a plan at this place, with this beginning, is written in this dialect, and by what it is told:
    /// `PLAN.md in .harness/`. Cheap: it sees the first [`HEAD_BYTES`] at most.
    pub recognises: fn(place: &str, head: &str) -> Option<String>,
    /// Reads a plan. Never fails: what can't be read becomes an oddity or a hole of the draft.
    pub parse: fn(&Source) -> Draft,
    /// Reads only what a list shows: frontmatter, title, and which steps there are with which marks.
    pub skim: fn(&Source) -> Draft,
    /// Every word for a state of a plan, the usual one first where a state has several.
    pub states: &'static [(&'static str, State)],
    /// The word for a state; `None` where plans of this dialect say nothing of their state.
    pub spell: fn(State) -> Option<&'static str>,
    /// The marks that a step can carry.
    pub marks: &'static [Mark],
    /// Whether plans hold traces of the execution of their steps; see [`crate::plan::draft::Trace`].
    pub has_traces: bool,
    /// The key of the frontmatter that holds the title, where one does.
    pub title_key: Option<&'static str>,
    /// The keys that the frontmatter may have.
    pub keys: &'static [&'static str],
    /// The fields that a step may have, with the names that each goes by, the usual one first.
    pub fields: &'static [(Field, &'static [&'static str])],
    /// Whether a key or a field that is not among them is an error, rather than kept with a warning.
    pub is_strict: bool,
    /// The keys that the harness writes: they are no part of what the author says.
    pub owned: &'static [&'static str],
    /// The edits that make a change; [`Dialect::patch`] is how they are asked for.
    edits: fn(&Source, &Draft, &Change) -> Result<Vec<Edit>, Refusal>,
    /// What every write adds to a text that is about to be written: versions, times, the step that is next.
    touch: fn(&Source, now: &str) -> Vec<Edit>,
    /// Where a new plan with this name goes and what it is called there; `chance` are eight letters and digits that no other
    /// plan has.
    pub home: fn(name: &str, chance: &str) -> Home,
    /// The text in canonical form; [`Dialect::format`] is how it is asked for.
    canonical: fn(&Source) -> String,
    /// A new text that says what the draft says, as far as the dialect can.
    compose: fn(&Draft, &Birth<'_>) -> String,
    /// What is written beside the plan when something happens to it.
    beside: fn(&Source, &Draft, &Happening<'_>) -> Vec<Beside>,
}

/// The place of a new plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// What the plan is called: the name that is not its path.
    pub id: String,
    /// Its file or folder, below the root of the project.
    pub path: String,
}

/// What a text that is made anew says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Birth<'a> {
    /// A name that no other plan has: `PLAN-a1b2c3d4`, or the words that the file is called by.
    pub id: &'a str,
    /// The time, as RFC 3339 has it.
    pub now: &'a str,
}

/// Something that happened to a plan, for the files that some dialects keep beside it.
#[derive(Debug, Clone, Copy)]
pub enum Happening<'a> {
    Noted {
        text: &'a str,
        /// When, as RFC 3339 has it.
        at: &'a str,
    },
    /// The contract of a step was run, or a person confirmed it.
    Judged {
        /// The place of the step.
        step: usize,
        passed: bool,
        /// What came out, in one line.
        summary: &'a str,
        at: &'a str,
    },
    /// The plan came to another state.
    Became { state: State, at: &'a str },
}

/// Something to be written beside a plan. Paths are relative to the folder that the plan lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beside {
    /// A line at the end of a file that only grows.
    Append {
        path: String,
        /// The line, without its ending.
        line: String,
    },
    /// Keys at the top level of a YAML file; everything else in it stays.
    Set { path: String, values: Vec<(String, String)> },
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dialect({})", self.name)
    }
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Dialect {}

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
            self.can_say(change)?;
            change.apply(&mut meant)?;
            self.retitle(change, &mut meant);
            edits.extend((self.edits)(source, &before, change)?);
        }
        if changes.iter().any(|change| matches!(change, Change::Become { .. })) {
            meant.state =
                meant.state.and_then(|state| self.read_back(state.value)).map(crate::plan::edit::unplaced);
        }
        let mut after = (self.parse)(&source.edited(&edits));
        self.drop_owned(&mut meant);
        self.drop_owned(&mut after);
        if after == meant {
            Ok(edits)
        } else {
            Err(Refusal::WouldChangeMore(first_difference(&meant, &after)))
        }
    }

    /// A title that is the value of a key changes with it.
    fn retitle(&self, change: &Change, meant: &mut Draft) {
        if let Change::Set { key, value } = change
            && Some(key.as_str()) == self.title_key
        {
            meant.title = Some(crate::plan::edit::unplaced(value.clone()));
        }
        // Some dialects have a key for what others say in a line of its own.
        if let Change::Set { key, value } = change
            && key == "priority"
            && self.keys.contains(&"priority")
        {
            meant.priority = Some(crate::plan::edit::unplaced(value.clone()));
        }
    }

    /// Refuses a mark that steps of this dialect can't carry, and a key that is not the author's.
    fn can_say(&self, change: &Change) -> Result<(), Refusal> {
        match change {
            Change::Mark { mark: Some(mark), .. } if !self.marks.contains(mark) => {
                Err(Refusal::NoWord { what: mark.word().to_owned(), dialect: self.name })
            }
            Change::Set { key, .. } if self.owned.contains(&key.as_str()) => {
                Err(Refusal::Owned { key: key.clone() })
            }
            Change::Mark { .. }
            | Change::Become { .. }
            | Change::Trace { .. }
            | Change::Set { .. }
            | Change::Note { .. }
            | Change::Rename { .. }
            | Change::Need { .. }
            | Change::Move { .. }
            | Change::Renumber
            | Change::Append { .. }
            | Change::Expand { .. } => Ok(()),
        }
    }

    /// Whether this is the dialect of everything that does not say otherwise.
    pub fn is_native(&self) -> bool {
        self == NATIVE
    }

    /// The state that is read where this one was written: several states may share a word.
    pub fn read_back(&self, state: State) -> Option<State> {
        self.state((self.spell)(state)?)
    }

    /// The state that a word means.
    pub fn state(&self, word: &str) -> Option<State> {
        self.states.iter().find(|(known, _)| *known == word).map(|&(_, state)| state)
    }

    /// What every write adds to a text that is about to be written.
    pub fn touched(&self, source: &Source, now: &str) -> Source {
        source.edited(&(self.touch)(source, now))
    }

    /// A new text that says what the draft says, as far as this dialect can.
    pub fn compose(&self, draft: &Draft, birth: &Birth<'_>) -> String {
        (self.compose)(draft, birth)
    }

    /// What is to be written beside the plan now that this has happened.
    pub fn beside(&self, source: &Source, draft: &Draft, happening: &Happening<'_>) -> Vec<Beside> {
        (self.beside)(source, draft, happening)
    }

    /// What the author says: the draft without states, marks, notes and all else that the harness writes.
    pub fn meaning(&self, source: &Source) -> Draft {
        let mut draft = (self.parse)(source);
        self.drop_owned(&mut draft);
        draft.state = None;
        draft.notes.clear();
        draft.steps.iter_mut().for_each(|step| step.marks.clear());
        draft
    }

    fn drop_owned(&self, draft: &mut Draft) {
        draft.frontmatter.entries.retain(|entry| !self.owned.contains(&entry.key.value.as_str()));
    }

    /// The text of `source` in canonical form. It says the same, or it is refused.
    pub fn format(&self, source: &Source) -> Result<String, Refusal> {
        let text = (self.canonical)(source);
        let before = (self.parse)(source);
        let after = (self.parse)(&source.with(text.as_str()));
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
    if meant.state != found.state {
        return "the status would be read in another way".to_owned();
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

/// How many bytes of a file are looked at to tell its dialect.
pub const HEAD_BYTES: usize = 4096;

/// The dialect of everything that does not say otherwise.
pub const NATIVE: &Dialect = &native::DIALECT;

/// Every dialect, in the order in which they are tried.
pub const DIALECTS: &[&Dialect] =
    &[NATIVE, &directory::DIALECT, &proposal::DIALECT, &record::DIALECT, &named::DIALECT];
