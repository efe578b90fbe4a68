//! `shelve` and `unshelve`: move a plan into `queued-plans/`, and back. Never over another
//! plan, and never one that has shipped.

use std::path::Path;

use planwright_engine::portfolio::board;
use planwright_engine::portfolio::board::{ShelveError, ShelveResult};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::{Project, run};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::duplicate::warn_of_twins;
use crate::interaction::project::here;
use crate::interaction::target::open;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan; `unshelve` accepts a name, PLAN-x or a file name
    plan: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Staged {
    /// What others call the plan.
    pub(crate) name: String,
    /// Where it was.
    pub(crate) from: String,
    /// Where it is.
    pub(crate) to: String,
}

/// Moves a plan to the shelf.
pub(crate) fn shelve(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::Shelve)?;
    let opened = open(&args.plan)?;
    let moved = board::stage(&opened.project, &opened.path).map_err(refused)?;
    warn_of_twins(&opened.project, (&moved.to, &opened.source.draft()), out)?;
    let data = told("shelved", &moved, out);
    let next = NextCommand::new(["planwright", "unshelve", data.name.as_str()]);
    Ok(Response::done("stage", &data).next(next))
}

/// Moves a shelved plan back.
pub(crate) fn unshelve(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::Unshelve)?;
    let project = here()?;
    let moved = board::activate(&project, &args.plan).map_err(refused)?;
    warn(&project, &moved.to, out)?;
    let data = told("unshelved", &moved, out);
    let next = NextCommand::new(["planwright", "verify", data.to.as_str()]);
    Ok(Response::done("activate", &data).next(next))
}

fn warn(project: &Project, path: &Path, out: &mut Out<'_>) -> Result<(), Failure> {
    match plan_file::read(path, &shown(path), project.reading())? {
        FileText::Plan(source) => warn_of_twins(project, (path, &source.draft()), out),
        // The plan was moved; `verify` reports its errors.
        FileText::Unreadable(_) => Ok(()),
    }
}

fn told(word: &str, moved: &ShelveResult, out: &mut Out<'_>) -> Staged {
    let data = Staged { name: moved.name.clone(), from: shown(&moved.from), to: shown(&moved.to) };
    let word = out.palette().paint(Tone::Good, word);
    out.line(&format!("{word}  {}   from {}", clean_line(&data.to), clean_line(&data.from)));
    data
}

fn refused(refused: ShelveError) -> Failure {
    let failure = |exit| Failure::from_error(exit, &refused);
    match refused {
        ShelveError::Name(_) | ShelveError::Staged { .. } => failure(Exit::Usage)
            .hint("nothing was moved")
            .next(NextCommand::new(["planwright", "list", "--shelved"])),
        ShelveError::Missing { ref staged, .. } => {
            let hint = match staged.is_empty() {
                true => "no plans are shelved; shelved plans are in queued-plans/".to_owned(),
                false => format!("shelved plans: {}", staged.join(", ")),
            };
            failure(Exit::Usage).hint(hint).next(NextCommand::new(["planwright", "list", "--shelved"]))
        }
        ShelveError::Ambiguous { ref paths, .. } => {
            let paths: Vec<String> = paths.iter().map(|path| shown(path)).collect();
            failure(Exit::Usage)
                .hint(format!("found {}; move all but one away", paths.join(", ")))
                .next(NextCommand::new(["planwright", "list", "--shelved"]))
        }
        ShelveError::Clobber { path } => {
            Failure::new(Exit::Usage, format!("{} already exists", shown(&path)))
                .hint("nothing was moved")
                .next(NextCommand::new(["planwright", "show", shown(&path).as_str()]))
        }
        ShelveError::Shipped { ref name, .. } => {
            let hint = "nothing was moved; to run it again, create a plan with another name";
            failure(Exit::Person).hint(hint).next(NextCommand::new([
                "planwright",
                "new",
                &format!("{name}-2"),
            ]))
        }
        ShelveError::Busy { ref name, .. } => failure(Exit::No)
            .hint("nothing was moved; revise it first")
            .next(NextCommand::new(["planwright", "revise", name.as_str()])),
        ShelveError::Store(error) => error.into(),
        ShelveError::Runs(error) => run::Error::into(error),
    }
}
