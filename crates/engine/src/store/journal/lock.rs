//! The right to run a run: a lock that the kernel releases when its holder dies, however that happens. Names
//! the holder; never waits.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Reading the holder takes the lock for an instant, which must not be mistaken for an owner.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(2);
/// Enough for a process id and a host name.
const HOLDER_BYTES_MAX: u64 = 512;

/// The right to run a run. Dropping it, or dying, releases it.
#[derive(Debug)]
pub struct RunLock {
    // The lock belongs to this open file: it is held exactly as long as the file is open.
    _file: File,
}

/// The process that runs a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    pub pid: u32,
    pub host: String,
}

impl std::fmt::Display for LockHolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

/// The name of the lock held while working in a workspace.
pub(crate) fn workspace_lock(root: &Path) -> String {
    let root = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    format!("workspace-{}", &root[..16])
}

/// Takes the lock; `None` if another process has it.
pub(super) fn acquire(path: &Path) -> io::Result<Option<RunLock>> {
    let mut file = open(path)?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => {
                // The newline ends the record: remains of a longer one are not read.
                file.write_all(format!("{} {}\n", std::process::id(), host()).as_bytes())?;
                return Ok(Some(RunLock { _file: file }));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(source)) => return Err(source),
        }
    }
    Ok(None)
}

/// The holder of the lock; `None` if there is none.
pub(super) fn holder(path: &Path) -> io::Result<Option<LockHolder>> {
    let mut file = match OpenOptions::new().read(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    // The record alone proves nothing: its writer may be dead.
    match file.try_lock_shared() {
        Ok(()) => return Ok(None),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(source)) => return Err(source),
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(HOLDER_BYTES_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let record = text.lines().next().and_then(|line| line.split_once(' '));
    let (pid, host) = record.unwrap_or(("0", "an unknown host"));
    Ok(Some(LockHolder { pid: pid.parse().unwrap_or(0), host: host.to_owned() }))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "this machine".to_owned() } else { name.to_owned() }
}
