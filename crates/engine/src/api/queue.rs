//! The plans of a project as a queue: which can start, which are blocked and why, which can run in parallel, and the merge
//! order; and the attempts that are queued or running. Claims none.

use planwright_core::agent::work_item::WorkItem;
use planwright_core::workspace::portfolio;
use planwright_core::workspace::portfolio::{BlockReason, Blocked, ParallelSet, PlanProgress, Readiness};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::workspace::{OpenOptions, Workspace};
use crate::portfolio::board;
use crate::portfolio::board::{Board, BoardRow};
use crate::run::{QueuedAttempt, Runs};
use crate::store::journal::{Health, RecordedEvent};
use crate::workspace::project::Project;

/// The plans of a project as a queue, and the attempts on it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueView {
    /// The plans; empty where one attempt was asked for.
    #[serde(flatten)]
    pub plans: QueuedPlansView,
    /// The attempts, the oldest first.
    pub items: Vec<QueueItemView>,
    /// The work item that was asked for: `agent_id`, `type`, `input`, `payload`.
    #[schemars(with = "Option<Value>")]
    pub item: Option<WorkItem>,
    /// The command that a person types next.
    #[serde(skip)]
    pub next: Option<NextCommand>,
}

/// One attempt on the queue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueItemView {
    /// The agent that is to make it.
    pub agent_id: String,
    /// `CODE` or `REVIEW`.
    pub r#type: String,
    /// The plan.
    pub plan: String,
    /// The step.
    pub step: String,
    /// The attempt.
    pub attempt: u32,
    /// The number of the run.
    pub run: i64,
    /// `queued`, `claimed` or `delivered`.
    pub state: String,
    /// Who is at it.
    pub worker: Option<String>,
    /// How well that one is: `well`, `silent` or `dead`.
    pub health: Option<String>,
    /// Since when it is on the queue, in milliseconds since 1970.
    pub queued_at_ms: u64,
}

/// Every plan that is not over.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct QueuedPlansView {
    /// Plans that can start or resume: all dependencies are done.
    pub ready: Vec<QueuedPlanView>,
    /// Running plans.
    pub running: Vec<QueuedPlanView>,
    /// Blocked plans.
    pub held_back: Vec<HeldPlanView>,
    /// Shelved plans.
    pub staged: Vec<QueuedPlanView>,
    /// What could run at the same time.
    pub together: ParallelView,
    /// The order in which the work of all of them would land, by name; `null` where they wait for each other in a circle.
    pub merge_order: Option<Vec<String>>,
    /// The circle.
    pub cycle: Option<Vec<String>>,
    /// Plans that are about the same.
    pub alike: Vec<AlikeView>,
    /// Problems: conflict copies of plans, dangling markers.
    pub faults: Vec<String>,
}

/// One plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueuedPlanView {
    /// What others call it.
    pub name: String,
    /// Its file, relative to the root of the project.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its state by the record, or by its file without one.
    pub state: String,
    /// Number of finished steps, by the record.
    pub settled: usize,
    /// How many there are.
    pub steps: usize,
}

/// A blocked plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HeldPlanView {
    /// The plan.
    #[serde(flatten)]
    pub plan: QueuedPlanView,
    /// Why; never empty.
    pub reasons: Vec<BlockReasonView>,
    /// What gets it going: `waits` (nothing but others), `retry`, `person` or `replan`.
    pub recovery: String,
}

/// One reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BlockReasonView {
    /// In words.
    pub text: String,
    /// The command that settles it, or shows what would.
    pub command: String,
}

/// What could run at the same time.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ParallelView {
    /// The names of plans of which no two can change the same file.
    pub plans: Vec<String>,
    /// Pairs that can.
    pub overlaps: Vec<OverlapView>,
    /// Plans that always run alone, because their changes are unknown.
    pub excluded: Vec<ExcludedView>,
}

/// Two plans that can change the same file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OverlapView {
    /// Their names.
    pub plans: [String; 2],
    /// The pattern of each.
    pub patterns: [String; 2],
    /// A path that both mean.
    pub path: String,
}

/// A plan with unknown changes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExcludedView {
    /// Its name.
    pub plan: String,
    /// Why they are unknown.
    pub why: String,
}

/// Two plans that are about the same.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AlikeView {
    /// Their files.
    pub plans: [String; 2],
    /// In which way.
    pub why: String,
}

