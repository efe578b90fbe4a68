//! The command line of `agentctl`: the names of document E for `planwright session`. Planners call it; it proposes
//! and cannot approve.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use planwright_engine::agent::planning_session;
use planwright_engine::core::plan::identity::{Identity, Role};
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::notifier::notifications;
use crate::interaction::project::{finish, here, take_options};
use crate::interaction::session::{Tongue, commit, failure, say_dropped};
use crate::output::{Exit, Failure, Flags, NextCommand, Out, Page, Response, clean_line};

/// What a committed plan is proposed by where nothing tells which agent it is.
const NAME: &str = "agentctl";

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
    let project = here()?;
    let failed = |error| failure(error, Tongue::Agentctl);
    match verb {
        Verb::SetTopic { topic } => {
            let desk = planning_session::set_topic(&project, &topic).map_err(failed)?;
            out.talk(&format!("topic: {}", clean_line(desk.topic.as_deref().unwrap_or_default())));
        }
        Verb::Plan(Act::Dir) => {
            let desk = planning_session::open(&project).map_err(failed)?;
            out.line(&desk.current.folder.to_string_lossy());
        }
        Verb::Plan(Act::RequestThreadDir) => {
            let thread = planning_session::add(&project).map_err(failed)?;
            let plan_dir = thread.folder.to_string_lossy().into_owned();
            let allocated = Allocated { thread_id: thread.id, plan_dir };
            let text = serde_json::to_string(&allocated).expect("two texts are JSON");
            out.line(&text);
        }
        Verb::Plan(Act::RemoveThread { thread_id }) => {
            say_dropped(planning_session::drop_thread(&project, &thread_id).map_err(failed)?, out);
        }
        Verb::Plan(Act::ClearCurrent) => {
            let thread = planning_session::clear(&project).map_err(failed)?;
            out.talk(&format!("cleared {}", clean_line(&thread.folder.to_string_lossy())));
        }
        Verb::Plan(Act::Commit) => return commit(&project, &planner(), Tongue::Agentctl, out),
    }
    // Scripts read what is printed; there is nothing to add to it.
    Ok(Response {
        exit: Exit::Done,
        name: "session",
        data: serde_json::Value::Null,
        next: Vec::<NextCommand>::new(),
    })
}

/// Commits are always made by an agent: this program is for agents.
fn planner() -> Identity {
    let who = who();
    match who.role {
        Role::Agent => who,
        Role::Person | Role::Policy | Role::Age => Identity::agent(NAME),
    }
}
