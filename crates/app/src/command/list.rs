//! `list`: the plans of this project, one per line.

use std::collections::BTreeMap;

use planwright_engine::api::{NATIVE, PlanFilter, PlanListView, PlanSummary, Shelf};

use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::wording::found::with_findings;
use crate::output::{Cell, Exit, Failure, Out, Response, Table, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List plans with this status
    #[arg(long)]
    status: Option<String>,
    /// List plans with this text in their name or title
    #[arg(long, value_name = "TEXT")]
    find: Option<String>,
    /// List shelved plans
    #[arg(long)]
    shelved: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let filter = PlanFilter {
        status: args.status.as_deref(),
        text: args.find.as_deref(),
        shelf: if args.shelved { Shelf::On } else { Shelf::Off },
    };
    let mut view = workspace()?.plans(&filter)?;
    out.warn_all(&view.faults);
    if view.total == 0 {
        out.talk(match args.shelved {
            true => "no shelved plans",
            false => "no plans; create one: planwright new NAME",
        });
        return Ok(Response::done("list", &view));
    }
    if view.plans.is_empty() {
        out.talk(&format!("no plan matches; {} in total", wording::number(view.total, "plan")));
    }
    let mut table = Table::new();
    for plan in &view.plans {
        table.row(row(plan, &view));
    }
    out.table(&table);
    let exit = if view.plans.is_empty() { Exit::No } else { Exit::Done };
    let next = view.next.take();
    let mut answer = Response::new(exit, "list", &view);
    answer.next.extend(next);
    Ok(answer)
}

fn row(plan: &PlanSummary, view: &PlanListView) -> Vec<Cell> {
    let count = |counts: &BTreeMap<String, usize>| counts.get(&plan.path).copied().unwrap_or(0);
    let said = |status: &str| with_findings(status, count(&view.findings));
    let state = match (&plan.fault, plan.status.as_str()) {
        (Some(_), _) => Cell::new("unreadable").tone(Tone::Bad),
        (None, _) if view.unproven.contains(&plan.path) => Cell::new("unproven").tone(Tone::Attention),
        (None, "") => Cell::new("-").tone(Tone::Muted),
        (None, "done") => Cell::new(said("done")).tone(Tone::Good),
        (None, "failed") => Cell::new(said("failed")).tone(Tone::Bad),
        (None, status) => Cell::new(said(status)),
    };
    vec![
        Cell::new(&plan.name).tone(Tone::Strong),
        state,
        Cell::new(format!("{}/{}", count(&view.proven), plan.steps)).right(),
        Cell::new(plan.fault.as_deref().unwrap_or(&plan.title)),
        Cell::new(if plan.dialect == NATIVE.name { "" } else { &plan.dialect }).tone(Tone::Muted),
        Cell::new(&plan.path).tone(Tone::Muted),
    ]
}
