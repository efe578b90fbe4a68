//! What becomes of plans that nobody decides about: they lapse, and it is said.

use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::{Entry, Who};
use planwright_core::plan::lifecycle::State;

use super::{Decisions, Error};
use crate::run::now;
use crate::system::process;

/// How long a day is.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Where proposals lie, which have settings of their own.
const PROPOSALS: &str = ".pi";

/// Something that happened because time went by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// The plan, relative to the root of the project.
    pub plan: PathBuf,
    /// What happened, in words.
    pub text: String,
}

impl Decisions {
    /// Cancels what was proposed too long ago, asks about runs that nobody drives, and says so.
    pub fn sweep(&self) -> Result<Vec<Expired>, Error> {
        // What an attempt looks at, it must not move.
        if process::job_above().is_some() {
            return Ok(Vec::new());
        }
        let mut expired = self.stalled()?;
        let now = now();
        // Proposals have settings of their own; what can't be read is told by doctor, and is as usual.
        let own = self.project().proposal_settings().ok().flatten().map(|(own, _)| own.stale_after_days);
        for row in self.store().ledgers()? {
            let is_proposal = row.plan.starts_with(PROPOSALS);
            let usual = self.project().config.review.stale_days;
            let days = own.filter(|_| is_proposal).unwrap_or(usual);
            let is_old = days > 0 && now.saturating_sub(row.summary.since_ms) >= days.saturating_mul(DAY_MS);
            if row.summary.state != State::Proposed.to_string() || !is_old {
                continue;
            }
            // The row is a hint: the ledger itself decides.
            let case = self.case_of(row.plan.clone())?;
            if case.state() != State::Proposed || now.saturating_sub(case.standing.since_ms) < days * DAY_MS {
                continue;
            }
            let why = format!("nobody decided about it for {days} days");
            let entry = Entry::Cancelled { by: Who::age(), why: why.clone() };
            let case = self.say(&case, vec![entry], Vec::new())?;
            self.show(&self.root().join(&row.plan), &case);
            expired.push(Expired { plan: row.plan, text: format!("expired: {why}") });
        }
        Ok(expired)
    }

    /// Asks what shall become of runs that nobody has driven for a long time.
    fn stalled(&self) -> Result<Vec<Expired>, Error> {
        let own =
            self.project().proposal_settings().ok().flatten().map(|(own, _)| own.executor_timeout_minutes);
        let usual = self.project().config.run.stalled_minutes;
        let minutes_of = |plan: &Path| own.filter(|_| plan.starts_with(PROPOSALS)).unwrap_or(usual);
        let asked = self.runs.ask_about_stalled(minutes_of)?;
        Ok(asked.into_iter().map(|(plan, text)| Expired { plan, text: format!("stalled: {text}") }).collect())
    }
}
