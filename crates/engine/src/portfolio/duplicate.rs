//! The duplicate guard: warns whoever creates, shelves or proposes a plan about one with the same name or
//! subject.

use std::path::{Path, PathBuf};

use planwright_core::plan::draft::Draft;
use planwright_core::workspace::portfolio::{Fingerprint, PlanProgress};

use super::board::{board, trees_of};
use crate::run::Error;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::workspace::project::Project;
use crate::workspace::staging::name_of;

/// The most duplicates that are named.
const TWINS_MAX: usize = 5;

/// Another plan about the same subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicatePlan {
    pub name: String,
    /// Relative to the root of the project.
    pub path: PathBuf,
    /// How it is similar.
    pub why: String,
}

/// Open plans about the same subject, and any plan with the same name.
pub fn duplicates(project: &Project, plan: &Path, draft: &Draft) -> Result<Vec<DuplicatePlan>, Error> {
    let (name, gist) = (name_of(plan), Fingerprint::of(draft));
    let own = plan.canonicalize().unwrap_or_else(|_| plan.to_owned());
    let own = own.strip_prefix(&project.root).unwrap_or(&own);
    let board = board(project)?;
    let mut duplicates = Vec::new();
    for card in board.cards.iter().filter(|card| card.path != own) {
        let is_over = matches!(card.entry.status, PlanProgress::Done | PlanProgress::Cancelled);
        let why = match gist.likeness(&card.gist).filter(|_| !is_over) {
            _ if card.entry.name == name => format!("it has the same name and is {}", card.state),
            Some(likeness) => likeness.words().to_owned(),
            None => continue,
        };
        duplicates.push(DuplicatePlan { name: card.entry.name.clone(), path: card.path.clone(), why });
    }
    for archived in board.archived.iter().filter(|archived| archived.entry.name == name) {
        let why = "it has the same name and is archived".to_owned();
        duplicates.push(DuplicatePlan { name: name.clone(), path: archived.path.clone(), why });
    }
    let is_it = |tree: &RegisteredWorktree| {
        tree.plan.as_deref().map_or(tree.name == name, |plan| name_of(plan) == name)
    };
    for tree in trees_of(project).into_iter().filter(is_it) {
        let why = "it has the same name and its own worktree".to_owned();
        duplicates.push(DuplicatePlan { name: name.clone(), path: tree.path, why });
    }
    duplicates.truncate(TWINS_MAX);
    Ok(duplicates)
}
