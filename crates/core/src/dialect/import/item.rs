//! Converts tasks of another tool into steps: resolves the tool's ids, parents and order into needs.

use std::collections::{BTreeSet, HashMap};

use super::{legal, prose, settle, tell};
use crate::plan::draft::{Draft, Mark, StepDraft};
use crate::plan::graph::Graph;
use crate::plan::verified::ID_CHARS_MAX;
use crate::syntax::source::{Source, Span, Spanned};

/// How many needs a task inherits from its parents. More go into the text for the agent: a thousand tasks in a parent
/// that depends on a thousand others would make a million needs.
const INHERITED_MAX: usize = 64;
/// The nesting limit; a longer chain of parents is a cycle.
const ANCESTORS_MAX: usize = 16;

/// A task of another tool.
#[derive(Debug)]
pub(super) struct ImportedItem {
    /// The tool's own id, qualified to be unique in the file; empty if there is none.
    pub(super) key: String,
    /// Prefixes to try when resolving a needed id, in order.
    pub(super) scopes: Vec<String>,
    /// The source of the step's id.
    pub(super) name: String,
    /// The position of the parent.
    pub(super) parent: Option<usize>,
    /// The tool's ids of needed tasks.
    pub(super) needs: Vec<Spanned<String>>,
    /// Positions of tasks needed because of their order.
    pub(super) after: Vec<usize>,
    /// Everything else.
    pub(super) step: StepDraft,
}

impl ImportedItem {
    /// A task with a title and nothing else.
    pub(super) fn new(id: &str, title: &Spanned<String>, whole: Span) -> Self {
        let (title, rest) = heading(title);
        let mut step = super::step(title, whole);
        if let Some((text, mark)) = rest {
            tell(&mut step, &text);
            step.marks.extend(mark.map(|mark| Spanned::new(mark, step.title.span)));
        }
        let name = id.to_owned();
        let scopes = vec![String::new()];
        Self { key: name.clone(), scopes, name, parent: None, needs: Vec::new(), after: Vec::new(), step }
    }
}

/// A title that is safe in a heading, and the part that had to be dropped.
fn heading(title: &Spanned<String>) -> (Spanned<String>, Option<(String, Option<Mark>)>) {
    let visible: String = title
        .value
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .filter(|&character| !crate::syntax::invisible::is_hidden(character))
        .collect();
    let plain = crate::syntax::text::one_line(&visible);
    let (readable, mark) = in_heading(&plain);
    let readable = if readable.is_empty() { "Untitled".to_owned() } else { readable };
    let is_whole = readable == plain && title.value.lines().count() <= 1;
    let rest = (!is_whole && !title.value.trim().is_empty()).then(|| (title.value.trim().to_owned(), mark));
    (Spanned::new(readable, title.span), rest)
}

/// The part of a title that survives parsing as a heading, in which some signs are marks.
fn in_heading(title: &str) -> (String, Option<Mark>) {
    const SIGNS: &[char] =
        &['[', ']', '(', ')', '*', '—', '–', '-', '#', '`', '\\', '<', '✅', '☑', '✔', '❌', '✗', '✘', '⏭'];
    if !title.contains(SIGNS) {
        return (title.to_owned(), None);
    }
    let mut heading = Source::new("title", format!("### 1. {title}\n")).draft();
    let step = (heading.steps.len() == 1).then(|| heading.steps.remove(0));
    step.map_or((title.to_owned(), None), |step| (step.title.value.clone(), step.mark()))
}

/// The plan of these tasks. A parent is done after its subtasks, which inherit its needs.
pub(super) fn draft(mut items: Vec<ImportedItem>) -> Draft {
    let ids = unique_ids(&items);
    let places = Places::of(&items);
    let mut said = Vec::with_capacity(items.len());
    for (place, item) in items.iter_mut().enumerate() {
        let (mut found, lost) = places.resolve(item, place);
        let span = item.step.title.span;
        found.extend(item.after.iter().map(|&before| Spanned::new(before, span)));
        if !lost.is_empty() {
            tell(&mut item.step, &format!("Depends on {}, which is not in this file.", lost.join(", ")));
        }
        said.push(found);
    }
    let implied = implied(&items, &said);
    for (place, item) in items.iter_mut().enumerate() {
        let span = item.step.title.span;
        item.step.id = Some(Spanned::new(ids[place].clone(), span));
        let own = said[place].iter().map(|need| Spanned::new(ids[need.value].clone(), need.span));
        let from_others = implied[place].iter().map(|&need| Spanned::new(ids[need].clone(), span));
        item.step.needs = Some(own.chain(from_others).collect());
        // A task without text gets its title as text.
        let said = item.step.task.take().filter(|task| !task.value.trim().is_empty());
        let task = said.unwrap_or_else(|| item.step.title.clone());
        item.step.task = Some(Spanned::new(prose(&task.value), task.span));
    }
    let mut draft = Draft { steps: items.into_iter().map(|item| item.step).collect(), ..Draft::default() };
    settle(&mut draft);
    draft
}

