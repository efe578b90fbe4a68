//! Writes a native plan from a draft of any dialect.

use super::field;
use crate::dialect::NewPlan;
use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, DraftField, FieldValue, Mark, StepDraft};
use crate::syntax::markdown::outside_code;
use crate::syntax::source::{Source, texts};
use crate::syntax::text::{fence, unbroken};
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

/// The fields before the task, in order.
const HEAD: &[DraftField] = &[
    DraftField::Id,
    DraftField::Target,
    DraftField::Needs,
    DraftField::Reads,
    DraftField::Touches,
    DraftField::Sealed,
    DraftField::Tools,
    DraftField::Env,
    DraftField::Network,
    DraftField::Timeout,
    DraftField::ContractTimeout,
    DraftField::Each,
];

pub(super) fn step_text(step: &StepDraft) -> String {
    // The native dialect has no mark for a running step.
    let mark = step.mark().filter(|&mark| mark != Mark::Running);
    let mark = mark.map(|mark| format!("{} ", super::patch::glyph(mark))).unwrap_or_default();
    let mut text = format!("### {}. {mark}{}\n\n", step.number.value, unbroken(&step.title.value));
    text.extend(HEAD.iter().filter_map(|&field| field_text(step, field)));
    text.extend(field_text(step, DraftField::Setup).map(|setup| format!("\n{setup}")));
    if let Some(task) = &step.task {
        text.push_str(&format!("\n**task:**\n{}\n", tame(&task.value, Where::Step)));
    }
    text.extend(field_text(step, DraftField::Accept).map(|accept| format!("\n{accept}")));
    if let Some(contract) = &step.contract {
        let command = field_text(step, DraftField::Contract);
        text.push_str(&format!("\n{}", command.as_deref().unwrap_or("**contract:** manual\n")));
        text.extend(contract.expect.as_ref().map(|code| format!("exit_code == {}\n", code.value)));
    }
    let tail = [DraftField::Green, DraftField::Judge, DraftField::OnFail];
    text.extend(tail.into_iter().filter_map(|field| field_text(step, field)));
    text
}

fn field_text(step: &StepDraft, field: DraftField) -> Option<String> {
    let name = field::LABELS.name(field);
    Some(match step.value(field) {
        FieldValue::Line(line) => format!("**{name}:** {}\n", unbroken(&line?.value)),
        FieldValue::Command(command) => format!("**{name}:**\n{}", fenced(&command?.value)),
        FieldValue::List(Some([])) => format!("**{name}:** none\n"),
        FieldValue::List(needs) if field == DraftField::Needs => {
            format!("**{name}:** {}\n", texts(needs?).join(", "))
        }
        FieldValue::List(items) => {
            let items = items?.iter().map(|item| format!("- {}\n", unbroken(&item.value)));
            format!("**{name}:**\n{}", items.collect::<String>())
        }
    })
}

/// The command in a fence long enough that its content can't close it.
pub(crate) fn fenced(command: &str) -> String {
    let fence = fence(command);
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
