//! Detects conflict copies that a sync service leaves when two devices write the same file. They are never plans and
//! never deleted, only reported.

/// The service that created a copy with this name; `None` for any name that a person gives to a plan.
///
/// The known families are detected by name alone: `PLAN (conflicted copy 2026-05-27) - Mac.md`, `PLAN [Conflict 2].md`,
/// `Copy of PLAN.md` and `PLAN (1).md`. A number after a blank counts only after the name of a plan or its progress
/// file: plan names have no blanks, other files' names may.
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

/// The original of a copy by its name: `copy of plan` or `copy (2) of plan`.
fn copied(stem: &str) -> Option<&str> {
    let (count, original) = stem.strip_prefix("copy ")?.split_once("of ")?;
    let count = count.trim();
    let is_count = count.is_empty() || bracketed(count, '(', ')').any(is_small_number);
    is_count.then_some(original)
}

/// Whether a file stem is that of a plan or its progress file, or was one before it was copied.
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

/// The texts in brackets.
fn bracketed(text: &str, open: char, close: char) -> impl Iterator<Item = &str> {
    text.split(open).skip(1).filter_map(move |behind| Some(behind.split_once(close)?.0))
}
