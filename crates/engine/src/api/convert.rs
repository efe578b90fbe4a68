//! Plans written in another dialect, and plans of other tools made ours. What the new dialect cannot express is reported.

use std::path::{Path, PathBuf};

use planwright_core::dialect;
use planwright_core::dialect::convert;
use planwright_core::dialect::convert::{Loss, StepsDiffer};
use planwright_core::dialect::import;
use planwright_core::dialect::import::IMPORTERS;
use planwright_core::dialect::{Dialect, NATIVE, NewPlan};
use planwright_core::plan::draft::{Draft, ParseIssue};
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified;
use planwright_core::syntax::nearest;
use planwright_core::syntax::source::{Detection, Source, Spanned};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::plan::Plan;
use crate::api::workspace::Workspace;
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::system::clock;
use crate::workspace::project;

/// How many losses an error names.
const LOSSES_NAMED_MAX: usize = 20;
/// File names that say nothing of a plan.
const COMMON_NAMES: [&str; 7] = ["plan", "tasks", "task", "prd", "issues", "todo", "readme"];

/// What to write in another dialect.
pub struct Conversion {
    /// The project that the new plan belongs to.
    workspace: Workspace,
    source: Source,
    draft: Draft,
    /// What it is written in, and how that is known.
    read_as: String,
    /// What it was called.
    name: String,
}

pub struct ConvertOptions {
    pub to: &'static Dialect,
    pub output: ConvertOutput,
    /// The name of the new plan; `None`: that of the old one, or its title.
    pub name: Option<String>,
    /// Write nothing if something would be lost.
    pub is_strict: bool,
}

/// Where the new plan goes.
pub enum ConvertOutput {
    /// Where its dialect keeps plans.
    Default,
    File(PathBuf),
    /// Nowhere: its text is in the view.
    Text,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ConvertView {
    /// What was read.
    pub from: String,
    /// What it is written in.
    pub read_as: String,
    /// The dialect of the new plan.
    pub dialect: String,
    /// The new plan; `None` where it was not written to a file.
    pub path: Option<String>,
    /// How many steps it has.
    pub steps: usize,
    /// What it can't say.
    pub losses: Vec<Loss>,
    /// Its text, where it was not written to a file.
    pub text: Option<String>,
}

impl Plan {
    /// Its dialect and how it was detected.
    pub fn dialect_line(&self) -> String {
        dialect_line(self.source())
    }

    /// The plan, to be written in another dialect.
    pub fn conversion(&self) -> Result<Conversion, Error> {
        self.require_plan()?;
        Ok(Conversion {
            workspace: self.workspace().clone(),
            source: self.source().clone(),
            draft: self.draft().clone(),
            read_as: self.dialect_line(),
            name: self.name(),
        })
    }
}

impl Workspace {
    /// Reads the plan of another tool, in the named format or the one that it shows. Finished steps are only claims.
    pub fn import(&self, path: &Path, format: Option<&str>) -> Result<Conversion, Error> {
        let source = match plan_file::read_foreign(path, &shown(path), self.project().reading())? {
            FileText::Plan(source) => source,
            FileText::Unreadable(unreadable) => {
                let message = format!("{}: {}", shown(path), unreadable.diagnostic.message);
                return Err(Error::new(ErrorKind::Refused, message));
            }
        };
        let (mut draft, read_as) = understood(&source, format)?;
        if draft.steps.is_empty() {
            let error = Error::new(ErrorKind::Refused, format!("{} has no tasks", source.name()));
            return Err(error.hint(format!("it was read as {read_as}; pass the format with --from")));
        }
        // Whatever the file says, it was never approved or run here.
        let span = draft.state.map(|state| state.span).unwrap_or_default();
        draft.state = Some(Spanned::new(PlanState::Draft, span));
        let name = project::name_of_foreign(path);
        Ok(Conversion { workspace: self.clone(), source, draft, read_as, name })
    }
}

/// What a file says, and what it is.
fn understood(source: &Source, format: Option<&str>) -> Result<(Draft, String), Error> {
    let names = || IMPORTERS.iter().map(|importer| importer.name).collect::<Vec<_>>();
    if let Some(name) = format {
        return match (import::named(name), dialect::named(name)) {
            (Some(importer), _) => Ok(((importer.parse)(source), importer.tool.to_owned())),
            (None, Some(dialect)) => Ok(((dialect.parse)(source), dialect.name.to_owned())),
            (None, None) => {
                let error = Error::new(ErrorKind::Usage, format!("unknown format `{name}`"));
                let error = match nearest::nearest(name, names()) {
                    Some(meant) => error.hint(format!("did you mean `{meant}`?")),
                    None => error.hint(format!("the formats are {}", names().join(", "))),
                };
                Err(error.next(NextCommand::new(["planwright", "help", "import"])))
            }
        };
    }
    // Our own dialects are liberal; a tool with a distinctive mark comes first.
    let is_ours = matches!(source.told(), Detection::By(_)) && source.dialect() == NATIVE;
    match import::detect(source.place(), source.text()).filter(|_| !is_ours) {
        Some((importer, because)) => Ok(((importer.parse)(source), format!("{} ({because})", importer.tool))),
        None if matches!(source.told(), Detection::By(_) | Detection::Forced) => {
            Ok((parse(source), dialect_line(source)))
        }
        None => {
            let error =
                Error::new(ErrorKind::Refused, format!("cannot detect the format of {}", source.name()));
            Err(error.hint(format!("pass the format with --from: {}", names().join(", "))))
        }
    }
}

/// The dialect of a plan and how it was detected: `named (PLAN.md in .harness/)`.
pub fn dialect_line(source: &Source) -> String {
    let name = source.dialect().name;
    match source.told() {
        Detection::By(because) => format!("{name} ({because})"),
        Detection::Forced => format!("{name} (as you say)"),
        Detection::Nothing => format!("{name} (default)"),
        Detection::Unasked => name.to_owned(),
    }
}

impl Conversion {
    /// Parts that could not be understood, each with its place.
    pub fn unread(&self) -> Vec<String> {
        let unread = self.draft.oddities.0.iter().filter_map(|issue| {
            let ParseIssue::Unreadable(why) = &issue.value else { return None };
            let start = issue.span.start;
            Some(format!("{}:{}: {why}", self.source.name_at(start), self.source.position(start)))
        });
        unread.collect()
    }

