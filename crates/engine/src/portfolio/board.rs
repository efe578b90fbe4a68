//! Many plans of one project at once: where each of them stands, what it waits for, and what was done. Gathers; core decides
//! what may begin. A plan is done because the journal proves it, never because its file says so.

pub use crate::portfolio::duplicate::{Twin, twins};
pub use crate::portfolio::staging::{Moved, Refused, activate, is_staged, stage};
pub use crate::portfolio::standup::{Happened, Report, StepDone, standup};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use planwright_core::dialect::named;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::draft::{Draft, Mark};
use planwright_core::plan::lifecycle::State;
use planwright_core::plan::verified;
use planwright_core::run::event::{Event, Outcome};
use planwright_core::run::state::Phase;
use planwright_core::run::summary::Tally;
use planwright_core::syntax::source::{Source, Told, text, texts};
use planwright_core::verify;
use planwright_core::workspace::portfolio;
use planwright_core::workspace::portfolio::{Entry, Gist, Status, Trip};

use crate::approval::Decisions;
use crate::git::base;
use crate::git::repository;
use crate::git::repository::{Keep, branch_of, tree_around};
use crate::portfolio::merge_queue;
use crate::run::checkout;
use crate::run::{Error, Run, Runs};
use crate::store::journal::RunId;
use crate::store::plan_file;
use crate::store::plan_file::{ARCHIVE, STAGED, Text};
use crate::store::worktree_registry;
use crate::store::worktree_registry::Tree;
use crate::workspace::active_plan;
use crate::workspace::project;
use crate::workspace::project::Project;

/// How much of the end of a progress file is looked at.
const PROGRESS_BYTES_MAX: u64 = 1 << 16;

/// Plans that are compared with each other are not more than this.
const ALIKE_MAX: usize = 200;

/// Every plan of a project, as far as others care.
#[derive(Default)]
pub struct Board {
    /// The plans that are not archived, by path.
    pub cards: Vec<Card>,
    /// What should not be there: conflict copies of plans, pointers that lead nowhere.
    pub faults: Vec<String>,
    /// Plans that are archived.
    pub(super) archived: Vec<Archived>,
}

/// A plan that is over.
pub(super) struct Archived {
    /// Its file, relative to the root of the project.
    pub(super) path: PathBuf,
    /// The plan, for those that depend on it.
    pub(super) entry: Entry,
}

pub struct Card {
    /// Its file, relative to the root of the project.
    pub path: PathBuf,
    pub title: String,
    /// Where it stands, in a word.
    pub state: String,
    /// How many of its steps are settled: by the journal, never by marks.
    pub settled: usize,
    /// How many steps it has.
    pub steps: usize,
    /// The plan among others.
    pub entry: Entry,
    /// Its newest run, wherever that was made.
    pub run: Option<RunId>,
    /// What it is about.
    pub gist: Gist,
}

impl Board {
    /// Every plan that others may depend on: those of the cards in their order, then archived ones that no other plan is called
    /// like.
    pub fn entries(&self) -> Vec<Entry> {
        let is_called = |entry: &&Entry| self.cards.iter().any(|card| card.entry.name == entry.name);
        let archived = self.archived.iter().map(|archived| &archived.entry);
        let archived = archived.filter(|entry| !is_called(entry)).cloned();
        self.cards.iter().map(|card| card.entry.clone()).chain(archived).collect()
    }

    /// How a plan can be called on a command line: by its name where no other has it, else by its file.
    pub fn address(&self, place: usize) -> String {
        let Card { entry, path, .. } = &self.cards[place];
        let is_alone = self.cards.iter().filter(|card| card.entry.name == entry.name).count() == 1;
        match is_alone && (verified::slug(&entry.name) == entry.name || entry.name == "PLAN") {
            true => entry.name.clone(),
            false => path.to_string_lossy().into_owned(),
        }
    }

