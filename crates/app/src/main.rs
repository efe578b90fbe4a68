//! The `planwright` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    if planwright::cli::is_shim() {
        return planwright::cli::shim();
    }
    planwright::cli::run(std::env::args_os()).into()
}
