//! `fmt`: formats plans, or lists those that are not formatted.

use planwright_engine::api::{FormatMode, FormatView, STDIN};

use crate::interaction::project::workspace;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plans to format; `-` reads standard input [default: all]
    #[arg(value_name = "PLAN")]
    plans: Vec<String>,
    /// Write nothing; fail if a plan is not formatted
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let workspace = workspace()?;
    if args.plans.iter().any(|plan| plan == STDIN) {
        let formatted = workspace.format_stdin()?;
        match (&formatted.text, args.check) {
            (Some(text), false) => out.filtered(text),
            (Some(_) | None, _) => print_changed(&formatted, "would change", out),
        }
        return Ok(Response::new(exit(args, &formatted), "fmt", &formatted));
    }
    let mode = if args.check { FormatMode::Check } else { FormatMode::Write };
    let formatted = workspace.format(&args.plans, mode)?;
    print_changed(&formatted, if args.check { "would change" } else { "formatted" }, out);
    if formatted.changed.is_empty() {
        out.talk(&match formatted.plans {
            0 => "no plans found".to_owned(),
            1 => "already formatted".to_owned(),
            plans => format!("all {plans} plans are already formatted"),
        });
    }
    let answer = Response::new(exit(args, &formatted), "fmt", &formatted);
    match formatted.changed.first() {
        Some(path) if args.check => Ok(answer.next(NextCommand::new(["planwright", "fmt", path.as_str()]))),
        Some(_) | None => Ok(answer),
    }
}

fn print_changed(formatted: &FormatView, word: &str, out: &mut Out<'_>) {
    for path in &formatted.changed {
        out.line(&format!("{}  {}", out.palette().paint(Tone::Attention, word), clean_line(path)));
    }
}

fn exit(args: &Args, formatted: &FormatView) -> Exit {
    if args.check && !formatted.changed.is_empty() { Exit::No } else { Exit::Done }
}
