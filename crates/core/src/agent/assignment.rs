//! What an agent may know of the step that it does, as data: the harness writes it, tools of the agent read it. Nothing of the
//! other steps, of the plan or of what was decided; and nothing that is read back from it decides anything.

use serde::{Deserialize, Serialize};

use crate::plan::verified::{Contract, OnFail, Step};

/// One step, for the agent that does it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The id of the step.
    pub step: String,
    pub title: String,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// What is to be done.
    pub task: String,
    pub accept: Vec<String>,
    /// Globs of the files that may change; `None`: not declared.
    pub touches: Option<Vec<String>>,
    /// Files that judge the work and must stay as they are.
    pub sealed: Vec<String>,
    /// Tools that may be used.
    pub tools: Vec<String>,
    /// The command that decides; `None`: a person does.
    pub contract: Option<String>,
    /// The exit code of it that means done.
    pub expect: u8,
    /// A command that prepares the place where it runs.
    pub setup: Option<String>,
    /// Environment of agent and contract.
    pub env: Vec<String>,
    /// How long the contract may take, in seconds; `None`: the usual limit.
    pub contract_timeout_seconds: Option<u64>,
}

impl Assignment {
    /// What the agent of this attempt may know.
    pub fn of(step: &Step, attempt: u32) -> Self {
        let (contract, expect) = match &step.contract {
            Contract::Shell { command, expect } => (Some(command.clone()), *expect),
            Contract::Manual => (None, 0),
        };
        Self {
            step: step.id.clone(),
            title: step.title.clone(),
            attempt,
            task: step.task.clone(),
            accept: step.accept.clone(),
            touches: step.touches.clone(),
            sealed: step.sealed.clone(),
            tools: step.tools.clone(),
            contract,
            expect,
            setup: step.setup.clone(),
            env: step.env.clone(),
            contract_timeout_seconds: step.contract_timeout_seconds,
        }
    }

    /// The step as far as it is known here, for who runs its contract as advice.
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
