//! Jobs for the suite, and ways to see what became of their processes.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use planwright_engine::system::process::{Error, ProcessEnd, ProcessJob, Stop, Supervisors};

use crate::scratch::Scratch;

/// How the tag of a job begins that gets the supervisor without a sweep.
pub(crate) const SABOTEUR: &str = "saboteur/";
/// Leaves a daemon behind that was forked twice, is in a session of its own and has said its number.
pub(crate) const DAEMON: &str =
    "(setsid bash -c 'echo $$ >> pids; exec sleep 999' &); until [ -s pids ]; do :; done; exit 7";

/// How long something may take that is bound to happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A name that no other job has.
pub(crate) fn unique(prefix: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{prefix}{}-{}/", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A job that runs a script with bash.
pub(crate) fn bash(script: &str) -> ProcessJob {
    ProcessJob {
        argv: ["bash", "-c", script].map(str::to_owned).to_vec(),
        folder: std::env::temp_dir(),
        env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        input: Vec::new(),
        deadline: Duration::from_mins(2),
        output_bytes_max: 1 << 16,
        tag: unique("suite/"),
    }
}

/// Runs a job with supervisors that all cases share, so that each gets one which had other jobs before.
pub(crate) fn run(job: &ProcessJob, stop: &Stop) -> Result<ProcessEnd, Error> {
    static SHARED: LazyLock<Supervisors> = LazyLock::new(Supervisors::new);
    SHARED.run(job, stop)
}

/// Runs a script with bash to its end.
pub(crate) fn shell(script: &str) -> ProcessEnd {
    run(&bash(script), &Stop::new()).expect("the job runs")
}

/// Waits until something holds that is bound to.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The numbers that processes wrote to the file `pids`, once there are at least `count`.
pub(crate) fn pids_in(folder: &Scratch, count: usize) -> Vec<i32> {
    let mut pids = Vec::new();
    wait_until("enough processes have named themselves", || {
        let text = std::fs::read_to_string(folder.path().join("pids")).unwrap_or_default();
        pids = text.lines().filter_map(|line| line.parse().ok()).collect();
        text.ends_with('\n') && pids.len() >= count
    });
    pids
}

/// Whether a process is there and no zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

/// Whether every thread of a process is stopped.
pub(crate) fn is_stopped(pid: i32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process is there").flatten();
    let mut stats = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    stats.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
}

/// The most memory that this process ever had.
pub(crate) fn memory_peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak is told");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
}
