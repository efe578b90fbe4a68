//! Changes of a plan and nothing else in its file. Marks and status cannot be edited: planwright writes them from what was
//! proven.

use planwright_core::dialect::{Dialect, PlanEvent, detect};
use planwright_core::plan::draft::Draft;
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::verified;
use planwright_core::syntax::count::counted;
use planwright_core::syntax::source::{Detection, Source};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::{Error, ErrorKind, unchanged};
use crate::api::plan::{Plan, find_step};
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::system::clock;

/// A change that is asked for, before it is known which step is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditRequest {
    /// A new id for a step.
    Rename(String, String),
    /// A step needs another.
    Need(String, String),
    /// A step moves to a position, from 1.
    Move(String, String),
    Renumber,
    /// A template step becomes one step for each of these.
    Expand(String, Vec<String>),
    /// A key of the frontmatter gets a value.
    Set(String, String),
    Note(String),
}

/// Whether an edit is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditMode {
    Write,
    DryRun,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct EditView {
    pub path: String,
    /// What was done, in words.
    pub changes: Vec<String>,
    pub bytes_removed: usize,
    pub bytes_added: usize,
    /// Whether the file was written.
    pub written: bool,
    /// The plan as it would be, where nothing was to be written.
    pub text: Option<String>,
}

impl Plan {
    /// Applies the edits in this order. Writes only if the file has not changed meanwhile.
    pub fn edit(&self, requests: &[EditRequest], mode: EditMode) -> Result<EditView, Error> {
        self.require_plan()?;
        let old = self.source();
        refuse_other_dialect(old)?;
        let (mut bytes_removed, mut bytes_added) = (0, 0);
        let mut changes = Vec::new();
        let mut new = old.clone();
        for request in requests {
            let parsed = (!changes.is_empty()).then(|| parse(&new));
            let draft = parsed.as_ref().unwrap_or_else(|| self.draft());
            let (change, words) = request.change(draft, &self.shown(), old.dialect())?;
            let patched = old.dialect().patch(&new, &change);
            let edits = patched.map_err(|refusal| unchanged(self.path(), &refusal))?;
            bytes_removed += edits.iter().map(|edit| edit.span.len()).sum::<usize>();
            bytes_added += edits.iter().map(|edit| edit.text.len()).sum::<usize>();
            new = new.edited(&edits);
            changes.push(words);
        }
        let written = mode == EditMode::Write && new.text() != old.text();
        if written {
            plan_file::save(self.path(), old, &plan_file::move_overflow(self.path(), &new)?)?;
        }
        if mode == EditMode::Write {
            self.note_in_sidecars(requests, &new)?;
        }
        let text = (mode == EditMode::DryRun).then(|| new.text().to_owned());
        Ok(EditView { path: self.shown(), changes, bytes_removed, bytes_added, written, text })
    }

    /// Some dialects keep what is noted in a file of its own.
    fn note_in_sidecars(&self, requests: &[EditRequest], plan: &Source) -> Result<(), Error> {
        if !plan.dialect().has_sidecars() {
            return Ok(());
        }
        let draft = parse(plan);
        let at = clock::utc_now();
        for request in requests {
            let EditRequest::Note(text) = request else { continue };
            for beside in plan.dialect().beside(plan, &draft, &PlanEvent::Noted { text, at: &at }) {
                plan_file::keep(self.path(), &beside)?;
            }
        }
        Ok(())
    }
}

/// Refuses to write another dialect's keys into the plan.
fn refuse_other_dialect(plan: &Source) -> Result<(), Error> {
    let told = detect(plan.place(), plan.text()).ok().filter(|told| told.dialect != plan.dialect());
    let Some(told) = told.filter(|_| *plan.told() == Detection::Forced) else { return Ok(()) };
    let message = format!("{} is written in dialect {} ({})", plan.name(), told.dialect.name, told.because);
    Err(Error::new(ErrorKind::Usage, message).hint("omit --dialect; nothing was written"))
}

impl EditRequest {
    /// The change of this draft, and its description.
    fn change(&self, draft: &Draft, path: &str, dialect: &Dialect) -> Result<(PlanEdit, String), Error> {
        let step = |name: &str| find_step(draft, name, path);
        Ok(match self {
            Self::Rename(name, id) => {
                if verified::slug(id) != *id {
                    let hint = format!("use lowercase letters, digits and dashes: `{}`", verified::slug(id));
                    return Err(Error::new(ErrorKind::Usage, format!("invalid id `{id}`")).hint(hint));
                }
                let change = PlanEdit::Rename { step: step(name)?, id: id.clone() };
                (change, format!("step {name} renamed to `{id}`"))
            }
            Self::Need(name, on) => {
                let on = verified::ids(draft).swap_remove(step(on)?);
                let words = format!("step {name} now needs `{on}`");
                (PlanEdit::Need { step: step(name)?, on }, words)
            }
            Self::Move(name, place) => {
                let to = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
                let to = to.ok_or_else(|| {
                    let message = format!("invalid position `{place}`: positions start at 1");
                    Error::new(ErrorKind::Usage, message)
                })?;
                (PlanEdit::Move { step: step(name)?, to }, format!("step {name} moved to position {place}"))
            }
            Self::Renumber => (PlanEdit::Renumber, "steps renumbered".to_owned()),
            Self::Expand(name, items) => {
                let words = format!("step {name} expanded into {}", counted(items.len(), "step", "steps"));
                (PlanEdit::Expand { step: step(name)?, items: items.clone() }, words)
            }
            Self::Set(key, value) => set(key, value, dialect)?,
            Self::Note(text) => (PlanEdit::Note { text: text.clone() }, format!("note added: {text}")),
        })
    }
}

fn set(key: &str, value: &str, dialect: &Dialect) -> Result<(PlanEdit, String), Error> {
    let key = match (key, dialect.title_key) {
        ("status", _) => {
            return Err(Error::new(ErrorKind::NeedsPerson, "the status of a plan cannot be set by hand")
                .hint("it mirrors what was checked, approved and run; planwright writes it"));
        }
        ("title", None) => {
            return Err(Error::new(ErrorKind::Refused, "this plan's title is its heading, not a key")
                .hint("change the heading in the file"));
        }
        ("title", Some(key)) | (key, _) => key,
    };
    let change = PlanEdit::Set { key: key.to_owned(), value: value.to_owned() };
    Ok((change, format!("{key} set to `{value}`")))
}
