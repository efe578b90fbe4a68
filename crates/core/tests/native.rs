//! What the native dialect reads and writes, as data: each page in `tests/native/suite/` is a list of plans with the draft
//! that must be read from them, or with their canonical form.
//! `UPDATE=1 cargo test -p planwright-core --test native` writes what is read into the pages; read the difference.
#![expect(clippy::disallowed_methods, reason = "a suite reads its pages from the disk")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use planwright_core::dialect::{self, Dialect};
use planwright_core::plan::draft::{ContractDraft, Draft, StepDraft, StepNumber};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::verified;
use planwright_core::plan::verified::{Last, OnFail};
use planwright_core::syntax::source;
use planwright_core::syntax::source::{Source, Spanned};

use crate::page::{self, Case};

const SEED_1: &str = include_str!("native/seed-a-1.md");
const SEED_2: &str = include_str!("native/seed-a-2.md");
const SEED_3: &str = include_str!("native/seed-a-3.md");
const HELLO: &str = include_str!("native/hello.md");
const EXAMPLES: [&str; 4] = [SEED_1, SEED_2, SEED_3, HELLO];

fn native() -> &'static Dialect {
    dialect::DIALECTS.iter().find(|dialect| dialect.name == "native").expect("the native dialect is listed")
}

fn parse(text: &str) -> Draft {
    (native().parse)(&Source::new("plan.md", text))
}

/// A draft on a few lines: what is there is said, what is missing is not.
fn render(text: &str) -> String {
    let source = Source::new("plan.md", text);
    let draft = (native().parse)(&source);
    let mut lines = String::new();
    for entry in &draft.frontmatter.entries {
        let value = entry.value.as_ref().map_or("(not plain)", |value| value.value.as_str());
        let _ = writeln!(lines, "{}: {value}", entry.key.value);
    }
    let preamble = [
        ("title", &draft.title),
        ("context", &draft.context),
        ("budget", &draft.budget),
        ("priority", &draft.priority),
    ];
    for (name, value) in preamble {
        add(&mut lines, name, value.as_ref());
    }
    for step in &draft.steps {
        render_step(&mut lines, step);
    }
    for note in &draft.notes {
        add(&mut lines, "note", Some(note));
    }
    for oddity in &draft.oddities.0 {
        let _ = writeln!(lines, "odd {}: {:?}", source.position(oddity.span.start), oddity.value);
    }
    lines
}

fn render_step(lines: &mut String, step: &StepDraft) {
    let number = match &step.number.value {
        StepNumber::Counted(number) => number.to_string(),
        StepNumber::Template(text) => format!("template {text}"),
    };
    let marks: String = step.marks.iter().map(|mark| format!(" {:?}", mark.value)).collect();
    let _ = writeln!(lines, "step {number}{marks} {:?}", step.title.value);
    add(lines, "  id", step.id.as_ref());
    add(lines, "  target", step.target.as_ref());
    add_list(lines, "  needs", step.needs.as_deref());
    add_list(lines, "  reads", Some(&step.reads).filter(|list| !list.is_empty()).map(Vec::as_slice));
    add_list(lines, "  touches", step.touches.as_deref());
    for (name, list) in [
        ("sealed", &step.sealed),
        ("tools", &step.tools),
        ("env", &step.env),
        ("each", &step.each),
        ("accept", &step.accept),
    ] {
        add_list(lines, &format!("  {name}"), Some(list.as_slice()).filter(|list| !list.is_empty()));
    }
    add(lines, "  network", step.network.as_ref());
    add(lines, "  green", step.green.as_ref());
    add(lines, "  judge", step.judge.as_ref());
    add(lines, "  timeout", step.timeout.as_ref());
    add(lines, "  contract_timeout", step.contract_timeout.as_ref());
    if let Some(setup) = &step.setup {
        let _ = writeln!(lines, "  setup: {:?}", setup.value);
    }
    add(lines, "  task", step.task.as_ref());
    if let Some(contract) = &step.contract {
        let _ = writeln!(lines, "  contract: {}", render_contract(contract));
    }
    add(lines, "  on_fail", step.on_fail.as_ref());
    let unknown = step.fields.0.iter().filter(|field| field.kind.is_none());
    for field in unknown {
        let _ = writeln!(lines, "  unknown: {:?}", field.name.value);
    }
    for stray in &step.stray {
        add(lines, "  stray", Some(stray));
    }
}

