//! Matches steps across texts and names them in the merged text: numbers follow positions, needs follow the steps they
//! refer to.

use std::collections::BTreeMap;

use super::sequence;
use crate::plan::draft::{Draft, StepDraft, StepNumber};
use crate::plan::edit::number_at;
use crate::plan::verified;
use crate::syntax::source::{Edit, Source, Span, retain_disjoint};

/// Below this similarity of title, task and contract, steps are different.
const LIKENESS_MIN: f64 = 0.5;
/// The same for a step between the same two neighbors.
const LIKENESS_MIN_IN_PLACE: f64 = 0.2;
/// Longer texts are compared by lines only.
const TITLE_CHARS_MAX: usize = 200;
/// More pairs of steps than this are not compared.
const PAIRS_MAX: usize = 40_000;

/// The name of every step of the three texts: the same name for the same step.
pub(super) fn names(drafts: [&Draft; 3]) -> [Vec<String>; 3] {
    let [base, ours, theirs] = drafts;
    let by_us = pair(base, ours);
    let by_them = pair(base, theirs);
    let named = |pairs: &[Option<usize>], side: &str| -> Vec<String> {
        let name = |(place, pair): (usize, &Option<usize>)| match pair {
            Some(base) => format!("step:{base}"),
            None => format!("step:{side}{place}"),
        };
        pairs.iter().enumerate().map(name).collect()
    };
    let (our_names, mut their_names) = (named(&by_us, "ours"), named(&by_them, "theirs"));
    let mut is_taken = vec![false; our_names.len()];
    for (place, step) in theirs.steps.iter().enumerate().filter(|(place, _)| by_them[*place].is_none()) {
        let is_same = |other: &StepDraft| match (&step.id, &other.id) {
            (Some(left), Some(right)) => left == right,
            (None, None) => StepDraft { number: other.number.clone(), ..step.clone() } == *other,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let twin = (0..ours.steps.len())
            .find(|&other| by_us[other].is_none() && !is_taken[other] && is_same(&ours.steps[other]));
        if let Some(twin) = twin {
            is_taken[twin] = true;
            their_names[place].clone_from(&our_names[twin]);
        }
    }
    [(0..base.steps.len()).map(|place| format!("step:{place}")).collect(), our_names, their_names]
}

/// For every step of `side`, its counterpart in `base`: by id, title or content.
fn pair(base: &Draft, side: &Draft) -> Vec<Option<usize>> {
    let mut pairs: Vec<Option<usize>> = vec![None; side.steps.len()];
    let mut is_taken = vec![false; base.steps.len()];
    let id = |step: &StepDraft| step.id.as_ref().map(|id| id.value.clone());
    let title = |step: &StepDraft| Some(step.title.value.clone()).filter(|title| !title.is_empty());
    let same = |step: &StepDraft| title(step).map(|title| format!("{title}\n{}", said(step)));
    for key in [&id as &dyn Fn(&StepDraft) -> Option<String>, &same, &title] {
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, step) in base.steps.iter().enumerate().rev().filter(|(place, _)| !is_taken[*place]) {
            if let Some(key) = key(step) {
                places.entry(key).or_default().push(place);
            }
        }
        for (step, pair) in side.steps.iter().zip(&mut pairs).filter(|(_, pair)| pair.is_none()) {
            let found = key(step).and_then(|key| places.get_mut(&key)?.pop());
            if let Some(place) = found {
                (*pair, is_taken[place]) = (Some(place), true);
            }
        }
    }
    pair_alike(base, side, &mut pairs, &mut is_taken);
    pairs
}

/// Pairs the rest, most similar first.
fn pair_alike(base: &Draft, side: &Draft, pairs: &mut [Option<usize>], is_taken: &mut [bool]) {
    let left: Vec<usize> = (0..pairs.len()).filter(|&place| pairs[place].is_none()).collect();
    let free: Vec<usize> = (0..is_taken.len()).filter(|&place| !is_taken[place]).collect();
    if left.len().saturating_mul(free.len()) > PAIRS_MAX {
        return;
    }
    let neighbours = |place: usize| {
        let before = place.checked_sub(1).map(|before| pairs[before]);
        (before, pairs.get(place + 1).copied())
    };
    let mut likenesses: Vec<(f64, usize, usize)> = Vec::new();
    for &place in &left {
        for &other in &free {
            let beside = (
                other.checked_sub(1).map(Some),
                Some(Some(other + 1)).filter(|_| other + 1 < base.steps.len()),
            );
            let is_in_place = neighbours(place) == beside;
            let likeness = likeness(&base.steps[other], &side.steps[place]);
            let is_alike = likeness >= if is_in_place { LIKENESS_MIN_IN_PLACE } else { LIKENESS_MIN };
            if is_alike {
                likenesses.push((likeness, place, other));
            }
        }
    }
    likenesses
        .sort_by(|left, right| right.0.total_cmp(&left.0).then((left.1, left.2).cmp(&(right.1, right.2))));
    for (_, place, other) in likenesses {
        if pairs[place].is_none() && !is_taken[other] {
            (pairs[place], is_taken[other]) = (Some(other), true);
        }
    }
}

fn said(step: &StepDraft) -> String {
    let command = step.contract.as_ref().and_then(|contract| contract.command.as_ref());
    let task = step.task.as_ref().map_or("", |task| task.value.as_str());
    format!("{task}\n{}", command.map_or("", |command| command.value.as_str()))
}

