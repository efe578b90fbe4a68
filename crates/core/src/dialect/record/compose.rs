//! Writes a plan record from a draft of any dialect.

use super::spelling::{New, RecordPage};
use super::{patch, spell, word};
use crate::dialect::NewPlan;
use crate::plan::draft::{Draft, StepDraft};
use crate::plan::lifecycle::PlanState;
use crate::syntax::source::{Source, Spanned};
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
        New::Map(step_keys(place, step, needs))
    };
    draft.steps.iter().enumerate().map(step).collect()
}

fn step_keys(place: usize, step: &StepDraft, needs: Option<Vec<New>>) -> Vec<(&'static str, New)> {
    let line = |value: Option<&Spanned<String>>| value.map(|value| New::text(value.value.as_str()));
    let said = |value: &Option<String>| value.as_deref().map(New::text);
    let some = |list: &[Spanned<String>]| {
        (!list.is_empty())
            .then(|| New::List(list.iter().map(|item| New::text(item.value.as_str())).collect()))
    };
    let title = step.title.value.replace(['\n', '\r'], " ");
    let contract = step.contract.as_ref();
    let command = contract.map(|contract| match &contract.command {
        Some(command) => New::text(command.value.as_str()),
        None => New::text("manual"),
    });
    let trace = &step.trace.0;
    let task = step.task.as_ref().filter(|task| task.value != title);
    let touches = step.touches.as_ref().map(|touches| New::texts(&crate::syntax::source::texts(touches)));
    let keys = [
        ("index", Some(New::Number(place))),
        ("id", line(step.id.as_ref())),
        ("description", Some(New::text(title.as_str()))),
        ("status", Some(New::text(word(step.mark())))),
        ("suggestedAgent", line(step.target.as_ref())),
        ("executedBy", said(&trace.executed_by)),
        ("startedAt", said(&trace.started_at)),
        ("completedAt", said(&trace.completed_at)),
        ("output", said(&trace.output)),
        ("error", said(&trace.error)),
        ("affectedFiles", trace.affected_files.as_ref().map(New::texts)),
        ("dependsOn", needs.map(New::List)),
        ("instructions", line(task)),
        ("acceptanceCriteria", some(&step.accept)),
        ("reads", some(&step.reads)),
        ("touches", touches),
        ("sealed", some(&step.sealed)),
        ("tools", some(&step.tools)),
        ("env", some(&step.env)),
        ("network", line(step.network.as_ref())),
        ("timeout", line(step.timeout.as_ref())),
        ("setup", step.setup.as_ref().map(|setup| New::text(setup.value.as_str()))),
        ("contract", command),
        ("exitCode", contract.and_then(|contract| line(contract.expect.as_ref()))),
        ("contractTimeout", line(step.contract_timeout.as_ref())),
        ("green", line(step.green.as_ref())),
        ("judge", line(step.judge.as_ref())),
        ("onFail", line(step.on_fail.as_ref())),
    ];
    debug_assert!(keys.iter().map(|(key, _)| *key).eq(super::STEP_KEYS.iter().copied()));
    keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
