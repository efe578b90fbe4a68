//! Collects the tasks in a JSON tree in file order, each with the position of its parent.

use std::path::Path;

use super::item;
use super::item::ImportedItem;
use super::{json_task, prose};
use crate::plan::draft::{Draft, ParseIssue};
use crate::syntax::json::JsonNode;
use crate::syntax::source::{Span, Spanned};

/// The tasks that were found so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub(super) items: Vec<ImportedItem>,
    oddities: Vec<Spanned<ParseIssue>>,
}

impl Collector {
    /// Collects the tasks of a list and their subtasks. `scope` separates their ids from those of other lists.
    pub(super) fn take_list(&mut self, list: &JsonNode, scope: &str) {
        for node in list.items().iter().filter(|node| json_task::says_something(node)) {
            self.take(node, scope, None);
        }
    }

    /// Collects one task and its subtasks; returns its position.
    pub(super) fn take(&mut self, node: &JsonNode, scope: &str, parent: Option<usize>) -> usize {
        let place = self.items.len();
        let mut item = json_task::item(node, place);
        let id = std::mem::take(&mut item.key);
        let above = parent.map(|parent| self.items[parent].key.clone()).filter(|key| !key.is_empty());
        item.scopes = vec![scope.to_owned()];
        item.key = match &above {
            _ if id.is_empty() => String::new(),
            // A number is local to its parent task; a name is unique in the whole list.
            Some(above) if is_number(&id) && !format!("{scope}{id}").starts_with(&format!("{above}.")) => {
                format!("{above}.{id}")
            }
            Some(_) | None => format!("{scope}{id}"),
        };
        if let Some(above) = &above {
            item.scopes.insert(0, format!("{above}."));
        }
        item.name = item.key.replace('/', "-");
        item.parent = parent;
        self.oddities.extend(json_task::unknown_status(node));
        self.items.push(item);
        for list in json_task::lists(node) {
            for child in list.items().iter().filter(|child| json_task::says_something(child)) {
                self.take(child, scope, Some(place));
            }
        }
        place
    }

    /// Records an irregularity.
    pub(super) fn remark(&mut self, oddity: Spanned<ParseIssue>) {
        self.oddities.push(oddity);
    }

    /// Records irregularities.
    pub(super) fn remark_all(&mut self, oddities: impl IntoIterator<Item = Spanned<ParseIssue>>) {
        self.oddities.extend(oddities);
    }

    /// The plan of all tasks.
    pub(super) fn draft(self, faults: Vec<Spanned<ParseIssue>>) -> Draft {
        let mut draft = item::draft(self.items);
        json_task::remark(&mut draft, self.oddities.into_iter().chain(faults));
        draft
    }
}

/// Makes each of these tasks depend on the previous one.
pub(super) fn in_a_row(items: &mut [ImportedItem], order: &[usize]) {
    for pair in order.windows(2) {
        items[pair[1]].after.push(pair[0]);
    }
}

/// Names the plan after a title in the file, or after its kind.
pub(super) fn name(draft: &mut Draft, title: Option<String>, otherwise: &str) {
    let title = title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
    let title = title.filter(|title| !title.is_empty()).unwrap_or_else(|| otherwise.to_owned());
    draft.title = Some(Spanned::new(title, Span::default()));
}

/// Sets the context of the plan.
pub(super) fn explain(draft: &mut Draft, about: &[String]) {
    let text = prose(&about.join("\n"));
    draft.context = (!text.trim().is_empty()).then(|| Spanned::new(text.trim().to_owned(), Span::default()));
}

/// Whether a file name has this extension, ignoring case.
pub(super) fn is_called(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Whether an id is `3` or `3.1` rather than a name.
fn is_number(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
