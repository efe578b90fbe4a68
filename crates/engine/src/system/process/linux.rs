//! What only Linux can do: adopt orphans, die with a parent, and list live processes from /proc. Never
//! decides when to kill.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::prctl;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::MsgFlags;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getppid};
use rustix::process::geteuid;

use super::fork::try_wait;
use super::poll::PollEvent;
use super::{DEATH_MAX, Error, ROUND, SHIM, TAG};

/// The tag in a supervisor's environment: its job changes, and [`HELD`] names it.
pub(super) const CHANGING: &str = "supervisor";
/// The name of the in-memory file that a supervisor holds open during a job; it contains the job's tag.
const HELD: &str = "planwright-tag";
/// Marks such a file as not executable, which a strict kernel requires and one before 6.3 does not know; nix
/// has no name for it (`MFD_NOEXEC_SEAL`).
const NEVER_PROGRAM: MFdFlags = MFdFlags::from_bits_retain(8);
/// The link target of such a descriptor.
const HELD_LINK: &[u8] = b"/memfd:planwright-tag (deleted)";
/// How many scans in a row must find nobody. A process in the middle of an `exec` shows no environment for a
/// moment.
const CLEAN_SCANS: usize = 2;

/// How far up a variable is searched.
const DEPTH_MAX: usize = 64;

/// The most file locks that a job may hold, a limit that no kernel since 2.4 enforces and no desktop, service
/// or shell sets. It is a mark: a hard limit is inherited by every descendant, whatever namespace it creates,
/// whatever it wipes and whoever adopts it, and only root can raise it again.
const JOB_MARK: rlim_t = RLIM_INFINITY / 4;

/// Where a file descriptor of this process can be opened by its number.
pub(super) const DESCRIPTORS: &str = "/proc/self/fd";

/// A process, distinguished from a later one with the same number by its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) pid: i32,
    start: u64,
}

#[derive(Debug, Clone, Copy)]
struct Process {
    identity: Identity,
    parent: i32,
    is_alive: bool,
}

/// The running program. This name works even if its file was replaced meanwhile.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(super) fn executable() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// Received descriptors close on exec.
pub(super) const PASSED: MsgFlags = MsgFlags::MSG_CMSG_CLOEXEC;

/// Shows everyone that this process works on the job with this tag, until it is dropped. Nobody can change
/// it.
pub(super) fn hold_tag(tag: &str) -> io::Result<File> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let memory = memfd_create(HELD, flags | NEVER_PROGRAM).or_else(|_| memfd_create(HELD, flags))?;
    let mut file = File::from(memory);
    file.write_all(tag.as_bytes())?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::all()))?;
    Ok(file)
}

/// The tag that a supervisor holds.
fn held_tag(pid: i32) -> Option<Vec<u8>> {
    let mut open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten().map(|entry| entry.path());
    let is_held =
        |path: &PathBuf| fs::read_link(path).is_ok_and(|target| target.as_os_str().as_bytes() == HELD_LINK);
    fs::read(open.find(is_held)?).ok()
}

/// From now on, orphaned descendants become children of this process.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Has this process killed when `parent` dies; fails if that has already happened.
pub(super) fn die_with(parent: i32) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if getppid().as_raw() == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

/// Keeps other processes of this user out of the memory of this one. A process that is traced already is not its own, and
/// only its tracer would notice.
pub(super) fn guard_memory() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    if tracer.is_none_or(|tracer| tracer.trim() == "0") {
        // Without it everything works as before.
        prctl::set_dumpable(false).ok();
    }
}

/// Marks this process and its descendants as part of a job. Without such a limit in the kernel, the ancestors
/// must tell.
pub(super) fn mark_job() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_LOCKS) {
        // Never raised: that would be refused.
        let hard = hard.min(JOB_MARK);
        let _ = setrlimit(Resource::RLIMIT_LOCKS, soft.min(hard), hard);
    }
}

