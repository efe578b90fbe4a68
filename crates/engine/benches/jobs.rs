//! What supervision costs: a job against the same command started bare, in one interleaved run, as a ratio of medians.
//! `cargo bench` measures; `cargo test --benches` only shows that it still runs.
//!
//! The benchmark is the supervisor of its own jobs, so `main` must see the hidden argument first.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use planwright_engine::process::{How, Job, SHIM, Stop, run, shim_main};

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
    let (mut bare, mut supervised) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        bare.push(time(run_bare));
        supervised.push(time(|| run_supervised(round)));
    }
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    println!("`{}`, {rounds} times", ARGV.join(" "));
    for (name, place) in [("fastest", 0), ("median", rounds / 2)] {
        let (bare, supervised) = (at(&mut bare, place), at(&mut supervised, place));
        println!("{name}: bare {bare:.2?}, supervised {supervised:.2?}, {:.2} ×", ratio(supervised, bare));
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

fn run_supervised(round: usize) {
    let job = Job {
        argv: ARGV.map(str::to_owned).to_vec(),
        folder: std::env::temp_dir(),
        env: vec![("PATH".to_owned(), SEARCH_PATH.to_owned())],
        input: Vec::new(),
        deadline: Duration::from_mins(1),
        output_bytes_max: 1 << 16,
        tag: format!("bench/{}/{round}/", std::process::id()),
    };
    assert_eq!(run(&job, &Stop::new()).expect("the job runs").how, How::Exited(0));
}
