//! The changes that planwright makes to a plan file, as data. Defines once, for all dialects, what each change means;
//! the dialect decides which bytes change.

use crate::plan::draft::{ContractDraft, Draft, FrontmatterEntry, Mark, StepDraft, StepNumber, Trace};
use crate::plan::lifecycle::PlanState;
use crate::syntax::source::{Span, Spanned};

/// One change to a plan. Steps are given by their position in the file, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanEdit {
    /// Sets or removes the mark of a step.
    Mark { step: usize, mark: Option<Mark> },
    /// Sets the status of the plan in the dialect's spelling; does nothing if the dialect has none.
    Become { state: PlanState },
    /// Records the execution of a step, if the dialect has a place for it. `None` values stay unchanged.
    Trace { step: usize, trace: Trace },
    /// Sets a frontmatter key to a one-line value.
    Set { key: String, value: String },
    /// Adds a one-line note to the end of the plan.
    Note { text: String },
    /// Changes the id of a step and updates everything that needs it.
    Rename { step: usize, id: String },
    /// Adds a need to a step. A step without declared needs keeps its implied ones; an existing need stays unchanged.
    Need {
        step: usize,
        /// The id of the needed step.
        on: String,
    },
    /// Moves a step and renumbers.
    Move {
        step: usize,
        /// The new position.
        to: usize,
    },
    /// Renumbers the steps from 1, and numeric needs with them.
    Renumber,
    /// Appends a step without a contract, which a person must confirm.
    Append {
        title: String,
        /// The instructions for the agent.
        task: String,
        target: String,
        /// The id of the step that it needs.
        after: String,
    },
    /// Expands a template step, once per item.
    Expand { step: usize, items: Vec<String> },
}

/// Why a change was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    NoStep {
        step: usize,
        /// The number of steps.
        count: usize,
    },
    /// The text doesn't fit on one line.
    NotOneLine(String),
    /// The step is not a template.
    NotATemplate { step: usize },
    /// The list of items is empty.
    NoItems { step: usize },
    /// The value of the key is more than one line of plain text.
    NotPlain { key: String },
    /// Only planwright writes this key.
    Owned { key: String },
    /// The dialect doesn't support it.
    NoWord { what: String, dialect: &'static str },
    /// The change requires renaming a file, which a text edit can't do.
    FileName { path: String },
    /// The edit would have changed more than requested, with the reason.
    WouldChangeMore(String),
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoStep { step, count } => {
                write!(f, "step {} not found: the plan has {count}", step + 1)
            }
            Self::NotOneLine(text) => write!(f, "{text:?} is not one line of text"),
            Self::NotATemplate { step } => {
                write!(f, "step {} is not a template: its heading has a number", step + 1)
            }
            Self::NoItems { step } => {
                write!(f, "cannot expand step {} over an empty list", step + 1)
            }
            Self::NotPlain { key } => write!(f, "`{key}` has more than one line of plain text"),
            Self::Owned { key } => {
                write!(f, "`{key}` records observed results; only planwright writes it")
            }
            Self::NoWord { what, dialect } => write!(f, "the {dialect} dialect does not support `{what}`"),
            Self::FileName { path } => {
                write!(f, "file names set the order of these steps; rename `{path}`")
            }
            Self::WouldChangeMore(why) => write!(f, "the edit would change more than requested: {why}"),
        }
    }
}

impl std::error::Error for EditError {}

impl PlanEdit {
    /// Applies the change to `draft`. Its spans are invalid afterwards.
    pub fn apply(&self, draft: &mut Draft) -> Result<(), EditError> {
        match self {
            Self::Mark { step, mark } => {
                let step = step_mut(draft, *step)?;
                step.marks = mark.iter().map(|&mark| Spanned::new(mark, Span::default())).collect();
            }
            Self::Become { state } => draft.state = Some(unplaced(*state)),
            // Recorded executions are not part of the plan's meaning.
            Self::Trace { step, .. } => drop(step_mut(draft, *step)?),
            Self::Set { key, value } => set(draft, one_line(key)?, one_line(value)?),
            Self::Note { text } => draft.notes.push(unplaced_text(one_line(text)?)),
            Self::Rename { step, id } => rename(draft, *step, one_line(id)?)?,
            Self::Need { step, on } => {
                let mut names = declared_needs(draft, *step)?;
                if !names.iter().any(|name| name == on) {
                    names.push(one_line(on)?.to_owned());
                    step_mut(draft, *step)?.needs =
                        Some(names.iter().map(|name| unplaced_text(name)).collect());
                }
            }
            Self::Move { step, to } => relocate(draft, *step, *to)?,
            Self::Renumber => {
                let before = draft.clone();
                renumber(draft);
                keep_references(&before, draft, |place| place)?;
            }
            Self::Append { title, task, target, after } => {
                for line in [title, target, after] {
                    one_line(line)?;
                }
                draft.steps.push(appended(draft.steps.len(), (title, task), target, after));
            }
            Self::Expand { step, items } => expand(draft, *step, items)?,
        }
        Ok(())
    }
}

