//! Tests plans in combination: merges their branches, checks the result out into a temporary checkout, and
//! runs all of their contracts there. Every contract and every sealed file must be the approved one, or the
//! result means nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::Evidence;
use planwright_core::plan::verified::{Contract, Step};
use planwright_core::run::judge::{ContractRun, judge};
use planwright_core::run::state::StepStatus;
use planwright_core::workspace::merge_queue::{Conflict, TrialMerge};

use super::candidate::{Batch, MergeCandidate};
use super::{Error, MergeAction, MergeNotice, TargetMoved};
use crate::git::base;
use crate::git::checkout::{Checkout, Content, Sibling};
use crate::git::repository::MergeCommit;
use crate::git::sealed::Seal;
use crate::run::contract::ContractRunner;
use crate::store::state_dir;
use crate::system::fault::Fault;
use crate::system::process::{Stop, Supervisors};
use crate::workspace::project::Project;

/// How much of the end of a contract's output is kept as evidence.
const OUTPUT_BYTES_MAX: usize = 4 << 10;

/// The branches of some plans in one repository, merged.
#[derive(Clone)]
enum Joined {
    Commit(String),
    Conflict(Conflict),
}

/// The commits of all repositories that are tested in combination.
struct MergedResult<'a> {
    commits: &'a [String],
    /// The files of the project's own repository that the plans change.
    changed: &'a [String],
    /// `None` until something looks at the files.
    checkout: Option<Checkout>,
}

