//! What supervision costs: a job against the same command started bare, in one interleaved run, as a ratio of medians.
//! `cargo bench` measures; `cargo test --benches` only shows that it still runs.
//!
//! The benchmark is the supervisor of its own jobs, so `main` must see the hidden argument first.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use planwright_engine::system::process::{
    Error, How, ProcessEnd, ProcessJob, SHIM, Stop, Supervisors, run, shim_main,
};

/// How often each is measured.
const ROUNDS_FULL: usize = 1000;
const ROUNDS_SMOKE: usize = 2;
const ARGV: [&str; 5] = ["bash", "-euo", "pipefail", "-c", "true"];
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|first| first == SHIM) {
        return shim_main(arguments);
    }
    // Only `cargo bench` passes this.
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    compare(if is_bench { ROUNDS_FULL } else { ROUNDS_SMOKE });
    ExitCode::SUCCESS
}

#[expect(clippy::print_stdout, reason = "the table is what a benchmark is for")]
fn compare(rounds: usize) {
    let supervisors = Supervisors::new();
    let stop = Stop::new();
    let (mut bare, mut first, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        bare.push(time(run_bare));
        first.push(time(|| is_done(run(&job(round), &stop))));
        kept.push(time(|| is_done(supervisors.run(&job(round), &stop))));
    }
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    println!("`{}`, {rounds} times", ARGV.join(" "));
    for (name, place) in [("fastest", 0), ("median", rounds / 2)] {
        let [bare, first, kept] = [&mut bare, &mut first, &mut kept].map(|times| at(times, place));
        println!(
            "{name}: bare {bare:.2?}; with a new supervisor {first:.2?}, {:.2} ×; with one that is kept {kept:.2?}, {:.2} ×",
            ratio(first, bare),
            ratio(kept, bare)
        );
    }
}

fn time(act: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    act();
    begin.elapsed()
}

fn at(times: &mut [Duration], place: usize) -> Duration {
    times.sort_unstable();
    times[place]
}

fn run_bare() {
    let mut command = Command::new(ARGV[0]);
    command.args(&ARGV[1..]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().expect("bash is there").success());
}

fn job(round: usize) -> ProcessJob {
    ProcessJob {
        argv: ARGV.map(str::to_owned).to_vec(),
        folder: std::env::temp_dir(),
        env: vec![("PATH".to_owned(), SEARCH_PATH.to_owned())],
        input: Vec::new(),
        deadline: Duration::from_mins(1),
        output_bytes_max: 1 << 16,
        tag: format!("bench/{}/{round}/", std::process::id()),
    }
}

fn is_done(ended: Result<ProcessEnd, Error>) {
    assert_eq!(ended.expect("the job runs").how, How::Exited(0));
}
