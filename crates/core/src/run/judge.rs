//! The only judge. Turns the observation of a contract into a verdict; nothing else can create one.

use serde::{Deserialize, Serialize};

use crate::plan::verified::Contract;
use crate::run::opinion::{Authority, Opinion, OpinionAnswer as Said};

/// What planwright observed of a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observation {
    Exited(i32),
    Signalled(i32),
    /// It ran longer than allowed, in seconds, and was killed.
    TimedOut(u64),
    /// With the reason.
    NotStarted(String),
}

impl Observation {
    /// Why the contract is not fulfilled, if exit code `expect` means done.
    pub fn failure(&self, expect: u8) -> Option<JudgeFailure> {
        Some(match self {
            Self::Exited(code) if *code == i32::from(expect) => return None,
            Self::Exited(code @ (126 | 127)) => JudgeFailure::CannotRun(*code),
            Self::Exited(code) => JudgeFailure::Code(*code),
            Self::Signalled(signal) => JudgeFailure::Signal(*signal),
            Self::TimedOut(seconds) => JudgeFailure::Timeout(*seconds),
            Self::NotStarted(why) => JudgeFailure::NotStarted(why.clone()),
        })
    }
}

/// One run of a contract, or the reason why there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractRun {
    /// The exit code that means done; `None` without a contract.
    pub expect: Option<u8>,
    /// The hash of the command; empty without a contract.
    pub contract: String,
    pub observation: Observation,
    pub output: String,
    pub milliseconds: u64,
}

impl ContractRun {
    /// What was observed of a contract, without output and duration.
    pub fn of(contract: &Contract, observation: Observation) -> Self {
        let (expect, contract) = (contract.expected_code(), contract.hash());
        Self { expect, contract, observation, output: String::new(), milliseconds: 0 }
    }

    /// A contract that was not run, for this reason.
    pub fn not_run(contract: &Contract, why: String) -> Self {
        Self { output: why.clone(), ..Self::of(contract, Observation::NotStarted(why)) }
    }
}

/// Whether a step is done. Only [`judge`] creates a verdict; others can only read one back from the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict(Answer);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Passed,
    Failed(JudgeFailure),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgeFailure {
    /// It ran, and reported failure.
    Code(i32),
    /// bash could not run a command of it (126, 127), because of the contract or the system.
    CannotRun(i32),
    Signal(i32),
    /// In seconds.
    Timeout(u64),
    NotStarted(String),
    /// The contract passed, but the agent whose opinion is a gate by policy rejected the work.
    Opinion {
        by: String,
        reason: String,
    },
}

impl Verdict {
    pub fn is_passed(&self) -> bool {
        self.0 == Answer::Passed
    }

    pub fn failure(&self) -> Option<&JudgeFailure> {
        match &self.0 {
            Answer::Passed => None,
            Answer::Failed(failure) => Some(failure),
        }
    }
}

/// Judges a run of a contract, and an agent's opinion of the work if there is one. An opinion never makes
/// anything pass; as a gate it can only turn a pass into a failure, and a missing answer does so too.
pub fn judge(run: &ContractRun, opinion: Option<&Opinion>) -> Verdict {
    judge_observation(run.expect.unwrap_or_default(), &run.observation, opinion)
}

pub(super) fn judge_observation(expect: u8, observation: &Observation, opinion: Option<&Opinion>) -> Verdict {
    let failure = observation.failure(expect).or_else(|| match opinion {
        Some(Opinion { weight: Authority::Gate, answer: Said::Fail | Said::Nothing, by, reason, .. }) => {
            Some(JudgeFailure::Opinion { by: by.clone(), reason: reason.clone() })
        }
        Some(_) | None => None,
    });
    Verdict(failure.map_or(Answer::Passed, Answer::Failed))
}

impl JudgeFailure {
    /// Whether it says nothing about the work: the contract could not run to its end.
    pub const fn is_inconclusive(&self) -> bool {
        match self {
            Self::CannotRun(_) | Self::NotStarted(_) | Self::Timeout(_) => true,
            Self::Code(_) | Self::Signal(_) | Self::Opinion { .. } => false,
        }
    }
}

impl std::fmt::Display for JudgeFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::CannotRun(code) => write!(f, "cannot run, exit {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Timeout(seconds) => write!(f, "timed out after {seconds} s"),
            Self::NotStarted(why) => write!(f, "not started: {why}"),
            Self::Opinion { by, reason } => write!(f, "judge {by} rejected it: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(expect: u8, observation: &Observation, opinion: Option<&Opinion>) -> Verdict {
        let contract = Contract::Shell { command: "true".to_owned(), expect };
        judge(&ContractRun::of(&contract, observation.clone()), opinion)
    }

    // the exit code decides; a timeout, a signal and "cannot run" differ from a reported
    // failure.
    #[test]
    fn only_the_expected_exit_code_passes() {
        let cases = [
            (0, Observation::Exited(0), None),
            (3, Observation::Exited(3), None),
            (3, Observation::Exited(0), Some(JudgeFailure::Code(0))),
            (0, Observation::Exited(1), Some(JudgeFailure::Code(1))),
            (0, Observation::Exited(127), Some(JudgeFailure::CannotRun(127))),
            (127, Observation::Exited(127), None),
            (0, Observation::Signalled(9), Some(JudgeFailure::Signal(9))),
            (9, Observation::Signalled(9), Some(JudgeFailure::Signal(9))),
            (0, Observation::TimedOut(60), Some(JudgeFailure::Timeout(60))),
            (0, Observation::NotStarted("no bash".into()), Some(JudgeFailure::NotStarted("no bash".into()))),
        ];
        for (expect, observation, failure) in cases {
            let verdict = judged(expect, &observation, None);
            assert_eq!(verdict.failure(), failure.as_ref(), "{expect} {observation:?}");
            assert_eq!(verdict.is_passed(), failure.is_none());
        }
    }

    // an opinion is advice unless a policy makes it a gate, and it never makes a failed contract pass.
    #[test]
    fn an_opinion_only_ever_takes_away_and_only_where_it_counts() {
        let opinion = |weight, answer| Opinion {
            by: "sage".to_owned(),
            weight,
            answer,
            reason: "unclear".to_owned(),
            usage: crate::agent::account::Usage::default(),
        };
        for weight in [Authority::Advisory, Authority::Gate] {
            for answer in [Said::Pass, Said::Fail, Said::Nothing] {
                let (opinion, red) = (opinion(weight, answer), Observation::Exited(1));
                assert_eq!(judged(0, &red, Some(&opinion)), judged(0, &red, None), "{opinion:?}");
                let green = judged(0, &Observation::Exited(0), Some(&opinion));
                let is_passed = weight == Authority::Advisory || answer == Said::Pass;
                assert_eq!(green.is_passed(), is_passed, "{opinion:?}");
            }
        }
        let no = judged(0, &Observation::Exited(0), Some(&opinion(Authority::Gate, Said::Fail)));
        assert_eq!(no.failure().map(ToString::to_string).as_deref(), Some("judge sage rejected it: unclear"));
    }
}
