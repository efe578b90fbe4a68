//! The only judge. Turns what the harness saw of a contract into a verdict; nothing else can make one.

use serde::{Deserialize, Serialize};

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

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::CannotRun(code) => write!(f, "cannot run, exit {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Timeout(seconds) => write!(f, "timed out after {seconds} s"),
            Self::NotStarted(why) => write!(f, "not started: {why}"),
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
}
