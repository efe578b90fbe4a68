//! `delete`: removes a plan that is not running. `undo` restores it.

use crate::interaction::choice::{can_ask, line};
use crate::interaction::project::workspace;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to delete
    plan: String,
    /// Plan name again; required without a terminal
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let deletion = workspace()?.deletion(&args.plan)?;
    let name = deletion.name();
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
    let data = deletion.carry_out()?;
    let word = out.palette().paint(Tone::Good, "deleted");
    out.line(&format!("{word}  {}   restore with planwright undo", clean_line(&data.path)));
    Ok(Response::done("delete", &data).next(NextCommand::new(["planwright", "undo", data.path.as_str()])))
}
