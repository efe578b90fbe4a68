//! Since when a contract that once passed has failed: found by running it on the commits in between, if there
//! are any, otherwise by who changed which files.

use planwright_core::audit::rerun::{Broke, Proof, RecordedWork, RerunHistory, Suspect, first_bad, suspect};
use planwright_core::plan::verified::{Contract, Step};
use planwright_core::run::judge::judge;
use planwright_core::syntax::shell;

use super::record::{RerunBasis, RerunRecord, of_run};
use super::{Error, RerunReport};
use crate::git::base;
use crate::git::base::{LogCommit, tree_of_workspace};
use crate::git::checkout::{Checkout, Content};
use crate::store::journal::Store;
use crate::system::process::Stop;

/// The most commits searched.
const COMMITS_MAX: usize = 1_000;
/// The most runs of other plans searched.
const RUNS_MAX: usize = 200;
/// The most commits whose files are compared with those of attempts.
const COMPARED_MAX: usize = 50;
/// How long after an attempt ended a commit may still be its own, in milliseconds: commit times are in
/// seconds.
const SLACK_MS: u64 = 1_000;

impl RerunReport<'_> {
    /// Since when the contract of a step fails, as far as it can be determined.
    pub(super) fn blame(
        &self,
        step: &Step,
        proof: &Proof,
        record: &RerunRecord,
        stop: &Stop,
    ) -> Result<Broke, Error> {
        let named = named(step);
        let history = self.with_others(record, proof)?;
        let recorded = suspect(&history, proof, &named, &self.judged(record)?);
        if recorded == Broke::Outside {
            return Ok(recorded);
        }
        match self.by_commits(step, proof, stop)? {
            Tried::At(commit) => {
                let by = self.maker(&commit, &history, proof)?.map(|work| Suspect::of(work, &named));
                Ok(Broke::Commit { commit: commit.id, subject: commit.subject, by })
            }
            Tried::NotYet(commits) => {
                let history = self.not_committed(history, &commits)?;
                let left = suspect(&history, proof, &named, "");
                Ok(if left == Broke::Since { Broke::Uncommitted } else { left })
            }
            Tried::Untold => Ok(recorded),
        }
    }

    /// The history without what was later committed in commits on which the contract passes: that did no
    /// harm.
    fn not_committed(&self, mut history: RerunHistory, commits: &[LogCommit]) -> Result<RerunHistory, Error> {
        for commit in commits.iter().rev().take(COMPARED_MAX) {
            let files = base::changed_by(&self.project.root, &commit.id)?;
            let before = |work: &&mut RecordedWork| second(work.ended_ms) <= second(commit.at_ms);
            for work in history.work.iter_mut().filter(before) {
                work.changed.retain(|file| !files.contains(file));
            }
        }
        history.work.retain(|work| !work.changed.is_empty());
        Ok(history)
    }

    /// The name that a receipt would give to the audited content; empty if it has none.
    fn judged(&self, record: &RerunRecord) -> Result<String, Error> {
        match &self.at {
            Content::Workspace => {
                Ok(tree_of_workspace(&self.project.root, std::slice::from_ref(&record.plan))?)
            }
            Content::Commit(_) => Ok(String::new()),
        }
    }

    /// The history of the plan, and of other plans in the same workspace since the receipt.
    fn with_others(&self, record: &RerunRecord, proof: &Proof) -> Result<RerunHistory, Error> {
        let mut history = record.history.clone();
        let RerunBasis::Journal(own) = record.basis else { return Ok(history) };
        let store = Store::open(&self.project.root)?;
        let rows = store.runs()?.into_iter().rev().filter(|row| row.id != own);
        let later = rows.filter(|row| row.last.as_ref().is_some_and(|last| last.at_ms > proof.at_ms));
        for row in later.take(RUNS_MAX) {
            history.beside(&row.name, of_run(&store, row.id)?);
        }
        Ok(history)
    }

    /// Runs the contract on as few of the commits since the receipt as possible.
    fn by_commits(&self, step: &Step, proof: &Proof, stop: &Stop) -> Result<Tried, Error> {
        let tip = match &self.at {
            Content::Commit(commit) => commit.clone(),
            Content::Workspace => match base::of(&self.project.root)? {
                Some(base) => base.commit,
                None => return Ok(Tried::Untold),
            },
        };
        let commits = base::commits_since(&self.project.root, &tip, proof.at_ms, COMMITS_MAX)?;
        let (mut seen_good, mut failed) = (false, None);
        let found = first_bad(commits.len(), |place| match self.fails_at(step, &commits[place], stop) {
            Ok(fails) => {
                seen_good |= fails == Some(false);
                fails
            }
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        match (failed, found.map(|place| (commits.get(place), place))) {
            (Some(error), _) => Err(error),
            (None, Some((Some(commit), 1..))) => Ok(Tried::At(commit.clone())),
            (None, Some((None, _))) if seen_good => Ok(Tried::NotYet(commits)),
            // It fails on all of them, or cannot be determined: the culprit is not among them.
            (None, Some(_) | None) => Ok(Tried::Untold),
        }
    }

    /// Whether the contract fails on a commit; `None` if that cannot be determined.
    fn fails_at(&self, step: &Step, commit: &LogCommit, stop: &Stop) -> Result<Option<bool>, Error> {
        let checkout = Checkout::for_contracts(self.project, &Content::Commit(commit.id.clone()), &[])?;
        let tag = format!("{}/{}/{}", self.tag, step.id, commit.id);
        let seen = self
            .runner(&checkout.path())
            .run(step, &self.supervisors, &tag, stop)
            .map_err(base::Error::from)?;
        Ok(seen.map(|seen| !judge(&seen, None).is_passed()))
    }

    /// The attempt that made a commit: the one running then, or the last one before it that changed one of
    /// its files.
    fn maker<'h>(
        &self,
        commit: &LogCommit,
        history: &'h RerunHistory,
        proof: &Proof,
    ) -> Result<Option<&'h RecordedWork>, Error> {
        let later = || history.work.iter().filter(|work| work.is_after(proof));
        let mut under_way = later().filter(|work| {
            (second(work.began_ms)..=second(work.ended_ms + SLACK_MS)).contains(&second(commit.at_ms))
        });
        if let (Some(only), None) = (under_way.next(), under_way.next()) {
            return Ok(Some(only));
        }
        let files = base::changed_by(&self.project.root, &commit.id)?;
        let mut before = later().filter(|work| second(work.began_ms) <= second(commit.at_ms));
        Ok(before.rfind(|work| work.changed.iter().any(|file| files.contains(file))))
    }
}

/// Commit times are in seconds.
const fn second(at_ms: u64) -> u64 {
    at_ms / 1_000
}

enum Tried {
    /// The contract passes before this one and fails on it.
    At(LogCommit),
    /// It passes on the last one of these.
    NotYet(Vec<LogCommit>),
    /// It cannot be determined.
    Untold,
}

fn named(step: &Step) -> Vec<String> {
    let Contract::Shell { command, .. } = &step.contract else { return Vec::new() };
    let mut paths: Vec<String> = shell::analyse(command).paths.into_iter().map(|used| used.path).collect();
    paths.sort();
    paths.dedup();
    paths
}
