//! `queue-status`: name, status and last progress of every plan. Read-only; unreadable plans are listed and never
//! fail the command, because scripts and sessions call it at startup.

use planwright_engine::api::dashboard;

use crate::interaction::project::options;
use crate::output::wording;
use crate::output::{Cell, NextCommand, Out, Response, Table, Tone};

pub(super) fn run(out: &mut Out<'_>) -> Response {
    let mut view = dashboard(options());
    out.warn_all(&view.faults);
    let mut table = Table::new();
    for plan in &mut view.plans {
        if let Some(last) = &plan.recorded {
            let (when, what) =
                (wording::clock_time(last.at_ms, wording::now()), wording::detail(&last.event));
            plan.last_progress = format!("{when} {} — {what}", wording::place(&plan.name, &last.event));
        }
        table.row([
            Cell::new(&plan.name).tone(Tone::Strong),
            Cell::new(&plan.status),
            Cell::new(&plan.last_progress).tone(Tone::Muted),
        ]);
    }
    out.table(&table);
    if view.plans.is_empty() {
        out.talk("no plans");
    }
    Response::done("queue-status", &view).next(NextCommand::new(["planwright", "status", "--queue"]))
}
