//! `stats`: how work goes here: first tries, retries, waits for a person, contracts that have never failed, what is missing.
//! Counts journals; never a figure from nothing.

mod cost;

use planwright_engine::api::{ContractFigures, Figures, Gap, StatsOptions, StatsView, WaitTime};

use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Period, such as 7d, 12h or 30min [default: all]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Show one plan
    #[arg(long)]
    plan: Option<String>,
    /// Show each plan
    #[arg(long)]
    plans: bool,
    /// Show each contract; never-failed ones first
    #[arg(long)]
    contracts: bool,
    /// Show missing tools and programs
    #[arg(long)]
    tools: bool,
    /// Show cost per step and agent, and a forecast
    #[arg(long)]
    cost: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let since_ms = match &args.since {
        None => 0,
        Some(text) => wording::now().saturating_sub(wording::span("--since", text)?),
    };
    let options = StatsOptions { since_ms, plan: args.plan.as_deref(), has_cost: args.cost };
    let view = workspace()?.stats(&options)?;
    match (&view.cost, args.cost) {
        (Some(cost), _) => cost::print(cost, out),
        (None, true) => out.line("no costs: nothing has been run"),
        (None, false) => print(args, &view, out),
    }
    let has_idle = view.contracts.iter().any(|contract| contract.has_never_failed);
    let next = if has_idle && !args.contracts {
        NextCommand::new(["planwright", "stats", "--contracts"])
    } else if !view.gaps.is_empty() && !args.tools {
        NextCommand::new(["planwright", "stats", "--tools"])
    } else {
        NextCommand::new(["planwright", "status"])
    };
    Ok(Response::done("stats", &view).next(next))
}

fn print(args: &Args, stats: &StatsView, out: &mut Out<'_>) {
    if stats.unread > 0 {
        let runs = wording::number(stats.unread, "run");
        out.warn(&format!("not counted: {runs} with unreadable records; run planwright doctor"));
    }
    if stats.all.steps == 0 {
        out.line("no finished steps in this period");
    } else {
        print_figures(args, stats, out);
    }
    print_waiting(&stats.waiting, out);
    if args.contracts {
        print_contracts(&stats.contracts, out);
    } else {
        let never = stats.contracts.iter().filter(|contract| contract.has_never_failed).count();
        match never {
            0 => {}
            1 => out.line("1 contract has never failed: it may prove nothing"),
            _ => out.line(&format!("{never} contracts have never failed: they may prove nothing")),
        }
    }
    if args.tools {
        print_gaps(&stats.gaps, out);
    } else if !stats.gaps.is_empty() {
        out.line(&match stats.gaps.len() {
            1 => "1 missing tool or program: planwright stats --tools".to_owned(),
            count => format!("{count} missing tools or programs: planwright stats --tools"),
        });
    }
}

fn print_figures(args: &Args, stats: &StatsView, out: &mut Out<'_>) {
    let mut table = Table::new();
    let heads = ["", "steps", "first try", "retried", "needed you", "median", "$/step"];
    table.row(heads.map(|head| Cell::new(head).right().tone(Tone::Muted)));
    table.row(row("all", &stats.all));
    for (agent, figures) in &stats.agents {
        table.row(row(&format!("  {agent}"), figures));
    }
    if args.plans {
        for (plan, figures) in &stats.plans {
            table.row(row(plan, figures));
        }
    }
    out.table(&table);
    if stats.all.failed > 0 {
        out.line(&format!("{} failed for good", wording::number(stats.all.failed, "step")));
    }
}

fn row(name: &str, figures: &Figures) -> Vec<Cell> {
    let percent =
        |count: usize| figures.percent(count).map_or_else(|| "-".to_owned(), |share| format!("{share}%"));
    let price = figures.micro_dollars_per_step();
    let cells = [
        figures.steps.to_string(),
        percent(figures.first_try),
        percent(figures.retried),
        percent(figures.reached_you),
        figures.median_ms.map_or_else(|| "-".to_owned(), wording::clock_span),
        price.map_or_else(|| "-".to_owned(), |price| wording::money(price)[1..].to_owned()),
    ];
    std::iter::once(Cell::new(name).tone(Tone::Strong))
        .chain(cells.map(|cell| Cell::new(cell).right()))
        .collect()
}

fn print_waiting(waiting: &WaitTime, out: &mut Out<'_>) {
    let Some(percent) = waiting.percent.filter(|_| waiting.answered + waiting.open > 0) else { return };
    let median = waiting.median_ms.map(|median| format!("; median wait {}", wording::age(0, median)));
    let open = (waiting.open > 0).then(|| format!("; {} open", wording::number(waiting.open, "question")));
    let words = [median, open].into_iter().flatten().collect::<String>();
    out.line(&format!("{percent}% of run time was waiting for you{words}"));
}

fn print_contracts(contracts: &[ContractFigures], out: &mut Out<'_>) {
    if contracts.is_empty() {
        out.line("no contracts ran in this period");
        return;
    }
    let mut table = Table::new();
    table.row(["contract", "passed", "failed", "before", ""].map(|head| Cell::new(head).tone(Tone::Muted)));
    let (never, others): (Vec<_>, Vec<_>) = contracts.iter().partition(|contract| contract.has_never_failed);
    for contract in never.into_iter().chain(others) {
        let name = Cell::new(format!("{}/{}", contract.plan, contract.step));
        table.row(vec![
            if contract.has_never_failed { name.tone(Tone::Attention) } else { name },
            Cell::new(contract.passed.to_string()).right(),
            Cell::new(if contract.has_never_failed {
                "never".to_owned()
            } else {
                contract.failed.to_string()
            })
            .right(),
            Cell::new(if contract.fails_before { "fails" } else { "-" }),
            Cell::new(contract.command.lines().next().unwrap_or_default()),
        ]);
    }
    out.table(&table);
}

fn print_gaps(gaps: &[Gap], out: &mut Out<'_>) {
    if gaps.is_empty() {
        out.line("no missing tools or programs");
        return;
    }
    let mut table = Table::new();
    for gap in gaps {
        let times = if gap.times == 1 { "once".to_owned() } else { format!("{} times", gap.times) };
        table.row(vec![
            Cell::new(gap.kind.word()).tone(Tone::Muted),
            Cell::new(&gap.name).tone(Tone::Strong),
            Cell::new(times).right(),
            Cell::new(gap.steps.join(", ")),
        ]);
    }
    out.table(&table);
}
