//! The file formats for plans. Each dialect is one entry in [`DIALECTS`] and one file in `dialect/`; no other module
//! knows how a plan is written.

pub mod convert;
pub mod frontmatter;
pub mod import;
pub mod merge;
pub mod template;
mod detect;
mod document;
pub mod directory;
mod label;
pub mod named;
pub mod native;
mod patch;
pub mod proposal;
pub mod record;
mod verification;

pub use detect::{Detected, Unlike, detect, named};

use std::fmt;

use crate::plan::draft::{Draft, DraftField, Layout, Mark, ParseIssue};
use crate::plan::edit::{EditError, PlanEdit};
use crate::plan::lifecycle::PlanState;
use crate::syntax::markdown::Blocks;
use crate::syntax::source::{Edit, Source, Spanned};

/// One file format for plans.
pub struct Dialect {
    pub name: &'static str,
    /// One line that describes the dialect and how it is detected.
    pub summary: &'static str,
    /// Whether a file with this path and text is in this dialect, and the evidence: `PLAN.md in .harness/`.
    pub recognises: fn(place: &str, text: &str) -> Option<String>,
    /// Parses a plan. Never fails: invalid parts become oddities or gaps of the draft.
    pub parse: fn(&Source) -> Draft,
    /// Parses only what a list shows: frontmatter, title, steps and their marks.
    pub skim: fn(&Source) -> Draft,
    /// Every spelling of a plan's state, the preferred one first.
    pub states: &'static [(&'static str, PlanState)],
    /// The spelling of a state; `None` if the dialect doesn't record it.
    pub spell: fn(PlanState) -> Option<&'static str>,
    /// The marks that a step can have.
    pub marks: &'static [Mark],
    /// Whether plans record the execution of their steps; see [`crate::plan::draft::Trace`].
    pub has_traces: bool,
    /// The frontmatter key with the title, if any.
    pub title_key: Option<&'static str>,
    /// The known frontmatter keys.
    pub keys: &'static [&'static str],
    /// The known fields of a step with their names, the preferred one first.
    pub fields: &'static [(DraftField, &'static [&'static str])],
    /// Whether an unknown key or field is an error instead of a warning.
    pub is_strict: bool,
    /// The keys that planwright writes, which are not part of the author's text.
    pub owned: &'static [&'static str],
    /// The edits for a change; call [`Dialect::patch`] instead.
    edits: fn(&Source, &Draft, &PlanEdit) -> Result<Vec<Edit>, EditError>,
    /// Added on every write: versions, times, the next step.
    touch: fn(&Source, now: &str) -> Vec<Edit>,
    /// The path and name of a new plan; `chance` is eight letters and digits that no other plan has.
    pub home: fn(name: &str, chance: &str) -> PlanLocation,
    /// The canonical text; call [`Dialect::format`] instead.
    canonical: fn(&Source) -> String,
    /// A new text with the meaning of the draft, as far as the dialect supports it.
    compose: fn(&Draft, &NewPlan<'_>) -> String,
    /// Records to write next to the plan after an event.
    beside: Option<SidecarWriter>,
    /// What is too large for the plan file and moves to sidecar files; `None` if everything fits.
    pub overflow: fn(&Source) -> Option<proposal::Overflow>,
}

/// The location of a new plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLocation {
    /// The name of the plan, which is not its path.
    pub id: String,
    /// File or directory, relative to the project root.
    pub path: String,
}

/// Facts that a new text contains about itself.
#[derive(Debug, Clone, Copy)]
pub struct NewPlan<'a> {
    /// Unique: `PLAN-a1b2c3d4`, or the words of the file name.
    pub id: &'a str,
    /// RFC 3339.
    pub now: &'a str,
}

