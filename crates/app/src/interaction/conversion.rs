//! Shared by `convert` and `import`: writes a plan in another dialect and reports what that dialect cannot express.

use std::path::{Path, PathBuf};

use planwright_engine::Project;
use planwright_engine::core::dialect::convert;
use planwright_engine::core::dialect::convert::Loss;
use planwright_engine::core::dialect::{Dialect, NewPlan};
use planwright_engine::core::plan::draft::Draft;
use planwright_engine::core::plan::verified;
use planwright_engine::core::syntax::source::Source;
use planwright_engine::store::plan_file;
use planwright_engine::system::clock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::{shown, unknown_dialect};
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean, clean_line};

/// How many losses are shown; `--json` has all of them.
const LOSSES_SHOWN_MAX: usize = 20;
/// Argument for standard output.
const STDOUT: &str = "-";

/// Where a plan goes and on which terms.
#[derive(Debug, clap::Args)]
pub(crate) struct ConvertOptions {
    /// Output path; `-` writes standard output [default: the dialect's own place]
    #[arg(long, short, value_name = "PATH")]
    output: Option<String>,
    /// Name of the new plan
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Write nothing if something would be lost
    #[arg(long)]
    strict: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Carried {
    /// What was read.
    pub(crate) from: String,
    /// What it is written in.
    pub(crate) read_as: String,
    /// The dialect of the new plan.
    pub(crate) dialect: String,
    /// The new plan; `None` where it was not written to a file.
    pub(crate) path: Option<String>,
    /// How many steps it has.
    pub(crate) steps: usize,
    /// What it can't say.
    pub(crate) losses: Vec<LossData>,
    /// Its text, where it was not written to a file.
    pub(crate) text: Option<String>,
}

/// Something that the new plan can't say.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LossData {
    /// The number of the step; `None` for the plan as a whole.
    pub(crate) step: Option<usize>,
    /// What it is.
    pub(crate) what: String,
    /// What was said.
    pub(crate) said: String,
}

/// The plan to convert, and the target dialect.
pub(crate) struct ConvertInput<'a> {
    /// The command: `convert` or `import`.
    pub(crate) kind: &'static str,
    /// The project that the new plan belongs to.
    pub(crate) project: &'a Project,
    /// What was read.
    pub(crate) source: &'a Source,
    /// What it says.
    pub(crate) draft: &'a Draft,
    /// What it is written in, and how that is known.
    pub(crate) read_as: String,
    /// What it was called.
    pub(crate) name: String,
    /// The dialect of the new plan.
    pub(crate) to: &'static Dialect,
}

/// The dialect with this name.
pub(crate) fn dialect(name: &str) -> Result<&'static Dialect, Failure> {
    planwright_engine::core::dialect::named(name).ok_or_else(|| unknown_dialect(name))
}

/// Writes the new plan and says what it can't hold.
pub(crate) fn write(
    load: &ConvertInput<'_>,
    terms: &ConvertOptions,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let name = terms.name.clone().unwrap_or_else(|| name_of(load));
    if verified::slug(&name) != name || name.is_empty() {
        let failure = Failure::new(Exit::Usage, format!("`{name}` is not a valid plan name"));
        return Err(failure.hint("use lowercase letters, digits and dashes, with --name"));
    }
    let home = (load.to.home)(&name, &planwright_engine::store::plan_file::chance()?);
    let path = match terms.output.as_deref() {
        Some(STDOUT) => None,
        Some(path) => Some(PathBuf::from(path)),
        None => Some(load.project.root.join(&home.path)),
    };
    let id = path.as_deref().and_then(|path| id_of(path, load.to)).unwrap_or(home.id);
    let birth = NewPlan { id: &id, now: &clock::utc_now() };
    let converted = convert::convert(load.source, load.draft, load.to, &birth);
    if terms.strict && !converted.losses.is_empty() {
        return Err(refused(load, &converted.losses));
    }
    match &path {
        Some(path) => {
            plan_file::create_plan(path, &converted.text, load.to)?;
            let word = out.palette().paint(Tone::Good, "wrote");
            let steps = wording::number(load.draft.steps.len(), "step");
            let read_as = clean_line(&load.read_as).into_owned();
            out.line(&format!("{word}  {}   {steps}, from {read_as}", clean_line(&shown(path))));
        }
        None => out.data(&readable(&converted.text, out)),
    }
    tell_losses(load, &converted.losses, out);
    let path = path.as_deref().map(shown);
    let next = path.as_ref().map(|path| NextCommand::new(["planwright", "verify", path.as_str()]));
    let carried = Carried {
        from: load.source.name().to_owned(),
        read_as: load.read_as.clone(),
        dialect: load.to.name.to_owned(),
        text: path.is_none().then_some(converted.text),
        path,
        steps: load.draft.steps.len(),
        losses: converted.losses.into_iter().map(data).collect(),
    };
    let mut answer = Response::done(load.kind, &carried);
    answer.next.extend(next);
    Ok(answer)
}

/// The id that the file of a plan gives it, where the dialect takes it for one.
fn id_of(path: &Path, dialect: &Dialect) -> Option<String> {
    let name = plan_file::name(path);
    let chance = name.strip_prefix("PLAN-").unwrap_or(&name);
    let home = (dialect.home)(chance, chance);
    (plan_file::name(home.path.as_ref()) == name).then_some(home.id)
}

/// What the new plan is called: as the old one, or as its title says where that is no name.
fn name_of(load: &ConvertInput<'_>) -> String {
    let title = load.draft.title.as_ref().map(|title| verified::slug(&title.value)).unwrap_or_default();
    let name = verified::slug(load.name.trim_start_matches("PLAN-"));
    let is_common = ["plan", "tasks", "task", "prd", "issues", "todo", "readme"].contains(&name.as_str());
    match (name.is_empty() || is_common, title.is_empty()) {
        (true, false) => title,
        (true, true) if name.is_empty() => "imported".to_owned(),
        (_, _) => name,
    }
}

/// A filter passes every byte on; only a terminal is kept from what could steer it.
fn readable(text: &str, out: &Out<'_>) -> String {
    if out.settings().stdout.is_terminal { clean(text).into_owned() } else { text.to_owned() }
}

fn data(loss: Loss) -> LossData {
    LossData { step: loss.step, what: loss.what, said: loss.said }
}

fn tell_losses(load: &ConvertInput<'_>, losses: &[Loss], out: &mut Out<'_>) {
    if losses.is_empty() {
        return;
    }
    let things = wording::number(losses.len(), "value");
    out.warn(&format!("dialect {} cannot express {things}:", load.to.name));
    for loss in losses.iter().take(LOSSES_SHOWN_MAX) {
        out.talk(&format!("  {}", clean_line(&loss.to_string())));
    }
    if let Some(more) = losses.len().checked_sub(LOSSES_SHOWN_MAX).filter(|more| *more > 0) {
        out.talk(&format!("  and {more} more; --json has all of them"));
    }
}

fn refused(load: &ConvertInput<'_>, losses: &[Loss]) -> Failure {
    let message = format!("dialect {1} cannot express all of {0}", load.source.name(), load.to.name);
    let failure =
        Failure::new(Exit::No, message).hint("nothing was written; omit --strict to write it anyway");
    losses.iter().take(LOSSES_SHOWN_MAX).fold(failure, |failure, loss| failure.because(loss))
}
