//! The plans of one project side by side: the state of each, what it needs, and what was done. Gathers facts;
//! core decides what may start. A plan is done because the journal proves it, never because its file says so.

pub use crate::portfolio::duplicate::{DuplicatePlan, duplicates};
pub use crate::portfolio::staging::{ShelveError, ShelveResult, activate, stage};
pub use crate::portfolio::standup::{StandupLine, StandupReport, StepDone, StepFailed, standup};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planwright_core::dialect::named;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::draft::{Draft, Mark};
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified;
use planwright_core::run::event::RunOutcome;
use planwright_core::run::summary::{RunSummary, SummaryPhase};
use planwright_core::syntax::source::{Detection, Source, text, texts};
use planwright_core::workspace::portfolio;
use planwright_core::workspace::portfolio::{CircuitBreaker, Fingerprint, PlanNode, PlanProgress};

use crate::approval::Approvals;
use crate::git::base;
use crate::git::repository;
use crate::git::repository::{OwnedRefs, branch_of, tree_around};
use crate::git::worktree::{UnmergedPlan, Worktrees};
use crate::portfolio::merge_queue;
use crate::run::checkout;
use crate::run::circuit_breaker;
use crate::run::{Error, Run, Runs};
use crate::store::journal::RunId;
use crate::store::plan_count::{parse, trusted};
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::store::worktree_registry;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::workspace::active_plan;
use crate::workspace::project;
use crate::workspace::project::Project;
use crate::workspace::staging::{aside, name_of};

/// How much of the end of a progress file is read.
const PROGRESS_BYTES_MAX: u64 = 1 << 16;

/// The most plans compared with each other.
const ALIKE_MAX: usize = 200;

/// Every plan of a project as seen by the others.
#[derive(Default)]
pub struct Board {
    /// The plans that are not archived, by path.
    pub cards: Vec<BoardRow>,
    /// What should not be there: conflict copies of plans, dangling pointers.
    pub faults: Vec<String>,
    pub(super) archived: Vec<Archived>,
}

pub(super) struct Archived {
    /// Relative to the root of the project.
    pub(super) path: PathBuf,
    /// The plan, for those that depend on it.
    pub(super) entry: PlanNode,
}

pub struct BoardRow {
    /// Relative to the root of the project.
    pub path: PathBuf,
    pub title: String,
    /// Its state in one word.
    pub state: String,
    /// How many of its steps are done: by the journal, never by marks.
    pub settled: usize,
    pub steps: usize,
    /// The plan among others.
    pub entry: PlanNode,
    /// Its newest run, in whatever workspace.
    pub run: Option<RunId>,
    /// What it is about.
    pub gist: Fingerprint,
}

impl Board {
    /// Every plan that others may depend on: those of the cards in their order, then archived ones whose name
    /// no other plan has.
    pub fn entries(&self) -> Vec<PlanNode> {
        let is_called = |entry: &&PlanNode| self.cards.iter().any(|card| card.entry.name == entry.name);
        let archived = self.archived.iter().map(|archived| &archived.entry);
        let archived = archived.filter(|entry| !is_called(entry)).cloned();
        self.cards.iter().map(|card| card.entry.clone()).chain(archived).collect()
    }

    /// How a plan is named on a command line: by its name if that is unique, otherwise by its file.
    pub fn address(&self, place: usize) -> String {
        let BoardRow { entry, path, .. } = &self.cards[place];
        let is_alone = self.cards.iter().filter(|card| card.entry.name == entry.name).count() == 1;
        match is_alone && (verified::slug(&entry.name) == entry.name || entry.name == "PLAN") {
            true => entry.name.clone(),
            false => path.to_string_lossy().into_owned(),
        }
    }

    /// Open plans about the same subject, as card indexes, with the kind of similarity.
    pub fn alike(&self) -> Vec<(usize, usize, &'static str)> {
        let is_open = |card: &BoardRow| {
            !matches!(
                card.entry.status,
                PlanProgress::Done | PlanProgress::Cancelled | PlanProgress::Unreadable(_)
            )
        };
        let open: Vec<usize> = (0..self.cards.len()).filter(|&place| is_open(&self.cards[place])).collect();
        let open = &open[..open.len().min(ALIKE_MAX)];
        let mut pairs = Vec::new();
        for (at, &one) in open.iter().enumerate() {
            for &other in &open[at + 1..] {
                let likeness = self.cards[one].gist.likeness(&self.cards[other].gist);
                pairs.extend(likeness.map(|likeness| (one, other, likeness.words())));
            }
        }
        pairs
    }

