//! `explain`: the page about a rule, the list of all rules, or the picture of the states.

use planwright_engine::api::{explain, rules};

use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, markdown};

/// Longer lines are hard to read, however wide the terminal is.
const PAGE_WIDTH_MAX: usize = 80;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rule code or name, such as PW0203 or unmade-file, or `states` [default: list all]
    rule: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let Some(wanted) = &args.rule else { return Ok(list(out)) };
    let view = explain(wanted)?;
    if let Some(diagram) = &view.diagram {
        out.data(diagram);
    }
    let width = out.settings().width.min(PAGE_WIDTH_MAX);
    for rule in &view.rules {
        let text = markdown(&rule.page, width, out.palette());
        out.data(&text);
    }
    Ok(Response::done("explain", &view))
}

fn list(out: &mut Out<'_>) -> Response {
    let view = rules();
    let mut table = Table::new();
    for rule in &view.rules {
        table.row(vec![
            Cell::new(&rule.code).tone(Tone::Strong),
            Cell::new(&rule.name),
            Cell::new(&rule.severity).tone(Tone::Muted),
            Cell::new(&rule.summary),
        ]);
    }
    out.table(&table);
    let next = NextCommand::new(["planwright", "explain", view.rules[0].code.as_str()]);
    Response::done("explain", &view).next(next)
}