/// Where plans are tested in combination.
pub(super) struct Bench<'a> {
    project: &'a Project,
    batch: &'a Batch,
    act: MergeAction,
    supervisors: Supervisors,
    /// The tag of this merge's processes.
    tag: String,
    /// Merge results by repository and plans: what is merged is exactly what was tested.
    joined: BTreeMap<(usize, Vec<usize>), Joined>,
    /// Directories from which no program is used.
    closed: Vec<PathBuf>,
    /// Which contracts and seals of recently merged plans hold without any plan of the batch.
    held_before: BTreeMap<(usize, String), bool>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(project: &'a Project, batch: &'a Batch, act: MergeAction) -> Result<Self, Error> {
        let key = state_dir::of_project(&project.root)?;
        let key = key.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            project,
            batch,
            act,
            supervisors: Supervisors::new(),
            tag: format!("{key}/merge-{}", std::process::id()),
            joined: BTreeMap::new(),
            closed: batch.repositories.iter().map(|repo| repo.root.clone()).collect(),
            held_before: BTreeMap::new(),
        })
    }

    /// Tests the plans with these indexes in combination.
    pub(super) fn try_out(
        &mut self,
        plans: &[usize],
        stop: &Stop,
        watch: &mut dyn FnMut(MergeNotice<'_>),
    ) -> Result<TrialMerge, Error> {
        let mut commits = Vec::new();
        for repository in 0..self.batch.repositories.len() {
            match self.join(repository, plans)? {
                Joined::Commit(commit) => commits.push(commit),
                Joined::Conflict(conflict) => return Ok(TrialMerge::Conflicts(conflict)),
            }
        }
        match self.act {
            MergeAction::Rehearse => Ok(TrialMerge::Passes),
            MergeAction::Land => self.judge(plans, &commits, stop, watch),
        }
    }

    /// The branches that move when exactly these plans, tested in combination, are merged.
    pub(super) fn moved(&mut self, plans: &[usize]) -> Result<Vec<TargetMoved>, Error> {
        let mut moved = Vec::new();
        for (place, repo) in self.batch.repositories.iter().enumerate() {
            if let Joined::Commit(to) = self.join(place, plans)?
                && to != repo.head
            {
                let (repository, branch) = (repo.name.clone(), repo.branch.clone());
                moved.push(TargetMoved { repository, branch, from: repo.head.clone(), to });
            }
        }
        Ok(moved)
    }

    /// Merges the branches of plans in one repository, one after the other.
    fn join(&mut self, repository: usize, plans: &[usize]) -> Result<Joined, Error> {
        let repo = &self.batch.repositories[repository];
        let Some((&last, before)) = plans.split_last() else { return Ok(Joined::Commit(repo.head.clone())) };
        let known = (repository, plans.to_vec());
        if let Some(joined) = self.joined.get(&known) {
            return Ok(joined.clone());
        }
        let joined = match self.join(repository, before)? {
            Joined::Conflict(conflict) => Joined::Conflict(conflict),
            Joined::Commit(base) => self.add(repository, (before, &base), last)?,
        };
        self.joined.insert(known, joined.clone());
        Ok(joined)
    }

    fn add(&self, repository: usize, (before, base): (&[usize], &str), last: usize) -> Result<Joined, Error> {
        let (repo, member) = (&self.batch.repositories[repository], &self.batch.members[last]);
        let Some(tip) = &member.tips[repository] else { return Ok(Joined::Commit(base.to_owned())) };
        if repo.keep.is_ancestor(tip, base)? {
            return Ok(Joined::Commit(base.to_owned()));
        }
        match repo.keep.merge(base, tip)? {
            MergeCommit::Clean { tree } => {
                let message = format!("Merge {} into {}", member.branch, repo.branch);
                Ok(Joined::Commit(repo.keep.commit(&tree, &[base, tip], &message)?))
            }
            MergeCommit::Conflict { paths, .. } => {
                let mut with = Vec::new();
                for &other in before {
                    if self.changes(repository, other)?.iter().any(|path| paths.contains(path)) {
                        with.push(other);
                    }
                }
                let shown = |path: String| match &repo.name {
                    Some(_) => format!("../{}/{path}", repo.folder),
                    None => path,
                };
                let paths = paths.into_iter().map(shown).collect();
                Ok(Joined::Conflict(Conflict { place: last, with, paths }))
            }
        }
    }

    /// The files that a plan changes in a repository.
    fn changes(&self, repository: usize, plan: usize) -> Result<Vec<String>, Error> {
        let repo = &self.batch.repositories[repository];
        let Some(tip) = &self.batch.members[plan].tips[repository] else { return Ok(Vec::new()) };
        let fork = repo.keep.fork(&repo.head, tip)?.unwrap_or_else(|| repo.head.clone());
        Ok(repo.keep.changed(&fork, tip)?)
    }

    /// Runs the contracts of all plans on their merged result, plan by plan up to the first failure; then
    /// those of recently merged plans. A contract of these that already fails in the branch says nothing
    /// about the tested plans.
    fn judge(
        &mut self,
        plans: &[usize],
        commits: &[String],
        stop: &Stop,
        watch: &mut dyn FnMut(MergeNotice<'_>),
    ) -> Result<TrialMerge, Error> {
        let batch = self.batch;
        let names: Vec<&str> = plans.iter().map(|&place| batch.members[place].name.as_str()).collect();
        watch(MergeNotice::Trying(&names));
        let own = &batch.repositories[0];
        let changed = own.keep.changed(&own.head, &commits[0])?;
        let mut merged = MergedResult { commits, changed: &changed, checkout: None };
        for &place in plans {
            let found = self.contracts_of(&batch.members[place], &mut merged, stop, watch)?;
            if let Some(evidence) = found.into_iter().next() {
                return Ok(TrialMerge::Fails(evidence));
            }
        }
        for (place, guard) in batch.guards.iter().enumerate() {
            for evidence in self.contracts_of(guard, &mut merged, stop, watch)? {
                if self.held_before(place, &evidence.step, stop)? {
                    return Ok(TrialMerge::Fails(evidence));
                }
            }
        }
        Ok(TrialMerge::Passes)
    }

    /// Whether a contract, or the seal, of a recently merged plan holds in the branches as they are.
    fn held_before(&mut self, guard: usize, step: &str, stop: &Stop) -> Result<bool, Error> {
        let key = (guard, step.to_owned());
        if let Some(held) = self.held_before.get(&key) {
            return Ok(*held);
        }
        let batch = self.batch;
        let heads: Vec<String> = batch.repositories.iter().map(|repo| repo.head.clone()).collect();
        let mut heads = MergedResult { commits: &heads, changed: &[], checkout: None };
        let found = self.contracts_of(&batch.guards[guard], &mut heads, stop, &mut |_| ())?;
        let held = !found.iter().any(|evidence| evidence.step == step);
        self.held_before.insert(key, held);
        Ok(held)
    }

    /// The root of the project in a checkout of a merged result, as the next contract must find it.
    fn folder(&self, merged: &mut MergedResult<'_>) -> Result<PathBuf, Error> {
        let checkout = Checkout::fresh(&mut merged.checkout, || {
            let own = &self.batch.repositories[0];
            let others = self.batch.repositories.iter().zip(merged.commits).skip(1);
            let siblings = others.map(|(repo, commit)| Sibling {
                root: repo.root.clone(),
                commit: commit.clone(),
                folder: repo.folder.clone(),
                own: own.folder.clone(),
            });
            let content = Content::Commit(merged.commits[0].clone());
            Checkout::for_contracts(self.project, &content, &siblings.collect::<Vec<_>>())
                .map_err(Error::Checkout)
        })?;
        Ok(checkout.path())
    }

    /// What fails of a plan's contracts or its sealed files. The files come first: with those in doubt, a
    /// contract means nothing.
    fn contracts_of(
        &self,
        member: &MergeCandidate,
        merged: &mut MergedResult<'_>,
        stop: &Stop,
        watch: &mut dyn FnMut(MergeNotice<'_>),
    ) -> Result<Vec<Evidence>, Error> {
        let part = self.batch.repositories[0].keep.part();
        if let Some(moved) = broken_seal(&self.folder(merged)?, member, (part, merged.changed))? {
            return Ok(vec![Evidence {
                plan: member.name.clone(),
                step: String::new(),
                contract: String::new(),
                failure: "a sealed file differs from what was approved".to_owned(),
                output: moved,
            }]);
        }
        let mut found = Vec::new();
        for step in contracts(member) {
            let seen = self.look(merged, (member, step), stop)?;
            let failure = judge(&seen, None).failure().map(ToString::to_string);
            watch(MergeNotice::Contract {
                plan: &member.name,
                step: &step.id,
                failure: failure.as_deref(),
                milliseconds: seen.milliseconds,
            });
            if let (Some(failure), Contract::Shell { command, .. }) = (failure, &step.contract) {
                found.push(Evidence {
                    plan: member.name.clone(),
                    step: step.id.clone(),
                    contract: command.clone(),
                    failure,
                    output: end_of(&seen.output).to_owned(),
                });
            }
        }
        Ok(found)
    }

    fn look(
        &self,
        merged: &mut MergedResult<'_>,
        (member, step): (&MergeCandidate, &Step),
        stop: &Stop,
    ) -> Result<ContractRun, Error> {
        let folder = self.folder(merged)?;
        let runner = ContractRunner::new(&folder, &self.project.config.run, &self.closed);
        let tag = format!("{}/{}/{}", self.tag, member.name, step.id);
        runner.run(step, &self.supervisors, &tag, stop).map_err(base::Error::from)?.ok_or(Error::Stopped)
    }
}

/// The steps of a plan that a contract judged: not those that a person confirmed or skipped.
fn contracts(member: &MergeCandidate) -> impl Iterator<Item = &Step> {
    let steps = member.run.plan.steps.iter().zip(&member.run.state.steps);
    let judged = steps.filter(|(step, state)| {
        matches!(state.status, StepStatus::Passed { .. }) && matches!(step.contract, Contract::Shell { .. })
    });
    judged.map(|(step, _)| step)
}

/// What is wrong with the sealed files of a plan: contracts rely on them only while they are what was
/// approved. A new file below a sealed pattern counts if one of the plans brings it, and not if it was in the
/// branch before.
fn broken_seal(
    folder: &Path,
    member: &MergeCandidate,
    (part, changed): (&Path, &[String]),
) -> Result<Option<String>, Error> {
    let seal = Seal { plan: &member.run.plan, approved: &member.run.sealed() };
    let is_brought = |path: &str| changed.iter().any(|one| Path::new(one) == part.join(path));
    let moved = seal.broken(folder, is_brought).map_err(|error| base::Error::from(Fault::of(&error)))?;
    Ok((!moved.is_empty()).then(|| moved.join("\n")))
}

fn end_of(output: &str) -> &str {
    let start = output.ceil_char_boundary(output.len().saturating_sub(OUTPUT_BYTES_MAX));
    &output[start..]
}
