//! Repositories beside the project's own that a plan works in as well. The settings say where they are, the plan says which of
//! them it needs; `../api` means the same folder in the workspace, beside a tree, and beside what is merged.

use std::io;
use std::path::PathBuf;

use planwright_core::syntax::source::Source;

use crate::store::state_dir;
use crate::workspace::project::Project;

/// The key in front of a plan that names the repositories which it works in. Without it, every one whose path the plan mentions.
const KEY: &str = "repositories";

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there, or can't be looked at.
    #[error("the repository `{name}` ({path}) can't be looked at")]
    Missing {
        /// What the settings call it.
        name: String,
        /// Where they say it is.
        path: String,
        #[source]
        source: io::Error,
    },
    /// It is in the wrong place.
    #[error("the repository `{name}` ({path}) {why}")]
    Misplaced {
        /// What the settings call it.
        name: String,
        /// Where they say it is.
        path: String,
        /// What is wrong with that.
        why: String,
    },
    /// A plan names one that the settings do not know.
    #[error("the plan works in the repository `{name}`, and no setting says where that is")]
    Unknown { name: String },
    /// It can't be told which repository the project is in.
    #[error("cannot find the repository of the project")]
    State(#[from] state_dir::Error),
}

/// A repository beside the project's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// What the settings call it.
    pub name: String,
    /// The top of its working copy.
    pub root: PathBuf,
    /// The name of its folder, which lies in the same folder as the project's repository.
    pub folder: String,
}

/// Every repository that the settings name, by name.
pub fn all(project: &Project) -> Result<Vec<Beside>, Error> {
    let named = &project.config.repositories;
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let own = state_dir::tree_of(&project.root)?.unwrap_or(&project.root).to_owned();
    let mut all: Vec<Beside> = Vec::new();
    for (name, path) in named {
        let misplaced =
            |why: &str| Error::Misplaced { name: name.clone(), path: path.clone(), why: why.to_owned() };
        let missing = |source| Error::Missing { name: name.clone(), path: path.clone(), source };
        let root = project.root.join(path).canonicalize().map_err(missing)?;
        if state_dir::tree_of(&root)? != Some(root.as_path()) {
            return Err(misplaced("is not the top of a git repository"));
        }
        if root.starts_with(&own) || own.starts_with(&root) {
            return Err(misplaced("and the project's own repository lie in each other"));
        }
        // Only so can a tree of each be laid out that finds the others where the plan says they are.
        if root.parent() != own.parent() {
            return Err(misplaced("does not lie in the same folder as the project's own repository"));
        }
        if all.iter().any(|other| other.root == root) {
            return Err(misplaced("is named twice"));
        }
        let folder = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.push(Beside { name: name.clone(), root, folder });
    }
    Ok(all)
}

/// The repositories that a plan works in apart from the project's own.
pub fn of(project: &Project, plan: &Source) -> Result<Vec<Beside>, Error> {
    let all = all(project)?;
    let draft = (plan.dialect().skim)(plan);
    let Some(said) = draft.frontmatter.value(KEY) else {
        let paths = &project.config.repositories;
        let is_meant = |beside: &Beside| mentions(plan.text(), &paths[&beside.name]);
        return Ok(all.into_iter().filter(is_meant).collect());
    };
    let names = said.value.split([',', ' ']).filter(|name| !name.is_empty());
    let known = |name: &str| all.iter().find(|beside| beside.name == name).cloned();
    names.map(|name| known(name).ok_or_else(|| Error::Unknown { name: name.to_owned() })).collect()
}

/// Whether a text names a path or something below it: `../api` is not in `../api-docs`.
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
