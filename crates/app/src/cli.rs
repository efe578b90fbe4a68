//! The command line: arguments and dispatch. Independent of what each command does.

pub mod agentctl;
pub(crate) mod completions;
pub(crate) mod help;
pub(crate) mod man;
mod merged;
mod screen;

pub(crate) use screen::{FOR_AGENTS, GROUPS, TOPICS};

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches as _, Parser, Subcommand};

use crate::command::status::queue;
use crate::command::r#use::active;
use crate::command::{
    acp, answer, approve, arbiter, archive, audit, cancel, comment, config, convert, delete, demo, discover,
    doctor, draft, edit, explain, export, fmt, hook, import, init, list, list_plans, log, mcp, merge,
    merge_driver, policy, prompt, propose, quick, reject, review, rollback, run as run_command, schema,
    session, shelve, should_plan, show, simulate, stats, stop, tools, undo, r#use, verify, worker, worktree,
};
use planwright_engine::api::nearest;
use planwright_engine::host;

use crate::interaction::target::NamedPlan;
use crate::interaction::{notifier, project};
use crate::output::{Color, Exit, Failure, Flags, NextCommand, Out, Page, Response};

/// Check, approve and run plans for AI coding agents
#[derive(Debug, Parser)]
#[command(
    name = "planwright",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    max_term_width = 80
)]
pub(crate) struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Override a setting, such as run.jobs=4 (repeatable)
    #[arg(
        long = "config",
        global = true,
        hide_short_help = true,
        hide_long_help = true,
        value_name = "KEY=VALUE"
    )]
    settings: Vec<String>,
    /// Plan dialect [default: detected]
    #[arg(long, global = true, hide_short_help = true, hide_long_help = true, value_name = "NAME")]
    dialect: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check plans for errors
    Verify(verify::Args),
    /// Show what a plan does and what changed, then decide
    Review(review::Args),
    /// Approve one revision of a plan by its digest
    Approve(approve::Args),
    /// Reject a plan and say what should change
    Reject(reject::Args),
    /// Run a plan until every contract passes
    #[command(alias = "work")]
    Run(run_command::Args),
    /// Show what needs you, what is running and what is next
    Status(merged::Status),
    /// Answer a question from a run
    Answer(answer::Args),
    /// Show what happened, down to one attempt
    Log(merged::Log),
    /// Pause a run
    Stop(stop::Args),
    /// End a plan or its run for good
    Cancel(cancel::Args),
    /// Merge finished plans into a branch
    Merge(merge::Args),
    /// Verify the record, or run every contract again
    Audit(audit::Args),
    /// Create a plan from a template or another plan
    New(merged::New),
    /// Have an agent write a plan and propose it
    Draft(draft::Args),
    /// Turn another tool's plan into a draft
    Import(import::Args),
    /// Ask for approval of a plan
    Propose(propose::Args),
    /// List plans
    List(list::Args),
    /// Show a plan, a step or the graph
    Show(merged::Show),
    /// Change a plan in place
    Edit(edit::Args),
    /// Undo your last decision
    Undo(undo::Args),
    /// Create a sample repository to try planwright in
    Demo(demo::Args),
    /// Set up this project and connect your agents
    Init(init::Args),
    /// Choose the plan for this worktree
    Use(r#use::Args),
    /// Create, list and remove worktrees for plans
    Worktree(worktree::Args),
    /// Show or change settings
    Config(config::Args),
    /// Find problems and fix what is safe
    Doctor(doctor::Args),
    /// Print help for a command or a topic
    Help(help::Args),
    /// Run one task without a plan file
    Quick(quick::Args),
    /// Restore the workspace to before a step
    Rollback(rollback::Args),
    /// Return a plan to draft, or have it replanned
    Revise(merged::Revise),
    /// Comment on a plan or a step, or answer a comment
    Comment(comment::Args),
    /// Record follow-up work, list it, or add it as a step
    Discover(discover::Args),
    /// Move a plan to the shelf
    Shelve(shelve::Args),
    /// Move a shelved plan back
    Unshelve(shelve::Args),
    /// Format plans
    Fmt(fmt::Args),
    /// Convert a plan to another dialect
    Convert(convert::Args),
    /// Export a plan as data or as a report
    Export(export::Args),
    /// Move finished plans to the archive
    Archive(archive::Args),
    /// Delete a plan and keep its text
    Delete(delete::Args),
    /// Show or change who may approve plans
    Policy(policy::Args),
    /// Show success rates, retries, waiting times and costs
    Stats(stats::Args),
    /// Explain a rule of the checker
    Explain(explain::Args),
    /// Show tools that plans can use, and refused calls
    Tools(tools::Args),
    /// Recommend the next agent and action
    Arbiter(arbiter::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Serve agents over MCP
    #[command(hide = true)]
    Mcp(mcp::Args),
    /// Answer an agent's tool hook
    #[command(hide = true)]
    Hook(hook::Args),
    /// Allocate plan directories and propose the plans in them
    #[command(hide = true)]
    Session(session::Args),
    /// Print texts for agents: overseer, context, planner, skill
    #[command(hide = true)]
    Prompt(prompt::Args),
    /// Decide whether a task needs a plan
    #[command(hide = true)]
    ShouldPlan(should_plan::Args),
    /// Make attempts for runs of other processes
    #[command(hide = true)]
    Worker(worker::Args),
    /// List the plans in .harness and the one in use
    #[command(hide = true)]
    ListPlans(list_plans::Args),
    /// Print the plan in use and its progress file
    #[command(hide = true)]
    ResolveActivePlan(active::Args),
    /// Print name, status and last progress of every plan
    #[command(hide = true, alias = "queue-status-lite")]
    QueueStatus,
    /// Show the queue: same as status --queue
    #[command(hide = true)]
    Queue(queue::Args),
    /// Show waves, agents, reads, tools and forecast
    #[command(hide = true)]
    Simulate(simulate::Args),
    /// Merge plan and progress files for git
    #[command(hide = true)]
    MergeDriver(merge_driver::Args),
    /// Speak the Agent Client Protocol with an agent
    #[command(hide = true)]
    Acp(acp::Args),
    /// Print the JSON schema of a command's output
    #[command(hide = true)]
    Schema(schema::Args),
    /// Print a manual page
    #[command(hide = true)]
    Man(man::Args),
}

/// The grammar of the command line, for help, completions and manual pages.
pub(crate) fn grammar() -> clap::Command {
    screen::dress(Cli::command())
}

/// The grammar of a command, under the name that one types.
pub(crate) fn grammar_of(name: Option<&str>) -> Result<clap::Command, Failure> {
    let grammar = grammar();
    let Some(name) = name else { return Ok(grammar) };
    let found = grammar.find_subcommand(name).cloned();
    found
        .map(|command| {
            command.bin_name(format!("planwright {name}")).display_name(format!("planwright-{name}"))
        })
        .ok_or_else(|| {
            let topics = TOPICS.iter().map(|(name, _)| *name);
            let names: Vec<&str> =
                grammar.get_subcommands().map(clap::Command::get_name).chain(topics).collect();
            let failure = Failure::new(Exit::Usage, format!("unknown command or topic `{name}`"));
            match nearest(name, names) {
                Some(meant) => failure.hint(format!("did you mean `{meant}`?")).next(NextCommand::new([
                    "planwright",
                    "help",
                    meant,
                ])),
                None => failure.next(NextCommand::new(["planwright", "help"])),
            }
        })
}

/// Every name of a command.
pub(crate) fn words() -> Vec<String> {
    let grammar = grammar();
    let of = |command: &clap::Command| -> Vec<String> {
        std::iter::once(command.get_name()).chain(command.get_all_aliases()).map(str::to_owned).collect()
    };
    grammar.get_subcommands().flat_map(of).collect()
}

#[cfg(test)]
mod reference;

/// Whether this process was started by another planwright to supervise a command.
pub fn is_shim() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == host::SHIM)
}

