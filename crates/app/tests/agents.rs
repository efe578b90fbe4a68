//! Real agents, a scripted model, the built program: what planwright promises is shown with the programs that people use. Each
//! case is run with each agent. docs/contributing/real-agents.md says how to choose them and how to add one.
//!
//! The suite has its own `main`, because what is not tried must be seen: the usual runner hides what a test that passes says.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "this suite stands outside of the program: it installs agents, makes files, starts both and kills them"
)]

#[cfg(target_os = "linux")]
mod agents {
    pub(crate) mod agent;
    pub(crate) mod bench;
    pub(crate) mod desk;
    pub(crate) mod hostile;
    pub(crate) mod install;
    pub(crate) mod model;
    pub(crate) mod spoken;
    pub(crate) mod trouble;
    pub(crate) mod work;
}

use std::process::ExitCode;

#[cfg(target_os = "linux")]
use agents::{desk, hostile, install, model, spoken, trouble, work};

/// Fails the suite where an agent can't be tried.
#[cfg(target_os = "linux")]
const REQUIRED: &str = "REAL_AGENTS_REQUIRED";

/// A name that completes "the agent …", and what shows it.
#[cfg(target_os = "linux")]
type Case = (&'static str, fn(&install::Installed));

#[cfg(target_os = "linux")]
const CASES: &[Case] = &[
    ("fails_its_contract_is_told_and_passes", work::fails_its_contract_is_told_and_passes),
    ("claims_success_and_lies", work::claims_success_and_lies),
    ("is_gone_with_its_harness_and_goes_on", trouble::is_gone_with_its_harness_and_goes_on),
    ("is_parked_when_out_of_quota_and_goes_on", trouble::is_parked_when_out_of_quota_and_goes_on),
    ("is_parked_when_its_model_fails_and_goes_on", trouble::is_parked_when_its_model_fails_and_goes_on),
    ("is_named_when_it_is_missing", trouble::is_named_when_it_is_missing),
    ("is_ended_though_it_ignores_the_signal", trouble::is_ended_though_it_ignores_the_signal),
    (
        "repairs_its_plan_over_mcp_and_cannot_approve_it",
        desk::repairs_its_plan_over_mcp_and_cannot_approve_it,
    ),
    ("gains_nothing_by_what_it_tries", hostile::gains_nothing_by_what_it_tries),
    ("has_no_tool_out_of_its_scope", hostile::has_no_tool_out_of_its_scope),
    ("cannot_change_what_judges_it", hostile::cannot_change_what_judges_it),
];

/// What needs no agent.
#[cfg(target_os = "linux")]
const ALONE: &[(&str, fn())] = &[
    ("the_model_plays_a_script_in_every_wire_format", spoken::the_model_plays_a_script_in_every_wire_format),
    (
        "the_model_knows_whether_it_was_told_what_happened",
        spoken::the_model_knows_whether_it_was_told_what_happened,
    ),
    ("the_model_fails_as_long_as_it_should", spoken::the_model_fails_as_long_as_it_should),
    ("the_page_has_every_try", hostile::the_page_has_every_try),
    (
        "what_is_refused_to_agents_is_seen_where_it_is_not_refused",
        hostile::what_is_refused_to_agents_is_seen_where_it_is_not_refused,
    ),
];

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (options, words): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|argument| argument.starts_with('-'));
    if let ["serve", port] = words[..] {
        return serve(port);
    }
    if options.contains(&"--list") {
        let names = ALONE.iter().map(|(name, _)| name).chain(CASES.iter().map(|(name, _)| name));
        // None of them is ever ignored.
        names.filter(|_| !options.contains(&"--ignored")).for_each(|name| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (installed, skipped) = install::install();
    for why in &skipped {
        println!("agents: NOT TRIED {why}");
    }
    let mut failed = run_alone(&words);
    failed.extend(std::thread::scope(|scope| {
        let columns: Vec<_> = installed.iter().map(|one| scope.spawn(|| run_cases(one, &words))).collect();
        let ended = columns.into_iter().flat_map(|column| column.join().expect("cases are caught"));
        ended.collect::<Vec<_>>()
    }));
    let is_required = std::env::var_os(REQUIRED).is_some_and(|value| !value.is_empty());
    let is_good = failed.is_empty() && (!is_required || skipped.is_empty());
    let verdict = if is_good { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {} failed {failed:?}; {} agents tried, {} not tried",
        failed.len(),
        installed.len(),
        skipped.len()
    );
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs what needs no agent; returns what failed.
#[cfg(target_os = "linux")]
fn run_alone(words: &[&str]) -> Vec<String> {
    let failed = ALONE.iter().filter(|(name, case)| !passes(name, words, case));
    failed.map(|(name, _)| (*name).to_owned()).collect()
}

/// Runs the cases with one agent, one after another; returns those that failed.
#[cfg(target_os = "linux")]
fn run_cases(installed: &install::Installed, words: &[&str]) -> Vec<String> {
    let named = CASES.iter().map(|(name, case)| (format!("{}::{name}", installed.agent.name), case));
    let failed = named.filter(|(name, case)| !passes(name, words, || case(installed)));
    failed.map(|(name, _)| name).collect()
}

/// Runs a case, if one of the words is in its name or there are none, and says how it went.
#[cfg(target_os = "linux")]
fn passes(name: &str, words: &[&str], case: impl FnOnce()) -> bool {
    if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
        return true;
    }
    let begin = std::time::Instant::now();
    let is_ok = std::panic::catch_unwind(std::panic::AssertUnwindSafe(case)).is_ok();
    let verdict = if is_ok { "ok" } else { "FAILED" };
    println!("test {name} ... {verdict} ({:.1} s)", begin.elapsed().as_secs_f64());
    is_ok
}

/// Serves the model alone, for somebody who tries an agent by hand, until it is killed.
#[cfg(target_os = "linux")]
fn serve(port: &str) -> ExitCode {
    let served = port.parse().map_err(std::io::Error::other).and_then(model::Model::start_at);
    let model = match served {
        Ok(model) => model,
        Err(error) => {
            println!("agents: the model can't be served at `{port}`: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("the scripted model answers at {}", model.url());
    let mut told = 0;
    loop {
        std::thread::sleep(std::time::Duration::from_millis(100));
        for heard in model.heard().iter().skip(told) {
            told += 1;
            println!("{told} {} ({} tools) {}", heard.path, heard.tools.len(), heard.answer);
        }
    }
}

/// The look at processes is by the files of one system.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("agents: NOT TRIED, the suite looks at processes as Linux shows them");
    ExitCode::SUCCESS
}
