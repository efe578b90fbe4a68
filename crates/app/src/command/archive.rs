//! `archive`: moves finished plans to the `archive/` directory next to them. Deletes no plan and keeps its records;
//! deletes old outputs on request.

use std::path::{Path, PathBuf};

use planwright_engine::Project;
use planwright_engine::approval::Approvals;
use planwright_engine::run as runs;
use planwright_engine::run::Runs;
use planwright_engine::run::stats;
use planwright_engine::store::plan_file::ARCHIVE;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::project::here;
use crate::interaction::target::{Opened, open};
use crate::output::wording;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Archived {
    /// The plans that were moved, or would be.
    pub(crate) plans: Vec<Moved>,
    /// The outputs that were deleted, or would be; `null` without `--outputs`.
    pub(crate) outputs: Option<OutputsData>,
    /// Whether it was only looked at.
    pub(crate) is_dry_run: bool,
}

/// A plan that was moved.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Moved {
    /// Where it was.
    pub(crate) from: String,
    /// Where it is.
    pub(crate) to: String,
}

/// Deleted outputs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OutputsData {
    /// How many runs were over before that time.
    pub(crate) runs: usize,
    /// How many outputs only they name.
    pub(crate) outputs: usize,
    /// How many bytes these have.
    pub(crate) bytes: u64,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if !args.dry_run {
        Caller::of_process().may(Right::Archive)?;
    }
    let mut data = Archived { plans: Vec::new(), outputs: None, is_dry_run: args.dry_run };
    if let Some(plan) = &args.plan {
        let Opened { path, project, .. } = open(plan)?;
        data.plans.push(put_away(args, &project, &path)?);
    }
    if let Some(text) = &args.older_than {
        let before_ms = wording::now().saturating_sub(wording::span("--older-than", text)?);
        old(args, before_ms, &mut data)?;
    }
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

/// Plans that finished before a time.
fn old(args: &Args, before_ms: u64, data: &mut Archived) -> Result<(), Failure> {
    let here = here()?;
    // Without any runs or decisions, no plan has finished.
    let Some(runs) = Runs::open_existing(&here)? else { return Ok(()) };
    for plan in stats::over_before(&runs, before_ms)? {
        data.plans.push(put_away(args, &here, &here.root.join(plan))?);
    }
    if args.outputs {
        let found = match args.dry_run {
            true => runs.store().old_outputs(before_ms),
            false => runs.store().drop_outputs(before_ms, wording::now()),
        };
        let found = found.map_err(runs::Error::from)?;
        data.outputs = Some(OutputsData { runs: found.runs, outputs: found.outputs, bytes: found.bytes });
    }
    Ok(())
}

fn put_away(args: &Args, project: &Project, path: &Path) -> Result<Moved, Failure> {
    let from = shown(path);
    let to: PathBuf = match args.dry_run {
        true => path.with_file_name(ARCHIVE).join(path.file_name().unwrap_or_default()),
        false => Approvals::open(project)?.archive(path, &who())?,
    };
    Ok(Moved { from, to: shown(&to) })
}

fn print(args: &Args, data: &Archived, out: &mut Out<'_>) {
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
    if let Some(OutputsData { runs, outputs, bytes }) = &data.outputs {
        let (runs, outputs) = (wording::number(*runs, "run"), wording::number(*outputs, "output"));
        out.line(&format!(
            "{dropped}  {outputs} of {runs}   {}; verdicts and hashes are kept",
            wording::size(*bytes)
        ));
    }
}
