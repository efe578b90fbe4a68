//! A program that is talked to line by line while it runs. It is a part of an attempt: whoever supervises that ends what this leaves.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::Error;

/// The longest line that is taken; a longer one ends the talk.
const LINE_BYTES_MAX: u64 = 32 << 20;
/// How many lines wait to be heard before the program has to.
const LINES_MAX: usize = 64;
/// How often a program that was told to end is looked at.
const POLL: Duration = Duration::from_millis(5);

/// A program that is talked to.
pub struct Dialogue {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A line.
    Line(String),
    /// Nothing yet.
    Nothing,
    /// It says no more.
    Ended,
}

impl Dialogue {
    /// Starts a program in a folder. What it complains about goes where our own complaints go.
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
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        let (send, lines) = sync_channel(LINES_MAX);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                let read = output.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
                let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES_MAX;
                let text = String::from_utf8_lossy(&line).trim().to_owned();
                // Nobody listens any more, or there is nothing more to hear.
                if read.is_err() || line.is_empty() || !is_whole || send.send(text).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, lines })
    }

    /// Says one line.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{line}\n").as_bytes())?;
        input.flush()
    }

    /// What it says next, if it says anything within the time.
    pub fn hear(&self, patience: Duration) -> Said {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Said::Line(line),
            Err(RecvTimeoutError::Timeout) => Said::Nothing,
            Err(RecvTimeoutError::Disconnected) => Said::Ended,
        }
    }

    /// Says no more, waits for its end and kills it where it does not come. Its exit code, if it had one.
    pub fn end(mut self, grace: Duration) -> Option<i32> {
        drop(self.input.take());
        let until = Instant::now() + grace;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) => std::thread::sleep(POLL),
                Err(_) => break,
            }
        }
        // It may be gone this very moment; either way it is waited for.
        self.child.kill().ok();
        self.child.wait().ok().and_then(|status| status.code())
    }
}
