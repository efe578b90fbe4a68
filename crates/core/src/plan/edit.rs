//! The edits that planwright makes to a plan file, as data. What each does to the meaning stands here, once, for all
//! dialects; which bytes it takes is the dialect's business.

use crate::plan::draft::{ContractDraft, Draft, Entry, Mark, StepDraft, StepNumber, Trace};
use crate::plan::lifecycle::State;
use crate::syntax::source::{Span, Spanned};

/// One change to a plan. Steps are named by their place in the file, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets what a step's heading claims, or takes the claim away.
    Mark { step: usize, mark: Option<Mark> },
    /// Says where the plan stands, in the dialect's own word; nothing where it has none.
    Become { state: State },
    /// Writes down what is known of the execution of a step, where the dialect keeps such things. What is `None` stays.
    Trace { step: usize, trace: Trace },
    /// Sets a key of the frontmatter to a one-line value.
    Set { key: String, value: String },
    /// Adds a one-line note to the end of the plan.
    Note { text: String },
    /// Gives a step another id; everything that needs it follows.
    Rename { step: usize, id: String },
    /// Lets a step wait for one more. A step that declared nothing goes on waiting for all that it waited for; one that
    /// waits for it already stays as it is.
    Need {
        step: usize,
        /// The id of the step to wait for.
        on: String,
    },
    /// Moves a step to another place; the numbers follow.
    Move {
        step: usize,
        /// The place where it will be.
        to: usize,
    },
    /// Numbers the steps 1, 2, 3; numeric needs follow.
    Renumber,
    /// Adds a step behind the last one. A person confirms it, until somebody gives it a contract.
    Append {
        title: String,
        /// What its agent is told.
        task: String,
        target: String,
        /// The id of the step that it waits for.
        after: String,
    },
    /// Writes a template step out, once for each item.
    Expand {
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
    NotPlain { key: String },
    /// The harness alone writes this key.
    Owned { key: String },
    /// The dialect has no word for it.
    NoWord {
        /// What was to be said.
        what: String,
        dialect: &'static str,
    },
    /// What was to change is the name of a file, which no edit of a text can give.
    FileName {
        /// The file, as its dialect calls it.
        path: String,
    },
    /// The edit would have changed more than was asked for; says where it stands in the way.
    WouldChangeMore(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoStep { step, count } => {
                write!(f, "there is no step at place {}; the plan has {count}", step + 1)
            }
            Self::NotOneLine(text) => write!(f, "{text:?} is not one line of text"),
            Self::NotATemplate { step } => {
                write!(f, "the step at place {} is no template: its heading has a number", step + 1)
            }
            Self::NoItems { step } => {
                write!(f, "the step at place {} can't be written out for an empty list", step + 1)
            }
            Self::NotPlain { key } => write!(f, "`{key}` holds more than one line of plain text"),
            Self::Owned { key } => {
                write!(f, "`{key}` says what planwright has seen, and only planwright writes it")
            }
            Self::NoWord { what, dialect } => write!(f, "plans of the dialect {dialect} can't say `{what}`"),
            Self::FileName { path } => {
                write!(f, "the order of these steps is in the names of their files: rename `{path}`")
            }
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
            Self::Become { state } => draft.state = Some(unplaced(*state)),
            // What is written down of an execution says nothing about what shall be done.
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

/// The step that is added at a place.
pub(crate) fn appended(place: usize, (title, task): (&str, &str), target: &str, after: &str) -> StepDraft {
    StepDraft {
        target: Some(unplaced_text(target)),
        task: Some(unplaced_text(task)),
        needs: Some(vec![unplaced_text(after)]),
        contract: Some(ContractDraft { is_manual: true, ..ContractDraft::default() }),
        ..StepDraft::empty(unplaced(StepNumber::Counted(number_at(place))), unplaced_text(title))
    }
}

/// Something that stands nowhere yet.
pub(crate) fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::default())
}

fn unplaced_text(text: &str) -> Spanned<String> {
    unplaced(text.to_owned())
}

