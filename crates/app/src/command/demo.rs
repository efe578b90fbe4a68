//! `demo`: a repository with one plan that needs no model and no key.

use std::path::Path;

use planwright_engine::store::plan_file;
use planwright_engine::system::process;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

/// The plan that the demo is about.
const HELLO: &str = include_str!("../../demo/hello.md");

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory to create
    #[arg(default_value = "hello-planwright")]
    folder: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Made {
    /// The directory.
    pub(crate) folder: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let folder = Path::new(&args.folder);
    let another = || {
        Failure::new(Exit::Usage, format!("{} already exists", args.folder))
            .hint("pass another directory")
            .next(NextCommand::new(["planwright", "demo", format!("{}-2", args.folder).as_str()]))
    };
    match plan_file::create_folder(folder) {
        Ok(()) => {}
        Err(plan_file::Error::Exists { .. }) => return Err(another()),
        Err(error) => return Err(error.into()),
    }
    plan_file::create(&folder.join("plans/hello.md"), HELLO)?;
    process::init_repository(folder).map_err(|error| {
        Failure::from_error(Exit::Machine, &error).hint("the demo creates a git repository")
    })?;
    let word = out.palette().paint(Tone::Good, "created");
    out.line(&format!(
        "{word}  {}/   a git repository with one plan; no model, no key",
        clean_line(&args.folder)
    ));
    let next = format!("cd {} && planwright run hello", crate::output::shell_word(&args.folder));
    Ok(Response::done("demo", &Made { folder: args.folder.clone() })
        .next(NextCommand { command: next, remark: None }))
}