/// Name, status and last progress of every plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DashboardView {
    /// Every plan, by path.
    pub plans: Vec<DashboardLineView>,
    /// What can't be read, and what should not be there.
    pub faults: Vec<String>,
}

/// One plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DashboardLineView {
    /// What others call it.
    pub name: String,
    /// Its file, relative to the root of the project.
    pub path: String,
    /// Its state by the record, or by its file without one.
    pub status: String,
    /// The last line of its progress, or the last thing that is recorded; empty where there is neither.
    pub last_progress: String,
    /// The last thing that is recorded, where it has no progress of its own.
    #[serde(skip)]
    pub recorded: Option<RecordedEvent>,
}

impl Workspace {
    pub fn queue(&self) -> Result<QueueView, Error> {
        let (plans, ready) = plans(self.project())?;
        let items: Vec<QueueItemView> =
            Runs::open(self.project())?.pending()?.iter().map(item_view).collect();
        let next = match (items.first(), ready) {
            (Some(item), _) => NextCommand::new([
                "planwright",
                "show",
                &format!("{}/{}", item.plan, item.step),
                "--work-item",
            ]),
            (None, Some(ready)) => ready,
            (None, None) => NextCommand::new(["planwright", "status"]),
        };
        Ok(QueueView { plans, items, item: None, next: Some(next) })
    }

    /// The work item of the queued or running attempt of a step.
    pub fn work_item(&self, address: &str) -> Result<QueueView, Error> {
        let found = self.run_of(address)?;
        let Some(place) = found.step else {
            return Err(Error::new(ErrorKind::Usage, format!("`{address}` is a plan; name a step"))
                .hint("PLAN/STEP")
                .next(NextCommand::new(["planwright", "status", "--queue"])));
        };
        let step = &found.run.plan.steps[place].id;
        let is_it = |one: &&QueuedAttempt| one.queued.run == found.run.row.id && one.queued.step == *step;
        let queue = found.runs.pending()?;
        let Some(pending) = queue.iter().find(is_it) else {
            let name = format!("{}/{step}", found.run.row.name);
            return Err(Error::new(ErrorKind::Refused, format!("{name} has no queued or running attempt"))
                .next(NextCommand::new(["planwright", "log", name.as_str()])));
        };
        let item = Some(found.runs.work_item(&found.run, &pending.queued)?);
        Ok(QueueView { plans: QueuedPlansView::default(), items: vec![item_view(pending)], item, next: None })
    }
}

/// Name, status and last progress of every plan of the current directory. What can't be read is a fault of the view: scripts and
/// sessions call this at startup, so it never fails.
pub fn dashboard(options: &OpenOptions) -> DashboardView {
    let mut faults = Vec::new();
    let project = Workspace::open(options).map(|workspace| workspace.project().clone()).or_else(|error| {
        faults.push(error.message);
        Project::plain()
    });
    let board = project.as_ref().map(|project| board_of(project, &mut faults)).unwrap_or_default();
    let project = project.ok();
    faults.extend(board.faults.iter().cloned());
    let runs = project.as_ref().and_then(|project| Runs::open_existing(project).ok().flatten());
    let mut plans = Vec::new();
    for card in &board.cards {
        if let PlanProgress::Unreadable(why) = &card.entry.status {
            faults.push(format!("{}: {why}", card.path.display()));
        }
        let progress = project.as_ref().and_then(|project| board::last_progress(project, &card.path));
        plans.push(DashboardLineView {
            name: card.entry.name.clone(),
            path: card.path.to_string_lossy().into_owned(),
            status: card.state.clone(),
            recorded: if progress.is_none() { recorded(runs.as_ref(), card) } else { None },
            last_progress: progress.unwrap_or_default(),
        });
    }
    DashboardView { plans, faults }
}

/// The plans, as much of them as can be known.
fn board_of(project: &Project, faults: &mut Vec<String>) -> Board {
    board::board(project)
        .or_else(|error| {
            faults.push(Error::from(error).message);
            board::board_of_files(project)
        })
        .unwrap_or_else(|error| {
            faults.push(Error::from(error).message);
            Board::default()
        })
}

/// The last thing that is recorded of the runs of a plan.
fn recorded(runs: Option<&Runs>, card: &BoardRow) -> Option<RecordedEvent> {
    runs?.run(card.run?).ok()?.events.pop()
}

