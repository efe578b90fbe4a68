//! `verify`: checks plans, prints all diagnostics and applies fixes. Runs nothing of a plan without `--red`.

mod red;
mod reviewer;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use planwright_engine::core::plan::digest::Digest;
use planwright_engine::core::plan::verified;
use planwright_engine::core::syntax::diagnostic::{Diagnostic, Severity};
use planwright_engine::core::syntax::source::Edit;
use planwright_engine::core::verify::suggest as contracts;
use planwright_engine::core::verify::suggest::Suggestion;
use planwright_engine::core::verify::{RULES, Rule};
use planwright_engine::run::baseline;
use planwright_engine::run::baseline::BaselineLimits;
use planwright_engine::store::plan_file;
use planwright_engine::system::watch::Watch;
use planwright_engine::workspace::{project, toolchain};
use planwright_engine::{Project, Verified};

use crate::interaction::failure::WHAT_IS_A_PLAN;
use crate::interaction::project::{here, project_of, shown};
use crate::interaction::target::{NamedPlan, open};
use crate::output::diagnostics;
use crate::output::diagnostics::{CheckedFile, FoundData, SuggestionData, Warnings};
use crate::output::wording;
use crate::output::wording::dialect_line;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

/// Rounds of fixes: each may uncover what the last one hid, but a file that never settles is left alone.
const REPAIR_ROUNDS_MAX: usize = 64;
/// Argument for standard input, and its name in diagnostics.
const STDIN: &str = "-";
const STDIN_SHOWN: &str = "<stdin>";

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
    #[arg(long, value_name = "AGENT", num_args = 0..=1, default_missing_value = reviewer::ROLE, conflicts_with = "watch")]
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
    let levels = Levels::of(args)?;
    let paths = paths(args)?;
    if paths.is_empty() {
        return Err(Failure::new(Exit::Usage, "no plans found")
            .hint(WHAT_IS_A_PLAN)
            .next(NextCommand::new(["planwright", "new", "first-plan"])));
    }
    if args.watch {
        return watch(args, &levels, &paths, out);
    }
    check(args, &levels, &paths, out)
}

/// What the user says about warnings.
struct Levels {
    denied: Vec<&'static Rule>,
    allowed: Vec<&'static Rule>,
    warnings: Warnings,
}

impl Levels {
    fn of(args: &Args) -> Result<Self, Failure> {
        let rule = |name: &String| Rule::find(name).ok_or_else(|| unknown_rule(name));
        let is_all = |name: &&String| name.as_str() == "warnings";
        let denied =
            args.deny.iter().filter(|name| !is_all(name)).map(rule).collect::<Result<Vec<_>, _>>()?;
        let allowed = args.allow.iter().map(rule).collect::<Result<Vec<_>, _>>()?;
        if let Some(error) = allowed.iter().find(|rule| rule.severity == Severity::Error) {
            let message = format!("{} ({}) is an error and cannot be ignored", error.code, error.name);
            return Err(Failure::new(Exit::Usage, message).next(NextCommand::new([
                "planwright",
                "explain",
                error.code,
            ])));
        }
        let warnings =
            if args.deny.iter().any(|name| is_all(&name)) { Warnings::Denied } else { Warnings::Allowed };
        Ok(Self { denied, allowed, warnings })
    }

    /// Leaves out what is allowed and raises what is denied.
    fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        let among =
            |rules: &[&Rule], diagnostic: &Diagnostic| rules.iter().any(|rule| rule.code == diagnostic.code);
        diagnostics
            .retain(|diagnostic| diagnostic.severity == Severity::Error || !among(&self.allowed, diagnostic));
        for diagnostic in diagnostics.iter_mut().filter(|diagnostic| among(&self.denied, diagnostic)) {
            diagnostic.severity = Severity::Error;
        }
    }
}

fn unknown_rule(name: &str) -> Failure {
    Failure::new(Exit::Usage, format!("unknown rule `{name}`"))
        .next(NextCommand::new(["planwright", "explain"]))
}

fn paths(args: &Args) -> Result<Vec<PathBuf>, Failure> {
    let here = here()?;
    if args.plans.is_empty() {
        return Ok(here.plans()?);
    }
    let path = |name: &String| match name.as_str() {
        STDIN if args.fix || args.watch => {
            Err(Failure::new(Exit::Usage, "standard input cannot be fixed or watched").hint("name a file"))
        }
        STDIN => Ok(PathBuf::from(STDIN)),
        name => match here.address(name)? {
            project::Address { plan, step: None } => Ok(plan),
            // A step is judged by what the others make: its whole plan is checked.
            project::Address { step: Some(_), .. } => Ok(open(name)?.path),
        },
    };
    let mut paths = args.plans.iter().map(path).collect::<Result<Vec<_>, _>>()?;
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(shown(path)));
    Ok(paths)
}

