//! The small process between planwright and a command. It owns everything below the command: it starts it,
//! adopts what the command orphans, and exits only when all of that is dead. Never reads the command's
//! output.
//!
//! Planwright talks to it over a socket on its standard input: one line with an [`ShimOrder`], together with the
//! two outputs of the command, then the command's input, and possibly the byte [`STOP`]. It answers with the
//! byte [`BEGUN`] and one line, a [`ShimReport`], and waits for the next order. When the socket closes,
//! planwright is dead and the command must die too. It has one thread: a copy of it becomes the command,
//! because only a process itself can ask to die with its parent, and a fork of a multithreaded process is not
//! safe.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ExitCode, ExitStatus};
use std::time::Instant;

use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::unistd::{Pid, close, setsid};
use serde::{Deserialize, Serialize};

use super::fork::{Fork, fork};
use super::poll::{PollEvent, PollListener};
use super::wire::WireJob;
use super::{DEATH_MAX, GRACE, ROUND, system};
use crate::system::fault;

/// The hidden first argument that starts the program as a supervisor.
pub const SHIM: &str = "__shim";
/// The byte that confirms an order: before it nothing is started, after it something may be.
pub(super) const BEGUN: u8 = b'b';
/// The byte that asks the command to end.
pub(super) const STOP: u8 = b's';

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ShimOrder {
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// The working directory, as bytes: its name need not be text.
    pub(super) folder: Vec<u8>,
    /// The tag by which its processes are found.
    pub(super) tag: String,
    /// How many bytes of input follow.
    pub(super) input_bytes: usize,
    /// Whether other processes may look into its memory: what it reports of a contract is what the contract is judged by.
    pub(super) memory: Memory,
}

/// Who may look into the memory of a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Memory {
    /// Every process of the same user, as usual.
    Open,
    /// Nobody but root.
    Guarded,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ShimReport {
    pub(super) end: ShimEnd,
    /// Processes that outlived the command and were killed.
    pub(super) leftovers: usize,
    /// Processes that are still alive.
    pub(super) survivors: usize,
}

/// How a command ended, as its supervisor saw it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ShimEnd {
    Exited(i32),
    /// By somebody else's signal.
    Signalled(i32),
    /// It was told to end.
    Forced,
    NotStarted {
        why: String,
        /// The error number, if the machine kept it from starting.
        errno: Option<i32>,
    },
}

/// Whether leftovers of the command are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sweep {
    On,
    Off,
}

/// Which of the two processes this is, after the fork.
enum Side {
    Supervisor(Command),
    /// The copy, which could not become the command and has said why.
    Copy,
}

struct Command {
    pid: i32,
    stdin: io::PipeWriter,
    /// Says why the copy could not become the command; closes when it does.
    faults: io::PipeReader,
}

/// Serves as a supervisor: `main` calls this instead of anything else if the first argument is [`SHIM`].
///
/// `arguments` are all arguments of the program, including its name.
pub fn shim_main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    serve(arguments, |_| Sweep::On)
}

/// Serves as a supervisor that spares leftovers of a command whose tag starts like this. Only for the test
/// that shows the difference.
#[doc(hidden)]
pub fn shim_main_without_sweep(arguments: impl IntoIterator<Item = OsString>, tag_prefix: &str) -> ExitCode {
    serve(arguments, |tag| if tag.starts_with(tag_prefix) { Sweep::Off } else { Sweep::On })
}

fn serve(arguments: impl IntoIterator<Item = OsString>, sweep: impl Fn(&str) -> Sweep) -> ExitCode {
    let has_more = arguments.into_iter().nth(2).is_some();
    let served = if has_more { Err(io::ErrorKind::InvalidInput.into()) } else { supervise(sweep) };
    // Standard output and error belong to the command. Planwright infers from the silence that something is
    // wrong.
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn supervise(sweep: impl Fn(&str) -> Sweep) -> io::Result<()> {
    // Only SIGKILL ends this process early: not the terminal, nor the kernel, which sends SIGHUP when
    // planwright dies while this process is stopped.
    SigSet::all().thread_set_mask()?;
    close_inherited()?;
    let mut harness = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    system::adopt_orphans()?;
    while let Some(task) = WireJob::receive(&mut harness)? {
        let sweep = sweep(&task.order.tag);
        let report = carry_out(task, &mut harness, sweep)?;
        let mut line = serde_json::to_vec(&report)?;
        line.push(b'\n');
        harness.write_all(&line)?;
        // With foreign processes below it, it could no longer tell when a command and its descendants are
        // gone.
        if report.survivors > 0 || sweep == Sweep::Off {
            break;
        }
    }
    Ok(())
}

fn carry_out(task: WireJob, harness: &mut UnixStream, sweep: Sweep) -> io::Result<ShimReport> {
    harness.write_all(&[BEGUN])?;
    let _tag = system::hold_tag(&task.order.tag)?;
    match task.order.memory {
        Memory::Open => {}
        // What becomes of the copy is another program, and open again.
        Memory::Guarded => system::guard_memory(),
    }
    match start(&task.order, task.outputs) {
        Ok(Side::Supervisor(command)) => {
            let input = (command.stdin, task.input);
            let mut listener = PollListener::new(harness, command.pid, input, &task.early)?;
            Ok(see_through(command.pid, command.faults, &mut listener, sweep))
        }
        // Whoever reads the faults tells planwright.
        Ok(Side::Copy) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => {
            let errno = error.raw_os_error().filter(|&errno| fault::is_machine(errno));
            let end = ShimEnd::NotStarted { why: error.to_string(), errno };
            Ok(ShimReport { end, leftovers: 0, survivors: 0 })
        }
    }
}

/// Closes every descriptor but the standard ones. Whoever started planwright may have left some open, and a
/// command must not get them. Those that this process opens later close on exec.
fn close_inherited() -> io::Result<()> {
    let names = std::fs::read_dir(system::DESCRIPTORS)?.flatten().map(|entry| entry.file_name());
    let open: Vec<RawFd> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|&descriptor| descriptor > 2) {
        // The one used to read the list is closed already.
        let _ = close(descriptor);
    }
    Ok(())
}

