//! The plans of a project as a queue: which can start, which are blocked and why, which can run in parallel, and the
//! merge order.

use planwright_engine::Project;
use planwright_engine::core::workspace::portfolio;
use planwright_engine::core::workspace::portfolio::{
    BlockReason, Blocked, ParallelSet, PlanProgress, Readiness,
};
use planwright_engine::portfolio::board;
use planwright_engine::portfolio::board::{Board, BoardRow};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Cell, Failure, NextCommand, Out, Tone, clean_line};

/// Every plan that is not over.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct PlansData {
    /// Plans that can start or resume: all dependencies are done.
    pub(crate) ready: Vec<PlanData>,
    /// Running plans.
    pub(crate) running: Vec<PlanData>,
    /// Blocked plans.
    pub(crate) held_back: Vec<HeldData>,
    /// Shelved plans.
    pub(crate) staged: Vec<PlanData>,
    /// What could run at the same time.
    pub(crate) together: TogetherData,
    /// The order in which the work of all of them would land, by name; `null` where they wait for each other in a circle.
    pub(crate) merge_order: Option<Vec<String>>,
    /// The circle.
    pub(crate) cycle: Option<Vec<String>>,
    /// Plans that are about the same.
    pub(crate) alike: Vec<AlikeData>,
    /// Problems: conflict copies of plans, dangling markers.
    pub(crate) faults: Vec<String>,
}

/// One plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlanData {
    /// What others call it.
    pub(crate) name: String,
    /// Its file, relative to the root of the project.
    pub(crate) path: String,
    /// Its title.
    pub(crate) title: String,
    /// Its state by the record, or by its file without one.
    pub(crate) state: String,
    /// Number of finished steps, by the record.
    pub(crate) settled: usize,
    /// How many there are.
    pub(crate) steps: usize,
}

/// A blocked plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HeldData {
    /// The plan.
    #[serde(flatten)]
    pub(crate) plan: PlanData,
    /// Why; never empty.
    pub(crate) reasons: Vec<ReasonData>,
    /// What gets it going: `waits` (nothing but others), `retry`, `person` or `replan`.
    pub(crate) recovery: String,
}

/// One reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReasonData {
    /// In words.
    pub(crate) text: String,
    /// The command that settles it, or shows what would.
    pub(crate) command: String,
}

/// What could run at the same time.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct TogetherData {
    /// The names of plans of which no two can change the same file.
    pub(crate) plans: Vec<String>,
    /// Pairs that can.
    pub(crate) overlaps: Vec<OverlapData>,
    /// Plans that always run alone, because their changes are unknown.
    pub(crate) excluded: Vec<ExcludedData>,
}

/// Two plans that can change the same file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OverlapData {
    /// Their names.
    pub(crate) plans: [String; 2],
    /// The pattern of each.
    pub(crate) patterns: [String; 2],
    /// A path that both mean.
    pub(crate) path: String,
}

/// A plan with unknown changes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExcludedData {
    /// Its name.
    pub(crate) plan: String,
    /// Why they are unknown.
    pub(crate) why: String,
}

/// Two plans that are about the same.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AlikeData {
    /// Their files.
    pub(crate) plans: [String; 2],
    /// In which way.
    pub(crate) why: String,
}

/// Gathers the plans, and the command that one would type next.
pub(super) fn plans(project: &Project) -> Result<(PlansData, Option<NextCommand>), Failure> {
    let mut board = board::board(project)?;
    board.measure(project);
    let readiness = board.readiness();
    let next = next(&board, &readiness);
    let all = |places: &[usize]| places.iter().map(|&place| plan_data(&board.cards[place])).collect();
    let is_staged = |held: &&Blocked| board.cards[held.entry].entry.status == PlanProgress::Staged;
    let staged: Vec<usize> = readiness.held_back.iter().filter(is_staged).map(|held| held.entry).collect();
    let held_back = readiness.held_back.iter().filter(|held| !is_staged(held));
    let order = order(&board, &readiness);
    let data = PlansData {
        ready: all(&readiness.ready),
        running: all(&readiness.running),
        held_back: held_back.map(|held| held_data(&board, held)).collect(),
        staged: all(&staged),
        together: together(&board, &readiness),
        cycle: order.as_ref().err().cloned(),
        merge_order: order.ok(),
        alike: alike(&board),
        faults: board.faults,
    };
    Ok((data, next))
}

