//! `should-plan`: whether a task deserves a plan, and by which rule. Advice only.

use crate::interaction::project::workspace;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Task, as requested
    task: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = workspace()?.triage(&args.task);
    let tone = if view.needs_plan { Tone::Attention } else { Tone::Good };
    let mut table = Table::new();
    table.row(vec![
        Cell::new(&view.advice).tone(tone),
        Cell::new(&view.rule).tone(Tone::Strong),
        Cell::new(&view.why),
    ]);
    for sign in &view.signs {
        let lead = if sign.rule == view.rule { "by" } else { "also" };
        table.row(vec![
            Cell::new(lead).tone(Tone::Muted),
            Cell::new(&sign.rule),
            Cell::new(sign.words.iter().map(|word| clean_line(word)).collect::<Vec<_>>().join(", ")),
        ]);
    }
    out.table(&table);
    if view.signs.is_empty() {
        out.line("no sign that this task needs a plan");
    }
    let (exit, next) = match view.needs_plan {
        true => (Exit::Done, NextCommand::new(["planwright", "draft", view.task.as_str()])),
        false => (Exit::No, NextCommand::new(["planwright", "prompt", "skill"])),
    };
    Ok(Response::new(exit, "should-plan", &view).next(next))
}
