//! The merge of plan files: thousands of pairs of edits, made on two branches. No edit is lost, edits to different things do
//! not conflict, edits of one thing do, and it does not matter which branch is ours.

#[path = "merge/deed.rs"]
mod deed;

use deed::{Deed, Dice, Expected};
use planwright_core::dialect::merge;
use planwright_core::dialect::merge::MergedText;
use planwright_core::plan::draft::Draft;
use planwright_core::syntax::source::Source;

use crate::sweep::is_whole;

/// How many plans are made, and how many pairs of edits are tried on each: 10,000 pairs in all, in four tests that run side by
/// side.
const PLANS: u64 = 200;
const PAIRS: usize = 50;
const DEEDS: usize = 14;

type Merge = fn(&Source, &Source, &Source) -> MergedText;

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
    let (first, last) = (quarter * PLANS / 4, (quarter + 1) * PLANS / 4);
    let last = if is_whole() { last } else { first + (last - first) / 4 };
    let (faults, tally) = faults(merge::merge, first..last);
    assert!(faults.is_empty(), "{} faults, {tally:?}; the first:\n{}", faults.len(), faults[0]);
    assert!(tally.both > 250 && tally.conflicts > 10, "{tally:?}");
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
    let takes_ours: Merge = |_, ours, _| MergedText { text: ours.text().to_owned(), conflicts: 0 };
    let takes_base: Merge = |base, _, _| MergedText { text: base.text().to_owned(), conflicts: 0 };
    let gives_up: Merge =
        |_, ours, theirs| MergedText { text: format!("{}{}", ours.text(), theirs.text()), conflicts: 1 };
    for merge in [takes_ours, takes_base, gives_up] {
        let (faults, tally) = faults(merge, 0..4);
        assert!(faults.len() > 50, "{} of 200 were seen: {tally:?}", faults.len());
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
        assert_eq!(merged, MergedText { text: with("in-progress").text().to_owned(), conflicts: 0 });
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
    assert_eq!(merged, MergedText { text: expected, conflicts: 0 });
}

#[test]
fn line_endings_and_marks_of_an_editor_are_merged_too() {
    let crlf = native(&SMALL.replace('\n', "\r\n"));
    let ours = native(&crlf.text().replace("ada", "bob"));
    let theirs = native(&format!("\u{feff}{}", SMALL.replace("Do it.", "Do it now.")));
    let merged = merge::merge(&crlf, &ours, &theirs);
    let expected = format!("\u{feff}{}", SMALL.replace("ada", "bob").replace("Do it.", "Do it now."));
    assert_eq!(merged, MergedText { text: expected, conflicts: 0 }, "they changed the endings");
}

// M-11: records in JSON, where a comma belongs to nobody.
#[test]
fn records_in_json_merge_entry_by_entry() {
    let step = |index: usize, title: &str, status: &str| {
        format!(
            "    {{\n      \"index\": {index},\n      \"description\": \"{title}\",\n      \"status\": \"{status}\"\n    }}"
        )
    };
    let record = |steps: &[String], tail: &str| {
        let text = format!(
            "{{\n  \"id\": \"plan-1\",\n  \"task\": \"T\",\n  \"status\": \"draft\",\n  \"version\": 1,\n  \"steps\": [\n{}\n  ]{tail}\n}}\n",
            steps.join(",\n")
        );
        Source::new(".rawko/plans/plan-1.json", text).recognised(None)
    };
    let one = || step(0, "One", "pending");
    let base = record(&[one()], "");
    assert_eq!(base.dialect().name, "record");
    let ours = record(&[step(0, "One", "complete"), step(1, "Ours", "pending")], ",\n  \"a\": 1");
    let theirs = record(&[step(0, "One thing", "pending"), step(1, "Theirs", "pending")], ",\n  \"b\": 2");
    let merged = merge::merge(&base, &ours, &theirs);
    let steps = [step(0, "One thing", "complete"), step(1, "Ours", "pending"), step(2, "Theirs", "pending")];
    let expected = record(&steps, ",\n  \"a\": 1,\n  \"b\": 2");
    assert_eq!(merged, MergedText { text: expected.text().to_owned(), conflicts: 0 }, "{}", merged.text);
    assert_eq!(merged, merge::merge(&base, &theirs, &ours));
}

// Nobody waits long for Git.
#[test]
fn a_plan_of_thousands_of_steps_is_merged() {
    let steps = |mark: &str| {
        let step = |number: usize| {
            format!(
                "### {number}. {}Step {number}\n\n**task:**\nDo {number}.\n\n",
                if number == 700 { mark } else { "" }
            )
        };
        (1..=5_000).map(step).collect::<String>()
    };
    let plan = |mark: &str, tail: &str| {
        native(&format!("---\ntype: plan\nstatus: draft\nowner: a\n---\n# P\n\n{}{tail}", steps(mark)))
    };
    let merged = merge::merge(&plan("", ""), &plan("✅ ", ""), &plan("", "## Notes\n\n- x\n"));
    assert_eq!(merged, MergedText { text: plan("✅ ", "## Notes\n\n- x\n").text().to_owned(), conflicts: 0 });
}
