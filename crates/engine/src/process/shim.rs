//! The small process between the harness and a command. It owns everything below the command: it starts it, adopts what
//! the command orphans, and ends only when nothing of that is alive. It never reads what the command says.
//!
//! The harness talks to it over a socket that is its standard input: one line with an [`Order`], the input of the
//! command, and later perhaps the byte [`STOP`]. It answers with one line, a [`Report`]. When the socket closes, the
//! harness is dead and so must be the command. A second stage, `__shim exec`, becomes the command: only a process can
//! say of itself that it shall die with its parent.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Instant;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::unistd::{Pid, close, setsid};
use serde::{Deserialize, Serialize};

use super::{DEATH_MAX, GRACE, ROUND, system};

/// The hidden first argument with which the program is started as a supervisor.
pub const SHIM: &str = "__shim";
/// The second argument of the stage that becomes the command.
const EXEC: &str = "exec";
/// The byte that asks the command to end.
pub(super) const STOP: u8 = b's';

/// What a supervisor is to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The program and its arguments.
    pub(super) argv: Vec<String>,
    /// Its whole environment.
    pub(super) env: Vec<(String, String)>,
    /// How many bytes of input follow.
    pub(super) input_bytes: usize,
}

/// What a supervisor has to say in the end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// How the command ended.
    pub(super) end: End,
    /// Processes that were alive when the command had ended, and were killed.
    pub(super) leftovers: usize,
    /// Processes that are alive still.
    pub(super) survivors: usize,
}

/// How a command ended, as its supervisor saw it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum End {
    /// By itself.
    Exited(i32),
    /// By a signal of somebody else.
    Signalled(i32),
    /// Because it was told to.
    Forced,
    /// It never began.
    NotStarted(String),
}

/// Something that a supervisor waits for.
#[derive(Debug)]
pub(super) enum Event {
    /// The command ended.
    Ended(ExitStatus),
    /// There is no child left, so there is nothing below this process any more.
    Childless,
    /// The harness wants the command to end.
    Stop,
    /// The harness is gone.
    Orphaned,
}

/// Whether what the command leaves behind is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sweep {
    On,
    Off,
}

/// Serves as a supervisor: what `main` does instead of anything else when the first argument is [`SHIM`].
///
/// `arguments` are all arguments of the program, its name included.
pub fn shim_main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    serve(arguments, Sweep::On)
}

/// Serves as a supervisor that leaves alive what the command leaves behind. Only for the test that shows the difference.
#[doc(hidden)]
pub fn shim_main_without_sweep(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    serve(arguments, Sweep::Off)
}

fn serve(arguments: impl IntoIterator<Item = OsString>, sweep: Sweep) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().skip(2).collect();
    let served = match arguments.as_slice() {
        [] => supervise(sweep),
        [stage, faults, parent, argv @ ..] if stage == EXEC => become_command(faults, parent, argv),
        [..] => Err(io::ErrorKind::InvalidInput.into()),
    };
    // Standard output and error belong to the command. The harness sees from the silence that something is wrong.
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn supervise(sweep: Sweep) -> io::Result<()> {
    // Nothing but the kill that cannot be refused ends this process early: not the terminal, nor the kernel, which sends
    // a hang-up when the harness dies while this process is stopped.
    SigSet::all().thread_set_mask()?;
    let mut harness = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    system::adopt_orphans()?;
    let mut orders = BufReader::new(harness.try_clone()?);
    let mut line = String::new();
    orders.read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    let mut input = vec![0; order.input_bytes];
    orders.read_exact(&mut input)?;
    let report = match start(&order) {
        Ok((command, faults)) => see_through(command, faults, (orders, input), sweep)?,
        Err(error) => Report { end: End::NotStarted(error.to_string()), leftovers: 0, survivors: 0 },
    };
    let mut line = serde_json::to_vec(&report)?;
    line.push(b'\n');
    harness.write_all(&line)
}

/// Starts the second stage. It writes to the pipe why it could not become the command; the pipe closes when it does.
fn start(order: &Order) -> io::Result<(Child, io::PipeReader)> {
    let (faults, for_stage) = io::pipe()?;
    // Nothing else is ever started by this process, so nobody else can inherit it.
    fcntl(&for_stage, FcntlArg::F_SETFD(FdFlag::empty()))?;
    let mut stage = Command::new(system::executable()?);
    stage.arg0("planwright").args([SHIM, EXEC]);
    stage.arg(for_stage.as_raw_fd().to_string()).arg(std::process::id().to_string()).args(&order.argv);
    stage.env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
    stage.stdin(Stdio::piped());
    Ok((stage.spawn()?, faults))
}

