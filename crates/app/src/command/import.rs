//! `import`: turns another tool's plan into a draft. Finished steps are only claims: every contract runs again.

use std::path::PathBuf;

use crate::interaction::conversion;
use crate::interaction::conversion::ConvertOptions;
use crate::interaction::project::workspace;
use crate::output::{Failure, Out, Response};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File of the other tool, or a directory with a file per task
    path: PathBuf,
    /// Format [default: detected]
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    /// Dialect of the new plan
    #[arg(long, value_name = "DIALECT", default_value = "native")]
    to: String,
    #[command(flatten)]
    terms: ConvertOptions,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let options = args.terms.to(&args.to)?;
    let imported = workspace()?.import(&args.path, args.from.as_deref())?;
    for part in imported.unread() {
        out.warn(&part);
    }
    conversion::write("import", &imported, &options, out)
}
