//! Merges of plans of every dialect: edits to different things come together, edits of one thing conflict, and no text makes
//! it panic.

use planwright_core::dialect::merge;
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::syntax::source::{Edit, Source};

use super::samples;

/// Random numbers that are the same on every run.
struct Dice(usize);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What can be done to a plan of any dialect, with what it is about.
fn edits(plan: &Source) -> Vec<(String, Source)> {
    let draft = plan.draft();
    let mut edits: Vec<(String, Source)> = Vec::new();
    let patched = |change: &PlanEdit| Some(plan.edited(&plan.dialect().patch(plan, change).ok()?));
    let word = |place: usize| ["amber", "birch", "cedar"][place % 3];
    for (place, step) in draft.steps.iter().enumerate() {
        let marked = plan.dialect().marks.iter().find(|mark| step.mark() != Some(**mark));
        let marked = marked.and_then(|&mark| patched(&PlanEdit::Mark { step: place, mark: Some(mark) }));
        edits.extend(marked.map(|plan| (format!("mark {place}"), plan)));
        let title = step.title.span;
        let is_literal = plan.slice(title) == step.title.value;
        let reworded = plan.edited(&[Edit::insert(title.end, format!(" {}", word(place)))]);
        if is_literal && reworded.draft().steps.len() == draft.steps.len() {
            edits.push((format!("title {place}"), reworded));
        }
    }
    let became = patched(&PlanEdit::Become { state: PlanState::Running });
    edits.extend(became.map(|plan| ("state".to_owned(), plan)));
    let noted = patched(&PlanEdit::Note { text: "seen".to_owned() });
    edits.extend(noted.map(|plan| ("note".to_owned(), plan)));
    edits
}

/// Whether both edits change one line that holds a whole step: `- {index: 1, status: pending}`.
fn changes_same_line(base: &Source, ours: &Source, theirs: &Source) -> bool {
    let changed = |side: &Source| {
        let lines = base.text().lines().zip(side.text().lines());
        lines.map(|(was, is)| was != is && was.contains('{')).collect::<Vec<_>>()
    };
    changed(ours).iter().zip(changed(theirs)).any(|(ours, theirs)| *ours && theirs)
}

// M-11: every dialect merges.
#[test]
fn edits_to_different_things_merge_in_every_dialect() {
    let mut count = 0;
    for base in samples() {
        let edits = edits(&base);
        for (place, (about, ours)) in edits.iter().enumerate() {
            for (other, theirs) in edits.iter().skip(place + 1).filter(|(other, _)| other != about).take(6) {
                // A step that is written on one line is one thing.
                if changes_same_line(&base, ours, theirs) {
                    continue;
                }
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
                new.expect("a line that the base has not").trim_end_matches(',').to_owned()
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
    let dice = &mut Dice(7);
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
