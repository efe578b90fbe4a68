//! A small `strace` that knows planwright: it runs the program, counts the calls that matter by who makes them, and does
//! one thing to one of them: kills who makes it, lets it fail, or pretends that it was done. A process of its own, so that
//! everything goes on alone when it ends.
//!
//! `strace -f` counts for every thread apart and can't tell a driver from a supervisor, so most points of a run have no
//! name there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::call::{self, Arguments, Call};
use crate::point::{Deed, Order, Role};

/// The argument that makes this program the tracer.
pub(crate) const TRACE: &str = "__trace";
/// How the tracer ends when it could not do its work.
pub(crate) const UNABLE: u8 = 125;
/// How the tracer ends when it killed what it traced.
pub(crate) const KILLED: i32 = 128 + libc::SIGKILL;
/// Waits for a line before it becomes the program: nothing happens before the tracer watches.
const GATE: &str = "read -r go && exec \"$@\"";
/// The most of a path that is written down.
const PATH_BYTES_MAX: usize = 512;
/// The most of a write that is searched for marks.
const SEARCHED_BYTES_MAX: usize = 1 << 16;

/// Traces: `__trace ORDER LOG MARKS PROGRAM ARGUMENTS...`. Ends as the program did.
pub(crate) fn main(arguments: &[OsString]) -> ExitCode {
    let code = Tracer::start(arguments).and_then(|mut tracer| {
        let code = tracer.follow()?;
        tracer.log.flush()?;
        Ok(code)
    });
    match code {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(UNABLE)),
        Err(error) => {
            // Whoever reads the output of the program sees this instead.
            let _ = writeln!(io::stderr(), "tracer: {error}");
            ExitCode::from(UNABLE)
        }
    }
}

/// Where a thread stands.
#[derive(Clone, Copy, Default)]
enum Place {
    /// In its own code.
    #[default]
    Outside,
    /// In a call, which returns what it returns.
    Inside,
    /// In a call that is not done, and shall return this.
    Deceived(i64),
}

/// A thread that is traced.
#[derive(Default)]
struct Thread {
    process: Option<Pid>,
    place: Place,
}

