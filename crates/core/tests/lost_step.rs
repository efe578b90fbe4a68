//! No step is lost: however headings and labels are misspelled, a plan has the same steps, or an error. And no fix takes a
//! step or a contract away.

use planwright_core::dialect;
use planwright_core::dialect::detect;
use planwright_core::plan::draft::{Draft, StepDraft};
use planwright_core::syntax::diagnostic::{Diagnostic, Fix, Severity};
use planwright_core::syntax::source::{Edit, Source, Span};
use planwright_core::verify::{Facts, Study, VerifyLimits, repaired, verify};
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert, proptest};

use crate::sweep::is_whole;

/// Rules that say of which program or file they know nothing; the samples are about other machines.
const ABOUT_THE_WORLD: &[&str] = &["PW0203", "PW0304", "PW0501", "PW0204", "PW0109"];

const NATIVE: &[&str] = &[
    include_str!("native/seed-a-1.md"),
    include_str!("native/seed-a-2.md"),
    include_str!("native/hello.md"),
];
const NAMED: &[&str] = &[
    include_str!("named/worker.md"),
    "# Plan: two things\n\n## Tasks\n\n### Task 1: First\n\n**What:** a\n**Verification:** `test -e a`\n\n\
     ### Task 2: Second\n\n**What:** b\n**Verification:** `test -e b`\n",
];

/// Spellings of `2. Title` that people and models use, and some that nobody should.
const HEADINGS: &[&str] = &[
    "### {n} - {t}",
    "### {n} – {t}",
    "### {n} — {t}",
    "### {t}",
    "## {t}",
    "# {t}",
    "#### {t}",
    "# {n}. {t}",
    "## {n}. {t}",
    "#### {n}. {t}",
    "### Task {n}: {t}",
    "# Task {n}: {t}",
    "## Task {n}: {t}",
    "### Step {n}: {t}",
    "### step-{n} {t}",
    "### {n} {t}",
    "### ({n}) {t}",
    "### [{n}] {t}",
    "### #{n} {t}",
    "### {n}\\. {t}",
    "### {r}. {t}",
    "### {n}a. {t}",
    "### {n}) {t}",
    "### {n}: {t}",
    "### **{n}.** {t}",
    "### **{n}. {t}**",
    "### *{n}.* {t}",
    "### `{n}.` {t}",
    "### 🚀 {n}. {t}",
    "### {n}.1 {t}",
    "### {n}/9 {t}",
    "### ~~{n}. {t}~~",
    "###{n}. {t}",
    "###\u{a0}{n}. {t}",
    "####### {n}. {t}",
    "### Phase {n}: {t}",
    "### Part {r}: {t}",
    "**{n}. {t}**",
    "{n}. {t}",
    "{t}\n---",
    "{n}. {t}\n===",
    "  ### {n}. {t}",
];
const ROMAN: &[&str] = &["I", "II", "III", "IV", "V", "VI", "VII", "VIII"];

/// Spellings of `**name:**`.
const LABELS: &[&str] = &[
    "{n}:",
    "**{n}**:",
    "__{n}:__",
    "- **{n}:**",
    "* {n}:",
    "{N}:",
    "**{N}:**",
    "*{n}:*",
    "`{n}:`",
    "**{n}** :",
    "{n} :",
];

fn source(place: &str, text: String) -> Source {
    Source::new(place, text).recognised(None)
}

fn checked(source: &Source) -> Vec<Diagnostic> {
    let draft = source.draft();
    let study = Study::of(source, &draft);
    let all = verify(&study, &Facts::default(), &VerifyLimits::default()).diagnostics;
    all.into_iter().filter(|found| !ABOUT_THE_WORLD.contains(&found.code)).collect()
}

fn errors(found: &[Diagnostic]) -> Vec<&'static str> {
    found.iter().filter(|found| found.severity == Severity::Error).map(|found| found.code).collect()
}

fn command(step: &StepDraft) -> Option<&str> {
    step.contract.as_ref()?.command.as_ref().map(|command| command.value.as_str())
}

fn commands(draft: &Draft) -> Vec<&str> {
    draft.steps.iter().filter_map(command).collect()
}

