//! What a command says, read while it says it, by whoever waits for something else as well. It never decides how long to
//! wait, but for what is left when everybody is dead.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};

use super::Capture;
use super::poll::timeout;

/// How long outputs are read when all processes are dead. Only somebody outside can hold a pipe then.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// How much is read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// Whoever wants to have standard output as it comes: it may be much longer than what is kept.
pub type Listener<'a> = dyn FnMut(&[u8]) + 'a;

/// What a job says, while it says it. It is read as long as there is something to read, so that nobody ever waits for us.
pub(super) struct Outputs {
    stdout: Output,
    stderr: Output,
    /// Both, in the order in which they arrive.
    both: Capture,
    chunk: Vec<u8>,
}

struct Output {
    /// `None` once it was read to its end.
    pipe: Option<io::PipeReader>,
    kept: Capture,
}

impl Outputs {
    /// Two outputs, and the ends of them that belong to a command.
    pub(super) fn of(bytes_max: usize) -> io::Result<(Self, [io::PipeWriter; 2])> {
        let output = |pipe| Output { pipe: Some(pipe), kept: Capture::new(bytes_max) };
        let ((stdout, for_stdout), (stderr, for_stderr)) = (io::pipe()?, io::pipe()?);
        let (stdout, stderr) = (output(stdout), output(stderr));
        let both = Capture::new(bytes_max);
        Ok((Self { stdout, stderr, both, chunk: vec![0; CHUNK_BYTES] }, [for_stdout, for_stderr]))
    }

    /// Waits for a while until something is said, keeps it and tells the listener; says whether `stream` has something to say
    /// as well.
    pub(super) fn hear(
        &mut self,
        stream: Option<&UnixStream>,
        patience: Duration,
        listener: &mut Listener<'_>,
    ) -> bool {
        let outputs = [&mut self.stdout, &mut self.stderr];
        let pipes = outputs.iter().filter_map(|output| output.pipe.as_ref()).map(AsFd::as_fd);
        let mut all: Vec<PollFd<'_>> = pipes
            .chain(stream.map(AsFd::as_fd))
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
            .collect();
        // A wait that was interrupted is one that ended early: the next one hears what this one did not.
        if !poll(&mut all, timeout(Some(patience))).is_ok_and(|count| count > 0) {
            return false;
        }
        let ready: Vec<bool> = all.iter().map(|one| one.any() == Some(true)).collect();
        let mut ready = ready.into_iter();
        for (output, listener) in outputs.into_iter().zip([listener as &mut Listener<'_>, &mut |_| {}]) {
            if output.pipe.is_some() && ready.next() == Some(true) {
                output.read(&mut self.chunk, &mut self.both, listener);
            }
        }
        ready.next() == Some(true)
    }

    /// Hears what is left to say, and returns both together, standard output and standard error. All of it has arrived then,
    /// unless somebody outside of the job holds a pipe.
    pub(super) fn finish(mut self, listener: &mut Listener<'_>) -> [Capture; 3] {
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
    /// Reads once what is there, for this output and for both of them.
    fn read(&mut self, chunk: &mut [u8], both: &mut Capture, listener: &mut Listener<'_>) {
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
