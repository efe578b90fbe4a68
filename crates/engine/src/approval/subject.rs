//! Exactly what an approval covers, as it is now, and which parts of it changed.

use std::path::Path;

use planwright_core::approval::ledger::ApprovalSubject;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::{Plan, Reference};
use planwright_core::syntax::glob::Glob;

use super::{Approvals, Error};
use crate::git::{base, sealed};
use crate::run::pinned;

/// How many changed files are named; more would tell nothing new.
const NAMED_MAX: usize = 5;

impl Approvals {
    /// What an approval would cover now.
    pub fn subject(&self, plan: &Plan) -> Result<ApprovalSubject, Error> {
        self.subject_with(plan, &Digest::of(plan).to_string())
    }

    pub(super) fn subject_with(&self, plan: &Plan, digest: &str) -> Result<ApprovalSubject, Error> {
        let project = self.project();
        Ok(ApprovalSubject {
            digest: digest.to_owned(),
            sealed: sealed::of(&project.root, plan)?,
            base: base::of(&project.root)?,
            agents: project.commands_of(plan),
            programs: pinned::of(&project.root, plan)?,
        })
    }
}

/// What changed in a subject, for people.
pub fn moved(
    root: &Path,
    (path, plan): (&Path, &Plan),
    then: &ApprovalSubject,
    now: &ApprovalSubject,
) -> Result<Vec<String>, Error> {
    let mut moved = Vec::new();
    if then.digest != now.digest {
        moved.push(format!(
            "the plan changed from {} to {}",
            super::short(&then.digest),
            super::short(&now.digest)
        ));
    }
    moved.extend(sealed::moved(&then.sealed, &now.sealed));
    moved.extend(pinned::moved(&then.programs, &now.programs));
    moved.extend(base_moved(root, (path, plan), then, now)?);
    for target in then.agents.keys().chain(now.agents.keys().filter(|key| !then.agents.contains_key(*key))) {
        let line = |subject: &ApprovalSubject| {
            let command = subject.agents.get(target).filter(|command| !command.is_empty());
            command.map_or_else(|| "nothing".to_owned(), |command| command.join(" "))
        };
        if then.agents.get(target) != now.agents.get(target) {
            moved.push(format!("the command of `{target}` changed from {} to {}", line(then), line(now)));
        }
    }
    Ok(moved)
}

/// What changed between two commits, apart from the plan itself: committing an approved plan must not void
/// the approval.
fn base_moved(
    root: &Path,
    (path, plan): (&Path, &Plan),
    then: &ApprovalSubject,
    now: &ApprovalSubject,
) -> Result<Option<String>, Error> {
    let (from, to) = match (&then.base, &now.base) {
        (Some(from), Some(to)) if from.tree == to.tree => return Ok(None),
        (Some(from), Some(to)) => (from, to),
        (None, None) => return Ok(None),
        (None, Some(to)) => return Ok(Some(format!("there was no commit; now there is {to}"))),
        (Some(from), None) => return Ok(Some(format!("{from} is gone: the repository has no commit"))),
    };
    let is_own = |file: &String| Path::new(file).starts_with(path);
    let mut files: Vec<String> =
        base::moved(root, from, to)?.into_iter().filter(|file| !is_own(file)).collect();
    if files.is_empty() {
        return Ok(None);
    }
    let matters = |file: &str| used(plan, file);
    files.sort_by_key(|file| (!matters(file), file.clone()));
    let how = files.first().filter(|file| matters(file)).map_or("", |_| " (used by this plan)");
    let more = files.len().saturating_sub(NAMED_MAX);
    let named = files.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    let named = if more > 0 { format!("{named} and {more} more") } else { named };
    Ok(Some(format!(
        "the base moved from {} to {}; changed: {named}{how}",
        from,
        &to.commit[..to.commit.len().min(7)]
    )))
}

fn used(plan: &Plan, file: &str) -> bool {
    plan.steps.iter().any(|step| {
        let read = step.reads.iter().any(|read| matches!(read, Reference::File(path) if path == file));
        let globs = step.touches.iter().flatten().chain(&step.sealed);
        read || globs.filter_map(|glob| Glob::new(glob).ok()).any(|glob| glob.matches(file))
    })
}
