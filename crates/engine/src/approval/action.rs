//! Every decision about a plan other than approval.

use std::path::Path;

use planwright_core::agent::report::ReportLine;
use planwright_core::approval::ledger::{Drafting, LedgerEntry};
use planwright_core::approval::status;
use planwright_core::approval::status::{Discovery, RecordedEntry};
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::{PlanState, WaitReason};
use planwright_core::run::event::{AttemptFinish, Event, StepEvent};
use planwright_core::syntax::invisible;

use super::{Approvals, Error, PlanRecord, short, shown};
use crate::run::Run;
use crate::store::journal::{LedgerRow, blob_of};
use crate::store::plan_file;
use crate::workspace::project::Verified;

/// How often a comment is retried while others comment concurrently.
const TRIES: usize = 20;

fn agent_of(run: &Run, step: &str, attempt: u32) -> String {
    let name = run.events.iter().find_map(|recorded| {
        let Event::Step { step: of, event: StepEvent::Started(start) } = &recorded.event else {
            return None;
        };
        (of == step && start.attempt == attempt).then(|| start.agent.clone())
    });
    name.unwrap_or_else(|| "an attempt".to_owned())
}

/// A title that an agent reported, as one line.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let visible: String = line.chars().filter(|sign| !invisible::is_hidden(*sign)).collect();
    visible.chars().take(TITLE_CHARS_MAX).collect()
}

/// The longest title of follow-up work.
const TITLE_CHARS_MAX: usize = 200;

/// Follow-up work that somebody found.
#[derive(Debug, Clone, Copy)]
pub struct Find<'a> {
    /// The id of the step they worked on.
    pub step: Option<&'a str>,
    pub by: &'a Identity,
    /// What to do, in one line.
    pub title: &'a str,
    /// Further details.
    pub text: &'a str,
    /// The attempt that reported it.
    pub source: Option<&'a str>,
}

impl Approvals {
    /// Rejects the newest revision, if that is what the person has seen.
    pub fn reject(
        &self,
        path: &Path,
        seen: Option<&str>,
        by: &Identity,
        feedback: &str,
    ) -> Result<(PlanRecord, Vec<String>), Error> {
        let case = self.case(path)?;
        let newest = case.standing.newest().ok_or_else(|| Error::Unapproved { plan: shown(&case.plan) })?;
        let digest = newest.subject.digest.clone();
        if let Some(seen) = seen.filter(|seen| !digest.starts_with(*seen)) {
            let (seen, now) = (seen.to_owned(), short(&digest));
            return Err(Error::Moved { plan: shown(&case.plan), seen, now });
        }
        let revision = newest.number;
        let entry = LedgerEntry::Rejected { revision, digest, by: by.clone(), feedback: feedback.to_owned() };
        let case = self.say(&case, vec![entry], Vec::new())?;
        let mut complaints = self.show_rejection(path, &case);
        complaints.extend(self.show(path, &case));
        Ok((case, complaints))
    }

    /// Comments on a plan or one of its steps; returns the number of the comment.
    pub fn comment(&self, path: &Path, step: Option<&str>, by: &Identity, text: &str) -> Result<u32, Error> {
        let comment = |case: &PlanRecord| LedgerEntry::Commented {
            comment: u32::try_from(case.standing.comments.len() + 1).unwrap_or(u32::MAX),
            revision: case.standing.newest().map_or(0, |newest| newest.number),
            step: step.map(str::to_owned),
            by: by.clone(),
            text: text.to_owned(),
        };
        let case = self.remark(path, comment)?;
        Ok(case.standing.comments.last().map_or(0, |comment| comment.number))
    }

    /// Records once what became of a plan's work, by the plan's path relative to the root of the project.
    pub fn note(&self, plan: &Path, entry: &LedgerEntry) -> Result<(), Error> {
        let path = self.root().join(plan);
        let is_known = |case: &PlanRecord| case.ledger.iter().any(|said| said.entry.key() == entry.key());
        if is_known(&self.case(&path)?) {
            return Ok(());
        }
        self.remark(&path, |_| entry.clone()).map(drop)
    }