/// The hard limit that marks this process as part of a job. A lower one counts as well, since a job can lower
/// it.
pub(super) fn job_mark() -> Option<u64> {
    let (_, hard) = getrlimit(Resource::RLIMIT_LOCKS).ok()?;
    (hard <= JOB_MARK).then_some(hard)
}

/// Whether a process is part of a job by its mark. Among planwright's children only those are that it adopted
/// after they killed their supervisor: a supervisor itself has no mark.
fn is_marked(pid: i32) -> bool {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"));
    let hard = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    hard.is_some_and(|hard| hard <= JOB_MARK)
}

/// Notifies when children exit.
pub(super) struct Deaths(SignalFd);

impl Deaths {
    /// The polling interval where there is no notification.
    pub(super) const LOOK: Option<Duration> = None;

    /// Listens from now on; earlier events are not lost while the signal is blocked.
    pub(super) fn listen() -> io::Result<Self> {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        Ok(Self(SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?))
    }

    /// Readable when a child has exited.
    #[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    /// Drops notifications; callers check the children themselves.
    pub(super) fn forget(&self) {
        while matches!(self.0.read_signal(), Ok(Some(_))) {}
    }
}

/// Reaps every exited child until it was `command` or none is left. Adopted orphans are reaped silently.
pub(super) fn reap(command: &mut Option<i32>) -> Option<PollEvent> {
    loop {
        // The command is waited for by number, raw: nix refuses to name a real-time signal.
        match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG) {
            Ok(WaitStatus::StillAlive) => return None,
            Ok(status) if status.pid().map(Pid::as_raw) == *command => {}
            Ok(status) => {
                let _ = waitpid(status.pid(), None);
                continue;
            }
            Err(Errno::ECHILD) => return Some(PollEvent::Childless),
            Err(Errno::EINVAL) => reap_dead_children_but(command.unwrap_or_default()),
            Err(_) => continue,
        }
        if let Some(Ok(Some(status))) = command.map(try_wait) {
            *command = None;
            return Some(PollEvent::Ended(status));
        }
    }
}

fn reap_dead_children_but(command: i32) {
    let own = std::process::id().cast_signed();
    let dead = processes().unwrap_or_default().into_iter().filter(|one| one.parent == own && !one.is_alive);
    for one in dead.filter(|one| one.identity.pid != command) {
        // nix has no name for its status, and it isn't needed.
        let _ = waitpid(Pid::from_raw(one.identity.pid), Some(WaitPidFlag::WNOHANG));
    }
}

/// Kills all live descendants of this process, `_command` included; returns them.
pub(super) fn kill_below(_command: i32) -> Vec<Identity> {
    let processes = processes().unwrap_or_default();
    let roots = BTreeSet::from([std::process::id().cast_signed()]);
    let below = below(&processes, roots, &BTreeSet::new());
    let found = processes.iter().filter(|one| one.is_alive && below.contains(&one.identity.pid));
    found.map(|one| one.identity).filter(|&identity| kill_now(identity)).collect()
}

/// Kills a process unless its number belongs to another one by now. Returns whether there was one to kill.
fn kill_now(identity: Identity) -> bool {
    process(identity.pid).is_some_and(|now| now.identity == identity && now.is_alive)
        && kill(Pid::from_raw(identity.pid), Signal::SIGKILL).is_ok()
}

