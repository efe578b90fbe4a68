//! What must hold for any text that is called `PLAN.md`.

use planwright_core::dialect::{self, named as plans};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::syntax::source::Source;

use super::place::assert_draft_inside;
use super::{assert_others_stay, change};

/// Any text can be read as a named plan; its tasks stand one behind the other; a change says what it means or is refused.
/// The first line asks for the change, as it does for `patch`, and is taken for the name of a plan.
pub fn named(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (order, text) = text.split_once('\n').unwrap_or(("", text));
    assert_names(order);
    let Some(named) = dialect::named("named") else { panic!("the dialect is in the table") };
    let source = Source::new("PLAN.md", text).written_in(named);
    let before = source.draft();
    assert_draft_inside(source.text(), &before);
    let mut reach = 0;
    for step in &before.steps {
        assert!(reach <= step.whole.0.start, "two tasks share some text: {:?}", step.title);
        reach = step.whole.0.end;
    }
    assert_eq!((named.skim)(&source).steps.len(), before.steps.len(), "a list shows every task");
    for change in [change(order, before.steps.len()), PlanEdit::Become { state: PlanState::Done }] {
        let Ok(edits) = named.patch(&source, &change) else { continue };
        assert_others_stay(source.text(), &edits);
        let mut meant = before.clone();
        change.apply(&mut meant).expect("a change that was made can be meant");
        assert_eq!(source.edited(&edits).draft().steps, meant.steps, "{change:?}: {edits:?}");
    }
    if let Ok(formatted) = named.format(&source) {
        let again = source.with(formatted.as_str());
        assert_eq!(named.format(&again).as_ref(), Ok(&formatted), "the canonical form is its own");
    }
}

/// A name is one component of a path, and no plan is taken for a copy of one.
fn assert_names(text: &str) {
    let Ok(slug) = plans::slug(text) else { return };
    let file = plans::plan_file(Some(&slug));
    assert!(!file.contains(['/', '\\']) && file != ".." && !file.contains('\0'), "{file:?} is a path");
    assert_eq!(plans::conflict_copy(&file), None, "{file:?} is the name of a plan");
    assert_eq!(plans::plan_of(&file), Some(plans::PlanSlug::Named(slug)), "{file:?} is the name of its plan");
}
