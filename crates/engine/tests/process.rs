//! Real processes under supervision: how they end, what they leave behind, and that none of it outlives the call.
//!
//! The suite is the supervisor of its own jobs, so it has its own `main`.

mod process {
    pub(crate) mod job;
    pub(crate) mod reuse;
    pub(crate) mod runner;
}
#[path = "scratch/folder.rs"]
mod scratch;

use std::ffi::OsString;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use planwright_engine::system::process::{
    GRACE, How, SHIM, Stop, Supervisors, reclaim, shim_main_without_sweep,
};

use process::job::{
    DAEMON, SABOTEUR, bash, is_alive, is_stopped, memory_peak_bytes, pids_in, run, shell, unique, wait_until,
};
use process::reuse;
use process::runner::{Case, run_cases};
use scratch::Scratch;

/// The argument that makes this program a harness that runs one job and is to be killed.
const HARNESS: &str = "__harness";
/// How the tag of the job begins that such a harness runs first.
const BEFORE: &str = "before/";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|first| first.to_str()) {
        // Jobs that are marked get the saboteur, whose sweep is off.
        Some(SHIM) => shim_main_without_sweep(arguments, SABOTEUR),
        Some(HARNESS) => harness(&arguments),
        _ => run_cases(&[CASES, reuse::CASES].concat(), &arguments),
    }
}

/// Runs one job as a harness would, with a supervisor that had another one before; the script and the tag are arguments.
fn harness(arguments: &[OsString]) -> ExitCode {
    let [script, tag, folder] = &arguments[2..] else { return ExitCode::FAILURE };
    let text = |argument: &OsString| argument.to_str().expect("arguments are text").to_owned();
    let supervisors = Supervisors::new();
    let mut job = bash("exit 0");
    job.tag = format!("{BEFORE}{}", text(tag));
    supervisors.run(&job, &Stop::new()).expect("the job runs");
    job.argv = bash(&text(script)).argv;
    (job.tag, job.folder) = (text(tag), folder.into());
    supervisors.run(&job, &Stop::new()).expect("the job runs");
    ExitCode::SUCCESS
}

const CASES: &[Case] = &[
    ("an_exit_code_is_told", an_exit_code_is_told),
    ("a_deadly_signal_is_told_even_a_real_time_one", a_deadly_signal_is_told_even_a_real_time_one),
    ("outputs_are_kept_apart_and_together", outputs_are_kept_apart_and_together),
    ("the_deadline_kills_a_command_and_its_children", the_deadline_kills_a_command_and_its_children),
    ("a_command_may_use_its_grace_and_still_timed_out", a_command_may_use_its_grace_and_still_timed_out),
    ("a_command_that_ignores_the_ladder_is_killed_after_its_grace", a_deaf_command_is_killed_after_its_grace),
    ("a_daemon_dies_with_its_job_and_is_counted", a_daemon_dies_with_its_job_and_is_counted),
    ("without_the_sweep_a_daemon_survives", without_the_sweep_a_daemon_survives),
    ("a_daemon_that_wiped_its_environment_dies_too", a_daemon_that_wiped_its_environment_dies_too),
    ("a_tree_that_forks_while_it_is_killed_dies", a_tree_that_forks_while_it_is_killed_dies),
    ("a_daemon_that_holds_the_output_delays_nothing", a_daemon_that_holds_the_output_delays_nothing),
    ("orphans_that_end_early_are_reaped_while_the_command_runs", orphans_that_end_early_are_reaped),
    ("three_hundred_megabytes_are_drained_and_not_kept", three_hundred_megabytes_are_drained_and_not_kept),
    ("input_that_nobody_reads_stops_nothing", input_that_nobody_reads_stops_nothing),
    ("input_arrives_whole", input_arrives_whole),
    ("the_stop_handle_ends_a_job", the_stop_handle_ends_a_job),
    ("a_stop_before_the_start_starts_nothing", a_stop_before_the_start_starts_nothing),
    ("the_environment_is_what_was_given", the_environment_is_what_was_given),
    ("no_descriptor_of_the_harness_reaches_a_command", no_descriptor_reaches_a_command),
    ("a_command_has_a_session_of_its_own", a_command_has_a_session_of_its_own),
    ("what_cannot_be_started_is_told_from_what_fails", what_cannot_be_started_is_told_from_what_fails),
    ("a_command_that_kills_its_supervisor_is_lost_and_dead", a_command_that_kills_its_supervisor_is_lost),
    ("a_stopped_supervisor_is_woken_at_the_deadline", a_stopped_supervisor_is_woken_at_the_deadline),
    ("when_the_harness_is_killed_the_tree_dies", when_the_harness_is_killed_the_tree_dies),
    ("a_supervisor_outlives_being_stopped_and_hung_up", a_supervisor_outlives_being_stopped_and_hung_up),
    ("reclaim_returns_when_all_are_dead", reclaim_returns_when_all_are_dead),
    ("what_outlives_harness_and_supervisor_is_reclaimed", what_outlives_harness_and_supervisor_is_reclaimed),
    ("twenty_jobs_at_once_do_not_disturb_each_other", twenty_jobs_at_once_do_not_disturb_each_other),
];

