//! Runs the cases of a suite that has its own `main`, one after another, and speaks as the usual test runner does.

use std::ffi::OsString;
use std::panic::catch_unwind;
use std::process::ExitCode;

/// A name that says the claim, and what shows it.
pub(crate) type Case = (&'static str, fn());

/// Runs the cases whose names hold one of the words on the command line, or all; `--list` only names them.
#[expect(clippy::print_stdout, reason = "this is what a test runner prints")]
pub(crate) fn run_cases(cases: &[Case], arguments: &[OsString]) -> ExitCode {
    let (options, words): (Vec<&str>, Vec<&str>) = arguments[1..]
        .iter()
        .filter_map(|argument| argument.to_str())
        .partition(|argument| argument.starts_with('-'));
    if options.contains(&"--list") {
        // None of them is ever ignored.
        for (name, _) in cases.iter().filter(|_| !options.contains(&"--ignored")) {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let is_wanted = |name: &str| {
        words.is_empty()
            || words
                .iter()
                .any(|&word| if options.contains(&"--exact") { name == word } else { name.contains(word) })
    };
    let (mut passed, mut failed) = (0, Vec::new());
    for (name, case) in cases.iter().filter(|(name, _)| is_wanted(name)) {
        if catch_unwind(case).is_ok() {
            println!("test {name} ... ok");
            passed += 1;
        } else {
            println!("test {name} ... FAILED");
            failed.push(*name);
        }
    }
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {passed} passed; {} failed {failed:?}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
