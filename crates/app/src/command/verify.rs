//! `verify`: checks plans, prints all diagnostics and applies fixes. Runs nothing of a plan without `--red`.

mod red;

use clap::ValueEnum;
use planwright_engine::api::{
    CheckInput, CheckSummary, CheckedFile, CheckedPlan, REVIEWER, RULES, ReviewFindingView, STDIN, Severity,
    SuggestionView, VerifyView, WarningLevels, dialect_line,
};

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::diagnostics;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plans to check; `-` reads standard input [default: the plan this worktree uses, otherwise all]
    #[arg(value_name = "PLAN")]
    pub(crate) plans: Vec<String>,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Treat a warning as an error: a rule, or `warnings` for all (repeatable)
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Ignore a warning: the code or name of a rule (repeatable)
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Apply every fix, then check again
    #[arg(long, conflicts_with = "watch")]
    fix: bool,
    /// Suggest contracts for steps without one; write nothing
    #[arg(long, conflicts_with = "watch")]
    suggest_contracts: bool,
    /// Run every contract in a temporary checkout, before the work; it must fail
    #[arg(long, conflicts_with = "watch")]
    red: bool,
    /// Have an agent review the plans; findings become comments [default agent: role reviewer]
    #[arg(long, value_name = "AGENT", num_args = 0..=1, default_missing_value = REVIEWER, conflicts_with = "watch")]
    reviewer: Option<String>,
    /// Check again when a plan is saved
    #[arg(long)]
    watch: bool,
    /// Maximum plan size in bytes
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Source lines with markers, for people
    Human,
    /// One line per diagnostic, for editors
    Short,
    /// Same as --json
    Json,
    /// SARIF 2.1.0, for code scanners
    Sarif,
    /// Workflow commands, for annotations on a pull request
    Github,
    #[value(help = "JUnit XML, for test reports")]
    Junit,
}

impl Args {
    /// Whether the format is the envelope.
    pub(crate) fn wants_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Whether something is recorded: what a reviewer finds is.
    pub(crate) fn is_recorded(&self) -> bool {
        self.reviewer.is_some()
    }
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let levels = WarningLevels::new(&args.deny, &args.allow)?;
    if (args.fix || args.watch) && args.plans.iter().any(|plan| plan == STDIN) {
        let message = "standard input cannot be fixed or watched";
        return Err(Failure::new(Exit::Usage, message).hint("name a file"));
    }
    let inputs = workspace()?.check_inputs(&args.plans)?;
    if args.watch {
        return watch(args, &levels, &inputs, out);
    }
    check(args, &levels, &inputs, out)
}

fn check(
    args: &Args,
    levels: &WarningLevels,
    inputs: &[CheckInput],
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let workspace = workspace()?;
    // Everything is read before anything is fixed: a plan that can't be read leaves the others as they are.
    let all = inputs.iter().map(|input| workspace.check(input, args.max_bytes));
    let mut all = all.collect::<Result<Vec<_>, _>>()?;
    if args.fix {
        all = all.into_iter().map(|plan| fix(plan, out)).collect::<Result<_, _>>()?;
    }
    if args.red {
        all = all.into_iter().map(|plan| run_contracts(plan, out)).collect::<Result<_, _>>()?;
    }
    for plan in &mut all {
        levels.apply(&mut plan.verified.diagnostics);
    }
    let checked: Vec<CheckedFile<'_>> = all.iter().map(CheckedPlan::file).collect();
    print(args, levels, &all, &checked, out);
    let suggested = if args.suggest_contracts { suggest(&all, out) } else { Vec::new() };
    let found = match &args.reviewer {
        Some(agent) => review(agent, &all, out)?,
        None => Vec::new(),
    };
    let is_ok = checked.iter().all(|one| one.is_ok(levels.warnings));
    if !is_ok && checked.iter().all(|one| one.counts().errors == 0) {
        out.talk("warnings count as errors (--deny warnings)");
    }
    let exit = if is_ok && found.is_empty() { Exit::Done } else { Exit::No };
    let red = all.iter().flat_map(CheckedPlan::baseline).collect();
    let view = VerifyView { suggested, red, found, ..VerifyView::of(&checked, levels.warnings) };
    let mut answer = Response::new(exit, "verify", &view);
    let remarked = view.found.first().map(|one| one.plan.as_str());
    answer.next.extend(remarked.map(|plan| NextCommand::new(["planwright", "comment", plan])));
    answer.next.extend(next(&all));
    Ok(answer)
}

