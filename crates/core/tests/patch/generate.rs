//! Plan files as people and models write them, and changes to them.

use planwright_core::plan::draft::{Draft, Mark};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::verified;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

/// A row of dice rolls: the first side is always the plainest, so a failure shrinks to a plain plan.
struct Dice {
    rolls: Vec<u8>,
    next: usize,
}

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        let roll = self.rolls.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(roll) % sides
    }

    fn pick<'a>(&mut self, sides: &[&'a str]) -> &'a str {
        sides[self.roll(sides.len())]
    }

    fn is_one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == sides - 1
    }
}

/// What a file is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purity {
    Clean,
    /// With templates, unknown fields, prose between fields and broken frontmatter.
    Wild,
}

/// Texts of plans that mix every spelling.
pub(super) fn plans(purity: Purity) -> impl Strategy<Value = String> {
    vec(any::<u8>(), 0..240).prop_map(move |rolls| plan_text(&mut Dice { rolls, next: 0 }, purity))
}

const FRONTMATTER: &[&str] = &[
    "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n",
    "---\n# the usual\ntype: plan   # always\nstatus: \"draft\"\nowner: 'ada lovelace'\n---\n",
    "---\nowner: ada\ntype: plan\nstatus: approved\n\n---\n\n\n",
];
const WILD_FRONTMATTER: &[&str] = &[
    "",
    "---\ntype: plan\nstatus:\nowner: ada # me\ntags: [a, b]\nnote: |\n  text\n  more\n---\n",
    "\n\n---\ntype: plan\n...\n",
    "---\n---\n",
];
const PREAMBLE: &[&str] = &[
    "# Plan\n\n**Context:** Because.\n\n## Steps\n\n",
    "# Plan ☕ naïve 日本\n\n**Context**: Because\nof this.\n**Budget:** 900k tokens, $9, 3 hours\n**Priority:** high\n\n",
    "Plan\n====\n\nSome prose, and a list:\n\n- a\n- b\n\n<!-- a comment\n### 1. no step\n-->\n\n",
];
const TITLES: &[&str] =
    &["Write it", "Naïve café ☕", "Add ✅ to the README", "日本語 text", "Use `a` & *b*", "C# (core)"];
const TASKS: &[&str] = &[
    "\nDo it.\n",
    " Do it.\nTwice.\n",
    "\n\nDo it.  \n\n- **Target:** one\n- two\n\n**Mind:** the gap\n\n",
    "\n```sh\n### 9. no step\n**task:** no field\n```\n",
    "\n````md\n```\ncode\n```\n````\n<!-- **target:** nobody -->\n\n#### 1. Part\n\nText.\n",
    "\n    indented\n\ttab\n\n> ### 3. quoted\n",
    "\nWeird: \u{200d}👩‍👩‍👧 e\u{301} \u{a0}ß ﷽\n\n~~~\nx\n~~~\n",
    "\nSetext\n---\nmore\n",
];
const CONTRACTS: &[&str] = &[
    "\n```shell\ntest -f a.md\n```\nexit_code == 0\n",
    " `test -f a.md`\n",
    "\n~~~~sh\ntest -f a.md &&\n\n  grep -q '```' a.md\n~~~~\nexit code = 3\n",
    "\n```\ntest -f a.md\n```\n\n**exit_code:** 2\n",
    "\n\n    test -f a.md\n\n",
    "\n```bash\ntest -f a.md\n```\n- exit_code == 1\n",
];
const UNKNOWN: &[&str] =
    &["**colour:** red\n", "**Estimate**: 3 days\nor so\n", "Some prose.\n\n", "***\n\n"];
const ENDINGS: &[&str] = &["\n", "", "\n---\n\n", "\n\n\n", "\n<!-- between -->\n\n"];
const NOTES: &[&str] = &[
    "",
    "## Notes\n\n- one\n- two\n",
    "## Notes\n",
    "# notes\n\nProse.\n\n* one\n\n",
    "## Appendix\n\nText.\n",
];

fn plan_text(dice: &mut Dice, purity: Purity) -> String {
    let is_wild = purity == Purity::Wild;
    let mut text = String::new();
    text += if is_wild && dice.is_one_in(4) { dice.pick(WILD_FRONTMATTER) } else { dice.pick(FRONTMATTER) };
    text += dice.pick(PREAMBLE);
    let level = ["###", "##", "####"][dice.roll(3)];
    let count = 1 + dice.roll(5);
    for place in 0..count {
        step_text(dice, &mut text, (place, level), purity);
        text += dice.pick(ENDINGS);
    }
    if is_wild && dice.is_one_in(3) {
        template_text(dice, &mut text, count, level);
    }
    let notes = dice.pick(NOTES);
    let is_apart = text.ends_with("\n\n") || notes.is_empty();
    text += if is_apart { "" } else { "\n" };
    text += notes;
    if dice.is_one_in(3) {
        text.truncate(text.trim_end().len());
    }
    if dice.is_one_in(3) {
        text = text.replace('\n', "\r\n");
    }
    if dice.is_one_in(4) { format!("\u{feff}{text}") } else { text }
}

