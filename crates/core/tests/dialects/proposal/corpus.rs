//! Thousands of proposals, real-looking ones and broken ones, from a seeded generator: no panic, no lost step.

use planwright_core::dialect::proposal::{CONTEXT_BYTES_MAX, artifacts, context_bytes, overflow, sections};
use planwright_core::dialect::{NATIVE, NewPlan};
use planwright_core::plan::draft::{Draft, StepDraft};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::syntax::source::{Source, Span};
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

use super::{NOW, dialect, proposal, samples, titles};

/// Numbers that only look like chance.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides
    }

    fn pick<'a>(&mut self, sides: &[&'a str]) -> &'a str {
        sides[self.roll(sides.len())]
    }
}

const VERBS: &[&str] =
    &["Fetch", "Send", "Añadir", "Update", "Prüfen", "送信", "Remove 🗑", "Call f(x) for", "Check (twice)"];
const THINGS: &[&str] =
    &["the invoice", "`src/a b.rs`", "a **bold** thing", "2 of 3", "\"x\": y", "it: now", "[a](b)", "<b>"];
const SUFFIXES: &[&str] = &[
    "",
    " (odoo-toolbox: read)",
    " (go-easy: gmail send)",
    " (odoo: write → res.partner)",
    " (bash: run -> a b c)",
    " (bash:run=>x)",
    "  (py: call → f(1, 2))  ",
    " (see: the docs)",
    " ()",
];
const MARKERS: &[&str] = &["N. ", "N) ", "N.  ", "N. [ ] ", "N. [x] ", "**N.** ", "N.\t"];
const BULLETS: &[&str] = &["- ", "* ", "+ ", "- [ ] ", "- [x] ", "-   "];
const BODIES: &[&str] = &[
    "",
    "",
    "",
    "   more of it\n",
    "\n   a second paragraph\n\n",
    "   - a detail\n   - another (bash: no step)\n",
    "   1. first\n   2. second\n",
    "   ```json\n   {\"1. \": \"no step\"}\n   ```\n",
    "   - **verify:** `test -s a`\n",
    "   - **verify:**\n     ```shell\n     1. no step\n     ```\n",
    "   verify: `cargo test`\n",
    "   - **needs:** none\n",
    "\n   > 1. quoted\n",
    "   <!-- 9. no step -->\n",
];
const HEADS: &[&str] = &[
    "## Steps\n",
    "## Steps\n\n",
    "# Steps:\n",
    "### Steps (3)\n\n",
    "Steps\n-----\n",
    "## 📋 Steps ##\n",
    "## Steps\n\nDo these:\n\n",
];
const TAILS: &[&str] = &[
    "",
    "\n## Context\n\n1. no step\n- none either\n",
    "\nThat is all.\n\n## Risks\n1. no step\n",
    "## Context\n### Notes\n- noted\n### Tool Outputs\n```json\n{}\n```\n",
    "\n<!--\n1. no step\n-->\n",
];

/// A plan as somebody may have written it, and the titles of its steps.
fn generated(dice: &mut Dice) -> (String, Vec<String>) {
    let mut text =
        "---\nid: PLAN-a1b2c3d4\ntitle: \"T\"\nstatus: approved\nversion: 3\ntools_required: [bash]\n---\n\n"
            .to_owned();
    text.push_str(dice.pick(HEADS));
    let (is_bulleted, marker) = (dice.roll(4) == 0, dice.pick(MARKERS));
    let mut titles = Vec::new();
    for number in 1..=dice.roll(14) + 1 {
        let marker = if is_bulleted {
            dice.pick(BULLETS).to_owned()
        } else {
            marker.replace('N', &number.to_string())
        };
        let title = format!("{} {} #{number}", dice.pick(VERBS), dice.pick(THINGS));
        let suffix = dice.pick(SUFFIXES);
        text.push_str(&format!("{marker}{title}{suffix}\n{}", dice.pick(BODIES)));
        titles.push(if suffix.contains("see") { format!("{title}{suffix}") } else { title });
    }
    text.push_str(dice.pick(TAILS));
    let text = match dice.roll(4) {
        0 => text.replace('\n', "\r\n"),
        1 => format!("\u{feff}{text}"),
        2 => text.trim_end().to_owned(),
        _ => text,
    };
    (text, titles)
}

