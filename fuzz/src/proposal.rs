//! What must hold for any text that is taken for a proposal.

use planwright_core::dialect;
use planwright_core::dialect::proposal::{
    CONTEXT_BYTES_MAX, artifacts, checkpoints, config, context_bytes, overflow, sections,
};
use planwright_core::dialect::{Dialect, NewPlan};
use planwright_core::plan::draft::Draft;
use planwright_core::syntax::source::Source;
use planwright_core::verify;
use planwright_core::verify::{Study, VerifyLimits};

use super::place::{assert_draft_inside, assert_inside};
use super::{assert_complaints, assert_others_stay, change, everything, nothing};

const NOW: &str = "2026-11-16T10:00:00Z";

/// Any text is read as a proposal without losing a step: in a change, in a write, in its canonical form and in a plan that is
/// made of it. What a change says beside the change is refused.
pub fn proposal(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (order, text) = text.split_once('\n').unwrap_or(("", text));
    let dialect = dialect::named("proposal").expect("it is in the table");
    let source = Source::new(".pi/plans/PLAN-a1b2c3d4.md", text).written_in(dialect);
    let draft = source.draft();
    assert_draft_inside(text, &draft);
    assert_checked(&source, &draft);
    assert_sections(&source);
    assert_written(dialect, &source, &draft, order);
    checkpoints(text);
    config(text);
}

fn assert_checked(source: &Source, draft: &Draft) {
    let study = Study::of(source, draft);
    let questions = study.questions();
    for facts in [everything(&questions, draft), nothing(&questions)] {
        assert_complaints(source, &verify::verify(&study, &facts, &VerifyLimits::default()));
    }
}

fn assert_sections(source: &Source) {
    for section in sections(source) {
        assert_inside(source.text(), section.span, "the section");
    }
    artifacts(source);
    if let Some(moved) = overflow(source) {
        let after = source.with(moved.text);
        assert!(context_bytes(&after) <= CONTEXT_BYTES_MAX, "what moved is still there");
    }
}

fn assert_written(dialect: &Dialect, source: &Source, draft: &Draft, order: &str) {
    let meant = titles(draft);
    let touched = dialect.touched(source, NOW);
    assert_eq!(titles(&touched.draft()), meant, "a write changes the steps");
    let change = change(order, draft.steps.len());
    if let Ok(edits) = dialect.patch(source, &change) {
        assert_others_stay(source.text(), &edits);
        assert_eq!(source.edited(&edits).draft().steps.len(), meant.len(), "{change:?} loses a step");
    }
    if let Ok(text) = dialect.format(source) {
        let formatted = source.with(text.as_str());
        assert_eq!(formatted.draft(), *draft, "the canonical form says the same");
        assert_eq!(dialect.format(&formatted).as_ref(), Ok(&text), "the canonical form is its own");
    }
    let composed = dialect.compose(draft, &NewPlan { id: "PLAN-0badcafe", now: NOW });
    let composed = source.with(composed);
    // A lone carriage return ends no line for us, but it would for others.
    let meant: Vec<String> = meant.iter().map(|title| title.replace('\r', " ")).collect();
    assert_eq!(
        titles(&composed.draft()),
        meant,
        "a plan that is made of it has other steps:\n{}",
        composed.text()
    );
}

fn titles(draft: &Draft) -> Vec<String> {
    draft.steps.iter().map(|step| step.title.value.clone()).collect()
}
