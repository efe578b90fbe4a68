//! The command line: what may be typed, and which command is meant. Knows no command's business.

pub mod agentctl;
pub(crate) mod completions;
pub(crate) mod help;
pub(crate) mod man;

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};

use crate::command;
use crate::command::{
    acp, active, answer, approve, arbiter, archive, audit, cancel, clone, comment, config, convert, delete,
    demo, discover, doctor, draft, edit, events, explain, export, fmt, history, hook, import, inbox, init,
    list, list_plans, log, mcp, merge, merge_driver, new, policy, prompt, propose, queue, quick, reject,
    reopen, replan, retry, review, rollback, run as run_command, schema, session, should_plan, show,
    simulate, stage, standup, stats, status, stop, tools, undo, r#use, verify, worker, worktree,
};
use crate::interaction::notifier;
use crate::interaction::target::NamedPlan;
use crate::output::{Color, Exit, Failure, Flags, NextCommand, Out, Response};

/// Plans that AI coding agents carry out and only a shell command can finish.
#[derive(Debug, Parser)]
#[command(
    name = "planwright",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(
    after_help = "A PLAN is a path, a name, or the beginning of a name; PLAN/STEP is one of its steps."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// A setting for this command alone, such as run.jobs=4; may be given several times.
    #[arg(long = "config", global = true, help_heading = "Settings", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The dialect that plans are written in; told by content and place where it is not said.
    #[arg(long, global = true, help_heading = "Settings", value_name = "NAME")]
    dialect: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Give a project its settings and a folder for plans
    Init(init::Args),
    /// Write a new plan from a template
    New(new::Args),
    /// Have a planner write a plan for what you want, and propose it
    Draft(draft::Args),
    /// Check plans as a compiler checks programs
    Verify(verify::Args),
    /// Show a plan, one of its steps, or its graph
    Show(show::Args),
    /// Show what decides and what changed, and say yes or no
    Review(review::Args),
    /// Carry a plan through; only contracts say what is done
    #[command(visible_alias = "work")]
    Run(run_command::Args),
    /// Carry one task through at once, without a plan file
    Quick(quick::Args),
    /// Show where runs stand and what needs you
    Status(status::Args),
    /// Show what happened in a run
    Log(log::Args),
    /// Settle what only a person can settle
    Answer(answer::Args),
    /// Show everything that waits for a person
    Inbox(inbox::Args),
    /// Stop a run for now
    Stop(stop::Args),
    /// Take the work of a run back to before a step
    Rollback(rollback::Args),
    /// Ask for an approval of a plan
    Propose(propose::Args),
    /// Say yes to exactly one revision of a plan
    Approve(approve::Args),
    /// Say no to a plan, and what should change
    Reject(reject::Args),
    /// Remark something about a plan or a step, or answer a remark
    Comment(comment::Args),
    /// Take back your last decision about a plan, while nobody acted on it
    Undo(undo::Args),
    /// Give a plan back to its author
    Reopen(reopen::Args),
    /// Say whether a task deserves a plan, and by which rule
    ShouldPlan(should_plan::Args),
    /// Give a planner folders for its plans, and propose what it wrote in them
    Session(session::Args),
    /// Print texts for agents: overseer, context, planner, skill
    Prompt(prompt::Args),
    /// Carry a plan that failed through once more
    Retry(retry::Args),
    /// Write a new plan that says the same as another
    Clone(clone::Args),
    /// Remove a plan; its text is kept
    Delete(delete::Args),
    /// End a plan or its run for good
    Cancel(cancel::Args),
    /// Show what happens to all runs, one line per fact
    Events(events::Args),
    /// Show which plans may begin, what holds others back, and attempts
    Queue(queue::Args),
    /// Say what happened since yesterday, what waits for whom, and what is next
    Standup(standup::Args),
    /// Put a plan aside until it is wanted
    Stage(stage::Args),
    /// Put a staged plan into its place
    Activate(stage::Args),
    /// Make attempts for runs that other processes drive
    Worker(worker::Args),
    /// Make, list and remove working copies of the repository for plans
    Worktree(worktree::Args),
    /// Show the settings and where they come from, or change one
    Config(config::Args),
    /// Show who may approve plans here, or change that
    Policy(policy::Args),
    /// Look at everything that planwright stands on, and mend what is safe
    Doctor(doctor::Args),
    /// Make a repository with a plan to try things on
    Demo(demo::Args),
    /// List the plans of this project
    List(list::Args),
    /// List the plans of the harness folder, and the one that is bound here
    ListPlans(list_plans::Args),
    /// Print which plan is worked on here, and its progress file, for scripts
    #[command(alias = "resolve-active-plan")]
    Active(active::Args),
    /// Bind this worktree to a named plan, or to none
    Use(r#use::Args),
    /// Change a plan without touching any other byte
    Edit(edit::Args),
    /// Put plans into canonical form
    Fmt(fmt::Args),
    /// Write a plan anew in another dialect
    Convert(convert::Args),
    /// Take over the plan of another tool as a draft
    Import(import::Args),
    /// Give a plan to other programs, or to people as a report
    Export(export::Args),
    /// Have a planner write the next version of a plan after a step failed
    Replan(replan::Args),
    /// Note work that was come upon at a step, list it, or make a step of it
    Discover(discover::Args),
    /// Show the versions of a plan and their runs
    History(history::Args),
    /// Check what is recorded: that it is what was written, and proves what it says
    Audit(audit::Args),
    /// Show what carrying out a plan would do, and do nothing
    Simulate(simulate::Args),
    /// Show which agent does the next step and how the plan goes on, and why
    Arbiter(arbiter::Args),
    /// Show how work goes: first tries, retries, waits, contracts that never failed
    Stats(stats::Args),
    /// Put plans that are over out of the way
    Archive(archive::Args),
    /// Let agents propose, ask and report over MCP
    Mcp(mcp::Args),
    /// Land the work of finished plans in a branch, contracts run again on what is merged
    Merge(merge::Args),
    /// Merge a plan or a progress file by what it says; called by Git
    MergeDriver(merge_driver::Args),
    /// Answer what an agent asks before it uses a tool; called by agents
    Hook(hook::Args),
    /// Speak the Agent Client Protocol with an agent; called by attempts
    #[command(hide = true)]
    Acp(acp::Args),
    /// Show which tools plans can ask for, and which calls of agents were out of scope
    Tools(tools::Args),
    /// Explain a rule of the checker
    Explain(explain::Args),
    /// Print the JSON schema of a command's output
    Schema(schema::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print a manual page
    Man(man::Args),
    /// Explain a command or a topic, such as exit-codes
    Help(help::Args),
}

/// The grammar of the command line, for help, completions and manual pages.
pub(crate) fn grammar() -> clap::Command {
    Cli::command()
}

/// Every word that means a command.
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
    std::env::args_os().nth(1).is_some_and(|word| word == planwright_engine::system::process::SHIM)
}

/// Supervises the command that the arguments name.
pub fn shim() -> std::process::ExitCode {
    planwright_engine::system::process::shim_main(std::env::args_os())
}

/// Runs the command that was typed and returns how it ended.
pub fn run(words: impl Iterator<Item = OsString>) -> Exit {
    let words: Vec<OsString> = without_prefix(words.collect());
    let cli = match Cli::try_parse_from(&words) {
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
    command::take_settings(cli.settings);
    if records(&cli.command) {
        notifier::begin();
    }
    let mut command = cli.command;
    let result = command::take_dialect(cli.dialect.as_deref())
        .and_then(|()| settle(&mut command))
        .and_then(|()| dispatch(command, &mut out));
    let exit = out.finish(&result);
    notifier::finish();
    exit
}

/// Drops the word `plan` in front of a command: `planwright plan verify x` is `planwright verify x`. In front of `--name` it is the
/// command of document D: `plan --name x WISH` has the named plan x written. Its scripts ask for `queue-status`, too.
fn without_prefix(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "queue-status" || word == "queue-status-lite") {
        words.splice(1..2, ["queue".into(), "--status".into()]);
        return words;
    }
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
        let (by, step) = args.named.work_on_task(&mut args.plan, &args.task)?;
        args.by = by;
        args.only = step.or(args.only.take());
    }
    if let Command::Show(show::Args { named, plan, task, .. })
    | Command::Log(log::Args { named, plan, task, .. }) = command
        && let (_, Some(step)) = named.work_on_task(plan, task)?
    {
        *plan = format!("{plan}/{step}");
    }
    if let Command::Simulate(simulate::Args { named, plan, .. })
    | Command::History(history::Args { named, plan, .. })
    | Command::Arbiter(arbiter::Args { named, plan, .. }) = command
    {
        named.work(plan)?;
    }
    if let Command::Propose(propose::Args { name, plans, steps: None, .. }) = command
        && !plans.iter().any(|plan| plan == propose::STDIN)
    {
        NamedPlan::of(name.as_deref()).work_all(plans)?;
    }
    if let Command::Review(args) = command {
        args.by = args.named.narrow(&mut args.plan)?;
    }
    if let Command::Status(args) = command {
        args.named.narrow_row(&mut args.plan)?;
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
    | Command::Reopen(reopen::Args { named, plan, .. })
    | Command::Undo(undo::Args { named, plan, .. })
    | Command::Retry(retry::Args { named, plan, .. }) = command
    {
        named.decide(plan)?;
    }
    Ok(())
}

/// Whether a command records what listeners are told of, or may find that something lapsed.
fn records(command: &Command) -> bool {
    match command {
        Command::Review(_)
        | Command::Run(_)
        | Command::Answer(_)
        | Command::Stop(_)
        | Command::Rollback(_)
        | Command::Cancel(_)
        | Command::Propose(_)
        | Command::Approve(_)
        | Command::Reject(_)
        | Command::Comment(_)
        | Command::Undo(_)
        | Command::Reopen(_)
        | Command::Retry(_)
        | Command::Delete(_)
        | Command::Edit(_)
        | Command::Draft(_)
        | Command::Quick(_)
        | Command::Discover(_)
        | Command::Replan(_)
        | Command::Arbiter(_)
        | Command::Archive(_)
        | Command::Session(_)
        | Command::Merge(_)
        | Command::Mcp(_) => true,
        Command::Verify(args) => args.is_recorded(),
        Command::Init(_)
        | Command::New(_)
        | Command::ShouldPlan(_)
        | Command::Prompt(_)
        | Command::Clone(_)
        | Command::Show(_)
        | Command::Simulate(_)
        | Command::Stats(_)
        | Command::Status(_)
        | Command::Log(_)
        | Command::Inbox(_)
        | Command::Events(_)
        | Command::Queue(_)
        | Command::Standup(_)
        | Command::Stage(_)
        | Command::Activate(_)
        | Command::Worker(_)
        | Command::Worktree(_)
        | Command::Policy(_)
        | Command::Config(_)
        | Command::Doctor(_)
        | Command::Demo(_)
        | Command::List(_)
        | Command::ListPlans(_)
        | Command::Active(_)
        | Command::Use(_)
        | Command::Fmt(_)
        | Command::Convert(_)
        | Command::Import(_)
        | Command::Export(_)
        | Command::History(_)
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
        Command::New(args) => new::run(&args, out),
        Command::Draft(args) => draft::run(&args, out),
        Command::Verify(args) => verify::run(&args, out),
        Command::Show(args) => show::run(&args, out),
        Command::Review(args) => run_review(&args, out),
        Command::Run(args) => run_command::run(&args, out),
        Command::Quick(args) => run_quick(&args, out),
        Command::Status(args) => status::run(&args, out),
        Command::Log(args) => log::run(&args, out),
        Command::Answer(args) => answer::run(&args, out),
        Command::Inbox(args) => inbox::run(&args, out),
        Command::Stop(args) => stop::run(&args, out),
        Command::Rollback(args) => rollback::run(&args, out),
        Command::Propose(args) => propose::run(&args, out),
        Command::Approve(args) => approve_and_run(&args, out),
        Command::Reject(args) => reject::run(&args, out),
        Command::Comment(args) => comment::run(&args, out),
        Command::Undo(args) => undo::run(&args, out),
        Command::Reopen(args) => reopen::run(&args, out),
        Command::Retry(args) => run_again(&args, out),
        Command::Clone(args) => clone::run(&args, out),
        Command::Delete(args) => delete::run(&args, out),
        Command::Cancel(args) => cancel::run(&args, out),
        Command::ShouldPlan(args) => should_plan::run(&args, out),
        Command::Session(args) => session::run(&args, out),
        Command::Prompt(args) => prompt::run(&args, out),
        Command::Events(args) => events::run(&args, out),
        Command::Queue(args) => queue::run(&args, out),
        Command::Standup(args) => standup::run(&args, out),
        Command::Stage(args) => stage::stage(&args, out),
        Command::Activate(args) => stage::activate(&args, out),
        Command::Worker(args) => worker::run(&args, out),
        Command::Worktree(args) => worktree::run(&args, out),
        Command::Config(args) => config::run(&args, out),
        Command::Policy(args) => policy::run(&args, out),
        Command::Doctor(args) => doctor::run(&args, out),
        Command::Demo(args) => demo::run(&args, out),
        Command::List(args) => list::run(&args, out),
        Command::ListPlans(args) => list_plans::run(&args, out),
        Command::Active(args) => active::run(&args, out),
        Command::Use(args) => r#use::run(&args, out),
        Command::Edit(args) => edit::run(&args, out),
        Command::Fmt(args) => fmt::run(&args, out),
        Command::Convert(args) => convert::run(&args, out),
        Command::Import(args) => import::run(&args, out),
        Command::Export(args) => export::run(&args, out),
        Command::Replan(args) => replan::run(&args, out),
        Command::Discover(args) => discover::run(&args, out),
        Command::History(args) => history::run(&args, out),
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

/// Shows what is to be decided, and begins what was approved to be begun at once.
fn run_review(args: &review::Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    match review::run(args, out)? {
        review::Ended::Said(answer) => Ok(*answer),
        review::Ended::Start(plan) => run_command::run(&run_command::Args::of(&plan), out),
    }
}

/// Carries a plan that failed through once more.
fn run_again(args: &retry::Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    retry::check(args)?;
    run_command::run(&run_command::Args::again(&args.plan), out)
}

/// Approves a plan, and carries it out where that is asked for.
fn approve_and_run(args: &approve::Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let approved = approve::run(args, out)?;
    if args.run { run_command::run(&run_command::Args::of(&args.plan), out) } else { Ok(approved) }
}

/// Carries out the plan of one step that `quick` makes.
fn run_quick(args: &quick::Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let opened = quick::open(args)?;
    let plan = opened.path.to_string_lossy().into_owned();
    let words = run_command::Args::of(&plan).approving(args.rev.clone());
    let words = if args.dry_run { words.dry() } else { words };
    run_command::run_opened(&words, opened, out)
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
        return out.finish(&Ok(Response::done("help", &command::Page { text: error.render().to_string() })));
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !out.settings().is_json {
        out.complain(&text);
        return Exit::Usage;
    }
    out.finish(&Err(misuse(words, error)))
}

/// The flags on a command line that the parser gave up on, so that a complaint comes in the form that was asked for.
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
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let on_one_line = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let is_nothing = matches!(
        error.kind(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand
    );
    let message = match is_nothing {
        true => "no command was given".to_owned(),
        false => on_one_line(paragraphs.next().unwrap_or_default().trim_start_matches("error: ")),
    };
    let failure = Failure::new(Exit::Usage, message);
    let failure = match paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: ")) {
        Some(tip) => failure.hint(on_one_line(tip)),
        None => failure,
    };
    let grammar = grammar();
    let typed =
        words.iter().skip(1).find_map(|word| grammar.find_subcommand(word)).map(clap::Command::get_name);
    let meant = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => names.first().map(String::as_str),
        Some(ContextValue::String(name)) => Some(name.as_str()),
        _ => None,
    };
    failure.next(NextCommand::new(["planwright", "help"].into_iter().chain(typed.or(meant))))
}
