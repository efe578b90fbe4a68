//! `show`: a plan, one of its steps in full, or its dependency graph.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum;
use planwright_engine::approval::Approvals;
use planwright_engine::core::dialect::{NATIVE, proposal};
use planwright_engine::core::plan::view;
use planwright_engine::core::plan::view::{PlanView, StepView};
use planwright_engine::core::run::state::{StepState, StepStatus};
use planwright_engine::core::syntax::source::Source;
use planwright_engine::core::verify;
use planwright_engine::run::arbiter;
use planwright_engine::run::baseline;
use planwright_engine::run::{Run, Runs};
use planwright_engine::store::plan_file;
use planwright_engine::{Project, Verified};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::planner::tell_reasoning;
use crate::interaction::target::{NamedPlan, find_step, open};
use crate::output::picture;
use crate::output::picture::Picture;
use crate::output::wording::found::FindingData;
use crate::output::wording::{dialect_line, found};
use crate::output::{
    Cell, Exit, Failure, Glyphs, NextCommand, Out, Response, Table, Tone, clean, clean_line,
};

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Shown {
    /// The plan; only the step that was asked for, where one was.
    #[serde(flatten)]
    pub(crate) plan: PlanView,
    /// How many errors the checker finds in it.
    pub(crate) errors: usize,
    /// How many warnings.
    pub(crate) warnings: usize,
    /// The picture, where one was asked for.
    pub(crate) graph: Option<String>,
    /// The section, where one was asked for.
    pub(crate) section: Option<SectionData>,
    /// The planner's reasoning; empty if unknown.
    pub(crate) reasoning: String,
    /// The text for another reader, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) told: Option<String>,
    /// The ids of steps that its newest run proves: what the file says of any other is a claim.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) proven: BTreeSet<String>,
    /// What reviewers found in its newest run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<FindingData>,
}

/// One section of the text of a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SectionData {
    /// The headings above it and its own: `Context/Tool Outputs`.
    pub(crate) path: String,
    /// The text below the heading.
    pub(crate) text: String,
    /// The first block of code in it.
    pub(crate) code: Option<String>,
}

/// The section with this name.
fn section_of(source: &Source, name: &str) -> Result<SectionData, Failure> {
    let found = proposal::section(source, name);
    let found =
        found.map(|section| SectionData { path: section.path, text: section.text, code: section.code });
    found.ok_or_else(|| {
        let names: Vec<String> = proposal::sections(source).into_iter().map(|section| section.path).collect();
        let failure = Failure::new(Exit::Usage, format!("{} has no section `{name}`", source.name()));
        failure.hint(format!("its sections are {}", names.join(", ")))
    })
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    use planwright_engine::core::syntax::diagnostic::Severity;
    use planwright_engine::store::plan_file::FileText;
    let opened = open(&args.plan)?;
    let verified = baseline::verify_text(&opened.project, FileText::Plan(opened.source))?;
    let name = plan_file::name(&opened.path);
    let Some(mut plan) = view_of(&name, &verified) else {
        return Err(Failure::new(Exit::No, format!("{name} cannot be read as a plan")));
    };
    let reasoning = reasoning(&opened.project, &opened.path)?;
    let graph = args.graph.map(|form| draw(form, &plan, &verified));
    let section = args.section.as_ref().map(|name| section_of(&verified.source, name)).transpose()?;
    if let Some(step) = &opened.step {
        let draft = verified.draft.as_ref();
        let place = draft.map_or(Ok(0), |draft| find_step(draft, step, &plan.path))?;
        plan.steps = vec![plan.steps.swap_remove(place)];
    }
    let told =
        args.reader.map(|Reader::Arbiter| told(&opened.project, &opened.path, &verified)).transpose()?;
    let run = match Runs::open_existing(&opened.project)? {
        Some(runs) => runs.latest(&opened.path)?,
        None => None,
    };
    let proven = run.as_ref().map(|run| proven(&plan, run)).unwrap_or_default();
    match (&graph, opened.step.is_some()) {
        _ if told.is_some() => out.data(&clean(told.as_deref().unwrap_or_default())),
        _ if section.is_some() => {
            let text = section.as_ref().map(|section| section.text.as_str()).unwrap_or_default();
            out.data(&format!("{}\n", clean(text)));
        }
        (Some(graph), _) => print_graph(args, &plan, graph, out),
        (None, true) => print_step(&plan, &plan.steps[0], &proven, out),
        (None, false) => {
            print_plan(&plan, (&dialect_line(&verified.source), &proven), out);
            tell_reasoning("why", &reasoning, out);
            if let Some(run) = &run {
                found::print(run, out);
            }
        }
    }
    let errors = verified.count(Severity::Error);
    let warnings = verified.count(Severity::Warning);
    if errors + warnings > 0 {
        let counts = crate::output::diagnostics::Counts { errors, warnings, fixable: 0 };
        out.talk(&format!("the checker finds {counts}"));
    }
    let next = NextCommand::new(["planwright", "verify", plan.path.as_str()]);
    let findings = run.as_ref().map(found::data).unwrap_or_default();
    let shown = Shown { plan, errors, warnings, graph, section, reasoning, told, proven, findings };
    Ok(Response::done("show", &shown).next(next))
}

/// Steps finished by a run of exactly this plan.
fn proven(plan: &PlanView, run: &Run) -> BTreeSet<String> {
    let is_same = plan.digest.as_ref() == Some(&run.row.digest);
    let is_settled =
        |step: &&StepState| matches!(step.status, StepStatus::Passed { .. } | StepStatus::Skipped { .. });
    run.state.steps.iter().filter(|_| is_same).filter(is_settled).map(|step| step.id.clone()).collect()
}

/// What an arbiter is told about a plan.
fn told(project: &Project, path: &Path, verified: &Verified) -> Result<String, Failure> {
    // An unassigned target is not an error here: the arbiter can suggest an agent.
    let plan = verify::trusted(&verified.source);
    let case = arbiter::gather(project, path, plan.as_ref())?;
    case.map(|case| case.told()).ok_or_else(|| {
        let path = verified.source.name();
        let next = NextCommand::new(["planwright", "verify", path]);
        Failure::new(Exit::No, format!("{path} has errors; fix them first")).next(next)
    })
}

/// What the planner of the present text said to it.
fn reasoning(project: &Project, path: &Path) -> Result<String, Failure> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok(String::new()) };
    let last = decisions.case(path)?.standing.drafts.pop();
    Ok(last.map(|last| last.drafting.reasoning).unwrap_or_default())
}

fn view_of(name: &str, verified: &Verified) -> Option<PlanView> {
    let draft = verified.draft.as_ref()?;
    let source = &verified.source;
    Some(PlanView::of(name.to_owned(), (source, source.dialect().name), draft, verified.plan.as_ref()))
}

fn draw(form: Form, plan: &PlanView, verified: &Verified) -> String {
    let Some(draft) = &verified.draft else { return String::new() };
    let picture = Picture { plan, graph: &view::graph(draft) };
    match form {
        Form::Ascii => picture::ascii(&picture),
        Form::Mermaid => picture::mermaid(&picture),
        Form::Dot => picture::dot(&picture),
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
    if plan.dialect != NATIVE.name {
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
