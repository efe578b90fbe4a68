//! `approve`: a person approves one revision of a plan. Starts nothing.

use std::path::PathBuf;

use planwright_engine::api::{ApprovalOptions, ApprovalView, ResolvedBy};

use crate::interaction::confirm::{ConfirmPrompt, ask, say_approved};
use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::{Exit, Failure, NextCommand, Out, Response, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to approve
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Approve this digest (8 digits or more); required without a terminal
    #[arg(long, value_name = "DIGEST")]
    rev: Option<String>,
    /// Message for the record
    #[arg(short, long, default_value = "")]
    message: String,
    /// Sign with this private SSH key [default: setting approve.key]
    #[arg(long, value_name = "FILE")]
    sign: Option<PathBuf>,
    /// Run the plan after approval
    #[arg(long)]
    pub(crate) run: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(&args.plan)?;
    let subject = plan.approval_subject()?;
    out.warn_all(&plan.workspace().expire()?);
    let command = ["planwright", "approve", args.plan.as_str()];
    let matter = ConfirmPrompt {
        what: plan.name(),
        full: &subject.digest,
        question: "Approve it?",
        exit: Exit::Person,
        hint: "review it first: planwright review; nothing was approved",
        command: &command,
        steps: subject.steps,
        rev: args.rev.as_deref(),
        by: ResolvedBy::Argument,
    };
    let way = ask(&matter, out)?;
    // Approving an unproposed plan proposes it first: the checks are the same.
    if !plan.is_proposed(&subject.digest)? && plan.propose()?.approved_by_rule.is_some() {
        out.talk("already approved by policy");
    }
    let key = args.sign.clone().or_else(|| plan.signing_key());
    let options = ApprovalOptions { digest: &subject.digest, way, note: &args.message, key };
    let approved = plan.approve(&options)?;
    out.warn_all(&approved.complaints);
    tell(&approved, way, out);
    let verb = if approved.missing > 0 { "review" } else { "run" };
    let next = NextCommand::new(["planwright", verb, plan.shown().as_str()]);
    Ok(Response::done("approve", &approved).next(next))
}

fn tell(approved: &ApprovalView, way: &str, out: &mut Out<'_>) {
    say_approved(&approved.digest[..8], (&approved.by, way), out);
    let on = approved.on.as_ref().map(|base| format!(" on {base}")).unwrap_or_default();
    out.line(&format!(
        "approved  {}  r{}{on}, rule: {}",
        clean_line(&approved.plan),
        approved.revision,
        clean_line(&approved.rule)
    ));
    if !approved.is_signed {
        out.talk("          unsigned: any program running as you could have approved this; use --sign");
    }
    if approved.missing > 0 {
        out.line(&format!("          {} more must approve it", approved.missing));
    }
}
