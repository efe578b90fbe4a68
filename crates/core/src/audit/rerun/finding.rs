//! The findings of an audit that runs contracts again.

use super::{Claim, Now, Recorded, Settled};
use crate::audit::{Finding, Kind};

/// The finding about a step, if any. `broke` says since when its contract fails, in words that follow "step 2
/// ".
pub fn finding(
    (plan, number, id): (&str, &str, &str),
    (claim, recorded): (Claim, &Recorded),
    (settled, now): (Settled, &Now),
    broke: Option<String>,
) -> Option<Finding> {
    let because = now.because();
    let (kind, text) = match settled {
        Settled::Broken => {
            let broke = broke.unwrap_or_else(|| "broke since its receipt".to_owned());
            (Kind::Broke, format!("{because}: step {number} {broke}"))
        }
        Settled::False => (Kind::FalseMark, format!("marked as done, but its contract fails ({because})")),
        Settled::Moved => {
            (Kind::MovedContract, "its contract passes, but its receipt is for a different one".to_owned())
        }
        Settled::Unknown if recorded.proof().is_some() => {
            (Kind::NotRerun, format!("its contract could not be run again ({because})"))
        }
        Settled::Unknown if claim == Claim::Done => {
            let why = match now {
                Now::Manual => "it has no contract, and no person confirmed it".to_owned(),
                Now::Passes | Now::Fails(_) | Now::CannotRun(_) => {
                    format!("its contract could not be run ({because})")
                }
            };
            (Kind::UnprovenMark, format!("marked as done, but {why}"))
        }
        Settled::Holds | Settled::Confirmed | Settled::Open | Settled::Unknown => return None,
    };
    Some(Finding { kind, plan: plan.to_owned(), where_: format!("step `{id}`"), text })
}
