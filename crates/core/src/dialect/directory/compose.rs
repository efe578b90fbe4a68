//! Writes a directory plan from a draft of any dialect, and formats existing ones.

use std::collections::BTreeSet;

use super::{NOTES, PLAN_FILE, TASK_FOLDER, is_id, task};
use crate::dialect::frontmatter;
use crate::dialect::{NewPlan, native};
use crate::plan::draft::{ContractDraft, Draft, StepDraft};
use crate::plan::verified;
use crate::syntax::source::{FILE_SEPARATOR, Source, SourcePart, Spanned};
use crate::syntax::yaml;

/// A new text with the meaning of the draft, as far as this dialect supports it.
pub(super) fn compose(draft: &Draft, birth: &NewPlan<'_>) -> String {
    let ids = ids(draft);
    let names = verified::ids(draft);
    let waits = verified::needs(draft, &names);
    let mut files = vec![(PLAN_FILE.to_owned(), plan_text(draft, birth))];
    for (place, step) in draft.steps.iter().enumerate() {
        let needs: Vec<String> = match &step.needs {
            // Keep unknown names: only the author knows what was meant.
            Some(needs) => needs
                .iter()
                .map(|need| match verified::find_step(draft, &names, &need.value) {
                    Some(place) => ids[place].clone(),
                    None => need.value.clone(),
                })
                .collect(),
            None => waits[place].iter().map(|&place| ids[place].clone()).collect(),
        };
        let slug = Some(verified::slug(&step.title.value)).filter(|slug| !slug.is_empty());
        let path = format!("{TASK_FOLDER}{:02}-{}.md", place + 1, slug.as_ref().unwrap_or(&ids[place]));
        let text = task_text(step, &path, &ids[place], &needs);
        files.push((path, text));
    }
    // No text may imitate the start of a file.
    let files: Vec<(String, String)> =
        files.into_iter().map(|(path, text)| (path, text.replace(FILE_SEPARATOR, " "))).collect();
    Source::bundle(files.iter().map(|(path, text)| (path.as_str(), text.as_str())))
}

/// A valid task id for every step: its own if possible.
fn ids(draft: &Draft) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut ids = Vec::with_capacity(draft.steps.len());
    for (place, id) in verified::ids(draft).into_iter().enumerate() {
        let base = match verified::slug(&id) {
            _ if is_id(&id) => id,
            slug if is_id(&slug) => slug,
            _ => format!("task-{}", place + 1),
        };
        let counted = (2_usize..).map(|count| format!("{base}-{count}"));
        let free = std::iter::once(base.clone()).chain(counted).find(|id| !taken.contains(id));
        let id = free.unwrap_or(base);
        taken.insert(id.clone());
        ids.push(id);
    }
    ids
}

fn plan_text(draft: &Draft, birth: &NewPlan<'_>) -> String {
    let title = draft.title.as_ref().map(|title| one_line(&title.value)).filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| birth.id.to_owned());
    let mut text = format!("---\ntitle: {}\n", yaml::quote(&title));
    text.extend(keyed("priority", draft.priority.as_ref()));
    text.push_str("---\n");
    text.extend(draft.context.as_ref().map(|context| format!("\n{}\n", context.value.trim_end())));
    if !draft.notes.is_empty() {
        text.push_str(&format!("\n## {NOTES}\n\n"));
        text.extend(draft.notes.iter().map(|note| format!("- {}\n", one_line(&note.value))));
    }
    text
}

fn task_text(step: &StepDraft, path: &str, id: &str, needs: &[String]) -> String {
    let needs: Vec<String> = needs.iter().map(|need| yaml::quote(need)).collect();
    let mut text = format!("---\nid: {}\ndepends_on: [{}]\n", yaml::quote(id), needs.join(", "));
    text.extend(keyed("agent", step.target.as_ref()));
    text.extend(keyed("timeout", step.timeout.as_ref()));
    if !step.accept.is_empty() {
        text.push_str("subtasks:\n");
        text.extend(step.accept.iter().map(|item| format!("  - {}\n", yaml::quote(&one_line(&item.value)))));
    }
    text.push_str("---\n");
    let task = step.task.as_ref().map_or("", |task| task.value.trim_end());
    let title = one_line(&step.title.value);
    // The file name carries the title if it can; otherwise the text starts with it.
    let first = task.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let said = task::title(first).map_or_else(|| task::words(path), str::to_owned);
    if said != title && !title.is_empty() {
        let close = if title.ends_with('#') { " #" } else { "" };
        text.push_str(&format!("\n# {title}{close}\n"));
    }
    if !task.is_empty() {
        text.push_str(&format!("\n{task}\n"));
    }
    match &step.contract {
        Some(contract) if !is_said(path, &text, contract) => with_contract(path, text, contract),
        Some(_) | None => text,
    }
}

/// The text with a contract section. If that section would be parsed differently, the contract becomes text for a
/// person: a command must never come to mean its opposite.
fn with_contract(path: &str, text: String, contract: &ContractDraft) -> String {
    let Some(command) = &contract.command else { return text };
    let fenced = native::fenced(&command.value);
    let expected = expected(contract);
    let tail = if expected == "0" { String::new() } else { format!("\nIt exits {expected}.\n") };
    let section = format!("{text}\n## {}\n\n{fenced}{tail}", task::VERIFICATION);
    if is_said(path, &section, contract) {
        return section;
    }
    let quoted: String = fenced.lines().map(|line| format!("> {line}\n")).collect();
    format!("{text}\nThis must exit with {expected}:\n\n{quoted}")
}

/// The expected exit code.
fn expected(contract: &ContractDraft) -> &str {
    contract.expect.as_ref().map_or("0", |code| code.value.as_str())
}

/// Whether the text already contains the contract.
fn is_said(path: &str, text: &str, contract: &ContractDraft) -> bool {
    let file = Source::bundle([(path, text.replace(FILE_SEPARATOR, " ").as_str())]);
    let read = super::parse(&Source::new(path, file)).steps.pop().and_then(|step| step.contract);
    let command = |contract: &ContractDraft| {
        contract.command.as_ref().map(|command| command.value.trim_end().replace(FILE_SEPARATOR, " "))
    };
    read.is_some_and(|read| command(&read) == command(contract) && expected(&read) == expected(contract))
}

fn keyed(key: &str, value: Option<&Spanned<String>>) -> Option<String> {
    let value = one_line(&value?.value);
    (!value.is_empty()).then(|| format!("{key}: {}\n", yaml::quote(&value)))
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The files in canonical form: LF, no byte order mark, a blank line after the frontmatter, none at the end.
pub(super) fn canonical(source: &Source) -> String {
    let file = |part: &SourcePart| {
        let text = source.slice(part.span).replace("\r\n", "\n").replace('\r', "\n");
        let parts = frontmatter::split(&text);
        let body = text[parts.body..].trim_start_matches('\n').trim_end();
        match parts.block {
            Some(block) if body.is_empty() => format!("{}\n", text[block.start..block.end].trim_end()),
            Some(block) => format!("{}\n\n{body}\n", text[block.start..block.end].trim_end()),
            None if body.is_empty() => String::new(),
            None => format!("{body}\n"),
        }
    };
    let files: Vec<(&str, String)> =
        source.parts().iter().map(|part| (part.path.as_str(), file(part))).collect();
    match files.as_slice() {
        [("", text)] => text.clone(),
        _ => Source::bundle(files.iter().map(|(path, text)| (*path, text.as_str()))),
    }
}
