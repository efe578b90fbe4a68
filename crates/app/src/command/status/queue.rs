//! `status --queue`: plans that can start and plans that cannot, with every reason; then the attempts that are queued or
//! running. `show PLAN/STEP --work-item` shows one of them. Claims none.

mod dashboard;
mod plans;

use planwright_engine::api::WorkItem;

use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::{Cell, Failure, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Print name, status and last progress of every plan; never fails
    #[arg(long)]
    status: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Show the work item of one attempt
    Show {
        /// Step
        #[arg(value_name = "PLAN/STEP")]
        step: String,
    },
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    match &args.verb {
        None if args.status => Ok(status(out)),
        None => list(out),
        Some(Verb::Show { step }) => show(step, out),
    }
}

/// `queue-status`: one line per plan, for scripts and sessions.
pub(crate) fn status(out: &mut Out<'_>) -> Response {
    dashboard::run(out)
}

/// `status --queue`.
pub(crate) fn list(out: &mut Out<'_>) -> Result<Response, Failure> {
    let mut queue = workspace()?.queue()?;
    plans::print(&queue.plans, out);
    let items = &queue.items;
    let now = wording::now();
    if !items.is_empty() {
        out.line(&out.palette().paint(Tone::Strong, "Attempts"));
    }
    let mut table = Table::new();
    for item in items {
        let health = item.health.as_deref().filter(|health| *health != "well");
        table.row([
            Cell::new(format!("  {}/{}@{}", item.plan, item.step, item.attempt)).tone(Tone::Strong),
            Cell::new(&item.agent_id),
            Cell::new(&item.r#type),
            Cell::new(&item.state),
            Cell::new(item.worker.as_deref().unwrap_or_default()),
            Cell::new(wording::age(item.queued_at_ms, now)).right(),
            Cell::new(health.unwrap_or_default()).tone(Tone::Attention),
        ]);
    }
    out.table(&table);
    if items.is_empty() {
        out.talk("no queued or running attempts");
    }
    let next = queue.next.take();
    let mut answer = Response::done("queue", &queue);
    answer.next.extend(next);
    Ok(answer)
}

/// `show PLAN/STEP --work-item`.
pub(crate) fn show(address: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let queue = workspace()?.work_item(address)?;
    if let Some(item) = &queue.item {
        print(item, out);
    }
    Ok(Response::done("queue", &queue))
}

fn print(item: &WorkItem, out: &mut Out<'_>) {
    let payload = &item.payload;
    let subscriptions = payload.subscriptions.join(", ");
    let mut table = Table::new();
    table.row(["agent_id", item.agent_id.as_str()]);
    table.row(["type", item.kind.word()]);
    table.row(["payload.plan_id", payload.plan_id.as_str()]);
    table.row(["payload.step", &payload.step.to_string()]);
    table.row(["payload.step_id", &payload.step_id]);
    table.row(["payload.attempt", &payload.attempt.to_string()]);
    table.row(["payload.subscriptions", subscriptions.as_str()]);
    out.table(&table);
    out.line(&clean_line("input.prompt"));
    out.data(&wording::indented(&item.input.prompt));
}
