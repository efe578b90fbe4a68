//! From an approval to a run. Everything that was approved is gathered once more, and compared in the act that begins the run:
//! if any of it moved, nothing starts.

use std::path::Path;

use planwright_core::approval::ledger::{Entry, Who};
use planwright_core::approval::status::Approval;
use planwright_core::plan::lifecycle::State;
use planwright_core::run::event::{ApprovedBy, Event};
use planwright_core::run::state::RunState;
use planwright_core::run::summary::Tally;

use super::{Case, Decisions, Error, shown};
use crate::git::repository;
use crate::portfolio::board;
use crate::run;
use crate::run::now;
use crate::store::journal::{Beginning, NewRun, RunId};
use crate::workspace::project;
use crate::workspace::project::Verified;

/// A run that began.
#[derive(Debug, Clone)]
pub struct Started {
    pub run: RunId,
    /// The approvals that it began on.
    pub approvals: Vec<Approval>,
}

impl Decisions {
    /// Whether exactly this plan is approved and may be begun. Where an approval no longer holds, that is recorded.
    pub fn approved(&self, path: &Path, verified: &Verified) -> Result<Vec<Approval>, Error> {
        self.founded(path, verified).map(|(_, approvals)| approvals)
    }

    /// The same, with the case that was looked at: whoever begins a run on it must know of nothing later.
    fn founded(&self, path: &Path, verified: &Verified) -> Result<(Case, Vec<Approval>), Error> {
        let case = self.case(path)?;
        if board::is_staged(path) {
            return Err(Error::Staged { plan: shown(&case.plan) });
        }
        let unapproved = || Error::Unapproved { plan: shown(&case.plan) };
        let plan = verified.plan.as_ref().ok_or_else(unapproved)?;
        let approvals = case.standing.approved(now()).ok_or_else(unapproved)?.to_vec();
        let first = approvals.first().ok_or_else(unapproved)?;
        let mut subject = self.subject(plan)?;
        let has_failed = case.state() == State::Failed;
        if has_failed {
            // What the run that failed has done moved it.
            subject.base.clone_from(&first.subject.base);
        }
        let mut moved = super::moved(self.root(), (&case.plan, plan), &first.subject, &subject)?;
        if self.policy_digest()? != first.policy {
            moved.push("the policy is not the one by which it was approved".to_owned());
        }
        moved.extend(self.unfounded(&case, plan, &approvals)?);
        if moved.is_empty() {
            return match board::trip(&self.runs, &case.plan)? {
                Some(trip) => Err(Error::Tripped { plan: shown(&case.plan), trip }),
                None => Ok((case, approvals)),
            };
        }
        if has_failed {
            // There is nothing left that could lapse: it has to be proposed again.
            return Err(unapproved());
        }
        let case = self.say(&case, vec![Entry::Lapsed { moved: moved.clone() }], Vec::new())?;
        self.show(path, &case);
        Err(Error::Lapsed { plan: shown(&case.plan), moved })
    }

    /// The approvals as receipts name them.
    fn named(&self, case: &Case, approvals: &[Approval]) -> Result<Vec<ApprovedBy>, Error> {
        let links = self.store().ledger_after(&case.plan, 0)?;
        let hash =
            |seq: u64| links.iter().find(|link| link.seq == seq).map(|link| link.hash.to_hex().to_string());
        let named = approvals.iter().map(|approval| ApprovedBy {
            by: approval.by.clone(),
            seq: approval.seq,
            hash: hash(approval.seq).unwrap_or_default(),
        });
        Ok(named.collect())
    }

    /// Begins a run of a plan that is approved.
    pub fn start(&self, path: &Path, verified: &Verified, by: &Who) -> Result<Started, Error> {
        // Two runs of one plan would tell two stories in one ledger.
        if let Some((root, run)) = self.runs().elsewhere(path)?
            && self.runs().run(run)?.state.outcome().is_none()
        {
            let is_tree = repository::tree_around(&root).is_ok_and(|tree| tree.is_some());
            return Err(Error::OpenElsewhere { plan: shown(&self.runs().relative(path)), root, is_tree });
        }
        let (case, approvals) = self.founded(path, verified)?;
        let (Some(first), Some(last)) = (approvals.first(), approvals.last()) else {
            return Err(Error::Unapproved { plan: shown(&case.plan) });
        };
        let subject = first.subject.clone();
        let new = NewRun {
            root: self.root().to_owned(),
            plan: case.plan.clone(),
            name: project::name(path),
            digest: subject.digest.clone(),
            text: verified.source.text().to_owned(),
            dialect: verified.dialect().name.to_owned(),
            created_at_ms: now(),
        };
        let names: Vec<String> = approvals.iter().map(|approval| approval.by.name.clone()).collect();
        let started = Event::RunStarted {
            digest: subject.digest,
            approved_by: names.join(", "),
            approved_at: last.way.clone(),
            base: subject.base.map(|base| base.commit),
            agents: subject.agents,
            sealed: subject.sealed,
            approvals: self.named(&case, &approvals)?,
            note: notes(&approvals),
        };
        let tally = first_tally(verified, &started)?;
        let beginning = Beginning {
            new: &new,
            first: &started,
            tally: &tally,
            after: last_seq(&case),
            due: &case.due,
            by,
        };
        match self.store().begin_approved(&beginning)? {
            Some(run) => Ok(Started { run, approvals }),
            None => Err(Error::Moved {
                plan: shown(&case.plan),
                seen: format!("at entry {} of its ledger", last_seq(&case)),
                now: "further on".to_owned(),
            }),
        }
    }
}

/// Where a run stands that has just begun.
fn first_tally(verified: &Verified, started: &Event) -> Result<Tally, Error> {
    let plan = verified.plan.as_ref().expect("what is approved has no errors");
    let mut state = RunState::new(plan);
    state.apply(started).map_err(run::Error::Illegal)?;
    Ok(Tally::of(plan, &state))
}

/// What those who approved say to whoever carries it out.
fn notes(approvals: &[Approval]) -> String {
    let notes: Vec<&str> =
        approvals.iter().map(|approval| approval.note.trim()).filter(|note| !note.is_empty()).collect();
    notes.join("\n")
}

fn last_seq(case: &Case) -> u64 {
    case.ledger.last().map_or(0, |said| said.seq)
}
