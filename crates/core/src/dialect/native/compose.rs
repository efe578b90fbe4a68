//! Writes a native plan from a draft of any dialect.

use super::field;
use crate::dialect::NewPlan;
use crate::dialect::frontmatter;
use crate::plan::draft::{ContractDraft, Draft, Mark, StepDraft, StepNumber};
use crate::syntax::markdown::outside_code;
use crate::syntax::source::{Source, Spanned};
use crate::syntax::yaml;

/// The owner of a plan that names none.
const OWNER: &str = "orchestrator";

/// A new text with the meaning of the draft.
pub(super) fn compose(draft: &Draft, _: &NewPlan<'_>) -> String {
    let status = draft.state.as_ref().and_then(|state| super::spell(state.value)).unwrap_or("draft");
    let owner = draft.owner.0.as_ref().map_or(OWNER, |owner| owner.value.as_str());
    let title = draft.title.as_ref().map_or("", |title| title.value.as_str());
    let lists = frontmatter::lists(&[("depends_on", &draft.depends_on), ("touches", &draft.touches)]);
    let owner = yaml::quote(owner);
    let mut text = format!("---\ntype: plan\nstatus: {status}\nowner: {owner}\n{lists}---\n\n# {title}\n");
    let prose = [("Context", &draft.context), ("Budget", &draft.budget), ("Priority", &draft.priority)];
    let prose: Vec<String> = prose
        .into_iter()
        .filter_map(|(label, value)| {
            let said = tame(&value.as_ref()?.value, Where::Preamble);
            // A fence counts only at the start of a line.
            let gap = if said.starts_with("```") { '\n' } else { ' ' };
            Some(format!("**{label}:**{gap}{said}\n"))
        })
        .collect();
    if !prose.is_empty() {
        text.push('\n');
        text.push_str(&prose.concat());
    }
    text.push_str("\n## Steps\n");
    for step in &draft.steps {
        text.push('\n');
        text.push_str(&step_text(step));
    }
    if !draft.notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        text.extend(draft.notes.iter().map(|note| format!("- {}\n", note.value)));
    }
    text
}

pub(super) fn step_text(step: &StepDraft) -> String {
    let number = match &step.number.value {
        StepNumber::Counted(number) => number.to_string(),
        StepNumber::Template(text) => text.clone(),
    };
    // The native dialect has no mark for a running step.
    let mark = step.mark().filter(|&mark| mark != Mark::Running);
    let mark = mark.map(|mark| format!("{} ", super::patch::glyph(mark))).unwrap_or_default();
    let mut text = format!("### {number}. {mark}{}\n\n", step.title.value.replace(['\n', '\r'], " "));
    let line = |text: &mut String, label: &str, value: Option<&Spanned<String>>| {
        text.extend(value.map(|value| format!("**{label}:** {}\n", value.value.replace(['\n', '\r'], " "))));
    };
    line(&mut text, "id", step.id.as_ref());
    line(&mut text, "target", step.target.as_ref());
    if let Some(needs) = &step.needs {
        let names: Vec<&str> = needs.iter().map(|need| need.value.as_str()).collect();
        text.push_str(&format!(
            "**needs:** {}\n",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        ));
    }
    list(&mut text, "reads", &step.reads);
    match step.touches.as_deref() {
        Some([]) => text.push_str("**touches:** none\n"),
        Some(touches) => list(&mut text, "touches", touches),
        None => {}
    }
    list(&mut text, "sealed", &step.sealed);
    list(&mut text, "tools", &step.tools);
    list(&mut text, "env", &step.env);
    line(&mut text, "network", step.network.as_ref());
    line(&mut text, "timeout", step.timeout.as_ref());
    line(&mut text, "contract_timeout", step.contract_timeout.as_ref());
    list(&mut text, "each", &step.each);
    if let Some(setup) = &step.setup {
        text.push_str(&format!("\n**setup:**\n{}", fenced(&setup.value)));
    }
    if let Some(task) = &step.task {
        text.push_str(&format!("\n**task:**\n{}\n", tame(&task.value, Where::Step)));
    }
    if !step.accept.is_empty() {
        text.push('\n');
        list(&mut text, "accept", &step.accept);
    }
    if let Some(contract) = &step.contract {
        text.push('\n');
        text.push_str(&contract_text(contract));
    }
    line(&mut text, "green", step.green.as_ref());
    line(&mut text, "judge", step.judge.as_ref());
    line(&mut text, "on_fail", step.on_fail.as_ref());
    text
}

