//! `quick`: one task and its contract, run immediately. The one-step plan is stored outside the workspace; it is
//! shown, approved and run like any other.

use planwright_engine::agent::planner;
use planwright_engine::core::agent::planner as planning;
use planwright_engine::core::syntax::diagnostic::Severity;
use planwright_engine::core::syntax::source::Source;
use planwright_engine::run;
use planwright_engine::run::baseline;
use planwright_engine::store::plan_file::FileText;

use crate::interaction::project::here;
use crate::interaction::target::Opened;
use crate::output::{Exit, Failure, NextCommand};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Task for the agent
    #[arg(value_name = "TASK")]
    task: String,
    /// Command that exits 0 only when the task is done
    #[arg(long, value_name = "COMMAND")]
    contract: String,
    /// Role or agent for the task
    #[arg(long, value_name = "AGENT", default_value = "coder")]
    agent: String,
    /// Retries after a failure
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// Approve this digest (8 digits or more); required without a terminal
    #[arg(long, value_name = "DIGEST")]
    pub(crate) rev: Option<String>,
    /// Show steps, agents, files and forecast; start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Makes the plan, outside of the workspace, and opens it.
pub(crate) fn open(args: &Args) -> Result<Opened, Failure> {
    let usage = |message: &str| {
        Err(Failure::new(Exit::Usage, message).next(NextCommand::new(["planwright", "help", "quick"])))
    };
    if args.task.trim().is_empty() {
        return usage("missing task");
    }
    if args.contract.trim().is_empty() {
        return usage("missing contract");
    }
    let project = here()?;
    let text = planning::quick(&args.task, &args.contract, &args.agent, args.retries);
    let verified = baseline::verify_text(&project, FileText::Plan(Source::new("the plan", text.as_str())))?;
    let Some(plan) = &verified.plan else {
        let mut failure = Failure::new(Exit::No, "cannot run this task");
        let errors = verified.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        failure.causes = errors.map(|found| format!("[{}] {}", found.code, found.message)).collect();
        return Err(failure.hint("nothing was started"));
    };
    if project.config.agents_of(plan).get(&args.agent).is_some_and(Vec::is_empty) {
        let name = project.config.agent_of(&args.agent);
        let message = format!("agent `{name}` has no command; set agents.{name}.command");
        return Err(Failure::new(Exit::No, message)
            .hint(format!("set [roles] {} = \"claude\" in planwright.toml", args.agent))
            .next(NextCommand::new(["planwright", "doctor"])));
    }
    let runs = run::Runs::open(&project)?;
    let path = planner::quick_plan(&runs, &args.task, &text)?;
    Ok(Opened { source: Source::new(path.to_string_lossy(), text), path, project, step: None })
}
