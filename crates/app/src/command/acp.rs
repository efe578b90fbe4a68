//! `acp`: bridge to an agent that speaks the Agent Client Protocol. Attempts start it; it reads the prompt from
//! standard input and prints one JSON object per event.

use std::io::Read;
use std::path::Path;

use planwright_engine::agent::acp;
use planwright_engine::system::process::Stop;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::signal::Signals;
use crate::output::{Exit, Failure, NextCommand, Out, Response, clean_line};

/// The longest prompt.
const PROMPT_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agent command
    #[arg(last = true, required = true)]
    agent: Vec<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Bridged {
    /// The session, as the agent names it.
    pub(crate) session: String,
    /// Why the turn ended, in the agent's word: `end_turn`.
    pub(crate) stop: String,
    /// How many calls were refused.
    pub(crate) refused: usize,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let mut prompt = Vec::new();
    let read = std::io::stdin().take(PROMPT_BYTES_MAX).read_to_end(&mut prompt);
    read.map_err(|error| Failure::new(Exit::Machine, "cannot read the prompt").because(&error))?;
    let signals = Signals::listen()
        .map_err(|error| Failure::new(Exit::Machine, "cannot listen to signals").because(&error))?;
    let here = std::env::current_dir()
        .map_err(|error| Failure::new(Exit::Machine, "cannot read the current directory").because(&error))?;
    let stop = Stop::new();
    let ended = bridge(args, (&here, &String::from_utf8_lossy(&prompt)), (&signals, &stop), out);
    match ended {
        Ok(ended) => {
            let acp::AcpEnd { session, stop, refused } = ended;
            // A refused or truncated turn still ends; the contract decides.
            Ok(Response::done("acp", &Bridged { session, stop, refused }))
        }
        Err(acp::Error::Stopped) => Err(Failure::new(signals.leave().unwrap_or(Exit::Terminated), "stopped")),
        Err(error) => {
            let next = NextCommand::new(["planwright", "doctor"]);
            Err(Failure::from_error(Exit::Machine, &error).next(next))
        }
    }
}

/// Runs the bridge and watches for signals.
fn bridge(
    args: &Args,
    (folder, prompt): (&Path, &str),
    (signals, stop): (&Signals, &Stop),
    out: &mut Out<'_>,
) -> Result<acp::AcpEnd, acp::Error> {
    std::thread::scope(|threads| {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        threads.spawn(move || {
            let pause = std::time::Duration::from_millis(50);
            while is_done.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                if signals.leave().is_some() {
                    stop.request();
                }
            }
        });
        let ended = acp::bridge(&args.agent, (folder, prompt), stop, &mut |event| {
            out.line(&clean_line(&event.to_string()));
            out.flush();
        });
        drop(done);
        ended
    })
}
