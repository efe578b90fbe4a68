//! Imports spec-kit tasks: `specs/<NNN-name>/tasks.md` with `- [ ] T001 [P] [US1] Task in path`, in consecutive phases.

use super::checklist::{Checklist, ChecklistLabel, ChecklistStyle, numbered, usual_mark};
use super::order::ImportOrder;
use super::{Importer, entitle, outline, settle, spec_kitty};
use crate::plan::draft::Draft;
use crate::syntax::source::Source;

pub(super) const FOREIGN: Importer =
    Importer { name: "spec-kit", tool: "spec-kit tasks.md", recognises, parse };

const STYLE: ChecklistStyle = ChecklistStyle { mark: usual_mark, label, order: ImportOrder::Listed };

fn recognises(place: &str, head: &str) -> Option<String> {
    // spec-kitty work packages have such task numbers as well.
    if (spec_kitty::FOREIGN.recognises)(place, head).is_some() {
        return None;
    }
    let coded = |text: &str| code(text.trim_start_matches([' ', '*', '[', '`'])).map(str::len);
    let is_task = |line: &str| {
        let behind = line.trim_start().strip_prefix("- [").and_then(|line| line.split_once(']'));
        behind.is_some_and(|(_, text)| coded(text).is_some())
    };
    // Without a box, `T1` may be anything.
    let is_bare = |line: &str| {
        let text = line.strip_prefix("- ").or_else(|| line.strip_prefix("### "));
        text.and_then(coded).is_some_and(|length| length > 2)
    };
    let is_list = place.ends_with("tasks.md") && head.lines().any(is_bare);
    if is_list || head.lines().any(is_task) {
        return Some("tasks numbered such as T001".to_owned());
    }
    let is_feature = place.ends_with("tasks.md") && place.split('/').any(is_feature_folder);
    (is_feature && head.contains("- [")).then(|| "tasks.md in a feature directory".to_owned())
}

/// `001-user-auth`
fn is_feature_folder(name: &str) -> bool {
    name.get(..4)
        .is_some_and(|front| front.ends_with('-') && front[..3].bytes().all(|byte| byte.is_ascii_digit()))
}

fn parse(source: &Source) -> Draft {
    let part = source.parts()[0].span;
    let mut list = Checklist::read(source, part);
    let is_coded = |text: &str| code(text.trim_start_matches(['*', '[', '`'])).is_some();
    if !list.tasks.iter().any(|task| is_coded(source.slice(task.item.text))) {
        // Some lists have no boxes.
        list = Checklist::read_named(source, part, is_coded);
    }
    let mut draft = if list.tasks.is_empty() { outline::draft(&list) } else { list.draft(STYLE) };
    entitle(&mut draft, source.place(), "Tasks");
    settle(&mut draft);
    draft
}

/// The number of a task, `T001` or `T129B`, at the start of a text.
pub(super) fn code(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('T')?.bytes().take_while(u8::is_ascii_digit).count();
    let letters = text.get(1 + digits..)?.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let end = 1 + digits + letters;
    let is_ended = !text[end..].starts_with(|next: char| next.is_alphanumeric() || next == '-');
    ((1..=5).contains(&digits) && letters <= 2 && is_ended).then(|| &text[..end])
}

pub(super) fn label(text: &str) -> ChecklistLabel {
    let bare = text.trim_start_matches(['*', '[', '`']);
    let Some(code) = code(bare) else { return numbered(text) };
    let mut rest = bare[code.len()..].trim_start_matches(['*', ']', '`', ':', '.']).trim_start();
    let mut is_parallel = false;
    // `[P]` and the story that the task belongs to, in any order.
    while let Some((marker, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_marker = marker.len() <= 12 && !behind.starts_with('(');
        if !is_marker {
            break;
        }
        is_parallel |= marker == "P";
        rest = behind.trim_start();
    }
    let rest = rest.trim_start_matches("**").trim_start_matches([':', '-', '–', '—']).trim_start();
    ChecklistLabel { length: text.len() - rest.len(), name: Some(code.to_owned()), is_parallel }
}
