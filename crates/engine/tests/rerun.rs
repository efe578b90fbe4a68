//! Contracts that are run again: on real repositories, with a real bash, against receipts that a real store holds.
//!
//! The suite is the supervisor of its own contracts, so it has its own `main`. It runs in a process of its own whose state
//! and scratch folders lie in one folder, which is gone afterwards however that process ends.

#[path = "rerun/broke.rs"]
mod broke;
#[path = "rerun/cached.rs"]
mod cached;
#[path = "rerun/checkout.rs"]
mod checkout;
#[path = "rerun/marks.rs"]
mod marks;
#[path = "process/runner.rs"]
mod runner;
#[path = "scratch/folder.rs"]
mod scratch;
#[path = "rerun/site.rs"]
mod site;

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use planwright_engine::system::process::{SHIM, shim_main};

use crate::runner::{Case, run_cases};
use crate::scratch::Scratch;

/// Set in the process that runs the cases.
const STAGED: &str = "PLANWRIGHT_STAGED";

const CASES: &[Case] = &[
    ("a_forged_mark_is_listed_in_every_dialect", marks::a_forged_mark_is_listed_in_every_dialect),
    ("a_plan_with_faults_is_swept_too", marks::a_plan_with_faults_is_swept_too),
    ("the_workspace_stays_as_it_is", checkout::the_workspace_stays_as_it_is),
    ("no_contract_sees_what_another_left", checkout::no_contract_sees_what_another_left),
    ("a_commit_is_looked_at_by_its_own_plan", checkout::a_commit_is_looked_at_by_its_own_plan),
    ("an_ignored_file_is_no_part_of_it", checkout::an_ignored_file_is_no_part_of_it),
    ("a_folder_without_git_is_looked_at_too", checkout::a_folder_without_git_is_looked_at_too),
    ("what_did_not_change_is_not_run_again", cached::what_did_not_change_is_not_run_again),
    (
        "everything_that_a_contract_hangs_on_is_in_its_key",
        cached::everything_that_a_contract_hangs_on_is_in_its_key,
    ),
    ("a_cache_that_is_blind_to_the_content_lies", cached::a_cache_that_is_blind_to_the_content_lies),
    ("a_damaged_entry_is_no_entry", cached::a_damaged_entry_is_no_entry),
    ("what_looks_beyond_the_files_is_run_each_time", cached::what_looks_beyond_the_files_is_run_each_time),
    ("a_failure_is_never_kept", cached::a_failure_is_never_kept),
    ("two_broke_at_seven_by_what_is_recorded", broke::two_broke_at_seven_by_what_is_recorded),
    ("two_broke_at_seven_by_trying_commits", broke::two_broke_at_seven_by_trying_commits),
    (
        "another_contract_under_the_same_receipt_is_named",
        broke::another_contract_under_the_same_receipt_is_named,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|first| first.to_str()) {
        Some(SHIM) => shim_main(arguments),
        _ if std::env::var_os(STAGED).is_some() => run_cases(CASES, &arguments),
        _ => stage(&arguments),
    }
}

/// Runs this program again, with a place of its own.
fn stage(arguments: &[OsString]) -> ExitCode {
    let scratch = Scratch::new("rerun");
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(&arguments[1..]).env(STAGED, "1");
    command.env("XDG_STATE_HOME", scratch.path().join("state")).env("TMPDIR", scratch.path());
    let ended = command.status().expect("this program starts");
    ended.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