fn item_view(pending: &QueuedAttempt) -> QueueItemView {
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
    QueueItemView {
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

/// Gathers the plans, and the command that one would type next.
fn plans(project: &Project) -> Result<(QueuedPlansView, Option<NextCommand>), Error> {
    let mut board = board::board(project)?;
    board.measure(project);
    let readiness = board.readiness();
    let next = next(&board, &readiness);
    let all = |places: &[usize]| places.iter().map(|&place| plan_view(&board.cards[place])).collect();
    let is_staged = |held: &&Blocked| board.cards[held.entry].entry.status == PlanProgress::Staged;
    let staged: Vec<usize> = readiness.held_back.iter().filter(is_staged).map(|held| held.entry).collect();
    let held_back = readiness.held_back.iter().filter(|held| !is_staged(held));
    let order = order(&board, &readiness);
    let data = QueuedPlansView {
        ready: all(&readiness.ready),
        running: all(&readiness.running),
        held_back: held_back.map(|held| held_view(&board, held)).collect(),
        staged: all(&staged),
        together: together(&board, &readiness),
        cycle: order.as_ref().err().cloned(),
        merge_order: order.ok(),
        alike: alike(&board),
        faults: board.faults,
    };
    Ok((data, next))
}

fn plan_view(card: &BoardRow) -> QueuedPlanView {
    QueuedPlanView {
        name: card.entry.name.clone(),
        path: card.path.to_string_lossy().into_owned(),
        title: card.title.clone(),
        state: card.state.clone(),
        settled: card.settled,
        steps: card.steps,
    }
}

fn held_view(board: &Board, held: &Blocked) -> HeldPlanView {
    let reason = |reason: &BlockReason| BlockReasonView {
        text: reason.to_string(),
        command: NextCommand::new(reason.command(&board.address(held.entry))).command,
    };
    HeldPlanView {
        plan: plan_view(&board.cards[held.entry]),
        reasons: held.reasons.iter().map(reason).collect(),
        recovery: held.recovery().word().to_owned(),
    }
}

/// What could run together: what is running has its place, then what is ready.
fn together(board: &Board, readiness: &Readiness) -> ParallelView {
    let entries = board.entries();
    let among: Vec<usize> = readiness.running.iter().chain(&readiness.ready).copied().collect();
    let ParallelSet { plans, overlaps, unbounded } = portfolio::safe_together(&entries, &among);
    let name = |place: usize| entries[place].name.clone();
    let overlaps = overlaps.into_iter().map(|overlap| OverlapView {
        plans: [name(overlap.plans.0), name(overlap.plans.1)],
        patterns: overlap.patterns.into(),
        path: overlap.path,
    });
    let excluded = unbounded.into_iter().map(|one| ExcludedView { plan: name(one.entry), why: one.why });
    ParallelView {
        plans: plans.into_iter().map(name).collect(),
        overlaps: overlaps.collect(),
        excluded: excluded.collect(),
    }
}

/// The order of everything that is not over, or the circle that has none.
fn order(board: &Board, readiness: &Readiness) -> Result<Vec<String>, Vec<String>> {
    let held = readiness.held_back.iter().map(|held| held.entry);
    let mut open: Vec<usize> =
        readiness.ready.iter().chain(&readiness.running).copied().chain(held).collect();
    open.sort_unstable();
    let entries: Vec<_> = open.iter().map(|&place| board.cards[place].entry.clone()).collect();
    let order = portfolio::merge_order(&entries).map_err(|cycle| cycle.plans)?;
    Ok(order.into_iter().map(|place| entries[place].name.clone()).collect())
}

fn alike(board: &Board) -> Vec<AlikeView> {
    let path = |place: usize| board.cards[place].path.to_string_lossy().into_owned();
    let pairs = board.alike().into_iter();
    pairs
        .map(|(one, other, why)| AlikeView { plans: [path(one), path(other)], why: why.to_owned() })
        .collect()
}

/// The next command: start a ready plan, otherwise what a person can resolve.
fn next(board: &Board, readiness: &Readiness) -> Option<NextCommand> {
    if let Some(&place) = readiness.ready.first() {
        let verb = if board.cards[place].state == "proposed" { "review" } else { "run" };
        return Some(NextCommand::new(["planwright", verb, board.address(place).as_str()]));
    }
    let most = readiness.held_back.iter().max_by_key(|held| held.recovery())?;
    let reason = most.reasons.iter().max_by_key(|reason| reason.recovery())?;
    Some(NextCommand::new(reason.command(&board.address(most.entry))))
}
