//! Writes a plan record from a draft of any dialect.

use super::spelling::{New, RecordPage};
use super::{patch, spell, word};
use crate::dialect::NewPlan;
use crate::plan::draft::{Draft, FieldValue, StepDraft};
use crate::plan::lifecycle::PlanState;
use crate::syntax::source::{Source, Spanned, texts};
use crate::syntax::text::unbroken;
use crate::syntax::tree::{Node, Value};

/// The creator of a plan without an owner.
const CREATOR: &str = "planner";

/// A new text with the meaning of the draft.
pub(super) fn compose(draft: &Draft, birth: &NewPlan<'_>) -> String {
    let state = draft.state.as_ref().map_or(PlanState::Draft, |state| state.value);
    let creator = draft.owner.0.as_ref().map_or(CREATOR, |owner| owner.value.as_str());
    let title = draft.title.as_ref().map_or("", |title| title.value.as_str());
    let task = match &draft.context {
        Some(context) => format!("{title}\n\n{}", context.value.trim()),
        None => title.to_owned(),
    };
    let mut keys = vec![
        ("id", New::text(birth.id)),
        ("task", New::Text(task)),
        ("status", New::text(spell(state).unwrap_or_default())),
        ("version", New::Number(1)),
        ("currentStepIndex", New::Number(0)),
        ("createdAt", New::text(birth.now)),
        ("updatedAt", New::text(birth.now)),
        ("createdBy", New::text(creator)),
        ("steps", New::List(steps(draft))),
    ];
    let metadata = metadata(draft);
    keys.extend((!metadata.is_empty()).then_some(("metadata", New::Map(metadata))));
    let blank = Source::new("", "");
    let nothing = Node { span: crate::syntax::source::Span::default(), value: Value::Map(Vec::new()) };
    let page = RecordPage::of(&blank, &nothing);
    let lines: String =
        keys.iter().map(|(key, value)| format!("{key}:{}\n", page.behind_colon(value, 0))).collect();
    // The current step follows from the marks.
    let text = Source::new("", lines).written_in(&super::DIALECT);
    text.edited(&patch::touch(&text, birth.now)).text().to_owned()
}

fn metadata(draft: &Draft) -> Vec<(&'static str, New)> {
    let line = |value: &Option<Spanned<String>>| value.as_ref().map(|value| New::text(value.value.as_str()));
    let notes = New::List(draft.notes.iter().map(|note| New::text(note.value.as_str())).collect());
    let keys = [
        ("priority", line(&draft.priority)),
        ("budget", line(&draft.budget)),
        ("notes", Some(notes).filter(|_| !draft.notes.is_empty())),
    ];
    keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

fn steps(draft: &Draft) -> Vec<New> {
    let ids = crate::plan::verified::ids(draft);
    let waits = crate::plan::verified::needs(draft, &ids);
    // If a step depends on a later one, a step between them without `dependsOn` would be parsed as depending on
    // nothing.
    let looks_ahead = waits.iter().enumerate().any(|(place, needs)| needs.iter().any(|&need| need > place));
    let step = |(place, step): (usize, &StepDraft)| {
        let declared = step.needs.as_ref().map(|needs| {
            let index =
                |name: &Spanned<String>| match crate::plan::verified::find_step(draft, &ids, &name.value) {
                    Some(place) => New::Number(place),
                    None => New::text(name.value.as_str()),
                };
            needs.iter().map(index).collect()
        });
        let implied = || looks_ahead.then(|| waits[place].iter().copied().map(New::Number).collect());
        let needs: Option<Vec<New>> = declared.or_else(implied);
        New::Map(step_keys(place, step, needs.as_deref()))
    };
    draft.steps.iter().enumerate().map(step).collect()
}

fn step_keys(place: usize, step: &StepDraft, needs: Option<&[New]>) -> Vec<(&'static str, New)> {
    let said = |value: &Option<String>| value.as_deref().map(New::text);
    let title = unbroken(&step.title.value);
    let trace = &step.trace.0;
    let value = |key: &str| match key {
        "index" => Some(New::Number(place)),
        "description" => Some(New::text(title.as_str())),
        "status" => Some(New::text(word(step.mark()))),
        "executedBy" => said(&trace.executed_by),
        "startedAt" => said(&trace.started_at),
        "completedAt" => said(&trace.completed_at),
        "output" => said(&trace.output),
        "error" => said(&trace.error),
        "affectedFiles" => trace.affected_files.as_ref().map(New::texts),
        "dependsOn" => needs.map(|needs| New::List(needs.to_vec())),
        "instructions" if step.task.as_ref().is_some_and(|task| task.value == title) => None,
        "contract" if step.contract.as_ref().is_some_and(|contract| contract.command.is_none()) => {
            Some(New::text("manual"))
        }
        _ => {
            let field = super::FIELDS.iter().find(|(_, names)| names.contains(&key))?.0;
            match step.value(field) {
                FieldValue::Line(line) => Some(New::text(line?.value.as_str())),
                FieldValue::List(list) => Some(New::texts(&texts(list?))),
                FieldValue::Command(command) => Some(New::text(command?.value.as_str())),
            }
        }
    };
    super::STEP_KEYS.iter().filter_map(|&key| Some((key, value(key)?))).collect()
}
