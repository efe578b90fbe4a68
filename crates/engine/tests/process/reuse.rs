//! A supervisor that is kept for the next job: nothing of one job reaches another, and nothing that happens to it while
//! it has no job is noticed by the next one.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use planwright_engine::system::process::{How, ProcessJob, Stop, Supervisors, reclaim};

use super::job::{bash, is_alive, is_stopped, pids_in, unique, wait_until};
use super::runner::Case;
use crate::scratch::Scratch;

/// The cases of this file.
pub(crate) const CASES: &[Case] = &[
    ("a_supervisor_has_one_job_after_another", a_supervisor_has_one_job_after_another),
    ("jobs_at_the_same_time_have_different_supervisors", jobs_at_the_same_time_have_different_supervisors),
    ("nothing_of_one_job_reaches_the_next", nothing_of_one_job_reaches_the_next),
    ("a_supervisor_that_was_told_to_stop_gets_no_other_job", one_that_was_told_to_stop_gets_no_other_job),
    ("a_supervisor_that_was_killed_in_between_is_replaced", one_that_was_killed_in_between_is_replaced),
    ("a_supervisor_that_was_stopped_in_between_goes_on", one_that_was_stopped_in_between_goes_on),
    ("a_command_that_cannot_be_started_costs_no_supervisor", a_command_that_cannot_be_started_costs_none),
    ("supervisors_end_with_whoever_keeps_them", supervisors_end_with_whoever_keeps_them),
    ("a_supervisor_is_found_by_the_job_that_it_is_on", a_supervisor_is_found_by_the_job_that_it_is_on),
];

/// Runs a script and returns what it says, without the last line break.
fn said(supervisors: &Supervisors, script: &str) -> String {
    let ended = supervisors.run(&bash(script), &Stop::new()).expect("the job runs");
    assert_eq!(ended.how, How::Exited(0), "{}", ended.output.text());
    ended.stdout.text().trim_end().to_owned()
}

fn supervisor(supervisors: &Supervisors) -> i32 {
    said(supervisors, "echo $PPID").parse().expect("a number")
}

fn signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).expect("the process is there");
}

fn a_supervisor_has_one_job_after_another() {
    let supervisors = Supervisors::new();
    let first = supervisor(&supervisors);
    assert!((0..20).all(|_| supervisor(&supervisors) == first));
    assert_ne!(supervisor(&Supervisors::new()), first);
}

fn jobs_at_the_same_time_have_different_supervisors() {
    let supervisors = Supervisors::new();
    let folder = Scratch::new("process");
    let mut job = bash("echo $PPID >> pids; until [ $(wc -l < pids) = 4 ]; do sleep 0.01; done");
    folder.path().clone_into(&mut job.folder);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let job = ProcessJob { tag: unique("suite/"), ..job.clone() };
            let supervisors = &supervisors;
            scope.spawn(move || supervisors.run(&job, &Stop::new()).expect("the job runs"));
        }
    });
    let mut pids = pids_in(&folder, 4);
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 4);
    assert!(pids.contains(&supervisor(&supervisors)), "one of them is kept");
}

fn nothing_of_one_job_reaches_the_next() {
    let supervisors = Supervisors::new();
    let folder = Scratch::new("process");
    let look = "echo $PWD; umask; ulimit -n; ls /proc/self/fd; env | sort | grep -v -e TAG -e '^_'; cat";
    let before = said(&supervisors, look);
    let first = supervisor(&supervisors);
    // A daemon that holds the outputs, input that nobody reads, another folder and another environment.
    let mut job = bash("umask 077; ulimit -n 64; (setsid sleep 999 &); echo noise; exit 3");
    (job.folder, job.input) = (folder.path().to_owned(), vec![b'x'; 1_000_000]);
    job.env.push(("LEAK".to_owned(), "1".to_owned()));
    let ended = supervisors.run(&job, &Stop::new()).expect("the job runs");
    assert_eq!((ended.how, ended.leftovers), (How::Exited(3), 1));
    assert_eq!(said(&supervisors, look), before);
    assert_eq!(supervisor(&supervisors), first, "the same supervisor, or this shows nothing");
}

fn one_that_was_told_to_stop_gets_no_other_job() {
    let supervisors = Supervisors::new();
    let first = supervisor(&supervisors);
    let mut job = bash("sleep 999");
    job.deadline = Duration::from_millis(300);
    assert_eq!(supervisors.run(&job, &Stop::new()).expect("the job runs").how, How::TimedOut);
    assert_ne!(supervisor(&supervisors), first);
    assert!(!is_alive(first));
}

fn one_that_was_killed_in_between_is_replaced() {
    let supervisors = Supervisors::new();
    let first = supervisor(&supervisors);
    signal(first, Signal::SIGKILL);
    // Whether it is seen to be dead or only does not answer: the next job never notices.
    assert_ne!(supervisor(&supervisors), first);
    assert_eq!(said(&supervisors, "echo fine"), "fine");
}

fn one_that_was_stopped_in_between_goes_on() {
    let supervisors = Supervisors::new();
    let first = supervisor(&supervisors);
    signal(first, Signal::SIGSTOP);
    wait_until("the supervisor is stopped", || is_stopped(first));
    let begin = Instant::now();
    assert_eq!(supervisor(&supervisors), first);
    assert!(begin.elapsed() < Duration::from_secs(20), "it was not only woken at the deadline");
}

fn a_command_that_cannot_be_started_costs_none() {
    let supervisors = Supervisors::new();
    let first = supervisor(&supervisors);
    let mut job = bash("");
    job.argv = vec!["no-such-program".to_owned()];
    let how = supervisors.run(&job, &Stop::new()).expect("the job runs").how;
    assert!(matches!(&how, How::NotStarted(why) if why.contains("No such file")), "{how:?}");
    assert_eq!(supervisor(&supervisors), first);
}

fn supervisors_end_with_whoever_keeps_them() {
    let supervisors = Supervisors::new();
    let first = supervisor(&supervisors);
    assert!(is_alive(first));
    drop(supervisors);
    assert!(!is_alive(first));
}

fn a_supervisor_is_found_by_the_job_that_it_is_on() {
    let supervisors = Supervisors::new();
    let folder = Scratch::new("process");
    let mut job = bash("exit 0");
    supervisors.run(&job, &Stop::new()).expect("the job runs");
    let earlier = std::mem::replace(&mut job.tag, unique("suite/"));
    // Nothing below the supervisor has a tag but the command, and that is gone: only the supervisor leads to the daemon.
    job.argv =
        bash("(setsid env -i bash -c 'echo $$ >> pids; exec sleep 999' &); exec env -i sleep 999").argv;
    folder.path().clone_into(&mut job.folder);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| supervisors.run(&job, &Stop::new()));
        let daemon = pids_in(&folder, 1)[0];
        assert_eq!(reclaim(&earlier).expect("processes are listed"), 0, "that job is over");
        assert!(is_alive(daemon));
        reclaim(&job.tag).expect("processes are listed");
        assert!(!is_alive(daemon));
        // Whether its supervisor lived to tell is chance.
        if let Ok(ended) = running.join().expect("the job does not panic") {
            assert_eq!(ended.how, How::Signalled(9));
        }
    });
    assert_eq!(said(&supervisors, "echo fine"), "fine");
}
