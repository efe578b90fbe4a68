//! What a supervisor waits for: the exit of children, messages from planwright, room for the command's input.
//! Waits for all of them in one thread and decides nothing.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::shim::STOP;
use super::system::{self, Deaths};

#[derive(Debug)]
pub(super) enum PollEvent {
    Ended(ExitStatus),
    /// No child is left, so this process has no descendants.
    Childless,
    /// Planwright wants the command to end.
    Stop,
    /// Planwright is gone.
    Orphaned,
}

pub(super) struct PollListener<'a> {
    /// `None` once planwright is gone.
    harness: Option<&'a UnixStream>,
    /// Whether a stop arrived that was not reported yet.
    is_stopped: bool,
    deaths: Deaths,
    /// The command's process id, until it has exited.
    command: Option<i32>,
    /// What the command has yet to read; `None` once it has all of it, or wants no more.
    input: Option<Input>,
}

struct Input {
    pipe: io::PipeWriter,
    bytes: Vec<u8>,
    written: usize,
}

impl<'a> PollListener<'a> {
    /// Listens for `command`, which gets `bytes` as input. `early` is what planwright already sent.
    pub(super) fn new(
        harness: &'a UnixStream,
        command: i32,
        (pipe, bytes): (io::PipeWriter, Vec<u8>),
        early: &[u8],
    ) -> io::Result<Self> {
        // A command need not read its input, and nothing waits for one that does not.
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self {
            harness: Some(harness),
            is_stopped: early.contains(&STOP),
            deaths: Deaths::listen()?,
            command: Some(command),
            input: Some(Input { pipe, bytes, written: 0 }),
        })
    }

    /// Waits for the next event until a time; `None` if there was none.
    pub(super) fn next(&mut self, until: Option<Instant>) -> Option<PollEvent> {
        loop {
            if let Some(event) = system::reap(&mut self.command) {
                return Some(event);
            }
            if std::mem::take(&mut self.is_stopped) {
                return Some(PollEvent::Stop);
            }
            self.input = self.input.take().and_then(Input::feed);
            let patience = until.map(|until| until.saturating_duration_since(Instant::now()));
            if patience == Some(Duration::ZERO) {
                return None;
            }
            if self.has_word(patience) {
                match self.harness.and_then(heard) {
                    Some(is_stop) => self.is_stopped |= is_stop,
                    None => {
                        self.harness = None;
                        return Some(PollEvent::Orphaned);
                    }
                }
            }
        }
    }

    /// Waits until there is something to do; returns whether planwright sent something.
    fn has_word(&self, patience: Option<Duration>) -> bool {
        let wanted = |flags| move |descriptor| PollFd::new(descriptor, flags);
        let harness = self.harness.map(AsFd::as_fd).map(wanted(PollFlags::POLLIN));
        let deaths = self.deaths.descriptor().map(wanted(PollFlags::POLLIN));
        let input = self.input.as_ref().map(|input| input.pipe.as_fd()).map(wanted(PollFlags::POLLOUT));
        let mut all: Vec<PollFd<'_>> = harness.into_iter().chain(deaths).chain(input).collect();
        let patience = [patience, Deaths::LOOK].into_iter().flatten().min();
        // An interrupted wait only ends early, and the caller checks everything anyway.
        let is_ready = poll(&mut all, timeout(patience)).is_ok_and(|count| count > 0);
        self.deaths.forget();
        is_ready && self.harness.is_some() && all[0].any() == Some(true)
    }
}

impl Input {
    /// Writes as much input as there is room for. Returns the rest.
    fn feed(mut self) -> Option<Self> {
        while self.written < self.bytes.len() {
            match self.pipe.write(&self.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(self),
                Err(_) => return None,
            }
        }
        None
    }
}

/// Whether planwright sent a stop; `None` if it is gone.
fn heard(mut harness: &UnixStream) -> Option<bool> {
    let mut bytes = [0; 16];
    match harness.read(&mut bytes) {
        Ok(0) => None,
        Ok(count) => Some(bytes[..count].contains(&STOP)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(false),
        Err(_) => None,
    }
}

/// The duration for the kernel, in whole milliseconds: rounded up, or the last one would be spent polling.
pub(super) fn timeout(patience: Option<Duration>) -> PollTimeout {
    let Some(patience) = patience else { return PollTimeout::NONE };
    let milliseconds = patience.as_nanos().div_ceil(1_000_000);
    i32::try_from(milliseconds).ok().and_then(|it| PollTimeout::try_from(it).ok()).unwrap_or(PollTimeout::MAX)
}
