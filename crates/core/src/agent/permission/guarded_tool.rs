//! Tools that need an approved plan: by exact names, off where there are none.

use super::{Call, Mode, Ruling};

/// Tools that nobody may call without a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    pub tools: Vec<String>,
    /// What becomes of a call of one of them.
    pub mode: Mode,
}

impl Guard {
    /// What is to become of a call that no plan stands behind.
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
