//! Where a path is, relative to the workspace. Works on text alone: callers with a disk resolve links.

use crate::syntax::shell::flat;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPlace {
    /// Relative to the workspace root.
    Inside(String),
    /// Absolute.
    Outside(String),
}

impl PathPlace {
    /// Resolves `path` as seen from `folder`.
    pub fn of(root: &str, folder: &str, path: &str) -> Self {
        let whole = match path {
            // The home directory is unknown here, but it isn't in the workspace.
            path if path.starts_with('~') => return Self::Outside(path.to_owned()),
            path if path.starts_with('/') => path.to_owned(),
            path if folder.starts_with('/') => format!("{folder}/{path}"),
            path => format!("{root}/{folder}/{path}"),
        };
        let whole = flat(&whole);
        let root = flat(root);
        match whole.strip_prefix(&root) {
            Some(rest) if rest.starts_with('/') => Self::Inside(rest[1..].to_owned()),
            _ if root == "/" => Self::Inside(whole[1..].to_owned()),
            Some(_) | None => Self::Outside(whole),
        }
    }

    /// Whether this is the file or directory `whole`, or below it.
    pub(super) fn is_at_or_below(&self, whole: &str, root: &str) -> bool {
        let own = match self {
            Self::Inside(path) => format!("{}/{path}", flat(root).trim_end_matches('/')),
            Self::Outside(path) => path.clone(),
        };
        own.strip_prefix(whole.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}
