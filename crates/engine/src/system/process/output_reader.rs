//! Reads the output of a command while the caller waits for other things as well. Never decides how long to
//! wait, except for what is left once every process is dead.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};

use super::Capture;
use super::poll::timeout;

/// How long outputs are read once all processes are dead. Only someone outside can hold a pipe then.
const DRAIN_MAX: Duration = Duration::from_secs(2);
const CHUNK_BYTES: usize = 1 << 16;

/// Receives standard output as it arrives: it may be much longer than what is kept.
pub type OutputListener<'a> = dyn FnMut(&[u8]) + 'a;

/// The outputs of a running job. They are always read, so that a command never waits for us.
pub(super) struct Outputs {
    stdout: Output,
    stderr: Output,
    /// Both, in the order of arrival.
    both: Capture,
    chunk: Vec<u8>,
}

struct Output {
    /// `None` once it was read to its end.
    pipe: Option<io::PipeReader>,
    kept: Capture,
}

impl Outputs {
    /// Two outputs, and the command's ends of them.
    pub(super) fn of(bytes_max: usize) -> io::Result<(Self, [io::PipeWriter; 2])> {
        let output = |pipe| Output { pipe: Some(pipe), kept: Capture::new(bytes_max) };
        let ((stdout, for_stdout), (stderr, for_stderr)) = (io::pipe()?, io::pipe()?);
        let (stdout, stderr) = (output(stdout), output(stderr));
        let both = Capture::new(bytes_max);
        Ok((Self { stdout, stderr, both, chunk: vec![0; CHUNK_BYTES] }, [for_stdout, for_stderr]))
    }

    /// Waits a while for output, keeps it and passes it to the listener; returns whether `stream` is readable
    /// as well.
    pub(super) fn hear(
        &mut self,
        stream: Option<&UnixStream>,
        patience: Duration,
        listener: &mut OutputListener<'_>,
    ) -> bool {
        let outputs = [&mut self.stdout, &mut self.stderr];
        let pipes = outputs.iter().filter_map(|output| output.pipe.as_ref()).map(AsFd::as_fd);
        let mut all: Vec<PollFd<'_>> = pipes
            .chain(stream.map(AsFd::as_fd))
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
            .collect();
        // An interrupted wait only ends early: the next one reads what this one did not.
        if !poll(&mut all, timeout(Some(patience))).is_ok_and(|count| count > 0) {
            return false;
        }
        let ready: Vec<bool> = all.iter().map(|one| one.any() == Some(true)).collect();
        let mut ready = ready.into_iter();
        for (output, listener) in outputs.into_iter().zip([listener as &mut OutputListener<'_>, &mut |_| {}])
        {
            if output.pipe.is_some() && ready.next() == Some(true) {
                output.read(&mut self.chunk, &mut self.both, listener);
            }
        }
        ready.next() == Some(true)
    }

    /// Reads what is left, and returns both outputs, and standard output alone. All of it has arrived, unless
    /// someone outside the job holds a pipe.
    pub(super) fn finish(mut self, listener: &mut OutputListener<'_>) -> [Capture; 3] {
        let end = Instant::now() + DRAIN_MAX;
        while self.stdout.pipe.is_some() || self.stderr.pipe.is_some() {
            let patience = end.saturating_duration_since(Instant::now());
            if patience.is_zero() {
                break;
            }
            self.hear(None, patience, listener);
        }
        [self.both, self.stdout.kept, self.stderr.kept]
    }
}

impl Output {
    /// Reads once what is there, for this output and the combined one.
    fn read(&mut self, chunk: &mut [u8], both: &mut Capture, listener: &mut OutputListener<'_>) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                self.kept.push(&chunk[..count]);
                both.push(&chunk[..count]);
                listener(&chunk[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }
}