/// Forks the copy that becomes the command.
fn start(order: &ShimOrder, [stdout, stderr]: [File; 2]) -> io::Result<Side> {
    let (program, arguments) = order.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let (for_command, stdin) = io::pipe()?;
    let (faults, mut for_copy) = io::pipe()?;
    let mut command = std::process::Command::new(program);
    command.args(arguments).env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(OsStr::from_bytes(&order.folder)).stdin(for_command).stdout(stdout).stderr(stderr);
    let supervisor = std::process::id().cast_signed();
    if let Fork::Parent(pid) = fork()? {
        return Ok(Side::Supervisor(Command { pid, stdin, faults }));
    }
    let Err(fault) = become_command(&mut command, supervisor);
    let errno = fault.raw_os_error().unwrap_or_default();
    for_copy.write_all(format!("{errno} {fault}").as_bytes())?;
    Ok(Side::Copy)
}

/// Turns this process into the command; returns only on failure.
fn become_command(command: &mut std::process::Command, supervisor: i32) -> io::Result<Infallible> {
    system::die_with(supervisor)?;
    // A session of its own: no terminal to read from, and no signal from one.
    setsid()?;
    system::mark_job();
    SigSet::empty().thread_set_mask()?;
    Err(command.exec())
}

/// Waits until the command and all its descendants are gone.
fn see_through(
    pid: i32,
    mut faults: io::PipeReader,
    listener: &mut PollListener<'_>,
    sweep: Sweep,
) -> ShimReport {
    let (mut status, is_forced) = watch(pid, listener);
    let mut report = ShimReport { end: ShimEnd::Forced, leftovers: 0, survivors: 0 };
    if sweep == Sweep::On {
        clear(pid, listener, &mut status, &mut report);
    }
    let mut fault = String::new();
    // Once the command is dead, nobody holds the other end.
    if status.is_some() && faults.read_to_string(&mut fault).is_ok() && !fault.is_empty() {
        let (errno, why) = fault.split_once(' ').unwrap_or(("", &fault));
        let errno = errno.parse().ok().filter(|&errno| fault::is_machine(errno));
        report.end = ShimEnd::NotStarted { why: why.to_owned(), errno };
    } else if let Some(status) = status.filter(|_| !is_forced) {
        report.end = match (status.code(), status.signal()) {
            (Some(code), _) => ShimEnd::Exited(code),
            (None, signal) => ShimEnd::Signalled(signal.unwrap_or_default()),
        };
    }
    report
}

/// Waits for the command to exit; returns how, if it did, and whether it was told to.
fn watch(command: i32, listener: &mut PollListener<'_>) -> (Option<ExitStatus>, bool) {
    let mut grace_end: Option<Instant> = None;
    loop {
        match listener.next(grace_end) {
            Some(PollEvent::Ended(status)) => return (Some(status), grace_end.is_some()),
            Some(PollEvent::Stop) => {
                grace_end = Some(Instant::now() + GRACE);
                // Before the copy has created a group, there is only the process.
                let group = killpg(Pid::from_raw(command), Signal::SIGTERM);
                // A command that has just exited needs no signal.
                let _ = group.or_else(|_| kill(Pid::from_raw(command), Signal::SIGTERM));
            }
            Some(PollEvent::Orphaned | PollEvent::Childless) | None => return (None, true),
        }
    }
}

/// Kills all descendants, in rounds, until no child is left: orphans become children of this process, so then
/// nothing is left at all.
fn clear(
    command: i32,
    listener: &mut PollListener<'_>,
    status: &mut Option<ExitStatus>,
    report: &mut ShimReport,
) {
    let begin = Instant::now();
    let mut killed = BTreeSet::new();
    let mut alive = 0;
    // Most commands leave nothing: that shows immediately, without scanning all processes.
    let mut is_first = status.is_some();
    while begin.elapsed() < DEATH_MAX {
        if !std::mem::take(&mut is_first) {
            let found = system::kill_below(command);
            alive = found.len();
            killed.extend(found.into_iter().filter(|one| one.pid != command));
        }
        match listener.next(Some(Instant::now() + ROUND)) {
            Some(PollEvent::Ended(end)) => *status = Some(end),
            Some(PollEvent::Childless) => {
                report.leftovers = killed.len();
                return;
            }
            Some(PollEvent::Stop | PollEvent::Orphaned) | None => {}
        }
    }
    (report.leftovers, report.survivors) = (killed.len(), alive.max(1));
}
