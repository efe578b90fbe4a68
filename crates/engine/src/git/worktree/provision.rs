//! Provisions a worktree: copies of ignored files, reserved ports, the setup command. Every part can be
//! repeated.

use std::io;
use std::path::{Path, PathBuf};

use super::setup_script;
use super::setup_script::{ScriptRun, ScriptTarget};
use super::{Error, copy_ignored, ports};
use crate::git::base;
use crate::store::plan_file;
use crate::workspace::project::Project;

/// Git's private ignore list of a worktree, which nobody commits.
const EXCLUDE: &str = ".git/info/exclude";
const EXCLUDE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Furnished {
    /// Files copied into it, relative to its top: not part of its work.
    pub copied: Vec<PathBuf>,
    /// Requested files that were not copied, and why.
    pub left_out: Vec<(PathBuf, &'static str)>,
    pub ports: Vec<u16>,
    /// How the setup ended.
    pub setup: ScriptRun,
}

/// Whether the setup command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// It runs, if it is allowed.
    Run,
    Leave,
}

/// Provisions the worktree at `folder`, which contains a commit of the project's repository.
///
/// Copies what `worktree.include` and `.worktreeinclude` name, leases ports (if the worktree is registered:
/// the lease ends when it is forgotten) and runs `worktree.setup`. A failed setup is not an error: the
/// worktree stays as it is.
pub fn furnish(project: &Project, folder: &Path, setup: Setup) -> Result<Furnished, Error> {
    let root = &project.root;
    let settings = &project.config.worktree;
    let copied = copy_ignored::copy(root, &settings.include, folder)?;
    exclude(folder, &copied.paths)?;
    let ports = ports::lease(folder, settings.ports, settings.port_range)?;
    let place = super::within(folder, &base::part_of(root)?);
    let setup = match setup {
        Setup::Run => {
            let ground = ScriptTarget { root, folder: &place, ports: &ports, seconds: settings.seconds };
            setup_script::run(&settings.setup, ground)?
        }
        Setup::Leave => ScriptRun::Nothing,
    };
    Ok(Furnished { copied: copied.paths, left_out: copied.left_out, ports, setup })
}

/// Makes git ignore these paths of a worktree, relative to its top.
pub(super) fn exclude(folder: &Path, paths: &[PathBuf]) -> Result<(), Error> {
    if paths.is_empty() {
        return Ok(());
    }
    let path = folder.join(EXCLUDE);
    let failed = |source| Error::File { path: path.clone(), source };
    let mut text = match plan_file::read_text(&path, EXCLUDE_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(failed)?,
    };
    let known: Vec<String> = text.lines().map(str::to_owned).collect();
    let lines = paths.iter().map(|path| pattern(path)).filter(|line| !known.contains(line));
    for line in lines.collect::<Vec<_>>() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&line);
        text.push('\n');
    }
    plan_file::folder_within(folder, Path::new(".git/info"))?;
    plan_file::fill_or_create(&path, &text)?;
    Ok(())
}

/// The pattern that matches exactly this path.
fn pattern(path: &Path) -> String {
    let mut pattern = String::from("/");
    for sign in path.to_string_lossy().chars() {
        if "\\*?[ !#".contains(sign) {
            pattern.push('\\');
        }
        pattern.push(sign);
    }
    pattern
}
