//! What is known about an attempt of an agent besides how it ended, and what it cost.

use serde::{Deserialize, Serialize};

use crate::agent::permission::RefusedCall;
use crate::agent::report::ReportLine;

/// What is known about an attempt besides how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// Lets a user inspect or resume the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The end of the agent's last message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// Why the model refused the work, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
    /// Files that it changed outside the step's `touches`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Tool calls outside its scope, as reported by its hook.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedCall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub report: Vec<ReportLine>,
}

impl Account {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    /// Includes tokens that the provider read from its cache.
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

impl Tokens {
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What an attempt cost, as far as the agent reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// `None` if unreported.
    pub tokens: Option<u64>,
    /// In millionths of a dollar; `None` if unreported.
    pub micro_dollars: Option<u64>,
    /// Wall-clock time.
    pub milliseconds: u64,
}

impl Usage {
    /// The sum. A value that only one of them reports counts; one that neither reports stays unknown.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        let add = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
        Self {
            tokens: add(self.tokens, more.tokens),
            micro_dollars: add(self.micro_dollars, more.micro_dollars),
            milliseconds: self.milliseconds.saturating_add(more.milliseconds),
        }
    }
}
