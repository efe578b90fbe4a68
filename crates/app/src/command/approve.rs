//! `approve`: a person approves one revision of a plan. Starts nothing.

use std::path::PathBuf;

use planwright_engine::approval::{ApprovalRequest, Approvals, Approved};
use planwright_engine::core::workspace::active_plan::ResolvedBy;
use planwright_engine::run::baseline;
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::{ConfirmPrompt, ask, say_approved, who};
use crate::interaction::target::{NamedPlan, Opened, open};
use crate::output::{Exit, Failure, NextCommand, Out, Response, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ApprovedData {
    /// The plan.
    pub(crate) plan: String,
    /// The revision.
    pub(crate) revision: u32,
    /// Its digest.
    pub(crate) digest: String,
    /// Who approved it.
    pub(crate) by: String,
    /// The rule that gave them the right.
    pub(crate) rule: String,
    /// Whether the approval is signed.
    pub(crate) is_signed: bool,
    /// What the approval is worth: `signed`, or `unprotected`.
    pub(crate) worth: String,
    /// How many more have to approve.
    pub(crate) missing: u32,
    /// Until when it holds, in milliseconds since 1970.
    pub(crate) until_ms: Option<u64>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process()
        .may(Right::Approve)
        .map_err(|error| error.hint("a person must review it first: planwright review"))?;
    let Opened { path, project, source, .. } = open(&args.plan)?;
    let name = plan_file::name(&path);
    let verified = baseline::verify_text(&project, FileText::Plan(source))?;
    let Some(plan) = &verified.plan else {
        return Err(Failure::new(Exit::No, format!("{name} has errors; fix them before approving"))
            .next(NextCommand::new(["planwright", "verify", args.plan.as_str()])));
    };
    let decisions = Approvals::open(&project)?;
    for notice in decisions.sweep()? {
        out.warn(&format!("{}: {}", notice.plan.display(), notice.text));
    }
    let subject = decisions.subject(plan)?;
    let command = ["planwright", "approve", args.plan.as_str()];
    let matter = ConfirmPrompt {
        what: name.clone(),
        full: &subject.digest,
        question: "Approve it?",
        exit: Exit::Person,
        hint: "review it first: planwright review; nothing was approved",
        command: &command,
        plan,
        rev: args.rev.as_deref(),
        by: ResolvedBy::Argument,
    };
    let way = ask(&matter, out)?;
    if !decisions.is_proposed(&path, &subject.digest)? {
        // Approving an unproposed plan proposes it first: the checks are the same.
        let proposed = decisions.propose(&path, &verified, &who())?;
        if proposed.rule.is_some() {
            out.talk("already approved by policy");
        }
    }
    let key = args.sign.clone().or_else(|| project.config.approve.key.clone());
    let yes = ApprovalRequest { by: who(), way, note: args.message.clone(), key };
    let approved = decisions.approve(&path, &subject, &yes)?;
    out.warn_all(&approved.complaints);
    tell(&name, &approved, out);
    let approval = approved.approval;
    let worth = if approval.signature.is_some() { "signed" } else { "unprotected" };
    let data = ApprovedData {
        plan: name,
        revision: approval.revision,
        digest: approval.subject.digest,
        by: approval.by.name,
        rule: approval.rule,
        is_signed: approval.signature.is_some(),
        worth: worth.to_owned(),
        missing: approved.missing,
        until_ms: approval.until_ms,
    };
    let verb = if data.missing > 0 { "review" } else { "run" };
    Ok(Response::done("approve", &data).next(NextCommand::new(["planwright", verb, shown(&path).as_str()])))
}

fn tell(name: &str, approved: &Approved, out: &mut Out<'_>) {
    let approval = &approved.approval;
    say_approved(&approval.subject.digest[..8], (&approval.by.to_string(), &approval.way), out);
    let on = approval.subject.base.as_ref().map(|base| format!(" on {base}")).unwrap_or_default();
    out.line(&format!(
        "approved  {}  r{}{on}, rule: {}",
        clean_line(name),
        approval.revision,
        clean_line(&approval.rule)
    ));
    if approval.signature.is_none() {
        out.talk("          unsigned: any program running as you could have approved this; use --sign");
    }
    if approved.missing > 0 {
        out.line(&format!("          {} more must approve it", approved.missing));
    }
}
