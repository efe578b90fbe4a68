//! Other repositories that a plan works in. The settings say where they are, the plan says which it needs;
//! `../api` means the same directory next to the workspace, a worktree and a merge checkout.

use std::io;
use std::path::PathBuf;

use planwright_core::syntax::source::Source;

use crate::store::state_dir;
use crate::workspace::project::Project;

/// The frontmatter key that names a plan's repositories. Without it, every repository whose path the plan
/// mentions.
const KEY: &str = "repositories";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read repository `{name}` ({path})")]
    Missing {
        /// Its name in the settings.
        name: String,
        /// Its path in the settings.
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("repository `{name}` ({path}) {why}")]
    Misplaced {
        /// Its name in the settings.
        name: String,
        /// Its path in the settings.
        path: String,
        why: String,
    },
    /// A plan names one that is not in the settings.
    #[error("unknown repository `{name}`; set repositories.{name}")]
    Unknown { name: String },
    /// The repository of the project cannot be determined.
    #[error("cannot find the repository of the project")]
    State(#[from] state_dir::Error),
}

/// A repository other than the project's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRepository {
    /// Its name in the settings.
    pub name: String,
    pub root: PathBuf,
    /// The name of its directory, which has the same parent as the project's repository.
    pub folder: String,
}

/// Every repository in the settings, by name.
pub fn all(project: &Project) -> Result<Vec<OtherRepository>, Error> {
    let named = &project.config.repositories;
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let own = state_dir::tree_of(&project.root)?.unwrap_or(&project.root).to_owned();
    let mut all: Vec<OtherRepository> = Vec::new();
    for (name, path) in named {
        let misplaced =
            |why: &str| Error::Misplaced { name: name.clone(), path: path.clone(), why: why.to_owned() };
        let missing = |source| Error::Missing { name: name.clone(), path: path.clone(), source };
        let root = project.root.join(path).canonicalize().map_err(missing)?;
        if state_dir::tree_of(&root)? != Some(root.as_path()) {
            return Err(misplaced("is not the root of a git repository"));
        }
        if root.starts_with(&own) || own.starts_with(&root) {
            return Err(misplaced("contains the project's repository or is inside it"));
        }
        // Only then can worktrees of all of them find each other at the paths in the plan.
        if root.parent() != own.parent() {
            return Err(misplaced("is not in the same directory as the project's repository"));
        }
        if all.iter().any(|other| other.root == root) {
            return Err(misplaced("is named twice"));
        }
        let folder = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.push(OtherRepository { name: name.clone(), root, folder });
    }
    Ok(all)
}

/// The repositories that a plan works in apart from the project's own.
pub fn of(project: &Project, plan: &Source) -> Result<Vec<OtherRepository>, Error> {
    let all = all(project)?;
    let draft = (plan.dialect().skim)(plan);
    let Some(said) = draft.frontmatter.value(KEY) else {
        let paths = &project.config.repositories;
        let is_meant = |beside: &OtherRepository| mentions(plan.text(), &paths[&beside.name]);
        return Ok(all.into_iter().filter(is_meant).collect());
    };
    let names = said.value.split([',', ' ']).filter(|name| !name.is_empty());
    let known = |name: &str| all.iter().find(|beside| beside.name == name).cloned();
    names.map(|name| known(name).ok_or_else(|| Error::Unknown { name: name.to_owned() })).collect()
}

/// Whether a text contains a path or something below it: `../api` is not in `../api-docs`.
fn mentions(text: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let is_end = |rest: &str| !rest.starts_with(|sign: char| sign.is_alphanumeric() || "-_.".contains(sign));
    !path.is_empty() && text.match_indices(path).any(|(at, _)| is_end(&text[at + path.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_mentioned_as_a_whole() {
        for text in ["test -e ../api/x", "cd ../api && make", "- ../api", "`../api`", "../api"] {
            assert!(mentions(text, "../api") && mentions(text, "../api/"), "{text}");
        }
        for text in ["../api-docs/x", "../apis", "../ap", "api/x", "", "../api.old"] {
            assert!(!mentions(text, "../api"), "{text}");
        }
    }
}
