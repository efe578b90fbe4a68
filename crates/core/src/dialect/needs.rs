//! Edits of step names and needs that several dialects share.

use crate::plan::draft::Draft;
use crate::plan::edit;
use crate::plan::edit::EditError;
use crate::syntax::source::{Edit, Source};

/// The edits that rename a step in the needs of all others.
pub(super) fn followed(draft: &Draft, step: usize, id: &str) -> Vec<Edit> {
    let old = crate::plan::verified::ids(draft).swap_remove(step);
    let needs = draft.steps.iter().filter_map(|step| step.needs.as_ref()).flatten();
    needs.filter(|need| need.value == old).map(|need| Edit::replace(need.span, id)).collect()
}

/// How to add a name to a step's needs.
pub(super) enum AddedNeed {
    Already,
    /// After the last name on the line.
    Behind(Edit),
    /// The step has no needs field yet: these are all the names.
    First(String),
}

/// Adds a need to a step whose needs are on one line.
pub(super) fn added(source: &Source, draft: &Draft, place: usize, on: &str) -> Result<AddedNeed, EditError> {
    let names = edit::declared_needs(draft, place)?;
    if names.iter().any(|name| name == on) {
        return Ok(AddedNeed::Already);
    }
    Ok(match draft.steps[place].needs.iter().flatten().last() {
        Some(last) => {
            let ticks = source.text()[last.span.end..].bytes().take_while(|&byte| byte == b'`').count();
            AddedNeed::Behind(Edit::insert(last.span.end + ticks, format!(", {on}")))
        }
        None => AddedNeed::First(names.into_iter().chain([on.to_owned()]).collect::<Vec<_>>().join(", ")),
    })
}