fn check(args: &Args, levels: &Levels, paths: &[PathBuf], out: &mut Out<'_>) -> Result<Response, Failure> {
    // Everything is read before anything is fixed: a plan that can't be read leaves the others as they are.
    let mut all = paths.iter().map(|path| verify(args, path)).collect::<Result<Vec<_>, _>>()?;
    if args.fix {
        let repaired = paths.iter().zip(all).map(|(path, verified)| repair(args, path, verified, out));
        all = repaired.collect::<Result<Vec<_>, _>>()?;
    }
    if args.red {
        let ran = paths.iter().zip(all).map(|(path, verified)| check_red(path, verified, out));
        all = ran.collect::<Result<Vec<_>, _>>()?;
    }
    for verified in &mut all {
        levels.apply(&mut verified.diagnostics);
    }
    let checked: Vec<CheckedFile<'_>> =
        all.iter().map(|one| CheckedFile { source: &one.source, diagnostics: &one.diagnostics }).collect();
    print(args, levels, &all, &checked, out);
    let suggested = match args.suggest_contracts {
        true => suggest(paths, &all, out)?,
        false => Vec::new(),
    };
    let found = match &args.reviewer {
        Some(agent) => reviewed(agent, paths, &all, out)?,
        None => Vec::new(),
    };
    let is_ok = checked.iter().all(|one| one.is_ok(levels.warnings));
    if !is_ok && checked.iter().all(|one| one.counts().errors == 0) {
        out.talk("warnings count as errors (--deny warnings)");
    }
    let exit = if is_ok && found.is_empty() { Exit::Done } else { Exit::No };
    let mut data = diagnostics::json(&checked, levels.warnings);
    data.suggested = suggested;
    data.red = red::data(&all);
    data.found = found;
    let remarked = data.found.first().map(|one| one.plan.clone());
    let mut answer = Response::new(exit, "verify", &data);
    answer.next.extend(remarked.map(|plan| NextCommand::new(["planwright", "comment", plan.as_str()])));
    answer.next.extend(next(&all));
    Ok(answer)
}

/// Has an agent review every plan.
fn reviewed(
    agent: &str,
    paths: &[PathBuf],
    all: &[Verified],
    out: &mut Out<'_>,
) -> Result<Vec<FoundData>, Failure> {
    let mut found = Vec::new();
    for (path, verified) in paths.iter().zip(all) {
        if path == Path::new(STDIN) {
            return Err(Failure::new(Exit::Usage, "comments need a file, not standard input"));
        }
        found.extend(reviewer::review((&project_of(path)?, path), verified, agent, out)?);
    }
    Ok(found)
}

fn verify(args: &Args, path: &Path) -> Result<Verified, Failure> {
    let is_stdin = path == Path::new(STDIN);
    let mut project = if is_stdin { here()? } else { project_of(path)? };
    if let Some(bytes) = args.max_bytes {
        project.config.limits.plan_bytes = bytes;
    }
    if is_stdin {
        return from_stdin(&project);
    }
    Ok(baseline::verify(&project, path, &shown(path))?)
}

/// Runs the contracts of a plan before the work, unless the plan has errors.
fn check_red(path: &Path, verified: Verified, out: &mut Out<'_>) -> Result<Verified, Failure> {
    let project = if path == Path::new(STDIN) { here()? } else { project_of(path)? };
    if verified.plan.is_none() {
        let name = clean_line(verified.source.name()).into_owned();
        out.talk(&format!("{name} has errors; contracts not run"));
    }
    Ok(baseline::verify_on_base(&project, verified, &BaselineLimits::of(&project.config), &|_| {})?)
}

fn from_stdin(project: &Project) -> Result<Verified, Failure> {
    let name = STDIN_SHOWN;
    let text = plan_file::read_stream(&mut io::stdin(), name, project.reading())
        .map_err(|source| project::Error::Stream { name: name.to_owned(), source })?;
    Ok(baseline::verify_text(project, text)?)
}

/// Proposes contracts for the steps that have none. They are words for a person to take or leave.
fn suggest(paths: &[PathBuf], all: &[Verified], out: &mut Out<'_>) -> Result<Vec<SuggestionData>, Failure> {
    let mut suggested = Vec::new();
    for (path, one) in paths.iter().zip(all) {
        let Some(draft) = &one.draft else { continue };
        let project = if path == Path::new(STDIN) { here()? } else { project_of(path)? };
        let ids = verified::ids(draft);
        let found = contracts::suggestions(draft, &toolchain::of(&project, draft));
        for Suggestion { step, command, because } in found {
            let place = format!("{}/{}", one.source.name(), ids[step]);
            let word = out.palette().paint(Tone::Attention, "suggested");
            out.line(&format!("{word}  {}", clean_line(&place)));
            out.line(&format!("  contract  {}", clean_line(&command)));
            out.line(&format!("  because   {}", clean_line(&because)));
            suggested.push(SuggestionData {
                plan: one.source.name().to_owned(),
                step: ids[step].clone(),
                command,
                because,
            });
        }
    }
    if suggested.is_empty() {
        out.talk("no contracts to suggest");
    } else {
        out.talk("nothing was written; add them to the plan yourself");
    }
    Ok(suggested)
}

