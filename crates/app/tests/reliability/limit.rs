//! Limits on processes and threads (M-20): with too few of them a command says so, or does its work. It never hangs, and
//! never panics. By default some limits; 1 to 64 with `PLANWRIGHT_SWEEP=all`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::scenario::{Play, finish, not_tried, run_words};
use crate::sweep::{SWEEP, side_by_side};

/// Nobody has this number, so nobody's processes are counted.
const USER: u32 = 54_321;
const SAMPLE: [u32; 8] = [1, 2, 3, 4, 5, 6, 8, 16];
const MACHINE: i32 = 5;
const PERSON: i32 = 3;

/// What is wrong with a command that may have so many processes.
fn fault(limit: u32, offset: u32, words: &[&str]) -> Option<String> {
    let play = Play::new();
    let before = match words[0] {
        "answer" => Some(play.run(&run_words())),
        _ => None,
    };
    assert!(before.is_none_or(|ran| ran.code == Some(PERSON)));
    let plain = play.planwright(words);
    let mut command = Command::new("setpriv");
    // Several are tried at once: each has a number of its own.
    let user = (USER + offset).to_string();
    give(&play.folder, &user);
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "prlimit"]);
    command.arg(format!("--nproc={limit}")).arg("--").arg(plain.get_program()).args(plain.get_args());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(play.project());
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let ran = finish(&mut command);
    let is_right = match ran.code {
        Some(0 | PERSON) => true,
        Some(MACHINE) => ran.stderr.contains("error"),
        Some(_) | None => false,
    };
    let is_right = is_right && !ran.stderr.contains("panicked");
    (!is_right).then(|| format!("{words:?} with {limit}: {ran:#?}"))
}

fn give(folder: &Path, user: &str) {
    let walked = Command::new("chown").arg("-R").arg(format!("{user}:{user}")).arg(folder).status();
    assert!(walked.is_ok_and(|status| status.success()), "given away");
}

// M-20: 0 hangs, 0 panics.
pub(crate) fn limits_on_processes_end_in_errors_or_in_work() {
    let is_root = fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t")));
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !is_root || !has("setpriv") || !has("prlimit") {
        return not_tried("limits on processes need root, setpriv and prlimit");
    }
    let limits: Vec<u32> = match std::env::var(SWEEP).is_ok_and(|what| what == "all") {
        true => (1..=64).collect(),
        false => SAMPLE.to_vec(),
    };
    let commands: [Vec<&str>; 4] =
        [run_words(), vec!["propose", "it"], vec!["answer", "it/stuck", "--retry"], vec!["list"]];
    let points: Vec<(usize, u32, &Vec<&str>)> = commands
        .iter()
        .flat_map(|words| limits.iter().map(move |limit| (*limit, words)))
        .enumerate()
        .map(|(place, (limit, words))| (place, limit, words))
        .collect();
    let faults: Vec<String> = side_by_side(&points, &|(place, limit, words)| {
        fault(*limit, u32::try_from(*place).expect("few"), words)
    })
    .into_iter()
    .flatten()
    .collect();
    println!("limits on processes: {} tried, {} wrong", points.len(), faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