    /// Open plans that are about the same, as places among the cards, and in which way.
    pub fn alike(&self) -> Vec<(usize, usize, &'static str)> {
        let is_open = |card: &Card| {
            !matches!(card.entry.status, Status::Done | Status::Cancelled | Status::Unreadable(_))
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

    /// Finds out how much each plan has changed that has a branch: small work lands first. What can't be found out is nothing.
    pub fn measure(&mut self, project: &Project) {
        let trees = trees_of(project);
        if trees.is_empty() {
            return;
        }
        let Ok(Some(keep)) = Keep::find(&project.root) else { return };
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

    /// What may begin and what may not, as places among the cards.
    pub fn readiness(&self) -> portfolio::Readiness {
        let mut readiness = portfolio::readiness(&self.entries());
        let is_card = |place: &usize| *place < self.cards.len();
        readiness.ready.retain(is_card);
        readiness.running.retain(is_card);
        readiness.held_back.retain(|held| is_card(&held.entry));
        readiness
    }
}

/// Gathers every plan of a project.
pub fn board(project: &Project) -> Result<Board, Error> {
    let runs = Runs::open_existing(project)?;
    gather(project, &Known::of(runs.as_ref())?)
}

/// Why a plan should not begin now, though nothing stops it: another one is to be done first, or is at work on the same files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hindrance {
    pub plan: String,
    /// Why, in words that go on after its name.
    pub why: String,
}

/// What a plan should wait for before it begins: the first of it.
pub fn hindrance(project: &Project, (plan, draft): (&Path, &Draft)) -> Result<Option<Hindrance>, Error> {
    let Some(runs) = Runs::open_existing(project)? else { return Ok(None) };
    let mut at_work = Vec::new();
    for glance in runs.everywhere()?.into_iter().filter(|glance| glance.path != plan) {
        if runs.holder_of(glance.run)?.is_some() {
            at_work.push(glance.path);
        }
    }
    // All plans are read only where one of them can matter.
    if at_work.is_empty() && draft.depends_on.is_empty() {
        return Ok(None);
    }
    let board = board(project)?;
    let Some(own) = board.cards.iter().position(|card| card.path == plan) else { return Ok(None) };
    let entries = board.entries();
    for before in &entries[own].depends_on {
        let is_it = |entry: &&Entry| entry.name == portfolio::key(before);
        // One that nobody knows is said by `queue`; waiting for it would have no end.
        if entries.iter().find(is_it).is_some_and(|entry| entry.status != Status::Done) {
            let plan = portfolio::key(before).to_owned();
            return Ok(Some(Hindrance { plan, why: "is to be done first".to_owned() }));
        }
        if !has_landed(project, portfolio::key(before)) {
            let plan = portfolio::key(before).to_owned();
            let why = "is done, and is to be merged first: planwright merge".to_owned();
            return Ok(Some(Hindrance { plan, why }));
        }
    }
    for (other, card) in board.cards.iter().enumerate().filter(|(_, card)| at_work.contains(&card.path)) {
        let together = portfolio::safe_together(&entries, &[other, own]);
        if let Some(overlap) = together.overlaps.first() {
            let why = format!("is at work and may change the same file: {}", overlap.path);
            return Ok(Some(Hindrance { plan: card.entry.name.clone(), why }));
        }
        if let Some(unbounded) = together.unbounded.first() {
            // Whoever does not say what it touches is never taken for safe.
            let own = &board.cards[own].entry.name;
            let who = if unbounded.entry == other { " and" } else { &format!(", and {own}") };
            let why = format!("is at work{who} may change any file: {}", unbounded.why);
            return Ok(Some(Hindrance { plan: card.entry.name.clone(), why }));
        }
    }
    Ok(None)
}

/// The plans that are done, whose work is on a branch and neither merged nor evicted, and that may have changed what a plan touches: their names and
/// the commits of their branches, in the order in which they would land.
pub fn unlanded(project: &Project, plan: &Path) -> Result<Vec<(String, String)>, Error> {
    let branches = || -> Result<Option<(Keep, String)>, repository::Error> {
        let Some(keep) = Keep::find(&project.root)? else { return Ok(None) };
        // All plans are read only where one of them can matter.
        let is_any = !keep.list(&branch_of(""))?.is_empty();
        Ok(head_of(project, &keep)?.filter(|_| is_any).map(|head| (keep, head)))
    };
    let Some((keep, head)) = branches().map_err(checkout::Error::from)? else { return Ok(Vec::new()) };
    let mut board = board(project)?;
    board.measure(project);
    let (entries, trees) = (board.entries(), trees_of(project));
    let Some(own) = board.cards.iter().position(|card| card.path == plan) else { return Ok(Vec::new()) };
    // Whoever begins with the work of one that was evicted would not land either.
    let evicted = Decisions::open(project).ok().and_then(|decisions| merge_queue::evicted(&decisions).ok());
    let is_evicted = |card: &Card| {
        evicted.iter().flatten().any(|outcast: &merge_queue::Outcast| outcast.path == card.path)
    };
    let order = portfolio::merge_order(&entries).unwrap_or_else(|_| (0..entries.len()).collect());
    let mut found = Vec::new();
    for place in order.into_iter().filter(|place| *place != own) {
        let Some(card) = board.cards.get(place).filter(|card| card.entry.status == Status::Done) else {
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
        found.extend(tip.filter(|tip| !is_there(tip)).map(|tip| (card.entry.name.clone(), tip)));
    }
    Ok(found)
}

/// Whether the work of a plan is where others begin: it was done there, or its branch has been merged. What can't be told
/// holds nobody up.
fn has_landed(project: &Project, name: &str) -> bool {
    let landed = || -> Result<bool, repository::Error> {
        let Some(keep) = Keep::find(&project.root)? else { return Ok(true) };
        let (Some(tip), Some(head)) = (keep.get(&branch_of(name))?, head_of(project, &keep)?) else {
            return Ok(true);
        };
        keep.is_ancestor(&tip, &head)
    };
    landed().unwrap_or(true)
}

/// The commit that work lands on: HEAD of the user's working copy, which a worktree of git has for itself.
fn head_of(project: &Project, keep: &Keep) -> Result<Option<String>, repository::Error> {
    let copy = match tree_around(&project.root)? {
        Some(tree) => tree.origin,
        None => project.root.clone(),
    };
    match base::of(&copy) {
        Ok(Some(base)) => Ok(Some(base.commit)),
        Ok(None) | Err(_) => keep.get("HEAD"),
    }
}

/// Gathers every plan of a project as if nothing was recorded: for those who must not fail over a record that is broken.
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
        // Other files may lie there, too.
        if sight.read.as_ref().is_ok_and(|source| *source.told() == Told::Nothing) {
            continue;
        }
        let mut card = known.card(project, sight)?;
        if card.entry.status != Status::Done {
            (card.entry.status, card.state) = (Status::Staged, "staged".to_owned());
        }
        cards.push(card);
    }
    let archived = archived.into_iter().map(|path| known.archived(project, &path));
    Ok(Board { cards, faults, archived: archived.collect::<Result<_, Error>>()? })
}

/// The trees that were made of the repository of a project, this one left out.
pub(super) fn trees_of(project: &Project) -> Vec<Tree> {
    let own = tree_around(&project.root).ok().flatten();
    let is_ours = |tree: &Tree| match &own {
        // It is for a plan of another project.
        _ if tree.owner.is_some() => false,
        Some(own) => own.repository == tree.repository && own.path != tree.path,
        None => project.root.starts_with(&tree.origin),
    };
    worktree_registry::trees().into_iter().filter(is_ours).collect()
}

/// The last line that the progress of a plan has, if it keeps any.
pub fn last_progress(project: &Project, plan: &Path) -> Option<String> {
    let name = named::plan_of(&plan.file_name()?.to_string_lossy())?;
    let path = project.root.join(plan).with_file_name(named::progress_file(name.slug()));
    let end = plan_file::read_end(&path, PROGRESS_BYTES_MAX).ok()?;
    end.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// What others call a plan: `auth` for `PLAN-auth.md` and for `plans/auth.md`.
pub fn name_of(plan: &Path) -> String {
    portfolio::key(&project::name(plan)).to_owned()
}

/// A plan file as it was found.
pub struct Sight {
    pub path: PathBuf,
    /// What was read, or why it could not be.
    pub read: Result<Source, String>,
}

impl Project {
    /// Reads every plan below the root, by path; and what should not be there.
    pub fn read_all(&self) -> Result<(Vec<Sight>, Vec<String>), project::Error> {
        self.look_at_all(|path| self.sight(path))
    }

    fn sight(&self, path: &Path) -> Sight {
        let shown = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy();
        let read = match plan_file::read(path, &shown, self.reading()) {
            Ok(Text::Plan(source)) => Ok(source),
            Ok(Text::Unreadable(unreadable)) => Err(unreadable.diagnostic.message.clone()),
            Err(error) => Err(error.to_string()),
        };
        Sight { path: path.to_owned(), read }
    }
}

/// Adds what lies in the harness folder and was not met below the root: it may be ignored by Git, or shared and elsewhere.
fn add_harness(project: &Project, sights: &mut Vec<Sight>, faults: &mut Vec<String>) {
    // Where there is no such folder, or it can't be looked at, nothing is added: `list-plans` says why.
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
            faults.push(format!("{} is a conflict copy; it is not read as a plan", path.display()));
        }
    }
}