fn an_exit_code_is_told() {
    for code in [0, 1, 42, 126, 127, 255] {
        let ended = shell(&format!("exit {code}"));
        assert_eq!((ended.how, ended.leftovers), (How::Exited(code), 0));
    }
}

fn a_deadly_signal_is_told_even_a_real_time_one() {
    for signal in [9, 15, 11, 34, 40] {
        assert_eq!(shell(&format!("kill -{signal} $$")).how, How::Signalled(signal));
    }
    // The death of an orphan by such a signal is not that of the command.
    let ended = shell("(bash -c 'kill -40 $$' &); (bash -c 'kill -34 $$' &); exit 3");
    assert_eq!(ended.how, How::Exited(3));
}

fn outputs_are_kept_apart_and_together() {
    let ended = shell("echo out; echo err >&2");
    assert_eq!((ended.stdout.text().as_str(), ended.stderr.text().as_str()), ("out\n", "err\n"));
    assert_eq!(ended.output.total(), 8);
    let mut job = bash("printf 'a%.0s' {1..5000}; printf 'z%.0s' {1..5000} >&2");
    job.output_bytes_max = 100;
    let ended = run(&job, &Stop::new()).expect("the job runs");
    assert_eq!((ended.stdout.total(), ended.stderr.total()), (5000, 5000));
    assert!(ended.stdout.text().contains("… 4900 bytes left out …"), "{}", ended.stdout.text());
    assert_eq!(ended.stderr.tail(3), "zzz");
}

fn the_deadline_kills_a_command_and_its_children() {
    let folder = Scratch::new("process");
    let mut job =
        bash("sleep 999 & echo $! >> pids; (sleep 999 & echo $! >> pids); echo $$ >> pids; sleep 999");
    (job.folder, job.deadline) = (folder.path().into(), Duration::from_millis(700));
    let ended = run(&job, &Stop::new()).expect("the job runs");
    assert_eq!(ended.how, How::TimedOut);
    assert!(ended.duration >= job.deadline && ended.duration < job.deadline + GRACE, "{:?}", ended.duration);
    let pids = pids_in(&folder, 3);
    assert!(!pids.iter().any(|&pid| is_alive(pid)), "{pids:?}");
}

