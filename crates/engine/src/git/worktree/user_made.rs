//! Worktrees that the user created with git. They are listed and never touched.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Error;
use crate::git::base;
use crate::system::process::Repository;

/// A worktree of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plain {
    pub(super) path: PathBuf,
    pub(super) branch: Option<String>,
}

/// The worktrees of a repository, without its main working copy.
pub(super) fn worktrees(common: &Path) -> Result<Vec<Plain>, Error> {
    let repository = Repository { tree: common.to_owned(), git: common.to_owned() };
    let answer = repository.ask(&["worktree", "list", "--porcelain", "-z"]).map_err(base::Error::from)?;
    if answer.code != Some(0) {
        let said = answer.stderr.lines().next().unwrap_or_default().to_owned();
        return Err(base::Error::Git { act: "list its worktrees", tree: common.to_owned(), said }.into());
    }
    let mut found: Vec<Plain> = Vec::new();
    for line in answer.stdout.split(|&byte| byte == 0) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            found.push(Plain { path: PathBuf::from(OsStr::from_bytes(path)), branch: None });
        } else if let (Some(name), Some(last)) = (line.strip_prefix(b"branch "), found.last_mut()) {
            let name = String::from_utf8_lossy(name);
            last.branch = Some(name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned());
        }
    }
    // The first is the main one.
    Ok(found.into_iter().skip(1).collect())
}