/// An event in the life of a plan, for files that some dialects keep next to it.
#[derive(Debug, Clone, Copy)]
pub enum PlanEvent<'a> {
    Noted {
        text: &'a str,
        /// RFC 3339.
        at: &'a str,
    },
    /// A contract finished, or a person confirmed the step.
    Judged {
        /// The position of the step.
        step: usize,
        passed: bool,
        /// The outcome in one line.
        summary: &'a str,
        at: &'a str,
    },
    /// The plan changed its state.
    Became { state: PlanState, at: &'a str },
}

/// What a dialect writes next to a plan when something happens to it.
type SidecarWriter = fn(&Source, &Draft, &PlanEvent<'_>) -> Vec<SidecarEdit>;

/// A write next to the plan. Paths are relative to the plan's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SidecarEdit {
    /// Appends a line to a file.
    Append {
        path: String,
        /// Without line ending.
        line: String,
    },
    /// Sets top-level keys of a YAML file; everything else in it stays.
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
    /// The edits of the dialect are applied, parsed again and compared with the meaning of the change. If the result
    /// differs, the change is refused and the file stays as it is.
    pub fn patch(&self, source: &Source, change: &PlanEdit) -> Result<Vec<Edit>, EditError> {
        self.patch_all(source, std::slice::from_ref(change))
    }

    /// The edits for several changes, none of which may overlap.
    pub fn patch_all(&self, source: &Source, changes: &[PlanEdit]) -> Result<Vec<Edit>, EditError> {
        let before = (self.parse)(source);
        let mut meant = before.clone();
        let mut edits = Vec::new();
        for change in changes {
            self.can_say(change)?;
            change.apply(&mut meant)?;
            self.retitle(change, &mut meant);
            edits.extend((self.edits)(source, &before, change)?);
        }
        if changes.iter().any(|change| matches!(change, PlanEdit::Become { .. })) {
            meant.state =
                meant.state.and_then(|state| self.read_back(state.value)).map(crate::plan::edit::unplaced);
        }
        let mut after = (self.parse)(&source.edited(&edits));
        self.drop_owned(&mut meant);
        self.drop_owned(&mut after);
        if after == meant {
            Ok(edits)
        } else {
            Err(EditError::WouldChangeMore(first_difference(&meant, &after)))
        }
    }

    /// If the title is a frontmatter key, it changes with the key.
    fn retitle(&self, change: &PlanEdit, meant: &mut Draft) {
        if let PlanEdit::Set { key, value } = change
            && Some(key.as_str()) == self.title_key
        {
            meant.title = Some(crate::plan::edit::unplaced(value.clone()));
        }
        // Some dialects have a key for what others write on a separate line.
        if let PlanEdit::Set { key, value } = change
            && key == "priority"
            && self.keys.contains(&"priority")
        {
            meant.priority = Some(crate::plan::edit::unplaced(value.clone()));
        }
    }

    /// Refuses a mark that the dialect doesn't support, and a key that is not the author's.
    fn can_say(&self, change: &PlanEdit) -> Result<(), EditError> {
        if let PlanEdit::Mark { mark: Some(mark), .. } = change
            && !self.marks.contains(mark)
        {
            return Err(self.no_word(mark.word()));
        }
        if let PlanEdit::Set { key, .. } = change
            && self.owned.contains(&key.as_str())
        {
            return Err(EditError::Owned { key: key.clone() });
        }
        Ok(())
    }

    /// The refusal of something that the dialect has no way to write.
    fn no_word(&self, what: &str) -> EditError {
        EditError::NoWord { what: what.to_owned(), dialect: self.name }
    }

    /// Whether this is the default dialect.
    pub fn is_native(&self) -> bool {
        self == NATIVE
    }

    /// The state that is read back after this one was written: several states may share a spelling.
    pub fn read_back(&self, state: PlanState) -> Option<PlanState> {
        self.state((self.spell)(state)?)
    }

    pub fn state(&self, word: &str) -> Option<PlanState> {
        self.states.iter().find(|(known, _)| *known == word).map(|&(_, state)| state)
    }

    /// Copies the status as written, and the state that it claims, into a draft.
    fn claim(&self, status: Option<Spanned<String>>, draft: &mut Draft) {
        let state = status.as_ref().and_then(|word| Some(Spanned::new(self.state(&word.value)?, word.span)));
        (draft.state, draft.status) = (state, Layout(status));
    }

    /// The additions that belong to every write.
    pub fn touched(&self, source: &Source, now: &str) -> Source {
        source.edited(&(self.touch)(source, now))
    }

    /// A new text with the meaning of the draft, as far as this dialect supports it.
    pub fn compose(&self, draft: &Draft, birth: &NewPlan<'_>) -> String {
        (self.compose)(draft, birth)
    }

    /// The records to write next to the plan after this event.
    pub fn beside(&self, source: &Source, draft: &Draft, happening: &PlanEvent<'_>) -> Vec<SidecarEdit> {
        self.beside.map(|write| write(source, draft, happening)).unwrap_or_default()
    }

    /// Whether anything is ever written next to its plans.
    pub fn has_sidecars(&self) -> bool {
        self.beside.is_some()
    }

    /// The files next to a plan that planwright writes to while it runs, relative to the plan's directory.
    pub fn sidecars(&self, source: &Source) -> Vec<String> {
        let (draft, at) = (source.draft(), "");
        let happenings = [
            PlanEvent::Noted { text: "", at },
            PlanEvent::Judged { step: 0, passed: true, summary: "", at },
            PlanEvent::Became { state: PlanState::Running, at },
        ];
        let written = happenings.iter().flat_map(|happening| self.beside(source, &draft, happening));
        let mut paths: Vec<String> = written
            .map(|edit| match edit {
                SidecarEdit::Append { path, .. } | SidecarEdit::Set { path, .. } => path,
            })
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The draft without states, marks, notes and everything else that planwright writes.
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

    /// The canonical text of `source`. Refused if its meaning would change.
    pub fn format(&self, source: &Source) -> Result<String, EditError> {
        let text = (self.canonical)(source);
        let before = (self.parse)(source);
        let after = (self.parse)(&source.with(text.as_str()));
        if after == before {
            Ok(text)
        } else {
            Err(EditError::WouldChangeMore(first_difference(&before, &after)))
        }
    }
}

/// The fences that are never closed.
fn unclosed(blocks: &Blocks) -> impl Iterator<Item = Spanned<ParseIssue>> + '_ {
    blocks.unclosed.iter().map(|&span| Spanned::new(ParseIssue::UnclosedFence, span))
}

