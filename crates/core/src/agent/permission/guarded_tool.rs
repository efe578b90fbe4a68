//! Tools that require an approved plan: by exact name, disabled if none are listed.

use super::{Decision, PermissionMode, ToolCall};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGuard {
    pub tools: Vec<String>,
    pub mode: PermissionMode,
}

impl ToolGuard {
    /// The ruling for a call without an approved plan.
    pub fn ruling(&self, call: &ToolCall) -> Decision {
        let Some(name) = self.tools.iter().find(|name| call.is_exactly(name)) else {
            return Decision::Allowed;
        };
        let why = format!(
            "Tool {name} is guarded: it needs an approved plan. Call plan_propose (or run `planwright propose`) first."
        );
        match self.mode {
            PermissionMode::Log => Decision::Noted(why),
            PermissionMode::Block | PermissionMode::Plan => Decision::Denied(why),
        }
    }
}