fn render_contract(contract: &ContractDraft) -> String {
    let command = match (&contract.command, contract.is_manual) {
        (Some(command), false) => format!("{:?}", command.value),
        (Some(command), true) => format!("manual, but {:?}", command.value),
        (None, true) => "manual".to_owned(),
        (None, false) => "empty".to_owned(),
    };
    let language =
        contract.language.as_ref().map(|language| format!(" in {}", language.value)).unwrap_or_default();
    let expect = contract.expect.as_ref().map(|expect| format!(" == {}", expect.value)).unwrap_or_default();
    command + &language + &expect
}

fn add(lines: &mut String, name: &str, value: Option<&Spanned<String>>) {
    if let Some(value) = value {
        let _ = writeln!(lines, "{name}: {:?}", value.value);
    }
}

fn add_list(lines: &mut String, name: &str, list: Option<&[Spanned<String>]>) {
    if let Some(list) = list {
        let items: Vec<&str> = list.iter().map(|item| item.value.as_str()).collect();
        let _ = writeln!(lines, "{name}: {items:?}");
    }
}

fn found(case: &Case) -> String {
    let [("plan", plan)] =
        case.given.iter().map(|(kind, text)| (kind.as_str(), text.as_str())).collect::<Vec<_>>()[..]
    else {
        panic!("not just a plan is given in: {}", case.claim)
    };
    match case.kind.as_str() {
        "draft" => render(plan),
        "canonical" => match native().format(&Source::new("plan.md", plan)) {
            Ok(text) => text,
            Err(refusal) => format!("refused: {refusal}\n"),
        },
        other => panic!("unknown block `{other}` in: {}", case.claim),
    }
}

// A-04 A-06 A-07 A-08 A-09 A-10 A-11 A-12 A-13 A-14 A-15: each page names what its cases show.
#[test]
fn every_plan_reads_as_its_page_says() {
    let count = page::check("native/suite", found);
    assert!(count > 60, "only {count} cases were found");
}

fn page_beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native").join(name)
}

// A-16 A-08 A-09 A-10 A-11 A-12 A-13: every field of the examples, as `NAME.draft` says.
#[test]
fn the_examples_read_as_the_page_beside_them_says() {
    for name in ["seed-a-1", "seed-a-2", "seed-a-3", "hello"] {
        let text = std::fs::read_to_string(page_beside(&format!("{name}.md"))).expect("a readable example");
        let page = page_beside(&format!("{name}.draft"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&page, render(&text)).expect("a writable page");
        }
        assert_eq!(render(&text), std::fs::read_to_string(&page).expect("a readable page"), "{name}");
    }
}

// A-16: the three examples of the first document have 4, 3 and 4 steps, and nothing in them is odd or left over.
#[test]
fn the_examples_read_cleanly() {
    let counts = EXAMPLES.map(|text| parse(text).steps.len());
    assert_eq!(counts, [4, 3, 4, 3]);
    for text in EXAMPLES {
        let draft = parse(text);
        assert!(draft.oddities.0.is_empty(), "{:?}", draft.oddities.0);
        assert!(draft.title.is_some() && draft.context.is_some() && draft.budget.is_some());
        for step in &draft.steps {
            let has_all = step.target.is_some() && step.task.is_some() && step.on_fail.is_some();
            assert!(has_all && step.stray.is_empty(), "{step:?}");
            let contract = step.contract.as_ref().expect("every step of the examples has a contract");
            assert!(
                contract.command.is_some() && contract.expect.as_ref().is_some_and(|code| code.value == "0")
            );
        }
    }
}

// A-15: `3–N.` and `N+1.` are templates.
#[test]
fn the_third_example_ends_in_templates() {
    let numbers: Vec<StepNumber> = parse(SEED_3).steps.into_iter().map(|step| step.number.value).collect();
    let template = |text: &str| StepNumber::Template(text.to_owned());
    assert_eq!(numbers, [StepNumber::Counted(1), StepNumber::Counted(2), template("3–N"), template("N+1")]);
}