/// Kills processes with a tag of ours, what jobs without a supervisor left to this process, and their
/// descendants, until none is found; returns how many.
pub(super) fn kill_tagged(tag: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<usize, Error> {
    let begin = Instant::now();
    let mut killed = BTreeSet::new();
    let mut clean_scans = 0;
    while clean_scans < CLEAN_SCANS {
        wake_supervisors();
        let (now, later) = tagged(is_ours, &killed).map_err(|source| Error::List { source })?;
        let count = now.len() + later;
        if count > 0 && begin.elapsed() > DEATH_MAX {
            return Err(Error::Alive { tag: tag.to_owned(), count });
        }
        clean_scans = if count == 0 { clean_scans + 1 } else { 0 };
        killed.extend(now.into_iter().filter(|&identity| kill_now(identity)));
        std::thread::sleep(ROUND);
    }
    Ok(killed.len())
}

/// Resumes supervisors that somebody stopped. One whose planwright is dead then ends its job and itself: nothing can be read of one
/// that guards its memory, so it is not found by its tag. The others notice nothing.
fn wake_supervisors() {
    for one in processes().unwrap_or_default().iter().filter(|one| is_supervisor(one.identity.pid)) {
        let _ = kill(Pid::from_raw(one.identity.pid), Signal::SIGCONT);
    }
}

/// Whom to kill now, and how many come later: a supervisor is kept while it has descendants, because nothing
/// escapes it while it lives.
fn tagged(is_ours: &dyn Fn(&str) -> bool, killed: &BTreeSet<Identity>) -> io::Result<(Vec<Identity>, usize)> {
    let processes = processes()?;
    let user = geteuid().as_raw();
    let spared = ancestry(&processes, std::process::id().cast_signed());
    let own = std::process::id().cast_signed();
    let has_tag = |one: &&Process| {
        killed.contains(&one.identity)
            || tag(one.identity.pid, user).is_some_and(|tag| is_ours(&tag))
            || one.parent == own && is_marked(one.identity.pid)
    };
    let is_open = |one: &&Process| one.is_alive && !spared.contains(&one.identity.pid);
    let roots: BTreeSet<i32> =
        processes.iter().filter(is_open).filter(has_tag).map(|one| one.identity.pid).collect();
    let mut family = below(&processes, roots.clone(), &spared);
    family.extend(roots);
    let family: Vec<&Process> =
        processes.iter().filter(is_open).filter(|one| family.contains(&one.identity.pid)).collect();
    let parents: BTreeSet<i32> = family.iter().map(|one| one.parent).collect();
    let (later, now): (Vec<&Process>, Vec<&Process>) = family
        .into_iter()
        .partition(|one| parents.contains(&one.identity.pid) && is_supervisor(one.identity.pid));
    Ok((now.into_iter().map(|one| one.identity).collect(), later.len()))
}

/// The tags of live processes that start with `prefix`, without this process and its ancestors.
pub(super) fn tags(prefix: &str) -> Result<BTreeMap<String, usize>, Error> {
    let list = |source| Error::List { source };
    let processes = processes().map_err(list)?;
    let user = geteuid().as_raw();
    let spared = ancestry(&processes, std::process::id().cast_signed());
    let mut tags = BTreeMap::new();
    for one in processes.iter().filter(|one| one.is_alive && !spared.contains(&one.identity.pid)) {
        if let Some(tag) = tag(one.identity.pid, user).filter(|tag| tag.starts_with(prefix)) {
            *tags.entry(tag).or_default() += 1;
        }
    }
    Ok(tags)
}

/// The numbers of all descendants of `roots`, without spared processes and theirs.
fn below(processes: &[Process], roots: BTreeSet<i32>, spared: &BTreeSet<i32>) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for one in processes.iter().filter(|one| !spared.contains(&one.identity.pid)) {
        children.entry(one.parent).or_default().push(one.identity.pid);
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<i32> = roots.into_iter().collect();
    while let Some(parent) = open.pop() {
        // A list read while processes came and went may contain a cycle.
        open.extend(
            children.get(&parent).into_iter().flatten().copied().filter(|&child| found.insert(child)),
        );
    }
    found
}

/// A process and its ancestors.
fn ancestry(processes: &[Process], pid: i32) -> BTreeSet<i32> {
    let parents: BTreeMap<i32, i32> = processes.iter().map(|one| (one.identity.pid, one.parent)).collect();
    let mut line = BTreeSet::new();
    let mut at = Some(pid);
    while let Some(pid) = at.filter(|&pid| line.insert(pid)) {
        at = parents.get(&pid).copied();
    }
    line
}

/// The tag of a process, if it belongs to `user` and has one.
fn tag(pid: i32, user: u32) -> Option<String> {
    let value = variable((pid, user), TAG)?;
    let value = if value == CHANGING.as_bytes() { held_tag(pid)? } else { value };
    Some(String::from_utf8_lossy(&value).into_owned())
}

fn variable((pid, user): (i32, u32), name: &str) -> Option<Vec<u8>> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    if fs::metadata(&folder).ok()?.uid() != user {
        return None;
    }
    let environment = fs::read(folder.join("environ")).ok()?;
    let mut values = environment.split(|&byte| byte == 0);
    values.find_map(|entry| Some(entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec()))
}

