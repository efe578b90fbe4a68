//! `show`: a plan, one of its steps in full, or its dependency graph.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::ValueEnum;
use planwright_engine::api::{CheckCounts, PlanView, ShowOptions, StepView, dialect_line};

use crate::interaction::planner::tell_reasoning;
use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::picture;
use crate::output::wording::found;
use crate::output::{Cell, Failure, Glyphs, NextCommand, Out, Response, Table, Tone, clean, clean_line};

/// How much of the text in front of the steps is shown; the file has the rest.
const CONTEXT_LINES_MAX: usize = 8;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan, or PLAN/STEP [default: the plan this worktree uses]
    #[arg(value_name = "PLAN[/STEP]", default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    /// Show step N only
    #[arg(value_name = "task N", num_args = 0..=2)]
    pub(crate) task: Vec<String>,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Draw the dependency graph
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, default_missing_value = "ascii")]
    graph: Option<Form>,
    /// Show a section, such as `Tool Outputs` or `context/notes`
    #[arg(long, value_name = "NAME", conflicts_with = "graph")]
    section: Option<String>,
    /// Show what another role is told
    #[arg(long = "for", value_enum, value_name = "WHO", conflicts_with_all = ["graph", "section"])]
    reader: Option<Reader>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reader {
    /// The arbiter, which chooses agents and actions
    Arbiter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For the terminal
    Ascii,
    /// Mermaid, for Markdown pages
    Mermaid,
    /// Graphviz
    Dot,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(&args.plan)?;
    let has_arbiter_prompt = args.reader == Some(Reader::Arbiter);
    let mut view = plan.show(ShowOptions { section: args.section.as_deref(), has_arbiter_prompt })?;
    view.graph = args.graph.map(|form| draw(form, &view.plan));
    if let Some(place) = plan.step() {
        view.plan.steps = vec![view.plan.steps.swap_remove(place)];
    }
    if let Some(told) = &view.told {
        out.data(&clean(told));
    } else if let Some(section) = &view.section {
        out.data(&format!("{}\n", clean(&section.text)));
    } else if let Some(graph) = &view.graph {
        print_graph(args, &view.plan, graph, out);
    } else if plan.step().is_some() {
        print_step(&view.plan, &view.plan.steps[0], &view.proven, out);
    } else {
        print_plan(&view.plan, (&dialect_line(plan.source()), &view.proven), out);
        tell_reasoning("why", &view.reasoning, out);
        found::print(&view.findings, out);
    }
    if view.errors + view.warnings > 0 {
        let counts = CheckCounts { errors: view.errors, warnings: view.warnings, fixable: 0 };
        out.talk(&format!("the checker finds {counts}"));
    }
    let next = NextCommand::new(["planwright", "verify", view.plan.path.as_str()]);
    Ok(Response::done("show", &view).next(next))
}

fn draw(form: Form, plan: &PlanView) -> String {
    match form {
        Form::Ascii => picture::ascii(plan),
        Form::Mermaid => picture::mermaid(plan),
        Form::Dot => picture::dot(plan),
    }
}

fn print_graph(args: &Args, plan: &PlanView, graph: &str, out: &mut Out<'_>) {
    let glyphs = out.settings().glyphs;
    let text = |text: &str| if glyphs == Glyphs::Ascii { in_ascii(text) } else { text.to_owned() };
    match args.graph {
        Some(Form::Ascii) => out.data(&text(graph)),
        Some(Form::Mermaid | Form::Dot) | None => out.data(graph),
    }
    if args.graph == Some(Form::Ascii) {
        for (index, wave) in plan.waves.iter().enumerate() {
            out.line(&clean_line(&format!("wave {}   {}", index + 1, wave.join(", "))));
        }
        out.line(&clean_line(&format!("longest chain   {}", plan.critical_path.join(&text(" → ")))));
    }
}

/// A picture without the lines and arrows that a terminal may lack; what the plan says stays.
fn in_ascii(picture: &str) -> String {
    let mut text = String::with_capacity(picture.len());
    for character in picture.chars() {
        match character {
            '─' | '═' | '┈' => text.push('-'),
            '│' | '║' | '┊' => text.push('|'),
            '↓' | '⇣' => text.push('v'),
            '↑' | '⇡' => text.push('^'),
            '→' | '⇢' => text.push('>'),
            '←' | '⇠' => text.push('<'),
            '\u{2500}'..='\u{257f}' => text.push('+'),
            _ => text.push(character),
        }
    }
    text
}

