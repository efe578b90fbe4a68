//! What the next version of a plan owes the one before: another name, the finished steps, and something different.

use std::collections::BTreeSet;

use crate::dialect::record;
use crate::plan::draft::{Draft, StepDraft, StepNumber};
use crate::plan::verified;
use crate::syntax::source::{Source, Span, Spanned};

/// How the next version of a plan is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// Its id, which is also the name of its file.
    pub id: String,
    pub version: usize,
}

/// How the version behind the plan `name` is called: `auth` and `auth-v2` are followed by `auth-v2` and `auth-v3`.
pub fn next(name: &str, draft: &Draft) -> Next {
    let said = |key: &str| draft.frontmatter.value(key).map(|value| value.value.clone());
    let id = said("id").unwrap_or_else(|| name.to_owned());
    // A version that somebody wrote by hand may say so in its name alone.
    let named = id
        .rsplit_once("-v")
        .and_then(|(_, digits)| digits.parse().ok())
        .filter(|&version: &usize| version > 1);
    let version = said("version").and_then(|version| version.parse().ok()).or(named).unwrap_or(1);
    let id = record::next_id(&id, version, said("previousPlanId").as_deref());
    Next { id, version: version.saturating_add(1) }
}

/// What a new version does to finished steps, a sentence each: they must stay what they were.
pub fn unkept(old: &Draft, finished: &BTreeSet<usize>, new: &Draft) -> Vec<String> {
    let (old_ids, new_ids) = (verified::ids(old), verified::ids(new));
    let (old_needs, new_needs) = (verified::needs(old, &old_ids), verified::needs(new, &new_ids));
    let mut faults = Vec::new();
    let mut last = None;
    for &place in finished.iter().filter(|&&place| place < old.steps.len()) {
        let (id, title) = (&old_ids[place], &old.steps[place].title.value);
        let named = format!("step {} `{id}` ({title}) is finished", place + 1);
        let Some(now) = new_ids.iter().position(|known| known == id) else {
            faults.push(format!("{named} and is missing: put it back as it was"));
            continue;
        };
        let needs = |needs: &[usize], ids: &[String]| -> BTreeSet<String> {
            needs.iter().map(|&place| ids[place].clone()).collect()
        };
        let is_prefix = (0..=place).all(|before| finished.contains(&before));
        if is_prefix && now != place {
            faults.push(format!("{named} and stood at place {}; now it stands at {}", place + 1, now + 1));
        } else if last.is_some_and(|last| now < last) {
            faults.push(format!("{named} and stands in front of one that it stood behind"));
        }
        last = Some(now);
        if let Some(part) = difference(&old.steps[place], &new.steps[now]) {
            faults.push(format!("{named} and its {part} has changed: it must stay word for word"));
        } else if needs(&old_needs[place], &old_ids) != needs(&new_needs[now], &new_ids) {
            faults.push(format!("{named} and waits for other steps than before"));
        }
    }
    faults
}

/// What is different between two steps, in a word. Numbers, marks and needs are told elsewhere.
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

/// A step without what is compared in another way.
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

/// Whether two texts say the same, states and marks left out: then the second one is no new plan.
pub fn says_the_same(one: &Source, other: &Source) -> bool {
    let meaning = |source: &Source| {
        let mut draft = source.dialect().meaning(source);
        draft.frontmatter.entries.retain(|entry| !VERSION_KEYS.contains(&entry.key.value.as_str()));
        (draft.title, draft.context, draft.steps)
    };
    meaning(one) == meaning(other)
}

/// What tells one version from another.
const VERSION_KEYS: &[&str] = &["id", "version", "previousPlanId", "createdAt", "updatedAt", "status"];

/// An error without what differs each time that the same thing goes wrong: times, throw-away folders, blanks. Numbers that stand
/// alone stay: another exit code, or fewer failures, is another error.
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
