//! Imports any other Markdown file with a to-do list: its checkboxes, or numbered headings and lists.

use super::checklist::{Checklist, ChecklistLabel, ChecklistStyle, usual_mark};
use super::order::ImportOrder;
use super::{Importer, entitle, is_markdown, outline, ralphex, settle, spec_kit};
use crate::plan::draft::Draft;
use crate::syntax::source::{Source, Span};

pub(super) const FOREIGN: Importer =
    Importer { name: "checklist", tool: "any markdown list", recognises, parse };

pub(super) const STYLE: ChecklistStyle =
    ChecklistStyle { mark: usual_mark, label, order: ImportOrder::Listed };

fn recognises(place: &str, head: &str) -> Option<String> {
    let source = Source::new(place, head);
    let draft = is_markdown(place).then(|| read(&source, source.parts()[0].span))?;
    (!draft.steps.is_empty()).then(|| "a to-do list".to_owned())
}

fn parse(source: &Source) -> Draft {
    let mut draft = read(source, source.parts()[0].span);
    entitle(&mut draft, source.place(), "");
    settle(&mut draft);
    draft
}

/// Parses headings such as `Task 1:`, whose boxes are parts of these tasks; otherwise boxes; otherwise whatever looks
/// like tasks.
pub(super) fn read(source: &Source, part: Span) -> Draft {
    let list = Checklist::read(source, part);
    if let Some(draft) = ralphex::sectioned(&list) {
        return draft;
    }
    boxes(&list)
}

/// Parses the boxes of a file, or otherwise whatever looks like tasks.
pub(super) fn boxes(list: &Checklist<'_>) -> Draft {
    if list.tasks.is_empty() { outline::draft(list) } else { list.draft(STYLE) }
}

fn label(text: &str) -> ChecklistLabel {
    spec_kit::label(text)
}
