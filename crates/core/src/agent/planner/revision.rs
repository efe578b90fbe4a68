//! What the next version of a plan must satisfy: a new name, unchanged finished steps, and an actual
//! difference.

use std::collections::BTreeSet;

use crate::dialect::record;
use crate::plan::draft::{Draft, StepDraft, StepNumber};
use crate::plan::verified;
use crate::syntax::source::{Source, Span, Spanned};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionPlan {
    /// Also the name of its file.
    pub id: String,
    pub version: usize,
}

/// The version after the plan `name`: `auth` and `auth-v2` are followed by `auth-v2` and `auth-v3`.
pub fn next(name: &str, draft: &Draft) -> RevisionPlan {
    let said = |key: &str| draft.frontmatter.value(key).map(|value| value.value.clone());
    let id = said("id").unwrap_or_else(|| name.to_owned());
    // A version written by hand may be identified by its name alone.
    let named = id
        .rsplit_once("-v")
        .and_then(|(_, digits)| digits.parse().ok())
        .filter(|&version: &usize| version > 1);
    let version = said("version").and_then(|version| version.parse().ok()).or(named).unwrap_or(1);
    let id = record::next_id(&id, version, said("previousPlanId").as_deref());
    RevisionPlan { id, version: version.saturating_add(1) }
}

/// How a new version changes finished steps, one sentence each; they must stay as they are.
pub fn unkept(old: &Draft, finished: &BTreeSet<usize>, new: &Draft) -> Vec<String> {
    let (old_ids, new_ids) = (verified::ids(old), verified::ids(new));
    let (old_needs, new_needs) = (verified::needs(old, &old_ids), verified::needs(new, &new_ids));
    let mut faults = Vec::new();
    let mut last = None;
    for &place in finished.iter().filter(|&&place| place < old.steps.len()) {
        let (id, title) = (&old_ids[place], &old.steps[place].title.value);
        let named = format!("step {} `{id}` ({title}) is finished", place + 1);
        let Some(now) = new_ids.iter().position(|known| known == id) else {
            faults.push(format!("{named}, but missing: restore it unchanged"));
            continue;
        };
        let needs = |needs: &[usize], ids: &[String]| -> BTreeSet<String> {
            needs.iter().map(|&place| ids[place].clone()).collect()
        };
        let is_prefix = (0..=place).all(|before| finished.contains(&before));
        if is_prefix && now != place {
            faults.push(format!("{named}, but moved from position {} to {}", place + 1, now + 1));
        } else if last.is_some_and(|last| now < last) {
            faults.push(format!("{named}, but moved before a step that it followed"));
        }
        last = Some(now);
        if let Some(part) = difference(&old.steps[place], &new.steps[now]) {
            faults.push(format!("{named}, but its {part} changed: restore it word for word"));
        } else if needs(&old_needs[place], &old_ids) != needs(&new_needs[now], &new_ids) {
            faults.push(format!("{named}, but its needs changed"));
        }
    }
    faults
}

/// The first difference between two steps. Ignores numbers, marks and needs, which are compared elsewhere.
fn difference(old: &StepDraft, new: &StepDraft) -> Option<&'static str> {
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.trim().to_owned());
    let target = text(&old.target) != text(&new.target);
    let contract = old.contract != new.contract;
    let parts = [
        (old.title.value != new.title.value, "title"),
        (target, "target"),
        (text(&old.task) != text(&new.task), "task"),
        (contract, "contract"),
        (bare(old) != bare(new), "other fields"),
    ];
    parts.into_iter().find(|(differs, _)| *differs).map(|(_, part)| part)
}

/// A step without the fields that are compared elsewhere.
fn bare(step: &StepDraft) -> StepDraft {
    let nothing = Spanned::new(StepNumber::Counted(0), Span::default());
    StepDraft {
        number: nothing,
        marks: Vec::new(),
        needs: None,
        task: None,
        id: None,
        stray: Vec::new(),
        ..step.clone()
    }
}

/// Whether two texts have the same meaning, apart from states and marks; then the second isn't a new plan.
pub fn says_the_same(one: &Source, other: &Source) -> bool {
    let meaning = |source: &Source| {
        let mut draft = source.dialect().meaning(source);
        draft.frontmatter.entries.retain(|entry| !VERSION_KEYS.contains(&entry.key.value.as_str()));
        (draft.title, draft.context, draft.steps)
    };
    meaning(one) == meaning(other)
}

/// Keys that differ between versions.
const VERSION_KEYS: &[&str] = &["id", "version", "previousPlanId", "createdAt", "updatedAt", "status"];

/// An error without what differs on every occurrence: times, temporary directories, whitespace. Standalone
/// numbers stay: another exit code or a different number of failures is another error.
pub fn fingerprint(error: &str) -> String {
    let words = error.split_whitespace().map(|word| {
        if word.contains("/tmp/") {
            return "/".to_owned();
        }
        let is_number = word.trim_matches(|sign: char| sign.is_ascii_punctuation()).parse::<u64>().is_ok();
        match is_number {
            true => word.to_owned(),
            false => word.to_lowercase().chars().fold(String::new(), without_digits),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn without_digits(mut word: String, sign: char) -> String {
    match sign.is_ascii_digit() {
        true if word.ends_with('#') => {}
        true => word.push('#'),
        false => word.push(sign),
    }
    word
}
