//! Collects the tasks in a JSON tree in file order, each with the position of its parent.

use std::collections::HashMap;
use std::path::Path;

use super::item;
use super::item::ImportedItem;
use super::{json_task, prose};
use crate::plan::draft::{Draft, Layout, ParseIssue};
use crate::syntax::json;
use crate::syntax::source::{Source, Span, Spanned};
use crate::syntax::text::one_line;
use crate::syntax::tree::Node;

/// The tasks that were found so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub(super) items: Vec<ImportedItem>,
    /// The title of the plan, if the file has one.
    pub(super) title: Option<String>,
    /// What the file says about the plan.
    pub(super) about: Vec<String>,
    pub(super) oddities: Vec<Spanned<ParseIssue>>,
    /// What is not JSON.
    pub(super) faults: Vec<Spanned<String>>,
}

impl Collector {
    /// The values of a source, file by file.
    pub(super) fn of_files(source: &Source) -> (Vec<Node>, Self) {
        let (mut roots, mut found) = (Vec::new(), Self::default());
        for part in source.parts() {
            let (values, faults) = json::read(source.slice(part.span), part.span.start);
            if let [_, second, ..] = values.as_slice() {
                let why = "second value after the end of the first".to_owned();
                found.faults.push(Spanned::new(why, Span::at(second.span.start)));
            }
            roots.extend(values);
            found.faults.extend(faults);
        }
        (roots, found)
    }

    /// The values of a source in JSON Lines. A file that is not in JSON Lines is parsed as a whole.
    pub(super) fn of_lines(source: &Source) -> (Vec<Node>, Self) {
        let starts_item = |line: &str| line.starts_with('{') && line.len() > 1;
        let first = source.text().trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty());
        if !first.is_none_or(|line| starts_item(line.trim_end())) {
            return Self::of_files(source);
        }
        let (mut values, mut found, mut at) = (Vec::new(), Self::default(), 0);
        for line in source.text().split_inclusive('\n') {
            let (read, faults) = json::read(line, at);
            values.extend(read);
            found.faults.extend(faults);
            at += line.len();
        }
        (values, found)
    }

    /// Collects the tasks of a list and their subtasks. `scope` separates their ids from those of other lists.
    pub(super) fn take_list(&mut self, list: &Node, scope: &str) {
        for node in list.items().iter().filter(|node| json_task::says_something(node)) {
            self.take(node, scope, None);
        }
    }

    /// Collects one task and its subtasks; returns its position.
    pub(super) fn take(&mut self, node: &Node, scope: &str, parent: Option<usize>) -> usize {
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

    /// Collects tasks that are done one after the other.
    pub(super) fn take_in_order(&mut self, nodes: &[Node]) {
        let order: Vec<usize> = nodes.iter().map(|node| self.take(node, "", None)).collect();
        self.in_a_row(&order);
    }

    /// Makes each of these tasks depend on the previous one.
    pub(super) fn in_a_row(&mut self, order: &[usize]) {
        for pair in order.windows(2) {
            self.items[pair[1]].after.push(pair[0]);
        }
    }

    /// The first task with each id.
    pub(super) fn places(&self) -> HashMap<String, usize> {
        self.items.iter().enumerate().rev().map(|(place, item)| (item.key.clone(), place)).collect()
    }

    /// Names the plan by the first of these keys, if it has no title yet.
    pub(super) fn name(&mut self, node: &Node, keys: &[&str]) {
        self.title = self.title.take().or_else(|| node.any(keys)?.said());
    }

    /// Takes the title of the plan, and everything in a file that is not a task.
    pub(super) fn describe(&mut self, root: &Node, titles: &[&str], lists: &[&Node]) {
        self.name(root, titles);
        self.about.extend(json_task::about(root, titles, lists));
    }

    /// Records that something makes no sense.
    pub(super) fn unreadable(&mut self, why: &str, span: Span) {
        self.oddities.push(Spanned::new(ParseIssue::Unreadable(why.to_owned()), span));
    }

    /// The plan of all tasks, named after its kind if the file has no title.
    pub(super) fn draft(self, kind: &str) -> Draft {
        let mut draft = item::draft(self.items);
        let Layout(oddities) = &mut draft.oddities;
        oddities.extend(self.oddities);
        oddities.extend(self.faults.into_iter().map(|fault| fault.map(ParseIssue::Unreadable)));
        oddities.sort_by_key(|oddity| oddity.span.start);
        let title = self.title.map(|title| one_line(&title)).filter(|title| !title.is_empty());
        draft.title = Some(Spanned::new(title.unwrap_or_else(|| kind.to_owned()), Span::default()));
        let context = prose(&self.about.join("\n")).trim().to_owned();
        draft.context = (!context.is_empty()).then(|| Spanned::new(context, Span::default()));
        draft
    }
}

/// Whether a file name has this extension, ignoring case.
pub(super) fn is_called(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Whether an id is `3` or `3.1` rather than a name.
fn is_number(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
