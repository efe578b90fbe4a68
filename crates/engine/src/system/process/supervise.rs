//! Planwright's side of a supervised process: starts the supervisor, enforces the deadline, captures output.
//! Never kills anything while the supervisor lives, because only the supervisor knows when everything is
//! dead.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::output_reader::{OutputListener, Outputs};
use super::shim::{BEGUN, Memory, SHIM, STOP, ShimEnd, ShimOrder, ShimReport};
use super::{Capture, DEATH_MAX, Error, GRACE, How, ProcessEnd, ProcessJob, ROUND, Stop, TAG, system, wire};
use crate::system::fault;

/// How often a running job is checked for its deadline and for stop requests.
const POLL: Duration = Duration::from_millis(10);
/// How long the supervisor may take to accept an order, and to answer beyond the limits it enforces itself.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// The most idle supervisors that are kept.
const IDLE_MAX: usize = 64;

/// Runs a job to its end, its deadline or a stop request. When it returns, nothing that the job started is
/// alive.
///
/// The calling program must serve [`SHIM`] in its `main`: it starts itself as the supervisor.
pub fn run(job: &ProcessJob, stop: &Stop) -> Result<ProcessEnd, Error> {
    Supervisors::new().run(job, stop)
}

/// Supervisors that are reused, since starting one costs as much as starting a shell.
///
/// Each has one job at a time, and only one without descendants gets another. Jobs that must not meet, such
/// as an agent and the contract that judges it, need different ones: a command can reach its supervisor.
#[derive(Debug)]
pub struct Supervisors {
    idle: Mutex<Vec<Supervisor>>,
    memory: Memory,
}

#[derive(Debug)]
struct Supervisor {
    child: Child,
    stream: UnixStream,
    /// Whether it had a job before.
    is_used: bool,
}

struct Served {
    report: ShimReport,
    /// Why the end was requested, if it was.
    asked: Option<How>,
    outputs: Outputs,
}

impl Default for Supervisors {
    fn default() -> Self {
        Self::new()
    }
}

impl Supervisors {
    /// Empty: supervisors are started on demand.
    pub fn new() -> Self {
        Self { idle: Mutex::new(Vec::new()), memory: Memory::Open }
    }

    /// The same, with memory that no other process of the same user can read or change, where the system can do that. For
    /// contracts: an agent that works meanwhile must not write what is reported of them.
    pub fn guarded() -> Self {
        Self { idle: Mutex::new(Vec::new()), memory: Memory::Guarded }
    }

    /// Runs a job like [`run`], with an idle supervisor if there is one.
    pub fn run(&self, job: &ProcessJob, stop: &Stop) -> Result<ProcessEnd, Error> {
        self.run_heard(job, stop, &mut |_| {})
    }

    /// Runs a job like [`Supervisors::run`], and passes its standard output to `listener` as it arrives.
    pub fn run_heard(
        &self,
        job: &ProcessJob,
        stop: &Stop,
        listener: &mut OutputListener<'_>,
    ) -> Result<ProcessEnd, Error> {
        let begin = Instant::now();
        let unstarted = |how| {
            let none = || Capture::new(job.output_bytes_max);
            let duration = begin.elapsed();
            Ok(ProcessEnd { how, output: none(), stdout: none(), stderr: none(), duration, leftovers: 0 })
        };
        // A program that does not know the hidden argument would start itself forever.
        if std::env::args_os().nth(1).is_some_and(|first| first == SHIM) {
            return Err(Error::NoShim { program: program(job) });
        }
        if job.argv.is_empty() {
            return unstarted(How::NotStarted("no program to start".to_owned()));
        }
        let is_there = match job.folder.metadata() {
            Ok(data) => data.is_dir(),
            Err(source) if fault::is_fault(&source) => {
                return Err(Error::Start { program: program(job), source });
            }
            Err(_) => false,
        };
        if !is_there {
            return unstarted(How::NotStarted(format!("directory `{}` not found", job.folder.display())));
        }
        if stop.is_requested() {
            return unstarted(How::Stopped);
        }
        loop {
            let supervisor = self.next(job)?;
            match supervisor.serve((job, self.memory), (stop, begin), listener) {
                Ok(Some(served)) => {
                    let duration = begin.elapsed();
                    self.release(supervisor, &served).map_err(|source| talk(job, source))?;
                    return conclude(job, served, listener).map(|ended| ProcessEnd { duration, ..ended });
                }
                // It was killed while idle, so the next one is tried.
                Ok(None) if supervisor.is_used => {
                    supervisor.dismiss().map_err(|source| talk(job, source))?;
                }
                Ok(None) => return Err(supervisor.abandon(job).err().unwrap_or_else(|| lost(job))),
                Err(error) => return Err(supervisor.abandon(job).err().unwrap_or(error)),
            }
        }
    }