/// Plans that are staged, and plans that are archived.
pub(super) fn aside(project: &Project) -> Result<(Vec<PathBuf>, Vec<PathBuf>), project::Error> {
    let found: Mutex<(Vec<PathBuf>, Vec<PathBuf>)> = Mutex::default();
    project.walk(&|path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if project::ending(path).is_none() || named::conflict_copy(&file).is_some() || !path.is_file() {
            return;
        }
        let plan = plan_file::plan_at(path, project.dialect);
        let folder = plan.parent().and_then(Path::file_name).unwrap_or_default();
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        match folder.to_str() {
            Some(STAGED) => found.0.push(plan),
            Some(ARCHIVE) => found.1.push(plan),
            _ if is_put_away(path) => found.1.push(plan),
            Some(_) | None => {}
        }
    })?;
    let (mut staged, mut archived) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let harness = active_plan::real(&active_plan::folder(project));
    staged.extend(named_in(&harness.join(STAGED)));
    archived.extend(named_in(&harness.join(ARCHIVE)));
    archived.extend(files_in(&harness).filter(|path| is_put_away(path)));
    for list in [&mut staged, &mut archived] {
        // A plan that is a folder was met once for each of its files.
        list.sort();
        list.dedup();
    }
    Ok((staged, archived))
}