    /// Measures the changes of every plan with a branch: small work is merged first. What cannot be measured
    /// counts as nothing.
    pub fn measure(&mut self, project: &Project) {
        let trees = trees_of(project);
        if trees.is_empty() {
            return;
        }
        let Ok(Some(keep)) = OwnedRefs::find(&project.root) else { return };
        for card in &mut self.cards {
            let Some(tree) = trees.iter().find(|tree| tree.plan.as_ref() == Some(&card.path)) else {
                continue;
            };
            let branch = tree.branch.clone().unwrap_or_else(|| branch_of(&tree.name));
            let size = keep.get(&branch).and_then(|commit| match commit {
                Some(commit) => keep.size(&tree.base, &commit),
                None => Ok(0),
            });
            card.entry.size = size.unwrap_or(0);
        }
    }

    /// What may start and what may not, as card indexes.
    pub fn readiness(&self) -> portfolio::Readiness {
        let mut readiness = portfolio::readiness(&self.entries());
        let is_card = |place: &usize| *place < self.cards.len();
        readiness.ready.retain(is_card);
        readiness.running.retain(is_card);
        readiness.held_back.retain(|held| is_card(&held.entry));
        readiness
    }
}

pub fn board(project: &Project) -> Result<Board, Error> {
    let runs = Runs::open_existing(project)?;
    gather(project, &Known::of(runs.as_ref())?)
}

/// Why a plan should not start now, though nothing stops it: another one must be done first, or is changing
/// the same files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    pub plan: String,
    /// Continues a sentence that starts with the plan's name.
    pub why: String,
}

/// The first reason a plan should wait before it starts.
pub fn hindrance(project: &Project, (plan, draft): (&Path, &Draft)) -> Result<Option<Blocker>, Error> {
    let Some(runs) = Runs::open_existing(project)? else { return Ok(None) };
    let mut at_work = Vec::new();
    for glance in runs.everywhere()?.into_iter().filter(|glance| glance.path != plan) {
        if runs.holder_of(glance.run)?.is_some() {
            at_work.push(glance.path);
        }
    }
    // All plans are read only if one of them can matter.
    if at_work.is_empty() && draft.depends_on.is_empty() {
        return Ok(None);
    }
    let board = board(project)?;
    let Some(own) = board.cards.iter().position(|card| card.path == plan) else { return Ok(None) };
    let entries = board.entries();
    for before in &entries[own].depends_on {
        let is_it = |entry: &&PlanNode| entry.name == portfolio::key(before);
        // `queue` reports an unknown plan; waiting for it would never end.
        if entries.iter().find(is_it).is_some_and(|entry| entry.status != PlanProgress::Done) {
            let plan = portfolio::key(before).to_owned();
            return Ok(Some(Blocker { plan, why: "must be done first".to_owned() }));
        }
        if !has_landed(project, portfolio::key(before)) {
            let plan = portfolio::key(before).to_owned();
            let why = "is done but must be merged first: planwright merge".to_owned();
            return Ok(Some(Blocker { plan, why }));
        }
    }
    for (other, card) in board.cards.iter().enumerate().filter(|(_, card)| at_work.contains(&card.path)) {
        let together = portfolio::safe_together(&entries, &[other, own]);
        if let Some(overlap) = together.overlaps.first() {
            let why = format!("is running and may change the same file: {}", overlap.path);
            return Ok(Some(Blocker { plan: card.entry.name.clone(), why }));
        }
        if let Some(unbounded) = together.unbounded.first() {
            // A plan that does not declare its files never counts as safe.
            let own = &board.cards[own].entry.name;
            let who = if unbounded.entry == other { " and" } else { &format!(", and {own}") };
            let why = format!("is running{who} may change any file: {}", unbounded.why);
            return Ok(Some(Blocker { plan: card.entry.name.clone(), why }));
        }
    }
    Ok(None)
}

