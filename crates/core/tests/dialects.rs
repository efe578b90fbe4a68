//! One suite for every dialect: what is read and not changed stays as it is, a change touches only its bytes, states and marks
//! are spelled and read back, and a plan that was composed says what was meant. Each dialect brings its samples.

#[path = "dialects/directory.rs"]
mod directory;
#[path = "dialects/merge.rs"]
mod merge;
#[path = "dialects/named.rs"]
mod named;
#[path = "dialects/native.rs"]
mod native;
#[path = "dialects/proposal.rs"]
mod proposal;
#[path = "dialects/record.rs"]
mod record;

use planwright_core::dialect::{DIALECTS, NewPlan, detect};
use planwright_core::plan::draft::{Draft, StepNumber};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::syntax::source::{FILE_SEPARATOR, Source};

const NOW: &str = "2026-11-16T10:00:00Z";

/// Plans as their authors keep them: every dialect has some, its document's own examples among them.
fn samples() -> Vec<Source> {
    let all: Vec<Source> =
        [native::samples(), directory::samples(), proposal::samples(), record::samples(), named::samples()]
            .into_iter()
            .flatten()
            .collect();
    for dialect in DIALECTS {
        assert!(all.iter().any(|source| source.dialect() == *dialect), "{} has no sample", dialect.name);
    }
    all
}

/// The sample as other editors would have saved it: with CRLF, a byte order mark, without the last line ending.
fn variants(source: &Source) -> Vec<Source> {
    let each_file = |change: &dyn Fn(&str) -> String| {
        if !source.text().starts_with(FILE_SEPARATOR) {
            return source.with(change(source.text()));
        }
        let files: Vec<(&str, String)> =
            source.parts().iter().map(|part| (part.path.as_str(), change(source.slice(part.span)))).collect();
        source.with(Source::bundle(files.iter().map(|(path, text)| (*path, text.as_str()))))
    };
    vec![
        source.clone(),
        each_file(&|text| text.replace('\n', "\r\n")),
        each_file(&|text| format!("\u{feff}{text}")),
        each_file(&|text| text.trim_end_matches('\n').to_owned()),
    ]
}

fn all() -> impl Iterator<Item = Source> {
    samples().into_iter().flat_map(|source| variants(&source))
}

fn patched(source: &Source, change: &PlanEdit) -> Source {
    let edits = source.dialect().patch(source, change);
    source.edited(&edits.unwrap_or_else(|refusal| panic!("{}: {change:?}: {refusal}", source.name())))
}

/// The text without the lines that hold a key of the harness's own.
fn unowned(source: &Source) -> Vec<String> {
    let owned = source.dialect().owned;
    let is_owned = |line: &&str| {
        let key = line
            .trim_start_matches([' ', '-', '"', '*', '{', ','])
            .split([':', '"'])
            .next()
            .unwrap_or_default();
        owned.contains(&key)
    };
    source.text().lines().filter(|line| !is_owned(line)).map(str::to_owned).collect()
}

// M-10: the dialect is told by what the plan says and where it lies.
#[test]
fn every_sample_is_told_by_its_content_and_place() {
    for source in all() {
        let detected = detect(source.place(), source.text()).expect("it is told");
        assert_eq!(detected.dialect, source.dialect(), "{}: {}", source.place(), detected.because);
        assert!(!detected.because.is_empty());
    }
}

// M-10: however an editor saved it, a plan says the same and loses no step.
#[test]
fn line_endings_and_byte_order_marks_change_nothing_that_a_plan_says() {
    for source in samples() {
        let meant = source.draft();
        assert!(!meant.steps.is_empty(), "{} has no step", source.name());
        for variant in variants(&source) {
            let read = variant.draft();
            assert_eq!(read.steps.len(), meant.steps.len(), "{}", source.name());
            assert_eq!(read.title, meant.title, "{}", source.name());
            for (read, meant) in read.steps.iter().zip(&meant.steps) {
                assert_eq!(
                    (&read.title, &read.marks, &read.needs),
                    (&meant.title, &meant.marks, &meant.needs)
                );
            }
        }
    }
}

// M-10: a list shows the steps and marks that the whole plan has.
#[test]
fn a_skim_finds_what_a_list_shows() {
    for source in all() {
        let (skimmed, read) = ((source.dialect().skim)(&source), source.draft());
        let marks = |draft: &Draft| {
            draft.steps.iter().map(planwright_core::plan::draft::StepDraft::mark).collect::<Vec<_>>()
        };
        assert_eq!((&skimmed.title, skimmed.state, marks(&skimmed)), (&read.title, read.state, marks(&read)));
    }
}