/// Turns this process into the command; returns only when that fails.
fn become_command(faults: &OsStr, parent: &OsStr, argv: &[OsString]) -> io::Result<()> {
    let number = |text: &OsStr| text.to_str().and_then(|text| text.parse::<i32>().ok());
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let inherited: RawFd = number(faults).ok_or_else(invalid)?;
    let (program, arguments) = argv.split_first().ok_or_else(invalid)?;
    // Opened anew it closes by itself when the command begins; the inherited one would be left to the command.
    let mut faults = File::options().write(true).open(format!("{}/{inherited}", system::DESCRIPTORS))?;
    close_all_but(faults.as_raw_fd())?;
    system::die_with(number(parent).ok_or_else(invalid)?)?;
    // A session of its own: no terminal to read from, and no signal from one.
    setsid()?;
    SigSet::empty().thread_set_mask()?;
    let error = Command::new(program).args(arguments).exec();
    faults.write_all(error.to_string().as_bytes())?;
    Err(error)
}

/// Closes every descriptor but the standard ones and `kept`. Whoever started the harness may have left some open, and
/// what they lead to is no business of a command.
fn close_all_but(kept: RawFd) -> io::Result<()> {
    let names = std::fs::read_dir(system::DESCRIPTORS)?.flatten().map(|entry| entry.file_name());
    let open: Vec<RawFd> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|&descriptor| descriptor > 2 && descriptor != kept) {
        // The one with which the list was read is closed already.
        let _ = close(descriptor);
    }
    Ok(())
}

/// Waits until the command and everything below it is gone.
fn see_through(
    mut command: Child,
    mut faults: io::PipeReader,
    (orders, input): (BufReader<UnixStream>, Vec<u8>),
    sweep: Sweep,
) -> io::Result<Report> {
    let pid = command.id().cast_signed();
    let stdin = command.stdin.take();
    let (sender, events) = mpsc::channel();
    let for_orders = sender.clone();
    let thread = || std::thread::Builder::new();
    // A command need not read its input: then this thread ends with the process.
    thread().spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)))?;
    thread().spawn(move || listen(orders, &for_orders))?;
    thread().spawn(move || system::reap(command, &sender))?;
    let (mut status, is_forced) = watch(pid, &events);
    let mut report = Report { end: End::Forced, leftovers: 0, survivors: 0 };
    if sweep == Sweep::On {
        clear(pid, &events, &mut status, &mut report);
    }
    let mut fault = String::new();
    // Once the command is dead nobody has the other end any more.
    if status.is_some() && faults.read_to_string(&mut fault).is_ok() && !fault.is_empty() {
        report.end = End::NotStarted(fault);
    } else if let Some(status) = status.filter(|_| !is_forced) {
        report.end = match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(code),
            (None, signal) => End::Signalled(signal.unwrap_or_default()),
        };
    }
    Ok(report)
}

/// Passes on what the harness says, until it is gone.
fn listen(mut orders: BufReader<UnixStream>, events: &Sender<Event>) {
    let mut byte = [0];
    while matches!(orders.read(&mut byte), Ok(1)) {
        if byte == [STOP] && events.send(Event::Stop).is_err() {
            return;
        }
    }
    // Nobody listens any more when the work is done.
    let _ = events.send(Event::Orphaned);
}

/// Waits for the end of the command; says how it ended, if it did, and whether it was told to.
fn watch(command: i32, events: &Receiver<Event>) -> (Option<ExitStatus>, bool) {
    let mut grace_end: Option<Instant> = None;
    loop {
        let event = match grace_end {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(end) => events.recv_timeout(end.saturating_duration_since(Instant::now())),
        };
        match event {
            Ok(Event::Ended(status)) => return (Some(status), grace_end.is_some()),
            Ok(Event::Stop) => {
                grace_end = Some(Instant::now() + GRACE);
                // Before the second stage has made a group there is only the process.
                let group = killpg(Pid::from_raw(command), Signal::SIGTERM);
                // A command that has just ended needs no signal.
                let _ = group.or_else(|_| kill(Pid::from_raw(command), Signal::SIGTERM));
            }
            Ok(Event::Orphaned | Event::Childless) | Err(_) => return (None, true),
        }
    }
}

/// Kills whatever is below this process, in rounds, until there is no child left: whoever loses a parent becomes a child
/// of this process, so then nobody at all is left.
fn clear(command: i32, events: &Receiver<Event>, status: &mut Option<ExitStatus>, report: &mut Report) {
    let begin = Instant::now();
    let mut killed = BTreeSet::new();
    let mut alive = 0;
    // Most commands leave nothing: that is heard at once, and costs no look at all processes.
    let mut is_first = status.is_some();
    while begin.elapsed() < DEATH_MAX {
        if !std::mem::take(&mut is_first) {
            let found = system::kill_below(command);
            alive = found.len();
            killed.extend(found.into_iter().filter(|one| one.pid != command));
        }
        match events.recv_timeout(ROUND) {
            Ok(Event::Ended(end)) => *status = Some(end),
            Ok(Event::Childless) | Err(RecvTimeoutError::Disconnected) => {
                report.leftovers = killed.len();
                return;
            }
            Ok(Event::Stop | Event::Orphaned) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
    (report.leftovers, report.survivors) = (killed.len(), alive.max(1));
}
