//! `export`: a plan as a text for other programs and for people who have no planwright.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::ValueEnum;
use planwright_engine::core::view::{self, PlanView, StepView};
use planwright_engine::runs::{Run, Runs};
use planwright_engine::store::{self, Text};
use planwright_engine::{clock, project};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Opened, open, shown};
use crate::out::picture::{self, Picture};
use crate::out::{Answer, Failure, Out, Tone, clean, clean_line};

mod page;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan
    plan: String,
    /// The form
    #[arg(long, value_enum, value_name = "FORM")]
    to: Form,
    /// Where it goes; standard output where that is not said
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Everything that the plan says, for programs
    Json,
    /// A flowchart for markdown pages
    Mermaid,
    /// A graph for Graphviz
    Dot,
    /// A report for people: what the plan says and how its run stands
    Markdown,
    /// The report as one page for a browser
    Html,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Exported {
    /// The plan.
    pub(crate) plan: PlanView,
    /// The form.
    pub(crate) form: String,
    /// The file; `None` where it went to standard output.
    pub(crate) path: Option<String>,
    /// The text.
    pub(crate) text: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let Opened { path, project, source, .. } = open(&args.plan)?;
    let verified = project.check(Text::Plan(source))?;
    let draft = verified.draft.clone().unwrap_or_default();
    let name = project::name(&path);
    let plan = PlanView::of(name, &verified.source, &draft, verified.plan.as_ref());
    let run = match Runs::open_existing(&project)? {
        Some(runs) => runs.latest(&path)?,
        None => None,
    };
    let picture = Picture { plan: &plan, graph: &view::graph(&draft) };
    let text = match args.to {
        Form::Json => serde_json::to_string_pretty(&plan).unwrap_or_default() + "\n",
        Form::Mermaid => picture::mermaid(&picture),
        Form::Dot => picture::dot(&picture),
        Form::Markdown => report(&picture, run.as_ref()),
        Form::Html => page::page(&plan.title, &report(&picture, run.as_ref())),
    };
    match &args.output {
        Some(file) => {
            store::create(file, &text)?;
            out.line(&format!("{}  {}", out.palette().paint(Tone::Good, "wrote"), clean_line(&shown(file))));
        }
        None if out.settings().stdout.is_terminal => out.data(&clean(&text)),
        None => out.data(&text),
    }
    let form = args.to.to_possible_value().map(|form| form.get_name().to_owned()).unwrap_or_default();
    Ok(Answer::done("export", &Exported { plan, form, path: args.output.as_deref().map(shown), text }))
}

/// What the plan says, as a page of markdown. What contracts have proven is told apart from what the file claims.
fn report(picture: &Picture<'_>, run: Option<&Run>) -> String {
    let plan = picture.plan;
    let mut text = format!("# {}\n\n", clean_line(&plan.title));
    let facts = [
        ("plan", plan.path.as_str()),
        ("dialect", &plan.dialect),
        ("status", &plan.status),
        ("owner", &plan.owner),
        ("priority", &plan.priority),
        ("budget", &plan.budget.text),
        ("digest", plan.digest.as_deref().unwrap_or("none: the plan has errors")),
    ];
    for (word, fact) in facts.into_iter().filter(|(_, fact)| !fact.is_empty()) {
        // Writing to a string can't fail.
        let _ = writeln!(text, "- {word}: {}", inline(fact));
    }
    if let Some(run) = run {
        let when = clock::local(run.row.created_at_ms);
        let _ = writeln!(text, "- run: {} of {when}, {}", run.row.id, super::run_word(run));
    }
    if !plan.context.is_empty() {
        let _ = write!(text, "\n{}\n", clean(&plan.context));
    }
    let _ = write!(text, "\n## What waits for what\n\n```mermaid\n{}```\n", picture::mermaid(picture));
    text.push_str("\n## Steps\n");
    for step in &plan.steps {
        text.push_str(&step_report(step, run));
    }
    if !plan.notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        text.extend(plan.notes.iter().map(|note| format!("- {}\n", inline(note))));
    }
    text
}

fn step_report(step: &StepView, run: Option<&Run>) -> String {
    let mut text = format!("\n### {}. {}\n\n", step.number, inline(&step.title));
    let verdict = run.and_then(|run| super::step_word(run, &step.id));
    let verdict = match (verdict, &step.mark) {
        (Some(verdict), _) => verdict,
        (None, Some(mark)) => format!("not run; the file claims that it is {mark}"),
        (None, None) => "not run".to_owned(),
    };
    let _ = writeln!(text, "- verdict: {verdict}");
    let lists = [("after", &step.needs), ("reads", &step.reads), ("accept", &step.accept)];
    if !step.target.is_empty() {
        let _ = writeln!(text, "- target: {}", inline(&step.target));
    }
    for (word, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
        let _ = writeln!(text, "- {word}: {}", inline(&items.join(", ")));
    }
    match &step.contract {
        None => text.push_str("- contract: a person confirms\n"),
        Some(command) => {
            let ticks = fence(command);
            let _ = write!(
                text,
                "- contract, done if it exits with {}:\n\n{ticks}shell\n{}\n{ticks}\n",
                step.exit_code,
                clean(command.trim_end())
            );
        }
    }
    if !step.task.is_empty() {
        let quoted: Vec<String> = clean(&step.task).lines().map(|line| format!("> {line}")).collect();
        let _ = write!(text, "\n{}\n", quoted.join("\n"));
    }
    text
}

/// A fence that nothing in the command can close.
fn fence(command: &str) -> String {
    let longest = command.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// One line that can't become anything else than text of its line.
fn inline(text: &str) -> String {
    clean_line(text).replace('\n', " ")
}
