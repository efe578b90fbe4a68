//! Ledgers in which two starts of one plan follow each other, as planwright 0.1 could write them when two processes started it
//! at once. Nothing could be decided about such a plan any more.

use std::path::Path;

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::approval::status::{ApprovalStatus, RecordedEntry, undone};
use planwright_core::plan::identity::Identity;
use planwright_core::run::event::RunOutcome;

use super::{Approvals, Error, shown};
use crate::store::journal::{AppendResult, LedgerSummary, RunId, Statement};
use crate::system::clock::now;

/// Two starts without an end between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecondStart {
    /// Their positions in the ledger.
    pub entries: [u64; 2],
    /// Their runs. The second one is what every command takes for the run of the plan.
    pub runs: [i64; 2],
}

impl SecondStart {
    /// The fault of a ledger, if that is its only one.
    fn of(ledger: &[RecordedEntry]) -> Option<Self> {
        let (seq, _) = ApprovalStatus::of(ledger).err()?;
        let undone = undone(ledger);
        let start = |said: &RecordedEntry| {
            let LedgerEntry::Started { run, .. } = said.entry else { return None };
            (!undone.contains(&said.seq)).then_some((said.seq, run))
        };
        let mut before = ledger.iter().rev().skip_while(|said| said.seq > seq);
        let second = before.next().and_then(start)?;
        let first = before.find_map(start)?;
        let found = Self { entries: [first.0, second.0], runs: [first.1, second.1] };
        ApprovalStatus::of(&found.mended(ledger, &Identity::age())).is_ok().then_some(found)
    }

    /// The ledger without the first start.
    fn mended(&self, ledger: &[RecordedEntry], by: &Identity) -> Vec<RecordedEntry> {
        let seq = ledger.last().map_or(0, |last| last.seq) + 1;
        let mend = RecordedEntry { seq, at_ms: now(), entry: self.mend(by) };
        ledger.iter().cloned().chain([mend]).collect()
    }

    fn mend(&self, by: &Identity) -> LedgerEntry {
        LedgerEntry::Undone { seq: self.entries[0], by: by.clone() }
    }
}

impl Approvals {
    /// Two starts of a plan that make its ledger useless.
    pub fn second_start(&self, plan: &Path) -> Result<Option<SecondStart>, Error> {
        Ok(SecondStart::of(&self.store().ledger(plan)?))
    }

    /// Takes the first of two starts back and ends its run; the second one goes on. Nothing of either is deleted.
    pub fn mend_second_start(&self, plan: &Path, by: &Identity) -> Result<(), Error> {
        let ledger = self.store().ledger(plan)?;
        let Some(found) = SecondStart::of(&ledger) else { return Ok(()) };
        let [first, second] = found.runs.map(RunId::new);
        let _rights = [self.runs().lock(first)?, self.runs().lock(second)?];
        let run = self.runs().run(first)?;
        // The run before the ledger: after a crash, it is mended again.
        if run.state.outcome().is_none() {
            let why = format!("{second} of the same plan started at the same time");
            self.runs().end(&run, RunOutcome::Cancelled, &why)?;
        }
        let mended = ApprovalStatus::of(&found.mended(&ledger, by));
        let standing = mended.map_err(|(seq, why)| Error::Broken { plan: shown(plan), seq, why })?;
        let statement = Statement {
            after: ledger.last().map_or(0, |last| last.seq),
            entries: &[found.mend(by)],
            blobs: Vec::new(),
            at_ms: now(),
            summary: LedgerSummary::of(&standing),
        };
        match self.store().say(plan, statement)? {
            AppendResult::Written { .. } | AppendResult::Known => Ok(()),
            AppendResult::Moved => Err(Error::Moved {
                plan: shown(plan),
                seen: "mended".to_owned(),
                now: "further on".to_owned(),
            }),
        }
    }
}
