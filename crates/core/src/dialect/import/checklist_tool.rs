//! Importers of tools whose plans are Markdown checklists. Each is a row: how its files are recognised, what it writes
//! into boxes and before tasks, and its usual title.

use super::checklist::{Checklist, ChecklistLabel, ChecklistStyle, numbered, usual_mark};
use super::order::ImportOrder;
use super::{Importer, finished, is_markdown, outline, ralphex, spec_kitty};
use crate::plan::draft::{Draft, Mark};
use crate::syntax::source::{Source, Span};

/// `openspec/changes/<name>/tasks.md` with `## 1. Section` and `- [ ] 1.1 Task`.
pub(super) const OPENSPEC: Importer = Importer {
    name: "openspec",
    tool: "OpenSpec tasks.md",
    recognises: |place, head| {
        if place.contains("openspec/changes/") && place.ends_with("tasks.md") {
            return Some("tasks.md in openspec/changes/".to_owned());
        }
        // Sections numbered like their tasks, without signs of other tools.
        let has_section = head.lines().any(|line| line.starts_with("## 1. "));
        let is_task = |line: &str| line.starts_with("- [ ] 1.1 ") || line.starts_with("- [x] 1.1 ");
        let is_other = head.contains("_Requirements:") || head.contains(PARALLEL);
        let is_told = has_section && head.lines().any(is_task) && !is_other;
        is_told.then(|| "tasks such as `1.1` in a section `## 1.`".to_owned())
    },
    parse: |source| {
        let style = ChecklistStyle { label: numbered, ..STYLE };
        finished(source, boxes(&Checklist::read(source, whole(source)), style), "Tasks")
    },
};

/// Kiro specs: `.kiro/specs/<name>/tasks.md` with `- [ ] 1. Task`, subtasks `1.1`, and the requirements that each
/// covers.
pub(super) const KIRO: Importer = Importer {
    name: "kiro",
    tool: "Kiro tasks.md",
    recognises: |place, head| {
        if is_parallel_list(head) {
            return None;
        }
        if place.contains(".kiro/specs/") && place.ends_with("tasks.md") {
            return Some("tasks.md in .kiro/specs/".to_owned());
        }
        let says_requirements = head.lines().any(|line| line.trim_start().starts_with("- _Requirements:"));
        (says_requirements && head.contains("- [")).then(|| "`_Requirements:` below its tasks".to_owned())
    },
    parse: |source| {
        let style = ChecklistStyle { mark: dashed, label: dashed_number, ..STYLE };
        finished(source, boxes(&Checklist::read(source, whole(source)), style), "Implementation Plan")
    },
};

/// cc-sdd specs: like Kiro's `tasks.md`, with `(P)` after the number of a parallel task and `_Depends:` lines.
pub(super) const CC_SDD: Importer = Importer {
    name: "cc-sdd",
    tool: "cc-sdd tasks.md",
    recognises: |place, head| {
        let is_there = place.ends_with("tasks.md") || head.contains("_Requirements:");
        (is_there && is_parallel_list(head)).then(|| "`(P)` after its task numbers".to_owned())
    },
    parse: |source| {
        let style = ChecklistStyle { mark: dashed, label: parallel_number, ..STYLE };
        finished(source, Checklist::read(source, whole(source)).draft(style), "Implementation Plan")
    },
};

/// spec-kit tasks: `specs/<NNN-name>/tasks.md` with `- [ ] T001 [P] [US1] Task in path`, in consecutive phases.
pub(super) const SPEC_KIT: Importer = Importer {
    name: "spec-kit",
    tool: "spec-kit tasks.md",
    recognises: is_spec_kit,
    parse: |source| {
        let mut list = Checklist::read(source, whole(source));
        let is_coded = |text: &str| code(text.trim_start_matches(['*', '[', '`'])).is_some();
        if !list.tasks.iter().any(|task| is_coded(source.slice(task.text))) {
            // Some lists have no boxes.
            list = Checklist::read_named(source, whole(source), is_coded);
        }
        finished(source, boxes(&list, STYLE), "Tasks")
    },
};