/// The finished plans whose work is on a branch, neither merged nor evicted, and may overlap with what a plan
/// touches, in merge order.
pub fn unmerged(trees: &Worktrees, plan: &Path) -> Vec<UnmergedPlan> {
    // Whoever needs the path of the plan reports what is wrong with it.
    let Ok(plan) = trees.plan_in(plan) else { return Vec::new() };
    // The records of others may be broken; whoever reads them reports that, and it blocks nobody.
    unmerged_in(trees.project(), &plan).unwrap_or_default()
}

fn unmerged_in(project: &Project, plan: &Path) -> Result<Vec<UnmergedPlan>, Error> {
    let branches = || -> Result<Option<(OwnedRefs, String)>, repository::Error> {
        let Some(keep) = OwnedRefs::find(&project.root)? else { return Ok(None) };
        // All plans are read only if one of them can matter.
        let is_any = !keep.list(&branch_of(""))?.is_empty();
        Ok(head_of(project, &keep)?.filter(|_| is_any).map(|head| (keep, head)))
    };
    let Some((keep, head)) = branches().map_err(checkout::Error::from)? else { return Ok(Vec::new()) };
    let mut board = board(project)?;
    board.measure(project);
    let (entries, trees) = (board.entries(), trees_of(project));
    let Some(own) = board.cards.iter().position(|card| card.path == plan) else { return Ok(Vec::new()) };
    // Work based on an evicted plan could not be merged either.
    let evicted = Approvals::open(project).ok().and_then(|decisions| merge_queue::evicted(&decisions).ok());
    let is_evicted = |card: &BoardRow| {
        evicted.iter().flatten().any(|plan: &merge_queue::EvictedView| Path::new(&plan.path) == card.path)
    };
    let order = portfolio::merge_order(&entries).unwrap_or_else(|_| (0..entries.len()).collect());
    let mut found = Vec::new();
    for place in order.into_iter().filter(|place| *place != own) {
        let Some(card) = board.cards.get(place).filter(|card| card.entry.status == PlanProgress::Done) else {
            continue;
        };
        if is_evicted(card) || portfolio::safe_together(&entries, &[place, own]).overlaps.is_empty() {
            continue;
        }
        let of_tree = trees.iter().find(|tree| tree.plan.as_ref() == Some(&card.path));
        let branch = of_tree.and_then(|tree| tree.branch.as_ref());
        let branch = branch.map_or_else(|| branch_of(&card.entry.name), |name| format!("refs/heads/{name}"));
        let tip = keep.get(&branch).map_err(checkout::Error::from)?;
        let is_there = |tip: &String| keep.is_ancestor(tip, &head).unwrap_or(true);
        found.extend(
            tip.filter(|tip| !is_there(tip))
                .map(|commit| UnmergedPlan { name: card.entry.name.clone(), commit }),
        );
    }
    Ok(found)
}

/// Whether the work of a plan is where others start: it was done there, or its branch is merged. What cannot
/// be determined blocks nobody.
fn has_landed(project: &Project, name: &str) -> bool {
    let landed = || -> Result<bool, repository::Error> {
        let Some(keep) = OwnedRefs::find(&project.root)? else { return Ok(true) };
        let (Some(tip), Some(head)) = (keep.get(&branch_of(name))?, head_of(project, &keep)?) else {
            return Ok(true);
        };
        keep.is_ancestor(&tip, &head)
    };
    landed().unwrap_or(true)
}

/// The commit that work is merged onto: HEAD of the user's working copy, which a git worktree has of its own.
fn head_of(project: &Project, keep: &OwnedRefs) -> Result<Option<String>, repository::Error> {
    let copy = match tree_around(&project.root)? {
        Some(tree) => tree.origin,
        None => project.root.clone(),
    };
    match base::of(&copy) {
        Ok(Some(base)) => Ok(Some(base.commit)),
        Ok(None) | Err(_) => keep.get("HEAD"),
    }
}

/// Gathers every plan of a project as if nothing was recorded, for callers that must not fail over a broken
/// record.
pub fn board_of_files(project: &Project) -> Result<Board, Error> {
    gather(project, &Known::of(None)?)
}

