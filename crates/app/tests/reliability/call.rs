//! The calls to the kernel that matter to a run: those that make something durable, take a lock, start or end a process,
//! or talk to one. Knows their names and numbers; does nothing to them.

use nix::libc;

/// The arguments of a call, as they stand in the registers.
pub(crate) type Arguments = [u64; 6];

/// A call, or one use of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// As `strace` names it; a use that matters by itself has a name of its own.
    pub(crate) name: &'static str,
    number: i64,
    is_meant: fn(&Arguments) -> bool,
    /// Errors that a disk, a full one, or a process with too many files gives here.
    pub(crate) errors: &'static [i32],
    /// Whether a kill in front of it can make a difference to what lies on the disk or is alive.
    pub(crate) is_mark: bool,
    /// Which of its arguments is the path that it is about.
    pub(crate) path: Option<usize>,
}

const NONE: &[i32] = &[];
const BROKEN: &[i32] = &[libc::EIO];
const FULL: &[i32] = &[libc::EIO, libc::ENOSPC];
const SCARCE: &[i32] = &[libc::EMFILE];
const ANY: &[i32] = &[libc::EIO, libc::ENOSPC, libc::EMFILE];
/// No thread or process to be had.
const CROWDED: &[i32] = &[libc::EAGAIN];

/// Every call that is counted. The first that fits names it.
pub(crate) const CALLS: &[Call] = &[
    changing("open-creating", libc::SYS_openat, ANY).meant(is_creating).about(1),
    looking("open", libc::SYS_openat, &[libc::EIO, libc::EMFILE]).about(1),
    looking("read", libc::SYS_read, BROKEN),
    looking("pread64", libc::SYS_pread64, BROKEN),
    changing("write", libc::SYS_write, FULL),
    changing("writev", libc::SYS_writev, FULL),
    changing("pwrite64", libc::SYS_pwrite64, FULL),
    changing("pwritev", libc::SYS_pwritev, FULL),
    changing("fsync", libc::SYS_fsync, FULL),
    changing("fdatasync", libc::SYS_fdatasync, FULL),
    changing("rename", libc::SYS_rename, FULL),
    changing("renameat", libc::SYS_renameat, FULL),
    changing("renameat2", libc::SYS_renameat2, FULL),
    changing("link", libc::SYS_link, FULL),
    changing("linkat", libc::SYS_linkat, FULL),
    changing("unlink", libc::SYS_unlink, BROKEN).about(0),
    changing("unlinkat", libc::SYS_unlinkat, BROKEN).about(1),
    changing("mkdir", libc::SYS_mkdir, FULL).about(0),
    changing("mkdirat", libc::SYS_mkdirat, FULL).about(1),
    changing("ftruncate", libc::SYS_ftruncate, BROKEN),
    changing("fallocate", libc::SYS_fallocate, FULL),
    changing("fchmod", libc::SYS_fchmod, BROKEN),
    changing("flock", libc::SYS_flock, BROKEN),
    changing("fcntl-lock", libc::SYS_fcntl, BROKEN).meant(is_locking),
    changing("clone", libc::SYS_clone, CROWDED),
    changing("clone3", libc::SYS_clone3, CROWDED),
    changing("fork", libc::SYS_fork, CROWDED),
    changing("vfork", libc::SYS_vfork, CROWDED),
    changing("execve", libc::SYS_execve, NONE),
    changing("kill", libc::SYS_kill, NONE),
    changing("connect", libc::SYS_connect, NONE),
    changing("sendmsg", libc::SYS_sendmsg, NONE),
    changing("sendto", libc::SYS_sendto, NONE),
    changing("socketpair", libc::SYS_socketpair, SCARCE),
    changing("pipe2", libc::SYS_pipe2, SCARCE),
    changing("exit_group", libc::SYS_exit_group, NONE),
    looking("getdents64", libc::SYS_getdents64, BROKEN),
    looking("statx", libc::SYS_statx, BROKEN).about(1),
    looking("newfstatat", libc::SYS_newfstatat, BROKEN).about(1),
    looking("readlink", libc::SYS_readlink, BROKEN).about(0),
];

/// The call that is made, if it matters.
pub(crate) fn of(number: i64, arguments: &Arguments) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.number == number && (call.is_meant)(arguments))
}

/// The call with this name.
pub(crate) fn named(name: &str) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.name == name)
}

/// The name of an error.
pub(crate) fn error_name(error: i32) -> &'static str {
    match error {
        libc::EIO => "EIO",
        libc::ENOSPC => "ENOSPC",
        libc::EMFILE => "EMFILE",
        libc::EAGAIN => "EAGAIN",
        _ => "another error",
    }
}

const fn changing(name: &'static str, number: i64, errors: &'static [i32]) -> Call {
    Call { name, number, is_meant: |_| true, errors, is_mark: true, path: None }
}

const fn looking(name: &'static str, number: i64, errors: &'static [i32]) -> Call {
    Call { name, number, is_meant: |_| true, errors, is_mark: false, path: None }
}

impl Call {
    const fn about(mut self, argument: usize) -> Self {
        self.path = Some(argument);
        self
    }

    const fn meant(mut self, is_meant: fn(&Arguments) -> bool) -> Self {
        self.is_meant = is_meant;
        self
    }
}

/// Flags and commands are numbers of 32 bits, whatever stands above them in the register.
fn low(argument: u64) -> i32 {
    let bytes = argument.to_le_bytes();
    i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn is_creating(arguments: &Arguments) -> bool {
    low(arguments[2]) & libc::O_CREAT != 0
}

fn is_locking(arguments: &Arguments) -> bool {
    matches!(low(arguments[1]), libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_SETLK | libc::F_OFD_SETLKW)
}
