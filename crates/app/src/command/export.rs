//! `export`: a plan for other programs and for people without planwright, or its record for auditors.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use planwright_engine::api::{
    ExportOptions, PlanView, ReceiptsView, Run, StepView, create_file, local_time, shown,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::workspace;
use crate::output::picture;
use crate::output::wording;
use crate::output::wording::found::with_findings;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean, clean_line};

mod page;

/// In the project root, whatever the current directory.
const BESIDE: &str = ".planwright/receipts";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to export [default with --receipts: all]
    #[arg(required_unless_present = "receipts")]
    plan: Option<String>,
    /// Format
    #[arg(long, value_enum, value_name = "FORM", required_unless_present = "receipts")]
    to: Option<Form>,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE", conflicts_with = "receipts")]
    output: Option<PathBuf>,
    /// Write the record for verification elsewhere [default directory: .planwright/receipts]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = BESIDE, conflicts_with = "to")]
    receipts: Option<PathBuf>,
    /// Include the output of agents and contracts
    #[arg(long, requires = "receipts")]
    outputs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The whole plan, for programs
    Json,
    /// Flowchart for Markdown pages
    Mermaid,
    /// Graph for Graphviz
    Dot,
    /// Report: the plan and its run
    Markdown,
    /// The report as an HTML page
    Html,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Exported {
    /// The plan; `None` where records were exported.
    pub(crate) plan: Option<PlanView>,
    /// The form.
    pub(crate) form: String,
    /// The file; `None` where it went to standard output.
    pub(crate) path: Option<String>,
    /// The text; empty where records were exported.
    pub(crate) text: String,
    /// The records that were exported.
    pub(crate) receipts: Vec<ReceiptsView>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    match (&args.receipts, &args.plan, args.to) {
        (Some(folder), plan, _) => {
            let folder = Some(folder.as_path()).filter(|folder| *folder != Path::new(BESIDE));
            records(ExportOptions { plan: plan.as_deref(), folder, has_outputs: args.outputs }, out)
        }
        (None, Some(plan), Some(form)) => told(plan, form, args.output.as_deref(), out),
        // The grammar asks for both.
        (None, _, _) => Err(Failure::new(Exit::Usage, "pass a plan and --to")),
    }
}

/// Writes records next to the code.
fn records(options: ExportOptions<'_>, out: &mut Out<'_>) -> Result<Response, Failure> {
    let exported = workspace()?.export_records(options)?;
    for data in &exported.receipts {
        let word = out.palette().paint(Tone::Good, "wrote");
        let path = clean_line(&data.path).into_owned();
        let events = wording::number(data.records, "event");
        out.line(&format!("{word}  {path}   {events}, head {}", &data.head[..8]));
    }
    let next = NextCommand::new(["planwright", "audit"].into_iter().chain(exported.plan.as_deref()));
    let receipts = exported.receipts;
    let exported =
        Exported { plan: None, form: "receipts".to_owned(), path: None, text: String::new(), receipts };
    Ok(Response::done("export", &exported).next(next))
}

fn told(plan: &str, form: Form, output: Option<&Path>, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(plan)?;
    let run = plan.latest_run()?;
    let plan = plan.view()?;
    let text = match form {
        Form::Json => serde_json::to_string_pretty(&plan).unwrap_or_default() + "\n",
        Form::Mermaid => picture::mermaid(&plan),
        Form::Dot => picture::dot(&plan),
        Form::Markdown => report(&plan, run.as_ref()),
        Form::Html => page::page(&plan.title, &report(&plan, run.as_ref())),
    };
    match output {
        Some(file) => {
            create_file(file, &text)?;
            out.line(&format!("{}  {}", out.palette().paint(Tone::Good, "wrote"), clean_line(&shown(file))));
        }
        None => out.filtered(&text),
    }
    let form = form.to_possible_value().map(|form| form.get_name().to_owned()).unwrap_or_default();
    let path = output.map(shown);
    Ok(Response::done("export", &Exported { plan: Some(plan), form, path, text, receipts: Vec::new() }))
}

/// What the plan says, as a page of markdown. Separates what contracts proved from what the file claims.
fn report(plan: &PlanView, run: Option<&Run>) -> String {
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
        let when = local_time(run.row.created_at_ms);
        let state = with_findings(run.word(), run.state.findings().count());
        let _ = writeln!(text, "- run: {} of {when}, {state}", run.row.id);
    }
    if !plan.context.is_empty() {
        let _ = write!(text, "\n{}\n", clean(&plan.context));
    }
    let _ = write!(text, "\n## Dependencies\n\n```mermaid\n{}```\n", picture::mermaid(plan));
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
    let verdict = run.and_then(|run| run.step_word(&step.id));
    let verdict = match (verdict, &step.mark) {
        (Some(verdict), _) => verdict,
        (None, Some(mark)) => format!("not run; the file claims {mark}"),
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
        None => text.push_str("- contract: you confirm it\n"),
        Some(command) => {
            let ticks = fence(command);
            let _ = write!(
                text,
                "- contract, passes with exit code {}:\n\n{ticks}shell\n{}\n{ticks}\n",
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
