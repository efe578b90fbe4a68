//! Files that a sync service leaves where two devices wrote the same one: never plans, never deleted, only told of.

/// The service that left a file of this name behind; `None` for any name that a person gives to a plan.
///
/// Document D's families are told by name alone: `PLAN (conflicted copy 2026-05-27) - Mac.md`, `PLAN [Conflict 2].md`,
/// `Copy of PLAN.md` and `PLAN (1).md`. A number behind a blank is one only behind the name of a plan or its progress: the
/// names of plans have no blanks, those of other files may.
pub fn conflict_copy(file_name: &str) -> Option<&'static str> {
    let name = file_name.to_lowercase();
    let stem = name.strip_suffix(".md").unwrap_or(&name);
    if bracketed(stem, '(', ')').any(|inner| inner.contains("conflicted copy")) {
        return Some("Google Drive or Dropbox");
    }
    if bracketed(stem, '[', ']').any(|inner| inner == "conflict" || numbered_behind(inner, "conflict ")) {
        return Some("Google Drive");
    }
    if stem.contains(".sync-conflict-") {
        return Some("Syncthing");
    }
    if let Some(mut original) = copied(stem) {
        while let Some(before) = copied(original) {
            original = before;
        }
        return is_of_plan(original).then_some("Google Drive");
    }
    let (own, tail) = stem.split_at(stem.find([' ', '('])?);
    if !is_of_plan(own) {
        return None;
    }
    let tail = tail.trim_start();
    if bracketed(tail, '(', ')').any(is_small_number) && tail.starts_with('(') && tail.ends_with(')') {
        return Some("Google Drive");
    }
    if tail == "- copy" || numbered_behind(tail.trim_end_matches(')'), "- copy (") {
        return Some("OneDrive");
    }
    is_small_number(tail).then_some("iCloud")
}

/// What a file was copied from by its name: `copy of plan` or `copy (2) of plan`.
fn copied(stem: &str) -> Option<&str> {
    let (count, original) = stem.strip_prefix("copy ")?.split_once("of ")?;
    let count = count.trim();
    let is_count = count.is_empty() || bracketed(count, '(', ')').any(is_small_number);
    is_count.then_some(original)
}

/// Whether a file without its ending is a plan or its progress, or was one before a copy was made.
fn is_of_plan(stem: &str) -> bool {
    let stem = stem.strip_suffix(".md").unwrap_or(stem);
    let own = stem.split(' ').next().unwrap_or_default();
    ["plan", "progress"].iter().any(|name| own == *name || own.starts_with(&format!("{name}-")))
}

fn numbered_behind(text: &str, start: &str) -> bool {
    text.strip_prefix(start).is_some_and(is_small_number)
}

/// A count of copies; longer numbers are years.
fn is_small_number(text: &str) -> bool {
    (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What stands in brackets.
fn bracketed(text: &str, open: char, close: char) -> impl Iterator<Item = &str> {
    text.split(open).skip(1).filter_map(move |behind| Some(behind.split_once(close)?.0))
}
