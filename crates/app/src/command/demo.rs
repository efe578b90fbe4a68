//! `demo`: a repository with one plan that needs no model and no key.

use planwright_engine::api::create_demo;

use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line, shell_word};

/// The plan that the demo is about.
const HELLO: &str = include_str!("../../demo/hello.md");

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory to create
    #[arg(default_value = "hello-planwright")]
    folder: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = create_demo(&args.folder, HELLO)?;
    let word = out.palette().paint(Tone::Good, "created");
    out.line(&format!(
        "{word}  {}/   a git repository with one plan; no model, no key",
        clean_line(&args.folder)
    ));
    let next = format!("cd {} && planwright run hello", shell_word(&args.folder));
    Ok(Response::done("demo", &view).next(NextCommand { command: next, remark: None }))
}
