//! The command line: what may be typed, and which command is meant. Knows no command's business.

use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::command::{completions, edit, explain, fmt, help, list, man, new, schema, show, verify};
use crate::out::{Answer, Exit, Failure, Flags, Next, Out};

/// Plans that AI coding agents carry out and only a shell command can finish.
#[derive(Debug, Parser)]
#[command(name = "planwright", version, disable_help_subcommand = true, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "A PLAN is a path, a name, or the beginning of a name; PLAN/STEP is one of its steps.")]
pub(crate) struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a new plan from a template
    New(new::Args),
    /// Check plans as a compiler checks programs
    Verify(verify::Args),
    /// Show a plan, one of its steps, or its graph
    Show(show::Args),
    /// List the plans of this project
    List(list::Args),
    /// Change a plan without touching any other byte
    Edit(edit::Args),
    /// Put plans into canonical form
    Fmt(fmt::Args),
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

/// Runs the command that was typed and returns how it ended.
pub fn run(words: impl Iterator<Item = OsString>) -> Exit {
    let words: Vec<OsString> = without_prefix(words.collect());
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => return refuse(&words, &error),
    };
    let mut flags = cli.flags;
    if let Command::Verify(args) = &cli.command {
        // One format, two ways to ask for it.
        flags.json |= args.wants_json();
    }
    let mut out = Out::of_process(&flags);
    let result = dispatch(cli.command, &mut out);
    out.finish(&result)
}

/// Drops the word `plan` in front of a command: `planwright plan verify x` is `planwright verify x`.
fn without_prefix(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.len() > 2 && words[1] == "plan" {
        words.remove(1);
    }
    words
}

fn dispatch(command: Command, out: &mut Out<'_>) -> Result<Answer, Failure> {
    match command {
        Command::New(args) => new::run(&args, out),
        Command::Verify(args) => verify::run(&args, out),
        Command::Show(args) => show::run(&args, out),
        Command::List(args) => list::run(&args, out),
        Command::Edit(args) => edit::run(&args, out),
        Command::Fmt(args) => fmt::run(&args, out),
        Command::Explain(args) => explain::run(&args, out),
        Command::Schema(args) => schema::run(&args, out),
        Command::Completions(args) => completions::run(&args, out),
        Command::Man(args) => man::run(&args, out),
        Command::Help(args) => help::run(&args, out),
    }
}

/// Says what is wrong with the command line, or prints the help that was asked for.
fn refuse(words: &[OsString], error: &clap::Error) -> Exit {
    let is_json = words.iter().any(|word| word == OsStr::new("--json"));
    let flags = Flags { json: is_json, ..Flags::default() };
    let mut out = Out::of_process(&flags);
    let text = match !out.settings().stderr.has_color {
        true => error.render().to_string(),
        false => error.render().ansi().to_string(),
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            out.data(&text);
            out.finish(&Ok(Answer::done("help", &help::Page { text: error.render().to_string() })))
        }
        _ if is_json => {
            let plain = error.render().to_string();
            let message = plain.trim_start_matches("error: ").lines().next().unwrap_or_default().to_owned();
            let failure = Failure::new(Exit::Usage, message).next(Next::new(["planwright", "help"]));
            out.finish(&Err(failure))
        }
        _ => {
            out.complain(&text);
            Exit::Usage
        }
    }
}
