//! The merge of plan files: thousands of pairs of edits, made on two branches. No edit is lost, edits to different things do
//! not conflict, edits of one thing do, and it does not matter which branch is ours.

#[path = "merge/deed.rs"]
mod deed;
#[path = "dialects/directory.rs"]
#[expect(dead_code, reason = "only its samples are wanted here")]
mod directory;
#[path = "dialects/native.rs"]
mod native;
#[path = "dialects/record.rs"]
mod record;

use deed::{Deed, Dice, Expected};
use planwright_core::change::Change;
use planwright_core::draft::Draft;
use planwright_core::merge::{self, Merged};
use planwright_core::source::{Edit, Source};
use planwright_core::state::State;

/// How many plans are made, and how many pairs of edits are tried on each: 10,000 pairs in all, in four tests that run side by
/// side.
const PLANS: u64 = 200;
const PAIRS: usize = 50;
const DEEDS: usize = 14;

type Merge = fn(&Source, &Source, &Source) -> Merged;

/// What pairs came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    both: usize,
    conflicts: usize,
    either: usize,
}

fn meant(source: &Source) -> Draft {
    let mut draft = source.draft();
    draft.state = None;
    draft.frontmatter.entries.retain(|entry| !source.dialect().owned.contains(&entry.key.value.as_str()));
    draft
}

/// A plan and what becomes of it on several branches.
struct Branches {
    base: Source,
    deeds: Vec<(Deed, Source)>,
}

impl Branches {
    fn new(dice: &mut Dice) -> Self {
        let (base, steps) = deed::plan(dice);
        let mut deeds: Vec<(Deed, Source)> = Vec::new();
        while deeds.len() < DEEDS {
            let deed = Deed::random(dice, steps);
            let otherwise = deed.otherwise().filter(|_| dice.roll(2) == 0);
            for deed in [Some(deed), otherwise].into_iter().flatten() {
                deeds.extend(deed.done(&base).map(|plan| (deed, plan)));
            }
        }
        Self { base, deeds }
    }
}

/// Checks the merge of one pair of edits; says what is wrong with it.
fn check(merge: Merge, base: &Source, pair: [&(Deed, Source); 2], tally: &mut Tally) -> Result<(), String> {
    let [(ours, our_plan), (theirs, their_plan)] = pair;
    let merged = merge(base, our_plan, their_plan);
    let swapped = merge(base, their_plan, our_plan);
    let fault = |what: &str| {
        let texts = [base.text(), &merged.text, &swapped.text].join("\n--------\n");
        Err(format!("{what}: {ours:?}, {theirs:?}\n{texts}"))
    };
    if merged.conflicts != swapped.conflicts {
        return fault("it matters who is ours");
    }
    if merged.conflicts == 0 && merged.text != swapped.text {
        return fault("the text depends on who is ours");
    }
    let has_both = || {
        let meaning = meant(&base.with(merged.text.as_str()));
        let mut in_turn = [(our_plan, theirs), (their_plan, ours)].into_iter();
        in_turn.any(|(plan, deed)| deed.done(plan).is_some_and(|plan| meant(&plan) == meaning))
    };
    match ours.beside(theirs) {
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
            match (merged.conflicts, shows_both(base, [our_plan, their_plan], &merged.text)) {
                (0, _) => fault("a conflict was not seen"),
                (_, true) => Ok(()),
                (_, false) => fault("a conflict does not show both texts"),
            }
        }
        Expected::Either => {
            tally.either += 1;
            let is_whole = merged.conflicts > 0 || shows_both(base, [our_plan, their_plan], &merged.text);
            if is_whole || matches!(ours, Deed::Remove(_)) || matches!(theirs, Deed::Remove(_)) {
                return Ok(());
            }
            fault("a line is lost")
        }
    }
}

