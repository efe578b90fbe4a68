//! `replan`: writes the next version of a plan after a step failed. What was finished stays finished; the new version is a draft
//! that has to be approved anew.

use planwright_engine::core::dialect::record::{self, Replan};
use planwright_engine::core::draft::{Draft, Mark};
use planwright_engine::core::plan;
use planwright_engine::core::run::Status;
use planwright_engine::runs::{Run, Runs};
use planwright_engine::{clock, store};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Opened, find_step, open, refused, shown};
use crate::out::{Answer, Exit, Failure, Next, Out, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan, or PLAN/STEP for the step that failed
    #[arg(value_name = "PLAN[/STEP]")]
    plan: String,
    /// Why the step failed; what its run says where that is not said
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// What was found out meanwhile; may be given several times
    #[arg(long = "discovery", value_name = "TEXT")]
    discoveries: Vec<String>,
    /// What has to be kept to from now on; may be given several times
    #[arg(long = "constraint", value_name = "TEXT")]
    constraints: Vec<String>,
    /// What is different in the new version
    #[arg(long, value_name = "TEXT", default_value = "")]
    changes: String,
    /// Why it is
    #[arg(long, value_name = "TEXT", default_value = "")]
    reasoning: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Replanned {
    /// The old version.
    pub(crate) previous: String,
    /// The id of the new version.
    pub(crate) id: String,
    /// Its file.
    pub(crate) path: String,
    /// The step that failed.
    pub(crate) failed: String,
    /// Why.
    pub(crate) error: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let Opened { path, project, source, step } = open(&args.plan)?;
    let Some(folder) = path.parent().filter(|_| source.dialect().name == "record") else {
        let message = format!("a plan of the dialect {} has no versions in files", source.dialect().name);
        let next = Next::new(["planwright", "verify", shown(&path).as_str()]);
        return Err(Failure::new(Exit::No, message).hint("edit it, and approve it again").next(next));
    };
    let draft = source.draft();
    let runs = Runs::open_existing(&project)?;
    let run = runs.map(|runs| runs.latest(&path)).transpose()?.flatten();
    let failed = match step {
        Some(step) => find_step(&draft, &step, &shown(&path))?,
        None => failed_step(&draft, run.as_ref()).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("no step of {} has failed", shown(&path)))
                .hint("say which one shall be planned anew: PLAN/STEP")
        })?,
    };
    let id = plan::ids(&draft).swap_remove(failed);
    let error = args.error.clone().or_else(|| said(&draft, failed, run.as_ref())).unwrap_or_default();
    let replan = Replan {
        failed,
        error: &error,
        discoveries: &args.discoveries,
        constraints: &args.constraints,
        changes: &args.changes,
        reasoning: &args.reasoning,
        now: &clock::utc_now(),
    };
    let next = record::replanned(&source, &replan).map_err(|refusal| refused(&path, &refusal))?;
    let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let file = folder.join(format!("{}.{ending}", next.id));
    store::create(&file, &next.text)?;
    out.line(&format!("{}  {}", out.palette().paint(Tone::Good, "wrote"), clean_line(&shown(&file))));
    let is_waiting = run.as_ref().is_some_and(|run| run.state.outcome().is_none());
    if is_waiting {
        out.talk("the run of the old version still waits; end it with `planwright cancel`");
    }
    let replanned = Replanned { previous: shown(&path), id: next.id, path: shown(&file), failed: id, error };
    let next = Next::new(["planwright", "verify", replanned.path.as_str()]);
    Ok(Answer::done("replan", &replanned).next(next))
}

/// The step that failed last: in its run, else as the file says.
fn failed_step(draft: &Draft, run: Option<&Run>) -> Option<usize> {
    let is_stuck = |step: &planwright_engine::core::run::StepState| {
        !step.failed.is_empty() && !matches!(step.status, Status::Passed { .. } | Status::Skipped { .. })
    };
    let in_run = run.and_then(|run| run.state.steps.iter().position(is_stuck));
    in_run.or_else(|| draft.steps.iter().position(|step| step.mark() == Some(Mark::Failed)))
}

/// Why a step failed.
fn said(draft: &Draft, step: usize, run: Option<&Run>) -> Option<String> {
    let last = run.and_then(|run| run.state.steps.get(step)?.failed.last());
    let in_file = || draft.steps[step].trace.0.error.clone().filter(|error| !error.is_empty());
    last.map(|last| last.failure.to_string()).or_else(in_file)
}
