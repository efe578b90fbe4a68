//! Writes a named plan from a draft of any dialect.

use super::status;
use crate::dialect::NewPlan;
use crate::dialect::frontmatter;
use crate::plan::draft::{ContractDraft, Draft, StepDraft};
use crate::syntax::markdown::outside_code;
use crate::syntax::source::{Spanned, texts};
use crate::syntax::text::unbroken;

/// A new text with the meaning of the draft.
pub(super) fn compose(draft: &Draft, birth: &NewPlan<'_>) -> String {
    let mut text = frontmatter(draft);
    let title = draft.title.as_ref().map_or("", |title| title.value.as_str());
    let state = draft.state.as_ref().and_then(|state| super::spell(state.value)).unwrap_or("planning");
    text.push_str(&format!("# {}\n\n**Status:** {state}\n", unbroken(title)));
    let day: String = birth.now.chars().take("2026-11-16".len()).collect();
    text.push_str(&format!("**Created:** {day}\n"));
    for (label, value) in [("Priority", &draft.priority), ("Budget", &draft.budget)] {
        text.extend(value.as_ref().map(|value| format!("**{label}:** {}\n", unbroken(&value.value))));
    }
    if let Some(context) = &draft.context {
        text.push_str(&format!("\n## Goal\n\n{}\n", tame(&context.value)));
    }
    text.push_str("\n## Tasks\n");
    for step in &draft.steps {
        text.push('\n');
        text.push_str(&task(step));
    }
    if !draft.notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        text.extend(draft.notes.iter().map(|note| format!("- {}\n", unbroken(&note.value))));
    }
    text
}

fn frontmatter(draft: &Draft) -> String {
    let lines = frontmatter::lists(&[("depends_on", &draft.depends_on), ("touches", &draft.touches)]);
    if lines.is_empty() { lines } else { format!("---\n{lines}---\n") }
}

fn task(step: &StepDraft) -> String {
    let mut text = format!("### {}. {}\n", step.number.value, unbroken(&step.title.value));
    let names = |names: &[Spanned<String>]| match names {
        [] => "none".to_owned(),
        names => texts(names).join(", "),
    };
    let said = [
        ("Id", step.id.as_ref().map(|id| unbroken(&id.value))),
        ("Agent", step.target.as_ref().map(|agent| unbroken(&agent.value))),
        ("Depends on", step.needs.as_deref().map(names)),
        ("Touches", step.touches.as_deref().map(names)),
        ("What", step.task.as_ref().map(|task| indented(&task.value))),
    ];
    text.extend(said.into_iter().filter_map(|(label, value)| Some(format!("- **{label}:** {}\n", value?))));
    if step.task.is_none() {
        // Without the label, the title would be parsed as the task.
        text.push_str("- **What:**\n");
    }
    if !step.accept.is_empty() {
        let items = step.accept.iter().map(|item| format!("\n  - {}", unbroken(&item.value)));
        text.push_str(&format!("- **Acceptance:**{}\n", items.collect::<String>()));
    }
    if let Some(contract) = &step.contract {
        text.push_str(&format!("- **Verification:**{}\n", verification(contract)));
    }
    text.push_str(&format!("- **Status:** {}\n", status::boxed(step.mark())));
    text
}

fn verification(contract: &ContractDraft) -> String {
    let Some(command) = &contract.command else { return " manual".to_owned() };
    let code = contract.expect.as_ref().map(|code| format!(" exits {}", code.value)).unwrap_or_default();
    let command = command.value.trim_end_matches('\n');
    if !command.contains(['\n', '`'])
        && code.is_empty() == contract.expect.is_none()
        && !command.trim().is_empty()
    {
        return format!(" `{}`{code}", command.trim());
    }
    let ticks = command.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(ticks.max(2) + 1);
    let lines: String = command.lines().map(|line| format!("\n  {line}")).collect();
    let expected = if code.is_empty() { String::new() } else { format!("\n  It{code}") };
    format!("\n  {fence}bash{lines}\n  {fence}{expected}")
}

/// Text after a label: the lines below the first are part of the list item.
fn indented(text: &str) -> String {
    let lines: Vec<String> = text
        .trim_end()
        .lines()
        .enumerate()
        .map(
            |(index, line)| if index == 0 || line.is_empty() { line.to_owned() } else { format!("  {line}") },
        )
        .collect();
    lines.join("\n")
}

/// Prose that is safe in a section: headings that would end it, or be parsed as tasks, become bold.
fn tame(text: &str) -> String {
    let (tamed, _) = outside_code(text.trim(), |line| {
        let bare = line.trim_start();
        match bare.strip_prefix('#') {
            Some(heading) => format!("**{}**", heading.trim_start_matches('#').trim()),
            None => line.to_owned(),
        }
    });
    tamed
}