    /// Resolves a comment.
    pub fn answer(&self, path: &Path, comment: u32, by: &Identity, text: &str) -> Result<PlanRecord, Error> {
        self.remark(path, |_| LedgerEntry::Answered { comment, by: by.clone(), text: text.to_owned() })
    }

    /// Records why a plan was written as it is.
    pub fn drafted(
        &self,
        path: &Path,
        by: &Identity,
        digest: &str,
        drafting: &Drafting,
    ) -> Result<PlanRecord, Error> {
        self.remark(path, |_| LedgerEntry::Drafted {
            by: by.clone(),
            digest: digest.to_owned(),
            drafting: drafting.clone(),
        })
    }

    /// Records follow-up work; returns its number.
    pub fn discover(&self, path: &Path, found: &Find<'_>) -> Result<u32, Error> {
        let case = self.remark(path, |case| LedgerEntry::Discovered {
            number: u32::try_from(case.standing.discoveries.len() + 1).unwrap_or(u32::MAX),
            step: found.step.map(str::to_owned),
            by: found.by.clone(),
            title: found.title.to_owned(),
            text: found.text.to_owned(),
            source: found.source.map(str::to_owned),
        })?;
        Ok(case.standing.discoveries.last().map_or(0, |last| last.number))
    }

    /// All follow-up work. What agents reported in runs of the plan is recorded now, each item once.
    pub fn discoveries(&self, path: &Path) -> Result<Vec<Discovery>, Error> {
        let case = self.case(path)?;
        let is_known = |source: &str| {
            let of = |said: &RecordedEntry| matches!(&said.entry, LedgerEntry::Discovered { source: Some(known), .. } if known == source);
            case.ledger.iter().any(of)
        };
        for run in self.runs.of_plan(path)? {
            for recorded in &run.events {
                let Event::Step { step, event: StepEvent::Finished(finish) } = &recorded.event else {
                    continue;
                };
                let AttemptFinish { attempt, account, .. } = finish;
                for (place, line) in account.report.iter().enumerate() {
                    let source = format!("{}/{step}/{attempt}/{place}", run.row.id.number());
                    let ReportLine::Discovered { title, text } = line else { continue };
                    if !is_known(&source) {
                        let by = Identity::agent(agent_of(&run, step, *attempt));
                        let (title, source) = (one_line(title), Some(source.as_str()));
                        let found = Find { step: Some(step), by: &by, title: &title, text, source };
                        self.discover(path, &found)?;
                    }
                }
            }
        }
        Ok(self.case(path)?.standing.discoveries)
    }

    /// Records that follow-up work became a step.
    pub fn added(&self, path: &Path, number: u32, step: &str, by: &Identity) -> Result<PlanRecord, Error> {
        self.remark(path, |_| LedgerEntry::Added { number, step: step.to_owned(), by: by.clone() })
    }

    /// A comment changes no state, so it need not be based on the newest one: concurrent comments simply
    /// queue up.
    fn remark(&self, path: &Path, entry: impl Fn(&PlanRecord) -> LedgerEntry) -> Result<PlanRecord, Error> {
        let mut tries = 0;
        loop {
            let case = self.case(path)?;
            match self.say(&case, vec![entry(&case)], Vec::new()) {
                Err(Error::Moved { .. }) if tries < TRIES => tries += 1,
                said => return said,
            }
        }
    }

    /// Cancels a plan that is not running.
    pub fn cancel(&self, path: &Path, by: &Identity, why: &str) -> Result<(PlanRecord, Vec<String>), Error> {
        self.move_on(path, LedgerEntry::Cancelled { by: by.clone(), why: why.to_owned() })
    }

    /// Returns a plan to its author.
    pub fn reopen(&self, path: &Path, by: &Identity, why: &str) -> Result<(PlanRecord, Vec<String>), Error> {
        self.move_on(path, LedgerEntry::Reopened { by: by.clone(), why: why.to_owned() })
    }

