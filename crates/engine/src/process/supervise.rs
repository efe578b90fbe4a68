//! The harness's side of a supervised process: starts the supervisor, keeps time, keeps what the command says. It kills
//! nothing itself as long as the supervisor lives, because only that one can tell when everything is dead.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::listen::timeout;
use super::shim::{End, Order, Report, SHIM, STOP};
use super::{Capture, DEATH_MAX, Ended, Error, GRACE, How, Job, ROUND, Stop, TAG, system};

/// How often a running job is looked at: whether its time is over, whether it shall stop.
const POLL: Duration = Duration::from_millis(10);
/// How long the supervisor may take to take its order, and to answer beyond the limits that it keeps itself.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long outputs are read when all processes are dead. Only somebody outside can hold a pipe then.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// How much is read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// Runs a job to its end, its deadline or the call to stop. When it returns, nothing that the job started is alive.
///
/// The program that calls this must serve [`SHIM`] in its `main`: it starts itself as the supervisor.
pub fn run(job: &Job, stop: &Stop) -> Result<Ended, Error> {
    let shim = system::executable().map_err(|source| Error::Start { program: program(job), source })?;
    run_through(&shim, job, stop)
}

/// Runs a job like [`run`], with another program as the supervisor. That one must serve [`SHIM`].
pub fn run_through(shim: &Path, job: &Job, stop: &Stop) -> Result<Ended, Error> {
    let begin = Instant::now();
    let unstarted = |how| {
        let none = || Capture::new(job.output_bytes_max);
        let duration = begin.elapsed();
        Ok(Ended { how, output: none(), stdout: none(), stderr: none(), duration, leftovers: 0 })
    };
    // A program that does not know the hidden argument would start itself for ever.
    if std::env::args_os().nth(1).is_some_and(|first| first == SHIM) {
        return Err(Error::NoShim { program: program(job) });
    }
    if job.argv.is_empty() {
        return unstarted(How::NotStarted("there is no program to start".to_owned()));
    }
    if !job.folder.is_dir() {
        return unstarted(How::NotStarted(format!("there is no folder `{}`", job.folder.display())));
    }
    if stop.is_requested() {
        return unstarted(How::Stopped);
    }
    let (mut child, stream) = start(shim, job)?;
    let mut outputs = Outputs::of(&mut child, job.output_bytes_max);
    let (report, asked) = match see_through((&child, &stream), &mut outputs, job, (stop, begin)) {
        Ok(seen) => seen,
        Err(error) => return Err(abandon(child, stream, job).err().unwrap_or(error)),
    };
    // The report is the last thing that it does. It need not be waited for, but for its number to be free.
    child.kill().and_then(|()| child.wait()).map_err(|source| talk(job, source))?;
    if report.survivors > 0 {
        return Err(Error::Alive { tag: job.tag.clone(), count: report.survivors });
    }
    let how = match report.end {
        End::Exited(code) => How::Exited(code),
        End::Signalled(signal) => How::Signalled(signal),
        End::Forced => asked.unwrap_or(How::Stopped),
        End::NotStarted(why) => How::NotStarted(format!("cannot start `{}`: {why}", program(job))),
    };
    let duration = begin.elapsed();
    outputs.finish();
    let Outputs { stdout, stderr, both, .. } = outputs;
    Ok(Ended {
        how,
        output: both,
        stdout: stdout.kept,
        stderr: stderr.kept,
        duration,
        leftovers: report.leftovers,
    })
}

fn program(job: &Job) -> String {
    job.argv.first().cloned().unwrap_or_default()
}

fn talk(job: &Job, source: io::Error) -> Error {
    Error::Talk { program: program(job), source }
}

/// Starts the supervisor. It has no environment but the tag: that of the job is for the command alone.
fn start(shim: &Path, job: &Job) -> Result<(Child, UnixStream), Error> {
    let (ours, its) = UnixStream::pair().map_err(|source| talk(job, source))?;
    let mut command = Command::new(shim);
    // In a group of its own no signal from the terminal reaches it.
    command
        .arg0("planwright")
        .arg(SHIM)
        .env_clear()
        .env(TAG, &job.tag)
        .current_dir(&job.folder)
        .process_group(0);
    command.stdin(OwnedFd::from(its)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|source| Error::Start { program: program(job), source })?;
    Ok((child, ours))
}