fn heading(dice: &mut Dice, level: &str, number: &str, title: &str) -> String {
    let number = match dice.roll(4) {
        1 => format!("{number})"),
        2 => format!("Step {number}:"),
        3 => format!("\t{number}."),
        _ => format!("{number}."),
    };
    let (before, between, behind) = match dice.roll(12) {
        6 => ("", "✅ ", ""),
        7 => ("✅ ", "", ""),
        8 => ("", "[ ] ", ""),
        9 => ("", "", " (done)"),
        10 => ("", "", " — failed"),
        11 => ("[x] ", "❌ ", ""),
        _ => ("", "", ""),
    };
    let closing = dice.pick(&["", "", "", " ##"]);
    format!("{level} {before}{number} {between}{title}{behind}{closing}\n\n")
}

fn step_text(dice: &mut Dice, text: &mut String, (place, level): (usize, &str), purity: Purity) {
    let is_wild = purity == Purity::Wild;
    let number = if is_wild && dice.is_one_in(10) { place + 3 } else { place + 1 };
    let title = format!("{} {number}", dice.pick(TITLES));
    *text += &heading(dice, level, &number.to_string(), &title);
    let is_bulleted = dice.is_one_in(5);
    for (name, value) in fields(dice, place, is_bulleted.then_some("-")) {
        *text += &format!("{}{}{value}", if is_bulleted { "- " } else { "" }, label(dice, name));
    }
    if is_wild && dice.is_one_in(4) {
        *text += dice.pick(UNKNOWN);
    }
}

/// The fields of a step with their values; a step of bulleted fields has only values that fit into a list item.
fn fields(dice: &mut Dice, place: usize, bullet: Option<&str>) -> Vec<(&'static str, String)> {
    let mut fields: Vec<(&str, String)> = Vec::new();
    if dice.roll(3) > 0 {
        fields.push(("id", format!(" step-{}\n", place + 1)));
    }
    if dice.is_one_in(4) {
        fields.push(("status", dice.pick(&[" done\n", " pending\n", "\n", " `failed`\n"]).to_owned()));
    }
    fields.push(("target", dice.pick(&[" coder\n", "   reviewer  \n", " `coder`\n\n"]).to_owned()));
    let needs = needs(dice, place);
    fields.extend(needs.map(|needs| (["needs", "depends on"][dice.roll(2)], needs)));
    if bullet.is_none() && dice.is_one_in(3) {
        let lists = ["\n- file:a.md\n- `topic:b`\n", " file:a.md, topic:b\n", "\n\n*\tfile:a.md\n"];
        fields.push(("subscriptions", dice.pick(&lists).to_owned()));
    }
    fields.push(("touches", format!(" out-{place}/**\n")));
    if dice.is_one_in(4) {
        let policies = [" abort\n", " retry(1),\nthen abort\n", "\n\nescalate\n\n"];
        fields.push(("on fail", dice.pick(&policies).to_owned()));
    }
    let (tasks, contracts) = match bullet {
        Some(_) => (&TASKS[..1], &CONTRACTS[1..2]),
        None => (TASKS, CONTRACTS),
    };
    fields.push(("task", dice.pick(tasks).to_owned()));
    fields.push(("contract", dice.pick(contracts).to_owned()));
    fields
}

/// Names of earlier steps, in one of the forms of a list.
fn needs(dice: &mut Dice, place: usize) -> Option<String> {
    if place == 0 {
        return dice.is_one_in(4).then(|| dice.pick(&[" none\n", "\n"]).to_owned());
    }
    let number = 1 + dice.roll(place);
    match dice.roll(7) {
        1 => Some(format!(" {number}\n")),
        2 => Some(format!(" #{number}\n")),
        3 => Some(format!("\n- {number}\n\n- `{place}`\n")),
        4 => Some(format!(" `{number}`,{place}\n\n")),
        5 => Some(" none\n".to_owned()),
        _ => None,
    }
}

fn label(dice: &mut Dice, name: &str) -> String {
    let capital = name[..1].to_uppercase() + &name[1..];
    match dice.roll(5) {
        1 => format!("**{capital}:**"),
        2 => format!("**{name}**:"),
        3 => format!("__{}:__", name.replace(' ', "_")),
        4 => format!("**{}** :", name.to_uppercase()),
        _ => format!("**{name}:**"),
    }
}

fn template_text(dice: &mut Dice, text: &mut String, count: usize, level: &str) {
    let id = dice.pick(&["", "**id:** batch\n", "**id:** batch-{item}\n"]);
    let each = dice.pick(&["", "**each:** a, b\n", "**each:**\n- a\n- b\n"]);
    *text += &format!("\n{level} {}–N. Batch\n\n{id}**target:** coder\n{each}", count + 1);
    *text += "**task:**\nMigrate {item} and [batch list here], [not this].\n\n";
    *text += "**contract:**\n```shell\ntest -f {item}\n```\n";
    if dice.is_one_in(2) {
        let needs =
            dice.pick(&["", "**needs:** batch\n", "**needs:**\n- `batch`\n- 1\n", "**needs:** 1, `batch`\n"]);
        *text += &format!("\n{level} N+1. Rest\n\n**target:** coder\n{needs}**task:** Rest.\n");
    }
}

