//! A short talk with a program: feeds its input, reads its outputs and waits for its exit, all in the calling
//! thread. A program that writes before it reads deadlocks with nobody, and nothing else has to be started.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, poll};

use super::Error;
use super::poll::timeout;

/// How often a program whose outputs are silent is checked.
const LOOK: Duration = Duration::from_millis(20);
/// The pause before a program that has closed its outputs is checked again.
const POLL: Duration = Duration::from_millis(1);
/// How long outputs are read once the program has exited. Only something that it started can hold them then.
const DRAIN_MAX: Duration = Duration::from_secs(2);
const CHUNK_BYTES: usize = 1 << 16;

/// What is said to a program, and how much of it is heard. Its streams are piped where the command says so.
pub(super) struct Exchange<'a> {
    pub(super) program: &'a str,
    pub(super) input: &'a [u8],
    pub(super) stdout_bytes_max: usize,
    pub(super) stderr_bytes_max: usize,
    pub(super) deadline: Duration,
}

pub(super) struct Exchanged {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// An output of the program. The rest beyond the limit is read and dropped: a full pipe would block the writer.
struct Output<Pipe> {
    /// `None` once it was read to its end.
    pipe: Option<Pipe>,
    bytes: Vec<u8>,
    bytes_max: usize,
}

/// What the program has yet to read.
struct Input<'a> {
    pipe: ChildStdin,
    left: &'a [u8],
}

impl Exchange<'_> {
    /// Starts the program and talks with it to its end. It is killed when it takes too long.
    pub(super) fn with(&self, command: &mut Command) -> Result<Exchanged, Error> {
        let started = command.spawn();
        let mut child =
            started.map_err(|source| Error::Start { program: self.program.to_owned(), source })?;
        match self.talk(&mut child) {
            Ok(Some(exchanged)) => Ok(exchanged),
            Ok(None) => {
                self.end(&mut child)?;
                let (program, seconds) = (self.program.to_owned(), self.deadline.as_secs());
                Err(Error::Deadline { program, seconds })
            }
            Err(source) => {
                // The first error is reported: whether it could be ended matters less.
                self.end(&mut child).ok();
                Err(self.failed(source))
            }
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Talk { program: self.program.to_owned(), source }
    }

    fn end(&self, child: &mut Child) -> Result<(), Error> {
        child.kill().and_then(|()| child.wait()).map(drop).map_err(|source| self.failed(source))
    }

    /// `None` if the program takes too long.
    fn talk(&self, child: &mut Child) -> io::Result<Option<Exchanged>> {
        let begin = Instant::now();
        let mut input = Input::of(child.stdin.take(), self.input)?;
        let mut stdout = Output::of(child.stdout.take(), self.stdout_bytes_max);
        let mut stderr = Output::of(child.stderr.take(), self.stderr_bytes_max);
        let mut exited: Option<(ExitStatus, Instant)> = None;
        loop {
            if exited.is_none() {
                exited = child.try_wait()?.map(|status| (status, Instant::now()));
            }
            let is_silent = stdout.pipe.is_none() && stderr.pipe.is_none();
            if let Some((status, since)) = exited
                && (is_silent || since.elapsed() > DRAIN_MAX)
            {
                let (stdout, stderr) = (stdout.bytes, stderr.bytes);
                return Ok(Some(Exchanged { status, stdout, stderr }));
            }
            if begin.elapsed() > self.deadline {
                return Ok(None);
            }
            if is_silent && input.is_none() {
                std::thread::sleep(POLL);
                continue;
            }
            let ready = ready([
                input.as_ref().map(|input| PollFd::new(input.pipe.as_fd(), PollFlags::POLLOUT)),
                stdout.pipe.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)),
                stderr.pipe.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)),
            ])?;
            if ready[0] {
                input = input.map_or(Ok(None), Input::feed)?;
            }
            if ready[1] {
                stdout.read()?;
            }
            if ready[2] {
                stderr.read()?;
            }
        }
    }
}

/// Waits a while until one of the streams can be used, and returns which.
fn ready(streams: [Option<PollFd<'_>>; 3]) -> io::Result<[bool; 3]> {
    let mut all: Vec<PollFd<'_>> = streams.iter().flatten().cloned().collect();
    match poll(&mut all, timeout(Some(LOOK))) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut polled = all.iter().map(|one| one.any() == Some(true));
    Ok(streams.map(|stream| stream.is_some() && polled.next() == Some(true)))
}

impl<'a> Input<'a> {
    fn of(pipe: Option<ChildStdin>, left: &'a [u8]) -> io::Result<Option<Self>> {
        let Some(pipe) = pipe.filter(|_| !left.is_empty()) else { return Ok(None) };
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Some(Self { pipe, left }))
    }

    /// Writes as much as there is room for. Returns the rest; a program that stops reading has read enough.
    fn feed(mut self) -> io::Result<Option<Self>> {
        while !self.left.is_empty() {
            match self.pipe.write(self.left) {
                Ok(count) => self.left = &self.left[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Some(self)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl<Pipe: Read> Output<Pipe> {
    const fn of(pipe: Option<Pipe>, bytes_max: usize) -> Self {
        Self { pipe, bytes: Vec::new(), bytes_max }
    }

    /// Reads once what is there.
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut chunk = vec![0; CHUNK_BYTES];
        match pipe.read(&mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let room = self.bytes_max.saturating_sub(self.bytes.len());
                self.bytes.extend_from_slice(&chunk[..count.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn exchange(script: &str, input: &[u8], deadline: Duration) -> Result<Exchanged, Error> {
        let mut bash = Command::new("bash");
        bash.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (stdout_bytes_max, stderr_bytes_max) = (8 << 20, 4);
        Exchange { program: "bash", input, stdout_bytes_max, stderr_bytes_max, deadline }.with(&mut bash)
    }

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn input_and_outputs_of_any_size_pass_each_other() {
        let input = vec![b'x'; 4 << 20];
        let said = exchange("cat; head -c 300000 /dev/zero >&2; exit 3", &input, LONG).expect("a talk");
        assert_eq!((said.stdout.len(), said.stderr, said.status.code()), (4 << 20, vec![0; 4], Some(3)));
    }

    #[test]
    fn a_program_that_stops_reading_or_closes_its_outputs_is_waited_for() {
        let said = exchange("exec <&-; sleep 0.1; echo done", &vec![0; 1 << 20], LONG).expect("a talk");
        assert_eq!(said.stdout, b"done\n");
        let said = exchange("exec >&- 2>&-; sleep 0.1; exit 4", b"", LONG).expect("a talk");
        assert_eq!(said.status.code(), Some(4));
    }

    #[test]
    fn a_program_that_takes_too_long_is_killed_and_one_that_leaves_others_behind_is_not_waited_for() {
        let late = exchange("exec sleep 60", b"", Duration::from_millis(50));
        assert!(matches!(late, Err(Error::Deadline { .. })));
        let said = exchange("sleep 5 & echo done", b"", LONG).expect("a talk");
        assert_eq!(said.stdout, b"done\n");
    }
}
