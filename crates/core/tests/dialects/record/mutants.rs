//! Thousands of plans that were cut, joined and scrambled: nothing panics, everything that is told has its place, and what
//! changes outside the steps loses none of them.

use planwright_core::dialect::{PlanEvent, detect, record};
use planwright_core::plan::draft::{Draft, Mark, Trace};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::syntax::source::{Source, Span, apply};
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

use super::{NOW, samples};

/// Numbers by xorshift: the same again from the same beginning.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// A place in the text that splits no character.
    fn place(&mut self, text: &str) -> usize {
        text.floor_char_boundary(self.below(text.len() + 1))
    }
}

const WORDS: &[&str] = &[
    "\n",
    "\r\n",
    "\t",
    "  ",
    "- ",
    ": ",
    ":",
    "#",
    " # x",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    "|\n",
    ">-\n",
    "|+\n",
    "&a ",
    "*a",
    "!t ",
    "<<: ",
    "---\n",
    "...\n",
    "? ",
    "steps:\n",
    "index: 7\n",
    "dependsOn: [0, 9]\n",
    "status: skipped\n",
    "null",
    "\u{feff}",
    "✅",
    "👩‍👩‍👧",
    "\u{0}",
    "\\",
    "description:",
    "contract: |\n    x\n",
    "%YAML 1.2\n",
    "\u{1c}",
    "-1",
    "99999999999999999999",
];

fn mutant(chance: &mut Chance, sources: &[Source]) -> String {
    let mut text = sources[chance.below(sources.len())].text().to_owned();
    for _ in 0..=chance.below(5) {
        let at = chance.place(&text);
        let end = text.floor_char_boundary((at + chance.below(60)).min(text.len())).max(at);
        match chance.below(6) {
            0 => text.truncate(at),
            1 => text.replace_range(at..end, ""),
            2 => text = format!("{}{}", &text[..end], &text[at..]),
            3 => text.insert_str(at, chance.of(WORDS)),
            4 => text.replace_range(at..end, chance.of(WORDS)),
            _ => {
                let other = sources[chance.below(sources.len())].text();
                let from = chance.place(other);
                let to = other.floor_char_boundary((from + chance.below(300)).min(other.len())).max(from);
                text.replace_range(at..end, &other[from..to]);
            }
        }
    }
    text
}

fn change(chance: &mut Chance, draft: &Draft) -> PlanEdit {
    let step = chance.below(draft.steps.len() + 1);
    let mark = [None, Some(Mark::Done), Some(Mark::Running), Some(Mark::Failed), Some(Mark::Skipped)];
    let word = chance.of(&["x", "12", "a: b", "it's", "#1", "null", "✅ done", "two, [words]"]).to_owned();
    let text = chance.of(&["", "one", "two\nlines", " odd\n\n", "tab\t\n- x: y #"]).to_owned();
    match chance.below(10) {
        0 | 1 => PlanEdit::Mark { step, mark: mark[chance.below(mark.len())] },
        2 => PlanEdit::Become { state: PlanState::Done },
        3 => PlanEdit::Set { key: word.clone(), value: word },
        4 => PlanEdit::Note { text: word },
        5 => PlanEdit::Rename { step, id: word },
        6 => PlanEdit::Need {
            step,
            on: planwright_core::plan::verified::ids(draft).first().cloned().unwrap_or(word),
        },
        7 => PlanEdit::Move { step, to: chance.below(draft.steps.len() + 1) },
        8 => PlanEdit::Renumber,
        _ => {
            let files = Some(vec![word.clone(), text.clone()]);
            let error = Some(text.clone());
            PlanEdit::Trace {
                step,
                trace: Trace {
                    executed_by: Some(word),
                    output: Some(text),
                    error,
                    affected_files: files,
                    ..Trace::default()
                },
            }
        }
    }
}

fn assert_inside(text: &str, span: Span, step: Span) {
    assert!(step.start <= span.start && span.end <= step.end && span.start <= span.end, "{span:?} {step:?}");
    assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end), "{span:?}");
}

fn assert_places(text: &str, draft: &Draft) {
    let whole = Span::new(0, text.len());
    let mut end = 0;
    for step in &draft.steps {
        assert!(end <= step.whole.0.start, "steps overlap");
        end = step.whole.0.end;
        assert_inside(text, step.whole.0, whole);
        let listed = step.needs.iter().chain(&step.touches).chain([&step.accept, &step.reads]).flatten();
        let lines = [&step.id, &step.target, &step.task, &step.on_fail, &step.timeout];
        let said = listed.chain(lines.into_iter().flatten()).map(|said| said.span);
        let marks = step.marks.iter().map(|mark| mark.span);
        let fields = step.fields.0.iter().flat_map(|field| [field.whole, field.value, field.label]);
        for span in said.chain(marks).chain(fields).chain([step.heading.0, step.number.span, step.title.span])
        {
            assert_inside(text, span, step.whole.0);
        }
        if let Some(command) = step.contract.as_ref().and_then(|contract| contract.command.as_ref()) {
            for (at, character) in command.value.char_indices() {
                let place = command.locate(Span::new(at, at + character.len_utf8()));
                assert_inside(text, place, step.whole.0);
            }
        }
    }
    for oddity in &draft.oddities.0 {
        assert_inside(text, oddity.span, whole);
    }
}