fn plan_data(card: &BoardRow) -> PlanData {
    PlanData {
        name: card.entry.name.clone(),
        path: card.path.to_string_lossy().into_owned(),
        title: card.title.clone(),
        state: card.state.clone(),
        settled: card.settled,
        steps: card.steps,
    }
}

fn held_data(board: &Board, held: &Blocked) -> HeldData {
    let reason = |reason: &BlockReason| ReasonData {
        text: reason.to_string(),
        command: NextCommand::new(reason.command(&board.address(held.entry))).command,
    };
    HeldData {
        plan: plan_data(&board.cards[held.entry]),
        reasons: held.reasons.iter().map(reason).collect(),
        recovery: held.recovery().word().to_owned(),
    }
}

/// What could run together: what is running has its place, then what is ready.
fn together(board: &Board, readiness: &Readiness) -> TogetherData {
    let entries = board.entries();
    let among: Vec<usize> = readiness.running.iter().chain(&readiness.ready).copied().collect();
    let ParallelSet { plans, overlaps, unbounded } = portfolio::safe_together(&entries, &among);
    let name = |place: usize| entries[place].name.clone();
    let overlaps = overlaps.into_iter().map(|overlap| OverlapData {
        plans: [name(overlap.plans.0), name(overlap.plans.1)],
        patterns: overlap.patterns.into(),
        path: overlap.path,
    });
    let excluded = unbounded.into_iter().map(|one| ExcludedData { plan: name(one.entry), why: one.why });
    TogetherData {
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

fn alike(board: &Board) -> Vec<AlikeData> {
    let path = |place: usize| board.cards[place].path.to_string_lossy().into_owned();
    let pairs = board.alike().into_iter();
    pairs
        .map(|(one, other, why)| AlikeData { plans: [path(one), path(other)], why: why.to_owned() })
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

/// Prints the plans.
pub(super) fn print(data: &PlansData, out: &mut Out<'_>) {
    for fault in &data.faults {
        out.warn(fault);
    }
    out.section("Ready", data.ready.iter().map(row).collect());
    out.section("Running", data.running.iter().map(row).collect());
    let held = data.held_back.iter().flat_map(|held| {
        held.reasons.iter().enumerate().map(|(place, reason)| {
            let (name, recovery) =
                if place == 0 { (held.plan.name.as_str(), held.recovery.as_str()) } else { ("", "") };
            vec![
                Cell::new(format!("  {name}")).tone(Tone::Strong),
                Cell::new(recovery).tone(Tone::Attention),
                Cell::new(&reason.text),
                Cell::new(&reason.command).tone(Tone::Muted),
            ]
        })
    });
    out.section("Held back", held.collect());
    out.section("Shelved", data.staged.iter().map(row).collect());
    print_together(&data.together, out);
    if let Some(cycle) = &data.cycle {
        let circle = clean_line(&cycle.join(" → ")).into_owned();
        out.warn(&format!("dependency cycle, no merge order: {circle}"));
    }
    if let Some(order) = data.merge_order.as_ref().filter(|order| order.len() > 1) {
        let title = out.palette().paint(Tone::Strong, "Merge order");
        out.line(&format!("{title}  {}", clean_line(&order.join(", "))));
    }
    for alike in &data.alike {
        let [one, other] = &alike.plans;
        out.warn(&clean_line(&format!("{one} and {other} may be the same work: {}", alike.why)));
    }
}

fn row(plan: &PlanData) -> Vec<Cell> {
    vec![
        Cell::new(format!("  {}", plan.name)).tone(Tone::Strong),
        Cell::new(&plan.state),
        Cell::new(format!("{}/{}", plan.settled, plan.steps)).right(),
        Cell::new(&plan.title),
        Cell::new(&plan.path).tone(Tone::Muted),
    ]
}

fn print_together(together: &TogetherData, out: &mut Out<'_>) {
    let asked = together.plans.len() + together.excluded.len() + together.overlaps.len();
    if asked < 2 {
        return;
    }
    let title = out.palette().paint(Tone::Strong, "Together");
    let plans = match together.plans.len() {
        0 | 1 => "no plans can run in parallel".to_owned(),
        _ => together.plans.join(", "),
    };
    out.line(&format!("{title}  {}", clean_line(&plans)));
    for overlap in &together.overlaps {
        let ([one, other], [left, right], path) = (&overlap.plans, &overlap.patterns, &overlap.path);
        let text = format!("  not {one} with {other}: both may change {path} ({left} and {right})");
        out.line(&clean_line(&text));
    }
    for excluded in &together.excluded {
        out.line(&clean_line(&format!("  {} alone: {}", excluded.plan, excluded.why)));
    }
}
