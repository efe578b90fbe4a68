//! The edits that planwright makes to a plan file, as data. What each does to the meaning stands here, once, for all
//! dialects; which bytes it takes is the dialect's business.

use crate::draft::{Draft, Entry, Mark, StepDraft, StepNumber};
use crate::source::{Span, Spanned};

/// One change to a plan. Steps are named by their place in the file, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets what a step's heading claims, or takes the claim away.
    Mark {
        /// The step.
        step: usize,
        /// The claim.
        mark: Option<Mark>,
    },
    /// Sets a key of the frontmatter to a one-line value.
    Set {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// Adds a one-line note to the end of the plan.
    Note {
        /// What it says.
        text: String,
    },
    /// Gives a step another id; everything that needs it follows.
    Rename {
        /// The step.
        step: usize,
        /// The new id.
        id: String,
    },
    /// Lets a step wait for one more. A step that declared nothing goes on waiting for all that it waited for.
    Need {
        /// The step.
        step: usize,
        /// The id of the step to wait for.
        on: String,
    },
    /// Moves a step to another place; the numbers follow.
    Move {
        /// The step.
        step: usize,
        /// The place where it will be.
        to: usize,
    },
    /// Numbers the steps 1, 2, 3; numeric needs follow.
    Renumber,
    /// Writes a template step out, once for each item.
    Expand {
        /// The step.
        step: usize,
        /// What it is written out for.
        items: Vec<String>,
    },
}

/// Why a change was not made. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such step.
    NoStep {
        /// The step that was asked for.
        step: usize,
        /// How many there are.
        count: usize,
    },
    /// The text can't be written on one line.
    NotOneLine(String),
    /// The step stands for no list.
    NotATemplate {
        /// The step that was asked for.
        step: usize,
    },
    /// There is nothing to write the step out for.
    NoItems {
        /// The step that was asked for.
        step: usize,
    },
    /// The key holds more than one line of plain text.
    NotPlain {
        /// The key.
        key: String,
    },
    /// The edit would have changed more than was asked for; says where it stands in the way.
    WouldChangeMore(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoStep { step, count } => write!(f, "there is no step at place {}; the plan has {count}", step + 1),
            Self::NotOneLine(text) => write!(f, "{text:?} is not one line of text"),
            Self::NotATemplate { step } => {
                write!(f, "the step at place {} is no template: its heading has a number", step + 1)
            }
            Self::NoItems { step } => {
                write!(f, "the step at place {} can't be written out for an empty list", step + 1)
            }
            Self::NotPlain { key } => write!(f, "`{key}` holds more than one line of plain text"),
            Self::WouldChangeMore(why) => write!(f, "the edit would change more than was asked for: {why}"),
        }
    }
}

impl std::error::Error for Refusal {}

impl Change {
    /// Does to `draft` what the change means. The places in it are no longer true afterwards.
    pub fn apply(&self, draft: &mut Draft) -> Result<(), Refusal> {
        match self {
            Self::Mark { step, mark } => {
                let step = step_mut(draft, *step)?;
                step.marks = mark.iter().map(|&mark| Spanned::new(mark, Span::default())).collect();
            }
            Self::Set { key, value } => set(draft, one_line(key)?, one_line(value)?),
            Self::Note { text } => draft.notes.push(unplaced(one_line(text)?)),
            Self::Rename { step, id } => rename(draft, *step, one_line(id)?)?,
            Self::Need { step, on } => {
                let mut names = declared_needs(draft, *step)?;
                names.push(one_line(on)?.to_owned());
                step_mut(draft, *step)?.needs = Some(names.iter().map(|name| unplaced(name)).collect());
            }
            Self::Move { step, to } => relocate(draft, *step, *to)?,
            Self::Renumber => renumber(draft),
            Self::Expand { step, items } => expand(draft, *step, items)?,
        }
        Ok(())
    }
}

fn unplaced(text: &str) -> Spanned<String> {
    Spanned::new(text.to_owned(), Span::default())
}

/// Text that can stand on one line: none of the characters that end one, and something besides blanks.
fn one_line(text: &str) -> Result<&str, Refusal> {
    let is_one_line = !text.trim().is_empty() && text.trim() == text && !text.contains(['\n', '\r', '\0']);
    if is_one_line { Ok(text) } else { Err(Refusal::NotOneLine(text.to_owned())) }
}

fn step_mut(draft: &mut Draft, step: usize) -> Result<&mut StepDraft, Refusal> {
    let count = draft.steps.len();
    draft.steps.get_mut(step).ok_or(Refusal::NoStep { step, count })
}

fn set(draft: &mut Draft, key: &str, value: &str) {
    let entries = &mut draft.frontmatter.entries;
    match entries.iter_mut().find(|entry| entry.key.value == key) {
        Some(entry) => entry.value = Some(unplaced(value)),
        None => entries.push(Entry { key: unplaced(key), value: Some(unplaced(value)) }),
    }
}