/// Whether every line that a side added is there. The numbers of the steps are those of the merged plan.
fn shows_both(base: &Source, sides: [&Source; 2], merged: &str) -> bool {
    let numberless = |line: &str| match line.split_once(". ") {
        Some((heading, title)) if heading.starts_with("### ") => title.to_owned(),
        _ if line.starts_with("**needs:**") => String::new(),
        _ => line.to_owned(),
    };
    let lines = |text: &str| text.lines().map(numberless).collect::<Vec<_>>();
    let (old, now) = (lines(base.text()), lines(merged));
    sides.iter().all(|side| lines(side.text()).iter().all(|line| old.contains(line) || now.contains(line)))
}

fn faults(merge: Merge, seeds: std::ops::Range<u64>) -> (Vec<String>, Tally) {
    let (mut faults, mut tally) = (Vec::new(), Tally::default());
    for seed in seeds {
        let dice = &mut Dice::new(seed);
        let Branches { base, deeds } = Branches::new(dice);
        for _ in 0..PAIRS {
            let pair = [&deeds[dice.roll(deeds.len())], &deeds[dice.roll(deeds.len())]];
            let checked = check(merge, &base, pair, &mut tally);
            faults.extend(checked.err().map(|fault| format!("plan {seed}: {fault}")));
        }
    }
    (faults, tally)
}

#[track_caller]
fn no_faults(quarter: u64) {
    let (faults, tally) = faults(merge::merge, quarter * PLANS / 4..(quarter + 1) * PLANS / 4);
    assert!(faults.is_empty(), "{} faults, {tally:?}; the first:\n{}", faults.len(), faults[0]);
    assert!(tally.both > 1_000 && tally.conflicts > 100, "{tally:?}");
}

// M-11, P-05: no lost edit, no false conflict, commutative.
#[test]
fn pairs_of_edits_merge_by_what_they_say() {
    no_faults(0);
}

#[test]
fn pairs_of_edits_merge_by_what_they_say_2() {
    no_faults(1);
}

#[test]
fn pairs_of_edits_merge_by_what_they_say_3() {
    no_faults(2);
}

#[test]
fn pairs_of_edits_merge_by_what_they_say_4() {
    no_faults(3);
}

/// The twin: merges that are wrong are caught by the same checks.
#[test]
fn a_merge_that_takes_a_side_is_caught() {
    let takes_ours: Merge = |_, ours, _| Merged { text: ours.text().to_owned(), conflicts: 0 };
    let takes_base: Merge = |base, _, _| Merged { text: base.text().to_owned(), conflicts: 0 };
    let gives_up: Merge =
        |_, ours, theirs| Merged { text: format!("{}{}", ours.text(), theirs.text()), conflicts: 1 };
    for merge in [takes_ours, takes_base, gives_up] {
        let (faults, tally) = faults(merge, 0..4);
        assert!(faults.len() > 50, "{} of 200 were seen: {tally:?}", faults.len());
    }
}

fn samples() -> Vec<Source> {
    [native::samples(), directory::samples(), record::samples()].into_iter().flatten().collect()
}

/// What can be done to a plan of any dialect, with what it is about.
fn edits(plan: &Source) -> Vec<(String, Source)> {
    let draft = plan.draft();
    let mut edits: Vec<(String, Source)> = Vec::new();
    let patched = |change: &Change| Some(plan.edited(&plan.dialect().patch(plan, change).ok()?));
    let word = |place: usize| ["amber", "birch", "cedar"][place % 3];
    for (place, step) in draft.steps.iter().enumerate() {
        let marked = plan.dialect().marks.iter().find(|mark| step.mark() != Some(**mark));
        let marked = marked.and_then(|&mark| patched(&Change::Mark { step: place, mark: Some(mark) }));
        edits.extend(marked.map(|plan| (format!("mark {place}"), plan)));
        let title = step.title.span;
        let is_literal = plan.slice(title) == step.title.value;
        let reworded = plan.edited(&[Edit::insert(title.end, format!(" {}", word(place)))]);
        if is_literal && reworded.draft().steps.len() == draft.steps.len() {
            edits.push((format!("title {place}"), reworded));
        }
    }
    let became = patched(&Change::Become { state: State::Running });
    edits.extend(became.map(|plan| ("state".to_owned(), plan)));
    let noted = patched(&Change::Note { text: "seen".to_owned() });
    edits.extend(noted.map(|plan| ("note".to_owned(), plan)));
    edits
}