/// Supervises the command that the arguments name.
pub fn shim() -> std::process::ExitCode {
    host::shim_main(std::env::args_os())
}

/// Runs the command that was typed and returns how it ended.
pub fn run(words: impl Iterator<Item = OsString>) -> Exit {
    let words: Vec<OsString> = without_prefix(words.collect());
    let parsed = grammar().try_get_matches_from(&words).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return refuse(&words, &error),
    };
    let mut flags = cli.flags;
    // One format, two ways to ask for it.
    if let Command::Verify(args) = &cli.command {
        flags.json |= args.wants_json();
    }
    if let Command::Review(args) = &cli.command {
        flags.json |= args.wants_json();
    }
    let mut out = Out::of_process(&flags);
    let mut command = cli.command;
    let notifications = records(&command).then(notifier::notifications);
    let result = project::take_options(cli.settings, cli.dialect.as_deref(), notifications)
        .and_then(|()| settle(&mut command))
        .inspect(|()| warn_of_other_record(&command, &mut out))
        .and_then(|()| dispatch(command, &mut out));
    let exit = out.finish(&result);
    project::finish();
    exit
}

/// Says that the project starts with an empty record although there is one that could be meant.
fn warn_of_other_record(command: &Command, out: &mut Out<'_>) {
    let is_about_runs = records(command) || matches!(command, Command::Status(_) | Command::List(_));
    if is_about_runs && let Some(note) = planwright_engine::api::record_note(Path::new(".")) {
        out.warn(&note);
    }
}

