//! What a plan file shows of the decisions: its state and, in dialects that keep them, rejections. A mirror
//! of the ledger, never the truth; what cannot be written is only reported.

use std::path::Path;

use planwright_core::approval::status::ApprovalStatus;
use planwright_core::dialect::proposal;
use planwright_core::dialect::proposal::RejectionNote;
use planwright_core::plan::draft::{Draft, StepDraft};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified;
use planwright_core::run::mirror;
use planwright_core::syntax::source::Source;

use super::{Approvals, Error, PlanRecord};
use crate::run::Run;
use crate::run::mirror::{Behind, Mirror};
use crate::store::plan_file;
use crate::store::plan_file::{FileText, ReadOptions};
use crate::system::clock;

/// How a plan file differs from the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub state: PlanState,
    /// What is recorded but missing from the file, in the words of the journal.
    pub behind: Vec<String>,
    /// Steps that the file marks done without a receipt.
    pub unproven: Vec<String>,
}

/// What a plan file mirrors.
enum Shown<'a> {
    Run(&'a Run),
    /// The ledger.
    Ledger,
    /// Neither: it is running, or the work is done in another directory.
    Elsewhere,
}

impl Approvals {
    /// How a plan file differs from the record. `None` if it does not, if that is about to change, or if its
    /// meaning differs from the record: then it is another plan.
    pub fn drift(&self, path: &Path) -> Result<Option<Drift>, Error> {
        let case = self.case(path)?;
        let (behind, run) = match self.shown(path, &case)? {
            Shown::Elsewhere => return Ok(None),
            Shown::Run(run) => (self.runs.mirror_of(run, path)?.behind_run(run)?, Some(run)),
            Shown::Ledger => match self.mirror(path, &case) {
                Some(mut mirror) => (mirror.behind_rest(case.state())?, None),
                None => return Ok(None),
            },
        };
        let Some(Behind { changes, draft }) = behind else { return Ok(None) };
        let ids = verified::ids(&draft);
        let id = |step: usize| ids.get(step).cloned().unwrap_or_default();
        let is_mended = |step: &usize| {
            changes
                .iter()
                .any(|change| matches!(change, PlanEdit::Mark { step: marked, .. } if marked == step))
        };
        let unproven = run.map(|run| mirror::unproven(&draft, &run.state)).unwrap_or_default();
        let unproven: Vec<String> = unproven.into_iter().filter(|step| !is_mended(step)).map(id).collect();
        let behind: Vec<String> =
            changes.iter().filter_map(|change| recorded(change, &draft, &ids)).collect();
        let drift = Drift { state: case.state(), behind, unproven };
        Ok(Some(drift).filter(|drift| !(drift.behind.is_empty() && drift.unproven.is_empty())))
    }

    /// Finishes what a killed process did not get to: the file still shows the state before the last decision. Any other
    /// difference may be somebody's edit, which `doctor` reports. Returns whether the file was written.
    pub fn finish(&self, path: &Path, file: &Source) -> Result<bool, Error> {
        // The ledger alone: every command that opens a plan asks, and a run would be read with its plan.
        let ledger = self.store().ledger(&self.runs.relative(path))?;
        let Some((_, before)) = ledger.split_last() else { return Ok(false) };
        let (Ok(before), Ok(now)) = (ApprovalStatus::of(before), ApprovalStatus::of(&ledger)) else {
            return Ok(false);
        };
        let dialect = file.dialect();
        let shown = (dialect.skim)(file).state.map(|state| state.value);
        let [was, now] = [before.state(None), now.state(None)].map(|state| dialect.read_back(state));
        if was == now || shown.is_none() || shown != was {
            return Ok(false);
        }
        self.show_again(path)?;
        Ok(true)
    }

    /// Writes the record into a plan file again; returns problems.
    pub fn show_again(&self, path: &Path) -> Result<Vec<String>, Error> {
        let case = self.case(path)?;
        match self.shown(path, &case)? {
            Shown::Elsewhere => Ok(Vec::new()),
            Shown::Run(run) => Ok(self.runs.mend_mirror(run.row.id, path)?),
            Shown::Ledger => Ok(self.show(path, &case)),
        }
    }

    fn shown<'a>(&self, path: &Path, case: &'a PlanRecord) -> Result<Shown<'a>, Error> {
        let Some(run) = &case.run else { return Ok(Shown::Ledger) };
        // A reopened plan is shown by its ledger.
        if mirror::state_of(&run.state) != case.state() {
            return Ok(Shown::Ledger);
        }
        let is_here = self.runs.latest(path)?.is_some_and(|here| here.row.id == run.row.id);
        match is_here && !self.runs.is_driven(run)? {
            true => Ok(Shown::Run(run)),
            false => Ok(Shown::Elsewhere),
        }
    }

    fn mirror(&self, path: &Path, case: &PlanRecord) -> Option<Mirror> {
        let source = self.source(case, case.standing.newest()?).ok()?;
        Some(Mirror::new(path, source, self.store(), self.project().config.limits.plan_bytes))
    }

    /// Writes the state of the plan into its file; returns problems.
    pub(super) fn show(&self, path: &Path, case: &PlanRecord) -> Vec<String> {
        let Some(mut mirror) = self.mirror(path, case) else { return Vec::new() };
        mirror.rest(case.state(), case.standing.since_ms);
        mirror.complaints
    }

    /// Writes the last rejection into the body of a plan whose dialect keeps them there.
    pub(super) fn show_rejection(&self, path: &Path, case: &PlanRecord) -> Vec<String> {
        let Some(last) = case.standing.rejections.last() else { return Vec::new() };
        let bytes_max = self.project().config.limits.plan_bytes;
        let reading = ReadOptions { bytes_max, dialect: None };
        let written = match plan_file::read(path, "plan", reading) {
            Ok(FileText::Plan(source)) if source.dialect().name == "proposal" => {
                let (by, at) = (last.by.name.as_str(), clock::utc(last.at_ms));
                let note = RejectionNote { revision: last.revision, by, at: &at, feedback: &last.feedback };
                let text = proposal::rejected(&source, note);
                crate::store::plan_write::save(path, &source, &source.with(text)).map(drop)
            }
            Ok(FileText::Plan(_) | FileText::Unreadable(_)) => Ok(()),
            Err(error) => Err(error),
        };
        written
            .err()
            .map(|error| format!("cannot write the rejection into the plan: {error}"))
            .into_iter()
            .collect()
    }
}

/// What the journal records, for people, where the file needs this change.
fn recorded(change: &PlanEdit, draft: &Draft, ids: &[String]) -> Option<String> {
    match change {
        PlanEdit::Mark { step, mark } => {
            let id = ids.get(*step)?;
            let said = draft.steps.get(*step).and_then(StepDraft::mark);
            Some(match (mark, said) {
                (Some(mark), _) => format!("`{id}` is {}", mark.word()),
                (None, Some(said)) => format!("`{id}` is not {}", said.word()),
                (None, None) => return None,
            })
        }
        PlanEdit::Become { state } => Some(format!("the plan is {state}")),
        PlanEdit::Trace { .. }
        | PlanEdit::Set { .. }
        | PlanEdit::Note { .. }
        | PlanEdit::Rename { .. }
        | PlanEdit::Need { .. }
        | PlanEdit::Move { .. }
        | PlanEdit::Renumber
        | PlanEdit::Append { .. }
        | PlanEdit::Expand { .. } => None,
    }
}