    /// An idle supervisor, or a new one.
    fn next(&self, job: &ProcessJob) -> Result<Supervisor, Error> {
        while let Some(mut supervisor) = self.idle().pop() {
            // Any process of the same user may have killed or stopped it meanwhile.
            if matches!(supervisor.child.try_wait(), Ok(None)) {
                supervisor.wake();
                return Ok(supervisor);
            }
        }
        Supervisor::start(job)
    }

    /// Keeps a supervisor that has reported for the next job, or drops it. One that was told to stop may see
    /// that late, and the next job would be stopped.
    fn release(&self, supervisor: Supervisor, served: &Served) -> io::Result<()> {
        let mut idle = self.idle();
        if served.report.survivors == 0 && served.asked.is_none() && idle.len() < IDLE_MAX {
            idle.push(Supervisor { is_used: true, ..supervisor });
            return Ok(());
        }
        drop(idle);
        supervisor.dismiss()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Supervisor>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Supervisors {
    fn drop(&mut self) {
        for supervisor in self.idle().drain(..) {
            // It is idle and has no descendants; if it cannot be waited for, only its process id stays taken.
            let _ = supervisor.dismiss();
        }
    }
}

impl Supervisor {
    /// Starts a supervisor. Its environment contains only its mark: that of a job is for the command alone.
    fn start(job: &ProcessJob) -> Result<Self, Error> {
        let failed = |source| Error::Start { program: program(job), source };
        // A command can kill its supervisor. Its leftovers then come back to us, whatever they did to their
        // environment.
        system::adopt_orphans().map_err(failed)?;
        let (stream, its) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(system::executable().map_err(failed)?);
        // In a group of its own, no signal from the terminal reaches it.
        command.arg0("planwright").arg(SHIM).env_clear().env(TAG, system::CHANGING).process_group(0);
        command.current_dir("/").stdin(OwnedFd::from(its)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(failed)?;
        Ok(Self { child, stream, is_used: false })
    }

    /// Sends the order and waits for the report. At the deadline, or on request, asks for the end once.
    /// `None` if it was dead before it accepted the order: then nothing was started.
    fn serve(
        &self,
        (job, memory): (&ProcessJob, Memory),
        (stop, begin): (&Stop, Instant),
        listener: &mut OutputListener<'_>,
    ) -> Result<Option<Served>, Error> {
        let (mut outputs, ends) = Outputs::of(job.output_bytes_max).map_err(|source| talk(job, source))?;
        match order(&self.stream, (job, memory), &ends) {
            Ok(()) => drop(ends),
            Err(error) if is_hung_up(&error) => return Ok(None),
            Err(error) => return Err(talk(job, error)),
        }
        let mut answer = Vec::new();
        let mut asked: Option<(How, Instant)> = None;
        loop {
            if outputs.hear(Some(&self.stream), POLL, listener)
                && !self.listen(&mut answer).map_err(|source| talk(job, source))?
            {
                return if answer.is_empty() { Ok(None) } else { Err(lost(job)) };
            }
            if let Some(report) = answer.strip_prefix(&[BEGUN]).filter(|report| report.ends_with(b"\n")) {
                let report = serde_json::from_slice(report).map_err(|error| talk(job, error.into()))?;
                return Ok(Some(Served { report, asked: asked.map(|(how, _)| how), outputs }));
            }
            match &asked {
                Some((_, since)) if since.elapsed() > GRACE + DEATH_MAX + ANSWER_MAX => {
                    return Err(lost(job));
                }
                Some(_) => self.wake(),
                None => {
                    let how = if stop.is_requested() { How::Stopped } else { How::TimedOut };
                    if how == How::Stopped || begin.elapsed() >= job.deadline {
                        // A supervisor that cannot be reached is about to report, or dead: the next read
                        // shows which.
                        let _ = (&self.stream).write_all(&[STOP]);
                        asked = Some((how, Instant::now()));
                    }
                }
            }
        }
    }

    /// Adds what it sends to the answer. Returns whether it is still there.
    fn listen(&self, answer: &mut Vec<u8>) -> io::Result<bool> {
        let mut chunk = [0; 1024];
        match (&self.stream).read(&mut chunk) {
            Ok(0) => Ok(false),
            Ok(count) => {
                answer.extend_from_slice(&chunk[..count]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) if is_hung_up(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Resumes it if it was stopped: a command can do that, since both belong to the same user.
    fn wake(&self) {
        // A dead one needs no waking.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGCONT);
    }

    /// Ends a supervisor that has reported, so that it has no descendants.
    fn dismiss(mut self) -> io::Result<()> {
        self.child.kill().and_then(|()| self.child.wait()).map(drop)
    }

    /// Gets rid of one that no longer answers, and of its job. If it is still alive, it kills everything when
    /// the socket closes.
    fn abandon(self, job: &ProcessJob) -> Result<(), Error> {
        self.wake();
        let Self { mut child, stream, .. } = self;
        drop(stream);
        let begin = Instant::now();
        while matches!(child.try_wait(), Ok(None)) && begin.elapsed() < DEATH_MAX {
            std::thread::sleep(ROUND);
        }
        // Nothing escapes the supervisor while it lives, so it dies last.
        let killed = system::kill_tagged(&job.tag, &|tag| tag == job.tag);
        child.kill().and_then(|()| child.wait()).map_err(|source| talk(job, source))?;
        killed.map(drop)
    }
}

fn program(job: &ProcessJob) -> String {
    job.argv.first().cloned().unwrap_or_default()
}

fn talk(job: &ProcessJob, source: io::Error) -> Error {
    Error::Talk { program: program(job), source }
}

fn lost(job: &ProcessJob) -> Error {
    Error::Lost { program: program(job) }
}

/// The result of a job, without its duration.
fn conclude(
    job: &ProcessJob,
    served: Served,
    listener: &mut OutputListener<'_>,
) -> Result<ProcessEnd, Error> {
    let Served { report, asked, outputs } = served;
    if report.survivors > 0 {
        return Err(Error::Alive { tag: job.tag.clone(), count: report.survivors });
    }
    let how = match report.end {
        ShimEnd::Exited(code) => How::Exited(code),
        ShimEnd::Signalled(signal) => How::Signalled(signal),
        ShimEnd::Forced => asked.unwrap_or(How::Stopped),
        ShimEnd::NotStarted { errno: Some(errno), .. } => {
            return Err(Error::Start { program: program(job), source: io::Error::from_raw_os_error(errno) });
        }
        ShimEnd::NotStarted { why, errno: None } => {
            How::NotStarted(format!("cannot start `{}`: {why}", program(job)))
        }
    };
    let [output, stdout, stderr] = outputs.finish(listener);
    Ok(ProcessEnd { how, output, stdout, stderr, duration: Duration::ZERO, leftovers: report.leftovers })
}

fn is_hung_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn order(
    stream: &UnixStream,
    (job, memory): (&ProcessJob, Memory),
    outputs: &[io::PipeWriter; 2],
) -> io::Result<()> {
    stream.set_write_timeout(Some(ANSWER_MAX))?;
    let mut env: Vec<(String, String)> = job.env.iter().filter(|(name, _)| name != TAG).cloned().collect();
    env.push((TAG.to_owned(), job.tag.clone()));
    let order = ShimOrder {
        argv: job.argv.clone(),
        env,
        folder: job.folder.as_os_str().as_bytes().to_vec(),
        tag: job.tag.clone(),
        input_bytes: job.input.len(),
        memory,
    };
    wire::send(stream, &order, outputs, &job.input)
}
