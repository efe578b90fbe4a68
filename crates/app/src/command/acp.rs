//! `acp`: bridge to an agent that speaks the Agent Client Protocol. Attempts start it; it reads the prompt from
//! standard input and prints one JSON object per event.

use std::io::Read;

use planwright_engine::api::{AcpEnd, Error, ErrorKind, Stop, bridge_acp};

use crate::interaction::signal::Signals;
use crate::output::{Exit, Failure, Out, Response, clean_line};

/// The longest prompt.
const PROMPT_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agent command
    #[arg(last = true, required = true)]
    agent: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let mut prompt = Vec::new();
    let read = std::io::stdin().take(PROMPT_BYTES_MAX).read_to_end(&mut prompt);
    read.map_err(|error| Failure::new(Exit::Machine, "cannot read the prompt").because(&error))?;
    let signals = Signals::listen()
        .map_err(|error| Failure::new(Exit::Machine, "cannot listen to signals").because(&error))?;
    match bridge(args, &String::from_utf8_lossy(&prompt), &signals, out) {
        // A refused or truncated turn still ends; the contract decides.
        Ok(ended) => Ok(Response::done("acp", &ended)),
        Err(error) if error.kind == ErrorKind::Stopped => {
            Err(Failure::new(signals.leave().unwrap_or(Exit::Terminated), error.message))
        }
        Err(error) => Err(error.into()),
    }
}

/// Runs the bridge and watches for signals.
fn bridge(args: &Args, prompt: &str, signals: &Signals, out: &mut Out<'_>) -> Result<AcpEnd, Error> {
    let stop = &Stop::new();
    std::thread::scope(|threads| {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let watch = move || {
            let pause = std::time::Duration::from_millis(50);
            while is_done.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                if signals.leave().is_some() {
                    stop.request();
                }
            }
        };
        std::thread::Builder::new().spawn_scoped(threads, watch).map_err(|error| {
            Error::new(ErrorKind::Machine, "cannot start a thread for signals").because(&error)
        })?;
        let ended = bridge_acp(&args.agent, prompt, stop, &mut |event| {
            out.line(&clean_line(&event.to_string()));
            out.flush();
        });
        drop(done);
        ended
    })
}