fn rename(draft: &mut Draft, step: usize, id: &str) -> Result<(), Refusal> {
    step_mut(draft, step)?;
    let old = crate::plan::ids(draft).swap_remove(step);
    for need in needs_mut(draft) {
        if need.value == old {
            id.clone_into(&mut need.value);
        }
    }
    step_mut(draft, step)?.id = Some(unplaced(id));
    Ok(())
}

/// The names that a step waits for, those included that it waits for without saying so.
pub(crate) fn declared_needs(draft: &Draft, step: usize) -> Result<Vec<String>, Refusal> {
    let count = draft.steps.len();
    let declared = &draft.steps.get(step).ok_or(Refusal::NoStep { step, count })?.needs;
    Ok(match declared {
        Some(names) => names.iter().map(|name| name.value.clone()).collect(),
        None => {
            let ids = crate::plan::ids(draft);
            crate::plan::needs(draft, &ids)[step].iter().map(|&place| ids[place].clone()).collect()
        }
    })
}

fn needs_mut(draft: &mut Draft) -> impl Iterator<Item = &mut Spanned<String>> {
    draft.steps.iter_mut().filter_map(|step| step.needs.as_mut()).flatten()
}

fn relocate(draft: &mut Draft, step: usize, to: usize) -> Result<(), Refusal> {
    step_mut(draft, step)?;
    step_mut(draft, to)?;
    let moved = draft.steps.remove(step);
    draft.steps.insert(to, moved);
    renumber(draft);
    Ok(())
}

/// Numbers the counted steps by their place. A need that names a number follows the step that had it.
fn renumber(draft: &mut Draft) {
    let old: Vec<Option<u32>> = draft
        .steps
        .iter()
        .map(|step| match step.number.value {
            StepNumber::Counted(number) => Some(number),
            StepNumber::Template(_) => None,
        })
        .collect();
    let new = |number: u32| old.iter().position(|&had| had == Some(number)).map(|place| place + 1);
    for need in needs_mut(draft) {
        if let Some(now) = need.value.parse().ok().and_then(new) {
            need.value = now.to_string();
        }
    }
    for (place, step) in draft.steps.iter_mut().enumerate() {
        if matches!(step.number.value, StepNumber::Counted(_)) {
            step.number.value = StepNumber::Counted(number_at(place));
        }
    }
}

/// The number of the step at a place.
pub(crate) fn number_at(place: usize) -> u32 {
    u32::try_from(place + 1).unwrap_or(u32::MAX)
}

/// Puts `item` where the text of a template step has a place for it: `{item}`, or a remark in brackets that ends in
/// "here", as in "[batch list here]".
pub(crate) fn fill(text: &str, item: &str) -> String {
    const BRACES: &str = "{item}";
    const REMARK: &str = " here]";
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '[']) {
        let (before, place) = rest.split_at(at);
        filled.push_str(before);
        let line = place.lines().next().unwrap_or_default();
        let remark = place.starts_with('[').then(|| line[1..].find(['[', ']'])).flatten();
        let taken = match remark {
            Some(end) if line[..end + 2].ends_with(REMARK) => end + 2,
            Some(_) | None if place.starts_with(BRACES) => BRACES.len(),
            Some(_) | None => 0,
        };
        filled.push_str(if taken > 0 { item } else { &place[..1] });
        rest = &place[taken.max(1)..];
    }
    filled + rest
}

/// Writes the template out. Later steps that count on from it (`N+1`) are counted too, once nothing in front of them
/// stands for a list any more.
fn expand(draft: &mut Draft, step: usize, items: &[String]) -> Result<(), Refusal> {
    if items.is_empty() {
        return Err(Refusal::NoItems { step });
    }
    for item in items {
        one_line(item)?;
    }
    let template = step_mut(draft, step)?.clone();
    if matches!(template.number.value, StepNumber::Counted(_)) {
        return Err(Refusal::NotATemplate { step });
    }
    let written = items.iter().enumerate().map(|(index, item)| {
        let mut written = template.clone();
        written.each.clear();
        written.number.value = StepNumber::Counted(number_at(step + index));
        written.texts_mut().for_each(|text| *text = fill(text, item));
        written.title.value = expanded_title(&template.title.value, item);
        written
    });
    draft.steps.splice(step..=step, written);
    for (place, step) in draft.steps.iter_mut().enumerate().skip(step) {
        match &step.number.value {
            StepNumber::Template(text) if text.contains('+') => {
                step.number.value = StepNumber::Counted(number_at(place));
            }
            StepNumber::Template(_) => break,
            StepNumber::Counted(_) => {}
        }
    }
    Ok(())
}

/// The title of a step that was written out for `item`: the item is put in its place, or behind the title.
pub(crate) fn expanded_title(title: &str, item: &str) -> String {
    let filled = fill(title, item);
    if filled == title { format!("{title}: {item}") } else { filled }
}