// A-10: the task is the file's own bytes.
#[test]
fn a_task_is_the_text_of_the_file() {
    for text in EXAMPLES {
        let source = Source::new("plan.md", text);
        for step in &(native().parse)(&source).steps {
            let task = step.task.as_ref().expect("every step of the examples has a task");
            assert_eq!(task.value, source.slice(task.span));
        }
    }
}

/// Lines outside of fences, changed by `change`.
fn outside_fences(text: &str, change: impl Fn(&str) -> String) -> String {
    let mut in_fence = false;
    let lines = text.lines().map(|line| {
        let is_fence = line.starts_with("```");
        let changed = if in_fence || is_fence { line.to_owned() } else { change(line) };
        in_fence ^= is_fence;
        changed + "\n"
    });
    lines.collect()
}

/// A way in which a whole file may drift without saying anything else.
type Drift = (&'static str, fn(&str) -> String);

const DRIFTS: &[Drift] = &[
    ("CRLF", |text| text.replace('\n', "\r\n")),
    ("a byte order mark", |text| format!("\u{feff}{text}")),
    ("no last newline", |text| text.trim_end().to_owned()),
    ("CRLF and no last newline", |text| text.trim_end().replace('\n', "\r\n")),
    ("blank lines at both ends", |text| format!("\n\n{text}\n\n\n")),
    ("blank lines around headings", |text| {
        outside_fences(
            text,
            |line| {
                if line.starts_with('#') { format!("\n\n{line}\n\n") } else { line.to_owned() }
            },
        )
    }),
    ("no blank lines around headings", |text| {
        text.replace("\n\n### ", "\n### ").replace("\n\n**target", "\n**target").replace("\n\n## ", "\n## ")
    }),
    ("steps of the second level", |text| outside_fences(text, |line| line.replace("### ", "## "))),
    ("steps of the fourth level", |text| outside_fences(text, |line| line.replace("### ", "#### "))),
    ("upper-case labels with the colon outside", |text| {
        outside_fences(text, |line| match line.strip_prefix("**").and_then(|line| line.split_once(":**")) {
            Some((name, value)) => format!("**{}**:{value}", name.to_uppercase()),
            None => line.to_owned(),
        })
    }),
    ("bullets of stars", |text| {
        outside_fences(text, |line| match line.strip_prefix("- ") {
            Some(item) => format!("*   {item}"),
            None => line.to_owned(),
        })
    }),
    ("bullets of plus signs behind a tab", |text| {
        outside_fences(text, |line| match line.strip_prefix("- ") {
            Some(item) => format!("+\t{item}"),
            None => line.to_owned(),
        })
    }),
    ("blank lines between the items", |text| text.replace("\n- ", "\n\n- ")),
    ("tabs and blanks behind labels and headings", |text| {
        outside_fences(text, |line| {
            if line.starts_with("**") || line.starts_with('#') {
                format!("{line} \t ")
            } else {
                line.to_owned()
            }
        })
    }),
    ("a tab behind the signs of a heading", |text| {
        outside_fences(text, |line| line.replace("### ", "###\t"))
    }),
    ("fences of four backticks", |text| {
        text.replace("```shell", "````shell").replace("\n```\n", "\n````\n").replace("```sh\n", "````sh\n")
    }),
    ("fences of tildes", |text| text.replace("```", "~~~~")),
    ("`exit code = 0`", |text| text.replace("exit_code == 0", "exit code = 0")),
    ("a blank line in front of exit_code and on_fail", |text| {
        text.replace("\nexit_code", "\n\nexit_code").replace("\n**on_fail", "\n\n**on_fail")
    }),
    ("on_fail wrapped", |text| text.replace("), then", "),\nthen")),
    ("numbers spelled out", |text| outside_fences(text, |line| line.replace("### ", "### Step "))),
    ("breaks between steps", |text| text.replace("\n### ", "\n---\n\n### ")),
    ("comments between steps", |text| text.replace("\n### ", "\n<!-- ### 9. no -->\n\n### ")),
];

// A-14: drift is read as what it drifted from.
#[test]
fn a_file_that_drifted_says_the_same() {
    for text in EXAMPLES {
        let meant = parse(text);
        for (name, drift) in DRIFTS {
            let drifted = drift(text);
            // Fences in a task are part of its text, so the example with scripts for tasks can't change them.
            if drifted == text || (text == HELLO && name.starts_with("fences")) {
                continue;
            }
            assert_eq!(format!("{name}\n{}", render(&drifted)), format!("{name}\n{}", render(text)));
            assert_eq!(parse(&drifted), meant, "{name}");
        }
    }
}

// A-14: the canonical form says the same, is its own canonical form, and ends every line in LF.
#[test]
fn the_canonical_form_of_a_file_that_drifted_is_stable() {
    for text in EXAMPLES {
        for (name, drift) in DRIFTS {
            let source = Source::new("plan.md", drift(text));
            let canonical = native().format(&source).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
            assert_eq!(parse(&canonical), parse(source.text()), "{name}");
            assert_eq!(
                native().format(&Source::new("plan.md", canonical.as_str())).as_ref(),
                Ok(&canonical),
                "{name}"
            );
            assert!(
                !canonical.contains('\r') && canonical.ends_with('\n') && !canonical.ends_with("\n\n"),
                "{name}"
            );
        }
    }
}

#[test]
fn the_examples_are_in_canonical_form() {
    for text in EXAMPLES {
        assert_eq!(native().format(&Source::new("plan.md", text)).as_deref(), Ok(text));
    }
}

// A-15: a template is written out from a list into numbered steps; what counts on from it is numbered too.
#[test]
fn the_third_example_is_written_out_from_a_list() {
    let source = Source::new("plan.md", SEED_3);
    let items = ["auth", "billing", "search"].map(str::to_owned).to_vec();
    let edits =
        native().patch(&source, &PlanEdit::Expand { step: 2, items }).expect("a template can be written out");
    let text = source::apply(SEED_3, &edits);
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("### ")).collect();
    assert_eq!(
        headings,
        [
            "### 1. Inventory all usage",
            "### 2. Add httpx dependency",
            "### 3. Migrate file batch (one step per batch of ~5 files): auth",
            "### 4. Migrate file batch (one step per batch of ~5 files): billing",
            "### 5. Migrate file batch (one step per batch of ~5 files): search",
            "### 6. Remove requests dependency",
        ]
    );
    let task = parse(&text).steps[3].task.clone().expect("the task is copied").value;
    assert!(task.starts_with("Migrate files billing. Replace requests calls"), "{task}");
    assert_eq!(text.matches("[batch list here]").count(), 0);
}

