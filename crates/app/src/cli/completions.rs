//! `completions`: a script that teaches a shell our commands.

use clap_complete::Shell;

use crate::cli;
use crate::output::{Out, Page, Response};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Response {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::grammar(), "planwright", &mut script);
    let text = String::from_utf8_lossy(&script).into_owned();
    out.data(&text);
    Response::done("completions", &Page { text })
}