fn fix(plan: CheckedPlan, out: &mut Out<'_>) -> Result<CheckedPlan, Failure> {
    let name = clean_line(plan.name()).into_owned();
    let word = out.talk_palette().paint(Tone::Good, "fixed");
    Ok(plan.fix(&mut |title| out.talk(&format!("{word}  {name}  {}", clean_line(title))))?)
}

/// Runs the contracts of a plan before the work, unless the plan has errors.
fn run_contracts(plan: CheckedPlan, out: &mut Out<'_>) -> Result<CheckedPlan, Failure> {
    if plan.verified.plan.is_none() {
        out.talk(&format!("{} has errors; contracts not run", clean_line(plan.name())));
    }
    Ok(plan.with_baseline()?)
}

/// Proposes contracts for the steps that have none.
fn suggest(all: &[CheckedPlan], out: &mut Out<'_>) -> Vec<SuggestionView> {
    let suggested: Vec<SuggestionView> = all.iter().flat_map(CheckedPlan::suggestions).collect();
    for SuggestionView { plan, step, command, because } in &suggested {
        let word = out.palette().paint(Tone::Attention, "suggested");
        out.line(&format!("{word}  {}", clean_line(&format!("{plan}/{step}"))));
        out.line(&format!("  contract  {}", clean_line(command)));
        out.line(&format!("  because   {}", clean_line(because)));
    }
    out.talk(match suggested.is_empty() {
        true => "no contracts to suggest",
        false => "nothing was written; add them to the plan yourself",
    });
    suggested
}

/// Has an agent review every plan.
fn review(agent: &str, all: &[CheckedPlan], out: &mut Out<'_>) -> Result<Vec<ReviewFindingView>, Failure> {
    let mut all_found = Vec::new();
    for plan in all {
        let reviewer = plan.reviewer(agent)?;
        out.talk(&clean_line(&format!("asking `{}` to review {}", reviewer.name(), plan.name())));
        let found = reviewer.review()?;
        for one in &found {
            let word = out.palette().paint(Tone::Attention, "found");
            out.line(&format!("{word}  {}", clean_line(&one.summary)));
        }
        match found.len() {
            0 => out.talk(&clean_line(&format!("`{}` found nothing", reviewer.name()))),
            _ => out.talk("saved as comments on the plan: planwright comment"),
        }
        all_found.extend(found);
    }
    Ok(all_found)
}

