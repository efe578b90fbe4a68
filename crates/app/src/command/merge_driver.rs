//! `merge-driver`: called by git to merge plan and progress files by structure; `init --merge-driver` registers it.

use std::path::PathBuf;

use planwright_engine::api::{MergeFiles, merge_files};

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

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let place = args.path.clone().unwrap_or_else(|| args.ours.display().to_string());
    let files = MergeFiles { base: &args.base, ours: &args.ours, theirs: &args.theirs, place: &place };
    let merged = merge_files(&files, args.marker_size)?;
    if merged.conflicts == 0 {
        // Git says what it merged.
        return Ok(Response::done("merge-driver", &merged));
    }
    let word = out.palette().paint(Tone::Bad, "conflict");
    let count = wording::number(merged.conflicts, "place");
    out.line(&format!("{word}  {}: both sides changed {count}", clean_line(&merged.path)));
    let next = NextCommand::new(["planwright", "verify", merged.path.as_str()]);
    Ok(Response::new(Exit::No, "merge-driver", &merged).next(next))
}