/// The similarity of two steps from 0 to 1: titles, and lines of task and contract if any.
fn likeness(base: &StepDraft, side: &StepDraft) -> f64 {
    let short = |text: &str| text.chars().take(TITLE_CHARS_MAX).collect::<String>();
    let titles = strsim::normalized_levenshtein(&short(&base.title.value), &short(&side.title.value));
    let (old, new) = (said(base), said(side));
    if old.trim().is_empty() && new.trim().is_empty() {
        return titles;
    }
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (words(&old), words(&new));
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let words = 2.0 * sequence::common(&old, &new).len() as f64 / (old.len() + new.len()).max(1) as f64;
    f64::midpoint(titles, words).max(words * 0.9)
}

/// The numbers that steps have in the merged text, by their names.
pub(super) type Numbers = BTreeMap<String, u32>;

/// The three texts with these numbers, and with needs that name their steps as the merged text will; and what they say.
/// `None` if one would lose or gain a step by it.
pub(super) fn follow(
    texts: [(Source, Draft); 3],
    names: &[Vec<String>; 3],
    numbers: Option<&Numbers>,
) -> Option<[(Source, Draft); 3]> {
    let ids = ids(texts.each_ref().map(|(_, draft)| draft), names);
    let mut is_stable = true;
    let mut side = 0;
    let followed = texts.map(|(source, draft)| {
        let edits = followed(&source, &draft, &names[side], (numbers, &ids));
        side += 1;
        if edits.is_empty() {
            return (source, draft);
        }
        let edited = source.edited(&edits);
        let now = edited.draft();
        is_stable &= now.steps.len() == draft.steps.len();
        (edited, now)
    });
    is_stable.then_some(followed)
}

/// Whether the steps of a plan are counted by their place.
pub(super) fn are_counted(draft: &Draft) -> bool {
    draft.steps.iter().enumerate().all(|(place, step)| match step.number.value {
        StepNumber::Counted(number) => number == number_at(place),
        StepNumber::Template(_) => true,
    })
}

/// The number of every step, counted in this order.
pub(super) fn counted<'a>(order: impl IntoIterator<Item = &'a String>) -> Numbers {
    let mut numbers = Numbers::new();
    for name in order {
        let number = number_at(numbers.len());
        numbers.entry(name.clone()).or_insert(number);
    }
    numbers
}

/// The sort key of two steps that both sides put at the same position. Not the number, which depends on the order.
pub(super) fn rank(step: &StepDraft) -> String {
    format!("{}\n{}", step.title.value, said(step))
}

/// The id of every step in the merged text. A step that got two ids has none: needs that use one of them conflict too.
fn ids(drafts: [&Draft; 3], names: &[Vec<String>; 3]) -> BTreeMap<String, String> {
    let [base, ours, theirs] = std::array::from_fn(|side| {
        names[side].iter().cloned().zip(verified::ids(drafts[side])).collect::<BTreeMap<String, String>>()
    });
    let mut ids = base.clone();
    ids.extend(ours.iter().chain(&theirs).map(|(name, id)| (name.clone(), id.clone())));
    ids.retain(|name, id| {
        let [was, us, them] = [&base, &ours, &theirs].map(|side| side.get(name));
        let (us, them) = (us.filter(|&us| Some(us) != was), them.filter(|&them| Some(them) != was));
        match (us, them) {
            (Some(us), Some(them)) => us == them,
            (Some(one), None) | (None, Some(one)) => {
                id.clone_from(one);
                true
            }
            (None, None) => true,
        }
    });
    ids
}

fn followed(
    source: &Source,
    draft: &Draft,
    names: &[String],
    (numbers, ids): (Option<&BTreeMap<String, u32>>, &BTreeMap<String, String>),
) -> Vec<Edit> {
    let own_ids = verified::ids(draft);
    let mut edits: Vec<Edit> = Vec::new();
    let mut replace = |span: Span, text: String| {
        if source.slice(span) != text {
            edits.push(Edit::replace(span, text));
        }
    };
    for (step, name) in draft.steps.iter().zip(names) {
        if let (StepNumber::Counted(number), Some(now)) =
            (&step.number.value, numbers.and_then(|numbers| numbers.get(name)))
            && let Some(text) = renumbered(source.slice(step.number.span), *number, *now)
        {
            replace(step.number.span, text);
        }
        for need in step.needs.iter().flatten() {
            let Some(place) = verified::find_step(draft, &own_ids, &need.value) else { continue };
            let spelled = source.slice(need.span);
            if own_ids[place] == need.value && spelled == need.value {
                ids.get(&names[place]).into_iter().for_each(|id| replace(need.span, id.clone()));
            } else if let Some(now) = numbers.and_then(|numbers| numbers.get(&names[place]))
                && let StepNumber::Counted(number) = draft.steps[place].number.value
            {
                let signs = spelled.len() - spelled.trim_start_matches('#').len();
                if let Some(text) = renumbered(&spelled[signs..], number, *now) {
                    replace(need.span, format!("{}{text}", &spelled[..signs]));
                }
            }
        }
    }
    edits.sort_by_key(|edit| edit.span);
    retain_disjoint(&mut edits, |edit| edit.span);
    edits
}

/// How the text that says `number`, counted from 1 or from 0, says `now`.
fn renumbered(text: &str, number: u32, now: u32) -> Option<String> {
    let written: u32 = text.parse().ok().filter(|written: &u32| written.to_string() == text)?;
    match number.checked_sub(written)? {
        0 => Some(now.to_string()),
        1 => Some((now - 1).to_string()),
        _ => None,
    }
}
