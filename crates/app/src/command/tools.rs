//! `tools`: tools that plans can use, and refused calls of agents.

use planwright_engine::api::{RefusedCallView, local_time};

use crate::interaction::project::workspace;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show refused calls
    #[arg(long)]
    refused: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let workspace = workspace()?;
    if args.refused {
        let view = workspace.tools_and_refusals()?;
        show_refused(&view.refused, out);
        let next = NextCommand::new(["planwright", "config", "scope.mode"]);
        return Ok(Response::done("tools", &view).next(next));
    }
    let view = workspace.tools();
    out.data(&view.inventory.lines().map(|line| format!("{}\n", clean_line(line))).collect::<String>());
    if view.tools.is_empty() {
        out.talk("no tool list; plans may use any tool; list them as [tools.NAME] operations = […]");
    }
    if !view.guarded.is_empty() {
        out.line(&format!("Guarded: {}", clean_line(&view.guarded.join(", "))));
    }
    Ok(Response::done("tools", &view).next(NextCommand::new(["planwright", "tools", "--refused"])))
}

fn show_refused(all: &[RefusedCallView], out: &mut Out<'_>) {
    let mut table = Table::new();
    for one in all {
        let word = if one.is_blocked { "blocked" } else { "would have blocked" };
        table.row(vec![
            Cell::new(local_time(one.at_ms)).tone(Tone::Muted),
            Cell::new(if one.place.is_empty() { "session" } else { &one.place }),
            Cell::new(format!("{word} {}", one.tool)),
            Cell::new(&one.why),
        ]);
    }
    out.table(&table);
    if all.is_empty() {
        out.talk("no refused calls");
    }
}
