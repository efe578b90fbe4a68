//! The text of the next version: its frontmatter, and which steps it may mark as finished.

use planwright_core::dialect::record;
use planwright_core::dialect::record::RecordReplan;
use planwright_core::plan::draft::Mark;
use planwright_core::plan::edit::{EditError, PlanEdit};
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified;
use planwright_core::syntax::source::Source;

use super::Revision;
use crate::api::error::{Error, unchanged};
use crate::store::plan_count::parse;
use crate::system::clock;

/// The same steps once more.
pub(super) fn copied(revision: &Revision<'_>) -> Result<Source, Error> {
    let now = clock::utc_now();
    let source = revision.source();
    let replan = replan(revision, &revision.options.changes, &revision.options.reasoning, &now);
    let text = match source.dialect().is_native() {
        true => native(revision, source),
        false => record::replanned(source, &replan).map(|next| source.with(next.text)),
    };
    text.map_err(|refusal| unchanged(revision.plan.path(), &refusal))
}

/// What a planner wrote, as the version behind the present one.
pub(super) fn adopted(
    revision: &Revision<'_>,
    written: &Source,
    changes: &str,
    reasoning: &str,
) -> Result<Source, EditError> {
    if revision.source().dialect().is_native() {
        return native(revision, written);
    }
    let now = clock::utc_now();
    let marked = marked(revision, written)?;
    let next = record::adopted(revision.source(), &marked, &replan(revision, changes, reasoning, &now))?;
    Ok(written.with(next.text))
}

fn replan<'a>(
    revision: &'a Revision<'_>,
    changes: &'a str,
    reasoning: &'a str,
    now: &'a str,
) -> RecordReplan<'a> {
    RecordReplan {
        failed: revision.failed.unwrap_or(0),
        error: &revision.error,
        discoveries: &revision.options.discoveries,
        constraints: &revision.options.constraints,
        changes,
        reasoning,
        now,
    }
}

fn native(revision: &Revision<'_>, written: &Source) -> Result<Source, EditError> {
    let mut next = marked(revision, written)?;
    let is_draft = parse(&next).state.as_ref().is_some_and(|state| state.value == PlanState::Draft);
    let keys = [("version", revision.next.version.to_string()), ("previousPlanId", revision.plan.name())];
    let become_draft = (!is_draft).then_some(PlanEdit::Become { state: PlanState::Draft });
    let set = keys.into_iter().map(|(key, value)| PlanEdit::Set { key: key.to_owned(), value });
    for change in become_draft.into_iter().chain(set) {
        next = next.edited(&next.dialect().patch(&next, &change)?);
    }
    Ok(next)
}

/// The text with the marks of the steps that are finished, and no other, whatever its author says. They are claims there: a run of
/// the new version runs their contracts again.
fn marked(revision: &Revision<'_>, written: &Source) -> Result<Source, EditError> {
    let draft = parse(written);
    let ids = verified::ids(&draft);
    let finished: Vec<&String> = revision.finished.iter().map(|&place| &revision.ids[place]).collect();
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