/// The issues of a draft, in file order.
fn in_order(mut issues: Vec<Spanned<ParseIssue>>) -> Layout<Vec<Spanned<ParseIssue>>> {
    issues.sort_by_key(|issue| issue.span.start);
    Layout(issues)
}

/// Describes the first difference between two drafts.
fn first_difference(meant: &Draft, found: &Draft) -> String {
    if meant.frontmatter != found.frontmatter {
        return "the frontmatter would be read differently".to_owned();
    }
    if meant.state != found.state {
        return "the status would be read differently".to_owned();
    }
    if meant.steps.len() != found.steps.len() {
        return format!(
            "the number of steps would be {} instead of {}",
            found.steps.len(),
            meant.steps.len()
        );
    }
    match meant.steps.iter().zip(&found.steps).position(|(meant, found)| meant != found) {
        Some(place) => format!("step {} would be read differently", place + 1),
        None if meant.notes != found.notes => "the notes would be read differently".to_owned(),
        None => "the text before the steps would be read differently".to_owned(),
    }
}

/// The default dialect.
pub const NATIVE: &Dialect = &native::DIALECT;

/// Every dialect, in detection order.
pub const DIALECTS: &[&Dialect] =
    &[NATIVE, &directory::DIALECT, &proposal::DIALECT, &record::DIALECT, &named::DIALECT];