// M-11: every dialect merges.
#[test]
fn edits_to_different_things_merge_in_every_dialect() {
    let mut count = 0;
    for base in samples() {
        let edits = edits(&base);
        for (place, (about, ours)) in edits.iter().enumerate() {
            for (other, theirs) in edits.iter().skip(place + 1).filter(|(other, _)| other != about).take(6) {
                let merged = merge::merge(&base, ours, theirs);
                let context = format!("{}: {about} and {other}\n{}", base.name(), merged.text);
                assert_eq!(merged, merge::merge(&base, theirs, ours), "{context}");
                assert_eq!(merged.conflicts, 0, "{context}");
                let (now, was) = (base.with(merged.text.as_str()).draft(), base.draft());
                for side in [ours.draft(), theirs.draft()] {
                    for (place, step) in side.steps.iter().enumerate() {
                        let (now, was) = (&now.steps[place], &was.steps[place]);
                        assert!(step.title == was.title || step.title == now.title, "{context}");
                        assert!(step.marks == was.marks || step.marks == now.marks, "{context}");
                    }
                    assert!(side.notes == was.notes || side.notes == now.notes, "{context}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count} pairs");
}

// M-11: edits of one thing conflict in every dialect, and the conflict shows both.
#[test]
fn two_titles_for_one_step_conflict_in_every_dialect() {
    for base in samples() {
        let titles = edits(&base).into_iter().filter(|(about, _)| about.starts_with("title"));
        for (about, ours) in titles {
            let theirs = ours.with(
                ours.text().replace("amber", "other").replace("birch", "other").replace("cedar", "other"),
            );
            let merged = merge::merge(&base, &ours, &theirs);
            let context = format!("{}: {about}\n{}", base.name(), merged.text);
            assert!(merged.conflicts > 0, "{context}");
            let added = |plan: &Source| {
                let new = plan.text().lines().find(|line| !base.text().contains(line)).map(str::to_owned);
                new.expect("a line that the base has not")
            };
            assert!(
                merged.text.contains(&added(&ours)) && merged.text.contains(&added(&theirs)),
                "{context}"
            );
        }
    }
}

// No input makes it panic, and what is no plan is merged by lines.
#[test]
fn broken_texts_merge_without_a_panic() {
    let dice = &mut Dice::new(7);
    for base in samples() {
        for _ in 0..12 {
            let mut broken = || {
                let text = base.text();
                let cut = text.floor_char_boundary(dice.roll(text.len() + 1));
                let end = text.floor_char_boundary(cut + dice.roll(40)).max(cut);
                let inserted =
                    ["", "---\n", "\u{1f600}", "\r\n", "- [ ", "```\n", "### 1. x\n"][dice.roll(7)];
                base.with(format!("{}{inserted}{}", &text[..cut], &text[end..]))
            };
            let (ours, theirs) = (broken(), broken());
            let (merged, swapped) =
                (merge::merge(&base, &ours, &theirs), merge::merge(&base, &theirs, &ours));
            assert_eq!(
                merged.conflicts,
                swapped.conflicts,
                "{}\n{}\n{}",
                base.name(),
                merged.text,
                swapped.text
            );
        }
    }
}

fn native(text: &str) -> Source {
    Source::new("plan.md", text)
}

const SMALL: &str =
    "---\ntype: plan\nstatus: draft\nowner: ada\n---\n# Plan\n\n### 1. One\n\n**task:**\nDo it.\n";

// P-02: two branches add a step each, with the same number.
#[test]
fn two_new_steps_with_one_number_are_both_kept_and_counted() {
    let with = |title: &str| native(&format!("{SMALL}\n### 2. {title}\n\n**task:**\nDo {title}.\n"));
    let merged = merge::merge(&native(SMALL), &with("Zwei"), &with("Deux"));
    assert_eq!(merged.conflicts, 0);
    assert!(
        merged.text.ends_with("### 2. Deux\n\n**task:**\nDo Deux.\n\n### 3. Zwei\n\n**task:**\nDo Zwei.\n"),
        "{}",
        merged.text
    );
}

// P-02: an id is given once.
#[test]
fn two_new_steps_with_one_id_conflict() {
    let with =
        |title: &str| native(&format!("{SMALL}\n### 2. {title}\n\n**id:** two\n**task:**\nDo {title}.\n"));
    let merged = merge::merge(&native(SMALL), &with("Zwei"), &with("Deux"));
    assert_eq!(merged.conflicts, 1, "{}", merged.text);
    assert!(merged.text.contains("Do Zwei.") && merged.text.contains("Do Deux."));
}

#[test]
fn of_two_states_the_one_further_along_holds() {
    let with = |word: &str| native(&SMALL.replace("draft", word));
    for (ours, theirs) in [("approved", "in-progress"), ("in-progress", "approved")] {
        let merged = merge::merge(&native(SMALL), &with(ours), &with(theirs));
        assert_eq!(merged, Merged { text: with("in-progress").text().to_owned(), conflicts: 0 });
    }
}

#[test]
fn a_step_that_is_done_for_one_and_failed_for_the_other_is_a_conflict() {
    let with = |mark: &str| native(&SMALL.replace("1. One", &format!("1. {mark} One")));
    let merged = merge::merge(&native(SMALL), &with("✅"), &with("❌"));
    assert_eq!(merged.conflicts, 1);
    let shown = "<<<<<<< ours\n### 1. ✅ One\n=======\n### 1. ❌ One\n>>>>>>> theirs\n";
    assert!(merged.text.contains(shown), "{}", merged.text);
}

#[test]
fn a_contract_is_never_half_ours_and_half_theirs() {
    let text = format!("{SMALL}\n**contract:**\n```shell\na\nb\nc\nd\ne\n```\n");
    let with = |old: &str, new: &str| native(&text.replace(old, new));
    let merged = merge::merge(&native(&text), &with("\na\n", "\nA\n"), &with("\ne\n", "\nE\n"));
    assert_eq!(merged.conflicts, 1, "{}", merged.text);
}

// The files of a folder come one by one: a task file alone is no plan of any dialect.
#[test]
fn a_file_of_a_folder_merges_alone() {
    let text = "---\ntitle: Middleware\nstatus: pending\ndepends_on: [01-x]\ntags: [a]\n---\n\n## Description\n\nText.\n\n## Notes\n\n- one\n";
    let source = |text: &str| Source::new("plans/auth/tasks/02-y.md", text).recognised(None);
    let ours = source(&text.replace("pending", "in_progress").replace("[a]", "[a, b]"));
    let theirs = source(
        &text.replace("Text.", "More text.").replace("[a]", "[a, c]").replace("- one\n", "- one\n- two\n"),
    );
    let merged = merge::merge(&source(text), &ours, &theirs);
    let expected = text
        .replace("pending", "in_progress")
        .replace("[a]", "[a, b, c]")
        .replace("Text.", "More text.")
        .replace("- one\n", "- one\n- two\n");
    assert_eq!(merged, Merged { text: expected, conflicts: 0 });
}

#[test]
fn line_endings_and_marks_of_an_editor_are_merged_too() {
    let crlf = native(&SMALL.replace('\n', "\r\n"));
    let ours = native(&crlf.text().replace("ada", "bob"));
    let theirs = native(&format!("\u{feff}{}", SMALL.replace("Do it.", "Do it now.")));
    let merged = merge::merge(&crlf, &ours, &theirs);
    let expected = format!("\u{feff}{}", SMALL.replace("ada", "bob").replace("Do it.", "Do it now."));
    assert_eq!(merged, Merged { text: expected, conflicts: 0 }, "they changed the endings");
}
