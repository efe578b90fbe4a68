//! `tools`: tools that plans can use, and refused calls of agents.

use planwright_engine::Project;
use planwright_engine::run::permission;
use planwright_engine::run::permission::PermissionNotice;
use planwright_engine::system::clock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::here;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show refused calls
    #[arg(long)]
    refused: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tools {
    /// The tools that are listed in the settings; empty where none are, and a plan may ask for any.
    pub(crate) tools: Vec<Tool>,
    /// Tools that need an approved plan, in sessions of people.
    pub(crate) guarded: Vec<String>,
    /// Calls that were out of scope, the oldest first; empty without `--refused`.
    pub(crate) refused: Vec<RefusedData>,
}

/// One tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: String,
    /// What it can do.
    pub(crate) operations: Vec<String>,
}

/// One call that was out of scope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RefusedData {
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The attempt: `plan/step@attempt`; empty for a session of a person.
    pub(crate) place: String,
    /// The tool, as the agent calls it.
    pub(crate) tool: String,
    /// Whether it was stopped; else it would have been.
    pub(crate) is_blocked: bool,
    /// Why.
    pub(crate) why: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let project = here()?;
    let tools = project.config.tools.iter();
    let tools = tools.map(|(name, operations)| Tool { name: name.clone(), operations: operations.clone() });
    let guarded = permission::guard_of(&project).0.tools;
    let refused = if args.refused { refused(&project)? } else { Vec::new() };
    let data = Tools { tools: tools.collect(), guarded, refused };
    if args.refused {
        show_refused(&data.refused, out);
        return Ok(Response::done("tools", &data).next(NextCommand::new([
            "planwright",
            "config",
            "scope.mode",
        ])));
    }
    out.data(
        &permission::inventory(&project.config)
            .lines()
            .map(|line| format!("{}\n", clean_line(line)))
            .collect::<String>(),
    );
    if data.tools.is_empty() {
        out.talk("no tool list; plans may use any tool; list them as [tools.NAME] operations = […]");
    }
    if !data.guarded.is_empty() {
        out.line(&format!("Guarded: {}", clean_line(&data.guarded.join(", "))));
    }
    Ok(Response::done("tools", &data).next(NextCommand::new(["planwright", "tools", "--refused"])))
}

fn refused(project: &Project) -> Result<Vec<RefusedData>, Failure> {
    let told =
        permission::refused(project)?.into_iter().map(|PermissionNotice { place, refused }| RefusedData {
            at_ms: refused.at_ms,
            place,
            tool: refused.tool,
            is_blocked: refused.is_blocked,
            why: refused.why,
        });
    Ok(told.collect())
}

fn show_refused(all: &[RefusedData], out: &mut Out<'_>) {
    let mut table = Table::new();
    for one in all {
        let word = if one.is_blocked { "blocked" } else { "would have blocked" };
        table.row(vec![
            Cell::new(clock::local(one.at_ms)).tone(Tone::Muted),
            Cell::new(if one.place.is_empty() { "session" } else { &one.place }),
            Cell::new(format!("{word} {}", one.tool)),
            Cell::new(&one.why),
        ]);
    }
    out.table(&table);
    if all.is_empty() {
        out.talk("no refused calls");
    }
}
