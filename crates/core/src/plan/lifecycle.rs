//! The states of a plan and the allowed transitions, one table for all dialects. A dialect only decides how it spells a
//! state.

use std::fmt;

/// The state of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlanState {
    /// The author is working on it.
    Draft,
    /// Free of errors and pending review.
    Proposed,
    /// Approved by a person or a policy.
    Approved,
    /// Its steps are running.
    Running,
    /// Blocked on something that only a person or the planner can resolve.
    Waiting(WaitReason),
    Done,
    Failed,
    Rejected,
    /// Ended by a person, or because it was too old.
    Cancelled,
}

/// Why a plan is waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitReason {
    Question,
    /// A decision about a failed step.
    Failed,
    /// A decision about a contract that had passed and fails on the final tree.
    Regressed,
    /// More money or time.
    Budget,
    /// Someone to check why there is no progress.
    Stalled,
    /// Someone to mend the machine: a full disk, an I/O error.
    Machine,
    /// An approval of what changed since the last one.
    Lapsed,
    /// Someone to resolve a conflict.
    Conflict,
    /// A person, because it was rejected too often.
    RevisionsSpent,
    /// Its planner, to replan it.
    Replanning,
}

pub const REASONS: [WaitReason; 10] = [
    WaitReason::Question,
    WaitReason::Failed,
    WaitReason::Regressed,
    WaitReason::Budget,
    WaitReason::Stalled,
    WaitReason::Machine,
    WaitReason::Lapsed,
    WaitReason::Conflict,
    WaitReason::RevisionsSpent,
    WaitReason::Replanning,
];

/// Who causes a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    Planner,
    Verifier,
    /// Who approves or rejects.
    Person,
    Harness,
}

/// A transition that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    pub from: PlanState,
    pub to: PlanState,
    /// The allowed transitions, with their actors.
    pub allowed: Vec<(PlanState, Actor)>,
}

impl PlanState {
    /// Every state, including each reason for waiting.
    pub fn all() -> impl Iterator<Item = PlanState> {
        [Self::Draft, Self::Proposed, Self::Approved, Self::Running]
            .into_iter()
            .chain(REASONS.map(Self::Waiting))
            .chain([Self::Done, Self::Failed, Self::Rejected, Self::Cancelled])
    }

    /// The allowed next states and their actors. This is the whole table.
    pub fn ways(self) -> Vec<(PlanState, Actor)> {
        use Actor::{Harness, Person, Planner, Verifier};
        use WaitReason::{Lapsed, Replanning, RevisionsSpent};
        match self {
            Self::Draft => vec![(Self::Proposed, Verifier), (Self::Cancelled, Person)],
            Self::Proposed => vec![
                (Self::Draft, Planner),
                (Self::Approved, Person),
                (Self::Rejected, Person),
                (Self::Cancelled, Person),
            ],
            Self::Approved => vec![
                (Self::Draft, Planner),
                (Self::Running, Harness),
                (Self::Waiting(Lapsed), Harness),
                (Self::Cancelled, Person),
            ],
            Self::Running => {
                let waits = REASONS.into_iter().filter(|&reason| reason != RevisionsSpent);
                let ends = [(Self::Done, Harness), (Self::Failed, Harness), (Self::Cancelled, Person)];
                waits.map(|reason| (Self::Waiting(reason), Harness)).chain(ends).collect()
            }
            Self::Waiting(Replanning) => {
                vec![(Self::Draft, Planner), (Self::Failed, Person), (Self::Cancelled, Person)]
            }
            Self::Waiting(RevisionsSpent) => vec![(Self::Draft, Person), (Self::Cancelled, Person)],
            Self::Waiting(Lapsed) => {
                vec![(Self::Draft, Planner), (Self::Approved, Person), (Self::Cancelled, Person)]
            }
            Self::Waiting(_) => vec![
                (Self::Draft, Person),
                (Self::Running, Person),
                (Self::Waiting(Replanning), Person),
                (Self::Failed, Person),
                (Self::Cancelled, Person),
            ],
            // After the third rejection, the plan waits for a person instead.
            Self::Rejected => vec![
                (Self::Draft, Planner),
                (Self::Waiting(RevisionsSpent), Harness),
                (Self::Cancelled, Person),
            ],
            // The author may reopen an ended plan as a draft, which needs a new approval.
            Self::Done | Self::Cancelled => vec![(Self::Draft, Planner)],
            Self::Failed => vec![(Self::Draft, Planner), (Self::Running, Person)],
        }
    }

    /// Whether it has ended: only a draft, or another run, leads on.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Done | Self::Failed | Self::Cancelled => true,
            Self::Draft
            | Self::Proposed
            | Self::Approved
            | Self::Running
            | Self::Waiting(_)
            | Self::Rejected => false,
        }
    }

    /// Refuses every transition that is not in the table, listing the allowed ones.
    pub fn to(self, to: PlanState) -> Result<Actor, Forbidden> {
        let allowed = self.ways();
        let way = allowed.iter().find(|(state, _)| *state == to).map(|&(_, actor)| actor);
        way.ok_or(Forbidden { from: self, to, allowed })
    }
}

impl fmt::Display for PlanState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Draft => "draft",
            Self::Proposed => "proposed",
            Self::Approved => "approved",
            Self::Running => "running",
            Self::Waiting(reason) => return write!(f, "waiting ({reason})"),
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
        })
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Question => "question",
            Self::Failed => "failed",
            Self::Regressed => "regressed",
            Self::Budget => "budget",
            Self::Stalled => "stalled",
            Self::Machine => "machine",
            Self::Lapsed => "lapsed",
            Self::Conflict => "conflict",
            Self::RevisionsSpent => "revisions-spent",
            Self::Replanning => "replanning",
        })
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Planner => "planner",
            Self::Verifier => "verifier",
            Self::Person => "person",
            Self::Harness => "harness",
        })
    }
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ways: Vec<String> =
            self.allowed.iter().map(|(state, actor)| format!("{state} (by the {actor})")).collect();
        write!(f, "cannot change a plan from {} to {}; allowed: {}", self.from, self.to, ways.join(", "))
    }
}

impl std::error::Error for Forbidden {}

#[cfg(test)]
mod tests {
    use super::*;

    // every pair that is not in the table is refused with what is allowed.
    #[test]
    fn what_is_not_in_the_table_is_refused_with_the_list_of_what_is() {
        for from in PlanState::all() {
            for to in PlanState::all() {
                match from.to(to) {
                    Ok(actor) => assert!(from.ways().contains(&(to, actor))),
                    Err(forbidden) => {
                        assert!(!forbidden.allowed.is_empty(), "{from} is a dead end");
                        assert!(forbidden.allowed.iter().all(|(state, _)| *state != to));
                    }
                }
            }
        }
        let refused = PlanState::Draft.to(PlanState::Approved).expect_err("nobody checked it");
        assert_eq!(
            refused.to_string(),
            "cannot change a plan from draft to approved; allowed: proposed (by the verifier), cancelled (by the person)"
        );
    }

    #[test]
    fn only_a_person_approves_and_only_the_harness_finishes() {
        for from in PlanState::all() {
            for (to, actor) in from.ways() {
                match to {
                    PlanState::Approved | PlanState::Rejected => {
                        assert_eq!(actor, Actor::Person, "{from} to {to}");
                    }
                    PlanState::Done => assert_eq!(actor, Actor::Harness, "{from} to {to}"),
                    PlanState::Draft
                    | PlanState::Proposed
                    | PlanState::Running
                    | PlanState::Waiting(_)
                    | PlanState::Failed
                    | PlanState::Cancelled => {}
                }
            }
        }
    }
}
