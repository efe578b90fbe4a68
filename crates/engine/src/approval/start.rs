//! From an approval to a run. Everything that was approved is gathered again and compared in the transaction
//! that starts the run: if any of it changed, nothing starts.

use std::path::Path;

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::approval::status::ApprovalRecord;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::run::event::{Event, RunEvent, RunStart};
use planwright_core::run::receipt::ApprovedBy;
use planwright_core::run::state::RunState;
use planwright_core::run::summary::RunSummary;

use super::{Approvals, Error, PlanRecord, shown};
use crate::git::repository;
use crate::run;
use crate::run::circuit_breaker;
use crate::store::journal::{LedgerStart, NewRun, RunId};
use crate::store::plan_file;
use crate::system::clock::now;
use crate::workspace::project::Verified;
use crate::workspace::staging;

#[derive(Debug, Clone)]
pub struct Started {
    pub run: RunId,
    /// The approvals that permitted it.
    pub approvals: Vec<ApprovalRecord>,
}

impl Approvals {
    /// Whether exactly this plan is approved and may start. Records an approval that lapsed.
    pub fn approved(&self, path: &Path, verified: &Verified) -> Result<Vec<ApprovalRecord>, Error> {
        self.founded(path, verified).map(|(_, approvals)| approvals)
    }

    /// The same, with the case it is based on: whoever starts a run must not have missed a later entry.
    fn founded(&self, path: &Path, verified: &Verified) -> Result<(PlanRecord, Vec<ApprovalRecord>), Error> {
        // Two runs of one plan would contradict each other in one ledger.
        if let Some((root, run)) = self.runs().elsewhere(path)?
            && self.runs().run(run)?.state.outcome().is_none()
        {
            let is_tree = repository::tree_around(&root).is_ok_and(|tree| tree.is_some());
            return Err(Error::OpenElsewhere { plan: shown(&self.runs().relative(path)), root, is_tree });
        }
        let case = self.case(path)?;
        if let Some(run) = case.run.as_ref().filter(|run| run.state.outcome().is_none()) {
            return Err(Error::Running { plan: shown(&case.plan), run: run.row.id.number() });
        }
        if staging::is_staged(path) {
            return Err(Error::Staged { plan: shown(&case.plan) });
        }
        let unapproved = || Error::Unapproved { plan: shown(&case.plan) };
        let plan = verified.plan.as_ref().ok_or_else(unapproved)?;
        let approvals = case.standing.approved(now()).ok_or_else(unapproved)?.to_vec();
        let first = approvals.first().ok_or_else(unapproved)?;
        let mut subject = self.subject(plan)?;
        let has_failed = case.state() == PlanState::Failed;
        if has_failed {
            // The work of the failed run moved it.
            subject.base.clone_from(&first.subject.base);
        }
        let mut moved = super::moved(self.root(), (&case.plan, plan), &first.subject, &subject)?;
        if self.policy_digest()? != first.policy {
            moved.push("the policy changed after approval".to_owned());
        }
        moved.extend(self.unfounded(&case, plan, &approvals)?);
        if moved.is_empty() {
            return match circuit_breaker::trip(&self.runs, &case.plan)? {
                Some(trip) => Err(Error::Tripped { plan: shown(&case.plan), trip }),
                None => Ok((case, approvals)),
            };
        }
        if has_failed {
            // Nothing is left that could lapse: it must be proposed again.
            return Err(unapproved());
        }
        let case = self.say(&case, vec![LedgerEntry::Lapsed { moved: moved.clone() }], Vec::new())?;
        self.show(path, &case);
        Err(Error::Lapsed { plan: shown(&case.plan), moved })
    }

    /// The approvals as receipts name them.
    fn named(&self, case: &PlanRecord, approvals: &[ApprovalRecord]) -> Result<Vec<ApprovedBy>, Error> {
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

    /// Starts a run of an approved plan, if the ledger permits it in the transaction that records it.
    pub fn start(&self, path: &Path, verified: &Verified, by: &Identity) -> Result<Started, Error> {
        let (case, approvals) = self.founded(path, verified)?;
        let (Some(first), Some(last)) = (approvals.first(), approvals.last()) else {
            return Err(Error::Unapproved { plan: shown(&case.plan) });
        };
        let subject = first.subject.clone();
        let new = NewRun {
            root: self.root().to_owned(),
            plan: case.plan.clone(),
            name: plan_file::name(path),
            digest: subject.digest.clone(),
            text: verified.source.text().to_owned(),
            dialect: verified.dialect().name.to_owned(),
            created_at_ms: now(),
        };
        let names: Vec<String> = approvals.iter().map(|approval| approval.by.name.clone()).collect();
        let started = Event::Run(RunEvent::Started(RunStart {
            digest: subject.digest,
            approved_by: names.join(", "),
            approved_at: last.way.clone(),
            base: subject.base.map(|base| base.commit),
            agents: subject.agents,
            sealed: subject.sealed,
            programs: subject.programs,
            approvals: self.named(&case, &approvals)?,
            note: notes(&approvals),
        }));
        let tally = first_tally(verified, &started)?;
        let beginning = LedgerStart {
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

/// The state of a run that has just started.
fn first_tally(verified: &Verified, started: &Event) -> Result<RunSummary, Error> {
    let plan = verified.plan.as_ref().expect("what is approved has no errors");
    let mut state = RunState::new(plan);
    state.apply(started).map_err(run::Error::Illegal)?;
    Ok(RunSummary::of(plan, &state))
}

/// The approvers' notes to whoever runs it.
fn notes(approvals: &[ApprovalRecord]) -> String {
    let notes: Vec<&str> =
        approvals.iter().map(|approval| approval.note.trim()).filter(|note| !note.is_empty()).collect();
    notes.join("\n")
}

fn last_seq(case: &PlanRecord) -> u64 {
    case.ledger.last().map_or(0, |said| said.seq)
}