/// Everything that can be done with a plan, on any text.
fn try_all(chance: &mut Chance, source: &Source) -> bool {
    let draft = source.draft();
    assert_places(source.text(), &draft);
    let skimmed = (source.dialect().skim)(source);
    assert_eq!((skimmed.steps.len(), &skimmed.title), (draft.steps.len(), &draft.title));
    let _ = detect("plan.yaml", source.text());
    let study = Study::of(source, &draft);
    let checked = verify(&study, &Facts::default(), &VerifyLimits::default());
    for fix in checked.diagnostics.iter().filter_map(|found| found.fix.as_ref()) {
        apply(source.text(), &fix.edits);
    }
    let _ = record::pointer(source.text());
    let _ = record::created_line(source);
    let _ = source.dialect().beside(source, &draft, &PlanEvent::Became { state: PlanState::Done, at: NOW });
    let touched = source.dialect().touched(source, NOW);
    assert_eq!(source.dialect().meaning(&touched), source.dialect().meaning(source));
    let failed = chance.below(draft.steps.len() + 1);
    let replan = record::RecordReplan {
        failed,
        error: "x\ny",
        discoveries: &[],
        constraints: &["c".to_owned()],
        changes: "",
        reasoning: "",
        now: NOW,
    };
    let next = record::replanned(source, &replan);
    if let Ok(next) = &next {
        let count = source.with(next.text.as_str()).draft().steps.len();
        assert_eq!(
            count,
            draft.steps.len(),
            "a new version lost a step:\n{}\n---\n{}",
            source.text(),
            next.text
        );
    }
    let change = change(chance, &draft);
    let patched = source.dialect().patch(source, &change);
    if let Ok(edits) = &patched {
        let after = source.edited(edits);
        assert_eq!(after.draft().steps.len(), draft.steps.len(), "{change:?}");
    }
    patched.is_ok()
}

#[test]
fn no_mutant_is_too_much() {
    let sources = samples();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut patched = 0;
    for _ in 0..2500 {
        let source = sources[0].with(mutant(&mut chance, &sources));
        patched += usize::from(try_all(&mut chance, &source));
    }
    assert!(patched > 200, "only {patched} of the mutants could still be changed");
}

/// Changes after which every step must still be there: remarks, blank lines, other words, other line endings.
fn harmless(chance: &mut Chance, source: &Source) -> String {
    let text = source.text();
    let is_json = text.starts_with('{');
    let lines: Vec<&str> = text.lines().collect();
    let draft = source.draft();
    match chance.below(5) {
        // A word of a title becomes another one.
        0 => {
            let title = draft.steps[chance.below(draft.steps.len())].title.span;
            let letters: Vec<usize> =
                (title.start..title.end).filter(|&at| text.as_bytes()[at].is_ascii_lowercase()).collect();
            let at = letters[chance.below(letters.len())];
            format!("{}q{}", &text[..at], &text[at + 1..])
        }
        // A remark in front of a key or a step, which no text can swallow.
        1 if !is_json => {
            let begins = |line: &&str| {
                line.trim_start().starts_with("- index:")
                    || ["status", "id", "steps"].iter().any(|key| line.starts_with(key))
            };
            let places: Vec<usize> = (0..lines.len()).filter(|&at| begins(&lines[at])).collect();
            let at = places[chance.below(places.len())];
            let mut lines = lines;
            lines.insert(at, "# a remark: [with, {signs} \"");
            lines.join("\n") + "\n"
        }
        // A key of somebody else's.
        2 if !is_json => text.replacen("\nsteps:", "\nx-team: {a: [1, 2], b: \"c\"}\nsteps:", 1),
        2 => text.replacen("\"steps\"", "\"team\": {\"a\": [1, null]}, \"steps\"", 1),
        3 => text.replace('\n', "\r\n"),
        _ => format!("{text}\n\n"),
    }
}

#[test]
fn no_step_is_lost_when_something_else_changes() {
    let mut chance = Chance(77);
    for _ in 0..250 {
        for sample in samples() {
            let count = sample.draft().steps.len();
            let mut source = sample;
            for _ in 0..=chance.below(3) {
                source = source.with(harmless(&mut chance, &source).replace("\r\n", "\n"));
            }
            let draft = source.draft();
            assert_eq!(draft.steps.len(), count, "{}", source.text());
            let is_fault = |oddity: &planwright_core::plan::draft::ParseIssue| {
                matches!(
                    oddity,
                    planwright_core::plan::draft::ParseIssue::Record(
                        planwright_core::plan::draft::RecordFault::Unread(_)
                    )
                )
            };
            assert!(!draft.oddities.0.iter().any(|oddity| is_fault(&oddity.value)), "{}", source.text());
        }
    }
}
