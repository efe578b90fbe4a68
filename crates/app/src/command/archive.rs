//! `archive`: moves finished plans to the `archive/` directory next to them. Deletes no plan and keeps its records;
//! deletes old outputs on request.

use planwright_engine::api::{Archivable, ArchiveOptions, ArchiveView, OldOutputs, Outputs};

use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to archive
    #[arg(required_unless_present = "older_than")]
    plan: Option<String>,
    /// Archive plans that finished longer ago than TIME, such as 30d
    #[arg(long, value_name = "TIME", conflicts_with = "plan")]
    older_than: Option<String>,
    /// Delete old output of agents and contracts; keep verdicts and hashes
    #[arg(long, requires = "older_than")]
    outputs: bool,
    /// Show what would be done
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let what = match (&args.plan, &args.older_than) {
        (_, Some(text)) => Archivable::Before {
            before_ms: wording::now().saturating_sub(wording::span("--older-than", text)?),
            outputs: if args.outputs { Outputs::Deleted } else { Outputs::Kept },
        },
        (plan, None) => Archivable::Plan(plan.as_deref().unwrap_or_default()),
    };
    let data = workspace()?.archive(&ArchiveOptions { what, is_dry_run: args.dry_run })?;
    print(args, &data, out);
    let answer = Response::done("archive", &data);
    Ok(match (args.dry_run, &args.older_than, &args.plan) {
        (true, Some(time), _) => {
            let outputs = args.outputs.then_some("--outputs");
            let words = ["planwright", "archive", "--older-than", time.as_str()];
            answer.next(NextCommand::new(words.into_iter().chain(outputs)))
        }
        (true, None, Some(plan)) => answer.next(NextCommand::new(["planwright", "archive", plan.as_str()])),
        (false, ..) | (true, None, None) => answer.next(NextCommand::new(["planwright", "list"])),
    })
}

fn print(args: &Args, data: &ArchiveView, out: &mut Out<'_>) {
    let (moved, dropped) = match args.dry_run {
        true => ("would move", "would delete"),
        false => ("moved", "deleted"),
    };
    let word = out.palette().paint(Tone::Good, moved);
    for plan in &data.plans {
        out.line(&format!("{word}  {}   to {}", clean_line(&plan.from), clean_line(&plan.to)));
    }
    if data.plans.is_empty() {
        out.line("no finished plan is that old");
    }
    if let Some(OldOutputs { runs, outputs, bytes }) = &data.outputs {
        let (runs, outputs) = (wording::number(*runs, "run"), wording::number(*outputs, "output"));
        out.line(&format!(
            "{dropped}  {outputs} of {runs}   {}; verdicts and hashes are kept",
            wording::size(*bytes)
        ));
    }
}
