//! `reject`: a person rejects a plan and says what should change. The plan returns to its author; nothing starts.

use planwright_engine::approval::Approvals;
use planwright_engine::core::plan::lifecycle::{PlanState, WaitReason};
use planwright_engine::store::plan_file;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::target::{NamedPlan, Opened, open};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to reject
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// What should change; sent to the planner
    #[arg(short, long)]
    message: String,
    /// Reject only if this digest is proposed
    #[arg(long, value_name = "DIGEST")]
    rev: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RejectedData {
    /// The plan.
    pub(crate) plan: String,
    /// The revision.
    pub(crate) revision: u32,
    /// Rejections since it was last a draft.
    pub(crate) rejections: u32,
    /// Its state now.
    pub(crate) state: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::Reject)?;
    if args.message.trim().is_empty() {
        let failure = Failure::new(Exit::Usage, "missing reason: pass -m");
        return Err(failure.next(NextCommand::new(["planwright", "help", "reject"])));
    }
    let Opened { path, project, .. } = open(&args.plan)?;
    let name = plan_file::name(&path);
    let decisions = Approvals::open(&project)?;
    let (case, complaints) = decisions.reject(&path, args.rev.as_deref(), &who(), &args.message)?;
    out.warn_all(&complaints);
    let revision = case.standing.newest().map_or(0, |newest| newest.number);
    let word = out.palette().paint(Tone::Attention, "rejected");
    out.line(&format!("{word}  {}  r{revision}   {}", clean_line(&name), clean_line(&args.message)));
    let state = case.state();
    let is_spent = state == PlanState::Waiting(WaitReason::RevisionsSpent);
    if is_spent {
        out.line(&format!(
            "          rejected {} times: revise it before it is proposed again",
            case.standing.rejected
        ));
    }
    let data =
        RejectedData { plan: name, revision, rejections: case.standing.rejected, state: state.to_string() };
    let verb = if is_spent { "revise" } else { "show" };
    Ok(Response::done("reject", &data).next(NextCommand::new(["planwright", verb, shown(&path).as_str()])))
}