fn a_command_may_use_its_grace_and_still_timed_out() {
    let mut job = bash("trap 'echo tidied; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    job.deadline = Duration::from_millis(700);
    let ended = run(&job, &Stop::new()).expect("the job runs");
    assert_eq!((ended.how, ended.stdout.text().as_str()), (How::TimedOut, "ready\ntidied\n"));
}

fn a_deaf_command_is_killed_after_its_grace() {
    let mut job = bash("trap '' TERM; while :; do sleep 0.05; done");
    job.deadline = Duration::from_millis(500);
    let ended = run(&job, &Stop::new()).expect("the job runs");
    assert_eq!(ended.how, How::TimedOut);
    assert!(ended.duration >= job.deadline + GRACE, "{:?}", ended.duration);
}

fn a_daemon_dies_with_its_job_and_is_counted() {
    for _ in 0..30 {
        let folder = Scratch::new("process");
        let mut job = bash(DAEMON);
        job.folder = folder.path().into();
        let ended = run(&job, &Stop::new()).expect("the job runs");
        assert_eq!((ended.how, ended.leftovers), (How::Exited(7), 1));
        // At once, not in a while: the next thing that a caller does is to look at the files.
        assert!(!is_alive(pids_in(&folder, 1)[0]));
    }
}

fn without_the_sweep_a_daemon_survives() {
    let folder = Scratch::new("process");
    let mut job = bash(DAEMON);
    job.folder = folder.path().into();
    job.tag = format!("{SABOTEUR}{}", job.tag);
    let ended = run(&job, &Stop::new()).expect("the job runs");
    assert_eq!((ended.how, ended.leftovers), (How::Exited(7), 0));
    let pid = pids_in(&folder, 1)[0];
    assert!(is_alive(pid), "the tests above could not fail");
    assert_eq!(reclaim(&job.tag).expect("processes are listed"), 1);
    assert!(!is_alive(pid));
}

fn a_daemon_that_wiped_its_environment_dies_too() {
    let folder = Scratch::new("process");
    let mut job = bash(&DAEMON.replace("setsid", "setsid env -i"));
    job.folder = folder.path().into();
    let ended = run(&job, &Stop::new()).expect("the job runs");
    assert_eq!((ended.how, ended.leftovers), (How::Exited(7), 1));
    assert!(!is_alive(pids_in(&folder, 1)[0]));
}

fn a_tree_that_forks_while_it_is_killed_dies() {
    let folder = Scratch::new("process");
    // Each link of the chain starts the next one in a session of its own and leaves.
    let link = "echo $$ >> pids; sleep 0.002; setsid bash link & exit 0";
    let mut job = bash(&format!("echo '{link}' > link; setsid bash link; until [ -s pids ]; do :; done"));
    job.folder = folder.path().into();
    let ended = run(&job, &Stop::new()).expect("the job runs");
    assert_eq!(ended.how, How::Exited(0));
    let before = pids_in(&folder, 1);
    assert!(!before.iter().any(|&pid| is_alive(pid)));
    assert_eq!(reclaim(&job.tag).expect("processes are listed"), 0);
    assert_eq!(pids_in(&folder, 1), before, "nobody goes on");
}

fn a_daemon_that_holds_the_output_delays_nothing() {
    let begin = Instant::now();
    let ended = shell("setsid sleep 999 & echo done");
    assert_eq!((ended.how, ended.leftovers), (How::Exited(0), 1));
    assert_eq!(ended.stdout.text(), "done\n");
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

fn orphans_that_end_early_are_reaped() {
    let script = "for i in {1..50}; do (true &); done
        for i in {1..500}; do
            count=$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c \") Z $PPID \")
            [ $count = 0 ] && exit 0
            sleep 0.01
        done
        exit 1";
    assert_eq!(shell(script).how, How::Exited(0));
}

fn three_hundred_megabytes_are_drained_and_not_kept() {
    let before = memory_peak_bytes();
    let ended = shell("head -c 300000000 /dev/zero; echo end >&2");
    assert_eq!((ended.how, ended.stdout.total()), (How::Exited(0), 300_000_000));
    assert_eq!(ended.stderr.text(), "end\n");
    let grown = memory_peak_bytes() - before;
    assert!(grown < 32_000_000, "the peak grew by {grown} bytes");
}

fn input_that_nobody_reads_stops_nothing() {
    let mut job = bash("exit 5");
    job.input = vec![b'x'; 10_000_000];
    assert_eq!(run(&job, &Stop::new()).expect("the job runs").how, How::Exited(5));
    let mut job = bash("exec sleep 999");
    (job.input, job.deadline) = (vec![b'x'; 10_000_000], Duration::from_millis(500));
    assert_eq!(run(&job, &Stop::new()).expect("the job runs").how, How::TimedOut);
}

fn input_arrives_whole() {
    let mut job = bash("wc -c; head -c 5");
    job.input = b"line\n".repeat(1_000_000);
    let ended = run(&job, &Stop::new()).expect("the job runs");
    assert_eq!((ended.how, ended.stdout.text().trim()), (How::Exited(0), "5000000"));
    assert_eq!(shell("cat").stdout.total(), 0, "an empty input ends");
}

fn the_stop_handle_ends_a_job() {
    let folder = Scratch::new("process");
    let stop = Stop::new();
    let mut job = bash("echo $$ >> pids; sleep 999");
    job.folder = folder.path().into();
    let ended = thread::scope(|scope| {
        let job = scope.spawn(|| run(&job, &stop).expect("the job runs"));
        pids_in(&folder, 1);
        stop.request();
        job.join().expect("the job does not panic")
    });
    assert_eq!(ended.how, How::Stopped);
    assert!(!is_alive(pids_in(&folder, 1)[0]));
}

fn a_stop_before_the_start_starts_nothing() {
    let folder = Scratch::new("process");
    let stop = Stop::new();
    stop.request();
    let mut job = bash("touch ran");
    job.folder = folder.path().into();
    assert_eq!(run(&job, &stop).expect("nothing fails").how, How::Stopped);
    assert!(!folder.path().join("ran").exists());
}

fn the_environment_is_what_was_given() {
    let mut job = bash("");
    job.argv = vec!["/usr/bin/env".to_owned()];
    job.env = [("B", "two words"), ("A", "1"), ("PLANWRIGHT_TAG", "forged")].map(own).to_vec();
    let ended = run(&job, &Stop::new()).expect("the job runs");
    let text = ended.stdout.text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=1", "B=two words", &format!("PLANWRIGHT_TAG={}", job.tag)]);
}

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn no_descriptor_reaches_a_command() {
    let inherited = std::fs::File::open("/etc/passwd").expect("the file is there");
    fcntl(&inherited, FcntlArg::F_SETFD(FdFlag::empty())).expect("a descriptor can be made inheritable");
    // With one that is started now, and again with one that had a job.
    let supervisors = Supervisors::new();
    for _ in 0..2 {
        let shell = |script| supervisors.run(&bash(script), &Stop::new()).expect("the job runs");
        let ended = shell("exec 2>&1; ls -l /proc/self/fd | grep -v -e total -e pipe: -e /proc/");
        assert_eq!(ended.output.text(), "", "only the three pipes, and what `ls` reads");
        let ended = shell("ls /proc/self/fd");
        assert_eq!(ended.output.text(), "0\n1\n2\n3\n");
    }
}

fn a_command_has_a_session_of_its_own() {
    let ended =
        shell("read -r pid name state parent group session rest < /proc/$$/stat; echo $((pid - session))");
    assert_eq!(ended.stdout.text(), "0\n");
}

fn what_cannot_be_started_is_told_from_what_fails() {
    let how = |argv: &[&str]| {
        let mut job = bash("");
        job.argv = argv.iter().map(|&part| part.to_owned()).collect();
        run(&job, &Stop::new()).expect("the job runs").how
    };
    let reason = |how: How| match how {
        How::NotStarted(reason) => reason,
        How::Exited(_) | How::Signalled(_) | How::TimedOut | How::Stopped => panic!("{how:?}"),
    };
    let missing = reason(how(&["no-such-program", "x"]));
    assert!(missing.contains("`no-such-program`") && missing.contains("No such file"), "{missing}");
    assert!(reason(how(&["/etc/passwd"])).contains("Permission denied"));
    assert!(reason(how(&["a\0b"])).contains("nul byte"));
    assert!(reason(how(&[])).contains("no program"));
    let mut job = bash("true");
    job.folder = "/no/such/folder".into();
    assert!(reason(run(&job, &Stop::new()).expect("nothing fails").how).contains("/no/such/folder"));
    assert_eq!(how(&["bash", "-c", "no-such-program"]), How::Exited(127));
}

fn a_command_that_kills_its_supervisor_is_lost() {
    let folder = Scratch::new("process");
    // One that has neither the environment of the job nor anything of it above is adopted by the harness, and known by its mark.
    let mut job = bash(
        "env -i setsid bash -c 'echo $$ >> pids; exec sleep 999' & sleep 999 & echo $! >> pids; echo $$ >> pids
         until [ \"$(wc -l < pids)\" = 3 ]; do sleep 0.01; done; kill -9 $PPID; sleep 999",
    );
    job.folder = folder.path().into();
    let error = run(&job, &Stop::new()).expect_err("nobody can say how it ended");
    assert!(error.to_string().contains("supervisor of `bash`"), "{error}");
    let pids = pids_in(&folder, 3);
    assert!(!pids.iter().any(|&pid| is_alive(pid)), "{pids:?}");
}

fn a_stopped_supervisor_is_woken_at_the_deadline() {
    let folder = Scratch::new("process");
    let mut job =
        bash("(setsid env -i bash -c 'echo $$ >> pids; exec sleep 999' &); kill -STOP $PPID; sleep 999");
    (job.folder, job.deadline) = (folder.path().into(), Duration::from_secs(1));
    let ended = run(&job, &Stop::new()).expect("the job runs");
    assert_eq!((ended.how, ended.leftovers), (How::TimedOut, 1));
    assert!(!is_alive(pids_in(&folder, 1)[0]));
}

/// Starts a harness that runs `script`, with its tag; returns once `count` processes have named themselves.
fn start_harness(script: &str, folder: &Scratch, count: usize) -> (Child, String, Vec<i32>) {
    let tag = unique("killed/");
    // In a session of its own: this suite adopts what a dead harness leaves, and the kernel wakes a stopped orphan only where its
    // new parent is of another session, as those of a real harness are.
    let mut command = Command::new("setsid");
    command.arg(std::env::current_exe().expect("this program has a path"));
    command.arg(HARNESS).args([script, &tag]).arg(folder.path()).stdout(Stdio::null());
    let harness = command.spawn().expect("the harness starts");
    let pids = pids_in(folder, count);
    assert!(pids.iter().all(|&pid| is_alive(pid)), "{pids:?}");
    (harness, tag, pids)
}

fn end(mut harness: Child) {
    harness.kill().expect("the harness can be killed");
    harness.wait().expect("the harness ends");
}

/// A tree with a supervisor, a child, a daemon without an environment and a command.
const TREE: &str = "echo $PPID >> pids; sleep 999 & echo $! >> pids
    (setsid env -i bash -c 'echo $$ >> pids; exec sleep 999' &); echo $$ >> pids; sleep 999";

fn when_the_harness_is_killed_the_tree_dies() {
    let folder = Scratch::new("process");
    let (harness, _, pids) = start_harness(TREE, &folder, 4);
    end(harness);
    wait_until("the supervisor has killed all", || !pids.iter().any(|&pid| is_alive(pid)));
}

fn a_supervisor_outlives_being_stopped_and_hung_up() {
    let folder = Scratch::new("process");
    let script =
        TREE.replace("echo $$ >> pids; sleep", "kill -TERM $PPID; kill -STOP $PPID; echo $$ >> pids; sleep");
    let (harness, _, pids) = start_harness(&script, &folder, 4);
    wait_until("the supervisor is stopped", || is_stopped(pids[0]));
    end(harness);
    wait_until("the supervisor has killed all", || !pids.iter().any(|&pid| is_alive(pid)));
}

fn reclaim_returns_when_all_are_dead() {
    for _ in 0..10 {
        let folder = Scratch::new("process");
        let (harness, tag, pids) = start_harness(TREE, &folder, 4);
        assert_eq!(reclaim(&format!("{tag}x")).expect("processes are listed"), 0, "another tag");
        end(harness);
        reclaim(&tag).expect("processes are listed");
        assert!(!pids.iter().any(|&pid| is_alive(pid)), "{pids:?}");
    }
}

fn what_outlives_harness_and_supervisor_is_reclaimed() {
    let folder = Scratch::new("process");
    let script = "echo $PPID >> pids; echo $$ >> pids
        (setsid bash -c 'echo $$ >> pids; env -i sleep 999 & echo $! >> pids; wait' &); sleep 999";
    let (harness, tag, pids) = start_harness(script, &folder, 4);
    let [supervisor, command, daemon, below] = pids[..] else { panic!("{pids:?}") };
    // A harness that is stopped does not see its supervisor die.
    signal(harness.id().cast_signed(), Signal::SIGSTOP);
    signal(supervisor, Signal::SIGKILL);
    end(harness);
    wait_until("the command dies with its supervisor", || !is_alive(command));
    assert!(is_alive(daemon) && is_alive(below), "nothing is left to reclaim");
    assert_eq!(reclaim(&tag).expect("processes are listed"), 2);
    assert!(!is_alive(daemon) && !is_alive(below));
    assert_eq!(reclaim(&tag).expect("processes are listed"), 0);
}

fn signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).expect("the process is there");
}

fn twenty_jobs_at_once_do_not_disturb_each_other() {
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for number in 0..20 {
            let sender = sender.clone();
            scope.spawn(move || {
                let kind = number % 4;
                let mut job = bash(&match kind {
                    0 => format!("cat; exit {number}"),
                    1 => "(setsid sleep 999 &); cat".to_owned(),
                    2 => "cat; kill -9 $$".to_owned(),
                    _ => "cat; sleep 999".to_owned(),
                });
                job.input = format!("job {number}").into_bytes();
                if kind == 3 {
                    job.deadline = Duration::from_secs(2);
                }
                let ended = run(&job, &Stop::new()).expect("the job runs");
                sender.send((number, ended)).expect("somebody listens");
            });
        }
    });
    drop(sender);
    let mut count = 0;
    for (number, ended) in results {
        let how = match number % 4 {
            0 => How::Exited(number),
            1 => How::Exited(0),
            2 => How::Signalled(9),
            _ => How::TimedOut,
        };
        assert_eq!((ended.how, ended.stdout.text()), (how, format!("job {number}")));
        assert_eq!(ended.leftovers, usize::from(number % 4 == 1), "job {number}");
        count += 1;
    }
    assert_eq!(count, 20);
}
