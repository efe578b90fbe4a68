//! A plan of one step, kept outside of the workspace.

use planwright_core::agent::planner as planning;
use planwright_core::syntax::diagnostic::Severity;
use planwright_core::syntax::source::Source;

use crate::agent::planner;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::plan::Plan;
use crate::api::workspace::Workspace;
use crate::run::Runs;

/// One task and its contract.
#[derive(Debug, Clone, Copy)]
pub struct QuickTask<'a> {
    pub task: &'a str,
    pub contract: &'a str,
    /// The role or agent that does it.
    pub agent: &'a str,
    pub retries: u32,
}

impl Workspace {
    /// The plan of one task. Nothing is written if it has errors or no agent.
    pub fn quick_plan(&self, quick: &QuickTask<'_>) -> Result<Plan, Error> {
        let (config, agent) = (&self.project().config, quick.agent);
        let text = planning::quick(quick.task, quick.contract, agent, quick.retries);
        let tried = Plan::unwritten(self.clone(), "the plan".into(), Source::new("the plan", text.as_str()));
        let verified = tried.verified()?;
        let Some(plan) = &verified.plan else {
            let mut error = Error::new(ErrorKind::Refused, "cannot run this task");
            let errors = verified.diagnostics.iter().filter(|found| found.severity == Severity::Error);
            error.causes = errors.map(|found| format!("[{}] {}", found.code, found.message)).collect();
            return Err(error.hint("nothing was started"));
        };
        if config.agents_of(plan).get(agent).is_some_and(Vec::is_empty) {
            let name = config.agent_of(agent);
            let message = format!("agent `{name}` has no command; set agents.{name}.command");
            return Err(Error::new(ErrorKind::Refused, message)
                .hint(format!("set [roles] {agent} = \"claude\" in planwright.toml"))
                .next(NextCommand::new(["planwright", "doctor"])));
        }
        let path = planner::quick_plan(&Runs::open(self.project())?, quick.task, &text)?;
        let source = Source::new(path.to_string_lossy(), text);
        Ok(Plan::written(self.clone(), path, source))
    }
}
