//! What work has cost, step by step and agent by agent, and what the rest will cost at this rate.

use planwright_engine::api::{CostView, ProjectionView, Spent};

use crate::output::wording;
use crate::output::{Cell, Out, Table, Tone, clean_line};

/// Prints the table.
pub(super) fn print(data: &CostView, out: &mut Out<'_>) {
    if data.steps.is_empty() {
        out.line("no costs in this period");
        return;
    }
    let mut table = Table::new();
    let heads = ["step", "agent", "attempts", "tokens", "cost", "time"];
    table.row(heads.map(|head| Cell::new(head).tone(Tone::Muted)));
    for spent in &data.steps {
        table.row(row(&format!("{}/{}", spent.plan, spent.step), spent));
    }
    for sum in &data.sums {
        table.row(row(if sum.agent.is_empty() { "all" } else { "" }, sum));
    }
    out.table(&table);
    for ProjectionView { plan, rest, spent_percent, .. } in &data.projections {
        let needs: Vec<String> = [
            rest.micro_dollars.map(wording::money),
            rest.tokens.map(|tokens| format!("{tokens} tokens")),
            Some(wording::age(0, rest.milliseconds)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let steps = wording::number(rest.steps_left, "step");
        let spent = spent_percent.iter().max().map(|most| format!("; {most}% of its budget is spent"));
        let line = format!(
            "{plan}: {steps} left, about {} at this rate{}",
            needs.join(", "),
            spent.unwrap_or_default()
        );
        out.line(&clean_line(&line));
    }
}

fn row(name: &str, spent: &Spent) -> Vec<Cell> {
    let said = |amount: Option<String>| amount.unwrap_or_else(|| "-".to_owned());
    vec![
        Cell::new(name).tone(Tone::Strong),
        Cell::new(&spent.agent),
        Cell::new(spent.attempts.to_string()).right(),
        Cell::new(said(spent.tokens.map(|tokens| tokens.to_string()))).right(),
        Cell::new(said(spent.micro_dollars.map(wording::money))).right(),
        Cell::new(wording::clock_span(spent.milliseconds)).right(),
    ]
}
