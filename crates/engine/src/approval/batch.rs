//! Several plans proposed or withdrawn in one transaction: all of it is recorded or none.

use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::plan::identity::Identity;

use super::{Approvals, Authorship, Error, Offer, PlanRecord, Proposed, fits, shown};
use crate::store::journal::Statement;
use crate::system::clock::now;
use crate::workspace::project::Verified;

/// An act on one of several plans.
pub enum BatchAction<'a> {
    /// Asks for approval without running a contract.
    Propose { path: &'a Path, verified: &'a Verified },
    /// The author withdraws it: it is no longer pending.
    Withdraw { path: &'a Path, why: &'a str },
}

/// What must be recorded about one plan.
struct Word {
    case: PlanRecord,
    entries: Vec<LedgerEntry>,
    blobs: Vec<Vec<u8>>,
    rule: Option<String>,
}

impl Approvals {
    /// Records all of this, or nothing. Returns the proposals, in the order of the acts; `None` for a
    /// withdrawal. `unrun` tells approvers why no contract was run.
    pub fn say_together(
        &self,
        acts: &[BatchAction<'_>],
        by: &Identity,
        unrun: &str,
    ) -> Result<Vec<Option<Proposed>>, Error> {
        let mut outcomes: Vec<Result<Option<Proposed>, Word>> = Vec::new();
        for act in acts {
            outcomes.push(match act {
                BatchAction::Withdraw { path, why } => {
                    let entry = LedgerEntry::Reopened { by: by.clone(), why: (*why).to_owned() };
                    Err(Word { case: self.case(path)?, entries: vec![entry], blobs: Vec::new(), rule: None })
                }
                BatchAction::Propose { path, verified } => {
                    let look = |plan: &_, subject: &_| self.known_red(plan, subject, unrun);
                    match self.offer(path, verified, (by, Authorship::Found), look)? {
                        Offer::Known(revision) => {
                            let (rule, complaints) = (None, Vec::new());
                            Ok(Some(Proposed { revision: *revision, is_known: true, rule, complaints }))
                        }
                        Offer::New(new) => {
                            let new = *new;
                            let blobs = vec![new.text];
                            Err(Word { case: new.case, entries: new.entries, blobs, rule: new.rule })
                        }
                    }
                }
            });
        }
        let words: Vec<&Word> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        self.say_words(&words)?;
        outcomes.into_iter().map(|outcome| outcome.or_else(|word| self.said(&word))).collect()
    }

    fn say_words(&self, words: &[&Word]) -> Result<(), Error> {
        let summaries =
            words.iter().map(|word| fits(&word.case, &word.entries)).collect::<Result<Vec<_>, _>>()?;
        let entries: Vec<Vec<LedgerEntry>> =
            words.iter().map(|word| word.case.due.iter().chain(&word.entries).cloned().collect()).collect();
        let statements: Vec<(PathBuf, Statement<'_>)> = words
            .iter()
            .zip(&entries)
            .zip(summaries)
            .map(|((word, entries), summary)| {
                let (after, blobs, at_ms) = (word.case.last(), word.blobs.clone(), now());
                (word.case.plan.clone(), Statement { after, entries, blobs, at_ms, summary })
            })
            .collect();
        if statements.is_empty() {
            return Ok(());
        }
        match self.store().say_together(&statements)? {
            None => Ok(()),
            Some(plan) => {
                let newest = self.case_of(plan.clone())?.last();
                let now = format!("at entry {newest} of its ledger");
                Err(Error::Moved { plan: shown(&plan), seen: "what it was before".to_owned(), now })
            }
        }
    }

    /// The proposal that recorded entries made.
    fn said(&self, word: &Word) -> Result<Option<Proposed>, Error> {
        if word.blobs.is_empty() {
            return Ok(None);
        }
        let case = self.case_of(word.case.plan.clone())?;
        let newest = case.standing.newest().cloned();
        let revision = newest.ok_or(Error::Unapproved { plan: shown(&case.plan) })?;
        let (rule, complaints) = (word.rule.clone(), Vec::new());
        Ok(Some(Proposed { revision, is_known: false, rule, complaints }))
    }
}
