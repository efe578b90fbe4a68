//! The `planwright` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    planwright::cli::run(std::env::args_os()).into()
}
