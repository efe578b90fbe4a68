//! Tools that require an approved plan: by exact name, disabled if none are listed.

use super::{Call, Mode, Ruling};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    pub tools: Vec<String>,
    pub mode: Mode,
}

impl Guard {
    /// The ruling for a call without an approved plan.
    pub fn ruling(&self, call: &Call) -> Ruling {
        let Some(name) = self.tools.iter().find(|name| call.is_exactly(name)) else { return Ruling::Allowed };
        let why = format!(
            "Tool {name} is guarded: it needs an approved plan. Call plan_propose (or run `planwright propose`) first."
        );
        match self.mode {
            Mode::Log => Ruling::Noted(why),
            Mode::Block | Mode::Plan => Ruling::Denied(why),
        }
    }
}
