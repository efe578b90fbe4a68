//! `convert`: writes a plan in another dialect and reports what that dialect cannot express.

use crate::interaction::conversion;
use crate::interaction::conversion::ConvertOptions;
use crate::interaction::project::workspace;
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
    let options = args.terms.to(&args.to)?;
    let plan = workspace()?.plan(&args.plan)?;
    conversion::write("convert", &plan.conversion()?, &options, out)
}
