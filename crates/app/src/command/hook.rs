//! `hook`: called by agents before a tool call and when a session starts, is compacted or ends. Reads JSON from
//! stdin; exit 0 allows it, exit 2 with a reason on stderr blocks it.

use std::path::PathBuf;

use planwright_engine::agent::hook;
use planwright_engine::agent::hook::{HookEvent, HookReply};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Exit, Failure, NextCommand, Out, Response, clean};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// pre-tool, session-start, pre-compact or stop [default: from the input]
    event: Option<String>,
    /// Print JSON for allowed calls as well, for agents that need it
    #[arg(long)]
    grant: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Hooked {
    /// What was asked about: `pre-tool`, `session-start`, `pre-compact` or `stop`.
    pub(crate) event: String,
    /// Whether it may happen.
    pub(crate) allowed: bool,
    /// What the agent is told: why it may not, or what goes into its session.
    pub(crate) text: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let event = args.event.as_deref().map(event).transpose()?;
    let patience = match event {
        Some(HookEvent::SessionStart) => hook::SESSION_PATIENCE,
        Some(HookEvent::PreTool | HookEvent::PreCompact | HookEvent::Stop) | None => hook::PATIENCE,
    };
    // What can't be read is as good as rubbish, and is answered so.
    let input = hook::read_request(patience);
    // Agents start hooks in any directory and pass that of the session.
    let folder = hook::folder_in(&input).unwrap_or_else(|| PathBuf::from("."));
    let answered = hook::answer(event, &input, &folder);
    out.warn_all(&answered.complaints);
    let data = |allowed: bool, text: &str| Hooked {
        event: word(answered.event).to_owned(),
        allowed,
        text: text.to_owned(),
    };
    Ok(match &answered.reply {
        HookReply::Pass => {
            if args.grant && answered.event == HookEvent::PreTool {
                out.line(hook::GRANT);
            }
            Response::done("hook", &data(true, ""))
        }
        HookReply::Say(text) => {
            out.data(&clean(text));
            Response::done("hook", &data(true, text))
        }
        HookReply::Refuse(reason) => {
            out.complain(&format!("{}\n", clean(reason)));
            Response::new(Exit::Usage, "hook", &data(false, reason))
        }
    })
}

fn event(word: &str) -> Result<HookEvent, Failure> {
    HookEvent::of_word(word).ok_or_else(|| {
        let words: Vec<&str> = hook::EVENTS.iter().map(|(_, word, _)| *word).collect();
        Failure::new(Exit::Usage, format!("unknown event `{word}`"))
            .hint(format!("the events are {}", words.join(", ")))
            .next(NextCommand::new(["planwright", "help", "hook"]))
    })
}

fn word(event: HookEvent) -> &'static str {
    hook::EVENTS.iter().find(|(known, _, _)| *known == event).map_or("pre-tool", |(_, word, _)| word)
}
