//! `prompt`: prints texts for agents from the current settings. Starts nothing; `context` creates the directories it
//! names.

use std::collections::BTreeSet;

use clap::ValueEnum;
use planwright_engine::agent::planner::surroundings;
use planwright_engine::api::SessionCommands;
use planwright_engine::config::schema::BUILT_IN;
use planwright_engine::core::agent::integration::SKILL;
use planwright_engine::core::agent::planner as planning;
use planwright_engine::core::agent::planner::PlanRequest;
use planwright_engine::core::plan::draft::Draft;
use planwright_engine::core::workspace::active_plan::session_text;
use planwright_engine::core::workspace::session::prompt;
use planwright_engine::core::workspace::session::prompt::PromptTerms;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::{here, workspace};
use crate::output::{Failure, NextCommand, Out, Response, clean};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Print the system prompt of an overseer that plans in directories
    Overseer,
    /// Print where an overseer writes; create the directory of its thread
    Context,
    /// Print the prompt that `draft` gives a planner
    Planner {
        /// Task
        #[arg(default_value = "(what you want done)")]
        task: String,
    },
    /// Print the skill for agents: SKILL.md
    Skill,
    /// Print the session-start script
    SessionStart {
        /// Shell
        #[arg(long, value_enum, default_value = "bash")]
        shell: Shell,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    #[value(name = "powershell")]
    PowerShell,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Prompted {
    /// Which text: `overseer`, `context`, `planner`, `skill` or `session-start`.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let (name, text, next) = match &args.act {
        Act::Overseer => ("overseer", prompt::prompt(&terms()?), ["planwright", "prompt", "context"]),
        Act::Context => {
            let session = workspace()?.session(SessionCommands::Planwright).open()?;
            ("context", prompt::context(&session), ["planwright", "session", "show"])
        }
        Act::Planner { task } => ("planner", planner(task)?, ["planwright", "prompt", "skill"]),
        Act::Skill => ("skill", SKILL.to_owned(), ["planwright", "help", "init"]),
        Act::SessionStart { shell } => {
            let shell = match shell {
                Shell::Bash => session_text::ShellKind::Bash,
                Shell::PowerShell => session_text::ShellKind::PowerShell,
            };
            ("session-start", session_text::script(shell), ["planwright", "list-plans", "--gate"])
        }
    };
    out.data(&clean(&text));
    Ok(Response::done("prompt", &Prompted { name: name.to_owned(), text }).next(NextCommand::new(next)))
}

/// What is configured here.
fn terms() -> Result<PromptTerms, Failure> {
    let config = here()?.config;
    let names: BTreeSet<String> = config.roles.keys().chain(config.agents.keys()).cloned().collect();
    let agents = names.into_iter().filter(|name| !BUILT_IN.contains(&name.as_str())).collect();
    Ok(PromptTerms { agents, ..PromptTerms::default() })
}

/// What a planner would be told of this project and this task.
fn planner(task: &str) -> Result<String, Failure> {
    let around = surroundings(&here()?, &Draft::default());
    let wish = PlanRequest { task, code: &[], memories: &[], constraints: &[], around: &around };
    Ok(planning::wish(&wish))
}