fn gather(project: &Project, known: &Known<'_>) -> Result<Board, Error> {
    let (mut sights, mut faults) = project.read_all()?;
    add_harness(project, &mut sights, &mut faults);
    let (staged, archived) = aside(project)?;
    let mut cards = Vec::new();
    for sight in sights {
        cards.push(known.card(project, sight)?);
    }
    for path in staged {
        let sight = project.sight(&path);
        // Other files may be there, too.
        if sight.read.as_ref().is_ok_and(|source| *source.told() == Detection::Nothing) {
            continue;
        }
        let mut card = known.card(project, sight)?;
        if card.entry.status != PlanProgress::Done {
            (card.entry.status, card.state) = (PlanProgress::Staged, "shelved".to_owned());
        }
        cards.push(card);
    }
    let archived = archived.into_iter().map(|path| known.archived(project, &path));
    Ok(Board { cards, faults, archived: archived.collect::<Result<_, Error>>()? })
}

/// The worktrees of the project's repository, without this one.
pub(super) fn trees_of(project: &Project) -> Vec<RegisteredWorktree> {
    let own = tree_around(&project.root).ok().flatten();
    let is_ours = |tree: &RegisteredWorktree| match &own {
        // It belongs to a plan of another project.
        _ if tree.owner.is_some() => false,
        Some(own) => own.repository == tree.repository && own.path != tree.path,
        None => project.root.starts_with(&tree.origin),
    };
    worktree_registry::trees().into_iter().filter(is_ours).collect()
}