fn list(text: &mut String, label: &str, items: &[Spanned<String>]) {
    if !items.is_empty() {
        text.push_str(&format!("**{label}:**\n"));
        text.extend(items.iter().map(|item| format!("- {}\n", item.value.replace(['\n', '\r'], " "))));
    }
}

fn contract_text(contract: &ContractDraft) -> String {
    let mut text = match &contract.command {
        Some(command) => format!("**contract:**\n{}", fenced(&command.value)),
        None => "**contract:** manual\n".to_owned(),
    };
    text.extend(contract.expect.as_ref().map(|code| format!("exit_code == {}\n", code.value)));
    text
}

/// The command in a fence long enough that its content can't close it.
pub(crate) fn fenced(command: &str) -> String {
    let ticks =
        command.lines().map(|line| line.trim_start().bytes().take_while(|&byte| byte == b'`').count()).max();
    let fence = "`".repeat(ticks.unwrap_or(0).max(2) + 1);
    format!("{fence}shell\n{}\n{fence}\n", command.trim_end_matches('\n'))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// Before the steps, where any heading ends the text.
    Preamble,
    /// In a step, where headings of the same or a higher level end the text.
    Step,
}

/// Prose that is safe in this position: headings that would end it become bold or move below step level and lose their
/// numbers, labels that would be parsed as fields lose their stars, and open fences are closed. Other code stays. Prose
/// that would still be parsed differently is kept as code.
fn tame(text: &str, place: Where) -> String {
    let (mut tamed, fence) = outside_code(text.trim_end(), |line| {
        let bare = line.trim_start();
        let marks = bare.bytes().take_while(|&byte| byte == b'#').count();
        if (1..=6).contains(&marks) && bare[marks..].starts_with([' ', '\t']) {
            let words = bare[marks..].trim();
            return match place {
                Where::Preamble => format!("**{}**", words.trim_matches(['*', ':', ' ', '#'])),
                Where::Step => format!("{} {}", "#".repeat(marks.max(4)), unnumbered(words)),
            };
        }
        match field::is_label(bare) {
            true => line.replacen("**", "", 2),
            false => line.to_owned(),
        }
    });
    if let Some(open) = fence {
        tamed.push_str(&format!("\n{open}"));
    }
    if stays(&tamed) { tamed } else { fenced(text).replacen("shell", "text", 1).trim_end().to_owned() }
}

/// Escapes a heading that would be parsed as a step: `1. Prepare` becomes `1\\. Prepare`.
fn unnumbered(words: &str) -> String {
    let heading = Source::new("heading", format!("### {words}\n"));
    match super::parse(&heading).steps.as_slice() {
        [] => words.to_owned(),
        [..] => match words.find(['.', ')', ':']) {
            Some(sign) => format!("{}\\{}", &words[..sign], &words[sign..]),
            None => format!("\\{words}"),
        },
    }
}

/// Whether prose neither ends its step nor swallows the fields after it.
fn stays(text: &str) -> bool {
    let around = format!("### 1. A\n\n**task:**\n{text}\n\n**contract:** manual\n\n### 2. B\n");
    match super::parse(&Source::new("prose", around)).steps.as_slice() {
        [first, second] => {
            let is_manual = first.contract.as_ref().is_some_and(|contract| contract.is_manual);
            let is_alone = first.fields.0.len() == 2 && first.stray.is_empty() && first.marks.is_empty();
            is_manual && is_alone && second.title.value == "B"
        }
        [..] => false,
    }
}
