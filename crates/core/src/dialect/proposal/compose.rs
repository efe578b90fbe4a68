//! Writes a proposal from a draft of any dialect.

use super::operation::{self, Suffix};
use super::{DIALECT, KEYS, field, item, patch, spell};
use crate::dialect::NewPlan;
use crate::plan::draft::{ContractDraft, Draft, StepDraft};
use crate::plan::edit::number_at;
use crate::plan::verified;
use crate::syntax::markdown::outside_code;
use crate::syntax::source::{Source, Spanned};
use crate::syntax::text::{fence, unbroken};
use crate::syntax::yaml;

/// How to write the author's text.
#[derive(Debug, Clone, Copy)]
enum Prose {
    Plain,
    /// As a block quote, which no fence and no comment can escape.
    Quoted,
}

/// A new text with the meaning of the draft. Text that would hide a step, such as half a fence, is quoted.
pub(super) fn compose(draft: &Draft, birth: &NewPlan<'_>) -> String {
    let plain = written(draft, birth, Prose::Plain);
    let titles =
        |draft: &Draft| draft.steps.iter().map(|step| one_line(&step.title.value)).collect::<Vec<_>>();
    let read = super::skim(&Source::new(birth.id, plain.as_str()).written_in(&DIALECT));
    if titles(&read) == titles(draft) { plain } else { written(draft, birth, Prose::Quoted) }
}

fn written(draft: &Draft, birth: &NewPlan<'_>, prose: Prose) -> String {
    // A step without a tool may use all listed tools, so the plan's list comes first, in its order.
    let mut lists: Vec<&Vec<Spanned<String>>> = draft.steps.iter().map(|step| &step.tools).collect();
    lists.sort_by_key(|tools| std::cmp::Reverse(tools.len()));
    let mut tools: Vec<&str> = Vec::new();
    for tool in lists.into_iter().flatten() {
        if !tools.contains(&tool.value.as_str()) {
            tools.push(&tool.value);
        }
    }
    let mut text = frontmatter(draft, birth, &tools);
    text.push_str("\n## Steps\n");
    let needs = needs(draft);
    for (place, step) in draft.steps.iter().enumerate() {
        text.push_str(&step_text((step, place), needs[place].as_deref(), &tools, prose));
    }
    let lines = [("Priority", &draft.priority), ("Budget", &draft.budget)];
    let lines =
        lines.into_iter().filter_map(|(name, value)| Some(format!("**{name}:** {}", value.as_ref()?.value)));
    let context = draft.context.iter().map(|context| prose.tame(&context.value));
    let pieces: Vec<String> = lines.chain(context).collect();
    if !pieces.is_empty() {
        text.push_str(&format!("\n## Context\n\n{}\n", pieces.join("\n\n")));
    }
    if draft.notes.is_empty() {
        return text;
    }
    let notes: Vec<String> = draft.notes.iter().map(|note| one_line(&note.value)).collect();
    let source = Source::new(birth.id, text).written_in(&DIALECT);
    source.edited(&[patch::append_note(&source, &notes.join("\n- "))]).text().to_owned()
}

/// The thirteen keys of the dialect in order.
fn frontmatter(draft: &Draft, birth: &NewPlan<'_>, tools: &[&str]) -> String {
    let status = draft.state.and_then(|state| spell(state.value)).unwrap_or("proposed");
    let title = draft.title.as_ref().map_or("", |title| title.value.as_str());
    let kept =
        |key: &str| draft.frontmatter.value(key).map(|value| yaml::quote(&value.value)).unwrap_or_default();
    let line = |key: &&str| {
        let value = match *key {
            "id" => yaml::quote(birth.id),
            "title" => patch::quoted(&one_line(title)),
            "status" => status.to_owned(),
            "version" => "1".to_owned(),
            "created_at" | "updated_at" => birth.now.to_owned(),
            "tools_required" => tools.iter().map(|tool| format!("\n  - {}", yaml::quote(tool))).collect(),
            "execution_session" => patch::session(birth.id),
            "planner_model" | "executor_model" => kept(key),
            _ => String::new(),
        };
        let gap = if value.is_empty() || value.starts_with('\n') { "" } else { " " };
        format!("{key}:{gap}{value}\n")
    };
    format!("---\n{}---\n", KEYS.iter().map(line).collect::<String>())
}

/// The needs of each step as written here; `None` means all earlier ones. Steps are referred to by id, or by their new
/// number.
fn needs(draft: &Draft) -> Vec<Option<Vec<String>>> {
    let ids = verified::ids(draft);
    let name = |need: &Spanned<String>| match verified::find_step(draft, &ids, &need.value) {
        Some(place) => {
            draft.steps[place].id.as_ref().map_or_else(|| number_at(place).to_string(), |id| id.value.clone())
        }
        None => one_line(&need.value),
    };
    draft.steps.iter().map(|step| step.needs.as_ref().map(|needs| needs.iter().map(name).collect())).collect()
}

fn step_text(
    (step, place): (&StepDraft, usize),
    needs: Option<&[String]>,
    tools: &[&str],
    prose: Prose,
) -> String {
    let number = format!("{}. ", number_at(place));
    let indent = " ".repeat(number.len());
    let (first, body) = first_and_body(step);
    let mut text = format!("{number}{first}\n");
    for line in fields(step, needs, (&first, body.last().copied().unwrap_or_default(), tools)) {
        text.push_str(&format!("{indent}- {line}\n"));
    }
    text.extend(step.setup.as_ref().map(|setup| fenced("setup", &setup.value, &indent)));
    text.extend(step.contract.as_ref().map(|contract| contract_text(contract, &indent)));
    if !body.is_empty() {
        text.push('\n');
        let joined = body.join("\n");
        let tamed = prose.tame(&joined);
        text.extend(tamed.lines().map(|line| match line.trim().is_empty() {
            true => "\n".to_owned(),
            false => format!("{indent}{line}\n"),
        }));
    }
    text
}