/// The last line of a plan's progress file, if it has one.
pub fn last_progress(project: &Project, plan: &Path) -> Option<String> {
    let name = named::plan_of(&plan.file_name()?.to_string_lossy())?;
    let path = project.root.join(plan).with_file_name(named::progress_file(name.slug()));
    let end = plan_file::read_end(&path, PROGRESS_BYTES_MAX).ok()?;
    end.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

pub struct BoardInput {
    pub path: PathBuf,
    /// The source, or why it could not be read.
    pub read: Result<Source, String>,
}

impl Project {
    /// Reads every plan below the root, by path, and reports what should not be there.
    pub fn read_all(&self) -> Result<(Vec<BoardInput>, Vec<String>), project::Error> {
        self.look_at_all(|path| self.sight(path))
    }

    fn sight(&self, path: &Path) -> BoardInput {
        let shown = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy();
        let read = match plan_file::read(path, &shown, self.reading()) {
            Ok(FileText::Plan(source)) => Ok(source),
            Ok(FileText::Unreadable(unreadable)) => Err(unreadable.diagnostic.message.clone()),
            Err(error) => Err(error.to_string()),
        };
        BoardInput { path: path.to_owned(), read }
    }
}

/// Adds plans of the `.harness` directory that were not found below the root: it may be ignored by git, or
/// shared and elsewhere.
fn add_harness(project: &Project, sights: &mut Vec<BoardInput>, faults: &mut Vec<String>) {
    // Without such a directory, or if it cannot be read, nothing is added: `list-plans` says why.
    let Ok(listing) = active_plan::list(project) else { return };
    for (_, plan, _) in listing.files() {
        let plan = active_plan::real(&plan);
        if sights.iter().all(|sight| sight.path != plan) {
            sights.push(project.sight(&plan));
        }
    }
    for copy in &listing.copies {
        if !faults.iter().any(|fault| fault.contains(copy.as_str())) {
            let path = listing.folder.join(copy);
            faults.push(format!("{} is a conflict copy; planwright ignores it", path.display()));
        }
    }
}

/// The name of an archived plan: `auth` for `archive/PLAN-auth.md` and for `PLAN.archive.20260612-auth.md`.
fn archived_name(plan: &Path) -> String {
    let name = name_of(plan);
    let dated = name
        .strip_prefix(named::ARCHIVED)
        .map(|rest| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    dated.map_or_else(|| name.clone(), |rest| rest.trim_start_matches('-').to_owned())
}

/// The records about the plans of a project.
struct Known<'a> {
    runs: Option<&'a Runs>,
    /// The state of each plan by its ledger.
    ledgers: BTreeMap<PathBuf, String>,
    /// The newest run of each plan in this workspace.
    here: BTreeMap<PathBuf, (RunId, String, RunSummary)>,
}

struct Newest {
    id: RunId,
    digest: String,
    tally: RunSummary,
}

impl<'a> Known<'a> {
    fn of(runs: Option<&'a Runs>) -> Result<Self, Error> {
        let Some(open) = runs else {
            return Ok(Self { runs, ledgers: BTreeMap::new(), here: BTreeMap::new() });
        };
        let ledgers = open.store().ledgers()?.into_iter().map(|row| (row.plan, row.summary.state));
        let here = open.newest()?.into_iter();
        let here = here.map(|glance| (glance.path, (glance.run, glance.digest, glance.tally)));
        Ok(Self { runs, ledgers: ledgers.collect(), here: here.collect() })
    }

    /// The newest run of a plan: in this workspace, or in another worktree of the repository.
    fn newest(&self, plan: &Path) -> Result<Option<Newest>, Error> {
        let Some(runs) = self.runs else { return Ok(None) };
        let here = self.here.get(plan);
        let newest = runs.store().run_ids(Some(plan))?.pop();
        match (here, newest) {
            (Some((id, digest, tally)), newest) if newest.is_none_or(|newest| newest == *id) => {
                Ok(Some(Newest { id: *id, digest: digest.clone(), tally: tally.clone() }))
            }
            (_, Some(id)) => {
                let run = runs.run(id)?;
                let tally = RunSummary::of(&run.plan, &run.state);
                Ok(Some(Newest { id, digest: run.row.digest, tally }))
            }
            (_, None) => Ok(None),
        }
    }

    fn card(&self, project: &Project, sight: BoardInput) -> Result<BoardRow, Error> {
        let path = sight.path.strip_prefix(&project.root).unwrap_or(&sight.path).to_owned();
        let name = name_of(&sight.path);
        let source = match sight.read {
            Ok(source) => source,
            Err(why) => {
                let status = PlanProgress::Unreadable(why);
                let entry = PlanNode { name, status, depends_on: Vec::new(), touches: None, size: 0 };
                let (title, state, gist) = (String::new(), "unreadable".to_owned(), Fingerprint::default());
                return Ok(BoardRow { path, title, state, settled: 0, steps: 0, entry, run: None, gist });
            }
        };
        let draft = parse(&source);
        let newest = self.newest(&path)?;
        let (status, state) = self.stand(&path, (&source, &draft), newest.as_ref())?;
        let entry = PlanNode {
            name,
            status,
            depends_on: texts(&draft.depends_on),
            touches: touches(&draft),
            size: 0,
        };
        Ok(BoardRow {
            path,
            title: text(draft.title.as_ref()),
            state,
            settled: newest.as_ref().map_or(0, |run| run.tally.settled()),
            steps: draft.steps.len(),
            entry,
            gist: Fingerprint::of(&draft),
            run: newest.map(|run| run.id),
        })
    }

    /// The state of a plan, and the word for it.
    fn stand(
        &self,
        plan: &Path,
        (source, draft): (&Source, &Draft),
        newest: Option<&Newest>,
    ) -> Result<(PlanProgress, String), Error> {
        if let (Some(runs), Some(run)) = (self.runs, newest)
            && run.tally.outcome().is_none()
        {
            return going(runs, run);
        }
        let ended = newest.and_then(|run| Some((run, run.tally.outcome()?)));
        let said = self.ledgers.get(plan).map_or("", String::as_str);
        let word = |status: PlanProgress, word: &str| Ok((status, word.to_owned()));
        match (said, ended) {
            ("waiting (lapsed)", _) => word(PlanProgress::Waiting("its approval lapsed".to_owned()), said),
            ("waiting (revisions-spent)", _) => {
                word(PlanProgress::Waiting("it was rejected too often".to_owned()), said)
            }
            ("rejected", _) => word(PlanProgress::Replanning("it was rejected".to_owned()), said),
            ("cancelled", _) => word(PlanProgress::Cancelled, said),
            ("done" | "running" | "", Some((run, RunOutcome::Done))) => {
                match is_proven(source, &run.digest) {
                    true => word(PlanProgress::Done, "done"),
                    false => word(PlanProgress::Open, "changed since it was done"),
                }
            }
            ("running" | "", Some((_, RunOutcome::Cancelled))) => word(PlanProgress::Cancelled, "cancelled"),
            (_, ended) => match self.trip(plan)? {
                Some(trip) => word(PlanProgress::Tripped(trip), "tripped"),
                None => match ended.map(|(_, outcome)| outcome) {
                    Some(RunOutcome::Failed) if matches!(said, "failed" | "running" | "") => {
                        word(PlanProgress::Failed, "failed")
                    }
                    Some(_) | None if said.is_empty() => Ok(claimed(draft)),
                    Some(_) | None => word(PlanProgress::Open, said),
                },
            },
        }
    }

    /// What failed too often in a row across all runs of a plan.
    fn trip(&self, plan: &Path) -> Result<Option<CircuitBreaker>, Error> {
        match self.runs {
            Some(runs) if self.here.contains_key(plan) => circuit_breaker::trip(runs, plan),
            Some(_) | None => Ok(None),
        }
    }

    /// An archived plan, for those that depend on it.
    fn archived(&self, project: &Project, path: &Path) -> Result<Archived, Error> {
        let plan = path.strip_prefix(&project.root).unwrap_or(path);
        let outcome = self.newest(plan)?.and_then(|run| run.tally.outcome());
        let status = match outcome {
            Some(RunOutcome::Done) => PlanProgress::Done,
            Some(RunOutcome::Failed) => PlanProgress::Failed,
            Some(RunOutcome::Cancelled) => PlanProgress::Cancelled,
            None => PlanProgress::Claimed,
        };
        let name = archived_name(path);
        let entry = PlanNode { name, status, depends_on: Vec::new(), touches: None, size: 0 };
        Ok(Archived { path: plan.to_owned(), entry })
    }
}

/// The state of an unfinished run.
fn going(runs: &Runs, newest: &Newest) -> Result<(PlanProgress, String), Error> {
    let (status, word) = match (&newest.tally.phase, newest.tally.asks.is_empty()) {
        (SummaryPhase::Stopped, _) => (PlanProgress::Stopped, "stopped"),
        (_, false) => (PlanProgress::Waiting(asked(&runs.run(newest.id)?)), "waiting"),
        (_, true) if runs.holder_of(newest.id)?.is_some() => (PlanProgress::Running, "running"),
        (_, true) => (PlanProgress::Open, "paused"),
    };
    Ok((status, word.to_owned()))
}

/// The open questions of a run, in one line.
fn asked(run: &Run) -> String {
    let asks = run.state.asks.values().map(|ask| {
        let what = reason(ask.reason);
        ask.step
            .map_or_else(|| what.to_owned(), |place| format!("step `{}`, {what}", run.plan.steps[place].id))
    });
    asks.collect::<Vec<_>>().join("; ")
}

const fn reason(reason: planwright_core::run::event::AskReason) -> &'static str {
    use planwright_core::run::event::AskReason;
    match reason {
        AskReason::AttemptsSpent => "all attempts failed",
        AskReason::Manual => "manual step",
        AskReason::Budget => "the budget is used up",
        AskReason::Lost => "attempts were interrupted",
        AskReason::Parked => "agent unavailable",
        AskReason::Stalled => "stalled: no process is running it",
        AskReason::Question => "the agent has a question",
        AskReason::Strayed => "an attempt changed files outside its scope",
        AskReason::Regressed => "a contract that had passed fails again",
        AskReason::Unsettled => "contracts change the files that they judge",
        AskReason::Machine => "the machine failed",
    }
}