/// Gives the order and waits for the report. When time is over, or the caller says so, asks for the end once.
fn see_through(
    (child, mut stream): (&Child, &UnixStream),
    outputs: &mut Outputs,
    job: &Job,
    (stop, begin): (&Stop, Instant),
) -> Result<(Report, Option<How>), Error> {
    let lost = || Error::Lost { program: program(job) };
    let failed = |error: io::Error| if is_hung_up(&error) { lost() } else { talk(job, error) };
    order(stream, job).map_err(failed)?;
    let mut answer = Vec::new();
    let mut chunk = [0; 1024];
    let mut asked: Option<(How, Instant)> = None;
    loop {
        if outputs.hear(Some(stream), POLL) {
            match stream.read(&mut chunk) {
                Ok(0) => return Err(lost()),
                Ok(count) => answer.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        if answer.ends_with(b"\n") {
            let report = serde_json::from_slice(&answer).map_err(|error| talk(job, error.into()))?;
            return Ok((report, asked.map(|(how, _)| how)));
        }
        match &asked {
            Some((_, since)) if since.elapsed() > GRACE + DEATH_MAX + ANSWER_MAX => return Err(lost()),
            Some(_) => wake(child),
            None => {
                let how = if stop.is_requested() { How::Stopped } else { How::TimedOut };
                if how == How::Stopped || begin.elapsed() >= job.deadline {
                    // A supervisor that cannot be told is about to report, or dead: the next read says which.
                    let _ = stream.write_all(&[STOP]);
                    asked = Some((how, Instant::now()));
                }
            }
        }
    }
}

/// Lets a supervisor go on that somebody stopped: a command can do that, for both belong to the same user.
fn wake(supervisor: &Child) {
    // One that is dead needs no waking.
    let _ = kill(Pid::from_raw(supervisor.id().cast_signed()), Signal::SIGCONT);
}

fn is_hung_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn order(mut stream: &UnixStream, job: &Job) -> io::Result<()> {
    stream.set_write_timeout(Some(ANSWER_MAX))?;
    let mut env: Vec<(String, String)> = job.env.iter().filter(|(name, _)| name != TAG).cloned().collect();
    env.push((TAG.to_owned(), job.tag.clone()));
    let order = Order { argv: job.argv.clone(), env, input_bytes: job.input.len() };
    let mut line = serde_json::to_vec(&order)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.write_all(&job.input)
}

/// Gets rid of a job whose supervisor no longer answers. One that still lives kills everything when the socket closes.
fn abandon(mut child: Child, stream: UnixStream, job: &Job) -> Result<(), Error> {
    drop(stream);
    wake(&child);
    let begin = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && begin.elapsed() < DEATH_MAX {
        std::thread::sleep(ROUND);
    }
    // While the supervisor lives nothing gets away from it, so it is the last that dies.
    let killed = system::kill_tagged(&job.tag, &|tag| tag == job.tag);
    child.kill().and_then(|()| child.wait()).map_err(|source| talk(job, source))?;
    killed.map(drop)
}

/// What a job says, while it says it. It is read as long as there is something to read, so that nobody ever waits for us.
struct Outputs {
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
    fn of(child: &mut Child, bytes_max: usize) -> Self {
        let output = |pipe: Option<OwnedFd>| Output {
            pipe: pipe.map(io::PipeReader::from),
            kept: Capture::new(bytes_max),
        };
        Self {
            stdout: output(child.stdout.take().map(OwnedFd::from)),
            stderr: output(child.stderr.take().map(OwnedFd::from)),
            both: Capture::new(bytes_max),
            chunk: vec![0; CHUNK_BYTES],
        }
    }

    /// Waits for a while until something is said, and keeps it; says whether `stream` has something to say as well.
    fn hear(&mut self, stream: Option<&UnixStream>, patience: Duration) -> bool {
        let mut outputs = [&mut self.stdout, &mut self.stderr];
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
        for output in outputs.iter_mut().filter(|output| output.pipe.is_some()) {
            if ready.next() == Some(true) {
                output.read(&mut self.chunk, &mut self.both);
            }
        }
        ready.next() == Some(true)
    }

    /// Hears what is left to say. All of it has arrived then, unless somebody outside of the job holds a pipe.
    fn finish(&mut self) {
        let end = Instant::now() + DRAIN_MAX;
        while self.stdout.pipe.is_some() || self.stderr.pipe.is_some() {
            let patience = end.saturating_duration_since(Instant::now());
            if patience.is_zero() {
                return;
            }
            self.hear(None, patience);
        }
    }
}

impl Output {
    /// Reads once what is there, for this output and for both of them.
    fn read(&mut self, chunk: &mut [u8], both: &mut Capture) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                self.kept.push(&chunk[..count]);
                both.push(&chunk[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }
}
