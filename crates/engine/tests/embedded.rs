//! The conformance suite over the embedded host: a real store, real processes, and a worker that is another process.
//!
//! The suite is the supervisor of its own agents, so it has its own `main`. It runs in a process of its own whose state
//! and scratch folders lie in one folder, which is gone afterwards however that process ends.

#[path = "process/runner.rs"]
mod runner;
#[path = "conformance/sabotage.rs"]
mod sabotage;
#[path = "../../core/tests/run/sample.rs"]
mod sample;
#[path = "scratch/folder.rs"]
mod scratch;
#[path = "embedded/site.rs"]
mod site;
#[path = "conformance/suite.rs"]
mod suite;
#[path = "conformance/trial.rs"]
mod trial;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use planwright_core::agent::account::{Account, Usage};
use planwright_core::run::event::{
    AttemptEnd, AttemptFinish, Event, RunEvent, RunOutcome, StepEvent, StopMode,
};
use planwright_engine::run::driver::Progress;
use planwright_engine::system::process::{SHIM, shim_main};

use crate::runner::{Case, run_cases};
use crate::sabotage::{Breach, refusal};
use crate::scratch::Scratch;
use crate::site::{Site, WORKER, work};
use crate::suite::{Stage, conformance};
use crate::trial::{Meddling, Moment, Trial};

/// Set in the process that runs the cases.
const STAGED: &str = "PLANWRIGHT_STAGED";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|first| first.to_str()) {
        Some(SHIM) => shim_main(arguments),
        Some(WORKER) => work(Path::new(arguments.get(2).expect("a worker is told where"))),
        _ if std::env::var_os(STAGED).is_some() => {
            std::thread::spawn(die_with_the_stage);
            run_cases(CASES, &arguments)
        }
        _ => stage(&arguments),
    }
}

/// A case that hangs ends when somebody ends the program that was started: the standard input is closed then.
fn die_with_the_stage() {
    std::io::stdin().read_to_end(&mut Vec::new()).ok();
    kill(Pid::this(), Signal::SIGKILL).expect("a process can kill itself");
}

/// Runs this program again, with a place of its own.
fn stage(arguments: &[OsString]) -> ExitCode {
    let scratch = Scratch::new("embedded");
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(&arguments[1..]).env(STAGED, "1");
    command.env("XDG_STATE_HOME", scratch.path()).env("TMPDIR", scratch.path());
    let mut cases = command.stdin(Stdio::piped()).spawn().expect("this program starts");
    // Waiting would close it.
    let _alive = cases.stdin.take();
    let ended = cases.wait().expect("this program ends");
    ended.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

const CASES: &[Case] = &[
    ("the_embedded_host_conforms", the_embedded_host_conforms),
    ("the_suite_refuses_a_host_that_breaks_a_rule", the_suite_refuses_a_host_that_breaks_a_rule),
    ("a_stop_ends_an_attempt_that_nobody_has_taken", a_stop_ends_an_attempt_that_nobody_has_taken),
    ("what_others_record_of_an_attempt_is_not_believed", what_others_record_of_an_attempt_is_not_believed),
    ("nothing_begins_in_a_run_that_is_over", nothing_begins_in_a_run_that_is_over),
];

fn the_embedded_host_conforms() {
    conformance(Site::new);
}

fn the_suite_refuses_a_host_that_breaks_a_rule() {
    for (breach, said) in [
        (Breach::BeginsFirst, "s1/1 began before its intent was durable"),
        (Breach::RecordsTwice, "is already running in another process"),
        (Breach::RecordsHalf, "a record is all of it or nothing"),
        (Breach::BuriesNothing, "is recorded as over and is alive"),
    ] {
        let refusal = refusal(Site::new, breach);
        assert!(refusal.contains(said), "{breach:?}: {refusal}");
    }
}

// Point 8: an attempt that somebody else says is over ends the run. Nothing rests on it, in this process or the next one.
fn what_others_record_of_an_attempt_is_not_believed() {
    for forged in [AttemptEnd::Exited(0), AttemptEnd::Lost] {
        let trial = Trial::new(&Site::new, "s1\ns2", &[]);
        trial.stage.hold("s1");
        let forge = |moment: Moment<'_>| {
            if let Moment::Durable(Event::Step { step, event: StepEvent::Started(start) }) = moment {
                let finish = AttemptFinish {
                    attempt: start.attempt,
                    end: forged.clone(),
                    output: None,
                    usage: Usage::default(),
                    changed: Vec::new(),
                    account: Account::default(),
                };
                let event = StepEvent::Finished(finish);
                trial.stage.record(&Event::Step { step: step.clone(), event });
            }
        };
        let progress = trial.drive(Meddling::Nothing, forge);
        assert_eq!(progress, Some(Progress::Finished(RunOutcome::Failed)), "{forged:?}");
        assert_eq!(trial.go_on(), Some(Progress::Finished(RunOutcome::Failed)), "{forged:?}");
        assert!(!trial.told().iter().any(|fact| fact.contains("passed")), "{:?}", trial.told());
    }
}

fn a_stop_ends_an_attempt_that_nobody_has_taken() {
    let trial = Trial::new(&Site::new, "s1\ns2", &[]);
    trial.stage.leave_work_to_others();
    let mut is_told = false;
    let stop = |moment: Moment<'_>| {
        if matches!(moment, Moment::Waits) && !is_told {
            is_told = true;
            trial.stage.record(&Event::Run(RunEvent::Stopped { by: "ada".to_owned(), mode: StopMode::Now }));
        }
    };
    assert_eq!(trial.drive(Meddling::Nothing, stop), Some(Progress::Stopped));
    assert_eq!(trial.told(), ["run.started", "s1/1 started", "run.stopped", "s1/1 stopped"]);
    trial.stage.employ();
    trial.resume();
    assert_eq!(trial.go_on(), Some(Progress::Finished(RunOutcome::Done)));
    assert_eq!(trial.stage.begun(), ["s1/2", "s2/1"]);
}

// The end comes while the host is still looking at the workspace, before it starts the first agent; that the second can't
// be recorded any more tells the driver of it at once.
fn nothing_begins_in_a_run_that_is_over() {
    let trial = Trial::new(&Site::new, "s1 touches=a\ns2 free touches=b", &[]);
    trial.stage.fill();
    trial.stage.hold("s1");
    let cancel = |moment: Moment<'_>| {
        if let Moment::Durable(Event::Step { event: StepEvent::Started(_), .. }) = moment {
            let why = "no more".to_owned();
            trial.stage.record(&Event::Run(RunEvent::Finished { outcome: RunOutcome::Cancelled, why }));
        }
    };
    let progress = trial.drive(Meddling::Nothing, cancel);
    assert_eq!(progress, Some(Progress::Finished(RunOutcome::Cancelled)));
    trial.stage.until_idle();
    assert_eq!(trial.stage.alive(), BTreeSet::new());
}