/// Text made of the pieces that plans are made of, in no order: most of it is no plan at all.
pub(super) fn soups() -> impl Strategy<Value = String> {
    vec(any::<u8>(), 0..60).prop_map(|rolls| {
        let count = rolls.len();
        let mut dice = Dice { rolls, next: 0 };
        (0..count).map(|_| dice.pick(PIECES)).collect()
    })
}

const PIECES: &[&str] = &[
    "\n### 1. a\n",
    "\n## 2. b\n\n**id:** ",
    "\n### N. c\n**each:** ",
    "\n**task:** ",
    "\n- ",
    "\n**needs:** a",
    "\n**contract:**\n```\n",
    "\n## Notes\n",
    "\n**contract:** exit_code: 3\n",
    "\n**contract:** manual\n",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "\t",
    "    ",
    "### ",
    "## ",
    "# ",
    "1. ",
    "2. ",
    "N+1. ",
    "3–N. ",
    "Step 3: ",
    "✅ ",
    "[x] ",
    "(done)",
    " — done",
    "**status: done**",
    "**status:**",
    "**task:**",
    "**contract:**",
    "**Contract**:",
    "**needs:**",
    "**id:**",
    "**each:**",
    "**on_fail:**",
    "**exit_code:**",
    "**reads:**",
    "__target:__",
    "**colour:** red",
    "exit_code == 3",
    "```",
    "~~~",
    "````sh",
    "- ",
    "* ",
    "> ",
    "---",
    "===",
    "---\ntype: plan\nstatus: draft\n---\n",
    "status: x",
    "<!--",
    "-->",
    "Notes",
    "{item}",
    "[list here]",
    "a",
    "b, c",
    "`x`",
    "none",
    "\u{feff}",
    "ß日",
    "\u{2028}",
    "\r",
    "&amp;",
    "\\",
    "|",
    "1",
    "#2",
    "\0",
    "\u{a0}",
    "\u{85}",
    "**",
    "__",
    "`",
    "``",
];

/// A change without a plan to make it to.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    kind: u8,
    step: usize,
    other: usize,
    word: usize,
}

/// Changes of every kind.
pub(super) fn wishes() -> impl Strategy<Value = Wish> {
    (any::<u8>(), any::<u16>(), any::<u16>(), any::<u16>()).prop_map(|(kind, step, other, word)| Wish {
        kind,
        step: usize::from(step),
        other: usize::from(other),
        word: usize::from(word),
    })
}

const KEYS: &[&str] = &["owner", "type", "approved_by", "note", "tags", "a key"];
const VALUES: &[&str] =
    &["approved", "in-progress", "ada lovelace", "yes", "a: b", "# no", "it's \"so\"", "ñ ☕", "- x", "12"];
const TEXTS: &[&str] = &[
    "reviewed",
    "2026-02-17 ada: fine",
    "**bold:** x",
    "- dash",
    "# sign",
    "`code` ✅",
    "### 1. no step",
    "--- x",
    "ß",
];
const ITEMS: &[&[&str]] = &[&["a.py"], &["one", "two two", "drei"], &["src/é.rs", "{item}"]];

impl Wish {
    /// The change as it can be made to this plan.
    pub(super) fn change(&self, draft: &Draft) -> PlanEdit {
        let count = draft.steps.len().max(1);
        let (step, other) = (self.step % count, self.other % count);
        let text = |texts: &[&str]| texts[self.word % texts.len()].to_owned();
        match self.kind % 9 {
            0 => PlanEdit::Mark { step, mark: None },
            1 => {
                PlanEdit::Mark { step, mark: Some([Mark::Done, Mark::Failed, Mark::Skipped][self.word % 3]) }
            }
            2 => PlanEdit::Set { key: KEYS[self.other % KEYS.len()].to_owned(), value: text(VALUES) },
            3 => PlanEdit::Note { text: text(TEXTS) },
            4 => PlanEdit::Rename { step, id: text(&["renamed", "other-name", "x9"]) },
            5 => PlanEdit::Need {
                step,
                on: verified::ids(draft).get(other).cloned().unwrap_or_else(|| "x".to_owned()),
            },
            6 => PlanEdit::Move { step, to: other },
            7 => PlanEdit::Renumber,
            _ => {
                let items = ITEMS[self.word % ITEMS.len()].iter().map(|&item| item.to_owned()).collect();
                let is_template = |place: &usize| {
                    !matches!(
                        draft.steps[*place].number.value,
                        planwright_core::plan::draft::StepNumber::Counted(_)
                    )
                };
                let step = (0..draft.steps.len()).find(is_template).unwrap_or(step);
                PlanEdit::Expand { step, items }
            }
        }
    }
}
