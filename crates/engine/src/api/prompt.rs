//! Texts for agents, from the settings of a project.

use std::collections::BTreeSet;

use planwright_core::agent::planner;
use planwright_core::agent::planner::PlanRequest;
use planwright_core::plan::draft::Draft;
use planwright_core::workspace::session::prompt;
use planwright_core::workspace::session::prompt::PromptTerms;

use crate::agent::planner::surroundings;
use crate::api::error::Error;
use crate::api::error::session::SessionCommands;
use crate::api::workspace::Workspace;
use crate::config::schema::BUILT_IN;

impl Workspace {
    /// The system prompt of an overseer that plans in directories.
    pub fn overseer_prompt(&self) -> String {
        let config = &self.project().config;
        let names: BTreeSet<String> = config.roles.keys().chain(config.agents.keys()).cloned().collect();
        let agents = names.into_iter().filter(|name| !BUILT_IN.contains(&name.as_str())).collect();
        prompt::prompt(&PromptTerms { agents, ..PromptTerms::default() })
    }

    /// Where an overseer writes; creates the directory of its thread.
    pub fn overseer_context(&self) -> Result<String, Error> {
        Ok(prompt::context(&self.session(SessionCommands::Planwright).open()?))
    }

    /// What a planner would be told about this project and this task.
    pub fn planner_prompt(&self, task: &str) -> String {
        let around = surroundings(self.project(), &Draft::default());
        planner::wish(&PlanRequest { task, code: &[], memories: &[], constraints: &[], around: &around })
    }
}
