//! The place where the work is done. Tells what an attempt changed, by looking at the files themselves: git is not asked,
//! because in a folder that an agent can write to, git runs what the agent configured.

mod git;

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::store::{plan_file, state_dir};

/// The most files that are looked at.
const FILES_MAX: usize = 200_000;
/// The most changed files that are named.
const NAMED_MAX: usize = 200;
/// How much of a `.gitignore` is read.
const RULES_BYTES_MAX: u64 = 1 << 20;
/// Folders that tools fill. These alone may be hidden by rules that are new, or that lie outside of the project: a project that
/// was begun a moment ago has just got the rule about its dependencies.
const FILLED: &[&str] = &["target", "node_modules", "__pycache__", ".venv"];

/// The rules about what is ignored, by the folder that they lie in.
type Rules = BTreeMap<PathBuf, Gitignore>;

/// What the files of a workspace looked like at one moment.
pub struct Snapshot {
    files: BTreeMap<String, Look>,
    rules: Rules,
}

/// What is seen of a file.
#[derive(PartialEq, Eq)]
enum Look {
    /// Its outside. The time of the last change of an inode can't be set back by whoever may write to it.
    Outside { size: u64, modified: (i64, i64), changed: (i64, i64), inode: u64 },
    /// What it says that counts, line by line.
    Lines(Vec<String>),
}

impl Look {
    fn of(data: &Metadata) -> Self {
        Self::Outside {
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
            inode: data.ino(),
        }
    }
}

impl Snapshot {
    /// Looks at every file that the project's own `.gitignore` files do not ignore, and at what steers its git.
    pub fn of(root: &Path) -> Self {
        Self::look(root, None)
    }

    /// Looks again, by the rules that held then: who writes a `.gitignore` hides nothing by it.
    #[must_use]
    pub fn again(&self, root: &Path) -> Self {
        Self::look(root, Some(&self.rules))
    }

    fn look(root: &Path, earlier: Option<&Rules>) -> Self {
        // Without a repository the files mean nothing. One that can't be told ignores nothing either.
        let tree = state_dir::tree_of(root).ok().flatten();
        let above =
            root.ancestors().skip(1).filter(|folder| tree.is_some_and(|tree| folder.starts_with(tree)));
        let mut rules: Rules = above.filter_map(rules_in).collect();
        let mut files = git::steering(root);
        let own_git = root.join(".git");
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            rules.extend(tree.and_then(|_| rules_in(&folder)));
            // What vanishes while we look is not there.
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let path = entry.path();
                let Ok(data) = path.symlink_metadata() else { continue };
                let name = entry.file_name();
                let is_filled = || data.is_dir() && FILLED.iter().any(|filled| name == *filled);
                let is_hidden = path == own_git
                    || is_ignored((&path, data.is_dir()), earlier.unwrap_or(&rules), root)
                    || is_filled() && is_ignored((&path, true), &rules, Path::new("/"));
                if is_hidden || files.len() >= FILES_MAX {
                    continue;
                }
                if data.is_dir() {
                    folders.push(path);
                } else if let Ok(inner) = path.strip_prefix(root) {
                    files.insert(inner.to_string_lossy().into_owned(), Look::of(&data));
                }
            }
        }
        Self { files, rules }
    }

    /// The files and links that were made, changed or removed since `earlier`: all of them, in order.
    pub fn changed_since(&self, earlier: &Self) -> Vec<String> {
        let is_changed = |(path, look): &(&String, &Look)| earlier.files.get(*path) != Some(*look);
        let changed = self.files.iter().filter(is_changed).map(|(path, _)| path);
        let gone = earlier.files.keys().filter(|path| !self.files.contains_key(*path));
        let mut paths: Vec<String> = changed.chain(gone).cloned().collect();
        paths.sort();
        paths
    }
}

/// As many of the changed files as are named. Where that is not all of them, those outside of the scope come first.
pub fn named(mut changed: Vec<String>, outside: &[String]) -> Vec<String> {
    if changed.len() > NAMED_MAX {
        changed.sort_by_cached_key(|path| (outside.binary_search(path).is_err(), path.clone()));
        changed.truncate(NAMED_MAX);
        changed.sort();
    }
    changed
}

/// The rules in a folder; `None` where there are none.
fn rules_in(folder: &Path) -> Option<(PathBuf, Gitignore)> {
    let file = folder.join(".gitignore");
    // Git follows no link here either.
    file.symlink_metadata().ok().filter(Metadata::is_file)?;
    let text = plan_file::read_text(&file, RULES_BYTES_MAX).ok()?;
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // A line that is no pattern ignores nothing.
        builder.add_line(None, line).ok();
    }
    Some((folder.to_owned(), builder.build().ok()?))
}

/// Whether the rules from `top` downwards ignore what is at a path; the nearest that says anything decides.
fn is_ignored((path, is_folder): (&Path, bool), rules: &Rules, top: &Path) -> bool {
    let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    for rules in folders.filter_map(|folder| rules.get(folder)) {
        match rules.matched(path, is_folder) {
            Match::None => {}
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
        }
    }
    false
}
