//! Imports cc-sdd specs: like Kiro's `tasks.md`, with `(P)` after the number of a parallel task and `_Depends:` lines.

use super::checklist::{Checklist, ChecklistLabel, ChecklistStyle, numbered};
use super::order::ImportOrder;
use super::{Importer, entitle, kiro, settle};
use crate::plan::draft::Draft;
use crate::syntax::source::Source;

pub(super) const FOREIGN: Importer = Importer { name: "cc-sdd", tool: "cc-sdd tasks.md", recognises, parse };

const STYLE: ChecklistStyle = ChecklistStyle { mark: kiro::mark, label, order: ImportOrder::Listed };

/// Marks a task that may run in parallel.
const PARALLEL: &str = "(P)";

fn recognises(place: &str, head: &str) -> Option<String> {
    let is_there = place.ends_with("tasks.md") || head.contains("_Requirements:");
    (is_there && is_parallel_list(head)).then(|| "`(P)` after its task numbers".to_owned())
}

/// Whether tasks of this text say `(P)`.
pub(super) fn is_parallel_list(head: &str) -> bool {
    let is_task = |line: &str| {
        let behind = line.trim_start().strip_prefix("- [").and_then(|line| line.split_once("] "));
        behind.is_some_and(|(_, text)| label(text.trim_start_matches('*')).is_parallel)
    };
    head.contains(PARALLEL) && head.lines().any(is_task)
}

fn parse(source: &Source) -> Draft {
    let mut draft = Checklist::read(source, source.parts()[0].span).draft(STYLE);
    entitle(&mut draft, source.place(), "Implementation Plan");
    settle(&mut draft);
    draft
}

fn label(text: &str) -> ChecklistLabel {
    let number = numbered(text);
    let behind = &text[number.length..];
    match behind.strip_prefix(PARALLEL) {
        Some(rest) if number.name.is_some() => {
            let length = text.len() - rest.trim_start().len();
            ChecklistLabel { length, is_parallel: true, ..number }
        }
        Some(_) | None => number,
    }
}