/// A variable of this process's nearest ancestor that has it, within its job.
pub(super) fn variable_above(name: &str) -> Option<String> {
    let user = geteuid().as_raw();
    let mut at = std::process::id().cast_signed();
    for _ in 0..DEPTH_MAX {
        at = process(at)?.parent;
        if is_supervisor(at) {
            return None;
        }
        if let Some(value) = variable((at, user), name) {
            return String::from_utf8(value).ok();
        }
    }
    None
}

/// The tag of this process's job, found in its ancestors: a process can wipe its own environment, but not
/// that of the supervisor to which every orphan of a job returns.
pub(super) fn tag_above() -> Option<String> {
    let user = geteuid().as_raw();
    let line = ancestry(&processes().ok()?, std::process::id().cast_signed());
    line.into_iter().find_map(|pid| tag(pid, user))
}

fn is_supervisor(pid: i32) -> bool {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    line.split(|&byte| byte == 0).skip(1).eq([SHIM.as_bytes(), b""])
}

fn processes() -> io::Result<Vec<Process>> {
    let names = fs::read_dir("/proc")?.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| process(name.to_str()?.parse().ok()?)).collect())
}

fn process(pid: i32) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses a line of /proc/PID/stat. The name in it may contain anything, brackets too; the rest are numbers.
fn parse(pid: i32, line: &str) -> Option<Process> {
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    let (state, parent) = (*fields.first()?, fields.get(1)?.parse().ok()?);
    let threads: u32 = fields.get(17)?.parse().ok()?;
    let start = fields.get(19)?.parse().ok()?;
    // The first thread of a process may be a zombie while others still run.
    let is_alive = !matches!(state, "Z" | "X" | "x") || threads > 1;
    Some(Process { identity: Identity { pid, start }, parent, is_alive })
}

#[cfg(test)]
mod tests {
    use super::{ancestry, below, parse};

    fn line(name: &str, state: &str, parent: i32, threads: u32) -> String {
        format!("7 ({name}) {state} {parent} 7 7 0 -1 1 2 3 4 5 6 7 8 9 20 0 {threads} 0 4711 1 2")
    }

    #[test]
    fn a_name_cannot_forge_the_state_of_a_process() {
        let one = parse(7, &line("a) Z 1 (b", "S", 5, 1)).expect("the line is whole");
        assert_eq!((one.is_alive, one.parent, one.identity.start), (true, 5, 4711));
    }

    #[test]
    fn a_zombie_is_dead_once_its_last_thread_is() {
        let is_alive = |state, threads| parse(7, &line("x", state, 1, threads)).expect("whole").is_alive;
        assert!(is_alive("Z", 2));
        assert!(!is_alive("Z", 1));
        assert!(is_alive("T", 1));
    }

    #[test]
    fn descendants_are_followed_to_the_end_and_circles_are_left() {
        let make = |pid, parent| parse(pid, &line("x", "S", parent, 1)).expect("whole");
        let all = [make(1, 0), make(2, 1), make(3, 2), make(4, 3), make(5, 1), make(8, 9), make(9, 8)];
        assert_eq!(below(&all, [2].into(), &[].into()), [3, 4].into());
        assert_eq!(below(&all, [2].into(), &[3].into()), [].into());
        assert_eq!(below(&all, [8].into(), &[].into()), [8, 9].into());
        assert_eq!(ancestry(&all, 4), [0, 1, 2, 3, 4].into());
        assert_eq!(ancestry(&all, 8), [8, 9].into());
    }
}