    /// Reopens a plan that is over in one of these ways, for a person who is about to approve a run of it.
    pub(crate) fn reopen_to_run(&self, path: &Path, by: &Identity, over: &[PlanState]) -> Result<(), Error> {
        let case = self.case(path)?;
        if !over.contains(&case.standing.state(None)) {
            return Ok(());
        }
        let entry = LedgerEntry::Reopened { by: by.clone(), why: "to run it again".to_owned() };
        self.say(&case, vec![entry], Vec::new()).map(drop)
    }

    fn move_on(&self, path: &Path, entry: LedgerEntry) -> Result<(PlanRecord, Vec<String>), Error> {
        let case = self.case(path)?;
        let case = self.say(&case, vec![entry], Vec::new())?;
        let complaints = self.show(path, &case);
        Ok((case, complaints))
    }

    /// Undoes somebody's last decision if nothing followed from it; returns the decision.
    pub fn undo(
        &self,
        path: &Path,
        by: &Identity,
    ) -> Result<(RecordedEntry, PlanRecord, Vec<String>), Error> {
        let case = self.case(path)?;
        let said = status::undoable(&case.ledger, by)?.clone();
        if let LedgerEntry::Deleted { backup, dialect, .. } = &said.entry {
            let text = String::from_utf8_lossy(&self.store().get(backup)?).into_owned();
            let named = planwright_core::dialect::named(dialect);
            let dialect = named.ok_or(Error::Text { plan: shown(&case.plan), revision: 0 })?;
            plan_file::create_plan(path, &text, dialect)?;
        }
        let case =
            self.say(&case, vec![LedgerEntry::Undone { seq: said.seq, by: by.clone() }], Vec::new())?;
        let complaints = self.show(path, &case);
        Ok((said, case, complaints))
    }

    /// Deletes a plan that is not running; its text is kept.
    pub fn delete(&self, path: &Path, verified: &Verified, by: &Identity) -> Result<PlanRecord, Error> {
        let case = self.case(path)?;
        if let Some(run) = self.live_run(path)? {
            return Err(Error::Running { plan: shown(&case.plan), run });
        }
        let text = verified.source.text().as_bytes().to_vec();
        let dialect = verified.dialect().name.to_owned();
        let entry = LedgerEntry::Deleted { backup: blob_of(&text), dialect, by: by.clone() };
        // Saved before it is deleted: a crash in between leaves the plan twice, not never.
        let case = self.say(&case, vec![entry], vec![text])?;
        plan_file::delete_plan(path, &verified.source)?;
        Ok(case)
    }

    /// Archives a plan that is not running, together with everything known about it.
    pub fn archive(&self, path: &Path, by: &Identity) -> Result<std::path::PathBuf, Error> {
        let case = self.case(path)?;
        if let Some(run) = self.live_run(path)? {
            return Err(Error::Running { plan: shown(&case.plan), run });
        }
        let to = plan_file::archive(path)?;
        let now = self.runs.relative(&to);
        self.store().move_plan(&case.plan, &now)?;
        let case = self.case_of(now.clone())?;
        self.say(&case, vec![LedgerEntry::Archived { to: shown(&now), by: by.clone() }], Vec::new())?;
        Ok(to)
    }

    /// The unfinished run of a plan.
    fn live_run(&self, path: &Path) -> Result<Option<i64>, Error> {
        let run = self.runs.latest(path)?.filter(|run| run.state.outcome().is_none());
        Ok(run.map(|run| run.row.id.number()))
    }

    /// Every plan pending review, as lists show it; oldest first.
    pub fn waiting(&self) -> Result<Vec<LedgerRow>, Error> {
        let waits = [
            PlanState::Proposed,
            PlanState::Waiting(WaitReason::Lapsed),
            PlanState::Waiting(WaitReason::RevisionsSpent),
        ];
        let waits = waits.map(|state| state.to_string());
        let rows = self.store().ledgers()?.into_iter();
        let mut rows: Vec<LedgerRow> = rows.filter(|row| waits.contains(&row.summary.state)).collect();
        rows.sort_by_key(|row| row.summary.since_ms);
        Ok(rows)
    }
}
