//! Lands the work of finished plans in a branch: in merge order, with the contracts of all of them run again on what is merged.
//! Which plans land is decided in `planwright_core::integrate`; this gathers them, tries them out, and moves the branch.
//!
//! No branch is forced and none is removed. Before anything moves, an intent is noted; whoever dies meanwhile leaves the old
//! state, or one that the next merge finishes.

mod eviction;
mod candidate;
mod land;
mod trial;

use std::path::PathBuf;

use planwright_core::approval::ledger::{Entry, Who};
use planwright_core::plan::lifecycle::State;
use planwright_core::workspace::merge_queue::{Evidence, Member, Next, Search, Settled, Why};
use planwright_core::workspace::portfolio::Cycle;

pub use eviction::{Outcast, evicted};

use crate::approval;
use crate::approval::Decisions;
use crate::audit::rerun;
use crate::git::base;
use crate::git::repository;
use crate::run;
use crate::store::journal::{self, Store};
use crate::store::plan_file;
use crate::store::state_dir;
use crate::system::process::Stop;
use crate::workspace::project;
use crate::workspace::project::Project;
use crate::workspace::repository_set;
use candidate::Batch;
use land::Land;
use trial::Bench;

/// How often everything is done again because somebody else moved the branch meanwhile.
const RESTARTS_MAX: usize = 5;
/// The lock that one merge at a time holds.
const LOCK: &str = "merge";

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was said about plans.
    #[error(transparent)]
    Decisions(#[from] approval::Error),
    #[error(transparent)]
    Project(#[from] project::Error),
    /// The runs of the project.
    #[error(transparent)]
    Runs(#[from] run::Error),
    #[error("the journal failed")]
    Journal(#[from] journal::Error),
    /// The repository, to keep work in.
    #[error(transparent)]
    Keep(#[from] repository::Error),
    /// The repository, to look at.
    #[error(transparent)]
    Base(#[from] base::Error),
    /// No contract can be run on what is merged.
    #[error(transparent)]
    Rerun(#[from] rerun::Error),
    /// The repositories beside it.
    #[error(transparent)]
    Repositories(#[from] repository_set::Error),
    #[error("cannot use the state folder of the project")]
    State(#[from] state_dir::Error),
    /// A plan file can't be written.
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    /// Plans wait for each other.
    #[error("these plans wait for each other, so none of them can land first: {0}")]
    Cycle(#[from] Cycle),
    /// This is the tree of a plan.
    #[error("this is the tree `{name}`, and plans are merged where they come from: {}", origin.display())]
    InTree {
        name: String,
        /// The workspace that it was made of.
        origin: PathBuf,
    },
    /// There is nothing that could be merged into.
    #[error("no branch is checked out in {}", root.display())]
    NoBranch { root: PathBuf },
    /// There is no such branch.
    #[error("there is no branch `{branch}` in {}", root.display())]
    UnknownBranch { branch: String, root: PathBuf },
    /// Its files lie in another folder, which would not follow.
    #[error("`{branch}` is checked out in {}", path.display())]
    Elsewhere { branch: String, path: PathBuf },
    /// Git is in the middle of something.
    #[error("{act} is under way in {}", root.display())]
    Busy { act: &'static str, root: PathBuf },
    #[error("plans of this repository are being merged ({holder})")]
    Held { holder: String },
    /// A plan that was named is not done.
    #[error("{plan} is not done but {state}")]
    NotDone { plan: String, state: State },
    /// A plan that was named has no branch.
    #[error("{plan} has no branch `{branch}`: it was carried out in the workspace, and its work lies there")]
    NoWork {
        plan: String,
        /// The branch that it would have.
        branch: String,
    },
    /// Somebody wrote files that would have to change.
    #[error("{} in the workspace is neither as it was nor as it will be: {}", files(paths), paths.join(", "))]
    Edited { paths: Vec<String> },
    /// The branch moved again and again.
    #[error("`{branch}` moved {RESTARTS_MAX} times while plans were being merged into it")]
    Restless { branch: String },
    #[error("stopped; nothing was merged")]
    Stopped,
}

fn files(paths: &[String]) -> &'static str {
    if paths.len() == 1 { "a file" } else { "files" }
}

/// What is to be merged.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// These plans; none: every one that is done and has a branch.
    pub plans: Vec<PathBuf>,
    /// The branch; `None`: the one that is checked out.
    pub into: Option<String>,
    pub act: Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Act {
    #[default]
    Land,
    /// Branches are merged as data, no contract is run, and nothing moves.
    Rehearse,
}

#[derive(Debug, Clone, Copy)]
pub enum Told<'a> {
    /// A merge that somebody died over was finished.
    Finished(&'a [String]),
    /// The order is known.
    Order(&'a [Planned]),
    /// These plans are tried together.
    Trying(&'a [&'a str]),
    /// A contract was run on what is merged.
    Contract {
        plan: &'a str,
        /// The id of the step.
        step: &'a str,
        /// Why it failed; `None`: it passed.
        failure: Option<&'a str>,
        /// How long it took.
        milliseconds: u64,
    },
    /// Somebody moved the branch: everything is done again.
    Again(&'a str),
}

/// A plan at its place in merge order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub plan: String,
    /// Its file, relative to the root of the project.
    pub path: PathBuf,
    pub branch: String,
    /// The commit of the branch.
    pub tip: String,
    /// How many lines it changes.
    pub lines: u64,
    /// The plans of the batch that it comes after because it depends on them.
    pub after: Vec<String>,
    /// The repositories beside the project's own that it has work in.
    pub repositories: Vec<String>,
}

/// A plan that is evicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evicted {
    pub plan: String,
    /// Its file, relative to the root of the project.
    pub path: PathBuf,
    pub branch: String,
    /// Together with which plans it breaks, or which ones changed the same lines.
    pub with: Vec<String>,
    /// The contract that fails; `None`: it can't be merged.
    pub evidence: Option<Evidence>,
    /// The files that two sides changed.
    pub paths: Vec<String>,
    /// The repositories beside the project's own that it has work in.
    pub repositories: Vec<String>,
}

/// A plan that has to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub plan: String,
    pub why: String,
}

/// A branch that moved, or would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The repository; `None`: the project's own.
    pub repository: Option<String>,
    pub branch: String,
    /// The commit that it stood at.
    pub from: String,
    /// The commit that it stands at now.
    pub to: String,
}

/// What it all came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The branch of the project's own repository.
    pub into: String,
    /// The plans in merge order.
    pub order: Vec<Planned>,
    /// Those that landed, or would, in order.
    pub landed: Vec<String>,
    /// Those that did not.
    pub evicted: Vec<Evicted>,
    /// Those that have to wait.
    pub held: Vec<Held>,
    /// Those whose work was in the branch already.
    pub already: Vec<String>,
    /// Those of a merge that somebody died over and that was finished now.
    pub finished: Vec<String>,
    /// The branches that moved, or would.
    pub moved: Vec<Moved>,
    /// How often contracts were run on something merged.
    pub trials: usize,
}

/// Merges plans. `watch` is told what happens meanwhile.
pub fn merge(
    project: &Project,
    options: &Options,
    by: &Who,
    stop: &Stop,
    watch: &mut dyn FnMut(Told<'_>),
) -> Result<Report, Error> {
    if let Some(tree) = repository::tree_around(&project.root)? {
        return Err(Error::InTree { name: tree.name, origin: tree.origin });
    }
    if options.plans.is_empty() && options.into.is_none() && base::of(&project.root)?.is_none() {
        // Where nothing was ever committed there is no branch, neither of a plan nor of anybody.
        return Ok(Report { into: "HEAD".to_owned(), ..Report::default() });
    }
    let decisions = Decisions::open(project)?;
    let store = decisions.runs().store().clone();
    let Some(_lock) = store.lock_named(LOCK)? else {
        let holder = store.holder_named(LOCK)?.map_or_else(String::new, |holder| holder.to_string());
        return Err(Error::Held { holder });
    };
    let mut finished = Vec::new();
    if options.act == Act::Land {
        finished = land::finish(&decisions)?;
        if !finished.is_empty() {
            watch(Told::Finished(&finished));
        }
    }
    let mut branch = String::new();
    for _ in 0..RESTARTS_MAX {
        let batch = candidate::batch(&decisions, options)?;
        branch.clone_from(&batch.repositories[0].branch);
        let order = batch.order();
        watch(Told::Order(&order));
        let mut bench = Bench::new(project, &batch, options.act)?;
        let mut search =
            Search::new(batch.members.iter().map(|member| Member { after: member.after.clone() }).collect());
        let settled = loop {
            match search.next() {
                Next::Settled(settled) => break settled,
                Next::Try(plans) => {
                    let trial = bench.try_out(&plans, stop, watch)?;
                    search.learn(plans, trial);
                }
            }
        };
        let mut report = told(&batch, &settled, order);
        report.finished.clone_from(&finished);
        report.trials = if options.act == Act::Land { search.runs() } else { 0 };
        report.moved = bench.moved(&settled.landed)?;
        if options.act == Act::Rehearse {
            return Ok(report);
        }
        match land::land(&decisions, &batch, (&report.moved, &settled.landed), by)? {
            Land::Done => {}
            Land::Moved => {
                watch(Told::Again(&branch));
                continue;
            }
            Land::Edited(paths) => return Err(Error::Edited { paths }),
        }
        evict(&decisions, &batch, &report, by)?;
        return Ok(report);
    }
    Err(Error::Restless { branch })
}

/// The plans of a merge that somebody died over; the next merge finishes it. `None` where there is none, or somebody is at it.
pub fn unfinished(store: &Store) -> Result<Option<Vec<String>>, Error> {
    let pending = land::pending(store);
    let is_held = pending.is_some() && store.holder_named(LOCK)?.is_some();
    Ok(pending.filter(|_| !is_held))
}

fn told(batch: &Batch, settled: &Settled, order: Vec<Planned>) -> Report {
    let name = |place: usize| batch.members[place].name.clone();
    let names = |places: &[usize]| places.iter().map(|&place| name(place)).collect::<Vec<String>>();
    let evicted: Vec<Evicted> = settled
        .evicted
        .iter()
        .map(|(place, why)| {
            let member = &batch.members[*place];
            let (with, evidence, paths) = match why {
                Why::Alone(evidence) => (Vec::new(), Some(evidence.clone()), Vec::new()),
                Why::With(others, evidence) => (names(others), Some(evidence.clone()), Vec::new()),
                Why::Conflict(conflict) => (names(&conflict.with), None, conflict.paths.clone()),
            };
            let (plan, path, branch) = (member.name.clone(), member.path.clone(), member.branch.clone());
            let repositories = order[*place].repositories.clone();
            Evicted { plan, path, branch, with, evidence, paths, repositories }
        })
        .collect();
    let held = settled.held.iter().map(|&(place, other)| Held {
        plan: name(place),
        why: format!("depends on {}, which did not land", name(other)),
    });
    Report {
        into: batch.repositories[0].branch.clone(),
        order,
        landed: names(&settled.landed),
        evicted,
        held: batch.held.iter().cloned().chain(held).collect(),
        already: batch.already.clone(),
        ..Report::default()
    }
}

/// Records why plans did not land.
fn evict(decisions: &Decisions, batch: &Batch, report: &Report, by: &Who) -> Result<(), Error> {
    for evicted in &report.evicted {
        let tip = batch.members.iter().find(|member| member.name == evicted.plan);
        decisions.note(
            &evicted.path,
            &Entry::Evicted {
                into: report.into.clone(),
                onto: batch.repositories[0].head.clone(),
                tip: tip.map(|member| member.tip().to_owned()).unwrap_or_default(),
                with: evicted.with.clone(),
                evidence: evicted.evidence.clone(),
                paths: evicted.paths.clone(),
                by: by.clone(),
            },
        )?;
    }
    Ok(())
}