/// Claude Code plans: `~/.claude/plans/<words>.md`, free text with headings, phases and lists.
pub(super) const CLAUDE_PLAN: Importer = Importer {
    name: "claude-plan",
    tool: "Claude Code plan",
    recognises: |place, _| {
        (place.contains(".claude/plans/") && is_markdown(place))
            .then(|| "a file in .claude/plans/".to_owned())
    },
    parse: |source| finished(source, read(source, whole(source)), "Plan"),
};

/// Any other Markdown file with a to-do list: its checkboxes, or numbered headings and lists.
pub(super) const ANY: Importer = Importer {
    name: "checklist",
    tool: "any markdown list",
    recognises: |place, head| {
        let source = Source::new(place, head);
        let draft = is_markdown(place).then(|| read(&source, whole(&source)))?;
        (!draft.steps.is_empty()).then(|| "a to-do list".to_owned())
    },
    parse: |source| finished(source, read(source, whole(source)), ""),
};

/// What most lists do.
pub(super) const STYLE: ChecklistStyle =
    ChecklistStyle { mark: usual_mark, label: coded, order: ImportOrder::Listed };

/// Marks a task that may run in parallel.
const PARALLEL: &str = "(P)";

/// The first file of a source, which is the only one of these tools.
fn whole(source: &Source) -> Span {
    source.parts()[0].span
}

/// Parses headings such as `Task 1:`, whose boxes are parts of these tasks; otherwise boxes; otherwise whatever looks
/// like tasks.
pub(super) fn read(source: &Source, part: Span) -> Draft {
    let list = Checklist::read(source, part);
    ralphex::sectioned(&list).unwrap_or_else(|| boxes(&list, STYLE))
}

/// Parses the boxes of a file, or otherwise whatever looks like tasks.
pub(super) fn boxes(list: &Checklist<'_>, style: ChecklistStyle) -> Draft {
    if list.tasks.is_empty() { outline::draft(list) } else { list.draft(style) }
}

/// Kiro marks the running task with a dash.
fn dashed(sign: char) -> Option<Mark> {
    if sign == '-' { Some(Mark::Running) } else { usual_mark(sign) }
}

/// `- [ ]-6. Task`: a dash that was meant for the box.
fn dashed_number(text: &str) -> ChecklistLabel {
    let bare = text.trim_start_matches('-');
    let label = numbered(bare);
    if label.name.is_some() { label.behind(text.len() - bare.len()) } else { label }
}

fn parallel_number(text: &str) -> ChecklistLabel {
    let number = numbered(text);
    match text[number.length..].strip_prefix(PARALLEL) {
        Some(rest) if number.name.is_some() => {
            let length = text.len() - rest.trim_start().len();
            ChecklistLabel { length, is_parallel: true, ..number }
        }
        Some(_) | None => number,
    }
}

/// Whether tasks of this text say `(P)`.
fn is_parallel_list(head: &str) -> bool {
    let is_task = |line: &str| {
        let behind = line.trim_start().strip_prefix("- [").and_then(|line| line.split_once("] "));
        behind.is_some_and(|(_, text)| parallel_number(text.trim_start_matches('*')).is_parallel)
    };
    head.contains(PARALLEL) && head.lines().any(is_task)
}

fn is_spec_kit(place: &str, head: &str) -> Option<String> {
    // spec-kitty work packages have such task numbers as well.
    if (spec_kitty::IMPORTER.recognises)(place, head).is_some() {
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

/// The number of a task, `T001` or `T129B`, at the start of a text.
pub(super) fn code(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('T')?.bytes().take_while(u8::is_ascii_digit).count();
    let letters = text.get(1 + digits..)?.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let end = 1 + digits + letters;
    let is_ended = !text[end..].starts_with(|next: char| next.is_alphanumeric() || next == '-');
    ((1..=5).contains(&digits) && letters <= 2 && is_ended).then(|| &text[..end])
}

/// The number of a task with the markers of spec-kit behind it, or a plain number.
pub(super) fn coded(text: &str) -> ChecklistLabel {
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
    ChecklistLabel { is_parallel, ..ChecklistLabel::before(rest, text, code.to_owned()) }
}
