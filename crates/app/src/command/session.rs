//! `session`: a planner's session: directories outside the repository where it writes plans, proposed together.
//! `agentctl` offers the same under the names of document E.

use planwright_engine::agent::planning_session;

use crate::interaction::confirm::who;
use crate::interaction::project::here;
use crate::interaction::session::{SessionData, Tongue, commit, failure, say_dropped, thread_data};
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

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
    let project = here()?;
    let failed = |error| failure(error, Tongue::Planwright);
    let show = NextCommand::new(["planwright", "session", "show"]);
    let next = match &args.act {
        Act::Commit => return commit(&project, &who(), Tongue::Planwright, out),
        Act::Dir => {
            let desk = planning_session::open(&project).map_err(failed)?;
            out.line(&desk.current.folder.to_string_lossy());
            show
        }
        Act::Add => {
            let thread = planning_session::add(&project).map_err(failed)?;
            out.line(&format!("{}  {}", thread.id, thread.folder.display()));
            show
        }
        Act::Drop { thread } => {
            say_dropped(planning_session::drop_thread(&project, thread).map_err(failed)?, out);
            Tongue::Planwright.commit()
        }
        Act::Clear => {
            let thread = planning_session::clear(&project).map_err(failed)?;
            out.talk(&format!("cleared {}", clean_line(&thread.folder.to_string_lossy())));
            Tongue::Planwright.commit()
        }
        Act::Topic { topic } => {
            let desk = planning_session::set_topic(&project, topic).map_err(failed)?;
            out.talk(&format!("topic: {}", clean_line(desk.topic.as_deref().unwrap_or_default())));
            show
        }
        Act::Show => NextCommand::new(["planwright", "session", "dir"]),
    };
    let known = planning_session::existing(&project).map_err(failed)?;
    let data = known.map(|(desk, stood)| SessionData {
        topic: desk.topic.clone(),
        threads: desk
            .threads()
            .zip(&stood)
            .map(|(thread, stood)| thread_data(thread, stood.as_ref(), &desk.current.id))
            .collect(),
        ..SessionData::default()
    });
    let data = data.unwrap_or_default();
    let waits = data.threads.iter().find(|thread| thread.state.as_deref() == Some("proposed"));
    let next = match waits.and_then(|thread| thread.plan.as_ref()) {
        Some(plan) if matches!(args.act, Act::Show) => {
            NextCommand::new(["planwright", "review", plan.as_str()])
        }
        Some(_) | None => next,
    };
    if matches!(args.act, Act::Show) {
        print(&data, out);
    }
    Ok(Response::done("session", &data).next(next))
}

fn print(data: &SessionData, out: &mut Out<'_>) {
    if data.threads.is_empty() {
        out.line("no planning session");
        return;
    }
    if let Some(topic) = &data.topic {
        out.line(&format!("topic  {}", clean_line(topic)));
    }
    let mut table = Table::new();
    for thread in &data.threads {
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