#[test]
fn what_needs_a_template_needs_all_that_was_written() {
    let text = "### 1–N. Port\n\n**id:** port\n**each:** a, b\n**task:** Port {item}.\n\n\
                ### N+1. Tidy\n\n**needs:**\n- `port`\n\n### N+2. Ship\n\n**needs:** tidy, port\n";
    let source = Source::new("plan.md", text);
    let items = ["a", "b"].map(str::to_owned).to_vec();
    let edits =
        native().patch(&source, &PlanEdit::Expand { step: 0, items }).expect("a template can be written out");
    assert_eq!(
        source::apply(text, &edits),
        "### 1. Port: a\n\n**id:** port-1\n**task:** Port a.\n\n### 2. Port: b\n\n**id:** port-2\n**task:** Port b.\n\n\
         ### 3. Tidy\n\n**needs:**\n- `port-1`\n- `port-2`\n\n### 4. Ship\n\n**needs:** tidy, port-1, port-2\n"
    );
}

// A-13: every policy, and what may be left out of its spelling.
#[test]
fn policies_are_read_in_every_spelling() {
    let policy = |retries, then| Some(OnFail { retries, then });
    for (text, expected) in [
        ("retry(2), then escalate", policy(2, Last::Escalate)),
        ("retry(2)", policy(2, Last::Escalate)),
        ("Retry 2 then abort.", policy(2, Last::Abort)),
        ("`retry(1)`, `abort`", policy(1, Last::Abort)),
        ("retry(0), then abort", policy(0, Last::Abort)),
        ("escalate", policy(0, Last::Escalate)),
        ("ABORT", policy(0, Last::Abort)),
        ("retry", None),
        ("retry(two)", None),
        ("retry(-1)", None),
        ("retry(99999999999)", None),
        ("abort, then escalate", None),
        ("skip", None),
        ("", None),
    ] {
        assert_eq!(OnFail::read(text), expected, "{text}");
    }
    assert_eq!(OnFail::DEFAULT.to_string(), "retry(2), then escalate");
}

