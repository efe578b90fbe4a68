//! Walks over the files of a folder. Lists of ignored files lie within reach of agents: one that is a pipe would be waited for
//! without end, so the lists of a folder in which one is no file are not read, and nothing below it is ignored.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;

/// Lists of ignored files, in whichever folder they lie.
const LISTS: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

/// Walks over everything below `top` that no list ignores. `build` says which lists count, `walk` has every walk that this takes;
/// no file is met twice. The folders of repositories themselves are left out.
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

/// Walks, and returns the folders that were left out because a list in them is no file.
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

/// Whether every list in a folder can be read without waiting: it is a file, or there is none.
fn has_sound_lists(folder: &Path) -> bool {
    LISTS.iter().all(|list| folder.join(list).metadata().map_or(true, |data| data.is_file()))
}
