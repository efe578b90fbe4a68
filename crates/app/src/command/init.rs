//! `init`: creates settings and a plan directory, and connects agents; keeps existing files.

mod connect;

use planwright_engine::api::init;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::{options, workspace};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use connect::{Connected, ConnectionData, Consent, connect, meant};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install the git merge driver for plan and progress files
    #[arg(long)]
    merge_driver: bool,
    /// Connect agents: hooks, MCP server and skill; shows changes and asks
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    agents: Vec<String>,
    /// Write the changes of --agents without asking
    #[arg(long, requires = "agents")]
    write: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Initialised {
    /// The root of the project.
    pub(crate) root: String,
    /// Whether it is in a git repository.
    pub(crate) has_repository: bool,
    /// Programs and agents that are on the PATH.
    pub(crate) found: Vec<String>,
    /// What was made, from the root.
    pub(crate) wrote: Vec<String>,
    /// What was there already.
    pub(crate) kept: Vec<String>,
    /// The agent that was given roles.
    pub(crate) agent: Option<String>,
    /// These roles.
    pub(crate) roles: Vec<String>,
    /// The files of the agents that were to be connected.
    pub(crate) connections: Vec<ConnectionData>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let agents = meant(&args.agents)?;
    if !agents.is_empty() {
        init::may_connect(options())?;
    }
    let root = init::root()?;
    let found = init::look(&root);
    let mut prepared = init::prepare(&root, &found)?;
    if args.merge_driver {
        let installed = init::install_merge_driver(&root)?;
        prepared.wrote.extend(installed.wrote);
        prepared.kept.extend(installed.kept);
    }
    let names: Vec<String> = found
        .programs
        .iter()
        .copied()
        .chain(found.agents.iter().map(|agent| agent.name))
        .map(str::to_owned)
        .collect();
    say(&found, &prepared, &names, out);
    let consent = if args.write { Consent::Typed } else { Consent::Asked };
    let Connected { files, is_waiting } = connect(&root, &agents, consent, out)?;
    let has_plans = workspace()?.has_plans()?;
    let again = args.agents.join(",");
    let next = match (is_waiting, has_plans) {
        (true, _) => NextCommand::new(["planwright", "init", "--agents", again.as_str(), "--write"]),
        (false, true) => NextCommand::new(["planwright", "list"]),
        (false, false) => NextCommand::new(["planwright", "new", "first-plan"]),
    };
    let initialised = Initialised {
        root: root.display().to_string(),
        has_repository: found.has_repository,
        found: names,
        wrote: prepared.wrote,
        kept: prepared.kept,
        agent: prepared.agent.map(|agent| agent.name.to_owned()),
        roles: prepared.roles.iter().map(|role| (*role).to_owned()).collect(),
        connections: files,
    };
    if is_waiting {
        out.talk("nothing was written for agents: pass --write");
    }
    let exit = if is_waiting { Exit::Person } else { Exit::Done };
    Ok(Response::new(exit, "init", &initialised).next(next))
}

/// Reports what was found and created in the project.
fn say(found: &init::DetectedProject, prepared: &init::Prepared, names: &[String], out: &mut Out<'_>) {
    let mut line = |word: &str, tone: Tone, text: &str| {
        let pad = " ".repeat(6_usize.saturating_sub(word.len()));
        let word = out.palette().paint(tone, word);
        out.line(&format!("{word}{pad} {}", clean_line(text)));
    };
    line(
        "found",
        Tone::Good,
        &if names.is_empty() { "nothing on the PATH".to_owned() } else { names.join(", ") },
    );
    if !found.has_repository {
        line("note", Tone::Attention, "no git repository here; planwright works without one");
    }
    if !prepared.wrote.is_empty() {
        line("wrote", Tone::Good, &prepared.wrote.join(", "));
    }
    if !prepared.kept.is_empty() {
        line("kept", Tone::Muted, &prepared.kept.join(", "));
    }
    if let Some(agent) = prepared.agent {
        line("roles", Tone::Good, &format!("{}: {}", prepared.roles.join(", "), agent.command.join(" ")));
    }
}