#[test]
fn ids_are_made_of_titles_and_never_clash() {
    let text = "### 1. Write the fix!\n### 2. Write the fix\n**id:** write-the-fix-2\n### 3. Write the FIX\n### 4. 日本語\n";
    assert_eq!(
        verified::ids(&parse(text)),
        ["write-the-fix", "write-the-fix-2", "write-the-fix-3", "step-4"]
    );
}

#[test]
fn a_step_without_needs_waits_for_all_earlier_ones() {
    let text =
        "### 1. a\n### 2. b\n**needs:** none\n### 3. c\n**needs:** #1\n### 4. d\n### 5. e\n**needs:** a, 2\n";
    let draft = parse(text);
    let needs = verified::needs(&draft, &verified::ids(&draft));
    assert_eq!(needs, [vec![], vec![], vec![0], vec![1, 2], vec![0, 1]]);
}

#[test]
fn a_change_that_would_make_a_need_mean_another_step_is_refused() {
    let refusal = |text: &str, change: &PlanEdit| {
        native()
            .patch(&Source::new("plan.md", text), change)
            .expect_err("another step would be meant")
            .to_string()
    };
    let twins = "### 1. Fix\n### 2. Fix\n### 3. Test\n**needs:** fix-2\n";
    assert_eq!(
        refusal(twins, &PlanEdit::Rename { step: 0, id: "mend".to_owned() }),
        "the edit would change more than requested: `fix-2` would refer to another step"
    );
    assert_eq!(
        refusal(twins, &PlanEdit::Move { step: 1, to: 0 }),
        "the edit would change more than requested: `fix-2` would refer to another step"
    );
}

// P-27: a step is added behind the last one, in the file's own level and line ending, and nothing else changes.
#[test]
fn a_step_is_appended_behind_the_last_one() {
    let change = |after: &str| PlanEdit::Append {
        title: "Mend it".to_owned(),
        task: "Mend it.\n\nWell.".to_owned(),
        target: "coder".to_owned(),
        after: after.to_owned(),
    };
    let plan = "---\ntype: plan\n---\n\n# T\n\n## 1. A\n\n**contract:** manual\n\n## Notes\n\n- mine\n";
    for text in [plan.to_owned(), plan.replace('\n', "\r\n")] {
        let source = Source::new("plan.md", text.as_str());
        let edits =
            native().patch(&source, &change("a")).unwrap_or_else(|refusal| panic!("{refusal}: {text}"));
        let new = source.edited(&edits);
        assert_eq!(edits.len(), 1);
        assert!(
            new.text().contains("## 2. Mend it")
                && new.text().ends_with("- mine\n") | new.text().ends_with("- mine\r\n")
        );
        let draft = new.draft();
        assert_eq!(draft.steps.len(), 2, "{}", new.text());
        assert!(draft.steps[1].contract.as_ref().is_some_and(|contract| contract.is_manual));
        assert_eq!(draft.steps[0], source.draft().steps[0]);
    }
    let source = Source::new("plan.md", plan);
    // What would be read as more than a task is left alone.
    for (title, task) in
        [("two\nlines", "Mend it."), ("Mend it", "Mend it.\n\n## 9. Another\n\n**contract:** true")]
    {
        let odd = PlanEdit::Append {
            title: title.to_owned(),
            task: task.to_owned(),
            target: "coder".to_owned(),
            after: "a".to_owned(),
        };
        assert!(native().patch(&source, &odd).is_err(), "{title}: {task}");
    }
    let record = Source::new("p.yaml", "id: p\ntask: T\nsteps: []\n")
        .written_in(dialect::named("record").expect("a dialect"));
    assert!(record.dialect().patch(&record, &change("a")).is_err());
}