/// The first line of a step, and the lines of its task below. If the task starts with the title, the title is not
/// repeated.
fn first_and_body(step: &StepDraft) -> (String, Vec<&str>) {
    let title = one_line(&step.title.value);
    let task: Vec<&str> = step.task.as_ref().map(|task| task.value.lines().collect()).unwrap_or_default();
    let begins = task.first().is_some_and(|first| operation::divide(first).0 == title);
    let (first, body) = if begins { (task[0].to_owned(), task[1..].to_vec()) } else { (title.clone(), task) };
    let ends_in_tool = |line: &&str| matches!(operation::divide(line.trim_start()).1, Suffix::Tool(_));
    // Brackets that don't name a tool must not be parsed as one: in the title, and at the end of the text below.
    let is_kept = operation::divide(&first).0 == title
        && !(first == title && step.tools.is_empty() && body.last().is_some_and(ends_in_tool));
    // An empty item would end before the blank line below it.
    let is_kept = is_kept && !first.is_empty();
    let first = if is_kept { first } else { format!("{title} ()").trim_start().to_owned() };
    let is_boxed = item::read(&format!("- {first}")).is_some_and(|item| item.checkbox.is_some());
    (if is_boxed { format!("[ ] {first}") } else { first }, body)
}

/// The fields of a step on one line each.
fn fields(
    step: &StepDraft,
    needs: Option<&[String]>,
    (first, last, tools): (&str, &str, &[&str]),
) -> Vec<String> {
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let texts =
        |items: &[Spanned<String>]| items.iter().map(|item| one_line(&item.value)).collect::<Vec<_>>();
    let one = |value: &Option<Spanned<String>>| texts(value.as_slice());
    let some_list = |names: Vec<String>| if names.is_empty() { Vec::new() } else { vec![names.join(", ")] };
    let said = match (operation::divide(first).1, operation::divide(last.trim_start()).1) {
        (Suffix::Tool(operation), _) | (Suffix::Absent, Suffix::Tool(operation)) => vec![operation.tool],
        (Suffix::Empty | Suffix::Absent, _) => tools.iter().map(|&tool| tool.to_owned()).collect(),
    };
    let own = Some(texts(&step.tools)).filter(|own| *own != said).unwrap_or_default();
    let fields = [
        ("id", one(&step.id)),
        ("agent", one(&step.target)),
        ("needs", needs.map(list).into_iter().collect()),
        ("reads", some_list(texts(&step.reads))),
        ("touches", step.touches.iter().map(|touches| list(&texts(touches))).collect()),
        ("sealed", some_list(texts(&step.sealed))),
        ("tools", some_list(own)),
        ("env", texts(&step.env)),
        ("network", one(&step.network)),
        ("timeout", one(&step.timeout)),
        ("contract_timeout", one(&step.contract_timeout)),
        ("accept", texts(&step.accept)),
        ("green", one(&step.green)),
        ("judge", one(&step.judge)),
        ("on_fail", one(&step.on_fail)),
    ];
    let lines = |(name, values): (&str, Vec<String>)| {
        values.into_iter().map(|value| format!("**{name}:** {value}")).collect::<Vec<_>>()
    };
    fields.into_iter().flat_map(lines).collect()
}

fn contract_text(contract: &ContractDraft, indent: &str) -> String {
    let mut text = match &contract.command {
        Some(command) => fenced("verify", &command.value, indent),
        None => format!("{indent}- **verify:** manual\n"),
    };
    text.extend(
        contract.expect.as_ref().map(|code| format!("{indent}- **exit_code:** {}\n", one_line(&code.value))),
    );
    text
}

/// A command below its label: in backticks if it is a single line without any, otherwise in a fence.
fn fenced(name: &str, command: &str, indent: &str) -> String {
    let bare = command.trim_end_matches('\n');
    if !bare.contains(['`', '\n', '\r']) && !bare.trim().is_empty() && bare.trim() == bare {
        return format!("{indent}- **{name}:** `{bare}`\n");
    }
    let fence = fence(command);
    let lines: String = bare.split('\n').map(|line| format!("{indent}  {line}\n")).collect();
    format!("{indent}- **{name}:**\n{indent}  {fence}shell\n{lines}{indent}  {fence}\n")
}

impl Prose {
    fn tame(self, text: &str) -> String {
        // A lone carriage return is not a line break for us, but it is in Markdown.
        let text = text.replace("\r\n", "\n").replace('\r', " ");
        match self {
            Self::Plain => tamed(&text),
            Self::Quoted => {
                text.trim_end().lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Prose without steps: headings that would start steps become text, labels lose their stars. Code stays.
fn tamed(text: &str) -> String {
    let (tamed, _) = outside_code(text.trim_end(), |line| {
        let bare = line.trim_start();
        let name = bare.trim_start_matches('#').trim();
        let is_divider = ["steps", "step", "context"].iter().any(|word| verified::slug(name).ends_with(word));
        if name.len() < bare.len() && bare.starts_with('#') && is_divider {
            return format!("**{name}**");
        }
        if field::is_field(bare) { line.replacen("**", "", 2) } else { line.to_owned() }
    });
    tamed
}

fn one_line(text: &str) -> String {
    unbroken(text).trim().to_owned()
}