/// The named plans of a folder, which need not be there.
fn named_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let is_plan = |path: &PathBuf| {
        path.file_name().is_some_and(|file| named::plan_of(&file.to_string_lossy()).is_some())
    };
    files_in(folder).filter(is_plan)
}

/// The files of a folder, which need not be there.
fn files_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let paths = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.is_file())
}

/// Whether document D's tools put a plan away, beside the others.
pub(crate) fn is_put_away(plan: &Path) -> bool {
    plan.file_name().is_some_and(|file| file.to_string_lossy().starts_with(named::ARCHIVED))
}

/// What an archived plan was called: `auth` for `archive/PLAN-auth.md` and for `PLAN.archive.20260612-auth.md`.
fn archived_name(plan: &Path) -> String {
    let name = name_of(plan);
    let dated = name
        .strip_prefix(named::ARCHIVED)
        .map(|rest| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    dated.map_or_else(|| name.clone(), |rest| rest.trim_start_matches('-').to_owned())
}

/// What is recorded about the plans of a project.
struct Known<'a> {
    runs: Option<&'a Runs>,
    /// The state that the ledger of each plan says.
    ledgers: BTreeMap<PathBuf, String>,
    /// The newest run of each plan of this workspace.
    here: BTreeMap<PathBuf, (RunId, String, Tally)>,
}

