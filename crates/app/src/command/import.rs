//! `import`: turns another tool's plan into a draft. Finished steps are only claims: every contract runs again.

use std::path::{Path, PathBuf};

use planwright_engine::Project;
use planwright_engine::core::dialect;
use planwright_engine::core::dialect::NATIVE;
use planwright_engine::core::dialect::import;
use planwright_engine::core::dialect::import::{IMPORTERS, Importer};
use planwright_engine::core::plan::draft::{Draft, ParseIssue};
use planwright_engine::core::plan::lifecycle::PlanState;
use planwright_engine::core::syntax::nearest;
use planwright_engine::core::syntax::source::{Detection, Source, Spanned};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::workspace::project;

use crate::interaction::conversion;
use crate::interaction::conversion::{ConvertInput, ConvertOptions};
use crate::interaction::project::here;
use crate::output::{Exit, Failure, NextCommand, Out, Response};
use planwright_engine::api::shown;

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
    let to = conversion::dialect(&args.to)?;
    let project = here()?;
    let source = read(&project, &args.path)?;
    let (mut draft, read_as) = understood(args, &source)?;
    if draft.steps.is_empty() {
        let failure = Failure::new(Exit::No, format!("{} has no tasks", source.name()));
        return Err(failure.hint(format!("it was read as {read_as}; pass the format with --from")));
    }
    for oddity in &draft.oddities.0 {
        if let ParseIssue::Unreadable(why) = &oddity.value {
            let (file, at) = (source.name_at(oddity.span.start), source.position(oddity.span.start));
            out.warn(&format!("{file}:{at}: {why}"));
        }
    }
    // Whatever the file says, it was never approved or run here.
    draft.state =
        Some(Spanned::new(PlanState::Draft, draft.state.map(|state| state.span).unwrap_or_default()));
    let load = ConvertInput {
        kind: "import",
        project: &project,
        source: &source,
        draft: &draft,
        read_as,
        name: project::name_of_foreign(&args.path),
        to,
    };
    conversion::write(&load, &args.terms, out)
}

fn read(project: &Project, path: &Path) -> Result<Source, Failure> {
    match plan_file::read_foreign(path, &shown(path), project.reading())? {
        FileText::Plan(source) => Ok(source),
        FileText::Unreadable(unreadable) => {
            Err(Failure::new(Exit::No, format!("{}: {}", shown(path), unreadable.diagnostic.message)))
        }
    }
}

/// What the file says, and what it is.
fn understood(args: &Args, source: &Source) -> Result<(Draft, String), Failure> {
    if let Some(name) = &args.from {
        return match (import::named(name), dialect::named(name)) {
            (Some(foreign), _) => Ok(((foreign.parse)(source), foreign.tool.to_owned())),
            (None, Some(dialect)) => Ok(((dialect.parse)(source), dialect.name.to_owned())),
            (None, None) => Err(unknown_format(name)),
        };
    }
    // Our own dialects are liberal; a tool that is told by a sign of its own comes first.
    let is_ours = matches!(source.told(), Detection::By(_)) && source.dialect() == NATIVE;
    match import::detect(source.place(), source.text()).filter(|_| !is_ours) {
        Some((foreign, because)) => Ok(((foreign.parse)(source), told(foreign, &because))),
        None if matches!(source.told(), Detection::By(_) | Detection::Forced) => {
            Ok((source.draft(), crate::output::wording::dialect_line(source)))
        }
        None => {
            let names: Vec<&str> = IMPORTERS.iter().map(|foreign| foreign.name).collect();
            let failure = Failure::new(Exit::No, format!("cannot detect the format of {}", source.name()));
            Err(failure.hint(format!("pass the format with --from: {}", names.join(", "))))
        }
    }
}

fn told(foreign: &Importer, because: &str) -> String {
    format!("{} ({because})", foreign.tool)
}

fn unknown_format(name: &str) -> Failure {
    let names: Vec<&str> = IMPORTERS.iter().map(|foreign| foreign.name).collect();
    let failure = Failure::new(Exit::Usage, format!("unknown format `{name}`"));
    let failure = match nearest::nearest(name, names.iter().copied()) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint(format!("the formats are {}", names.join(", "))),
    };
    failure.next(NextCommand::new(["planwright", "help", "import"]))
}