struct Tracer {
    order: Order,
    log: BufWriter<File>,
    /// What is looked for in everything that is written.
    marks: Vec<String>,
    program: PathBuf,
    main: Pid,
    roles: BTreeMap<Pid, Role>,
    threads: BTreeMap<Pid, Thread>,
    counts: BTreeMap<(Role, &'static str), usize>,
}

impl Tracer {
    fn start(arguments: &[OsString]) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::InvalidInput);
        let [_, _, order, log, marks, program, words @ ..] = arguments else { return Err(missing()) };
        let order = order.to_str().and_then(Order::parse).ok_or_else(missing)?;
        let mut gate = Command::new("sh");
        gate.args(["-c", GATE, "sh"]).arg(program).args(words).stdin(Stdio::piped());
        let mut child = gate.spawn()?;
        let main = Pid::from_raw(child.id().cast_signed());
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACEEXEC;
        ptrace::seize(main, options)?;
        child.stdin.take().ok_or_else(missing)?.write_all(b"go\n")?;
        Ok(Self {
            order,
            log: BufWriter::new(File::create(log)?),
            marks: marks.to_string_lossy().lines().map(str::to_owned).collect(),
            program: fs::canonicalize(program)?,
            main,
            roles: BTreeMap::new(),
            threads: BTreeMap::new(),
            counts: BTreeMap::new(),
        })
    }

    /// Follows everything to the end of the program, and returns its exit code.
    fn follow(&mut self) -> io::Result<i32> {
        loop {
            match waitpid(None, Some(WaitPidFlag::__WALL)) {
                Ok(WaitStatus::PtraceSyscall(pid)) => self.pass(pid)?,
                Ok(WaitStatus::PtraceEvent(pid, _, libc::PTRACE_EVENT_EXEC)) => self.begin(pid)?,
                Ok(WaitStatus::PtraceEvent(pid, ..)) => self.go_on(pid, None)?,
                Ok(WaitStatus::Stopped(pid, signal)) => self.go_on(pid, Some(signal))?,
                Ok(WaitStatus::Exited(pid, code)) if pid == self.main => return Ok(code),
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.main => {
                    return Ok(128 + signal as i32);
                }
                Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) => {
                    self.threads.remove(&pid);
                    self.roles.remove(&pid);
                }
                Ok(WaitStatus::Continued(_) | WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Lets a thread go on, up to its next call where that matters.
    fn go_on(&mut self, pid: Pid, signal: Option<Signal>) -> io::Result<()> {
        let went = match self.role(pid) {
            Some(_) => ptrace::syscall(pid, signal),
            None => ptrace::cont(pid, signal),
        };
        alive(went)
    }

    fn role(&mut self, pid: Pid) -> Option<Role> {
        let thread = self.threads.entry(pid).or_default();
        let process = *thread.process.get_or_insert_with(|| process_of(pid));
        self.roles.get(&process).copied()
    }

    /// Another program has begun. What is not planwright goes on alone.
    fn begin(&mut self, pid: Pid) -> io::Result<()> {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<String> =
            line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let is_ours = fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == self.program);
        self.roles.remove(&pid);
        match (is_ours, words.get(1).map(String::as_str), words.get(2).map(String::as_str)) {
            (true, Some("__shim"), Some("exec")) => {}
            (true, Some("__shim"), _) => drop(self.roles.insert(pid, Role::Supervisor)),
            (true, ..) => drop(self.roles.insert(pid, Role::Driver)),
            (false, ..) => {
                let line = words.join(" ").replace(['\n', '\t'], " ");
                writeln!(self.log, "command\t-\t0\t{line}")?;
                if pid != self.main {
                    self.threads.remove(&pid);
                    return alive(ptrace::detach(pid, None));
                }
            }
        }
        // The call that began it is not over yet.
        self.threads.entry(pid).or_default().place = Place::Inside;
        self.go_on(pid, None)
    }

    /// A thread stands before or behind a call.
    fn pass(&mut self, pid: Pid) -> io::Result<()> {
        let role = self.role(pid);
        let thread = self.threads.entry(pid).or_default();
        match std::mem::take(&mut thread.place) {
            Place::Outside => thread.place = Place::Inside,
            Place::Inside => return self.go_on(pid, None),
            Place::Deceived(answer) => {
                if let Ok(mut registers) = ptrace::getregs(pid) {
                    registers.rax = answer.cast_unsigned();
                    alive(ptrace::setregs(pid, registers))?;
                }
                return self.go_on(pid, None);
            }
        }
        let Ok(registers) = ptrace::getregs(pid) else { return Ok(()) };
        let arguments =
            [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9];
        let call = call::of(registers.orig_rax.cast_signed(), &arguments);
        if let (Some(role), Some(call)) = (role, call) {
            return self.meet((pid, role), call, &arguments, registers);
        }
        self.go_on(pid, None)
    }

    /// Writes a call down, and does to it what was ordered.
    fn meet(
        &mut self,
        (pid, role): (Pid, Role),
        call: &'static Call,
        arguments: &Arguments,
        mut registers: libc::user_regs_struct,
    ) -> io::Result<()> {
        let count = self.counts.entry((role, call.name)).or_default();
        *count += 1;
        let deed = self.order.deed(role, call.name, *count);
        let what = match deed {
            None => "",
            Some(Deed::Kill) => "killed ",
            Some(Deed::Fail(_)) => "failed ",
            Some(Deed::Skip) => "skipped ",
        };
        let line = format!("{}\t{}\t{count}\t{what}", role.name(), call.name);
        let about = self.about(pid, call, arguments);
        writeln!(self.log, "{line}{about}")?;
        let answer = match deed {
            None => return self.go_on(pid, None),
            Some(Deed::Kill) => return alive(kill(process_of(pid), Signal::SIGKILL)),
            Some(Deed::Fail(error)) => -i64::from(error),
            Some(Deed::Skip) => 0,
        };
        // No call has this number, so nothing is done; what it returns is set when it is over.
        registers.orig_rax = u64::MAX;
        alive(ptrace::setregs(pid, registers))?;
        self.threads.entry(pid).or_default().place = Place::Deceived(answer);
        self.go_on(pid, None)
    }

    /// The file that a call is about and the marks that it writes.
    fn about(&self, pid: Pid, call: &Call, arguments: &Arguments) -> String {
        if let Some(place) = call.path {
            return text_at(pid, arguments[place]);
        }
        if !matches!(call.name, "write" | "pwrite64" | "fsync" | "fdatasync" | "flock") {
            return String::new();
        }
        let link = format!("/proc/{pid}/fd/{}", arguments[0]);
        let path = fs::read_link(link).map(|path| path.display().to_string()).unwrap_or_default();
        let place = if call.name == "pwrite64" { format!("@{}", arguments[3]) } else { String::new() };
        let mut text = format!("fd{} {path}{place}", arguments[0]);
        if self.marks.is_empty() || call.name.ends_with("sync") || call.name == "flock" {
            return text;
        }
        let length = usize::try_from(arguments[2]).unwrap_or(0).min(SEARCHED_BYTES_MAX);
        let mut bytes = vec![0; length];
        let memory = File::open(format!("/proc/{pid}/mem"));
        if memory.and_then(|memory| memory.read_exact_at(&mut bytes, arguments[1])).is_ok() {
            let found = self.marks.iter().filter(|mark| contains(&bytes, mark.as_bytes()));
            found.for_each(|mark| text.push_str(&format!("\t{mark}")));
        }
        text
    }
}

/// The text at an address of a process, up to its zero byte.
fn text_at(pid: Pid, address: u64) -> String {
    let mut bytes = vec![0; PATH_BYTES_MAX];
    let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else { return String::new() };
    let count = memory.read_at(&mut bytes, address).unwrap_or(0);
    let path = bytes[..count].split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(path).replace(['\n', '\t'], " ")
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len().max(1)).any(|window| window == part)
}

/// Whoever died in the meantime needs nothing any more.
fn alive(done: nix::Result<()>) -> io::Result<()> {
    match done {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The process that a thread belongs to.
fn process_of(thread: Pid) -> Pid {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok()).map_or(thread, Pid::from_raw)
}
