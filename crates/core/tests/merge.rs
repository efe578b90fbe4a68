//! The merge of plan files: thousands of pairs of edits, made on two branches. No edit is lost, edits to different things do
//! not conflict, edits of one thing do, and it does not matter which branch is ours.

#[path = "merge/deed.rs"]
mod deed;

use deed::{Deed, Dice, Expected};
use planwright_core::draft::Draft;
use planwright_core::merge::{self, Merged};
use planwright_core::source::Source;

/// How many pairs of edits are tried.
const PAIRS: u64 = 10_000;

type Merge = fn(&Source, &Source, &Source) -> Merged;

/// What one pair came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    both: usize,
    conflicts: usize,
    either: usize,
    skipped: usize,
}

fn meant(source: &Source) -> Draft {
    let mut draft = source.draft();
    draft.state = None;
    draft.frontmatter.entries.retain(|entry| !source.dialect().owned.contains(&entry.key.value.as_str()));
    draft
}

/// Checks the merge of one pair of edits; says what is wrong with it.
fn check(merge: Merge, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let dice = &mut Dice::new(seed);
    let (base, steps) = deed::plan(dice);
    let ours = Deed::random(dice, steps);
    let theirs = match (dice.roll(3), ours.otherwise()) {
        (0, Some(otherwise)) => otherwise,
        _ => Deed::random(dice, steps),
    };
    let (Some(our_plan), Some(their_plan)) = (ours.done(&base), theirs.done(&base)) else {
        tally.skipped += 1;
        return Ok(());
    };
    let merged = merge(&base, &our_plan, &their_plan);
    let swapped = merge(&base, &their_plan, &our_plan);
    let fault = |what: &str| {
        Err(format!(
            "seed {seed}: {what}\nours: {ours:?}, theirs: {theirs:?}\nBASE\n{}\nMERGED\n{}\nSWAPPED\n{}",
            base.text(),
            merged.text,
            swapped.text
        ))
    };
    if merged.conflicts != swapped.conflicts {
        return fault("it matters who is ours");
    }
    if merged.conflicts == 0 && merged.text != swapped.text {
        return fault("the text depends on who is ours");
    }
    let has_both = || {
        let result = base.with(merged.text.as_str());
        let meaning = meant(&result);
        let mut in_turn = [(&our_plan, &theirs), (&their_plan, &ours)].into_iter();
        in_turn.any(|(plan, deed)| deed.done(plan).is_some_and(|plan| meant(&plan) == meaning))
    };
    let shows_both = || {
        // The numbers of the steps are those of the merged plan.
        let numberless = |line: &str| match line.split_once(". ") {
            Some((heading, title)) if heading.starts_with("### ") => title.to_owned(),
            _ => line.to_owned(),
        };
        let lines = |text: &str| text.lines().map(numberless).collect::<Vec<_>>();
        let (old, now) = (lines(base.text()), lines(&merged.text));
        let is_shown =
            |plan: &Source| lines(plan.text()).iter().all(|line| old.contains(line) || now.contains(line));
        is_shown(&our_plan) && is_shown(&their_plan)
    };
    match ours.beside(&theirs) {
        Expected::Both => {
            tally.both += 1;
            match (merged.conflicts, has_both()) {
                (0, true) => Ok(()),
                (0, false) => fault("an edit is lost"),
                _ => fault("a false conflict"),
            }
        }
        Expected::Conflict => {
            tally.conflicts += 1;
            match (merged.conflicts, shows_both()) {
                (0, _) => fault("a conflict was not seen"),
                (_, true) => Ok(()),
                (_, false) => fault("a conflict does not show both texts"),
            }
        }
        Expected::Either => {
            tally.either += 1;
            Ok(())
        }
    }
}

// M-11, P-05: no lost edit, no false conflict, commutative.
#[test]
fn thousands_of_pairs_of_edits_merge_by_what_they_say() {
    let mut tally = Tally::default();
    let faults: Vec<String> =
        (0..PAIRS).filter_map(|seed| check(merge::merge, seed, &mut tally).err()).collect();
    assert!(faults.is_empty(), "{} faults, {tally:?}; the first:\n{}", faults.len(), faults[0]);
    assert!(tally.both > 4_000 && tally.conflicts > 1_000, "{tally:?}");
}

/// The twin: merges that are wrong are caught by the same checks.
#[test]
fn a_merge_that_takes_a_side_is_caught() {
    let takes_ours: Merge = |_, ours, _| Merged { text: ours.text().to_owned(), conflicts: 0 };
    let takes_base: Merge = |base, _, _| Merged { text: base.text().to_owned(), conflicts: 0 };
    let gives_up: Merge =
        |_, ours, theirs| Merged { text: format!("{}{}", ours.text(), theirs.text()), conflicts: 1 };
    for merge in [takes_ours, takes_base, gives_up] {
        let mut tally = Tally::default();
        let faults = (0..200).filter(|&seed| check(merge, seed, &mut tally).is_err()).count();
        assert!(faults > 50, "{faults} of 200 were seen: {tally:?}");
    }
}