/// Drops the word `plan` in front of a command: `planwright plan verify x` is `planwright verify x`. In front of `--name` it is the
/// command of document D: `plan --name x WISH` has the named plan x written.
fn without_prefix(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.len() <= 2 || words[1] != "plan" {
        return words;
    }
    let is_option = words[2].to_str().is_some_and(|word| word == "--name" || word.starts_with("--name="));
    let instead: &[&str] = if is_option { &["draft", "--dialect", "named"] } else { &[] };
    words.splice(1..2, instead.iter().map(OsString::from));
    words
}

/// Settles which plan a command works on, where that was not typed: see [`crate::interaction::target`].
fn settle(command: &mut Command) -> Result<(), Failure> {
    if let Command::Run(args) = command {
        if args.retry {
            // A retry is a decision: the plan must be named. It is resolved below.
            args.named.decide(&mut args.plan.clone())?;
        }
        let (by, step) = args.named.work_on_task(&mut args.plan, &args.task)?;
        args.by = by;
        args.only = step.or(args.only.take());
    }
    if let Command::Show(merged::Show { show: show::Args { named, plan, task, .. }, .. })
    | Command::Log(merged::Log { log: log::Args { named, plan, task, .. }, all: false, .. }) = command
        && let (_, Some(step)) = named.work_on_task(plan, task)?
    {
        *plan = format!("{plan}/{step}");
    }
    if let Command::Simulate(simulate::Args { named, plan, .. })
    | Command::Arbiter(arbiter::Args { named, plan, .. }) = command
    {
        named.work(plan)?;
    }
    if let Command::Propose(propose::Args { name, plans, steps: None, .. }) = command
        && !plans.iter().any(|plan| plan == planwright_engine::api::STDIN)
    {
        NamedPlan::of(name.as_deref()).work_all(plans)?;
    }
    if let Command::Review(args) = command {
        args.by = args.named.narrow(&mut args.plan)?;
    }
    if let Command::Status(args) = command
        && !args.is_about_all()
    {
        args.status.named.narrow_row(&mut args.status.plan)?;
    }
    if let Command::Verify(args) = command {
        args.named.narrow_all(&mut args.plans)?;
    }
    if let Command::Stop(stop::Args { named, plan, .. })
    | Command::Answer(answer::Args { named, plan, .. })
    | Command::Approve(approve::Args { named, plan, .. })
    | Command::Reject(reject::Args { named, plan, .. })
    | Command::Comment(comment::Args { named, plan, .. })
    | Command::Cancel(cancel::Args { named, plan, .. })
    | Command::Revise(merged::Revise { named, plan, .. })
    | Command::Undo(undo::Args { named, plan, .. }) = command
    {
        named.decide(plan)?;
    }
    Ok(())
}

