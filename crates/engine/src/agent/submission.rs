//! Plans handed in by agents, by name or as text: which files they may name, where a new plan goes, and what
//! may be overwritten. The caller has no shell here, so nothing outside the project is read and no contract
//! runs.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use planwright_core::dialect::{self, DIALECTS, NATIVE};
use planwright_core::plan::digest::Digest;
use planwright_core::plan::identity::{Identity, Role};
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified::slug;
use planwright_core::syntax::source::{Source, text as said};

use crate::approval;
use crate::approval::{Approvals, Authorship, Proposed};
use crate::run::baseline;
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::project;
use crate::workspace::project::{Project, Verified};

/// The name of a plan without a usable title.
const NAMELESS: &str = "proposal";
/// File extensions of plans.
const ENDINGS: &[&str] = &["md", "yaml", "yml", "json"];
/// Why the contracts of such a plan are not run when it is proposed.
pub const UNRUN: &str = "not run yet: proposed by an agent that may only read";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error(transparent)]
    Decisions(#[from] approval::Error),
    #[error("plan `{name}` not found")]
    Elsewhere { name: String },
    /// A plan cannot be there.
    #[error("cannot create a plan at `{path}`: {why}")]
    Place { path: String, why: &'static str },
    /// Another plan is there.
    #[error("{path} already contains a plan ({why}); it was not changed")]
    Taken {
        path: String,
        /// Why it is not overwritten.
        why: &'static str,
    },
}

/// The named plan of this project: its path from the root, its name, or a prefix of one. Unlike a person at a
/// terminal, the caller cannot name any other file.
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

/// A text that should become a plan, and its path.
pub struct Submission {
    pub path: PathBuf,
    pub text: FileText,
}

impl Submission {
    /// A text with the requested path, or the one where its dialect keeps plans.
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

/// The default path of a text.
fn home(project: &Project, text: &str) -> Result<PathBuf, Error> {
    let dialect = project.dialect.or_else(|| dialect::detect("", text).ok().map(|found| found.dialect));
    let dialect = dialect.unwrap_or(NATIVE);
    let title = said(parse(&Source::new("plan", text).written_in(dialect)).title.as_ref());
    let name = Some(slug(&title)).filter(|name| !name.is_empty()).unwrap_or_else(|| NAMELESS.to_owned());
    Ok((dialect.home)(&name, &crate::store::random_id::chance()?).path.into())
}

/// A path that a new plan may have: below the root, with the extension of a plan.
fn place(path: &str) -> Result<PathBuf, Error> {
    let wrong = |why| Err(Error::Place { path: path.to_owned(), why });
    let wished = Path::new(path);
    if !wished.components().all(|part| matches!(part, Component::Normal(_))) {
        return wrong("use a path relative to the project root, without `..`");
    }
    if wished.components().any(|part| part.as_os_str() == ".git") {
        return wrong("it is inside `.git`");
    }
    // Programs obey files in many places: an agent may write one only where plans are.
    if !is_where_plans_are(wished) {
        return wrong("plans belong in `plans` or in the directory of their dialect");
    }
    let ending = wished.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !ENDINGS.contains(&ending) {
        return wrong("the file name must end in .md, .yaml, .yml or .json");
    }
    Ok(wished.to_owned())
}

/// Whether a path is one where people look for plans: below `plans`, or in the directory of a dialect.
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

/// Writes a submitted plan and asks for its approval. A plan with errors leaves nothing behind; one whose
/// contracts were not run yet is proposed without results. An existing plan is only revised if an agent
/// submitted it.
pub fn propose(
    decisions: &Approvals,
    path: &Path,
    verified: Verified,
    by: &Identity,
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

/// Replaces a text that an agent submitted before. What anyone else wrote or decided stays.
fn revise(decisions: &Approvals, path: &Path, verified: &Verified) -> Result<(Verified, Authorship), Error> {
    let project = decisions.runs().project();
    let shown = verified.source.name().to_owned();
    let taken = |why| Error::Taken { path: shown.clone(), why };
    if plan_file::plan_at(path, project.dialect) != path
        || path.symlink_metadata().is_ok_and(|data| !data.is_file())
    {
        return Err(taken("it is part of another plan, or a link"));
    }
    let old = baseline::verify(project, path, &shown)?;
    let digest = |verified: &Verified| verified.plan.as_ref().map(|plan| Digest::of(plan).to_string());
    let case = decisions.case(path)?;
    let newest = case.standing.newest();
    let is_handed_in = newest.is_some_and(|newest| newest.by.role == Role::Agent && newest.is_handed_in);
    let is_as_proposed = digest(&old).as_ref() == newest.map(|newest| &newest.subject.digest);
    if digest(&old).is_some() && digest(&old) == digest(verified) {
        // It is not written, so its author does not change.
        let text = if is_handed_in && is_as_proposed { Authorship::Own } else { Authorship::Found };
        return Ok((old, text));
    }
    match newest {
        None => return Err(taken("it is not proposed")),
        Some(newest) if newest.by.role != Role::Agent => return Err(taken("a person proposed it")),
        Some(_) if !is_as_proposed => return Err(taken("it changed after it was proposed")),
        Some(_) if !is_handed_in => return Err(taken("an agent proposed it, but did not write it here")),
        Some(_) => {}
    }
    match case.state() {
        PlanState::Draft | PlanState::Proposed | PlanState::Rejected => {}
        PlanState::Approved | PlanState::Running | PlanState::Waiting(_) => {
            return Err(taken("it is approved"));
        }
        PlanState::Done | PlanState::Failed | PlanState::Cancelled => return Err(taken("it is finished")),
    }
    let saved = crate::store::plan_write::save(path, &old.source, &verified.source)?;
    Ok((baseline::verify_text(project, FileText::Plan(saved))?, Authorship::Own))
}
