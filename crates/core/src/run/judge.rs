//! The only judge. Turns what the harness saw of a contract into a verdict; nothing else can make one.

use serde::{Deserialize, Serialize};

use crate::run::opinion::{Answer as Said, Opinion, Weight};

/// What the harness saw of a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observation {
    /// It ended by itself with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It took longer than allowed, in seconds, and was killed.
    TimedOut(u64),
    /// It could not be started; says why.
    NotStarted(String),
}

/// The answer to "is this step done?". Only [`judge`] makes one; reading one back from the journal is all that others can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict(Answer);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Passed,
    Failed(Failure),
}

/// Why a contract did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// It ran, and the honest answer is no.
    Code(i32),
    /// bash could not run a command of it (126, 127): the contract is at fault, or the machine.
    CannotRun(i32),
    /// A signal ended it.
    Signal(i32),
    /// It took too long, in seconds.
    Timeout(u64),
    /// It could not be started.
    NotStarted(String),
    /// The contract passed, but not the agent whose opinion counts by the policy.
    Opinion { by: String, reason: String },
}

impl Verdict {
    /// Whether the step is done.
    pub fn is_passed(&self) -> bool {
        self.0 == Answer::Passed
    }

    /// Why it is not.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.0 {
            Answer::Passed => None,
            Answer::Failed(failure) => Some(failure),
        }
    }
}

/// Judges what was seen of a contract that means done when it exits with `expect`.
pub fn judge(expect: u8, observation: &Observation) -> Verdict {
    let failure = match observation {
        Observation::Exited(code) if *code == i32::from(expect) => return Verdict(Answer::Passed),
        Observation::Exited(code @ (126 | 127)) => Failure::CannotRun(*code),
        Observation::Exited(code) => Failure::Code(*code),
        Observation::Signalled(signal) => Failure::Signal(*signal),
        Observation::TimedOut(seconds) => Failure::Timeout(*seconds),
        Observation::NotStarted(why) => Failure::NotStarted(why.clone()),
    };
    Verdict(Answer::Failed(failure))
}

/// Judges what was seen of a contract and what an agent thinks of the work. An opinion never makes anything pass; where it
/// counts, it can only take away what the contract has given, and no answer is no.
pub fn judge_with(expect: u8, observation: &Observation, opinion: Option<&Opinion>) -> Verdict {
    let verdict = judge(expect, observation);
    match opinion {
        Some(Opinion { weight: Weight::Gate, answer: Said::Fail | Said::Nothing, by, reason, .. })
            if verdict.is_passed() =>
        {
            Verdict(Answer::Failed(Failure::Opinion { by: by.clone(), reason: reason.clone() }))
        }
        Some(_) | None => verdict,
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::CannotRun(code) => write!(f, "cannot run, exit {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Timeout(seconds) => write!(f, "timed out after {seconds} s"),
            Self::NotStarted(why) => write!(f, "not started: {why}"),
            Self::Opinion { by, reason } => write!(f, "the judge {by} says no: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // the exit code is the truth; a time-out, a signal and "cannot run" are told from an honest no.
    #[test]
    fn only_the_expected_exit_code_passes() {
        let cases = [
            (0, Observation::Exited(0), None),
            (3, Observation::Exited(3), None),
            (3, Observation::Exited(0), Some(Failure::Code(0))),
            (0, Observation::Exited(1), Some(Failure::Code(1))),
            (0, Observation::Exited(127), Some(Failure::CannotRun(127))),
            (127, Observation::Exited(127), None),
            (0, Observation::Signalled(9), Some(Failure::Signal(9))),
            (9, Observation::Signalled(9), Some(Failure::Signal(9))),
            (0, Observation::TimedOut(60), Some(Failure::Timeout(60))),
            (0, Observation::NotStarted("no bash".into()), Some(Failure::NotStarted("no bash".into()))),
        ];
        for (expect, observation, failure) in cases {
            let verdict = judge(expect, &observation);
            assert_eq!(verdict.failure(), failure.as_ref(), "{expect} {observation:?}");
            assert_eq!(verdict.is_passed(), failure.is_none());
        }
    }

    // an opinion is advice unless a policy makes a gate of it, and it never makes a failed contract pass.
    #[test]
    fn an_opinion_only_ever_takes_away_and_only_where_it_counts() {
        let opinion = |weight, answer| Opinion {
            by: "sage".to_owned(),
            weight,
            answer,
            reason: "unclear".to_owned(),
            usage: crate::run::event::Usage::default(),
        };
        for weight in [Weight::Advisory, Weight::Gate] {
            for answer in [Said::Pass, Said::Fail, Said::Nothing] {
                let (opinion, red) = (opinion(weight, answer), Observation::Exited(1));
                assert_eq!(judge_with(0, &red, Some(&opinion)), judge(0, &red), "{opinion:?}");
                let green = judge_with(0, &Observation::Exited(0), Some(&opinion));
                let is_passed = weight == Weight::Advisory || answer == Said::Pass;
                assert_eq!(green.is_passed(), is_passed, "{opinion:?}");
            }
        }
        let no = judge_with(0, &Observation::Exited(0), Some(&opinion(Weight::Gate, Said::Fail)));
        assert_eq!(no.failure().map(ToString::to_string).as_deref(), Some("the judge sage says no: unclear"));
    }
}
