//! The `planwright` program, and `agentctl` where it is called by that name.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if planwright::cli::is_shim() {
        return planwright::cli::shim();
    }
    let mut words = std::env::args_os().peekable();
    if words.peek().is_some_and(|name| Path::new(name).file_name() == Some(OsStr::new("agentctl"))) {
        return planwright::cli::agentctl::run(words).into();
    }
    planwright::cli::run(words).into()
}
