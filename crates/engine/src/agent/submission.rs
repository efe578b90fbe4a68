//! Plans as agents hand them in, by name or as text: which files they may point at, where a new plan goes, and what may be
//! written over. Whoever asks has no shell of ours, so nothing outside of the project is read and no contract is run for them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use planwright_core::approval::ledger::{Role, Who};
use planwright_core::dialect::{self, DIALECTS, NATIVE};
use planwright_core::plan::digest::Digest;
use planwright_core::plan::lifecycle::State;
use planwright_core::plan::verified::slug;
use planwright_core::syntax::source::{Source, text as said};

use crate::approval;
use crate::approval::{Authorship, Decisions, Proposed};
use crate::store::plan_file;
use crate::store::plan_file::Text;
use crate::workspace::project;
use crate::workspace::project::{Project, Verified};

/// What the name of a plan is where it has no title that could be one.
const NAMELESS: &str = "proposal";
/// What the names of plan files end in.
const ENDINGS: &[&str] = &["md", "yaml", "yml", "json"];
/// Why the contracts of such a plan are not run when it is proposed.
pub const UNRUN: &str = "nobody has run it yet: an agent that may only read proposed it";

/// What can go wrong with a plan that is handed in.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error(transparent)]
    Decisions(#[from] approval::Error),
    /// It is no plan of this project.
    #[error("`{name}` is no plan of this project")]
    Elsewhere {
        /// What was asked for.
        name: String,
    },
    /// No plan can lie there.
    #[error("`{path}` can't hold a new plan: {why}")]
    Place { path: String, why: &'static str },
    /// Another plan lies there.
    #[error("{path} holds a plan already ({why}); it was left as it is")]
    Taken {
        path: String,
        /// Why it is not written over.
        why: &'static str,
    },
}

/// The plan of this project that is meant: its path from the root, its name, or the beginning of one. Unlike a person at a
/// terminal, who asks here can't point at any other file.
pub fn named(project: &Project, name: &str) -> Result<PathBuf, Error> {
    let plans: BTreeSet<PathBuf> = project.plans()?.into_iter().collect();
    let is_plan = |path: &PathBuf| plans.contains(path);
    let elsewhere = || Error::Elsewhere { name: name.to_owned() };
    let below = project.root.join(name).canonicalize().ok().filter(|path| path.starts_with(&project.root));
    if let Some(path) = below.map(|path| plan_file::plan_at(&path, project.dialect)).filter(is_plan) {
        return Ok(path);
    }
    if name.contains('/') {
        return Err(elsewhere());
    }
    let path = project.plan(name)?;
    let path = path.canonicalize().unwrap_or(path);
    Some(path).filter(is_plan).ok_or_else(elsewhere)
}

/// A text that is to be a plan, and where it would lie.
pub struct Submission {
    pub path: PathBuf,
    pub text: Text,
}

impl Submission {
    /// A text with the place that is wished for it, or the one where its dialect keeps plans.
    pub fn of(project: &Project, text: &str, wished: Option<&str>) -> Result<Self, Error> {
        let place = match wished {
            Some(path) => place(path)?,
            None => home(project, text)?,
        };
        let shown = place.to_string_lossy();
        let read = plan_file::read_stream(&mut text.as_bytes(), &shown, project.reading());
        let text = read.map_err(|source| plan_file::Error::Read { path: place.clone(), source })?;
        Ok(Self { path: project.root.join(&place), text })
    }
}

/// Where a text goes that nobody has a place for.
fn home(project: &Project, text: &str) -> Result<PathBuf, Error> {
    let dialect = project.dialect.or_else(|| dialect::detect("", text).ok().map(|found| found.dialect));
    let dialect = dialect.unwrap_or(NATIVE);
    let title = said(Source::new("plan", text).written_in(dialect).draft().title.as_ref());
    let name = Some(slug(&title)).filter(|name| !name.is_empty()).unwrap_or_else(|| NAMELESS.to_owned());
    Ok((dialect.home)(&name, &crate::store::random_id::chance()?).path.into())
}

/// A path that a new plan may have: below the root, with the ending of a plan.
fn place(path: &str) -> Result<PathBuf, Error> {
    let wrong = |why| Err(Error::Place { path: path.to_owned(), why });
    let wished = Path::new(path);
    if !wished.components().all(|part| matches!(part, Component::Normal(_))) {
        return wrong("say it from the root of the project, without `..`");
    }
    if wished.components().any(|part| part.as_os_str() == ".git") {
        return wrong("that is git's");
    }
    // Programs obey files in many places: an agent may write one only where plans are.
    if !is_where_plans_are(wished) {
        return wrong("plans lie below `plans`, or where their dialect keeps them");
    }
    let ending = wished.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !ENDINGS.contains(&ending) {
        return wrong("a plan ends in .md, .yaml, .yml or .json");
    }
    Ok(wished.to_owned())
}

/// Whether a path is one where people look for plans: below `plans`, or in the folder of a dialect.
fn is_where_plans_are(wished: &Path) -> bool {
    let folder = wished.parent().unwrap_or(Path::new(""));
    let is_hidden = |part: Component<'_>| part.as_os_str().to_string_lossy().starts_with('.');
    if folder.starts_with(crate::workspace::init::PLANS) {
        return !wished.components().any(is_hidden);
    }
    let name = wished.file_name().unwrap_or_default().to_string_lossy();
    DIALECTS.iter().any(|dialect| {
        let home = PathBuf::from((dialect.home)(NAMELESS, "00000000").path);
        let is_named = folder != Path::new("") || name.starts_with("PLAN");
        home.parent() == Some(folder) && is_named && !is_hidden(Component::Normal(name.as_ref().as_ref()))
    })
}

/// Writes a plan that was handed in and asks for its approval. A plan with errors leaves nothing behind; one whose contracts
/// were not run yet is proposed without that. Where a plan lies already, only a text that an agent handed in is revised.
pub fn propose(
    decisions: &Decisions,
    path: &Path,
    verified: Verified,
    by: &Who,
) -> Result<(Verified, Proposed), Error> {
    let project = decisions.runs().project();
    let (verified, text) = match (verified.plan.is_some(), path.symlink_metadata().is_ok()) {
        (false, _) => (verified, Authorship::Found),
        (true, true) => revise(decisions, path, &verified)?,
        (true, false) => {
            let folder = path.parent().and_then(|folder| folder.strip_prefix(&project.root).ok());
            plan_file::folder_within(&project.root, folder.unwrap_or(Path::new("")))?;
            plan_file::create_plan(path, verified.source.text(), verified.dialect())?;
            (verified, Authorship::Own)
        }
    };
    let proposed = decisions.propose_unrun(path, &verified, (by, text), UNRUN)?;
    Ok((verified, proposed))
}

/// Writes a text in the place of one that an agent handed in before. What anybody else wrote or decided stays.
fn revise(decisions: &Decisions, path: &Path, verified: &Verified) -> Result<(Verified, Authorship), Error> {
    let project = decisions.runs().project();
    let shown = verified.source.name().to_owned();
    let taken = |why| Error::Taken { path: shown.clone(), why };
    if plan_file::plan_at(path, project.dialect) != path
        || path.symlink_metadata().is_ok_and(|data| !data.is_file())
    {
        return Err(taken("it is a part of another one, or leads elsewhere"));
    }
    let old = project.verify(path, &shown)?;
    let digest = |verified: &Verified| verified.plan.as_ref().map(|plan| Digest::of(plan).to_string());
    let case = decisions.case(path)?;
    let newest = case.standing.newest();
    let is_handed_in = newest.is_some_and(|newest| newest.by.role == Role::Agent && newest.is_handed_in);
    let is_as_proposed = digest(&old).as_ref() == newest.map(|newest| &newest.subject.digest);
    if digest(&old).is_some() && digest(&old) == digest(verified) {
        // It is not written, so it is whose it was.
        let text = if is_handed_in && is_as_proposed { Authorship::Own } else { Authorship::Found };
        return Ok((old, text));
    }
    match newest {
        None => return Err(taken("nobody has proposed it")),
        Some(newest) if newest.by.role != Role::Agent => return Err(taken("a person proposed it")),
        Some(_) if !is_as_proposed => return Err(taken("it was changed since it was proposed")),
        Some(_) if !is_handed_in => return Err(taken("an agent proposed it, but did not write it here")),
        Some(_) => {}
    }
    match case.state() {
        State::Draft | State::Proposed | State::Rejected => {}
        State::Approved | State::Running | State::Waiting(_) => {
            return Err(taken("somebody has approved it"));
        }
        State::Done | State::Failed | State::Cancelled => return Err(taken("it is over")),
    }
    let saved = crate::store::plan_write::save(path, &old.source, &verified.source)?;
    Ok((project.check(Text::Plan(saved))?, Authorship::Own))
}
