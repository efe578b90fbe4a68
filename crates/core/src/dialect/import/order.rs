//! Derives the dependencies of checklist tasks: from their order, their subtasks, and the tasks that they name.

use std::collections::{BTreeMap, BTreeSet};

use super::checklist::ChecklistTask;
use super::legal;
use crate::plan::draft::StepDraft;
use crate::syntax::source::Spanned;

/// The implied order of tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImportOrder {
    /// Each depends on the previous one, unless it may run in parallel.
    Listed,
    /// Independent.
    Free,
}

/// The subtask relation.
pub(crate) struct Nest {
    parents: Vec<Option<usize>>,
    /// The subtasks of each task.
    pub(crate) children: Vec<Vec<usize>>,
}

impl Nest {
    /// By indentation, or by number if the list is flat: `1.2` is part of `1`.
    pub(crate) fn of(tasks: &[ChecklistTask]) -> Self {
        let mut nest = Self { parents: Vec::new(), children: vec![Vec::new(); tasks.len()] };
        let mut numbers: BTreeMap<(Option<usize>, &str), usize> = BTreeMap::new();
        for (place, task) in tasks.iter().enumerate() {
            let name = task.label.name.as_deref().unwrap_or_default();
            let outer = name.rsplit_once('.').and_then(|(outer, _)| numbers.get(&(task.parent, outer)));
            let parent = outer.copied().or(task.parent);
            if name.starts_with(|first: char| first.is_ascii_digit()) {
                numbers.insert((task.parent, name), place);
            }
            if let Some(parent) = parent {
                nest.children[parent].push(place);
            }
            nest.parents.push(parent);
        }
        nest
    }
}

/// Gives unnamed steps an id, so that others can need them, and makes all ids unique.
fn identify(steps: &mut [StepDraft]) {
    for (place, step) in steps.iter_mut().enumerate() {
        let span = step.title.span;
        step.id.get_or_insert_with(|| Spanned::new(format!("item-{}", place + 1), span));
    }
    super::unrepeated(steps);
}

/// Makes each step depend on the previous one, and on earlier ones that `named` finds in its text.
pub(crate) fn in_a_row(steps: &mut [StepDraft], named: fn(&str) -> Vec<String>) {
    identify(steps);
    let ids: Vec<Spanned<String>> = steps.iter().filter_map(|step| step.id.clone()).collect();
    let places: BTreeMap<&str, usize> =
        ids.iter().enumerate().map(|(place, id)| (id.value.as_str(), place)).collect();
    for (place, step) in steps.iter_mut().enumerate() {
        let named = step.task.as_ref().map(|task| named(&task.value)).unwrap_or_default();
        let named = named.iter().filter_map(|id| places.get(id.as_str()).copied());
        let needs: BTreeSet<usize> =
            named.filter(|&other| other < place).chain(place.checked_sub(1)).collect();
        step.needs = Some(needs.into_iter().map(|need| ids[need].clone()).collect());
    }
}

/// Sets the needs of the steps.
pub(crate) fn queue(steps: &mut [StepDraft], tasks: &[ChecklistTask], nest: &Nest, order: ImportOrder) {
    identify(steps);
    let top: Vec<usize> = (0..tasks.len()).filter(|&task| nest.parents[task].is_none()).collect();
    let mut queue = Queue { steps, tasks, nest, order, turns: vec![0; tasks.len()], turn: 0 };
    queue.run(&top, &[]);
    let turns = queue.turns;
    add_named(steps, &turns);
}

/// Adds declared needs, as long as they point backwards: otherwise they would form a cycle.
fn add_named(steps: &mut [StepDraft], turns: &[usize]) {
    let places: BTreeMap<String, usize> = steps
        .iter()
        .enumerate()
        .filter_map(|(place, step)| Some((step.id.as_ref()?.value.clone(), place)))
        .collect();
    for (place, step) in steps.iter_mut().enumerate() {
        let named = step.task.as_ref().map(|task| dependencies(&task.value)).unwrap_or_default();
        let span = step.title.span;
        let is_earlier = |id: &String| places.get(id).is_some_and(|&other| turns[other] < turns[place]);
        let needs = step.needs.get_or_insert_default();
        for id in named.into_iter().filter(is_earlier) {
            if needs.iter().all(|need| need.value != id) {
                needs.push(Spanned::new(id, span));
            }
        }
    }
}

/// Makes each task depend on what comes before it.
struct Queue<'q> {
    steps: &'q mut [StepDraft],
    tasks: &'q [ChecklistTask],
    nest: &'q Nest,
    order: ImportOrder,
    /// The position of each task in a topological order.
    turns: Vec<usize>,
    turn: usize,
}

impl Queue<'_> {
    /// Orders tasks of one level, all after `before`. Returns what the next one depends on.
    fn run(&mut self, tasks: &[usize], before: &[usize]) -> Vec<usize> {
        let mut before = before.to_vec();
        let mut beside: Vec<usize> = Vec::new();
        let mut section = None;
        for &task in tasks {
            if self.order == ImportOrder::Free {
                before.clear();
            }
            let own = self.tasks[task].section;
            if own != section || !self.tasks[task].label.is_parallel {
                section = own;
                if !beside.is_empty() {
                    before = std::mem::take(&mut beside);
                }
            }
            self.place(task, &before);
            match self.tasks[task].label.is_parallel {
                true => beside.push(task),
                false => before = vec![task],
            }
        }
        if beside.is_empty() { before } else { beside }
    }

    /// Makes a task depend on `before`, or on its subtasks, which depend on it instead.
    fn place(&mut self, task: usize, before: &[usize]) {
        let children = self.nest.children[task].clone();
        let needs = if children.is_empty() {
            before.to_vec()
        } else {
            self.run(&children, before);
            children
        };
        self.turn += 1;
        self.turns[task] = self.turn;
        let need = |need: usize| self.steps[need].id.clone();
        self.steps[task].needs = Some(needs.into_iter().filter_map(need).collect());
    }
}

/// The ids that a text depends on: `(depends on T012, T013)`, `_Depends: 1.2_`, `Blocked by: 3.1`.
pub(crate) fn dependencies(text: &str) -> Vec<String> {
    const WORDS: &[&str] =
        &["depends on", "depends:", "dependencies:", "depends_on:", "blocked by", "requires t"];
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    for word in WORDS {
        for (at, _) in lower.match_indices(word) {
            let behind = at + word.len() - usize::from(word.ends_with('t'));
            found.extend(names(text.get(behind..).unwrap_or_default()));
        }
    }
    found
}

/// The leading names of a text, up to the first word that is not one.
fn names(text: &str) -> Vec<String> {
    let line = text.lines().next().unwrap_or_default();
    let words = line
        .trim_start_matches([':', ' ', '*', '_'])
        .split([',', ' ', '&', '+', ';', '(', '_', '*', '`'])
        .filter(|word| {
            !word.is_empty() && !["and", "or", "task", "tasks"].contains(&word.to_lowercase().as_str())
        });
    let names = words.map(|word| (word, word.trim_matches(['.', ')', '[', ']', ':', '*'])));
    names
        .take_while(|(_, name)| name.len() <= 16 && name.bytes().any(|byte| byte.is_ascii_digit()))
        .filter_map(|(_, name)| legal(name))
        .collect()
}
