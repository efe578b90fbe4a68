//! The harness's side of a supervised process: starts the supervisor, keeps time, keeps what the command says. It kills
//! nothing itself as long as the supervisor lives, because only that one can tell when everything is dead.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

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
    let outputs = Outputs::drain(&mut child, job.output_bytes_max).map_err(|source| talk(job, source));
    let seen = outputs.and_then(|outputs| Ok((outputs, see_through((&child, &stream), job, (stop, begin))?)));
    let (outputs, (report, asked)) = match seen {
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
    let Captures { output, stdout, stderr } = outputs.finish();
    Ok(Ended { how, output, stdout, stderr, duration, leftovers: report.leftovers })
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
        match stream.read(&mut chunk) {
            Ok(0) => return Err(lost()),
            Ok(count) => answer.extend_from_slice(&chunk[..count]),
            Err(error) if is_early(&error) => {}
            Err(error) => return Err(failed(error)),
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

fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

fn is_hung_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn order(mut stream: &UnixStream, job: &Job) -> io::Result<()> {
    stream.set_write_timeout(Some(ANSWER_MAX))?;
    stream.set_read_timeout(Some(POLL))?;
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

/// What a job says, while it says it.
struct Outputs {
    captures: Arc<Mutex<Captures>>,
    /// Closes when both outputs are read to their end.
    done: Receiver<()>,
}

#[derive(Debug, Default)]
struct Captures {
    output: Capture,
    stdout: Capture,
    stderr: Capture,
}

impl Outputs {
    /// Reads both outputs as long as there is something to read, so that nobody ever waits for us.
    fn drain(child: &mut Child, bytes_max: usize) -> io::Result<Self> {
        let capture = || Capture::new(bytes_max);
        let captures = Captures { output: capture(), stdout: capture(), stderr: capture() };
        let captures = Arc::new(Mutex::new(captures));
        let (sender, done) = mpsc::channel();
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stderr = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        keep(stdout, captures.clone(), sender.clone(), |captures| &mut captures.stdout)?;
        keep(stderr, captures.clone(), sender, |captures| &mut captures.stderr)?;
        Ok(Self { captures, done })
    }

    /// What was said. All of it has arrived, unless somebody outside of the job holds a pipe.
    fn finish(self) -> Captures {
        // Nothing is ever sent: it either closes or the time is over, and then what is there is what there is.
        let _ = self.done.recv_timeout(DRAIN_MAX);
        std::mem::take(&mut *self.captures.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn keep(
    mut pipe: impl Read + Send + 'static,
    captures: Arc<Mutex<Captures>>,
    done: Sender<()>,
    own: fn(&mut Captures) -> &mut Capture,
) -> io::Result<()> {
    let read = move || {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let count = match pipe.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let mut captures = captures.lock().unwrap_or_else(PoisonError::into_inner);
            own(&mut captures).push(&chunk[..count]);
            captures.output.push(&chunk[..count]);
        }
        drop(done);
    };
    std::thread::Builder::new().spawn(read).map(drop)
}