const WORDS: &[&str] = &[
    "\n",
    "\r\n",
    "\r",
    "\t",
    "    ",
    "---\n",
    "## Steps\n",
    "## Context\n",
    "### Notes\n",
    "\n\n",
    "1. ",
    "2. ",
    "- ",
    "- [x] ",
    "```",
    "~~~\n",
    "```json\n",
    "<!--",
    "-->",
    "> ",
    "#",
    "**",
    "**verify:** ",
    "**needs:** ",
    "**id:** x\n",
    "`",
    "(",
    ")",
    "()",
    " (a: b)",
    " → ",
    "->",
    ": ",
    "\"",
    "'",
    "[",
    "]",
    "{",
    "\u{feff}",
    "\u{a0}",
    "\u{2028}",
    "é",
    "🗑",
    "\0",
    "version: 1\n",
    "=====\n",
    "\\",
    "|\n",
    "&a ",
    "*a",
];

/// A text with some bytes gone, doubled or put in.
fn mutated(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.roll(6) {
        let start = text.floor_char_boundary(dice.roll(text.len() + 1));
        let end = text.floor_char_boundary((start + dice.roll(40)).min(text.len())).max(start);
        let piece = text[start..end].to_owned();
        match dice.roll(4) {
            0 => text.replace_range(start..end, ""),
            1 => text.insert_str(text.floor_char_boundary(dice.roll(text.len() + 1)), &piece),
            2 => text.truncate(if dice.roll(8) == 0 { start } else { text.len() }),
            _ => text.insert_str(start, dice.pick(WORDS)),
        }
    }
    text
}

/// What holds for any text at all.
fn assert_sound(source: &Source, dice: &mut Dice) {
    let draft = source.draft();
    let mut end = 0;
    for step in &draft.steps {
        assert_inside(source, step);
        assert!(end <= step.whole.0.start, "two steps share their text: {:?}", source.text());
        end = step.whole.0.end;
    }
    for note in draft.notes.iter().chain(&draft.context) {
        assert!(source.text().get(note.span.start..note.span.end).is_some(), "{note:?}");
    }
    for section in sections(source) {
        assert!(source.text().get(section.span.start..section.span.end).is_some(), "{section:?}");
    }
    assert_eq!(titles(&(dialect().skim)(source)), titles(&draft));
    artifacts(source);
    let moved = overflow(source).map_or(0, |moved| context_bytes(&source.with(moved.text)));
    assert!(moved <= CONTEXT_BYTES_MAX);
    let study = Study::of(source, &draft);
    verify(&study, &Facts::default(), &VerifyLimits::default());
    assert_rewrites(source, &draft, dice);
}

fn assert_inside(source: &Source, step: &StepDraft) {
    let fields =
        step.fields.0.iter().flat_map(|field| [field.label, field.value, field.whole, field.name.span]);
    let lists = [&step.tools, &step.reads, &step.accept, &step.env].into_iter().flatten();
    let names = lists.chain(step.needs.iter().flatten()).chain(step.touches.iter().flatten());
    let lines = [&step.task, &step.id, &step.target, &step.timeout, &step.on_fail].into_iter().flatten();
    let contract = step.contract.as_ref().and_then(|contract| contract.command.as_ref());
    let commands = contract.into_iter().chain(&step.setup);
    let spans = [step.heading.0, step.number.span, step.title.span];
    let spans = spans.into_iter().chain(fields).chain(names.chain(lines).map(|name| name.span));
    for span in spans.chain(commands.map(|command| command.span)) {
        let Span { start, end } = span;
        assert!(source.text().get(start..end).is_some(), "{span:?} in {:?}", source.text());
        assert!(step.whole.0.covers(span), "{span:?} in {:?}: {:?}", step.whole.0, source.text());
    }
}

