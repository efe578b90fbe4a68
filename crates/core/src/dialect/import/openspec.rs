//! Imports `OpenSpec` changes: `openspec/changes/<name>/tasks.md` with `## 1. Section` and `- [ ] 1.1 Task`.

use super::checklist::{Checklist, ChecklistStyle, numbered, usual_mark};
use super::order::ImportOrder;
use super::{Importer, entitle, outline, settle};
use crate::plan::draft::Draft;
use crate::syntax::source::Source;

pub(super) const FOREIGN: Importer =
    Importer { name: "openspec", tool: "OpenSpec tasks.md", recognises, parse };

const STYLE: ChecklistStyle =
    ChecklistStyle { mark: usual_mark, label: numbered, order: ImportOrder::Listed };

fn recognises(place: &str, head: &str) -> Option<String> {
    if place.contains("openspec/changes/") && place.ends_with("tasks.md") {
        return Some("tasks.md in openspec/changes/".to_owned());
    }
    // Sections numbered like their tasks, without signs of other tools.
    let has_section = head.lines().any(|line| line.starts_with("## 1. "));
    let has_task = head.lines().any(|line| line.starts_with("- [ ] 1.1 ") || line.starts_with("- [x] 1.1 "));
    let is_other = head.contains("_Requirements:") || head.contains("(P)");
    (has_section && has_task && !is_other).then(|| "tasks such as `1.1` in a section `## 1.`".to_owned())
}

fn parse(source: &Source) -> Draft {
    let list = Checklist::read(source, source.parts()[0].span);
    let mut draft = if list.tasks.is_empty() { outline::draft(&list) } else { list.draft(STYLE) };
    entitle(&mut draft, source.place(), "Tasks");
    settle(&mut draft);
    draft
}