fn print_plan(plan: &PlanView, (told, proven): (&str, &BTreeSet<String>), out: &mut Out<'_>) {
    let palette = out.palette();
    let digest =
        plan.digest.as_ref().map_or_else(|| "has errors".to_owned(), |digest| digest[..8].to_owned());
    out.line(&format!(
        "{}  {}   {}",
        palette.paint(Tone::Strong, &clean_line(&plan.name)),
        clean_line(&plan.title),
        palette.paint(Tone::Muted, &digest)
    ));
    let mut facts: Vec<String> =
        Some(plan.status.clone()).filter(|status| !status.is_empty()).into_iter().collect();
    let others = [("owner", &plan.owner), ("priority", &plan.priority), ("budget", &plan.budget.text)];
    facts.extend(
        others.iter().filter(|(_, text)| !text.is_empty()).map(|(word, text)| format!("{word} {text}")),
    );
    if !facts.is_empty() {
        out.line(&format!("  {}", clean_line(&facts.join(", "))));
    }
    if plan.dialect != "native" {
        out.line(&format!("  dialect: {}", clean_line(told)));
    }
    let context: Vec<&str> = plan.context.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in context.iter().take(CONTEXT_LINES_MAX) {
        out.line(&format!("  {}", clean_line(line.trim_end())));
    }
    if context.len() > CONTEXT_LINES_MAX {
        out.line(&format!("  and {} more lines", context.len() - CONTEXT_LINES_MAX));
    }
    let mut table = Table::new();
    for step in &plan.steps {
        table.row(row(plan, step, proven));
    }
    out.table(&table);
}

/// What the file says of a step. A mark proves nothing: it must not look like a verdict where there is none.
fn standing(step: &StepView, proven: &BTreeSet<String>) -> String {
    match &step.mark {
        Some(mark) if proven.contains(&step.id) => mark.clone(),
        Some(mark) => format!("claims {mark}"),
        None => String::new(),
    }
}

fn row(plan: &PlanView, step: &StepView, proven: &BTreeSet<String>) -> Vec<Cell> {
    let mark = standing(step, proven);
    let after: Vec<&str> = step.needs.iter().map(|id| number_of(plan, id)).collect();
    let after = if after.is_empty() { String::new() } else { format!("after {}", after.join(", ")) };
    let contract = match &step.contract {
        Some(command) => format!("must pass: {}", command.trim().replace('\n', "; ")),
        None => "you confirm it".to_owned(),
    };
    vec![
        Cell::new(""),
        Cell::new(&mark).tone(Tone::Muted),
        Cell::new(&step.number).right(),
        Cell::new(&step.id).tone(Tone::Strong),
        Cell::new(&step.title),
        Cell::new(&step.target).tone(Tone::Muted),
        Cell::new(&after),
        Cell::new(&contract),
    ]
}

fn number_of<'a>(plan: &'a PlanView, id: &'a str) -> &'a str {
    plan.steps.iter().find(|step| step.id == id).map_or(id, |step| step.number.as_str())
}

fn print_step(plan: &PlanView, step: &StepView, proven: &BTreeSet<String>, out: &mut Out<'_>) {
    let palette = out.palette();
    let title = format!("{}/{}", plan.name, step.id);
    out.line(&format!("{}  {}", palette.paint(Tone::Strong, &clean_line(&title)), clean_line(&step.title)));
    let mut text = String::new();
    let mut fact = |word: &str, value: &str| {
        if !value.is_empty() {
            // Writing to a string can't fail.
            let _ = writeln!(text, "  {word:<10} {}", clean_line(value));
        }
    };
    fact("step", &format!("{} of {}, line {} of {}", step.number, plan.name, step.line, plan.path));
    fact("target", &step.target);
    fact("after", &step.needs.join(", "));
    fact("reads", &step.reads.join(", "));
    fact("touches", &step.touches.clone().unwrap_or_default().join(", "));
    fact("sealed", &step.sealed.join(", "));
    fact("tools", &step.tools.join(", "));
    fact("env", &step.env.join(", "));
    fact("network", step.network.as_deref().unwrap_or_default());
    fact("may pass", step.green.as_deref().unwrap_or_default());
    fact("judge", step.judge.as_deref().unwrap_or_default());
    fact("on_fail", &step.on_fail);
    let seconds = |limit: Option<u64>| limit.map(|seconds| format!("{seconds} s")).unwrap_or_default();
    fact("timeout", &seconds(step.timeout_seconds));
    fact("judged in", &seconds(step.contract_timeout_seconds));
    fact("mark", &standing(step, proven));
    let contract =
        step.contract.as_ref().map(|command| format!("{command}\nexit_code == {}", step.exit_code));
    let blocks = [
        ("task", Some(step.task.clone()).filter(|task| !task.is_empty())),
        ("accept", (!step.accept.is_empty()).then(|| step.accept.join("\n"))),
        ("setup", step.setup.clone()),
        ("contract", Some(contract.unwrap_or_else(|| "you confirm it".to_owned()))),
    ];
    for (word, block) in blocks.into_iter().filter_map(|(word, block)| Some((word, block?))) {
        let indented = clean(&block).lines().map(|line| format!("    {line}\n")).collect::<String>();
        let _ = write!(text, "  {word}\n{indented}");
    }
    out.data(&text);
}