/// Text that can stand on one line: none of the characters that end one, none that nobody sees, and something besides
/// blanks.
fn one_line(text: &str) -> Result<&str, Refusal> {
    let is_one_line = !text.trim().is_empty()
        && text.trim() == text
        && !text.contains(['\n', '\r', '\0'])
        && !text.chars().any(crate::verify::is_hidden);
    if is_one_line { Ok(text) } else { Err(Refusal::NotOneLine(text.to_owned())) }
}

fn step_mut(draft: &mut Draft, step: usize) -> Result<&mut StepDraft, Refusal> {
    let count = draft.steps.len();
    draft.steps.get_mut(step).ok_or(Refusal::NoStep { step, count })
}

fn set(draft: &mut Draft, key: &str, value: &str) {
    let entries = &mut draft.frontmatter.entries;
    match entries.iter_mut().find(|entry| entry.key.value == key) {
        Some(entry) => entry.value = Some(unplaced_text(value)),
        None => entries.push(Entry { key: unplaced_text(key), value: Some(unplaced_text(value)) }),
    }
}

fn rename(draft: &mut Draft, step: usize, id: &str) -> Result<(), Refusal> {
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

/// Refuses a change after which a declared need means another step than before. Ids that are made of titles and
/// numbers move with the steps around them, and nobody asked for that.
fn keep_references(before: &Draft, after: &Draft, place_of: impl Fn(usize) -> usize) -> Result<(), Refusal> {
    let (old_ids, new_ids) = (crate::plan::verified::ids(before), crate::plan::verified::ids(after));
    for (place, step) in before.steps.iter().enumerate() {
        let now = after.steps[place_of(place)].needs.iter().flatten();
        for (had, has) in step.needs.iter().flatten().zip(now) {
            // A name that meant no step may come to mean one: numbering anew is how such a plan is mended.
            let Some(meant) = crate::plan::verified::find_step(before, &old_ids, &had.value) else {
                continue;
            };
            if crate::plan::verified::find_step(after, &new_ids, &has.value) != Some(place_of(meant)) {
                return Err(Refusal::WouldChangeMore(format!("`{}` would name another step", has.value)));
            }
        }
    }
    Ok(())
}

/// The names that a step waits for, those included that it waits for without saying so.
pub(crate) fn declared_needs(draft: &Draft, step: usize) -> Result<Vec<String>, Refusal> {
    let count = draft.steps.len();
    let declared = &draft.steps.get(step).ok_or(Refusal::NoStep { step, count })?.needs;
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

fn relocate(draft: &mut Draft, step: usize, to: usize) -> Result<(), Refusal> {
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

/// What a need that names a number (`3` or `#3`) says once the step with that number stands at `place_of` it.
pub(crate) fn followed(need: &str, place_of: impl Fn(u32) -> Option<usize>) -> Option<String> {
    let digits = need.trim_start_matches('#');
    let place = place_of(digits.parse().ok()?)?;
    let signs = &need[..need.len() - digits.len()];
    Some(format!("{signs}{}", number_at(place)))
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

/// Writes the template out. Steps that need it need all that were written. Later steps that count on from it (`N+1`)
/// are counted too, once nothing in front of them stands for a list any more.
pub(crate) fn expand(draft: &mut Draft, step: usize, items: &[String]) -> Result<(), Refusal> {
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

/// The step that the template at place `step` becomes for one of its items.
fn written_out(template: &StepDraft, step: usize, (index, item): (usize, &str)) -> StepDraft {
    let mut written = template.clone();
    written.each.clear();
    written.number.value = StepNumber::Counted(number_at(step + index));
    written.texts_mut().for_each(|text| *text = fill(text, item));
    written.title.value = expanded_title(&template.title.value, item);
    written.id = template.id.as_ref().map(|id| unplaced_text(&expanded_id(&id.value, item, index)));
    written
}

/// The id of a step that was written out for `item`: the item is put in its place, or the ids are counted.
pub(crate) fn expanded_id(id: &str, item: &str, index: usize) -> String {
    let filled = fill(id, item);
    if filled == id { format!("{id}-{}", index + 1) } else { filled }
}

/// The title of a step that was written out for `item`: the item is put in its place, or behind the title.
pub(crate) fn expanded_title(title: &str, item: &str) -> String {
    let filled = fill(title, item);
    if filled == title { format!("{title}: {item}") } else { filled }
}
