//! `man`: a manual page, for planwright or one of its commands.

use crate::cli::grammar_of;
use crate::output::{Exit, Failure, Out, Page, Response};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Command [default: planwright]
    command: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let command = grammar_of(args.command.as_deref())?;
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .source(concat!("planwright ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)
        .map_err(|error| Failure::new(Exit::Machine, "cannot write the manual page").because(&error))?;
    let text = String::from_utf8_lossy(&page).into_owned();
    out.data(&text);
    Ok(Response::done("man", &Page { text }))
}