/// The newest run of a plan.
struct Newest {
    id: RunId,
    digest: String,
    tally: Tally,
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

    /// The newest run of a plan: in this workspace, or in another tree of the repository.
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
                let tally = Tally::of(&run.plan, &run.state);
                Ok(Some(Newest { id, digest: run.row.digest, tally }))
            }
            (_, None) => Ok(None),
        }
    }

    fn card(&self, project: &Project, sight: Sight) -> Result<Card, Error> {
        let path = sight.path.strip_prefix(&project.root).unwrap_or(&sight.path).to_owned();
        let name = name_of(&sight.path);
        let source = match sight.read {
            Ok(source) => source,
            Err(why) => {
                let status = Status::Unreadable(why);
                let entry = Entry { name, status, depends_on: Vec::new(), touches: None, size: 0 };
                let (title, state, gist) = (String::new(), "unreadable".to_owned(), Gist::default());
                return Ok(Card { path, title, state, settled: 0, steps: 0, entry, run: None, gist });
            }
        };
        let draft = source.draft();
        let newest = self.newest(&path)?;
        let (status, state) = self.stand(&path, (&source, &draft), newest.as_ref())?;
        let entry =
            Entry { name, status, depends_on: texts(&draft.depends_on), touches: touches(&draft), size: 0 };
        Ok(Card {
            path,
            title: text(draft.title.as_ref()),
            state,
            settled: newest.as_ref().map_or(0, |run| run.tally.settled()),
            steps: draft.steps.len(),
            entry,
            gist: Gist::of(&draft),
            run: newest.map(|run| run.id),
        })
    }

    /// Where a plan stands, and the word for it.
    fn stand(
        &self,
        plan: &Path,
        (source, draft): (&Source, &Draft),
        newest: Option<&Newest>,
    ) -> Result<(Status, String), Error> {
        if let (Some(runs), Some(run)) = (self.runs, newest)
            && !matches!(run.tally.phase, Phase::Finished(_))
        {
            return going(runs, run);
        }
        let ended = newest.and_then(|run| match run.tally.phase {
            Phase::Finished(outcome) => Some((run, outcome)),
            Phase::New | Phase::Running | Phase::Stopped => None,
        });
        let said = self.ledgers.get(plan).map_or("", String::as_str);
        let word = |status: Status, word: &str| Ok((status, word.to_owned()));
        match (said, ended) {
            ("waiting (lapsed)", _) => word(Status::Waiting("its approval has lapsed".to_owned()), said),
            ("waiting (revisions-spent)", _) => {
                word(Status::Waiting("it was rejected too often".to_owned()), said)
            }
            ("rejected", _) => word(Status::Replanning("it was rejected".to_owned()), said),
            ("cancelled", _) => word(Status::Cancelled, said),
            ("done" | "running" | "", Some((run, Outcome::Done))) => match is_proven(source, &run.digest) {
                true => word(Status::Done, "done"),
                false => word(Status::Open, "changed since it was done"),
            },
            ("running" | "", Some((_, Outcome::Cancelled))) => word(Status::Cancelled, "cancelled"),
            (_, ended) => match self.trip(plan)? {
                Some(trip) => word(Status::Tripped(trip), "tripped"),
                None => match ended.map(|(_, outcome)| outcome) {
                    Some(Outcome::Failed) if matches!(said, "failed" | "running" | "") => {
                        word(Status::Failed, "failed")
                    }
                    Some(_) | None if said.is_empty() => Ok(claimed(draft)),
                    Some(_) | None => word(Status::Open, said),
                },
            },
        }
    }

    /// What failed too often in a row over all runs of a plan.
    fn trip(&self, plan: &Path) -> Result<Option<Trip>, Error> {
        match self.runs {
            Some(runs) if self.here.contains_key(plan) => trip(runs, plan),
            Some(_) | None => Ok(None),
        }
    }

    /// An archived plan, for those that depend on it.
    fn archived(&self, project: &Project, path: &Path) -> Result<Archived, Error> {
        let plan = path.strip_prefix(&project.root).unwrap_or(path);
        let outcome = self.newest(plan)?.map(|run| run.tally.phase);
        let status = match outcome {
            Some(Phase::Finished(Outcome::Done)) => Status::Done,
            Some(Phase::Finished(Outcome::Failed)) => Status::Failed,
            Some(Phase::Finished(Outcome::Cancelled)) => Status::Cancelled,
            Some(Phase::New | Phase::Running | Phase::Stopped) | None => Status::Claimed,
        };
        let name = archived_name(path);
        let entry = Entry { name, status, depends_on: Vec::new(), touches: None, size: 0 };
        Ok(Archived { path: plan.to_owned(), entry })
    }
}

