//! The only judge. Turns the observation of a contract into a verdict; nothing else can create one.

use serde::{Deserialize, Serialize};

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

/// Judges the observation of a contract whose exit code `expect` means done.
pub fn judge(expect: u8, observation: &Observation) -> Verdict {
    let failure = match observation {
        Observation::Exited(code) if *code == i32::from(expect) => return Verdict(Answer::Passed),
        Observation::Exited(code @ (126 | 127)) => JudgeFailure::CannotRun(*code),
        Observation::Exited(code) => JudgeFailure::Code(*code),
        Observation::Signalled(signal) => JudgeFailure::Signal(*signal),
        Observation::TimedOut(seconds) => JudgeFailure::Timeout(*seconds),
        Observation::NotStarted(why) => JudgeFailure::NotStarted(why.clone()),
    };
    Verdict(Answer::Failed(failure))
}

/// Judges the observation of a contract and an agent's opinion of the work. An opinion never makes anything
/// pass; as a gate it can only turn a pass into a failure, and a missing answer does so too.
pub fn judge_with(expect: u8, observation: &Observation, opinion: Option<&Opinion>) -> Verdict {
    let verdict = judge(expect, observation);
    match opinion {
        Some(Opinion { weight: Authority::Gate, answer: Said::Fail | Said::Nothing, by, reason, .. })
            if verdict.is_passed() =>
        {
            Verdict(Answer::Failed(JudgeFailure::Opinion { by: by.clone(), reason: reason.clone() }))
        }
        Some(_) | None => verdict,
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
            let verdict = judge(expect, &observation);
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
                assert_eq!(judge_with(0, &red, Some(&opinion)), judge(0, &red), "{opinion:?}");
                let green = judge_with(0, &Observation::Exited(0), Some(&opinion));
                let is_passed = weight == Authority::Advisory || answer == Said::Pass;
                assert_eq!(green.is_passed(), is_passed, "{opinion:?}");
            }
        }
        let no = judge_with(0, &Observation::Exited(0), Some(&opinion(Authority::Gate, Said::Fail)));
        assert_eq!(no.failure().map(ToString::to_string).as_deref(), Some("judge sage rejected it: unclear"));
    }
}
