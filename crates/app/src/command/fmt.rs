//! `fmt`: formats plans, or lists those that are not formatted.

use std::io;
use std::path::Path;

use planwright_engine::core::syntax::source::Source;
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::here;
use crate::interaction::target::{Opened, open, open_file};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::unchanged;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plans to format; `-` reads standard input [default: all]
    #[arg(value_name = "PLAN")]
    plans: Vec<String>,
    /// Write nothing; fail if a plan is not formatted
    #[arg(long)]
    check: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Formatted {
    /// How many plans were looked at.
    pub(crate) plans: usize,
    /// Those that were not in canonical form.
    pub(crate) changed: Vec<String>,
    /// The canonical text of a plan that came on standard input.
    pub(crate) text: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.plans.iter().any(|plan| plan == "-") {
        return from_stdin(args, out);
    }
    // Everything is read before anything is written: a plan that can't be read leaves the others as they are.
    let plans: Vec<Opened> = match args.plans.is_empty() {
        true => here()?.plans()?.into_iter().map(open_file).collect::<Result<_, _>>()?,
        false => args.plans.iter().map(|plan| open(plan)).collect::<Result<_, _>>()?,
    };
    let texts =
        plans.iter().map(|plan| canonical(&plan.path, &plan.source)).collect::<Result<Vec<_>, _>>()?;
    let mut changed = Vec::new();
    for (opened, text) in plans.iter().zip(texts) {
        if text == opened.source.text() {
            continue;
        }
        if !args.check {
            planwright_engine::store::plan_file::save(
                &opened.path,
                &opened.source,
                &opened.source.with(text),
            )?;
        }
        changed.push(shown(&opened.path));
    }
    Ok(report(args, plans.len(), changed, out))
}

fn canonical(path: &Path, source: &Source) -> Result<String, Failure> {
    Ok(source.dialect().format(source).map_err(|refusal| unchanged(path, &refusal))?)
}

fn report(args: &Args, plans: usize, changed: Vec<String>, out: &mut Out<'_>) -> Response {
    let word = if args.check { "would change" } else { "formatted" };
    for path in &changed {
        out.line(&format!("{}  {}", out.palette().paint(Tone::Attention, word), clean_line(path)));
    }
    if changed.is_empty() {
        out.talk(&match plans {
            0 => "no plans found".to_owned(),
            1 => "already formatted".to_owned(),
            _ => format!("all {plans} plans are already formatted"),
        });
    }
    let exit = if args.check && !changed.is_empty() { Exit::No } else { Exit::Done };
    let first = changed.first().cloned();
    let answer = Response::new(exit, "fmt", &Formatted { plans, changed, text: None });
    match first {
        Some(path) if args.check => answer.next(NextCommand::new(["planwright", "fmt", path.as_str()])),
        Some(_) | None => answer,
    }
}

/// Formats one plan from standard input to standard output.
fn from_stdin(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let text = plan_file::read_stream(&mut io::stdin(), "<stdin>", here()?.reading())
        .map_err(|error| Failure::new(Exit::Machine, "cannot read standard input").because(&error))?;
    let source = match text {
        FileText::Plan(source) => source,
        FileText::Unreadable(unreadable) => {
            return Err(Failure::new(Exit::No, unreadable.diagnostic.message));
        }
    };
    let text = canonical(Path::new("<stdin>"), &source)?;
    let is_same = text == source.text();
    if args.check && !is_same {
        out.line(&format!("{}  <stdin>", out.palette().paint(Tone::Attention, "would change")));
    } else if !args.check {
        // A filter passes every byte on; only a terminal is kept from what could steer it.
        match out.settings().stdout.is_terminal {
            true => out.data(&clean(&text)),
            false => out.data(&text),
        }
    }
    let changed = if is_same { Vec::new() } else { vec!["<stdin>".to_owned()] };
    let exit = if args.check && !is_same { Exit::No } else { Exit::Done };
    Ok(Response::new(exit, "fmt", &Formatted { plans: 1, changed, text: Some(text) }))
}
