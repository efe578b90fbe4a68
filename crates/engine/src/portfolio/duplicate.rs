//! The duplicate guard: who makes, stages or proposes a plan is told of another one that is about the same, or is called so.

use std::path::{Path, PathBuf};

use planwright_core::plan::draft::Draft;
use planwright_core::workspace::portfolio::{Gist, Status};

use super::board::{board, name_of, trees_of};
use crate::run::Error;
use crate::store::worktree_registry::Tree;
use crate::workspace::project::Project;

/// How many are named.
const TWINS_MAX: usize = 5;

/// Another plan that is about the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twin {
    /// What others call it.
    pub name: String,
    /// Its file, relative to the root of the project.
    pub path: PathBuf,
    /// In which way it is alike.
    pub why: String,
}

/// Open plans that are about the same as this one, and plans of any kind that are called like it.
pub fn twins(project: &Project, plan: &Path, draft: &Draft) -> Result<Vec<Twin>, Error> {
    let (name, gist) = (name_of(plan), Gist::of(draft));
    let own = plan.canonicalize().unwrap_or_else(|_| plan.to_owned());
    let own = own.strip_prefix(&project.root).unwrap_or(&own);
    let board = board(project)?;
    let mut twins = Vec::new();
    for card in board.cards.iter().filter(|card| card.path != own) {
        let is_over = matches!(card.entry.status, Status::Done | Status::Cancelled);
        let why = match gist.likeness(&card.gist).filter(|_| !is_over) {
            _ if card.entry.name == name => format!("it is called the same, and is {}", card.state),
            Some(likeness) => likeness.words().to_owned(),
            None => continue,
        };
        twins.push(Twin { name: card.entry.name.clone(), path: card.path.clone(), why });
    }
    for archived in board.archived.iter().filter(|archived| archived.entry.name == name) {
        let why = "it is called the same, and is archived".to_owned();
        twins.push(Twin { name: name.clone(), path: archived.path.clone(), why });
    }
    let is_it = |tree: &Tree| tree.plan.as_deref().map_or(tree.name == name, |plan| name_of(plan) == name);
    for tree in trees_of(project).into_iter().filter(is_it) {
        let why = "it is called the same, and has a tree of its own".to_owned();
        twins.push(Twin { name: name.clone(), path: tree.path, why });
    }
    twins.truncate(TWINS_MAX);
    Ok(twins)
}
