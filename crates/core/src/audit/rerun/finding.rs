//! What an audit finds once contracts were run again.

use super::{Claim, Now, Recorded, Settled};
use crate::audit::{Finding, Kind};

/// What is found about a step, if anything is. `broke` says since when its contract fails, in words that go on after "step 2 ".
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
        Settled::False => {
            (Kind::FalseMark, format!("the file says that it is done, but its contract fails ({because})"))
        }
        Settled::Moved => {
            (Kind::MovedContract, "its contract passes, but its receipt is about another one".to_owned())
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
            (Kind::UnprovenMark, format!("the file says that it is done, but {why}"))
        }
        Settled::Holds | Settled::Confirmed | Settled::Open | Settled::Unknown => return None,
    };
    Some(Finding { kind, plan: plan.to_owned(), where_: format!("step `{id}`"), text })
}
