//! `stage` and `activate`: put a plan aside into `queued-plans/`, and put one that waits there into its place. Never over another
//! plan, and never one that has shipped.

use std::path::Path;

use planwright_engine::portfolio::board;
use planwright_engine::portfolio::board::{Moved, Refused};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::Text;
use planwright_engine::{Project, run};
use schemars::JsonSchema;
use serde::Serialize;

use super::{here, open, refuse_agents, shown};
use crate::interaction::duplicate::warn_of_twins;
use crate::output::{Answer, Exit, Failure, Next, Out, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan; `activate` takes a name, a stem (PLAN-x) or a file name
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

/// Puts a plan aside.
pub(crate) fn stage(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    refuse_agents("put a plan aside")?;
    let opened = open(&args.plan)?;
    let moved = board::stage(&opened.project, &opened.path).map_err(refused)?;
    warn_of_twins(&opened.project, (&moved.to, &opened.source.draft()), out)?;
    let data = told("staged", &moved, out);
    let next = Next::new(["planwright", "activate", data.name.as_str()]);
    Ok(Answer::done("stage", &data).next(next))
}

/// Puts a staged plan into its place.
pub(crate) fn activate(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    refuse_agents("put a plan into its place")?;
    let project = here()?;
    let moved = board::activate(&project, &args.plan).map_err(refused)?;
    warn(&project, &moved.to, out)?;
    let data = told("activated", &moved, out);
    let next = Next::new(["planwright", "verify", data.to.as_str()]);
    Ok(Answer::done("activate", &data).next(next))
}

fn warn(project: &Project, path: &Path, out: &mut Out<'_>) -> Result<(), Failure> {
    match plan_file::read(path, &shown(path), project.reading())? {
        Text::Plan(source) => warn_of_twins(project, (path, &source.draft()), out),
        // It lies in its place; `verify` says what is wrong with it.
        Text::Unreadable(_) => Ok(()),
    }
}

fn told(word: &str, moved: &Moved, out: &mut Out<'_>) -> Staged {
    let data = Staged { name: moved.name.clone(), from: shown(&moved.from), to: shown(&moved.to) };
    let word = out.palette().paint(Tone::Good, word);
    out.line(&format!("{word}  {}   from {}", clean_line(&data.to), clean_line(&data.from)));
    data
}

fn refused(refused: Refused) -> Failure {
    let failure = |exit| Failure::from_error(exit, &refused);
    match refused {
        Refused::Name(_) | Refused::Staged { .. } => {
            failure(Exit::Usage).hint("nothing was moved").next(Next::new(["planwright", "queue"]))
        }
        Refused::Missing { ref staged, .. } => {
            let hint = match staged.is_empty() {
                true => "nothing is staged: plans are in queued-plans/ below the folder that they belong to"
                    .to_owned(),
                false => format!("staged are {}", staged.join(", ")),
            };
            failure(Exit::Usage).hint(hint).next(Next::new(["planwright", "queue"]))
        }
        Refused::Ambiguous { ref paths, .. } => {
            let paths: Vec<String> = paths.iter().map(|path| shown(path)).collect();
            failure(Exit::Usage)
                .hint(format!("they are {}; move all but one away", paths.join(", ")))
                .next(Next::new(["planwright", "queue"]))
        }
        Refused::Clobber { path } => Failure::new(Exit::Usage, format!("{} already exists", shown(&path)))
            .hint("nothing was moved: a plan is never written over")
            .next(Next::new(["planwright", "show", shown(&path).as_str()])),
        Refused::Shipped { ref name, .. } => {
            let hint = "nothing was moved; what is to be done again gets another name";
            failure(Exit::Person).hint(hint).next(Next::new(["planwright", "new", &format!("{name}-2")]))
        }
        Refused::Busy { ref name, .. } => failure(Exit::No)
            .hint("nothing was moved; open it again first")
            .next(Next::new(["planwright", "reopen", name.as_str()])),
        Refused::Store(error) => error.into(),
        Refused::Runs(error) => run::Error::into(error),
    }
}
