//! The meaning of a draft as facts, and what a merged one must contain. Checks the merge of texts: a merged text with
//! any other meaning is not a clean merge.

use std::collections::BTreeMap;

use super::claim;
use super::sequence;
use super::unit::UnitKind;
use crate::dialect::NATIVE;
use crate::plan::draft::{Draft, DraftField, FieldValue, Mark, StepDraft};
use crate::plan::verified;
use crate::syntax::source::{Source, texts};

/// One fact of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MergeCheck {
    Line(String),
    Text(String),
    List(Vec<String>),
    /// Claims about a step.
    Claims(Vec<Mark>),
}

/// The key of a fact: the name of a step or nothing, and what it is about.
type Place = (String, String);

/// All facts of a draft except those that planwright writes.
pub(super) fn facts(source: &Source, draft: &Draft, names: &[String]) -> BTreeMap<Place, MergeCheck> {
    let mut facts = BTreeMap::new();
    let mut say = |about: &str, fact: MergeCheck| {
        facts.insert((String::new(), about.to_owned()), fact);
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &draft.frontmatter.entries {
        let key = entry.key.value.as_str();
        let count = counts.entry(key).or_default();
        *count += 1;
        if !source.dialect().owned.contains(&key) {
            let value = entry.value.as_ref().map_or("(more)", |value| value.value.as_str());
            say(&format!("key {key} {count}"), MergeCheck::Line(value.to_owned()));
        }
    }
    let prose = [
        ("title", &draft.title),
        ("context", &draft.context),
        ("priority", &draft.priority),
        ("budget", &draft.budget),
    ];
    for (about, text) in prose {
        if let Some(text) = text {
            say(about, MergeCheck::Text(text.value.clone()));
        }
    }
    say("notes", MergeCheck::List(texts(&draft.notes)));
    let ids = verified::ids(draft);
    for (step, name) in draft.steps.iter().zip(names) {
        for (about, fact) in step_facts(step, |need| resolved(draft, &ids, names, need)) {
            facts.insert((name.clone(), about.to_owned()), fact);
        }
    }
    facts
}

/// The name of the step that a need refers to, or the need as written.
fn resolved(draft: &Draft, ids: &[String], names: &[String], need: &str) -> String {
    verified::find_step(draft, ids, need)
        .map_or_else(|| format!("unknown {need}"), |place| names[place].clone())
}

fn step_facts(step: &StepDraft, resolve: impl Fn(&str) -> String) -> Vec<(&'static str, MergeCheck)> {
    let contract = step.contract.clone().unwrap_or_default();
    let others = [
        ("marks", Some(MergeCheck::Claims(step.marks.iter().map(|mark| mark.value).collect()))),
        ("title", Some(MergeCheck::Line(step.title.value.clone()))),
        ("manual", contract.is_manual.then(|| MergeCheck::Line(String::new()))),
        ("language", contract.language.map(|language| MergeCheck::Line(language.value))),
        ("stray", Some(MergeCheck::List(texts(&step.stray)))),
    ];
    // The native dialect has all fields.
    let fields = NATIVE.fields.iter().map(|&(field, names)| {
        let fact = match step.value(field) {
            FieldValue::Line(text) if field == DraftField::Task => {
                text.map(|text| MergeCheck::Text(text.value.clone()))
            }
            FieldValue::Line(line) => line.map(|line| MergeCheck::Line(line.value.clone())),
            FieldValue::Command(command) => command.map(|command| MergeCheck::Line(command.value.clone())),
            FieldValue::List(needs) if field == DraftField::Needs => {
                needs.map(|needs| MergeCheck::List(needs.iter().map(|need| resolve(&need.value)).collect()))
            }
            FieldValue::List(list) if field == DraftField::Touches => {
                list.map(|list| MergeCheck::List(texts(list)))
            }
            FieldValue::List(list) => Some(MergeCheck::List(texts(list.unwrap_or_default()))),
        };
        (names[0], fact)
    });
    others.into_iter().chain(fields).filter_map(|(about, fact)| Some((about, fact?))).collect()
}

/// Whether the merged facts are those of the base with the changes of both sides.
pub(super) fn are_merged(
    [base, ours, theirs]: [&BTreeMap<Place, MergeCheck>; 3],
    merged: &BTreeMap<Place, MergeCheck>,
) -> bool {
    let mut places: Vec<&Place> = [base, ours, theirs, merged].into_iter().flat_map(BTreeMap::keys).collect();
    places.sort();
    places.dedup();
    places.into_iter().all(|place| {
        let [base, ours, theirs, merged] = [base, ours, theirs, merged].map(|facts| facts.get(place));
        if ours == theirs || theirs == base {
            merged == ours
        } else if ours == base {
            merged == theirs
        } else {
            is_union([base, ours, theirs], merged)
        }
    })
}

/// Whether a fact that both sides changed agrees with both.
fn is_union([base, ours, theirs]: [Option<&MergeCheck>; 3], merged: Option<&MergeCheck>) -> bool {
    match (ours, theirs, merged) {
        (Some(MergeCheck::Text(ours)), Some(MergeCheck::Text(theirs)), Some(MergeCheck::Text(merged))) => {
            let base = match base {
                Some(MergeCheck::Text(base)) => format!("{base}\n"),
                Some(MergeCheck::Line(_) | MergeCheck::List(_) | MergeCheck::Claims(_)) | None => {
                    String::new()
                }
            };
            let union = sequence::settled_lines(&base, &format!("{ours}\n"), &format!("{theirs}\n"));
            union.is_some_and(|union| union == format!("{merged}\n"))
        }
        (Some(MergeCheck::List(ours)), Some(MergeCheck::List(theirs)), Some(MergeCheck::List(merged))) => {
            let none = Vec::new();
            let base = match base {
                Some(MergeCheck::List(base)) => base,
                Some(MergeCheck::Line(_) | MergeCheck::Text(_) | MergeCheck::Claims(_)) | None => &none,
            };
            has_changes_of(base, ours, merged) && has_changes_of(base, theirs, merged)
        }
        (
            Some(MergeCheck::Claims(ours)),
            Some(MergeCheck::Claims(theirs)),
            Some(MergeCheck::Claims(merged)),
        ) => match (ours.as_slice(), theirs.as_slice()) {
            (&[ours], &[theirs]) => {
                let (ours, theirs) = (UnitKind::Claim(Some(ours)), UnitKind::Claim(Some(theirs)));
                let settled = claim(&ours, &theirs);
                settled.is_some_and(|settled| UnitKind::Claim(merged.first().copied()) == *settled)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether a list has what a side added, has not what it took away, and keeps the order of both.
fn has_changes_of(base: &[String], side: &[String], merged: &[String]) -> bool {
    let count = |list: &[String], item: &String| list.iter().filter(|other| *other == item).count();
    let is_there = side.iter().all(|item| count(side, item) <= count(base, item) || merged.contains(item));
    let is_gone = base.iter().all(|item| side.contains(item) || !merged.contains(item));
    is_there && is_gone
}
