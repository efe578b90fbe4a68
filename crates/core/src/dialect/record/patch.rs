//! Computes the edits for a change to a plan record. Never edits anything itself.

use std::collections::HashMap;

use super::map::RecordKeys;
use super::read;
use super::read::RecordTree;
use super::spelling::{New, RecordPage, odd};
use super::{METADATA_KEYS, PLAN_KEYS, STEP_KEYS};
use crate::dialect::patch;
use crate::plan::draft::{Draft, Mark, StepNumber, Trace};
use crate::plan::edit;
use crate::plan::edit::{EditError, PlanEdit};
use crate::plan::lifecycle::PlanState;
use crate::syntax::source::{Edit, Source, Span, Spanned};
use crate::syntax::tree::{Node, Value};

/// The limit for an output or an error written into a plan.
pub(super) const OUTPUT_BYTES_MAX: usize = 10 * 1024;

/// The edits for `change` in `source`, parsed as `draft`.
pub(super) fn edits(source: &Source, draft: &Draft, change: &PlanEdit) -> Result<Vec<Edit>, EditError> {
    let tree = RecordTree::of(source);
    let root = tree.whole().ok_or_else(|| odd("the plan has syntax errors"))?;
    let desk = Desk { page: &RecordPage::of(source, root), tree: &tree, root };
    match change {
        PlanEdit::Mark { step, mark } => desk.mark(draft, *step, *mark),
        PlanEdit::Become { state } => desk.set(root, PLAN_KEYS, "status", &word_of(*state)),
        PlanEdit::Trace { step, trace } => desk.trace(*step, trace),
        // New keys go last, so that earlier spans stay valid.
        PlanEdit::Set { key, value } => desk.set(root, &[], key, &New::text(value)),
        PlanEdit::Note { text } => Ok(vec![desk.add("notes", text)?]),
        PlanEdit::Rename { step, id } => desk.set(desk.step(*step)?, STEP_KEYS, "id", &New::text(id)),
        PlanEdit::Need { step, on } => desk.need(draft, *step, on),
        PlanEdit::Move { step, to } => desk.relocate(draft, *step, *to),
        PlanEdit::Renumber => desk.renumber(draft, &(0..draft.steps.len()).collect::<Vec<_>>()),
        PlanEdit::Append { .. } => Err(super::DIALECT.no_word("a new step")),
        PlanEdit::Expand { .. } => Err(super::DIALECT.no_word("expand")),
    }
}

/// Every write updates the time and the current step.
pub(super) fn touch(source: &Source, now: &str) -> Vec<Edit> {
    let tree = RecordTree::of(source);
    let Some(root) = tree.whole() else { return Vec::new() };
    let mut before = read::parse(source);
    let keys = RecordKeys { page: &RecordPage::of(source, root), map: root, order: PLAN_KEYS };
    let written = root.first("updatedAt").and_then(Node::text);
    let touches = [
        ("currentStepIndex", New::Number(current(&before))),
        ("updatedAt", New::text(later(written.unwrap_or_default(), now))),
    ];
    // A key that can't be set stays unchanged: the change itself is written anyway.
    let edits: Vec<Edit> =
        touches.iter().filter_map(|(key, value)| keys.set(key, value).ok().flatten()).collect();
    let mut after = read::parse(&source.edited(&edits));
    for draft in [&mut before, &mut after] {
        super::DIALECT.drop_owned(draft);
    }
    if after == before { edits } else { Vec::new() }
}

/// The current step: the running one, or the first pending step in the whole plan whose dependencies are complete. The
/// number of steps if none is left.
///
/// The dialect's own description searches only after the step just done, and with its previous state, so that
/// completing step 2 of its example would end the plan.
fn current(draft: &Draft) -> usize {
    let ids = crate::plan::verified::ids(draft);
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, id) in ids.iter().enumerate() {
        places.entry(id).or_insert(place);
    }
    let mark = |place: usize| draft.steps[place].mark();
    // A skipped step doesn't block others, as in a run.
    let is_over = |place: usize| matches!(mark(place), Some(Mark::Done | Mark::Skipped));
    let is_ready = |place: &usize| {
        let mut needs = draft.steps[*place].needs.iter().flatten();
        let is_met =
            |need: &Spanned<String>| places.get(need.value.as_str()).is_some_and(|&place| is_over(place));
        mark(*place).is_none() && needs.all(is_met)
    };
    let count = draft.steps.len();
    let find = |wanted: Option<Mark>| (0..count).find(|&place| mark(place) == wanted);
    let has_stopped =
        matches!(draft.state.map(|state| state.value), Some(PlanState::Waiting(_) | PlanState::Failed));
    find(Some(Mark::Running))
        .or_else(|| find(Some(Mark::Failed)).filter(|_| has_stopped))
        .or_else(|| (0..count).find(is_ready))
        .or_else(|| find(Some(Mark::Failed)))
        .or_else(|| find(None))
        .unwrap_or(count)
}

