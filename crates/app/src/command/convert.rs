//! `convert`: writes a plan in another dialect and reports what that dialect cannot express.

use planwright_engine::store::plan_file;

use crate::interaction::conversion;
use crate::interaction::conversion::{ConvertInput, ConvertOptions};
use crate::interaction::target::{Opened, open};
use crate::output::{Failure, Out, Response};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to convert; not changed
    plan: String,
    /// Dialect of the new plan
    #[arg(long, value_name = "DIALECT")]
    to: String,
    #[command(flatten)]
    terms: ConvertOptions,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let to = conversion::dialect(&args.to)?;
    let Opened { path, project, source, .. } = open(&args.plan)?;
    let draft = source.draft();
    let load = ConvertInput {
        kind: "convert",
        project: &project,
        source: &source,
        draft: &draft,
        read_as: crate::output::wording::dialect_line(&source),
        name: plan_file::name(&path),
        to,
    };
    conversion::write(&load, &args.terms, out)
}
