//! `status --queue`: plans that can start and plans that cannot, with every reason; then the attempts that are queued or
//! running. `show PLAN/STEP --work-item` shows one of them. Claims none.

mod dashboard;
mod plans;

pub(crate) use dashboard::Dashboard;

use planwright_engine::core::agent::work_item::WorkItem;
use planwright_engine::run::{QueuedAttempt, Runs};
use planwright_engine::store::journal::Health;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use plans::PlansData;

use crate::interaction::project::here;
use crate::interaction::target::run_of;
use crate::output::wording;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The plans; empty where one attempt was asked for.
    #[serde(flatten)]
    pub(crate) plans: PlansData,
    /// The attempts, the oldest first.
    pub(crate) items: Vec<ItemData>,
    /// The work item that was asked for: `agent_id`, `type`, `input`, `payload`.
    pub(crate) item: Option<Value>,
}

/// One attempt on the queue.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ItemData {
    /// The agent that is to make it.
    pub(crate) agent_id: String,
    /// `CODE` or `REVIEW`.
    pub(crate) r#type: String,
    /// The plan.
    pub(crate) plan: String,
    /// The step.
    pub(crate) step: String,
    /// The attempt.
    pub(crate) attempt: u32,
    /// The number of the run.
    pub(crate) run: i64,
    /// `queued`, `claimed` or `delivered`.
    pub(crate) state: String,
    /// Who is at it.
    pub(crate) worker: Option<String>,
    /// How well that one is: `well`, `silent` or `dead`.
    pub(crate) health: Option<String>,
    /// Since when it is on the queue, in milliseconds since 1970.
    pub(crate) queued_at_ms: u64,
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
    let here = here()?;
    let (plans, ready) = plans::plans(&here)?;
    plans::print(&plans, out);
    let runs = Runs::open(&here)?;
    let items: Vec<ItemData> = runs.pending()?.iter().map(item_data).collect();
    let now = wording::now();
    if !items.is_empty() {
        out.line(&out.palette().paint(Tone::Strong, "Attempts"));
    }
    let mut table = Table::new();
    for item in &items {
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
    let next = match (items.first(), ready) {
        (Some(item), _) => {
            NextCommand::new(["planwright", "show", &format!("{}/{}", item.plan, item.step), "--work-item"])
        }
        (None, Some(ready)) => ready,
        (None, None) => NextCommand::new(["planwright", "status"]),
    };
    Ok(Response::done("queue", &Listed { plans, items, item: None }).next(next))
}

fn item_data(pending: &QueuedAttempt) -> ItemData {
    let queued = &pending.queued;
    let (state, health) = match queued.lease.as_ref().zip(pending.health) {
        None => ("queued", None),
        Some((lease, health)) => {
            let health = match health {
                Health::Well => "well",
                Health::Silent => "silent",
                Health::Dead => "dead",
            };
            (if lease.is_delivered { "delivered" } else { "claimed" }, Some(health.to_owned()))
        }
    };
    ItemData {
        agent_id: queued.agent.clone(),
        r#type: pending.kind.word().to_owned(),
        plan: pending.plan.clone(),
        step: queued.step.clone(),
        attempt: queued.attempt,
        run: queued.run.number(),
        state: state.to_owned(),
        worker: queued.lease.as_ref().map(|lease| lease.worker.clone()),
        health,
        queued_at_ms: queued.queued_at_ms,
    }
}

/// `show PLAN/STEP --work-item`.
pub(crate) fn show(address: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let found = run_of(address)?;
    let Some(place) = found.step else {
        return Err(Failure::new(Exit::Usage, format!("`{address}` is a plan; name a step"))
            .hint("PLAN/STEP")
            .next(NextCommand::new(["planwright", "status", "--queue"])));
    };
    let step = &found.run.plan.steps[place].id;
    let is_it = |one: &&QueuedAttempt| one.queued.run == found.run.row.id && one.queued.step == *step;
    let queue = found.runs.pending()?;
    let Some(pending) = queue.iter().find(is_it) else {
        let name = format!("{}/{step}", found.run.row.name);
        return Err(Failure::new(Exit::No, format!("{name} has no queued or running attempt"))
            .next(NextCommand::new(["planwright", "log", name.as_str()])));
    };
    let item = found.runs.work_item(&found.run, &pending.queued)?;
    print(&item, out);
    let value = serde_json::to_value(&item).unwrap_or_default();
    Ok(Response::done(
        "queue",
        &Listed { plans: PlansData::default(), items: vec![item_data(pending)], item: Some(value) },
    ))
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