/// The text with the heading of one step written otherwise.
fn with_heading(text: &str, place: usize, style: &str) -> String {
    let source = source("PLAN.md", text.to_owned());
    let step = &source.draft().steps[place];
    let number = (place + 1).to_string();
    let title = step.title.value.as_str();
    let roman = ROMAN.get(place).copied().unwrap_or("IX");
    let heading = style.replace("{n}", &number).replace("{r}", roman).replace("{t}", title);
    source.edited(&[Edit::replace(step.heading.0, heading)]).text().to_owned()
}

/// The text with the labels of one step written otherwise.
fn with_labels(text: &str, place: usize, style: &str) -> String {
    let source = source("PLAN.md", text.to_owned());
    let draft = source.draft();
    let Some(step) = draft.steps.get(place) else { return text.to_owned() };
    let edits = step.fields.0.iter().map(|field| {
        let name = field.name.value.as_str();
        let line = source.line_at(field.label.start);
        let mut letters = name.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        let capital = format!("{first}{}", letters.as_str());
        let label = style.replace("{n}", &name.to_lowercase()).replace("{N}", &capital);
        Edit::replace(Span::new(line.start, field.label.end), label)
    });
    let edits: Vec<Edit> = edits.collect();
    source.edited(&edits).text().to_owned()
}

#[derive(Debug, Clone)]
struct Drift {
    sample: prop::sample::Index,
    headings: Vec<(prop::sample::Index, prop::sample::Index)>,
    labels: Option<(prop::sample::Index, prop::sample::Index)>,
}

