//! Walks the files of a directory. Ignore files are within reach of agents, and reading one that is a pipe
//! would block forever; so the ignore files of a directory in which one is not a regular file are not read,
//! and nothing below it is ignored.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;

/// Ignore files, in any directory.
const LISTS: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

/// Walks everything below `top` that no ignore file excludes. `build` says which ignore files count, `walk`
/// runs every walk this takes; no file is visited twice. Git directories are left out.
pub(crate) fn over(top: &Path, build: impl Fn(&Path) -> WalkBuilder, walk: &mut dyn FnMut(&WalkBuilder)) {
    let mut unsound = vec![top.to_owned()];
    if top.ancestors().all(has_sound_lists) {
        unsound = by_lists(build(top), walk);
    }
    for folder in unsound {
        let mut build = build(&folder);
        walk(build.standard_filters(false).filter_entry(|entry| entry.file_name() != ".git"));
    }
}

/// Walks, and returns the directories left out because an ignore file in them is not a regular file.
fn by_lists(mut build: WalkBuilder, walk: &mut dyn FnMut(&WalkBuilder)) -> Vec<PathBuf> {
    let unsound: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let noted = Arc::clone(&unsound);
    build.filter_entry(move |entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if entry.file_name() == ".git" {
            return false;
        }
        let is_sound = !is_folder || has_sound_lists(entry.path());
        if !is_sound {
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(entry.path().to_owned());
        }
        is_sound
    });
    walk(&build);
    let mut unsound = unsound.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *unsound)
}

/// Whether every ignore file in a directory can be read without blocking: it is a regular file, or missing.
fn has_sound_lists(folder: &Path) -> bool {
    LISTS.iter().all(|list| folder.join(list).metadata().map_or(true, |data| data.is_file()))
}
