//! The `agentctl` program: a launcher that runs the `planwright` next to it under its own name, so that two programs
//! don't take the space of two.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "it stands outside of the program that it starts"
)]

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The exit code for a program that is missing, as docs/exit-codes.md has it.
const MACHINE: u8 = 5;

fn main() -> ExitCode {
    let fault = match std::env::current_exe() {
        Ok(own) => {
            let program = own.with_file_name("planwright");
            let words = std::env::args_os().skip(1);
            let fault = Command::new(&program).arg0("agentctl").args(words).exec();
            format!("cannot start `{}`: {fault}", program.display())
        }
        Err(fault) => format!("cannot find the path of this program: {fault}"),
    };
    eprintln!("error: {fault}");
    eprintln!("next: install planwright and agentctl into the same directory");
    ExitCode::from(MACHINE)
}
