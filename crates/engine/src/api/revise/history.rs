//! What is known about a plan to revise: which step failed and why, what is finished, and why there were versions before.

use std::collections::BTreeSet;
use std::path::PathBuf;

use planwright_core::agent::planner as planning;
use planwright_core::approval::ledger::Setback;
use planwright_core::plan::draft::{Draft, Mark};
use planwright_core::plan::verified;
use planwright_core::run::state::{StepState, StepStatus};

use super::{DIALECTS, Revision, RevisionAuthor, RevisionOptions};
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::plan::Plan;
use crate::approval::Approvals;
use crate::run::{Run, Runs};
use crate::store::plan_file;
use crate::workspace::project::Project;
use crate::workspace::version;

/// How much of what a contract printed says why it failed.
const ERROR_BYTES_MAX: usize = 2 << 10;

impl Plan {
    /// Everything that the next version is written from.
    pub fn revision(&self, options: RevisionOptions) -> Result<Revision<'_>, Error> {
        let dialect = self.source().dialect().name;
        if !DIALECTS.contains(&dialect) {
            let message = format!("plans in dialect {dialect} have no version files");
            let next = NextCommand::new(["planwright", "propose", self.shown().as_str()]);
            return Err(Error::new(ErrorKind::Refused, message)
                .hint("edit it and propose it again")
                .next(next));
        }
        let (project, draft) = (self.workspace().project(), self.draft());
        let ids = verified::ids(draft);
        let runs = Runs::open_existing(project)?;
        let run = runs.as_ref().map(|runs| runs.latest(self.path())).transpose()?.flatten();
        let named = options.step.as_ref().map(|step| self.find_step(step)).transpose()?.or(self.step());
        let failed = named.or_else(|| failed_step(draft, &ids, run.as_ref()));
        if failed.is_none() && options.author != RevisionAuthor::Answer {
            let message = format!("no step of {} has failed", self.shown());
            return Err(Error::new(ErrorKind::Usage, message).hint("name the failed step: PLAN/STEP"));
        }
        let said =
            || failed.and_then(|failed| said(draft, failed, &ids[failed], run.as_ref().zip(runs.as_ref())));
        let chain = version::of(project, self.path());
        Ok(Revision {
            plan: self,
            error: options.error.clone().or_else(said).unwrap_or_default(),
            finished: finished(draft, &ids, run.as_ref()),
            next: planning::next(&self.name(), draft),
            setbacks: setbacks(project, &chain)?,
            options,
            ids,
            failed,
            chain,
            run,
        })
    }
}

/// The step that failed last: in its run, else as the file says.
fn failed_step(draft: &Draft, ids: &[String], run: Option<&Run>) -> Option<usize> {
    let is_stuck = |step: &&StepState| {
        !step.history.failed.is_empty()
            && !matches!(step.status, StepStatus::Passed { .. } | StepStatus::Skipped { .. })
    };
    let in_run = run.and_then(|run| run.state.steps.iter().find(is_stuck));
    let in_run = in_run.and_then(|step| ids.iter().position(|id| *id == step.id));
    in_run.or_else(|| draft.steps.iter().position(|step| step.mark() == Some(Mark::Failed)))
}

/// Why a step failed: the verdict, and the end of what its contract printed.
fn said(draft: &Draft, step: usize, id: &str, run: Option<(&Run, &Runs)>) -> Option<String> {
    let state = run.and_then(|(run, _)| run.state.steps.iter().find(|state| state.id == id));
    let Some(last) = state.and_then(|state| state.history.failed.last()) else {
        return draft.steps[step].trace.0.error.clone().filter(|error| !error.is_empty());
    };
    let output = last.output.as_ref().and_then(|blob| run?.1.blob(blob).ok()).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    let start = output.ceil_char_boundary(output.len().saturating_sub(ERROR_BYTES_MAX));
    Some(format!("{}\n{}", last.failure, output[start..].trim()).trim_end().to_owned())
}

/// The steps that are finished: as the run says, else as the file claims.
fn finished(draft: &Draft, ids: &[String], run: Option<&Run>) -> BTreeSet<usize> {
    let Some(run) = run else {
        let steps = draft.steps.iter().enumerate();
        return steps.filter(|(_, step)| step.mark() == Some(Mark::Done)).map(|(place, _)| place).collect();
    };
    let passed = run.state.steps.iter().filter(|step| matches!(step.status, StepStatus::Passed { .. }));
    passed.filter_map(|step| ids.iter().position(|id| *id == step.id)).collect()
}

/// Why there were versions before, the oldest first. The record leads on where the file of an earlier version is gone.
fn setbacks(project: &Project, chain: &[PathBuf]) -> Result<Vec<Setback>, Error> {
    let Some(approvals) = Approvals::open_existing(project)? else { return Ok(Vec::new()) };
    let mut seen: BTreeSet<String> = chain.iter().map(|version| plan_file::name(version)).collect();
    let mut rest = chain.to_vec();
    let mut setbacks = Vec::new();
    while let Some(version) = rest.pop() {
        let drafts = approvals.case(&version)?.standing.drafts;
        let after: Vec<Setback> = drafts.into_iter().filter_map(|drafted| drafted.drafting.after).collect();
        if rest.is_empty() {
            let earlier = after.iter().find(|setback| seen.insert(setback.previous.clone()));
            let ending = version.extension().unwrap_or_default().to_string_lossy().into_owned();
            rest.extend(
                earlier.map(|setback| version.with_file_name(format!("{}.{ending}", setback.previous))),
            );
        }
        setbacks.extend(after.into_iter().rev());
    }
    setbacks.reverse();
    Ok(setbacks)
}
