//! The plan files of other tools, read as drafts. Each format is one entry in [`FOREIGN`] and one file in `foreign/`.
//! Reading never fails and loses no task: what has no place in a draft is kept in the text of a task. Nothing here writes.

mod backlog;
mod beads;
mod claude_tasks;
mod codex;
mod collect;
mod features;
mod item;
mod object;
mod ralph;
mod status;
mod taskmaster;

use std::collections::BTreeSet;
use std::fmt;

use crate::draft::{ContractDraft, Draft, StepDraft, StepNumber};
use crate::plan;
use crate::source::{Source, Span, Spanned};

/// One format of another tool.
pub struct Foreign {
    /// The name that people use on the command line: `spec-kit`.
    pub name: &'static str,
    /// What the tool is called, and which of its files: `spec-kit tasks.md`.
    pub tool: &'static str,
    /// Whether a file at this place, with this beginning, is of this format, and by what it is told.
    /// It sees the first [`HEAD_BYTES`] at most.
    pub recognises: fn(place: &str, head: &str) -> Option<String>,
    /// Reads a file, or the files of a folder. Never fails.
    pub parse: fn(&Source) -> Draft,
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Foreign({})", self.name)
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Foreign {}

/// How many bytes of a file are looked at to tell its format: the tasks of some begin behind pages of prose.
pub const HEAD_BYTES: usize = 1 << 16;

/// Every format, in the order in which they are tried: the one that takes any list comes last.
pub const FOREIGN: &[&Foreign] = &[
    &backlog::FORMAT,
    &beads::FORMAT,
    &codex::FORMAT,
    &claude_tasks::FORMAT,
    &features::FORMAT,
    &taskmaster::FORMAT,
    &ralph::FORMAT,
];

/// The format of a file at this place with this text, and by what it is told.
pub fn detect(place: &str, text: &str) -> Option<(&'static Foreign, String)> {
    let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
    FOREIGN.iter().find_map(|&foreign| Some((foreign, (foreign.recognises)(place, head)?)))
}

/// The format with this name.
pub fn named(name: &str) -> Option<&'static Foreign> {
    FOREIGN.iter().copied().find(|foreign| foreign.name == name)
}

/// A contract that a person confirms.
pub(crate) fn manual() -> ContractDraft {
    ContractDraft { is_manual: true, ..ContractDraft::default() }
}

/// A step of an imported plan: it waits for nothing and a person confirms it, until the file says more.
pub(crate) fn step(title: Spanned<String>, whole: Span) -> StepDraft {
    let number = Spanned::new(StepNumber::Counted(0), Span::at(whole.start));
    let mut step = StepDraft::empty(number, title);
    step.heading.0 = step.title.span;
    step.whole.0 = whole;
    step.needs = Some(Vec::new());
    step.contract = Some(manual());
    step
}

/// A name that a step can go by, made of another tool's: `T001` is `t001`, `1.2` is `task-1-2`, which no number is.
/// `None` where nothing of the name is left.
pub(crate) fn legal(name: &str) -> Option<String> {
    let slug = plan::slug(name);
    match slug.bytes().any(|byte| byte.is_ascii_lowercase()) {
        true => Some(slug),
        false if slug.is_empty() => None,
        false => Some(format!("task-{slug}")),
    }
}

/// Settles what an importer leaves open: numbers count the places, every step has an id that no other one has, and a need
/// that names no step goes into the text of the task, where it is not lost.
pub(crate) fn settle(draft: &mut Draft) {
    let mut taken = BTreeSet::new();
    for (place, step) in draft.steps.iter_mut().enumerate() {
        step.number.value = StepNumber::Counted(u32::try_from(place + 1).unwrap_or(u32::MAX));
        if let Some(id) = step.id.take_if(|id| !taken.insert(id.value.clone())) {
            // The first one keeps the name: whoever waits for it means that one.
            step.id = again(&id, &mut taken);
        }
    }
    let ids = plan::ids(draft);
    for (step, id) in draft.steps.iter_mut().zip(&ids) {
        let span = step.title.span;
        step.id.get_or_insert_with(|| Spanned::new(id.clone(), span));
    }
    let known: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    for step in &mut draft.steps {
        let own = step.id.as_ref().map(|id| id.value.clone()).unwrap_or_default();
        let Some(needs) = &mut step.needs else { continue };
        let mut seen = BTreeSet::new();
        needs.retain(|need| need.value != own && seen.insert(need.value.clone()));
        let lost: Vec<String> = needs
            .extract_if(.., |need| !known.contains(need.value.as_str()))
            .map(|need| need.value)
            .collect();
        if !lost.is_empty() {
            tell(step, &format!("Waits for {}, which this plan does not have.", lost.join(", ")));
        }
    }
}

fn again(id: &Spanned<String>, taken: &mut BTreeSet<String>) -> Option<Spanned<String>> {
    let free = (2..).map(|count: u32| format!("{}-{count}", id.value)).find(|id| taken.insert(id.clone()))?;
    Some(Spanned::new(free, id.span))
}

/// Adds a line to the text of a step's task.
pub(crate) fn tell(step: &mut StepDraft, line: &str) {
    match &mut step.task {
        Some(task) => task.value.push_str(&format!("\n{line}")),
        None => step.task = Some(Spanned::new(line.to_owned(), step.title.span)),
    }
}