/// What failed too often in a row over all runs of a plan, given its path below the root; `None` once a person had their word.
pub(crate) fn trip(runs: &Runs, plan: &Path) -> Result<Option<Trip>, Error> {
    let ledger = runs.store().ledger(plan)?;
    let mut events: Vec<(u64, Event)> = Vec::new();
    for id in runs.store().run_ids(Some(plan))? {
        let recorded = runs.store().events(id, 0)?;
        events.extend(recorded.into_iter().map(|recorded| (recorded.at_ms, recorded.event)));
    }
    Ok(portfolio::tripped(&ledger, events.iter().map(|(at_ms, event)| (*at_ms, event))))
}

/// Where a run stands that is not over.
fn going(runs: &Runs, newest: &Newest) -> Result<(Status, String), Error> {
    let (status, word) = match (&newest.tally.phase, newest.tally.asks.is_empty()) {
        (Phase::Stopped, _) => (Status::Stopped, "stopped"),
        (_, false) => (Status::Waiting(asked(&runs.run(newest.id)?)), "waiting"),
        (_, true) if runs.holder_of(newest.id)?.is_some() => (Status::Running, "running"),
        (_, true) => (Status::Open, "paused"),
    };
    Ok((status, word.to_owned()))
}

/// What a person is asked about a run, in a line.
fn asked(run: &Run) -> String {
    let asks = run.state.asks.values().map(|ask| {
        let what = reason(ask.reason);
        ask.step
            .map_or_else(|| what.to_owned(), |place| format!("step `{}`, {what}", run.plan.steps[place].id))
    });
    asks.collect::<Vec<_>>().join("; ")
}

const fn reason(reason: planwright_core::run::event::Reason) -> &'static str {
    use planwright_core::run::event::Reason;
    match reason {
        Reason::AttemptsSpent => "all attempts failed",
        Reason::Manual => "a person has to look",
        Reason::Budget => "the budget is spent",
        Reason::Lost => "attempts were lost",
        Reason::Parked => "no agent could be had",
        Reason::Stalled => "nobody drives it",
        Reason::Question => "the agent has a question",
        Reason::Strayed => "an attempt changed what it may not touch",
    }
}

/// A plan of which nothing is recorded: what its file says is a claim, and what it says of an end that helps nobody is taken.
fn claimed(draft: &Draft) -> (Status, String) {
    let are_all_marked =
        !draft.steps.is_empty() && draft.steps.iter().all(|step| step.mark() == Some(Mark::Done));
    let state = draft.state.as_ref().map(|state| state.value);
    let word = text(draft.status.0.as_ref());
    match state {
        Some(State::Done) => (Status::Claimed, "says done".to_owned()),
        Some(State::Cancelled) => (Status::Cancelled, word),
        _ if are_all_marked => (Status::Claimed, "says done".to_owned()),
        Some(_) | None => (Status::Open, if word.is_empty() { "draft".to_owned() } else { word }),
    }
}

/// Whether the text of a plan still is the one that was carried out.
fn is_proven(source: &Source, digest: &str) -> bool {
    verify::trusted(source).is_some_and(|plan| Digest::of(&plan).to_string() == digest)
}

/// What a plan touches: what it says as a whole, or what all of its steps say together.
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
