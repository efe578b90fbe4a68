//! `convert`: writes a plan anew in another dialect, and says what that one can't hold.

use planwright_engine::workspace::project;

use super::{Opened, open};
use crate::interaction::conversion;
use crate::interaction::conversion::{Load, Terms};
use crate::output::{Answer, Failure, Out};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan; it stays as it is
    plan: String,
    /// The dialect of the new plan
    #[arg(long, value_name = "DIALECT")]
    to: String,
    #[command(flatten)]
    terms: Terms,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let to = conversion::dialect(&args.to)?;
    let Opened { path, project, source, .. } = open(&args.plan)?;
    let draft = source.draft();
    let load = Load {
        kind: "convert",
        project: &project,
        source: &source,
        draft: &draft,
        read_as: super::dialect_line(&source),
        name: project::name(&path),
        to,
    };
    conversion::carry(&load, &args.terms, out)
}