    /// Writes the new plan.
    pub fn write(&self, options: &ConvertOptions) -> Result<ConvertView, Error> {
        let name = options.name.clone().unwrap_or_else(|| self.new_name());
        if verified::slug(&name) != name || name.is_empty() {
            let error = Error::new(ErrorKind::Usage, format!("`{name}` is not a valid plan name"));
            return Err(error.hint("use lowercase letters, digits and dashes, with --name"));
        }
        let home = (options.to.home)(&name, &plan_file::chance()?);
        let path = match &options.output {
            ConvertOutput::Text => None,
            ConvertOutput::File(path) => Some(path.clone()),
            ConvertOutput::Default => Some(self.workspace.root().join(&home.path)),
        };
        let id = path.as_deref().and_then(|path| id_of(path, options.to)).unwrap_or(home.id);
        let birth = NewPlan { id: &id, now: &clock::utc_now() };
        let converted = convert::convert(&self.source, &self.draft, options.to, &birth)
            .map_err(|why| self.differing(&why))?;
        if options.is_strict && !converted.losses.is_empty() {
            return Err(self.refused(options.to, &converted.losses));
        }
        if let Some(path) = &path {
            plan_file::create_plan(path, &converted.text, options.to)?;
        }
        Ok(ConvertView {
            from: self.source.name().to_owned(),
            read_as: self.read_as.clone(),
            dialect: options.to.name.to_owned(),
            text: path.is_none().then_some(converted.text),
            path: path.as_deref().map(shown),
            steps: self.draft.steps.len(),
            losses: converted.losses,
        })
    }

    /// What the new plan is called: as the old one, or as its title says where that is no name.
    fn new_name(&self) -> String {
        let title = self.draft.title.as_ref().map(|title| verified::slug(&title.value)).unwrap_or_default();
        let name = verified::slug(self.name.trim_start_matches("PLAN-"));
        match (name.is_empty() || COMMON_NAMES.contains(&name.as_str()), title.is_empty()) {
            (true, false) => title,
            (true, true) if name.is_empty() => "imported".to_owned(),
            (_, _) => name,
        }
    }

    fn differing(&self, why: &StepsDiffer) -> Error {
        let name = self.source.name();
        let error = Error::new(ErrorKind::Refused, format!("cannot convert {name}: a step would be lost"));
        let error = error.because(why).hint("nothing was written");
        match why {
            StepsDiffer::Unread { .. } => error.next(NextCommand::new(["planwright", "verify", name])),
            StepsDiffer::Count { .. } => error,
        }
    }

    fn refused(&self, to: &Dialect, losses: &[Loss]) -> Error {
        let message = format!("dialect {} cannot express all of {}", to.name, self.source.name());
        let error = Error::new(ErrorKind::Refused, message)
            .hint("nothing was written; omit --strict to write it anyway");
        losses.iter().take(LOSSES_NAMED_MAX).fold(error, |error, loss| error.because(loss))
    }
}

/// The id that the file of a plan gives it, where the dialect takes it for one.
fn id_of(path: &Path, dialect: &Dialect) -> Option<String> {
    let name = plan_file::name(path);
    let chance = name.strip_prefix("PLAN-").unwrap_or(&name);
    let home = (dialect.home)(chance, chance);
    (plan_file::name(home.path.as_ref()) == name).then_some(home.id)
}
