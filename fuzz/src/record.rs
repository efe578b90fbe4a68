//! What must hold of any text that is taken for a plan record.

use planwright_core::dialect;
use planwright_core::dialect::{NewPlan, record as records};
use planwright_core::plan::draft::{Draft, Trace};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::syntax::source::Source;
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

use super::place::assert_draft_inside;
use super::{assert_complaints, assert_others_stay, change};

const NOW: &str = "2026-11-16T10:00:00Z";

/// Any text is read with its places; a change is refused or changes what it says; no write and no new version loses a step.
/// The first line asks for the change.
pub fn record(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (order, text) = text.split_once('\n').unwrap_or(("", text));
    let record = dialect::named("record").expect("it is one of the dialects");
    let source = Source::new(".rawko/plans/plan.yaml", text).written_in(record);
    let before = source.draft();
    assert_draft_inside(source.text(), &before);
    let checked = verify(&Study::of(&source, &before), &Facts::default(), &VerifyLimits::default());
    assert_complaints(&source, &checked);

    let touched = record.touched(&source, NOW);
    assert_eq!(record.meaning(&touched), record.meaning(&source), "a touch changes what the author says");
    let change = asked(order, &before);
    if let Ok(edits) = record.patch(&source, &change) {
        assert_others_stay(source.text(), &edits);
        let after = source.edited(&edits).draft();
        assert_eq!(after.steps.len(), before.steps.len(), "{change:?} takes a step away");
    }
    let replan = records::RecordReplan {
        failed: order.len() % (before.steps.len() + 1),
        error: order,
        discoveries: &[],
        constraints: &[order.to_owned()],
        changes: "",
        reasoning: "",
        now: NOW,
    };
    if let Ok(next) = records::replanned(&source, &replan) {
        let after = source.with(next.text).draft();
        assert_eq!(after.steps.len(), before.steps.len(), "the next version lacks a step");
    }
    let composed = record.compose(&before, &NewPlan { id: "plan", now: NOW });
    let again = source.with(composed.as_str()).draft();
    assert_eq!(again.steps.len(), before.steps.len(), "{composed:?} lacks a step");
    assert!(!records::created_line(&source).contains('\n'), "an event is one line");
    assert_eq!(records::pointer(text), records::pointer(text), "the same text is told the same way");
}

/// The change that the first line asks for.
fn asked(order: &str, draft: &Draft) -> PlanEdit {
    let step = order.len() % (draft.steps.len() + 1);
    let text = || order.get(1..).map(|text| text.replace('\t', "\n"));
    match order.as_bytes().first() {
        Some(b'b') => PlanEdit::Become { state: PlanState::Done },
        Some(b't') => {
            let affected_files = text().map(|text| text.lines().map(str::to_owned).collect());
            let trace = Trace { output: text(), error: text(), affected_files, ..Trace::default() };
            PlanEdit::Trace { step, trace }
        }
        Some(_) | None => change(order, draft.steps.len()),
    }
}
