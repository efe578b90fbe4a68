//! `merge-driver`: called by git to merge plan and progress files by structure; `init --merge-driver` registers it.

use std::path::PathBuf;

use planwright_engine::git::merge_driver;
use planwright_engine::git::merge_driver::Files;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Common ancestor (%O)
    base: PathBuf,
    /// Our version; overwritten with the result (%A)
    ours: PathBuf,
    /// Their version (%B)
    theirs: PathBuf,
    /// Conflict marker length (%L)
    #[arg(default_value_t = 7)]
    marker_size: usize,
    /// Path in the repository (%P)
    path: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Merged {
    /// The file.
    pub(crate) path: String,
    /// How many conflicts are in it.
    pub(crate) conflicts: usize,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let path = args.path.clone().unwrap_or_else(|| args.ours.display().to_string());
    let files = Files { base: &args.base, ours: &args.ours, theirs: &args.theirs, place: &path };
    let conflicts = merge_driver::drive(&files, args.marker_size)?;
    if conflicts == 0 {
        // Git says what it merged.
        return Ok(Response::done("merge-driver", &Merged { path, conflicts }));
    }
    let word = out.palette().paint(Tone::Bad, "conflict");
    let count = wording::number(conflicts, "place");
    out.line(&format!("{word}  {}: both sides changed {count}", clean_line(&path)));
    let next = NextCommand::new(["planwright", "verify", path.as_str()]);
    Ok(Response::new(Exit::No, "merge-driver", &Merged { path, conflicts }).next(next))
}