fn drifts() -> impl Strategy<Value = Drift> {
    let pair = || (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    let headings = prop::collection::vec(pair(), 1..3);
    (any::<prop::sample::Index>(), headings, prop::option::of(pair()))
        .prop_map(|(sample, headings, labels)| Drift { sample, headings, labels })
}

/// The text after the drift, and how many steps it began with.
fn drifted(samples: &[&str], place: &str, drift: &Drift) -> (String, usize) {
    let mut text = drift.sample.get(samples).to_string();
    let count = source(place, text.clone()).draft().steps.len();
    if let Some((step, style)) = &drift.labels {
        text = with_labels(&text, step.index(count), LABELS[style.index(LABELS.len())]);
    }
    // From the last to the first: what comes before a heading still has its steps.
    let mut places: Vec<(usize, &str)> = drift
        .headings
        .iter()
        .map(|(step, style)| (step.index(count), HEADINGS[style.index(HEADINGS.len())]))
        .collect();
    places.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
    places.dedup_by_key(|(step, _)| *step);
    for (step, style) in places {
        if step < source(place, text.clone()).draft().steps.len() {
            text = with_heading(&text, step, style);
        }
    }
    (text, count)
}

fn config() -> ProptestConfig {
    let cases = if is_whole() { 3_000 } else { 120 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    // A-07, A-14: never fewer steps or contracts without an error, and a fix never makes it worse.
    #[test]
    fn a_native_plan_that_drifts_keeps_its_steps_or_says_so(drift in drifts()) {
        let (text, count) = drifted(NATIVE, "plan.md", &drift);
        let source = source("plan.md", text.clone());
        let draft = source.draft();
        let found = checked(&source);
        prop_assert!(draft.steps.len() >= count || !errors(&found).is_empty(), "{count} steps became {}:\n{text}", draft.steps.len());
        let judged = commands(&draft).len();
        let before = commands(&self::source("plan.md", drift.sample.get(NATIVE).to_string()).draft()).len();
        prop_assert!(judged >= before || !errors(&found).is_empty(), "{before} contracts became {judged}:\n{text}");
        let fixed = fixed(source);
        let after = fixed.draft();
        let is_whole = after.steps.len() >= count && commands(&after).len() >= before;
        prop_assert!(is_whole || !errors(&checked(&fixed)).is_empty(), "a fix lost a step:\n{text}\nbecame\n{}", fixed.text());
    }

    #[test]
    fn a_named_plan_that_drifts_keeps_its_steps_or_says_so(drift in drifts()) {
        let (text, count) = drifted(NAMED, "PLAN.md", &drift);
        let source = source("PLAN.md", text.clone());
        let draft = source.draft();
        let found = errors(&checked(&source));
        let read = draft.steps.len();
        prop_assert!(read >= count || !found.is_empty(), "{count} steps became {read}:\n{text}");
        let judged = commands(&draft).len();
        let before = commands(&self::source("PLAN.md", drift.sample.get(NAMED).to_string()).draft()).len();
        prop_assert!(judged >= before || !found.is_empty(), "{before} contracts became {judged}:\n{text}");
    }
}

const HEAD: &str = "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Two things\n\n";
const FIRST: &str = "### 1. First thing\n\n**target:** shell\n**task:** a\n**contract:** `test -e a`\n\n";
const SECOND: &str = "\n\n**target:** shell\n**task:** b\n**contract:** `test -e b`\n";

/// Fixes until nothing is left to fix.
fn fixed(mut source: Source) -> Source {
    for _ in 0..8 {
        let repaired = repaired(&source, &checked(&source));
        source = repaired.source;
        if repaired.titles.is_empty() {
            break;
        }
    }
    source
}

// The headings of the report that lost a step without a word: each is read, or is an error whose fix makes it a step.
#[test]
fn every_heading_that_lost_a_step_is_read_or_fixed() {
    for heading in [
        "### 2 - Second thing",
        "### Second thing",
        "## Second thing",
        "### Task 2: Second thing",
        "### Step 2: Second thing",
        "### 2 Second thing",
        "### (2) Second thing",
        "### #2 Second thing",
        "### 2\\. Second thing",
        "### II. Second thing",
        "### 2a. Second thing",
        "### 2) Second thing",
        "### 2: Second thing",
        "# 2. Second thing",
        "# Task 2: Second thing",
        "#### Second thing",
        "###2. Second thing",
    ] {
        let text = format!("{HEAD}{FIRST}{heading}{SECOND}");
        let read = source("plan.md", text.clone());
        let is_read = read.draft().steps.len() == 2;
        assert!(is_read || errors(&checked(&read)).contains(&"PW0117"), "{heading}");
        let fixed = fixed(read);
        let draft = fixed.draft();
        assert_eq!(commands(&draft), ["test -e a", "test -e b"], "{heading}\n{}", fixed.text());
        assert_eq!(draft.steps[1].title.value, "Second thing", "{heading}");
        assert!(errors(&checked(&fixed)).is_empty(), "{heading}: {:?}", checked(&fixed));
        assert!(fixed.text().contains("\n### 2. Second thing\n") || is_read, "{heading}\n{}", fixed.text());
    }
}

// `verify --fix` made contracts the text of tasks.
#[test]
fn fields_without_stars_become_fields() {
    let plain = format!("{HEAD}{FIRST}### 2. Second thing{SECOND}").replace("**", "");
    assert_eq!(errors(&checked(&source("plan.md", plain.clone()))), ["PW0119"; 6]);
    let fixed = fixed(source("plan.md", plain));
    assert_eq!(commands(&fixed.draft()), ["test -e a", "test -e b"], "{}", fixed.text());
    assert!(errors(&checked(&fixed)).is_empty(), "{:?}", checked(&fixed));
}

/// A rule that proposes to replace `from` by `to`.
fn proposal(source: &Source, from: &str, to: &str) -> Diagnostic {
    let at = source.text().find(from).expect("it is in the text");
    let edits = vec![Edit::replace(Span::new(at, at + from.len()), to)];
    let mut any = checked(&Source::new("x.md", "").recognised(None)).remove(0);
    any.fix = Some(Fix { title: "improve it".to_owned(), edits });
    any
}

/// The saboteur: rules whose fixes remove, weaken or hide a contract, or a step. In every dialect that has contracts.
#[test]
fn no_fix_takes_a_step_or_a_contract_away() {
    let native = format!("{HEAD}{FIRST}### 2. Second thing{SECOND}exit_code == 3\n");
    let named = "# Plan: x\n\n### 1. First\n\n- **What:** a\n- **Verification:** `test -e a`\n\n\
                 ### 2. Second\n\n- **What:** b\n- **Verification:** `test -e b`\n";
    let directory = "\u{1c}plan.md\n---\ntitle: X\n---\n\nWhy.\n\u{1c}tasks/01-a.md\n---\nid: a\n---\n\nDo.\n\n\
                     ## Verification\n\n`test -e a`\n";
    let record = "task: x\nstatus: planning\ncurrentStepIndex: 0\nsteps:\n  - index: 0\n    title: a\n    \
                  instructions: b\n    contract: test -e a\n";
    let cases: &[(&str, &str, &str, &str)] = &[
        ("plan.md", &native, "**contract:** `test -e a`", ""),
        ("plan.md", &native, "`test -e a`", "manual"),
        ("plan.md", &native, "`test -e a`", "`true`"),
        ("plan.md", &native, "**contract:** `test -e b`", "contract: `test -e b`"),
        ("plan.md", &native, "exit_code == 3", "exit_code == 0"),
        ("plan.md", &native, "**target:** shell\n", "**task:**\n**target:** shell\n```\n"),
        ("plan.md", &native, "### 2. Second thing", "Second thing"),
        ("plan.md", &native, "# Two things", "# Two things\n\n<!--"),
        ("PLAN.md", named, "**Verification:** `test -e b`", "Check: `test -e b`"),
        ("PLAN.md", named, "### 2. Second", ""),
        ("plans/x/", directory, "## Verification", "## Ideas"),
        ("plans/x/", directory, "`test -e a`", "`true`"),
        (".rawko/plans/x.yaml", record, "contract: test -e a", "note: test -e a"),
    ];
    for (place, text, from, to) in cases {
        let source = source(place, (*text).to_owned());
        assert!(!commands(&source.draft()).is_empty(), "{place} has a contract");
        let harmless = proposal(&source, "a", "a");
        let sabotage = proposal(&source, from, to);
        let repaired = repaired(&source, &[sabotage, harmless]);
        assert_eq!(repaired.source.text(), *text, "{place}: {from} -> {to}");
        assert!(
            matches!(repaired.refused.as_slice(), [(0, why)] if why.contains("it would")),
            "{from} -> {to}"
        );
        assert_eq!(repaired.titles.len(), 1, "what does no harm is still applied");
    }
}

// A-15: a template has no contract of its own; expanding it is a fix.
#[test]
fn a_template_is_expanded_by_a_fix() {
    let text = format!(
        "{HEAD}### 1–N. Make {{item}}\n\n**target:** shell\n**each:** a, b\n**task:** Make {{item}}.\n\
         **contract:** `test -e {{item}}`\n"
    );
    let source = source("plan.md", text);
    let study_draft = source.draft();
    let study = Study::of(&source, &study_draft);
    let found = verify(&study, &Facts::default(), &VerifyLimits::default()).diagnostics;
    let repaired = repaired(&source, &found);
    assert_eq!(commands(&repaired.source.draft()), ["test -e a", "test -e b"], "{}", repaired.source.text());
}

// B-06: the steps of a record may begin after pages of other text.
#[test]
fn a_dialect_is_told_by_the_whole_file() {
    let context = "  Words that fill some pages.\n".repeat(400);
    let record =
        format!("task: x\nstatus: draft\ncontext: |\n{context}steps:\n  - title: a\n    instructions: b\n");
    let told = detect("plans/x.yaml", &record).expect("a record");
    assert_eq!((told.dialect.name, told.because.as_str()), ("record", "`task`, `steps` and `status`"));
    let native = format!("---\nnotes: |\n{context}type: plan\n---\n\n# X\n");
    assert_eq!(detect("x.md", &native).expect("a native plan").dialect.name, "native");
}

/// The dialects whose plans are Markdown with headings are the ones above.
#[test]
fn every_dialect_is_known_here() {
    let names: Vec<&str> = dialect::DIALECTS.iter().map(|dialect| dialect.name).collect();
    assert_eq!(names, ["native", "directory", "proposal", "record", "named"]);
}
