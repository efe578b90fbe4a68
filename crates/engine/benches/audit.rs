//! What it costs to run a thousand contracts again: the first time, and when nothing changed since; as ratios to reading the
//! plan and to hashing the workspace, in one interleaved run. `cargo bench --bench audit` measures; `cargo test --benches`
//! only shows that it still runs.
//!
//! The benchmark is the supervisor of its own contracts, and starts itself again with a state folder of its own.

#[path = "plans/clock.rs"]
mod clock;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clock::{Cost, medians};
use planwright_engine::audit::rerun::{PlanAudit, RerunOptions, RerunReport, record};
use planwright_engine::git::base::tree_of_workspace;
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::system::process::{SHIM, Stop, shim_main};
use planwright_engine::workspace::project::Project;

const STEPS_FULL: usize = 1_000;
const STEPS_SMOKE: usize = 20;
const ROUNDS_FULL: usize = 9;
/// Files of the workspace beside those that contracts look at.
const FILES: usize = 500;
/// Says that the state folder is one of the benchmark.
const AGAIN: &str = "PLANWRIGHT_AUDIT_AGAIN";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|first| first == SHIM) {
        return shim_main(arguments);
    }
    let scratch = std::env::temp_dir().join(format!("planwright-audit-{}", std::process::id()));
    if std::env::var_os(AGAIN).is_none() {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(&arguments[1..]).env(AGAIN, &scratch).env("XDG_STATE_HOME", scratch.join("state"));
        let ended = command.status().expect("this program starts");
        std::fs::remove_dir_all(&scratch).expect("removed");
        return if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let root = PathBuf::from(std::env::var_os(AGAIN).unwrap_or_default()).join("project");
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let (steps, rounds) = if is_bench { (STEPS_FULL, ROUNDS_FULL) } else { (STEPS_SMOKE, 1) };
    lay(&root, steps);
    measure(&root, steps, rounds);
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_methods, reason = "lays out a project")]
fn lay(root: &Path, steps: usize) {
    let write = |path: String, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    let mut plan =
        "---\ntype: plan\nstatus: done\nowner: ada\n---\n\n# It\n\n**Context:** Because.\n\n## Steps\n"
            .to_owned();
    for step in 1..=steps {
        let contract = format!("test -s part/{step} && grep -q {step} part/{step}");
        write!(
            plan,
            "\n### {step}. ✅ Write part {step}\n\n**target:** shell\n\n**task:**\nWrite it.\n\n\
             **contract:**\n```shell\n{contract}\n```\n"
        )
        .expect("a string takes all");
        write(format!("part/{step}"), &step.to_string());
    }
    for file in 0..FILES {
        write(format!("src/{}/{file}.txt", file % 20), &"text\n".repeat(200));
    }
    write("plan.md".to_owned(), &plan);
    let mut git = Command::new("git");
    git.args(["init", "--quiet"]).current_dir(root).stdout(Stdio::null());
    assert!(git.status().expect("git is there").success());
}

fn audit(project: &Project) -> PlanAudit {
    let plan = project.root.join("plan.md");
    let record = record(project, &plan).expect("a record");
    let mut audit = RerunReport::open(project, &RerunOptions::default()).expect("an audit");
    audit.plan(&plan, &record, &Stop::new(), &mut |_| ()).expect("it can be looked at")
}

fn read(project: &Project) -> usize {
    let text = plan_file::read(&project.root.join("plan.md"), "plan.md", project.reading()).expect("read");
    let FileText::Plan(source) = text else { panic!("the plan is text") };
    (source.dialect().parse)(&source).steps.len()
}

#[expect(clippy::print_stdout, reason = "the table is what a benchmark is for")]
fn measure(root: &Path, steps: usize, rounds: usize) {
    let project = Project::find(root).expect("a project");
    let mut first = None;
    let run = Cost::of(|| first = Some(audit(&project)));
    assert_eq!(first.map(|audit| audit.ran()), Some(steps), "all of them are run at first");
    let [reading, hashing, cached] = medians(rounds, || {
        let reading = Cost::of(|| read(&project));
        let hashing = Cost::of(|| tree_of_workspace(root, &[]).expect("a tree"));
        let mut again = None;
        let cached = Cost::of(|| again = Some(audit(&project)));
        assert_eq!(again.map(|audit| audit.ran()), Some(0), "nothing changed");
        [reading, hashing, cached]
    });
    println!("{steps} contracts, {} files", steps + FILES + 1);
    let whole = cached.wall_ms / (reading.wall_ms + hashing.wall_ms);
    for (name, cost) in [
        ("reading the plan", reading),
        ("hashing the workspace", hashing),
        ("nothing changed", cached),
        ("all run", run),
    ] {
        println!(
            "{name:>22}  {:8.1} ms  {:6.2} × reading the plan",
            cost.wall_ms,
            cost.wall_ms / reading.wall_ms
        );
    }
    println!("nothing changed against reading and hashing: {whole:.2} ×");
}