/// The step to insert at a position.
pub(crate) fn appended(place: usize, (title, task): (&str, &str), target: &str, after: &str) -> StepDraft {
    StepDraft {
        target: Some(unplaced_text(target)),
        task: Some(unplaced_text(task)),
        needs: Some(vec![unplaced_text(after)]),
        contract: Some(ContractDraft { is_manual: true, ..ContractDraft::default() }),
        ..StepDraft::empty(unplaced(StepNumber::Counted(number_at(place))), unplaced_text(title))
    }
}

/// A value that is not in any file yet.
pub(crate) fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::default())
}

fn unplaced_text(text: &str) -> Spanned<String> {
    unplaced(text.to_owned())
}

/// Text that fits on one line: no line breaks, no invisible characters, and not only blanks.
fn one_line(text: &str) -> Result<&str, EditError> {
    let is_one_line = !text.trim().is_empty()
        && text.trim() == text
        && !text.contains(['\n', '\r', '\0'])
        && !text.chars().any(crate::syntax::invisible::is_hidden);
    if is_one_line { Ok(text) } else { Err(EditError::NotOneLine(text.to_owned())) }
}

fn step_mut(draft: &mut Draft, step: usize) -> Result<&mut StepDraft, EditError> {
    let count = draft.steps.len();
    draft.steps.get_mut(step).ok_or(EditError::NoStep { step, count })
}

fn set(draft: &mut Draft, key: &str, value: &str) {
    let entries = &mut draft.frontmatter.entries;
    match entries.iter_mut().find(|entry| entry.key.value == key) {
        Some(entry) => entry.value = Some(unplaced_text(value)),
        None => entries.push(FrontmatterEntry { key: unplaced_text(key), value: Some(unplaced_text(value)) }),
    }
}

fn rename(draft: &mut Draft, step: usize, id: &str) -> Result<(), EditError> {
    step_mut(draft, step)?;
    let before = draft.clone();
    let old = crate::plan::verified::ids(draft).swap_remove(step);
    for need in needs_mut(draft) {
        if need.value == old {
            id.clone_into(&mut need.value);
        }
    }
    step_mut(draft, step)?.id = Some(unplaced_text(id));
    keep_references(&before, draft, |place| place)
}

/// Refuses a change after which a declared need refers to another step. Derived ids and numbers shift with the steps
/// around them, which nobody asked for.
fn keep_references(
    before: &Draft,
    after: &Draft,
    place_of: impl Fn(usize) -> usize,
) -> Result<(), EditError> {
    let (old_ids, new_ids) = (crate::plan::verified::ids(before), crate::plan::verified::ids(after));
    for (place, step) in before.steps.iter().enumerate() {
        let now = after.steps[place_of(place)].needs.iter().flatten();
        for (had, has) in step.needs.iter().flatten().zip(now) {
            // An unknown name may become known: renumbering is how such a plan gets fixed.
            let Some(meant) = crate::plan::verified::find_step(before, &old_ids, &had.value) else {
                continue;
            };
            if crate::plan::verified::find_step(after, &new_ids, &has.value) != Some(place_of(meant)) {
                return Err(EditError::WouldChangeMore(format!(
                    "`{}` would refer to another step",
                    has.value
                )));
            }
        }
    }
    Ok(())
}

/// The names that a step needs, including implied needs.
pub(crate) fn declared_needs(draft: &Draft, step: usize) -> Result<Vec<String>, EditError> {
    let count = draft.steps.len();
    let declared = &draft.steps.get(step).ok_or(EditError::NoStep { step, count })?.needs;
    Ok(match declared {
        Some(names) => names.iter().map(|name| name.value.clone()).collect(),
        None => {
            let ids = crate::plan::verified::ids(draft);
            crate::plan::verified::needs(draft, &ids)[step].iter().map(|&place| ids[place].clone()).collect()
        }
    })
}