/// A plan without records: its file's state is a claim, and only a claim that gains nothing is believed.
fn claimed(draft: &Draft) -> (PlanProgress, String) {
    let are_all_marked =
        !draft.steps.is_empty() && draft.steps.iter().all(|step| step.mark() == Some(Mark::Done));
    let state = draft.state.as_ref().map(|state| state.value);
    let word = text(draft.status.0.as_ref());
    match state {
        Some(PlanState::Done) => (PlanProgress::Claimed, "says done".to_owned()),
        Some(PlanState::Cancelled) => (PlanProgress::Cancelled, word),
        _ if are_all_marked => (PlanProgress::Claimed, "says done".to_owned()),
        Some(_) | None => (PlanProgress::Open, if word.is_empty() { "draft".to_owned() } else { word }),
    }
}

/// Whether the text of a plan is still the one that was run.
fn is_proven(source: &Source, digest: &str) -> bool {
    trusted(source).is_some_and(|plan| Digest::of(&plan).to_string() == digest)
}

/// What a plan touches: as declared for the whole plan, or all its steps together.
fn touches(draft: &Draft) -> Option<Vec<String>> {
    if !draft.touches.is_empty() {
        return Some(texts(&draft.touches));
    }
    let steps = draft.steps.iter().map(|step| step.touches.as_deref().map(texts));
    let mut all: Vec<String> = steps.collect::<Option<Vec<_>>>()?.concat();
    all.sort();
    all.dedup();
    (!draft.steps.is_empty()).then_some(all)
}
