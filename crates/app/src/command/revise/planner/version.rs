//! The text of the next version: its frontmatter, and which steps it may mark as finished.

use planwright_engine::core::dialect::record;
use planwright_engine::core::dialect::record::RecordReplan;
use planwright_engine::core::plan::draft::Mark;
use planwright_engine::core::plan::edit::{EditError, PlanEdit};
use planwright_engine::core::plan::lifecycle::PlanState;
use planwright_engine::core::plan::verified;
use planwright_engine::core::syntax::source::Source;
use planwright_engine::system::clock;

use super::Args;
use super::case::Case;
use crate::output::Failure;
use planwright_engine::api::unchanged;

/// The same steps once more.
pub(super) fn copied(args: &Args, case: &Case) -> Result<Source, Failure> {
    let now = clock::utc_now();
    let replan = replan(args, case, (&args.changes, &args.reasoning), &now);
    let text = match case.source.dialect().is_native() {
        true => native(case, &case.source),
        false => record::replanned(&case.source, &replan).map(|next| case.source.with(next.text)),
    };
    Ok(text.map_err(|refusal| unchanged(&case.path, &refusal))?)
}

/// What a planner wrote, as the version behind the present one.
pub(super) fn adopted(
    args: &Args,
    case: &Case,
    written: &Source,
    (changes, reasoning): (&str, &str),
) -> Result<Source, EditError> {
    if case.source.dialect().is_native() {
        return native(case, written);
    }
    let now = clock::utc_now();
    let marked = marked(case, written)?;
    let next = record::adopted(&case.source, &marked, &replan(args, case, (changes, reasoning), &now))?;
    Ok(written.with(next.text))
}

fn replan<'a>(
    args: &'a Args,
    case: &'a Case,
    (changes, reasoning): (&'a str, &'a str),
    now: &'a str,
) -> RecordReplan<'a> {
    RecordReplan {
        failed: case.failed.unwrap_or(0),
        error: &case.error,
        discoveries: &args.discoveries,
        constraints: &args.constraints,
        changes,
        reasoning,
        now,
    }
}

fn native(case: &Case, written: &Source) -> Result<Source, EditError> {
    let mut next = marked(case, written)?;
    let is_draft = next.draft().state.as_ref().is_some_and(|state| state.value == PlanState::Draft);
    let keys = [("version", case.next.version.to_string()), ("previousPlanId", case.name.clone())];
    let become_draft = (!is_draft).then_some(PlanEdit::Become { state: PlanState::Draft });
    let set = keys.into_iter().map(|(key, value)| PlanEdit::Set { key: key.to_owned(), value });
    for change in become_draft.into_iter().chain(set) {
        next = next.edited(&next.dialect().patch(&next, &change)?);
    }
    Ok(next)
}

/// The text with the marks of the steps that are finished, and no other, whatever its author says. They are claims there: a run of
/// the new version runs their contracts again.
fn marked(case: &Case, written: &Source) -> Result<Source, EditError> {
    let draft = written.draft();
    let ids = verified::ids(&draft);
    let finished: Vec<&String> = case.finished.iter().map(|&place| &case.ids[place]).collect();
    let changes: Vec<PlanEdit> = draft
        .steps
        .iter()
        .enumerate()
        .filter_map(|(step, was)| {
            let mark = finished.contains(&&ids[step]).then_some(Mark::Done);
            (was.mark() != mark || was.marks.len() > 1).then_some(PlanEdit::Mark { step, mark })
        })
        .collect();
    Ok(written.edited(&written.dialect().patch_all(written, &changes)?))
}
