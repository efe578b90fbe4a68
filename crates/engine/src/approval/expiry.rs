//! Proposals without a decision: they expire after a while, and planwright reports it.

use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::PlanState;

use super::{Approvals, Error};
use crate::system::clock::now;
use crate::system::process;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// The directory of proposals, which have their own settings.
const PROPOSALS: &str = ".pi";

/// Something that expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// Relative to the root of the project.
    pub plan: PathBuf,
    pub text: String,
}

impl Approvals {
    /// Cancels proposals that are too old, asks about runs without a process, and reports both.
    pub fn sweep(&self) -> Result<Vec<Expired>, Error> {
        // An attempt must not change what it looks at.
        if process::job_above().is_some() {
            return Ok(Vec::new());
        }
        let mut expired = self.stalled()?;
        let now = now();
        // Proposals have their own settings; `doctor` reports unreadable ones, and the defaults apply.
        let own = self.project().proposal_settings().ok().flatten().map(|(own, _)| own.stale_after_days);
        for row in self.store().ledgers()? {
            let is_proposal = row.plan.starts_with(PROPOSALS);
            let usual = self.project().config.review.stale_days;
            let days = own.filter(|_| is_proposal).unwrap_or(usual);
            let is_old = days > 0 && now.saturating_sub(row.summary.since_ms) >= days.saturating_mul(DAY_MS);
            if row.summary.state != PlanState::Proposed.to_string() || !is_old {
                continue;
            }
            // The row is a hint: the ledger itself decides.
            let case = self.case_of(row.plan.clone())?;
            if case.state() != PlanState::Proposed
                || now.saturating_sub(case.standing.since_ms) < days * DAY_MS
            {
                continue;
            }
            let unit = if days == 1 { "day" } else { "days" };
            let why = format!("no decision for {days} {unit}");
            let entry = LedgerEntry::Cancelled { by: Identity::age(), why: why.clone() };
            let case = self.say(&case, vec![entry], Vec::new())?;
            self.show(&self.root().join(&row.plan), &case);
            expired.push(Expired { plan: row.plan, text: format!("expired: {why}") });
        }
        Ok(expired)
    }

    /// Asks what to do about runs that no process has run for a long time.
    fn stalled(&self) -> Result<Vec<Expired>, Error> {
        let own =
            self.project().proposal_settings().ok().flatten().map(|(own, _)| own.executor_timeout_minutes);
        let usual = self.project().config.run.stalled_minutes;
        let minutes_of = |plan: &Path| own.filter(|_| plan.starts_with(PROPOSALS)).unwrap_or(usual);
        let asked = self.runs.ask_about_stalled(minutes_of)?;
        Ok(asked.into_iter().map(|(plan, text)| Expired { plan, text: format!("stalled: {text}") }).collect())
    }
}
