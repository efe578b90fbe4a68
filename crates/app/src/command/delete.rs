//! `delete`: removes a plan that is not running. `undo` restores it.

use planwright_engine::approval::Approvals;
use planwright_engine::run::baseline;
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::choice::{can_ask, line};
use crate::interaction::confirm::who;
use crate::interaction::target::{Opened, open};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to delete
    plan: String,
    /// Plan name again; required without a terminal
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    /// The plan.
    pub(crate) plan: String,
    /// Where it was.
    pub(crate) path: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::Delete)?;
    let Opened { path, project, source, .. } = open(&args.plan)?;
    let name = plan_file::name(&path);
    let repeat = NextCommand::new(["planwright", "delete", args.plan.as_str(), "--confirm", name.as_str()]);
    let typed = match &args.confirm {
        Some(typed) => typed.clone(),
        None if can_ask(out) => line(&format!("Type `{}` to delete it: ", clean_line(&name)), out)?,
        None => {
            let message = format!("not deleted: pass --confirm {name}");
            return Err(Failure::new(Exit::Person, message).next(repeat));
        }
    };
    if typed != name {
        let message = format!("`{typed}` is not `{name}`; nothing was deleted");
        return Err(Failure::new(Exit::Usage, message).next(repeat));
    }
    let verified = baseline::verify_text(&project, FileText::Plan(source))?;
    Approvals::open(&project)?.delete(&path, &verified, &who())?;
    let data = Deleted { plan: name, path: shown(&path) };
    let word = out.palette().paint(Tone::Good, "deleted");
    out.line(&format!("{word}  {}   restore with planwright undo", clean_line(&data.path)));
    Ok(Response::done("delete", &data).next(NextCommand::new(["planwright", "undo", data.path.as_str()])))
}
