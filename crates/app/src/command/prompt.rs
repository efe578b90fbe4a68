//! `prompt`: prints texts for agents from the current settings. Starts nothing; `context` creates the directories it
//! names.

use clap::ValueEnum;
use planwright_engine::api::{SKILL, ShellKind, session_start_script};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::workspace;
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
        Act::Overseer => ("overseer", workspace()?.overseer_prompt(), ["planwright", "prompt", "context"]),
        Act::Context => ("context", workspace()?.overseer_context()?, ["planwright", "session", "show"]),
        Act::Planner { task } => {
            ("planner", workspace()?.planner_prompt(task), ["planwright", "prompt", "skill"])
        }
        Act::Skill => ("skill", SKILL.to_owned(), ["planwright", "help", "init"]),
        Act::SessionStart { shell } => {
            let shell = match shell {
                Shell::Bash => ShellKind::Bash,
                Shell::PowerShell => ShellKind::PowerShell,
            };
            ("session-start", session_start_script(shell), ["planwright", "list-plans", "--gate"])
        }
    };
    out.data(&clean(&text));
    Ok(Response::done("prompt", &Prompted { name: name.to_owned(), text }).next(NextCommand::new(next)))
}