/// Applies fixes until none is left. Overlapping fixes wait for the next round.
fn repair(args: &Args, path: &Path, mut verified: Verified, out: &mut Out<'_>) -> Result<Verified, Failure> {
    for _ in 0..REPAIR_ROUNDS_MAX {
        let (edits, titles) = repairs(&verified.diagnostics);
        if edits.is_empty() {
            break;
        }
        planwright_engine::store::plan_file::save(path, &verified.source, &verified.source.edited(&edits))?;
        for title in titles {
            let word = out.talk_palette().paint(Tone::Good, "fixed");
            out.talk(&format!("{word}  {}  {}", clean_line(&shown(path)), clean_line(&title)));
        }
        verified = verify(args, path)?;
    }
    Ok(verified)
}

fn repairs(diagnostics: &[Diagnostic]) -> (Vec<Edit>, Vec<String>) {
    let mut edits: Vec<Edit> = Vec::new();
    let mut titles = Vec::new();
    for fix in diagnostics.iter().filter_map(|diagnostic| diagnostic.fix.as_ref()) {
        let meets = |edit: &Edit| {
            edits.iter().any(|other| edit.span.start <= other.span.end && other.span.start <= edit.span.end)
        };
        if !fix.edits.iter().any(meets) {
            edits.extend(fix.edits.iter().cloned());
            titles.push(fix.title.clone());
        }
    }
    (edits, titles)
}

fn print(args: &Args, levels: &Levels, all: &[Verified], checked: &[CheckedFile<'_>], out: &mut Out<'_>) {
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
fn red_lines(one: &Verified) -> Vec<String> {
    let known = one.plan.as_ref().zip(one.red.as_ref());
    known.map(|(plan, reds)| red::lines(plan, reds)).unwrap_or_default()
}

/// The same about plans with diagnostics, which have no line of their own so far.
fn print_red(all: &[Verified], out: &mut Out<'_>) {
    for one in all.iter().filter(|one| !one.diagnostics.is_empty() && one.red.is_some()) {
        let lines = red_lines(one);
        if lines.is_empty() {
            continue;
        }
        let word = out.palette().paint(Tone::Strong, "checked");
        out.line(&format!("{word}  {}", clean_line(one.source.name())));
        for line in &lines {
            out.line(&format!("         {line}"));
        }
    }
}

/// A line or two about every plan that nothing is wrong with.
fn print_clean(all: &[Verified], out: &mut Out<'_>) {
    let palette = out.palette();
    for one in all.iter().filter(|one| one.draft.is_some() && !one.dialect().is_native()) {
        let name = clean_line(one.source.name());
        out.line(&format!("dialect: {}   {name}", clean_line(&dialect_line(&one.source))));
    }
    for one in all.iter().filter(|one| one.diagnostics.is_empty()) {
        let Some(plan) = &one.plan else { continue };
        let waves = plan.graph().waves().len();
        let mut agents: Vec<&str> = plan.steps.iter().map(|step| step.target.as_str()).collect();
        agents.sort_unstable();
        agents.dedup();
        out.line(&format!(
            "{}  {}   {}, {}, for {}",
            palette.paint(Tone::Strong, "checked"),
            clean_line(one.source.name()),
            wording::number(plan.steps.len(), "step"),
            wording::number(waves, "wave"),
            clean_line(&agents.join(", "))
        ));
        for line in red_lines(one) {
            out.line(&format!("         {line}"));
        }
        out.line(&format!(
            "{}       no errors, no warnings   digest {}",
            palette.paint(Tone::Good, "ok"),
            Digest::of(plan).short()
        ));
    }
}

/// Fixes first; then the page about the first diagnostic; then the plan itself.
fn next(all: &[Verified]) -> Option<NextCommand> {
    let is_file = |one: &Verified| one.source.name() != STDIN_SHOWN;
    let has_repair = |one: &Verified| one.diagnostics.iter().any(|diagnostic| diagnostic.fix.is_some());
    let fixable = all.iter().find(|one| is_file(one) && has_repair(one));
    if let Some(one) = fixable {
        return Some(NextCommand::new(["planwright", "verify", "--fix", one.source.name()]));
    }
    // What stops the plan comes first.
    let complaints = || all.iter().flat_map(|one| &one.diagnostics);
    let first = complaints().find(|one| one.severity == Severity::Error).or_else(|| complaints().next());
    match (first, all) {
        (Some(first), _) => Some(NextCommand::new(["planwright", "explain", first.code])),
        (None, [only]) if is_file(only) => Some(NextCommand::new(["planwright", "show", only.source.name()])),
        (None, _) => None,
    }
}

/// Checks again whenever a plan is saved, until the user or the reader goes away.
fn watch(args: &Args, levels: &Levels, paths: &[PathBuf], out: &mut Out<'_>) -> Result<Response, Failure> {
    let mut watch = Watch::of(paths);
    loop {
        let answer = check(args, levels, paths, out);
        match &answer {
            Ok(answer) => out.event(answer),
            // A plan that is being saved may be missing for a moment: the next event tells.
            Err(failure) => out.warn(&failure.message),
        }
        out.talk(&format!("watching {} for changes; stop with Ctrl-C", wording::number(paths.len(), "plan")));
        out.flush();
        if !out.is_open() {
            return answer;
        }
        watch.wait();
    }
}
