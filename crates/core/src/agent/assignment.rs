//! What an agent may know about its step, as data: planwright writes it and the agent's tools read it.
//! Contains nothing about other steps, the plan or decisions, and no decision is ever based on what is read
//! back.

use serde::{Deserialize, Serialize};

use crate::plan::verified::{Contract, OnFail, Step};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    pub step: String,
    pub title: String,
    /// Counted from 1.
    pub attempt: u32,
    pub task: String,
    pub accept: Vec<String>,
    /// Globs of the files that may change; `None` if not declared.
    pub touches: Option<Vec<String>>,
    /// Sealed files, which must not change.
    pub sealed: Vec<String>,
    pub tools: Vec<String>,
    /// `None` for a manual step.
    pub contract: Option<String>,
    /// The contract's exit code that means done.
    pub expect: u8,
    /// A command that prepares the checkout in which the contract runs.
    pub setup: Option<String>,
    /// Environment of agent and contract.
    pub env: Vec<String>,
    /// `None` for the default limit.
    pub contract_timeout_seconds: Option<u64>,
}

impl Assignment {
    pub fn of(step: &Step, attempt: u32) -> Self {
        Self {
            step: step.id.clone(),
            title: step.title.clone(),
            attempt,
            task: step.task.clone(),
            accept: step.accept.clone(),
            touches: step.touches.clone(),
            sealed: step.sealed.clone(),
            tools: step.tools.clone(),
            contract: step.contract.command().map(str::to_owned),
            expect: step.contract.expected_code().unwrap_or_default(),
            setup: step.setup.clone(),
            env: step.env.clone(),
            contract_timeout_seconds: step.contract_timeout_seconds,
        }
    }

    /// The part of the step that is known here, for tools that run its contract as advice.
    pub fn known_step(&self) -> Step {
        Step {
            number: 1,
            id: self.step.clone(),
            title: self.title.clone(),
            mark: None,
            target: String::new(),
            task: self.task.clone(),
            contract: match &self.contract {
                Some(command) => Contract::Shell { command: command.clone(), expect: self.expect },
                None => Contract::Manual,
            },
            judge: None,
            on_fail: OnFail::DEFAULT,
            needs: Vec::new(),
            reads: Vec::new(),
            touches: self.touches.clone(),
            sealed: self.sealed.clone(),
            accept: self.accept.clone(),
            holds_until: None,
            green: None,
            timeout_seconds: None,
            contract_timeout_seconds: self.contract_timeout_seconds,
            tools: self.tools.clone(),
            env: self.env.clone(),
            network: None,
            setup: self.setup.clone(),
        }
    }
}
