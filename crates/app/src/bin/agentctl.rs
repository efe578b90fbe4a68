//! The `agentctl` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    if planwright::cli::is_shim() {
        return planwright::cli::shim();
    }
    planwright::cli::agentctl::run(std::env::args_os()).into()
}
