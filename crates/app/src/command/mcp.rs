//! `mcp`: serves agents over the Model Context Protocol on standard input and output, or lists the tools.

use std::io::{self, IsTerminal as _};

use planwright_engine::api::job_above;
use schemars::JsonSchema;
use serde::Serialize;

use crate::mcp;
use crate::mcp::McpRole;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Role of the client
    #[arg(long)]
    role: McpRole,
    /// List the tools of the role and exit
    #[arg(long)]
    list: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Served {
    /// The role.
    pub(crate) role: String,
    /// Its tools.
    pub(crate) tools: Vec<ToolData>,
    /// How many bytes the definitions have that a client gets; about four are a token.
    pub(crate) bytes: usize,
}

/// A tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolData {
    /// Its name.
    pub(crate) name: String,
    /// What a model is told.
    pub(crate) about: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let role = args.role.word();
    let served = served(args.role);
    let next = NextCommand::new(["planwright", "help", "mcp"]);
    if args.list {
        let mut table = Table::new();
        for tool in &served.tools {
            table.row(vec![Cell::new(&tool.name).tone(Tone::Strong), Cell::new(&tool.about)]);
        }
        out.table(&table);
        out.line(&format!("{} tools, {} bytes of definitions", served.tools.len(), served.bytes));
        return Ok(Response::done("mcp", &served).next(next));
    }
    if out.settings().is_json {
        let failure = Failure::new(Exit::Usage, "--json needs --list: standard output carries the protocol");
        return Err(failure.hint("pass --list to print the tools").next(NextCommand::new([
            "planwright",
            "mcp",
            "--role",
            role,
            "--list",
        ])));
    }
    // Whatever an attempt has started speaks for an agent that may decide nothing.
    if let Some(sign) = job_above().filter(|_| args.role == McpRole::Human) {
        let message = format!("role human is for people; this terminal belongs to an agent ({sign})");
        return Err(Failure::new(Exit::Person, message).next(NextCommand::new([
            "planwright",
            "mcp",
            "--role",
            "executor",
            "--list",
        ])));
    }
    if io::stdin().is_terminal() {
        out.talk("waiting for an MCP client on standard input; Ctrl-D ends the server");
    }
    mcp::serve(args.role)
        .map_err(|error| Failure::new(Exit::Machine, "cannot start the server").because(&error))?;
    Ok(Response::done("mcp", &served))
}

/// What a client sees of a role.
fn served(role: McpRole) -> Served {
    let definitions = mcp::definitions(role);
    let bytes = serde_json::to_string(&definitions).map_or(0, |text| text.len());
    let tools = definitions
        .tools
        .iter()
        .map(|tool| ToolData { name: tool.name.to_owned(), about: tool.description.to_owned() });
    Served { role: role.word().to_owned(), tools: tools.collect(), bytes }
}