fn print(
    args: &Args,
    levels: &WarningLevels,
    all: &[CheckedPlan],
    checked: &[CheckedFile<'_>],
    out: &mut Out<'_>,
) {
    let rules: Vec<diagnostics::RuleDoc<'_>> = RULES
        .iter()
        .map(|rule| diagnostics::RuleDoc { code: rule.code, name: rule.name, summary: rule.summary })
        .collect();
    let text = match args.format {
        Format::Human => {
            print_clean(all, out);
            print_red(all, out);
            let faulty: Vec<CheckedFile<'_>> =
                checked.iter().filter(|one| !one.diagnostics.is_empty()).copied().collect();
            if !faulty.is_empty() && faulty.len() < checked.len() {
                out.line("");
            }
            diagnostics::human(&faulty, out.palette(), out.settings().width)
        }
        Format::Short => diagnostics::short(checked),
        Format::Github => diagnostics::github(checked),
        Format::Junit => diagnostics::junit(checked, levels.warnings),
        Format::Sarif => diagnostics::sarif(checked, &rules),
        Format::Json => String::new(),
    };
    out.data(&text);
    if !matches!(args.format, Format::Human | Format::Json) {
        for line in all.iter().flat_map(red_lines) {
            out.talk(&line);
        }
    }
}

/// What the contracts of a plan say before the work.
fn red_lines(one: &CheckedPlan) -> Vec<String> {
    one.baseline_summary().map(|summary| red::lines(&summary)).unwrap_or_default()
}

/// The same about plans with diagnostics, which have no line of their own so far.
fn print_red(all: &[CheckedPlan], out: &mut Out<'_>) {
    for one in all.iter().filter(|one| !one.verified.diagnostics.is_empty()) {
        let lines = red_lines(one);
        if lines.is_empty() {
            continue;
        }
        let word = out.palette().paint(Tone::Strong, "checked");
        out.line(&format!("{word}  {}", clean_line(one.name())));
        for line in &lines {
            out.line(&format!("         {line}"));
        }
    }
}

/// A line or two about every plan that nothing is wrong with.
fn print_clean(all: &[CheckedPlan], out: &mut Out<'_>) {
    let palette = out.palette();
    for one in all.iter().filter(|one| one.verified.draft.is_some() && !one.verified.dialect().is_native()) {
        let name = clean_line(one.name());
        out.line(&format!("dialect: {}   {name}", clean_line(&dialect_line(&one.verified.source))));
    }
    for one in all.iter().filter(|one| one.verified.diagnostics.is_empty()) {
        let Some(CheckSummary { steps, waves, targets, digest }) = one.summary() else { continue };
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        out.line(&format!(
            "{}  {}   {}, {}, for {}",
            palette.paint(Tone::Strong, "checked"),
            clean_line(one.name()),
            wording::number(steps, "step"),
            wording::number(waves, "wave"),
            clean_line(&targets.join(", "))
        ));
        for line in red_lines(one) {
            out.line(&format!("         {line}"));
        }
        out.line(&format!(
            "{}       no errors, no warnings   digest {}",
            palette.paint(Tone::Good, "ok"),
            digest
        ));
    }
}

/// Fixes first; then the page about the first diagnostic; then the plan itself.
fn next(all: &[CheckedPlan]) -> Option<NextCommand> {
    let diagnostics = || all.iter().flat_map(|one| &one.verified.diagnostics);
    let is_fixable = |one: &&CheckedPlan| one.is_file() && one.file().counts().fixable > 0;
    if let Some(one) = all.iter().find(is_fixable) {
        return Some(NextCommand::new(["planwright", "verify", "--fix", one.name()]));
    }
    // What stops the plan comes first.
    let first = diagnostics().find(|one| one.severity == Severity::Error).or_else(|| diagnostics().next());
    match (first, all) {
        (Some(first), _) => Some(NextCommand::new(["planwright", "explain", first.code])),
        (None, [only]) if only.is_file() => Some(NextCommand::new(["planwright", "show", only.name()])),
        (None, _) => None,
    }
}

/// Checks again whenever a plan is saved, until the user or the reader goes away.
fn watch(
    args: &Args,
    levels: &WarningLevels,
    inputs: &[CheckInput],
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let mut watch = CheckInput::watch(inputs);
    loop {
        let answer = check(args, levels, inputs, out);
        match &answer {
            Ok(answer) => out.event(answer),
            // A plan that is being saved may be missing for a moment: the next event tells.
            Err(failure) => out.warn(&failure.message),
        }
        out.talk(&format!(
            "watching {} for changes; stop with Ctrl-C",
            wording::number(inputs.len(), "plan")
        ));
        out.flush();
        if !out.is_open() {
            return answer;
        }
        watch.wait();
    }
}
