//! The findings of an audit that runs contracts again.

use super::{CurrentResult, MarkClaim, Recorded, RerunOutcome};
use crate::audit::{AuditFinding, Kind};

/// The finding about a step, if any. `broke` says since when its contract fails, in words that follow "step 2
/// ".
pub fn finding(
    (plan, number, id): (&str, &str, &str),
    (claim, recorded): (MarkClaim, &Recorded),
    (settled, now): (RerunOutcome, &CurrentResult),
    broke: Option<String>,
) -> Option<AuditFinding> {
    let because = now.because();
    let (kind, text) = match settled {
        RerunOutcome::Broken => {
            let broke = broke.unwrap_or_else(|| "broke since its receipt".to_owned());
            (Kind::Broke, format!("{because}: step {number} {broke}"))
        }
        RerunOutcome::False => {
            (Kind::FalseMark, format!("marked as done, but its contract fails ({because})"))
        }
        RerunOutcome::Moved => {
            (Kind::MovedContract, "its contract passes, but its receipt is for a different one".to_owned())
        }
        RerunOutcome::Unknown if recorded.proof().is_some() => {
            (Kind::NotRerun, format!("its contract could not be run again ({because})"))
        }
        RerunOutcome::Unknown if claim == MarkClaim::Done => {
            let why = match now {
                CurrentResult::Manual => "it has no contract, and no person confirmed it".to_owned(),
                CurrentResult::Passes | CurrentResult::Fails(_) | CurrentResult::CannotRun(_) => {
                    format!("its contract could not be run ({because})")
                }
            };
            (Kind::UnprovenMark, format!("marked as done, but {why}"))
        }
        RerunOutcome::Holds | RerunOutcome::Confirmed | RerunOutcome::Open | RerunOutcome::Unknown => {
            return None;
        }
    };
    Some(AuditFinding { kind, plan: plan.to_owned(), where_: format!("step `{id}`"), text })
}
