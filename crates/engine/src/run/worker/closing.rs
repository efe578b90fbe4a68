//! The closing check of one contract: it runs again on the final tree, and where it no longer holds, on the trees of
//! the steps that came after it, to find the one that broke it.

use planwright_core::audit::rerun::{Broke, RerunHistory, first_bad, suspect};
use planwright_core::plan::verified::{Contract, Step};
use planwright_core::run::event::{Event, Judged, StepEvent};
use planwright_core::run::judge::{ContractRun, judge};

use planwright_core::syntax::shell;

use super::{Done, Worker, unjudged};
use crate::git::base;
use crate::run::checkout;
use crate::store::journal::RunId;
use crate::system::fault;
use crate::system::fault::Fault;
use crate::system::process::Stop;

impl Worker {
    /// The hash of the final tree, as the contracts of a closing check see it.
    pub fn final_tree(&self) -> Result<String, checkout::Error> {
        let field = self.ground.merged("final tree")?;
        Ok(base::tree_of_workspace(&field.root, &self.own)?)
    }

    /// Runs the contract of a step that is done once more, on the final tree. `None` if it was interrupted. No
    /// agent gives its opinion again, and nothing is merged.
    pub fn recheck(&self, (step, round): (&Step, u32), run: RunId, stop: &Stop) -> Option<Done> {
        let of = Judged::Closing(round);
        self.rechecked((step, of), run, stop).unwrap_or_else(|fault| Some(unjudged(&step.id, of, fault)))
    }

    fn rechecked(&self, (step, of): (&Step, Judged), run: RunId, stop: &Stop) -> Result<Option<Done>, Fault> {
        let field = match self.ground.merged(&format!("closing check of {}", step.id)) {
            Ok(field) => field,
            Err(error) => {
                let unseen = || {
                    let run = ContractRun::not_run(&step.contract, fault::told(&error));
                    Ok(Some(self.recorded((step, of), run, String::new(), None)))
                };
                return Fault::caused(&error).map_or_else(unseen, Err);
            }
        };
        let tree = base::tree_of_workspace(&field.root, &self.own).map_err(|error| Fault::of(&error))?;
        let tag = format!("{}/{}/{of}/contract", self.tag, step.id);
        let seen = self.runner(&field.root).run(step, &self.for_contracts, &tag, stop)?;
        let Some(seen) = seen else { return Ok(None) };
        let is_broken = !judge(&seen, None).is_passed();
        let mut done = self.recorded((step, of), seen, tree, None);
        if let Event::Step { event: StepEvent::Judged { broken_by, .. }, .. } = &mut done.event {
            let culprit = || self.by_trees(step, &tag, stop).or_else(|| self.by_record(step, run));
            *broken_by = is_broken.then(culprit).flatten();
        }
        Ok(Some(done))
    }

    /// The later step on whose tree the contract fails first; `None` if that cannot be told.
    fn by_trees(&self, step: &Step, tag: &str, stop: &Stop) -> Option<String> {
        let landings = self.ground.history().ok()??;
        let own = landings.iter().rposition(|landing| landing.step == step.id)?;
        let (passed, later) = landings[own..].split_first()?;
        // Where it fails on the very tree that it passed on, a checkout lacks something that it needs.
        if later.is_empty() || self.fails_on(step, &passed.commit, tag, stop)? {
            return None;
        }
        let found = first_bad(later.len(), |place| self.fails_on(step, &later[place].commit, tag, stop))?;
        let culprit = later.get(found)?;
        let before = found.checked_sub(1).map_or(passed, |place| &later[place]);
        // Somebody may have changed something between two steps.
        let is_edited = culprit.before != before.commit && self.fails_on(step, &culprit.before, tag, stop)?;
        (!is_edited).then(|| culprit.step.clone())
    }

    /// The only later step that may have broken the contract, going by the files that the attempts changed.
    fn by_record(&self, step: &Step, run: RunId) -> Option<String> {
        let events = self.store.events(run, 0).ok()?;
        let history =
            RerunHistory::of(events.iter().map(|recorded| (recorded.seq, recorded.at_ms, &recorded.event)));
        let proof = history.step(&step.id).proof()?;
        let named: Vec<String> = match &step.contract {
            Contract::Shell { command, .. } => {
                shell::analyse(command).paths.into_iter().map(|used| used.path).collect()
            }
            Contract::Manual => Vec::new(),
        };
        match suspect(&history, proof, &named, "") {
            Broke::At { suspect, .. } => Some(suspect.step),
            Broke::Commit { .. }
            | Broke::Among { .. }
            | Broke::Uncommitted
            | Broke::Outside
            | Broke::Since => None,
        }
    }

    /// Whether the contract fails on a commit; `None` if that cannot be told.
    fn fails_on(&self, step: &Step, commit: &str, tag: &str, stop: &Stop) -> Option<bool> {
        let field = self.ground.at(commit, &format!("blame for {}", step.id)).ok()?;
        let seen = self.runner(&field.root).run(step, &self.for_contracts, tag, stop).ok()??;
        Some(!judge(&seen, None).is_passed())
    }
}
