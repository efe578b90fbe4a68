//! Thousands of folders that were damaged by chance, the same ones every time: none makes anything panic, and none loses a
//! file.

use planwright_core::dialect::{NewPlan, named};
use planwright_core::plan::draft::{Draft, ParseIssue, StepDraft};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::syntax::source::{FILE_SEPARATOR, Source, Span};
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

use super::{AUTH, DATABASE, File, RELEASE, folder};

const COUNT: usize = 3000;

/// Chance that is the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % sides.max(1)
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.roll(items.len())]
    }
}

const PIECES: &[&str] = &[
    "---",
    "\n---\n",
    "...",
    "id: x",
    "depends_on: [",
    "depends_on:\n  - ",
    "]",
    "title:",
    "- ",
    "  ",
    "\t",
    "\r",
    "\r\n",
    "\u{feff}",
    "🚀",
    "ß",
    "\u{200b}",
    "# T\n",
    "## Verification\n",
    "**Verification:** `x`",
    "```",
    "~~~\n",
    "> ",
    "\"",
    "'",
    ": ",
    "&a ",
    "*a ",
    "!!str ",
    "{",
    "}",
    "|\n",
    ">-\n",
    "#",
    "null",
    "~",
    "<<: ",
    "\0",
    "## Notes\n- x\n",
    "***\n",
];

const PATHS: &[&str] = &[
    "tasks/1-x.md",
    "tasks/01-a.md",
    "tasks/.md",
    "tasks/",
    "tasks/sub/01-a.md",
    "plan.md",
    "tasks/07-ü.md",
    "",
    "x.txt",
    "tasks/99999999999999999999-x.md",
    "tasks/01-a.MD",
];