/// The later of two times, if they can be compared: a clock that was set back must not turn the time back.
fn later<'t>(written: &'t str, now: &'t str) -> &'t str {
    let is_same_form = written.len() == now.len() && written.ends_with('Z') && now.ends_with('Z');
    if is_same_form { written.max(now) } else { now }
}

fn word_of(state: PlanState) -> New {
    New::text(super::spell(state).unwrap_or_default())
}

/// The end of a text, with a note if something was cut.
pub(super) fn capped(text: &str) -> String {
    if text.len() <= OUTPUT_BYTES_MAX {
        return text.to_owned();
    }
    let start = text.ceil_char_boundary(text.len() - OUTPUT_BYTES_MAX);
    format!("[{start} bytes cut]\n{}", &text[start..])
}

/// A plan to edit.
pub(super) struct Desk<'a> {
    pub(super) page: &'a RecordPage<'a>,
    pub(super) tree: &'a RecordTree,
    pub(super) root: &'a Node,
}

impl<'a> Desk<'a> {
    pub(super) fn plan(&self) -> RecordKeys<'a> {
        RecordKeys { page: self.page, map: self.root, order: PLAN_KEYS }
    }

    /// The keys of a step, which may be anything but a map.
    pub(super) fn keys(&self, step: usize) -> Result<RecordKeys<'a>, EditError> {
        let steps = self.tree.steps();
        let map = steps.get(step).ok_or(EditError::NoStep { step, count: steps.len() })?;
        Ok(RecordKeys { page: self.page, map, order: STEP_KEYS })
    }

    fn step(&self, step: usize) -> Result<&'a Node, EditError> {
        let node = self.keys(step)?.map;
        node.is_map().then_some(node).ok_or_else(|| odd("the step is not a map"))
    }

    fn set(&self, map: &Node, order: &[&str], key: &str, new: &New) -> Result<Vec<Edit>, EditError> {
        Ok(RecordKeys { page: self.page, map, order }.set(key, new)?.into_iter().collect())
    }

    fn mark(&self, draft: &Draft, step: usize, mark: Option<Mark>) -> Result<Vec<Edit>, EditError> {
        let node = self.step(step)?;
        // An unknown status stays if there is nothing to claim.
        let is_said = node.first("status").is_some();
        if mark.is_none() && (!is_said || draft.steps[step].marks.is_empty()) {
            return Ok(Vec::new());
        }
        self.set(node, STEP_KEYS, "status", &New::text(super::word(mark)))
    }

    fn trace(&self, step: usize, trace: &Trace) -> Result<Vec<Edit>, EditError> {
        let keys = RecordKeys { page: self.page, map: self.step(step)?, order: STEP_KEYS };
        let texts = [
            ("executedBy", trace.executed_by.clone()),
            ("startedAt", trace.started_at.clone()),
            ("completedAt", trace.completed_at.clone()),
            ("output", trace.output.as_deref().map(capped)),
            ("error", trace.error.as_deref().map(capped)),
        ];
        let texts = texts.into_iter().filter_map(|(key, text)| Some((key, New::Text(text?))));
        let files = trace.affected_files.as_ref().map(|files| ("affectedFiles", New::texts(files)));
        let gone = trace.error.as_ref().filter(|error| error.is_empty()).map(|_| "error");
        let mut edits = Vec::new();
        for (key, new) in texts.chain(files) {
            edits.extend(match (gone == Some(key), keys.map.first(key).is_some()) {
                (true, _) => keys.remove(key)?,
                (false, true) => keys.set(key, &new)?,
                (false, false) => Some(keys.insert(key, &new, gone)?),
            });
        }
        Ok(edits)
    }

    /// Adds an item to a list of the metadata.
    pub(super) fn add(&self, key: &'static str, item: &str) -> Result<Edit, EditError> {
        match self.root.first("metadata").filter(|metadata| !metadata.entries().is_empty()) {
            Some(map) => RecordKeys { page: self.page, map, order: METADATA_KEYS }.push(key, New::text(item)),
            None => {
                let list = New::Map(vec![(key, New::List(vec![New::text(item)]))]);
                self.plan().set("metadata", &list)?.ok_or_else(|| odd("the metadata already exists"))
            }
        }
    }

    /// Needs are written as indices; an unknown name is written as it is.
    fn index(draft: &Draft, ids: &[String], name: &str) -> New {
        let place = crate::plan::verified::find_step(draft, ids, name);
        let number = place.map(|place| &draft.steps[place].number.value);
        match number {
            Some(StepNumber::Counted(number)) => New::Number((*number as usize).saturating_sub(1)),
            Some(StepNumber::Template(_)) | None => New::text(name),
        }
    }

    fn need(&self, draft: &Draft, step: usize, on: &str) -> Result<Vec<Edit>, EditError> {
        let keys = RecordKeys { page: self.page, map: self.step(step)?, order: STEP_KEYS };
        let names = edit::declared_needs(draft, step)?;
        if names.iter().any(|name| name == on) {
            return Ok(Vec::new());
        }
        let ids = crate::plan::verified::ids(draft);
        let index = |name: &String| Self::index(draft, &ids, name);
        let has_list = keys.map.first("dependsOn").is_some_and(Node::is_list);
        let edit = match has_list {
            true => Some(keys.push("dependsOn", Self::index(draft, &ids, on))?),
            false => {
                let indexes = names.iter().map(index).chain([Self::index(draft, &ids, on)]).collect();
                keys.set("dependsOn", &New::List(indexes))?
            }
        };
        Ok(edit.into_iter().collect())
    }

    /// Renumbers the steps by their position in `order`, which lists where each was. Dependencies follow.
    fn renumber(&self, draft: &Draft, order: &[usize]) -> Result<Vec<Edit>, EditError> {
        let steps = self.tree.steps();
        let mut now = vec![0; steps.len()];
        for (place, &stood) in order.iter().enumerate() {
            now[stood] = place;
        }
        let mut stood_at: HashMap<usize, usize> = HashMap::new();
        for (place, step) in draft.steps.iter().enumerate() {
            if let StepNumber::Counted(number) = step.number.value {
                stood_at.entry((number as usize).saturating_sub(1)).or_insert(place);
            }
        }
        let mut edits = Vec::new();
        for (place, node) in steps.iter().enumerate() {
            let keys = RecordKeys { page: self.page, map: node, order: STEP_KEYS };
            if node.first("index").is_some() {
                edits.extend(keys.set("index", &New::Number(now[place]))?);
            }
            let listed = node.first("dependsOn");
            let needs = listed.map_or(&[][..], |list| match &list.value {
                Value::List(items) => items,
                Value::Scalar { .. } => std::slice::from_ref(list),
                Value::Map(_) => &[],
            });
            for need in needs {
                let index: Option<usize> = need.text().and_then(|index| index.parse().ok());
                let meant = index.and_then(|index| Some((index, now[*stood_at.get(&index)?])));
                edits.extend(
                    meant
                        .filter(|(index, now)| index != now)
                        .map(|(_, now)| Edit::replace(need.span, now.to_string())),
                );
            }
        }
        Ok(edits)
    }

    /// Moves a step: the texts of the steps change places, the text between them stays where it is.
    fn relocate(&self, draft: &Draft, step: usize, to: usize) -> Result<Vec<Edit>, EditError> {
        self.step(step)?;
        self.step(to)?;
        let slots: Vec<Span> = self.tree.steps().iter().map(|step| step.span).collect();
        let order = patch::moved(slots.len(), step, to);
        Ok(patch::rearrange(self.page.source, &slots, &order, &self.renumber(draft, &order)?))
    }
}