/// Whatever is done to a plan, it keeps its steps.
fn assert_rewrites(source: &Source, draft: &Draft, dice: &mut Dice) {
    let meant = titles(draft);
    assert_eq!(titles(&dialect().touched(source, NOW).draft()), meant, "touched: {:?}", source.text());
    let count = meant.len();
    let last = count.saturating_sub(1);
    let changes = [
        PlanEdit::Become { state: PlanState::Running },
        PlanEdit::Note { text: "a note".to_owned() },
        PlanEdit::Set { key: "title".to_owned(), value: "another".to_owned() },
        PlanEdit::Renumber,
        PlanEdit::Rename { step: last, id: "renamed".to_owned() },
        PlanEdit::Mark { step: 0, mark: None },
        PlanEdit::Move { step: 0, to: last },
        PlanEdit::Need { step: last, on: "1".to_owned() },
    ];
    // All of them on every plan would take minutes, and chance goes through all of them anyway.
    let change = &changes[dice.roll(changes.len())];
    if let Ok(edits) = dialect().patch(source, change) {
        assert_eq!(source.edited(&edits).draft().steps.len(), count, "{change:?}: {:?}", source.text());
    }
    if dice.roll(4) == 0
        && let Ok(text) = dialect().format(source)
    {
        let formatted = source.with(text.as_str());
        assert_eq!(titles(&formatted.draft()), meant);
        assert_eq!(dialect().format(&formatted).as_ref(), Ok(&text), "from {:?}", source.text());
    }
    let birth = NewPlan { id: "PLAN-0badcafe", now: NOW };
    let composed = proposal(dialect().compose(draft, &birth));
    // A lone carriage return ends no line for us, but it would for others.
    let meant: Vec<String> = meant.iter().map(|title| title.replace('\r', " ")).collect();
    assert_eq!(titles(&composed.draft()), meant, "{:?}\nas\n{}", source.text(), composed.text());
}

// C-04: plans as people and programs write them lose no step, in reading and in writing.
#[test]
fn real_looking_plans_keep_every_step() {
    let mut dice = Dice(0x5eed_0001);
    for _ in 0..1000 {
        let (text, meant) = generated(&mut dice);
        let source = proposal(text.as_str());
        let draft = source.draft();
        assert_eq!(titles(&draft), meant, "{text}");
        assert_rewrites(&source, &draft, &mut dice);
        let native =
            Source::new("plan.md", NATIVE.compose(&draft, &NewPlan { id: "PLAN-0badcafe", now: NOW }));
        assert_eq!(native.draft().steps.len(), meant.len(), "{text}\nas\n{}", native.text());
        let formatted = (dice.roll(4) == 0).then(|| dialect().format(&source)).transpose();
        assert!(formatted.is_ok(), "{formatted:?}: {text}");
    }
}

// M-10: whatever is left of a plan, it is read; what can't be written safely is refused.
#[test]
fn broken_plans_never_panic_and_never_lose_a_step() {
    let mut dice = Dice(0x5eed_0002);
    let mut texts: Vec<String> = samples().iter().map(|source| source.text().to_owned()).collect();
    texts.extend((0..8).map(|_| generated(&mut dice).0));
    for _ in 0..1000 {
        let text = &texts[dice.roll(texts.len())];
        let broken = proposal(mutated(text, &mut dice));
        assert_sound(&broken, &mut dice);
    }
}

// M-10: a plan that was cut off anywhere is read.
#[test]
fn a_plan_that_was_cut_off_is_read() {
    for source in samples() {
        for end in (0..source.text().len()).filter(|&end| source.text().is_char_boundary(end)) {
            let cut = source.with(&source.text()[..end]);
            let count = cut.draft().steps.len();
            assert_eq!(dialect().touched(&cut, NOW).draft().steps.len(), count);
        }
    }
}

// M-10: large plans take time in proportion; a quadratic reader would sit here for hours.
#[test]
fn a_megabyte_of_anything_is_read() {
    let lines = [
        "1. step (a: b)\n",
        "- x\n",
        "### Notes\n- n\n",
        "```\n",
        "(",
        ")",
        "**verify:**\n",
        "## Steps\n",
        "<!--\n",
        "   1. a\n",
        "é",
    ];
    for line in lines {
        let bytes = if line.starts_with("1.") { 1_000_000 } else { 200_000 };
        let body = line.repeat(bytes / line.len());
        let source = proposal(format!("---\nid: PLAN-a1b2c3d4\nstatus: proposed\n---\n## Steps\n{body}"));
        let expected = match line {
            "1. step (a: b)\n" | "- x\n" | "   1. a\n" => bytes / line.len(),
            _ => 0,
        };
        assert_eq!(source.draft().steps.len(), expected, "{line}");
        overflow(&source);
    }
}
