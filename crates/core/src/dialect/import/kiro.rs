//! Imports Kiro specs: `.kiro/specs/<name>/tasks.md` with `- [ ] 1. Task`, subtasks `1.1`, and the requirements that
//! each covers.

use super::checklist::{Checklist, ChecklistLabel, ChecklistStyle, numbered, usual_mark};
use super::order::ImportOrder;
use super::{Importer, cc_sdd, entitle, outline, settle};
use crate::plan::draft::{Draft, Mark};
use crate::syntax::source::Source;

pub(super) const FOREIGN: Importer = Importer { name: "kiro", tool: "Kiro tasks.md", recognises, parse };

const STYLE: ChecklistStyle = ChecklistStyle { mark, label, order: ImportOrder::Listed };

fn recognises(place: &str, head: &str) -> Option<String> {
    if cc_sdd::is_parallel_list(head) {
        return None;
    }
    if place.contains(".kiro/specs/") && place.ends_with("tasks.md") {
        return Some("tasks.md in .kiro/specs/".to_owned());
    }
    let says_requirements = head.lines().any(|line| line.trim_start().starts_with("- _Requirements:"));
    (says_requirements && head.contains("- [")).then(|| "`_Requirements:` below its tasks".to_owned())
}

fn parse(source: &Source) -> Draft {
    let part = source.parts()[0].span;
    let list = Checklist::read(source, part);
    let mut draft = if list.tasks.is_empty() { outline::draft(&list) } else { list.draft(STYLE) };
    entitle(&mut draft, source.place(), "Implementation Plan");
    settle(&mut draft);
    draft
}

/// Kiro marks the running task with a dash.
pub(super) fn mark(sign: char) -> Option<Mark> {
    if sign == '-' { Some(Mark::Running) } else { usual_mark(sign) }
}

fn label(text: &str) -> ChecklistLabel {
    // `- [ ]-6. Task`: a dash that was meant for the box.
    let bare = text.trim_start_matches('-');
    let label = numbered(bare);
    let skipped = if label.name.is_some() { text.len() - bare.len() } else { 0 };
    ChecklistLabel { length: label.length + skipped, ..label }
}