fn needs_mut(draft: &mut Draft) -> impl Iterator<Item = &mut Spanned<String>> {
    draft.steps.iter_mut().filter_map(|step| step.needs.as_mut()).flatten()
}

fn relocate(draft: &mut Draft, step: usize, to: usize) -> Result<(), EditError> {
    step_mut(draft, step)?;
    step_mut(draft, to)?;
    let before = draft.clone();
    let mut order: Vec<usize> = (0..draft.steps.len()).collect();
    let place = order.remove(step);
    order.insert(to, place);
    let moved = draft.steps.remove(step);
    draft.steps.insert(to, moved);
    renumber(draft);
    keep_references(&before, draft, |place| order.iter().position(|&stood| stood == place).unwrap_or(place))
}

/// Numbers the counted steps by position. A numeric need follows the step that had the number.
fn renumber(draft: &mut Draft) {
    let old: Vec<Option<u32>> = draft
        .steps
        .iter()
        .map(|step| match step.number.value {
            StepNumber::Counted(number) => Some(number),
            StepNumber::Template(_) => None,
        })
        .collect();
    let place_of = |number: u32| old.iter().position(|&had| had == Some(number));
    for need in needs_mut(draft) {
        if let Some(now) = followed(&need.value, place_of) {
            need.value = now;
        }
    }
    for (place, step) in draft.steps.iter_mut().enumerate() {
        if matches!(step.number.value, StepNumber::Counted(_)) {
            step.number.value = StepNumber::Counted(number_at(place));
        }
    }
}

/// The new text of a numeric need (`3` or `#3`) after its step moved to `place_of`.
pub(crate) fn followed(need: &str, place_of: impl Fn(u32) -> Option<usize>) -> Option<String> {
    let digits = need.trim_start_matches('#');
    let place = place_of(digits.parse().ok()?)?;
    let signs = &need[..need.len() - digits.len()];
    Some(format!("{signs}{}", number_at(place)))
}

pub(crate) fn number_at(place: usize) -> u32 {
    u32::try_from(place + 1).unwrap_or(u32::MAX)
}

/// Inserts `item` into the placeholder of a template step: `{item}`, or brackets that end in "here", as in "[batch list
/// here]".
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

/// Expands the template. Steps that need it need all new steps. Later templates such as `N+1` get their number once no
/// template precedes them.
pub(crate) fn expand(draft: &mut Draft, step: usize, items: &[String]) -> Result<(), EditError> {
    if items.is_empty() {
        return Err(EditError::NoItems { step });
    }
    for item in items {
        one_line(item)?;
    }
    let template = step_mut(draft, step)?.clone();
    if matches!(template.number.value, StepNumber::Counted(_)) {
        return Err(EditError::NotATemplate { step });
    }
    let old = crate::plan::verified::ids(draft).swap_remove(step);
    let written = items.iter().enumerate().map(|(index, item)| written_out(&template, step, (index, item)));
    draft.steps.splice(step..=step, written.collect::<Vec<_>>());
    let new = crate::plan::verified::ids(draft)[step..step + items.len()].to_vec();
    for needs in draft.steps.iter_mut().filter_map(|step| step.needs.as_mut()) {
        if let Some(at) = needs.iter().position(|need| need.value == old) {
            needs.splice(at..=at, new.iter().map(|id| unplaced_text(id)));
        }
    }
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

/// The step for one item of the template.
fn written_out(template: &StepDraft, step: usize, (index, item): (usize, &str)) -> StepDraft {
    let mut written = template.clone();
    written.each.clear();
    written.number.value = StepNumber::Counted(number_at(step + index));
    written.texts_mut().for_each(|text| *text = fill(text, item));
    written.title.value = expanded_title(&template.title.value, item);
    written.id = template.id.as_ref().map(|id| unplaced_text(&expanded_id(&id.value, item, index)));
    written
}

/// The id of the step for `item`: with the item inserted, or numbered.
pub(crate) fn expanded_id(id: &str, item: &str, index: usize) -> String {
    let filled = fill(id, item);
    if filled == id { format!("{id}-{}", index + 1) } else { filled }
}

/// The title of the step for `item`: with the item inserted, or appended.
pub(crate) fn expanded_title(title: &str, item: &str) -> String {
    let filled = fill(title, item);
    if filled == title { format!("{title}: {item}") } else { filled }
}