fn mutant(dice: &mut Dice) -> Source {
    let sample: &[File<'_>] = [AUTH, DATABASE, RELEASE][dice.roll(3)];
    let mut files: Vec<(String, String)> =
        sample.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    for _ in 0..=dice.roll(5) {
        let at = dice.roll(files.len());
        match dice.roll(12) {
            0 if files.len() > 1 => drop(files.remove(at)),
            1 => dice.pick(PATHS).clone_into(&mut files[at].0),
            2 => {
                let copy = files[at].clone();
                files.push(copy);
            }
            _ => damage(dice, &mut files[at].1),
        }
    }
    let files: Vec<File<'_>> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    folder("p", &files)
}

fn damage(dice: &mut Dice, text: &mut String) {
    let at = text.floor_char_boundary(dice.roll(text.len() + 1));
    let end = text.ceil_char_boundary((at + dice.roll(20)).min(text.len()));
    match dice.roll(7) {
        0 => text.truncate(at),
        1 => drop(text.drain(at..end)),
        2 => {
            let piece = text[at..end].to_owned();
            text.insert_str(at, &piece);
        }
        3 => *text = text.replace('\n', "\r\n"),
        4 => {
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let (first, second) = (dice.roll(lines.len()), dice.roll(lines.len()));
            if !lines.is_empty() {
                lines.swap(first, second);
            }
            *text = lines.concat();
        }
        _ => text.insert_str(at, dice.pick(PIECES)),
    }
}

/// Every file is the plan, a step, or complained of; and what was read of a step stands in its file.
fn assert_whole(source: &Source, draft: &Draft) {
    let flagged = |span: Span| {
        let is_name = |oddity: &ParseIssue| matches!(oddity, ParseIssue::MisnamedTask { .. });
        draft.oddities.0.iter().any(|oddity| oddity.span.start == span.start && is_name(&oddity.value))
    };
    let steps: Vec<Span> = draft.steps.iter().map(|step| step.whole.0).collect();
    let plan = source.parts().iter().find(|part| part.path.is_empty() || part.path == "plan.md");
    for part in source.parts().iter().filter(|part| Some(part.span) != plan.map(|plan| plan.span)) {
        assert!(steps.contains(&part.span) || flagged(part.span), "{:?} is lost", part.path);
        let is_text = part.path.to_lowercase().ends_with(".md");
        assert!(steps.contains(&part.span) || !is_text, "{:?} is no step", part.path);
    }
    let missing =
        draft.oddities.0.iter().any(|oddity| matches!(oddity.value, ParseIssue::MissingFile { .. }));
    assert_eq!(missing, plan.is_none());
    draft.steps.iter().for_each(|step| assert_inside(source, step));
}

fn assert_inside(source: &Source, step: &StepDraft) {
    let whole = step.whole.0;
    let mut spans = vec![step.heading.0, step.title.span, step.number.span];
    spans.extend(step.needs.iter().flatten().chain(&step.accept).chain(&step.stray).map(|item| item.span));
    spans.extend(
        [&step.id, &step.target, &step.task, &step.timeout].into_iter().flatten().map(|text| text.span),
    );
    spans.extend(step.fields.0.iter().flat_map(|field| [field.label, field.value, field.whole]));
    for span in spans {
        assert!(whole.covers(span) && span.start <= span.end, "{span:?} is not in {whole:?}");
        source.slice(span);
    }
    let body = planwright_core::dialect::frontmatter::split_part(source, whole).body;
    let says = !source.slice(Span::new(body, whole.end)).trim().is_empty();
    assert_eq!(says, step.task.is_some(), "no text is lost: {step:?}");
}

fn assert_changes(dice: &mut Dice, source: &Source) {
    let step = dice.roll(4);
    let word = dice.pick(&["x", "create-schema", "a b", "\u{e9}", "# x", "- y", "\"q\"", "null"]).to_owned();
    let changes = [
        PlanEdit::Set { key: "title".to_owned(), value: word.clone() },
        PlanEdit::Note { text: word.clone() },
        PlanEdit::Rename { step, id: word.clone() },
        PlanEdit::Need { step, on: word },
        PlanEdit::Move { step, to: 0 },
        PlanEdit::Renumber,
    ];
    let paths = |source: &Source| source.parts().iter().map(|part| part.path.clone()).collect::<Vec<_>>();
    let change = &changes[dice.roll(changes.len())];
    // What is made was read again and says what was meant; what is not made is refused with a reason.
    match source.dialect().patch(source, change) {
        Ok(edits) => assert_eq!(paths(&source.edited(&edits)), paths(source), "{change:?}"),
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
}

// E-18: however a folder is damaged, it is read, checked, changed and written anew without a panic and without a loss.
#[test]
fn no_damage_makes_a_folder_lose_a_file() {
    let mut dice = Dice(0x5eed_0e15);
    let directory = named("directory").expect("it is in the table");
    let birth = NewPlan { id: "PLAN-a1b2c3d4", now: "2026-11-16T10:00:00Z" };
    let mut clean = 0;
    for _ in 0..COUNT {
        let source = mutant(&mut dice);
        let draft = source.draft();
        assert_whole(&source, &draft);
        let skimmed = (directory.skim)(&source);
        let titles =
            |draft: &Draft| draft.steps.iter().map(|step| step.title.value.clone()).collect::<Vec<_>>();
        assert_eq!((titles(&skimmed), &skimmed.title), (titles(&draft), &draft.title));
        let checked = verify(&Study::of(&source, &draft), &Facts::default(), &VerifyLimits::default());
        clean += usize::from(checked.plan.is_some());
        for found in &checked.diagnostics {
            let part = source.part_at(found.primary.span.start);
            assert!(part.span.covers(found.primary.span), "{found:?} is not in {}", part.path);
        }
        assert_changes(&mut dice, &source);
        if dice.roll(4) == 0
            && let Ok(text) = directory.format(&source)
        {
            assert_eq!(directory.format(&source.with(text.as_str())), Ok(text));
        }
        let composed = Source::new("p", directory.compose(&draft, &birth)).written_in(directory);
        assert_eq!(composed.draft().steps.len(), draft.steps.len(), "{}", composed.text());
    }
    assert!(clean > 0 && clean < COUNT / 2, "{clean} of {COUNT} are still plans");
}

// A text of a megabyte, of deep nesting or of nothing but separators is read in time.
#[test]
fn large_and_odd_folders_are_read() {
    let long = "word ".repeat(200_000);
    let deep = format!("---\nid: {}\n---\nx\n", "[".repeat(50_000));
    let needs = format!("---\nid: a\ndepends_on: [{}]\n---\nx\n", "b, ".repeat(3000));
    let texts = [long.as_str(), deep.as_str(), needs.as_str(), "\u{feff}", "---", "---\n---"];
    for text in texts {
        let source = folder("p", &[("plan.md", text), ("tasks/01-a.md", text), ("tasks/02-b.md", text)]);
        let draft = source.draft();
        assert_whole(&source, &draft);
        verify(&Study::of(&source, &draft), &Facts::default(), &VerifyLimits::default());
    }
    let dialect = named("directory").expect("it is in the table");
    for text in
        ["", "\u{1c}", "\u{1c}\u{1c}\u{1c}", "\u{1c}plan.md", "\u{1c}\n\u{1c}tasks/01-a.md", "x\u{1c}y"]
    {
        let source = Source::new("p", text).written_in(dialect);
        let draft = source.draft();
        assert_eq!(
            source.parts().len() > 1,
            text.matches(FILE_SEPARATOR).count() > 1 && text.starts_with('\u{1c}')
        );
        verify(&Study::of(&source, &draft), &Facts::default(), &VerifyLimits::default());
    }
}
