//! The command line of `agentctl`: the names of document E for `planwright session`. Planners call it; it proposes
//! and cannot approve.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use planwright_engine::api::SessionCommands;
use serde::Serialize;

use crate::interaction::notifier::notifications;
use crate::interaction::project::{finish, take_options, workspace};
use crate::interaction::session::{commit, say_dropped};
use crate::output::{Exit, Failure, Flags, NextCommand, Out, Page, Response, clean_line};

/// Whose words are typed.
const COMMANDS: SessionCommands = SessionCommands::Agentctl;

/// Plan directories for agents: write plans outside the repository, then propose them together.
#[derive(Debug, Parser)]
#[command(name = "agentctl", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "PLANWRIGHT_SESSION names the session [default: one per current directory].\n\
                  A commit proposes plans: a person reviews them with `planwright review`; nothing here approves them.")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Plan directories: where to write, and the commit
    #[command(subcommand)]
    Plan(Act),
    /// Set the session topic, at most 100 characters
    SetTopic {
        /// The topic
        #[arg(allow_hyphen_values = true)]
        topic: String,
    },
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Print the plan directory of the current thread
    Dir,
    #[command(
        about = "Allocate the plan directory of another thread: {\"thread_id\":\"…\",\"plan_dir\":\"…\"}"
    )]
    RequestThreadDir,
    /// Remove an additional thread and its directory
    RemoveThread {
        /// Thread id from `request-thread-dir`
        #[arg(long, value_name = "THREAD_ID", allow_hyphen_values = true)]
        thread_id: String,
    },
    /// Remove the plan of the current thread, keep its directory
    ClearCurrent,
    /// Check all plan directories and propose their plans, all or none
    Commit,
}

/// The answer to `request-thread-dir`, field for field as document E has it.
#[derive(Serialize)]
struct Allocated {
    thread_id: String,
    plan_dir: String,
}

/// Runs what was typed and returns how it ended.
pub fn run(words: impl Iterator<Item = OsString>) -> Exit {
    let mut out = Out::of_process(&Flags::default());
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render().to_string();
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
                out.data(&text);
                return out.finish(&Ok(Response::done("help", &Page { text })));
            }
            out.complain(&text);
            return Exit::Usage;
        }
    };
    let result = take_options(Vec::new(), None, Some(notifications())).and_then(|()| act(cli.verb, &mut out));
    let exit = out.finish(&result);
    finish();
    exit
}

fn act(verb: Verb, out: &mut Out<'_>) -> Result<Response, Failure> {
    let workspace = workspace()?;
    let session = workspace.session(COMMANDS);
    match verb {
        Verb::SetTopic { topic } => {
            out.talk(&format!("topic: {}", clean_line(&session.set_topic(&topic)?)));
        }
        Verb::Plan(Act::Dir) => out.line(&session.folder()?.to_string_lossy()),
        Verb::Plan(Act::RequestThreadDir) => {
            let thread = session.add()?;
            let plan_dir = thread.folder.to_string_lossy().into_owned();
            let allocated = Allocated { thread_id: thread.id, plan_dir };
            let text = serde_json::to_string(&allocated).expect("two texts are JSON");
            out.line(&text);
        }
        Verb::Plan(Act::RemoveThread { thread_id }) => say_dropped(&session.drop_thread(&thread_id)?, out),
        Verb::Plan(Act::ClearCurrent) => {
            out.talk(&format!("cleared {}", clean_line(&session.clear()?.folder.to_string_lossy())));
        }
        Verb::Plan(Act::Commit) => return commit(&session, COMMANDS, out),
    }
    // Scripts read what is printed; there is nothing to add to it.
    Ok(Response {
        exit: Exit::Done,
        name: "session",
        data: serde_json::Value::Null,
        next: Vec::<NextCommand>::new(),
    })
}
