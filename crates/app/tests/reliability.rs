//! What the program promises when things break: it is killed anywhere, its disk fails or is full, its power is cut, and it
//! goes on. Drives the built program from outside and relies on its command line alone. docs/explanation/reliability.md has the figures.
//!
//! The suite is its own tracer, so it has its own `main`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "this suite stands outside of the program: it makes its files, starts it and kills it"
)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod reliability {
    pub(crate) mod call;
    pub(crate) mod compare;
    pub(crate) mod desk;
    pub(crate) mod fault;
    pub(crate) mod full;
    pub(crate) mod limit;
    pub(crate) mod point;
    pub(crate) mod power;
    #[path = "../../../engine/tests/process/runner.rs"]
    pub(crate) mod runner;
    pub(crate) mod scenario;
    pub(crate) mod story;
    pub(crate) mod sweep;
    pub(crate) mod tracer;
    pub(crate) mod twin;
}

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use reliability::{
    call, compare, desk, fault, full, limit, point, power, runner, scenario, story, sweep, tracer, twin,
};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const CASES: &[runner::Case] = &[
    ("nothing_is_begun_or_shown_before_it_is_durable", twin::nothing_is_begun_or_shown_before_it_is_durable),
    ("an_effect_without_its_intent_is_caught", twin::an_effect_without_its_intent_is_caught),
    ("two_drivers_never_work_on_one_run", twin::two_drivers_never_work_on_one_run),
    (
        "output_that_cannot_be_written_is_no_reason_to_panic",
        full::output_that_cannot_be_written_is_no_reason_to_panic,
    ),
    (
        "a_full_disk_stops_a_run_and_space_lets_it_go_on",
        full::a_full_disk_stops_a_run_and_space_lets_it_go_on,
    ),
    ("an_acknowledged_event_survives_a_power_cut", power::an_acknowledged_event_survives_a_power_cut),
    ("half_a_commit_is_caught", desk::half_a_commit_is_caught),
    ("a_session_that_is_killed_anywhere_is_whole", desk::a_session_that_is_killed_anywhere_is_whole),
    ("killed_anywhere_a_run_comes_to_the_same_end", sweep::killed_anywhere_a_run_comes_to_the_same_end),
    ("limits_on_processes_end_in_errors_or_in_work", limit::limits_on_processes_end_in_errors_or_in_work),
    (
        "an_error_while_the_workspace_is_compared_accuses_nobody_and_overlooks_nothing",
        compare::an_error_while_the_workspace_is_compared_accuses_nobody_and_overlooks_nothing,
    ),
    ("an_error_at_a_place_of_ours_costs_no_attempt", compare::an_error_at_a_place_of_ours_costs_no_attempt),
    ("an_error_in_a_decision_is_reported_or_harmless", fault::an_error_in_a_decision_is_reported_or_harmless),
    (
        "an_error_of_the_machine_is_reported_or_harmless",
        fault::an_error_of_the_machine_is_reported_or_harmless,
    ),
];

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|first| first.to_str()) {
        Some(tracer::TRACE) => tracer::main(&arguments),
        Some(full::FILL) => full::main(),
        _ => match scenario::probe() {
            Ok(()) => runner::run_cases(CASES, &arguments),
            Err(why) => {
                println!("reliability: NOT TRIED, a process can't be traced here: {why}");
                untried()
            }
        },
    }
}

/// The tracer sets the registers of one kind of processor.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> ExitCode {
    println!("reliability: NOT TRIED, the tracer is for Linux on x86_64");
    untried()
}

/// A machine that can't try this is no fault, unless it is the one that everybody relies on.
fn untried() -> ExitCode {
    if std::env::var("CI").as_deref() == Ok("true") { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