// M-10: a mark changes nothing but what it says, and taking it away restores every byte.
#[test]
fn marks_are_spelled_read_back_and_taken_away() {
    for source in all() {
        let before = source.draft();
        for (step, draft) in before.steps.iter().enumerate() {
            for &mark in source.dialect().marks {
                let marked = patched(&source, &PlanEdit::Mark { step, mark: Some(mark) });
                assert_eq!(marked.draft().steps[step].mark(), Some(mark), "{}: step {step}", source.name());
                let again = patched(&marked, &PlanEdit::Mark { step, mark: Some(mark) });
                assert_eq!(again.text(), marked.text(), "a mark that is there is left alone");
                if draft.marks.is_empty() {
                    let cleared = patched(&marked, &PlanEdit::Mark { step, mark: None });
                    assert_eq!(cleared.draft(), before, "{}: step {step} {mark:?}", source.name());
                }
            }
        }
    }
}

// M-10: states map both ways without loss: every word of a dialect means a state that is spelled by this word.
#[test]
fn states_are_spelled_and_read_back() {
    for dialect in DIALECTS {
        for (word, state) in dialect.states {
            let first = dialect.states.iter().find(|(_, other)| other == state).map(|(word, _)| *word);
            assert_eq!((dialect.spell)(*state), first, "{}: {word}", dialect.name);
        }
        for state in PlanState::all() {
            let back = dialect.read_back(state);
            assert_eq!(back.and_then(|state| dialect.read_back(state)), back, "{}: {state}", dialect.name);
        }
    }
    for source in all() {
        for state in PlanState::all() {
            let became = patched(&source, &PlanEdit::Become { state });
            let said = became.draft().state.map(|state| state.value);
            let expected = source.dialect().read_back(state);
            assert!(said == expected || expected.is_none(), "{}: {state} is read as {said:?}", source.name());
            assert_eq!(unowned(&became), unowned(&source), "{}: {state}", source.name());
        }
    }
}

// M-10: what every write adds is nothing that the author says.
#[test]
fn a_touch_changes_only_what_the_harness_owns() {
    for source in all() {
        let touched = source.dialect().touched(&source, NOW);
        assert_eq!(
            source.dialect().meaning(&touched),
            source.dialect().meaning(&source),
            "{}",
            source.name()
        );
        assert_eq!(unowned(&touched), unowned(&source), "{}", source.name());
    }
}

// P-07: what a dialect composes it reads as it was meant, and any dialect can take over what another one says.
#[test]
fn a_composed_plan_has_every_step_of_the_original() {
    let birth = NewPlan { id: "PLAN-a1b2c3d4", now: NOW };
    for source in samples() {
        let draft = source.draft();
        for dialect in DIALECTS {
            let composed = Source::new("composed", dialect.compose(&draft, &birth)).written_in(dialect);
            let read = composed.draft();
            let titles =
                |draft: &Draft| draft.steps.iter().map(|step| step.title.value.clone()).collect::<Vec<_>>();
            assert_eq!(
                titles(&read),
                titles(&draft),
                "{} as {}:\n{}",
                source.name(),
                dialect.name,
                composed.text()
            );
            assert_eq!(
                waits(&read),
                waits(&draft),
                "{} as {}:\n{}",
                source.name(),
                dialect.name,
                composed.text()
            );
        }
    }
}

/// Which step waits for which, by place.
fn waits(draft: &Draft) -> Vec<Vec<usize>> {
    let graph = planwright_core::plan::view::graph(draft);
    (0..draft.steps.len()).map(|step| graph.needs(step).to_vec()).collect()
}

/// A dialect must not hide a step that it can't number.
#[test]
fn every_step_has_a_number_and_a_place() {
    for source in all() {
        for step in &source.draft().steps {
            assert!(matches!(step.number.value, StepNumber::Counted(_) | StepNumber::Template(_)));
            assert!(step.whole.0.covers(step.heading.0), "{}: {:?}", source.name(), step.title.value);
            assert!(step.whole.0.end <= source.text().len());
        }
    }
}

/// The twin: a dialect whose edit also changes something else is refused.
#[test]
fn an_edit_that_says_more_than_was_asked_for_is_refused() {
    let source = Source::new(
        "plan.md",
        "---\ntype: plan\nstatus: draft\nowner: a\n---\n# T\n\n### 1. A\n**task:** x\n",
    );
    let clash = PlanEdit::Note { text: "x".to_owned() };
    assert!(source.dialect().patch(&source, &clash).is_ok());
    let two_lines = PlanEdit::Note { text: "x\n### 2. B".to_owned() };
    assert!(source.dialect().patch(&source, &two_lines).is_err());
}
