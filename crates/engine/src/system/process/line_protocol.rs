//! A program that exchanges lines with planwright while it runs. It is part of an attempt, whose supervisor
//! ends whatever it leaves behind.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Error;

/// The longest accepted line; a longer one ends the dialogue.
const LINE_BYTES_MAX: u64 = 32 << 20;
/// How much is queued in either direction, apart from a single larger line.
const QUEUE_BYTES_MAX: usize = 16 << 20;
/// The overhead of a line besides its text; empty ones are not free.
const LINE_BYTES_COST: usize = 64;
/// How often a program that was told to exit is checked.
const POLL: Duration = Duration::from_millis(5);

pub struct LineProtocol {
    child: Child,
    /// Lines for the program.
    told: Arc<Queue>,
    /// Lines from the program.
    heard: Arc<Queue>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolLine {
    Line(String),
    Nothing,
    /// No more lines will come.
    Ended,
}

impl LineProtocol {
    /// Starts a program in a directory. Its error output goes to ours.
    pub fn start(argv: &[String], folder: &Path) -> Result<Self, Error> {
        let program = argv.first().cloned().unwrap_or_default();
        let failed = |source| Error::Start { program: program.clone(), source };
        let mut command = Command::new(&program);
        command.args(argv.iter().skip(1)).current_dir(folder);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = pipes else { return Err(failed(io::ErrorKind::BrokenPipe.into())) };
        let (told, heard) = (Arc::<Queue>::default(), Arc::<Queue>::default());
        // Each direction has its own thread: a program that writes before it reads would otherwise deadlock
        // with us.
        let (to_tell, to_hear) = (Arc::clone(&told), Arc::clone(&heard));
        let writer = std::thread::Builder::new().spawn(move || write(input, &to_tell));
        let reader = writer.and_then(|_| std::thread::Builder::new().spawn(move || read(output, &to_hear)));
        let protocol = Self { child, told, heard };
        match reader {
            Ok(_) => Ok(protocol),
            Err(source) => {
                protocol.end(Duration::ZERO);
                Err(failed(source))
            }
        }
    }

    /// Sends one line without waiting for the program to read it. Fails if the program no longer reads, or
    /// has not for long.
    pub fn say(&self, line: &str) -> io::Result<()> {
        self.told.put_now(format!("{line}\n"))
    }

    /// The next line, if one comes in time.
    pub fn hear(&self, patience: Duration) -> ProtocolLine {
        self.heard.take(Some(patience))
    }

    /// Closes its input, waits for it to exit, and kills it if it does not. Returns its exit code, if it had
    /// one.
    pub fn end(mut self, grace: Duration) -> Option<i32> {
        self.told.close();
        let until = Instant::now() + grace;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) => std::thread::sleep(POLL),
                Err(_) => break,
            }
        }
        // It may exit at this very moment; either way it is waited for.
        self.child.kill().ok();
        self.child.wait().ok().and_then(|status| status.code())
    }
}

impl Drop for LineProtocol {
    fn drop(&mut self) {
        self.told.close();
        self.heard.close();
    }
}

/// Writes queued lines to a program until the queue is closed or the program is gone.
fn write(mut input: ChildStdin, told: &Queue) {
    while let ProtocolLine::Line(line) = told.take(None) {
        if input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_err() {
            break;
        }
    }
    told.close();
}

/// Queues a program's lines until there are no more or nothing reads them.
fn read(output: ChildStdout, heard: &Queue) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let read = output.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES_MAX;
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if read.is_err() || line.is_empty() || !is_whole || !heard.put(text) {
            break;
        }
    }
    heard.close();
}

/// Lines in one direction.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<String>,
    bytes: usize,
    /// Nothing more comes in; queued lines can still be taken.
    is_closed: bool,
}

impl Waiting {
    fn has_room_for(&self, line: &str) -> bool {
        self.lines.is_empty() || self.bytes + cost(line) <= QUEUE_BYTES_MAX
    }

    fn add(&mut self, line: String) {
        self.bytes += cost(&line);
        self.lines.push_back(line);
    }
}

fn cost(line: &str) -> usize {
    line.len() + LINE_BYTES_COST
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room; returns whether the line was queued.
    fn put(&self, line: String) -> bool {
        let is_full = |waiting: &mut Waiting| !waiting.is_closed && !waiting.has_room_for(&line);
        let mut waiting =
            self.changed.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        if waiting.is_closed {
            return false;
        }
        waiting.add(line);
        self.changed.notify_all();
        true
    }

    fn put_now(&self, line: String) -> io::Result<()> {
        let mut waiting = self.lock();
        if waiting.is_closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !waiting.has_room_for(&line) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        waiting.add(line);
        self.changed.notify_all();
        Ok(())
    }

    /// The next line, waiting up to a limit if there is one.
    fn take(&self, patience: Option<Duration>) -> ProtocolLine {
        let is_bare = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.is_closed;
        let mut waiting = match patience {
            Some(patience) => {
                let waited = self.changed.wait_timeout_while(self.lock(), patience, is_bare);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.changed.wait_while(self.lock(), is_bare).unwrap_or_else(PoisonError::into_inner),
        };
        match waiting.lines.pop_front() {
            Some(line) => {
                waiting.bytes -= cost(&line);
                self.changed.notify_all();
                ProtocolLine::Line(line)
            }
            None if waiting.is_closed => ProtocolLine::Ended,
            None => ProtocolLine::Nothing,
        }
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}
