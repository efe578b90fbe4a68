//! `revise PLAN`: returns a plan to draft: withdraws a proposal, or reopens a plan that has finished.

pub(crate) mod planner;

use planwright_engine::approval::Approvals;
use planwright_engine::store::plan_file;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::target::{Opened, open};
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Reopened {
    /// The plan.
    pub(crate) plan: String,
    /// Where it stood.
    pub(crate) from: String,
    /// Its state now.
    pub(crate) state: String,
}

pub(crate) fn run(plan: &str, message: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::Revise)?;
    let Opened { path, project, .. } = open(plan)?;
    let decisions = Approvals::open(&project)?;
    let from = decisions.case(&path)?.state();
    let (case, complaints) = decisions.reopen(&path, &who(), message)?;
    out.warn_all(&complaints);
    let data =
        Reopened { plan: plan_file::name(&path), from: from.to_string(), state: case.state().to_string() };
    let word = out.palette().paint(Tone::Good, "revised");
    out.line(&format!("{word}  {}   was {}, now {}", clean_line(&data.plan), data.from, data.state));
    Ok(Response::done("reopen", &data).next(NextCommand::new([
        "planwright",
        "propose",
        shown(&path).as_str(),
    ])))
}
