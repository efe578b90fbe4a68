//! `run --retry`: runs a failed plan again under the same approval. Contracts of passed steps run again; their work is not
//! repeated.

use planwright_engine::approval::Approvals;
use planwright_engine::core::plan::lifecycle::PlanState;
use planwright_engine::store::plan_file;

use crate::interaction::target::{Opened, open};
use crate::output::{Exit, Failure, NextCommand};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

/// Refuses a plan that has not failed.
pub(crate) fn check(plan: &str) -> Result<(), Failure> {
    Caller::of_process().may(Right::Retry)?;
    let Opened { path, project, .. } = open(plan)?;
    let state = Approvals::open(&project)?.case(&path)?.state();
    if state == PlanState::Failed {
        return Ok(());
    }
    let verb = match state {
        PlanState::Waiting(_) => "answer",
        PlanState::Cancelled | PlanState::Done | PlanState::Rejected => "revise",
        PlanState::Draft
        | PlanState::Proposed
        | PlanState::Approved
        | PlanState::Running
        | PlanState::Failed => "run",
    };
    let message = format!("cannot retry {}: it is {state}, not failed", plan_file::name(&path));
    Err(Failure::new(Exit::No, message).next(NextCommand::new(["planwright", verb, shown(&path).as_str()])))
}