/// A valid, unique id for every task.
fn unique_ids(items: &[ImportedItem]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    // The next suffix per name: thousands of tasks may share one.
    let mut counts: HashMap<String, u32> = HashMap::new();
    let cut = |name: &str, length: usize| name[..name.len().min(length)].trim_end_matches('-').to_owned();
    let mut id = |item: &ImportedItem| {
        let name =
            legal(&item.name).or_else(|| legal(&item.step.title.value)).unwrap_or_else(|| "task".to_owned());
        // In a list of needs, this word means "none".
        let name = if name == "none" { "task-none".to_owned() } else { cut(&name, ID_CHARS_MAX) };
        let count = counts.entry(name.clone()).or_insert(1);
        loop {
            let ending = format!("-{count}");
            let tried =
                if *count == 1 { name.clone() } else { cut(&name, ID_CHARS_MAX - ending.len()) + &ending };
            *count += 1;
            if taken.insert(tried.clone()) {
                return tried;
            }
        }
    };
    items.iter().map(&mut id).collect()
}

/// Maps ids to tasks, in the spellings that people use.
struct Places {
    exact: HashMap<String, usize>,
    loose: HashMap<String, usize>,
}

impl Places {
    fn of(items: &[ImportedItem]) -> Self {
        let mut places = Self { exact: HashMap::new(), loose: HashMap::new() };
        for (place, item) in items.iter().enumerate().filter(|(_, item)| !item.key.is_empty()) {
            places.exact.entry(item.key.clone()).or_insert(place);
            places.loose.entry(item.key.to_lowercase()).or_insert(place);
        }
        places
    }

    /// The positions of needed tasks, and the names of unknown ones.
    fn resolve(&self, item: &ImportedItem, own: usize) -> (Vec<Spanned<usize>>, Vec<String>) {
        let (mut found, mut lost, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for need in &item.needs {
            match self.find(item, own, &need.value) {
                Some(place) if place == own => lost.push("itself".to_owned()),
                Some(place) if seen.insert(place) => found.push(Spanned::new(place, need.span)),
                Some(_) => {}
                None => lost.push(need.value.clone()),
            }
        }
        (found, lost)
    }

    /// The task that a name means to the one at position `own`. A number may refer to a sibling or to a task of the
    /// list: the nearer one is meant, unless it comes later and the other one before. Otherwise tasks would depend on
    /// each other.
    fn find(&self, item: &ImportedItem, own: usize, name: &str) -> Option<usize> {
        let name = name.trim();
        // `US-001 (the schema)`, `#12`, `task-7: Title`
        let word = name.trim_start_matches('#').split([' ', ':', '(', ',']).next().unwrap_or_default();
        let scoped =
            |tried: &str| item.scopes.iter().map(|scope| format!("{scope}{tried}")).collect::<Vec<_>>();
        let tries = [name, word].into_iter().filter(|tried| !tried.is_empty());
        tries.into_iter().find_map(|tried| {
            let keys = scoped(tried);
            let exact: Vec<usize> = keys.iter().filter_map(|key| self.exact.get(key).copied()).collect();
            let before = exact.iter().find(|&&place| place < own && Some(place) != item.parent);
            let loose = || keys.iter().find_map(|key| self.loose.get(&key.to_lowercase()));
            before.or(exact.first()).or_else(loose).copied()
        })
    }
}

/// The needs implied by nesting, without those that would form a cycle.
fn implied(items: &[ImportedItem], said: &[Vec<Spanned<usize>>]) -> Vec<Vec<usize>> {
    let mut implied: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    let ancestors = |place: usize| {
        std::iter::successors(items[place].parent, |&above| items[above].parent).take(ANCESTORS_MAX)
    };
    for place in 0..items.len() {
        let Some(parent) = items[place].parent.filter(|&parent| parent != place) else { continue };
        implied[parent].push(place);
        for above in ancestors(place) {
            let others = said[above].iter().map(|need| need.value);
            let outside = others.filter(|&need| need != place && !ancestors(need).any(|over| over == above));
            let room = INHERITED_MAX.saturating_sub(implied[place].len());
            implied[place].extend(outside.take(room).collect::<Vec<_>>());
        }
    }
    let knots = knots(said, &implied);
    for (place, waits) in implied.iter_mut().enumerate() {
        waits.retain(|&need| need != place && knots[need] != knots[place]);
    }
    implied
}

/// The strongly connected component of each task; most are alone in theirs.
fn knots(said: &[Vec<Spanned<usize>>], implied: &[Vec<usize>]) -> Vec<usize> {
    let needs = said.iter().zip(implied).map(|(said, implied)| {
        said.iter().map(|need| need.value).chain(implied.iter().copied()).collect::<Vec<_>>()
    });
    let mut knots = vec![0; said.len()];
    for (knot, places) in Graph::new(needs.collect()).components().iter().enumerate() {
        for &place in places {
            knots[place] = knot;
        }
    }
    knots
}
