//! A command reads, parses and verifies a plan once. The program under test is this one, called again with a hidden first
//! argument: it runs the command in a process of its own and prints at the end what the engine counted.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "this suite stands outside of the program: it makes its files and starts it"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use planwright_engine::api::{PlanCounts, plan_counts};

#[path = "../../engine/tests/process/runner.rs"]
mod runner;
#[path = "program/sample.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod sample;

/// The hidden argument.
const COUNTED: &str = "counted";
/// Begins the last line of a counted command.
const COUNTS: &str = "counts:";

const CASES: &[runner::Case] = &[
    ("a_command_reads_a_plan_once", a_command_reads_a_plan_once),
    ("two_plans_are_counted_twice", two_plans_are_counted_twice),
];

fn main() -> ExitCode {
    if planwright::cli::is_shim() {
        return planwright::cli::shim();
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|first| first.to_str()) {
        Some(COUNTED) => {
            let exit = planwright::cli::run(arguments.into_iter().skip(1));
            let PlanCounts { reads, parses, verifications } = plan_counts();
            eprintln!("{COUNTS} {reads} {parses} {verifications}");
            exit.into()
        }
        _ => runner::run_cases(CASES, &arguments),
    }
}

/// What is typed, and how often a plan is read, parsed and verified by it, at most.
struct Row {
    typed: &'static str,
    counts: [usize; 3],
    /// Why any of them is more than once.
    why: &'static str,
}

const fn row(typed: &'static str, counts: [usize; 3], why: &'static str) -> Row {
    Row { typed, counts, why }
}

/// Before it is written, a plan file is read again and compared, whoever wrote it meanwhile.
const SHOWN: &str = "the file is read again when its state is written into it";

/// In this order: the plan is proposed, approved and run on the way.
const ROWS: &[Row] = &[
    row("verify it", [1, 1, 1], ""),
    row("verify", [1, 1, 1], ""),
    row("show it", [1, 1, 1], ""),
    row("show it/one", [1, 1, 1], ""),
    row("simulate it", [1, 1, 0], ""),
    // Skimmed, not parsed.
    row("list", [1, 0, 0], ""),
    row("propose it", [2, 2, 1], SHOWN),
    row("review it", [1, 2, 2], "the proposed text is reviewed, and the file compared with it"),
    row("approve it --rev DIGEST", [2, 3, 1], "the proposed text is approved, and the state written"),
    row("status", [0, 0, 0], ""),
    row("status it", [0, 0, 0], ""),
    // How often depends on the clock: the driver looks at the file again while it changes.
    row(
        "run it",
        [10, 10, 1],
        "the approved text is run; the file is compared with it and written at every event",
    ),
    row("status", [0, 0, 0], ""),
    row("log it", [0, 1, 0], ""),
    row("edit it --note looked", [1, 1, 0], ""),
];

fn a_command_reads_a_plan_once() {
    let place = Place::new("once");
    let mut wrong = Vec::new();
    for Row { typed, counts, why } in ROWS {
        assert!(!why.is_empty() || counts.iter().all(|count| *count <= 1), "{typed}: no reason is given");
        let found = place.count(typed);
        if found.iter().zip(counts).any(|(found, most)| found > most) {
            wrong.push(format!("{typed}: {found:?}, at most {counts:?}"));
        }
    }
    assert!(wrong.is_empty(), "reads, parses, verifications:\n{}", wrong.join("\n"));
}

/// The counts are of plans, not of commands.
fn two_plans_are_counted_twice() {
    let place = Place::new("twice");
    std::fs::copy(place.project().join("plans/it.md"), place.project().join("plans/other.md"))
        .expect("copied");
    assert_eq!(place.count("verify"), [2, 2, 2]);
}

/// A repository with one plan, and a home, removed at the end.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("planwright-reads-{}-{name}", std::process::id()));
        let place = Self { folder };
        std::fs::create_dir_all(place.folder.join("home")).expect("a scratch folder");
        std::fs::create_dir_all(place.project().join("plans")).expect("a scratch folder");
        let plan = sample::runnable(&[("one", "", "echo 1 >one.txt", "test -s one.txt")]);
        std::fs::write(place.project().join("plans/it.md"), plan).expect("written");
        for words in
            ["init -q -b main", "add .", "-c user.name=ada -c user.email=ada@example.com commit -qm one"]
        {
            let mut git = place.command(Path::new("git"));
            assert!(git.args(words.split(' ')).status().expect("git starts").success(), "git {words}");
        }
        place
    }

    fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.join("home"))
            .env("XDG_STATE_HOME", self.folder.join("home/state"))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command and returns its counts. `DIGEST` is the plan's.
    fn count(&self, typed: &str) -> [usize; 3] {
        let digest = if typed.contains("DIGEST") { self.digest() } else { String::new() };
        let (stderr, counts) = self.run(&typed.replace("DIGEST", &digest));
        counts.unwrap_or_else(|| panic!("{typed} counted nothing: {stderr}"))
    }

    fn digest(&self) -> String {
        let mut show = self.command(&std::env::current_exe().expect("this program"));
        let shown = show.args([COUNTED, "show", "it", "--json"]).output().expect("it starts");
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        shown["data"]["digest"].as_str().expect("a digest").to_owned()
    }

    fn run(&self, typed: &str) -> (String, Option<[usize; 3]>) {
        let mut command = self.command(&std::env::current_exe().expect("this program"));
        let ran = command.arg(COUNTED).args(typed.split(' ')).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{typed}: {ran:?}");
        let line = stderr.lines().rev().find_map(|line| line.strip_prefix(COUNTS));
        let numbers = line.map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()));
        let counts = numbers.map(Iterator::collect::<Vec<usize>>);
        (stderr, counts.and_then(|counts| counts.try_into().ok()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