/// Whether a command records events for listeners, or may find that something lapsed.
fn records(command: &Command) -> bool {
    match command {
        Command::Review(_)
        | Command::Answer(_)
        | Command::Stop(_)
        | Command::Rollback(_)
        | Command::Cancel(_)
        | Command::Propose(_)
        | Command::Approve(_)
        | Command::Reject(_)
        | Command::Comment(_)
        | Command::Undo(_)
        | Command::Revise(_)
        | Command::Delete(_)
        | Command::Edit(_)
        | Command::Draft(_)
        | Command::Discover(_)
        | Command::Arbiter(_)
        | Command::Archive(_)
        | Command::Session(_)
        | Command::Merge(_)
        | Command::Mcp(_) => true,
        Command::Verify(args) => args.is_recorded(),
        Command::Run(args) => !args.is_dry(),
        Command::Quick(args) => !args.dry_run,
        Command::Init(_)
        | Command::New(_)
        | Command::ShouldPlan(_)
        | Command::Prompt(_)
        | Command::Show(_)
        | Command::Simulate(_)
        | Command::Stats(_)
        | Command::Status(_)
        | Command::Log(_)
        | Command::Queue(_)
        | Command::QueueStatus
        | Command::Shelve(_)
        | Command::Unshelve(_)
        | Command::Worker(_)
        | Command::Worktree(_)
        | Command::Policy(_)
        | Command::Config(_)
        | Command::Doctor(_)
        | Command::Demo(_)
        | Command::List(_)
        | Command::ListPlans(_)
        | Command::ResolveActivePlan(_)
        | Command::Use(_)
        | Command::Fmt(_)
        | Command::Convert(_)
        | Command::Import(_)
        | Command::Export(_)
        | Command::Audit(_)
        | Command::MergeDriver(_)
        | Command::Hook(_)
        | Command::Tools(_)
        | Command::Acp(_)
        | Command::Explain(_)
        | Command::Schema(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Help(_) => false,
    }
}

fn dispatch(command: Command, out: &mut Out<'_>) -> Result<Response, Failure> {
    match command {
        Command::Init(args) => init::run(&args, out),
        Command::New(args) => args.run(out),
        Command::Draft(args) => draft::run(&args, out),
        Command::Verify(args) => verify::run(&args, out),
        Command::Show(args) => args.run(out),
        Command::Review(args) => run_review(&args, out),
        Command::Run(args) => run_plan(&args, out),
        Command::Quick(args) => run_quick(&args, out),
        Command::Status(args) => args.run(out),
        Command::Log(args) => args.run(out),
        Command::Answer(args) => answer::run(&args, out),
        Command::Stop(args) => stop::run(&args, out),
        Command::Rollback(args) => rollback::run(&args, out),
        Command::Propose(args) => propose::run(&args, out),
        Command::Approve(args) => approve_and_run(&args, out),
        Command::Reject(args) => reject::run(&args, out),
        Command::Comment(args) => comment::run(&args, out),
        Command::Undo(args) => undo::run(&args, out),
        Command::Revise(args) => args.run(out),
        Command::Delete(args) => delete::run(&args, out),
        Command::Cancel(args) => cancel::run(&args, out),
        Command::ShouldPlan(args) => should_plan::run(&args, out),
        Command::Session(args) => session::run(&args, out),
        Command::Prompt(args) => prompt::run(&args, out),
        Command::Queue(args) => queue::run(&args, out),
        Command::QueueStatus => Ok(queue::status(out)),
        Command::Shelve(args) => shelve::shelve(&args, out),
        Command::Unshelve(args) => shelve::unshelve(&args, out),
        Command::Worker(args) => worker::run(&args, out),
        Command::Worktree(args) => worktree::run(&args, out),
        Command::Config(args) => config::run(&args, out),
        Command::Policy(args) => policy::run(&args, out),
        Command::Doctor(args) => doctor::run(&args, out),
        Command::Demo(args) => demo::run(&args, out),
        Command::List(args) => list::run(&args, out),
        Command::ListPlans(args) => list_plans::run(&args, words, out),
        Command::ResolveActivePlan(args) => active::run(&args, out),
        Command::Use(args) => merged::run_use(&args, out),
        Command::Edit(args) => edit::run(&args, out),
        Command::Fmt(args) => fmt::run(&args, out),
        Command::Convert(args) => convert::run(&args, out),
        Command::Import(args) => import::run(&args, out),
        Command::Export(args) => export::run(&args, out),
        Command::Discover(args) => discover::run(&args, out),
        Command::Simulate(args) => simulate::run(&args, out),
        Command::Arbiter(args) => arbiter::run(&args, out),
        Command::Stats(args) => stats::run(&args, out),
        Command::Audit(args) => audit::run(&args, out),
        Command::Archive(args) => archive::run(&args, out),
        Command::Mcp(args) => mcp::run(&args, out),
        Command::Merge(args) => merge::run(&args, out),
        Command::MergeDriver(args) => merge_driver::run(&args, out),
        Command::Hook(args) => hook::run(&args, out),
        Command::Tools(args) => tools::run(&args, out),
        Command::Acp(args) => acp::run(&args, out),
        Command::Explain(args) => explain::run(&args, out),
        Command::Schema(args) => schema::run(&args, out),
        Command::Completions(args) => Ok(completions::run(&args, out)),
        Command::Man(args) => man::run(&args, out),
        Command::Help(args) => help::run(&args, out),
    }
}

/// Shows the review and starts the plan if asked to.
fn run_review(args: &review::Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    match review::run(args, out)? {
        review::Ended::Said(answer) => Ok(*answer),
        review::Ended::Start(plan) => run_command::run(&run_command::Args::of(&plan), out),
    }
}

/// Runs a plan; one that failed only with `--retry`.
fn run_plan(args: &run_command::Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.retry {
        run_command::check_retry(&args.plan)?;
    }
    run_command::run(args, out)
}

/// Approves a plan and runs it on request.
fn approve_and_run(args: &approve::Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let approved = approve::run(args, out)?;
    if args.run { run_command::run(&run_command::Args::of(&args.plan), out) } else { Ok(approved) }
}

/// Runs the one-step plan of `quick`.
fn run_quick(args: &quick::Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = quick::plan(args)?;
    let words = run_command::Args::of(&plan.path().to_string_lossy()).approving(args.rev.clone());
    let words = if args.dry_run { words.dry() } else { words };
    run_command::run_plan(&words, &plan, out)
}

/// Says what is wrong with the command line, or prints the help that was asked for.
fn refuse(words: &[OsString], error: &clap::Error) -> Exit {
    let mut out = Out::of_process(&flags_among(words));
    let text = match out.settings().stdout.has_color {
        true => error.render().ansi().to_string(),
        false => error.render().to_string(),
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        out.data(&text);
        return out.finish(&Ok(Response::done("help", &Page { text: error.render().to_string() })));
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !out.settings().is_json {
        out.complain(&text);
        return Exit::Usage;
    }
    out.finish(&Err(misuse(words, error)))
}

/// The flags on a command line that the parser gave up on, so that a diagnostic comes in the form that was asked for.
fn flags_among(words: &[OsString]) -> Flags {
    let has = |flag: &str| words.iter().any(|word| word == OsStr::new(flag));
    let color = |when: &str| {
        let is_two = |pair: &[OsString]| pair[0] == "--color" && pair[1] == when;
        has(&format!("--color={when}")) || words.windows(2).any(is_two)
    };
    let color = match (color("always"), color("never")) {
        (_, true) => Color::Never,
        (true, false) => Color::Always,
        (false, false) => Color::Auto,
    };
    Flags { json: has("--json"), quiet: has("--quiet") || has("-q"), color, ..Flags::default() }
}

/// What is wrong with the command line, in our own form.
fn misuse(words: &[OsString], error: &clap::Error) -> Failure {
    let grammar = grammar();
    let typed =
        words.iter().skip(1).find_map(|word| grammar.find_subcommand(word)).map(clap::Command::get_name);
    let help = |command: Option<&str>| NextCommand::new(["planwright", "help"].into_iter().chain(command));
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    if error.kind() == ErrorKind::InvalidSubcommand
        && typed.is_none()
        && let Some(word) = context(ContextKind::InvalidSubcommand)
    {
        let names = grammar.get_subcommands().filter(|command| !command.is_hide_set());
        let meant = nearest(&word, names.map(clap::Command::get_name));
        let failure = Failure::new(Exit::Usage, format!("unknown command `{word}`"));
        return match meant {
            Some(meant) => failure.hint(format!("did you mean `{meant}`?")).next(help(Some(meant))),
            None => failure.next(help(None)),
        };
    }
    let is_nothing = matches!(
        error.kind(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand
    );
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let on_one_line = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let message = match is_nothing {
        true => "missing command".to_owned(),
        false => on_one_line(paragraphs.next().unwrap_or_default().trim_start_matches("error: ")),
    };
    // clap also suggests distant words: only near misses are kept.
    let pairs = [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
    ];
    let meant = pairs.into_iter().find_map(|(is, meant)| {
        let (is, meant) = (context(is)?, context(meant)?);
        nearest(&is, [meant.as_str()]).map(str::to_owned)
    });
    let tip = paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: "));
    let tip = tip.filter(|tip| !tip.starts_with("a similar") && !tip.starts_with("some similar"));
    let failure = Failure::new(Exit::Usage, message);
    let failure = match (meant, tip) {
        (Some(meant), _) => failure.hint(format!("did you mean `{meant}`?")),
        (None, Some(tip)) => failure.hint(on_one_line(tip)),
        (None, None) => failure,
    };
    failure.next(help(typed))
}
