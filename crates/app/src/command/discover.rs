//! `discover`: follow-up work found during a step. Anyone may record it; only a person adds it as a step, and the
//! plan then needs a new approval.

use crate::interaction::project::workspace;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Follow-up work in one line; with --list or --add, the plan
    #[arg(value_name = "TITLE|PLAN")]
    what: String,
    /// Step at which it was found
    #[arg(long, value_name = "STEP", conflicts_with_all = ["list", "add"])]
    step: Option<String>,
    /// Plan [default: the only plan]
    #[arg(long, value_name = "PLAN", conflicts_with_all = ["list", "add"])]
    plan: Option<String>,
    /// Details
    #[arg(long, short, value_name = "TEXT", default_value = "", conflicts_with_all = ["list", "add"])]
    message: String,
    /// List follow-up work
    #[arg(long)]
    list: bool,
    /// Add follow-up N as a step
    #[arg(long, value_name = "N", conflicts_with = "list")]
    add: Option<u32>,
    /// Role or agent for the new step
    #[arg(long, value_name = "TARGET", default_value = "coder", requires = "add")]
    target: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    match args.add {
        Some(number) => add(args, number, out),
        None if args.list => list(args, out),
        None => note(args, out),
    }
}

/// Records follow-up work of the plan passed, or of the only one.
fn note(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let workspace = workspace()?;
    let plan = match &args.plan {
        Some(plan) => workspace.plan(plan)?,
        None => workspace.only_plan()?,
    };
    let noted = plan.discover(&args.what, &args.message, args.step.as_deref())?;
    for work in &noted.work {
        let at = work.step.as_ref().map(|step| format!(" at {step}")).unwrap_or_default();
        let word = out.palette().paint(Tone::Good, "recorded");
        let (number, title) = (work.number, clean_line(&work.title));
        out.line(&format!("{word}  {number}  {title}{}", clean_line(&at)));
    }
    let next = NextCommand::new(["planwright", "discover", noted.plan.as_str(), "--list"]);
    Ok(Response::done("discover", &noted).next(next))
}

fn list(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let found = workspace()?.plan(&args.what)?.discoveries()?;
    let mut table = Table::new();
    for one in &found.work {
        let became = one.added.as_ref().map(|step| format!("added as step {step}")).unwrap_or_default();
        table.row(vec![
            Cell::new(one.number.to_string()).right(),
            Cell::new(&one.title).tone(Tone::Strong),
            Cell::new(one.step.as_ref().map(|step| format!("at {step}")).unwrap_or_default()),
            Cell::new(format!("by {}", one.by)).tone(Tone::Muted),
            Cell::new(became),
        ]);
    }
    out.table(&table);
    if found.work.is_empty() {
        out.talk("no follow-up work");
    }
    let open_one = found.work.iter().find(|one| one.added.is_none()).map(|one| one.number.to_string());
    let next = match open_one {
        Some(number) => {
            NextCommand::new(["planwright", "discover", found.plan.as_str(), "--add", number.as_str()])
        }
        None => NextCommand::new(["planwright", "show", found.plan.as_str()]),
    };
    Ok(Response::done("discover", &found).next(next))
}

/// Adds follow-up work as a step.
fn add(args: &Args, number: u32, out: &mut Out<'_>) -> Result<Response, Failure> {
    let added = workspace()?.plan(&args.what)?.add_discovery(number, &args.target)?;
    for step in added.work.iter().filter_map(|work| work.added.as_ref()) {
        let word = out.palette().paint(Tone::Good, "added");
        out.line(&format!("{word}  {}  step {}", clean_line(&added.plan), clean_line(step)));
    }
    out.talk("it has no contract, so you confirm it; the plan needs a new approval");
    let next = NextCommand::new(["planwright", "verify", added.plan.as_str()]);
    Ok(Response::done("discover", &added).next(next))
}
