//! `session`: a planner's session: directories outside the repository where it writes plans, proposed together.
//! `agentctl` offers the same under the names of document E.

use planwright_engine::api::{SessionCommands, SessionView};

use crate::interaction::project::workspace;
use crate::interaction::session::{commit, say_dropped};
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

/// Whose words are typed.
const COMMANDS: SessionCommands = SessionCommands::Planwright;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Print the plan directory of the current thread; create it if needed
    Dir,
    /// Allocate the plan directory of another thread
    Add,
    /// Remove an additional thread and its directory
    Drop {
        /// Thread
        #[arg(value_name = "THREAD", allow_hyphen_values = true)]
        thread: String,
    },
    /// Remove the plan of the current thread; keep its directory
    Clear,
    /// Check and propose the plans of all threads, all or none
    Commit,
    /// Set the topic of the session, 100 characters at most
    Topic {
        /// Topic
        #[arg(allow_hyphen_values = true)]
        topic: String,
    },
    /// Show threads, directories and plan states
    Show,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let workspace = workspace()?;
    let session = workspace.session(COMMANDS);
    let show = NextCommand::new(["planwright", "session", "show"]);
    let next = match &args.act {
        Act::Commit => return commit(&session, COMMANDS, out),
        Act::Dir => {
            out.line(&session.folder()?.to_string_lossy());
            show
        }
        Act::Add => {
            let thread = session.add()?;
            out.line(&format!("{}  {}", thread.id, thread.folder.display()));
            show
        }
        Act::Drop { thread } => {
            say_dropped(&session.drop_thread(thread)?, out);
            COMMANDS.commit()
        }
        Act::Clear => {
            out.talk(&format!("cleared {}", clean_line(&session.clear()?.folder.to_string_lossy())));
            COMMANDS.commit()
        }
        Act::Topic { topic } => {
            out.talk(&format!("topic: {}", clean_line(&session.set_topic(topic)?)));
            show
        }
        Act::Show => NextCommand::new(["planwright", "session", "dir"]),
    };
    let view = session.view()?;
    if !matches!(args.act, Act::Show) {
        return Ok(Response::done("session", &view).next(next));
    }
    print(&view, out);
    let waits = view.threads.iter().find(|thread| thread.state.as_deref() == Some("proposed"));
    let next = match waits.and_then(|thread| thread.plan.as_ref()) {
        Some(plan) => NextCommand::new(["planwright", "review", plan.as_str()]),
        None => next,
    };
    Ok(Response::done("session", &view).next(next))
}

fn print(view: &SessionView, out: &mut Out<'_>) {
    if view.threads.is_empty() {
        out.line("no planning session");
        return;
    }
    if let Some(topic) = &view.topic {
        out.line(&format!("topic  {}", clean_line(topic)));
    }
    let mut table = Table::new();
    for thread in &view.threads {
        let stands = match (&thread.state, thread.revision) {
            (Some(state), Some(revision)) if revision > 0 => format!("r{revision} {state}"),
            (Some(_) | None, _) => "not committed".to_owned(),
        };
        table.row([
            Cell::new(&thread.thread_id).tone(Tone::Strong),
            Cell::new(if thread.is_current { "current" } else { "additional" }),
            Cell::new(thread.plan.as_deref().unwrap_or("-")),
            Cell::new(stands),
            Cell::new(&thread.plan_dir).tone(Tone::Muted),
        ]);
    }
    out.table(&table);
}
