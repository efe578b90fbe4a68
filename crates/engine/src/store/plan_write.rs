//! The only place that writes plans. A plan is replaced only if it is still what was read, and a plan of
//! several files is replaced as a whole even if the writer dies halfway.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use planwright_core::dialect::Dialect;
use planwright_core::syntax::source::Source;
use serde::{Deserialize, Serialize};

use super::plan_file::Error;
use super::write_lock::Turn;
use super::{file, sidecar};
use crate::store::plan_count::parse;
use crate::system::clock;

/// How many digits of a hash distinguish texts.
const HASH_DIGITS: usize = 8;

/// Replaces a plan by `new` if it is still `old`, with everything its dialect adds to a write. Returns what
/// was written.
pub fn save(path: &Path, old: &Source, new: &Source) -> Result<Source, Error> {
    let new = new.dialect().touched(new, &clock::utc_now());
    let version = |text: &str| version(&old.with(text));
    match path.is_dir() {
        true => replace_folder(path, old, &new)?,
        false => swap(path, (old.text(), new.text()), &version)?,
    }
    Ok(new)
}

/// Moves what a plan may not contain into files next to it, and returns the rest: the context of a proposal
/// has a limit. An existing file of that name has the same contents, since the name contains its digest.
pub fn move_overflow(path: &Path, source: &Source) -> Result<Source, Error> {
    let Some(overflow) = (source.dialect().overflow)(source) else { return Ok(source.clone()) };
    for (file, text) in &overflow.files {
        match file::create(&sidecar::place(path, file)?, text) {
            Ok(()) | Err(Error::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(source.with(overflow.text))
}

/// Replaces the text of a file if it is still `old`.
pub fn replace(path: &Path, old: &str, new: &str) -> Result<(), Error> {
    swap(path, (old, new), &content)
}

/// Creates a new plan, a file or a directory. Never overwrites an existing one.
pub fn create_plan(path: &Path, text: &str, dialect: &'static Dialect) -> Result<(), Error> {
    let source = Source::new("plan", text).written_in(dialect);
    if source.parts()[0].path.is_empty() {
        let folder = path.parent().unwrap_or(Path::new("."));
        let write_error = |source| Error::Write { path: path.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(write_error)?;
        return file::create(path, move_overflow(path, &source)?.text());
    }
    if path.exists() {
        return Err(Error::Exists { path: path.to_owned() });
    }
    source.parts().iter().try_for_each(|part| file::create(&path.join(&part.path), source.slice(part.span)))
}

/// Puts a plan directory in place of whatever is there, for copies that planwright keeps. Whole or not at
/// all, except for a moment in which nothing is there; the caller records its intent first.
pub fn replace_copy(path: &Path, text: &str, dialect: &'static Dialect) -> Result<(), Error> {
    let write_error = |source| Error::Write { path: path.to_owned(), source };
    let new = hidden(path, "new");
    remove_folder(&new).map_err(write_error)?;
    create_plan(&new, text, dialect)?;
    take_away(path).and_then(|()| file::rename(&new, path)).map_err(write_error)?;
    remove_folder(&hidden(path, "old")).map_err(write_error)
}

/// Removes such a copy with all its files, or not at all.
pub fn remove_laid(path: &Path) -> Result<(), Error> {
    let removed = take_away(path).and_then(|()| remove_folder(&hidden(path, "old")));
    removed.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Renames a directory to a name nobody looks for.
fn take_away(path: &Path) -> io::Result<()> {
    let old = hidden(path, "old");
    remove_folder(&old)?;
    if path.symlink_metadata().is_ok() { file::rename(path, &old) } else { Ok(()) }
}

fn hidden(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{ending}"))
}

/// Removes a directory with its contents, if there is one. A link is removed, not followed.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes a plan if it is still `old`: its own files, and directories that become empty. Files next to it
/// stay.
pub fn delete_plan(path: &Path, old: &Source) -> Result<(), Error> {
    let write_error = |source| Error::Write { path: path.to_owned(), source };
    let path = &path.canonicalize().map_err(write_error)?;
    let mut turn = Turn::at(path).map_err(write_error)?;
    let files: Vec<(PathBuf, &str)> = match path.is_dir() {
        false => vec![(path.clone(), old.text())],
        true => {
            let parts = old.parts().iter().filter(|part| !part.path.ends_with('/'));
            parts.map(|part| (path.join(&part.path), old.slice(part.span))).collect()
        }
    };
    for (file, text) in &files {
        let present = std::fs::read(file).map_err(write_error)?;
        if present != text.as_bytes() {
            let present = String::from_utf8_lossy(&present);
            let (by, expected, found) = (turn.author(&present), content(text), content(&present));
            return Err(Error::Moved { path: file.clone(), by, expected, found });
        }
    }
    for (file, _) in &files {
        std::fs::remove_file(file).map_err(write_error)?;
    }
    if path.is_dir() {
        // Only if they contain nothing else.
        std::fs::remove_dir(path.join("tasks")).ok();
        std::fs::remove_dir(path).ok();
    }
    turn.sign("").map_err(write_error)
}

/// Moves a plan to a free path. Never over anything, and never during a write.
pub fn shift(from: &Path, to: &Path) -> Result<(), Error> {
    let write_error = |source: io::Error| {
        let is = |kind: io::ErrorKind| source.kind() == kind;
        match (is(io::ErrorKind::AlreadyExists), is(io::ErrorKind::NotFound)) {
            (true, _) => Error::Exists { path: to.to_owned() },
            (false, true) => Error::Missing { path: from.to_owned() },
            (false, false) => Error::Write { path: from.to_owned(), source },
        }
    };
    // Moving a link would leave the plan it leads to.
    if from.symlink_metadata().map_err(write_error)?.is_symlink() {
        return Err(Error::Astray { path: from.to_owned() });
    }
    let real = from.canonicalize().map_err(write_error)?;
    let mut turn = Turn::at(&real).map_err(write_error)?;
    file::shift(&real, to).map_err(write_error)?;
    turn.sign("").map_err(write_error)
}

/// The check and the replacement are atomic for every writer that uses this: a lock is held across both, in a
/// separate file because the plan file itself is replaced.
fn swap(path: &Path, (old, new): (&str, &str), version: &dyn Fn(&str) -> String) -> Result<(), Error> {
    let write_error = |source| Error::Write { path: path.to_owned(), source };
    // A link is followed first: replacing it would leave its target unchanged.
    let path = &path.canonicalize().map_err(write_error)?;
    let mut turn = Turn::at(path).map_err(write_error)?;
    let present = std::fs::read(path).map_err(write_error)?;
    if present != old.as_bytes() {
        let present = String::from_utf8_lossy(&present);
        let (by, expected, found) = (turn.author(&present), version(old), version(&present));
        return Err(Error::Moved { path: path.clone(), by, expected, found });
    }
    file::put(path, new).and_then(|()| turn.sign(new)).map_err(write_error)
}

/// What distinguishes this text from others: its declared version, otherwise its content.
fn version(source: &Source) -> String {
    match parse(source).frontmatter.value("version") {
        Some(version) => format!("version {}", version.value),
        None => content(source.text()),
    }
}

fn content(text: &str) -> String {
    format!("content {}", &blake3::hash(text.as_bytes()).to_hex()[..HASH_DIGITS])
}

/// What is about to be done to the files of a directory.
#[derive(Serialize, Deserialize)]
struct Intent {
    files: Vec<Replacement>,
}

#[derive(Serialize, Deserialize)]
struct Replacement {
    path: PathBuf,
    old: String,
    new: String,
}

fn replace_folder(folder: &Path, old: &Source, new: &Source) -> Result<(), Error> {
    let write_error = |source| Error::Write { path: folder.to_owned(), source };
    let folder = &folder.canonicalize().map_err(write_error)?;
    let mut turn = Turn::at(folder).map_err(write_error)?;
    finish(&turn).map_err(write_error)?;
    let paths = |source: &Source| source.parts().iter().map(|part| part.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(old), paths(new), "an edit makes no files and removes none");
    let mut files = Vec::new();
    for (was, is) in old.parts().iter().zip(new.parts()).filter(|(was, _)| !was.path.ends_with('/')) {
        let path = folder.join(&was.path);
        let present = std::fs::read(&path).map_err(write_error)?;
        let (was, is) = (old.slice(was.span), new.slice(is.span));
        if present != was.as_bytes() {
            let present = String::from_utf8_lossy(&present);
            let by = turn.author(&present);
            return Err(Error::Moved { path, by, expected: content(was), found: content(&present) });
        }
        if was != is {
            files.push(Replacement { path, old: was.to_owned(), new: is.to_owned() });
        }
    }
    intend(&turn, &Intent { files }).and_then(|()| finish(&turn)).map_err(write_error)?;
    turn.sign(new.text()).map_err(write_error)
}

/// Finishes an interrupted write to the plan of this directory.
pub(super) fn recover(folder: &Path) -> io::Result<()> {
    let folder = folder.canonicalize()?;
    finish(&Turn::at(&folder)?)
}

fn intend(turn: &Turn, intent: &Intent) -> io::Result<()> {
    let text = serde_json::to_vec(intent).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(turn.intent())?;
    file.write_all(&text)?;
    file.sync_all()
}

/// Replaces every intended file that is unchanged. One that changed since is left alone.
fn finish(turn: &Turn) -> io::Result<()> {
    let text = match std::fs::read(turn.intent()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    // A truncated record was never acted on.
    if let Ok(intent) = serde_json::from_slice::<Intent>(&text) {
        for Replacement { path, old, new } in intent.files {
            if std::fs::read(&path).is_ok_and(|present| present == old.as_bytes()) {
                file::put(&path, &new)?;
            }
        }
    }
    file::remove(&turn.intent())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "these tests play those who write without asking us")]
mod tests {
    use planwright_core::syntax::source::Edit;

    use super::super::plan_file::{FileText, ReadOptions, read};
    use super::*;
    use crate::scratch::Scratch;

    fn folder(name: &str) -> (Scratch, PathBuf) {
        let scratch = Scratch::new(name);
        let plan = scratch.path().join("plan");
        std::fs::create_dir_all(plan.join("tasks")).expect("a folder");
        std::fs::write(plan.join("plan.md"), "---\ntitle: T\n---\nWhy.\n").expect("written");
        std::fs::write(plan.join("tasks/01-a.md"), "---\nid: a\n---\nDo a.\n").expect("written");
        std::fs::write(plan.join("tasks/02-b.md"), "---\nid: b\n---\nDo b.\n").expect("written");
        (scratch, plan)
    }

    fn source(path: &Path) -> Source {
        match read(path, "plan", ReadOptions { bytes_max: 1 << 20, dialect: None }).expect("read") {
            FileText::Plan(source) => source,
            FileText::Unreadable(unreadable) => panic!("{}", unreadable.diagnostic.message),
        }
    }

    /// The plan with `Do` replaced by `Did` in every file.
    fn changed(old: &Source) -> Source {
        let places: Vec<usize> = old.text().match_indices("Do ").map(|(at, _)| at).collect();
        let span = |at| planwright_core::syntax::source::Span::new(at, at + 2);
        old.edited(&places.into_iter().map(|at| Edit::replace(span(at), "Did")).collect::<Vec<_>>())
    }

    // E-02: a directory is one plan; an edit writes the files that it changes and leaves the others alone.
    #[test]
    fn a_folder_is_read_and_saved_as_one_plan() {
        let (_scratch, path) = folder("save-folder");
        let untouched = path.join("plan.md").metadata().expect("there").modified().expect("a time");
        let old = source(&path);
        assert_eq!(
            old.parts().iter().map(|part| part.path.as_str()).collect::<Vec<_>>(),
            ["plan.md", "tasks/01-a.md", "tasks/02-b.md"]
        );
        replace_folder(&path, &old, &changed(&old)).expect("saved");
        assert_eq!(
            std::fs::read_to_string(path.join("tasks/02-b.md")).expect("read"),
            "---\nid: b\n---\nDid b.\n"
        );
        assert_eq!(path.join("plan.md").metadata().expect("there").modified().expect("a time"), untouched);
        let refused = replace_folder(&path, &old, &changed(&old)).expect_err("it moved");
        let words = refused.to_string();
        assert!(words.contains("01-a.md was changed by") && words.contains("expected content"), "{words}");
    }

    // C-07: a writer that dies between two files of a directory is helped out by whoever reads or writes next.
    #[test]
    fn a_folder_whose_writer_died_is_finished_by_the_next_reader() {
        let (_scratch, path) = folder("save-died");
        let real = path.canonicalize().expect("there");
        let turn = Turn::at(&real).expect("a turn");
        let replacement = |name: &str, old: &str, new: &str| Replacement {
            path: real.join(name),
            old: old.to_owned(),
            new: new.to_owned(),
        };
        let files = vec![
            replacement("tasks/01-a.md", "---\nid: a\n---\nDo a.\n", "one"),
            replacement("tasks/02-b.md", "---\nid: b\n---\nDo b.\n", "two"),
        ];
        intend(&turn, &Intent { files }).expect("noted");
        file::put(&real.join("tasks/01-a.md"), "one").expect("written");
        drop(turn);
        // Meanwhile somebody else wrote nothing: the second file is finished now.
        let text = source(&path);
        assert!(text.text().contains("one") && text.text().contains("two"), "{:?}", text.text());
        std::fs::write(path.join("tasks/02-b.md"), "theirs").expect("written");
        assert!(source(&path).text().contains("theirs"), "what is finished is not done again");
    }

    // D-02: a stale hash is an error that names the other writer and both states.
    #[test]
    fn who_moved_the_plan_is_named() {
        let scratch = Scratch::new("save-named");
        let path = scratch.path().join("PLAN.md");
        std::fs::write(&path, "one").expect("written");
        replace(&path, "one", "two").expect("replaced");
        let by_us = replace(&path, "one", "three").expect_err("it moved").to_string();
        assert!(by_us.contains(&format!("process {}", std::process::id())), "{by_us}");
        assert!(by_us.contains(&content("one")) && by_us.contains(&content("two")), "{by_us}");
        std::fs::write(&path, "by an editor").expect("written");
        let by_others = replace(&path, "two", "three").expect_err("it moved").to_string();
        assert!(by_others.contains("by something other than planwright"), "{by_others}");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "by an editor");
    }

    // P-07: a new plan never takes the place of one that is there.
    #[test]
    fn a_new_folder_is_made_whole_or_not_at_all() {
        let (_scratch, path) = folder("save-new");
        let text = source(&path).text().to_owned();
        let dialect = planwright_core::dialect::NATIVE;
        assert!(matches!(create_plan(&path, &text, dialect), Err(Error::Exists { .. })));
        let new = path.with_file_name("new");
        create_plan(&new, &text, dialect).expect("made");
        assert_eq!(source(&new).text(), text);
    }
}
