//! Named plans for the suite: the form of document D, and the ways in which people write plans of that name.

use std::fmt::Write as _;

use planwright_core::dialect;
use planwright_core::dialect::{Dialect, PlanEvent, SidecarEdit, detect};
use planwright_core::plan::draft::{Draft, Mark, StepDraft};
use planwright_core::plan::edit::{EditError, PlanEdit};
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::syntax::source::Source;

/// Plans as their authors keep them.
pub(crate) fn samples() -> Vec<Source> {
    [
        (".harness/PLAN-sessions.md", include_str!("../named/worker.md")),
        (".harness/PLAN.md", include_str!("../named/template.md")),
        ("PLAN.md", include_str!("../named/phases.md")),
        ("docs/PLAN-importer.md", include_str!("../named/words.md")),
        ("PLAN-v2.1.md", include_str!("../named/list.md")),
    ]
    .map(|(name, text)| plan(name, text))
    .into()
}

fn named() -> &'static Dialect {
    dialect::named("named").expect("it is in the table")
}

fn plan(name: &str, text: &str) -> Source {
    Source::new(name, text).written_in(named())
}

fn titles(draft: &Draft) -> Vec<&str> {
    draft.steps.iter().map(|step| step.title.value.as_str()).collect()
}

fn marks(draft: &Draft) -> Vec<Option<Mark>> {
    draft.steps.iter().map(StepDraft::mark).collect()
}

fn command(step: &StepDraft) -> Option<&str> {
    step.contract.as_ref()?.command.as_ref().map(|command| command.value.as_str())
}

// D-01, D-05: everything that the document's form has is read.
#[test]
fn the_form_of_the_document_is_read_with_all_its_content() {
    let source = &samples()[0];
    let draft = source.draft();
    let values = |items: &[planwright_core::syntax::source::Spanned<String>]| {
        items.iter().map(|item| item.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(values(&draft.depends_on), ["parser", "storage-v2"], "an inline list");
    assert_eq!(values(&draft.touches), ["crates/core/src/auth/**", "docs/auth.md"], "a block list");
    assert_eq!(
        draft.title.as_ref().map(|title| title.value.as_str()),
        Some("Plan: sessions that survive a restart")
    );
    assert_eq!(draft.state.map(|state| state.value), Some(PlanState::Running));
    assert!(
        draft.context.as_ref().is_some_and(|context| context.value.starts_with("Sessions are kept on disk."))
    );
    let all = [
        "Write the session file",
        "Read it back at start",
        "Expire old sessions",
        "Sign-out everywhere",
        "Say so in the docs",
    ];
    assert_eq!(titles(&draft), all, "a numbered risk is no task");
    assert_eq!(marks(&draft), [Some(Mark::Done), Some(Mark::Running), None, None, Some(Mark::Skipped)]);
    let commands: Vec<Option<&str>> = draft.steps.iter().map(command).collect();
    assert_eq!(
        commands,
        [
            Some("cargo test -p auth session_file"),
            Some("cargo test -p auth restart\ncargo clippy -p auth -- -D warnings"),
            Some("cargo test -p auth expiry && ./scripts/check-clock.sh"),
            None,
            Some("scripts/check-docs.sh"),
        ]
    );
    assert!(
        draft.steps[3].contract.as_ref().is_some_and(|contract| contract.is_manual),
        "prose is for a person"
    );
    assert_eq!(draft.steps[3].accept.len(), 1);
    assert_eq!(draft.steps[2].needs.as_deref().map(values), Some(vec!["1".to_owned(), "2".to_owned()]));
    let task = draft.steps[0].task.as_ref().map(|task| task.value.as_str());
    assert_eq!(
        task,
        Some(
            "Write every session to `sessions.bin` when it begins.\n- One record a session, with a checksum.\n- Nothing is held in memory alone."
        )
    );
    assert!(
        draft.steps[1]
            .task
            .as_ref()
            .is_some_and(|task| task.value.contains("**Evidence:** tests/restart.rs"))
    );
    assert!(draft.steps.iter().all(|step| step.stray.is_empty()), "an agent reads all of it");
}

// D-01: a task that only has its labels has nothing to be told; a task without labels is told by its title.
#[test]
fn an_empty_what_is_a_hole() {
    assert!(samples()[1].draft().steps[1].task.is_none());
    let bare = plan("PLAN.md", "# T\n\n### 1. Do it\n").draft();
    assert_eq!(bare.steps[0].task.as_ref().map(|task| task.value.as_str()), Some("Do it"));
}

// D-01: other ways of writing tasks are read as well.
#[test]
fn boxes_words_and_lists_are_tasks() {
    let read = |index: usize| samples()[index].draft();
    let all = [
        Some(Mark::Done),
        Some(Mark::Done),
        Some(Mark::Done),
        None,
        Some(Mark::Running),
        None,
        Some(Mark::Skipped),
        Some(Mark::Failed),
        None,
    ];
    assert_eq!(marks(&read(2)), all);
    assert_eq!(titles(&read(3)), ["Read the header", "Read the rows", "Report bad rows"]);
    assert_eq!(marks(&read(3)), [Some(Mark::Done), None, Some(Mark::Done)]);
    assert_eq!(command(&read(3).steps[0]), Some("cargo test header"));
    assert_eq!(read(3).notes.len(), 1);
    assert_eq!(
        titles(&read(4)),
        ["Copy the database", "Point the name at the new host", "Switch the old one off"]
    );
    assert_eq!(marks(&read(4)), [Some(Mark::Done), None, None]);
}

// D-04: a plan of which nothing is asked stays byte for byte what it is.
#[test]
fn what_is_not_asked_for_is_not_written() {
    for source in samples() {
        let dialect = source.dialect();
        assert_eq!(dialect.touched(&source, "2026-11-16T10:00:00Z").text(), source.text());
        assert_eq!(dialect.format(&source).as_deref(), Ok(source.text()));
        let draft = source.draft();
        for (step, read) in draft.steps.iter().enumerate() {
            let same = PlanEdit::Mark { step, mark: read.mark() };
            assert_eq!(dialect.patch(&source, &same), Ok(Vec::new()), "{}: step {step}", source.name());
        }
        if let Some(state) = draft.state {
            assert_eq!(dialect.patch(&source, &PlanEdit::Become { state: state.value }), Ok(Vec::new()));
        }
    }
}

// D-01: a mark changes the status alone and keeps what its author noted behind it.
#[test]
fn a_note_behind_a_status_survives() {
    let source = &samples()[0];
    for (step, mark, line) in [
        (0, None, "- **Status:** [ ] (2026-04-27: 4 tests; the checksum is CRC-32)"),
        (1, Some(Mark::Done), "- **Status:** done (2026-04-29, waiting for review)"),
        (2, Some(Mark::Done), "- **Status:** [x]"),
        (4, None, "- **Status:** pending (moved to the next plan)"),
    ] {
        let edits = named().patch(source, &PlanEdit::Mark { step, mark }).expect("it can be marked");
        assert_eq!(edits.len(), 1);
        assert!(source.edited(&edits).text().contains(line), "{line}");
    }
    let state = PlanEdit::Become { state: PlanState::Done };
    let done = source.edited(&named().patch(source, &state).expect("it can be done"));
    assert!(done.text().contains("**Status:** done (2026-04-29: two of five tasks)"));
}

// D-01: where a plan has no line for a status, one is added in its own style.
#[test]
fn a_status_finds_its_place() {
    let add = |text: &str, change: &PlanEdit| {
        let source = plan("PLAN.md", text);
        let edits = named().patch(&source, change).expect("it can be said");
        source.edited(&edits).text().to_owned()
    };
    let done = PlanEdit::Mark { step: 0, mark: Some(Mark::Done) };
    assert_eq!(
        add("# T\n### 1. A\n- **What:** x\n", &done),
        "# T\n### 1. A\n- **What:** x\n- **Status:** [x]\n"
    );
    assert_eq!(add("# T\n### 1. A\ntext\n", &done), "# T\n### 1. ✅ A\ntext\n");
    assert_eq!(add("# T\n- [ ] A\n", &done), "# T\n- [x] A\n");
    assert_eq!(add("# T\n[ ] A\n", &done), "# T\n[x] A\n");
    let running = PlanEdit::Become { state: PlanState::Running };
    assert_eq!(add("# T\n\n- [ ] A\n", &running), "# T\n**Status:** in-progress\n\n- [ ] A\n");
    assert_eq!(
        add("---\nstatus: draft\n---\n# T\n- [ ] A\n", &running),
        "---\nstatus: in-progress\n---\n# T\n- [ ] A\n"
    );
}

// D-19: needs, ids, places and notes can be changed where a task has room for them.
#[test]
fn other_changes_take_only_their_bytes() {
    let source = &samples()[0];
    let patched = |change: PlanEdit| {
        let edits = named().patch(source, &change).unwrap_or_else(|refusal| panic!("{change:?}: {refusal}"));
        source.edited(&edits)
    };
    let need = patched(PlanEdit::Need { step: 3, on: "write-the-session-file".to_owned() });
    assert!(
        need.text()
            .contains("- **Depends on:** expire-old-sessions, write-the-session-file\n- **What:** A button")
    );
    let renamed = patched(PlanEdit::Rename { step: 0, id: "session-file".to_owned() });
    assert!(renamed.text().contains("- **Id:** session-file\n- **What:** Write every session"));
    let moved = patched(PlanEdit::Move { step: 4, to: 3 });
    assert_eq!(titles(&moved.draft())[3..], ["Say so in the docs", "Sign-out everywhere"]);
    assert!(moved.text().contains("### 4. Say so in the docs"));
    let noted = patched(PlanEdit::Note { text: "reviewed".to_owned() });
    assert!(noted.text().ends_with("\n## Notes\n\n- reviewed\n"));
    let set = patched(PlanEdit::Set { key: "parent_design_doc".to_owned(), value: "docs/x.md".to_owned() });
    assert!(set.text().contains("  - docs/auth.md\nparent_design_doc: docs/x.md\n---"));
    let boxed = &samples()[2];
    let id = PlanEdit::Rename { step: 0, id: "x".to_owned() };
    assert!(
        matches!(named().patch(boxed, &id), Err(EditError::NoWord { .. })),
        "a box has no room for an id"
    );
}

// D-03: progress is a line in the file that belongs to the plan.
#[test]
fn progress_is_a_line_in_the_form_of_the_document() {
    let at = "2026-06-10T14:30:59Z";
    let line =
        |source: &Source, happening: PlanEvent<'_>| named().beside(source, &source.draft(), &happening);
    let append =
        |path: &str, line: &str| vec![SidecarEdit::Append { path: path.to_owned(), line: line.to_owned() }];
    let source = &samples()[0];
    assert_eq!(
        line(source, PlanEvent::Judged { step: 1, passed: true, summary: "2 tests", at }),
        append(
            "progress-sessions.md",
            "2026-06-10 14:30 /work — completed task 2: \"Read it back at start\" (2 tests)"
        )
    );
    assert_eq!(
        line(source, PlanEvent::Judged { step: 1, passed: false, summary: "exit 1\nboom", at }),
        append(
            "progress-sessions.md",
            "2026-06-10 14:30 /work — failed task 2: \"Read it back at start\" (exit 1 boom)"
        )
    );
    let source = &samples()[1];
    assert_eq!(
        line(source, PlanEvent::Noted { text: "a\n b", at }),
        append("progress.md", "2026-06-10 14:30 /work — a b")
    );
    assert_eq!(
        line(source, PlanEvent::Became { state: PlanState::Draft, at }),
        append("progress.md", "2026-06-10 14:30 /plan — plan is draft")
    );
    let other = plan("docs/roadmap.md", source.text());
    assert_eq!(
        line(&other, PlanEvent::Noted { text: "x", at }),
        [],
        "a file of another name keeps no progress"
    );
}

// M-10: told by its name, in any folder, or by tasks of its form; never what belongs to another dialect.
#[test]
fn a_named_plan_is_told_from_others() {
    let because = |place: &str, text: &str| {
        detect(place, text).ok().filter(|told| told.dialect == named()).map(|told| told.because)
    };
    let form = samples()[1].text().to_owned();
    assert_eq!(because(".harness/PLAN.md", "# x\n"), Some("PLAN.md in .harness/".to_owned()));
    assert_eq!(because("/a/docs/PLAN-v2.1.md", ""), Some("PLAN-v2.1.md in docs/".to_owned()));
    assert_eq!(because("PLAN.md", ""), Some("PLAN.md".to_owned()));
    assert_eq!(because("roadmap.md", &form), Some("tasks with What, Verification and Status".to_owned()));
    for (place, text) in [
        ("plan.md", "# x\n- [ ] a\n"),
        ("notes.md", "# x\n### 1. a\n**What:** y\n"),
        (".pi/plans/PLAN-a1b2c3d4.md", "# x\n"),
        ("PLAN.md", "---\ntype: plan\n---\n# x\n"),
        ("PLAN (1).md", form.as_str()),
        ("PLAN.archive.20260101-x.md", "# x\n"),
        ("auth/", "\u{1c}plan.md\n# x\n\u{1c}tasks/01-a.md\n# y\n"),
    ] {
        assert_eq!(because(place, text), None, "{place}");
    }
}

// D-05: a native plan says the same in the same keys, and keeps it when it is made of a named one.
#[test]
fn a_native_plan_depends_on_others_in_the_same_keys() {
    let draft = samples()[0].draft();
    let birth = dialect::NewPlan { id: "x", now: "2026-11-16T10:00:00Z" };
    let native = Source::new("plan.md", dialect::NATIVE.compose(&draft, &birth)).written_in(dialect::NATIVE);
    for read in [native.draft(), (dialect::NATIVE.skim)(&native)] {
        assert_eq!(
            (&read.depends_on, &read.touches),
            (&draft.depends_on, &draft.touches),
            "{}",
            native.text()
        );
    }
    let block = "---\ntype: plan\ndepends_on:\n  - a\n  - \"b\"\ntouches: one\n---\n\n# T\n";
    let read = Source::new("plan.md", block).written_in(dialect::NATIVE).draft();
    let values = |items: &[planwright_core::syntax::source::Spanned<String>]| {
        items.iter().map(|item| item.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (values(&read.depends_on), values(&read.touches)),
        (vec!["a".into(), "b".into()], vec!["one".into()])
    );
}

// P-07: what is composed is read as it was meant, with its commands and marks.
#[test]
fn a_composed_plan_says_the_same() {
    let birth = dialect::NewPlan { id: "x", now: "2026-11-16T10:00:00Z" };
    for source in samples() {
        let draft = source.draft();
        let composed = plan("PLAN.md", &named().compose(&draft, &birth));
        let read = composed.draft();
        assert_eq!((titles(&read), marks(&read)), (titles(&draft), marks(&draft)), "{}", composed.text());
        assert_eq!(
            (read.state, &read.depends_on, &read.touches),
            (draft.state.or(read.state), &draft.depends_on, &draft.touches)
        );
        for (read, meant) in read.steps.iter().zip(&draft.steps) {
            assert_eq!(command(read), command(meant), "{}", composed.text());
            assert_eq!(read.task, meant.task, "{}", composed.text());
        }
    }
}

/// A generator of numbers that are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const NOISE: &[&str] = &[
    "Some prose with a colon: and a [link](x.md).\n\n",
    "```md\n### 9. not a task\n- [ ] nor this\n```\n\n",
    "| a | b |\n|---|---|\n| [ ] | [x] |\n\n",
    "> a quotation\n\n",
    "---\n\n",
    "<!-- - [ ] a comment -->\n\n",
    "- a bullet\n  - another one\n\n",
    "~~~\n## Task 7: code\n~~~\n\n",
    "",
];

/// A plan with tasks in one of the ways in which people write them, with other things between them.
fn generated(chance: &mut Chance) -> (String, Vec<(String, Option<Mark>)>) {
    let style = chance.below(6);
    let count = 1 + chance.below(12);
    let mut text = "# A plan\n\nWhy: because.\n\n## Tasks\n\n".to_owned();
    let mut tasks = Vec::new();
    for number in 1..=count {
        let title = format!(
            "{} the {} {number}",
            chance.pick(&["Write", "Füge", "修复", "Check"]),
            chance.pick(&["`file`", "**page**", "test_a", "café 🍰"])
        );
        let done = chance.below(2) == 0;
        let tick = if done { chance.pick(&["x", "X"]) } else { " " };
        let result = match style {
            0 => write!(text, "### {number}. {title}\n- **What:** do it\n- **Status:** [{tick}]\n"),
            1 => {
                write!(text, "### Task {number}: {title}{}\n\n**Files:** a\n", if done { " ✅" } else { "" })
            }
            2 => write!(
                text,
                "## Step {number} — {title}\n\nStatus: {}\n",
                if done { "done (today)" } else { "not started" }
            ),
            3 => write!(text, "- [{tick}] {title}\n  more of it\n"),
            4 => writeln!(text, "{number}. [{tick}] {title}"),
            _ => write!(text, "* [{tick}] {title}\n    * detail\n"),
        };
        result.expect("a string takes all that is written to it");
        if style < 3 || chance.below(4) == 0 {
            text.push('\n');
            text.push_str(chance.pick(NOISE));
        }
        tasks.push((title, done.then_some(Mark::Done)));
    }
    (text, tasks)
}

// M-11: of thousands of plans in every style no task is lost, whatever stands between them and however they were saved.
#[test]
fn no_task_is_lost() {
    let mut chance = Chance(7);
    for _ in 0..2000 {
        let (text, tasks) = generated(&mut chance);
        let text = match chance.below(4) {
            0 => text.replace('\n', "\r\n"),
            1 => format!("\u{feff}{text}"),
            2 => text.trim_end().to_owned(),
            _ => text,
        };
        let draft = plan("PLAN.md", &text).draft();
        let read: Vec<(String, Option<Mark>)> =
            draft.steps.iter().map(|step| (step.title.value.clone(), step.mark())).collect();
        assert_eq!(read, tasks, "{text}");
    }
}

// M-11: whatever a file holds, reading it never fails, and a change is made as it is meant or refused.
#[test]
fn mutated_plans_are_read_and_changed_or_refused() {
    let mut chance = Chance(11);
    let texts: Vec<String> = samples().iter().map(|source| source.text().to_owned()).collect();
    let scraps = [
        "\r",
        "\n",
        "[",
        "]",
        "**",
        "`",
        "```\n",
        "- [x] ",
        "### ",
        "Status:",
        "\u{feff}",
        "✅",
        "：",
        "---\n",
        "> ",
        "\t",
        "<!--",
        "1.",
        "N+1. ",
        "**Status:** ",
        "\u{1c}",
        "第",
        "🏗\u{fe0f}",
        "|",
        "(",
        "%",
        "100%",
        "**Depends on:** 1, 2 and 3\n",
    ];
    for round in 0..1000 {
        let mut text = texts[round % texts.len()].clone();
        for _ in 0..=chance.below(6) {
            let at = text.floor_char_boundary(chance.below(text.len() + 1));
            let end = text.floor_char_boundary((at + chance.below(40)).min(text.len()));
            match chance.below(3) {
                0 => text.insert_str(at, chance.pick(&scraps)),
                1 => text.replace_range(at..end.max(at), ""),
                _ => text = text[..at].to_owned() + &text[end.max(at)..] + &text[at..end.max(at)],
            }
        }
        let source = plan("PLAN.md", &text);
        let draft = source.draft();
        let mut reach = 0;
        for step in &draft.steps {
            assert!(
                reach <= step.whole.0.start && step.whole.0.end <= text.len(),
                "tasks overlap in {text:?}"
            );
            assert!(step.whole.0.covers(step.heading.0), "{text:?}");
            reach = step.whole.0.end;
        }
        let step = chance.below(draft.steps.len() + 1);
        let mark = Mark::ALL.get(chance.below(5)).copied();
        for change in [
            PlanEdit::Mark { step, mark },
            PlanEdit::Become { state: PlanState::Done },
            PlanEdit::Renumber,
            PlanEdit::Note { text: "x".to_owned() },
        ] {
            if let Ok(edits) = named().patch(&source, &change) {
                let mut meant = draft.clone();
                change.apply(&mut meant).expect("what was made can be meant");
                assert_eq!(source.edited(&edits).draft().steps, meant.steps, "{change:?} in {text:?}");
            }
        }
    }
}

#[test]
fn a_large_plan_is_read() {
    let boxes: String =
        (0..20_000).map(|number| format!("- [ ] task {number} of many, with some words to it\n")).collect();
    let draft = plan("PLAN.md", &format!("# T\n\n{boxes}")).draft();
    assert_eq!(draft.steps.len(), 20_000);
    let headings: String = (1..=5_000)
        .map(|number| format!("### {number}. A\n- **Depends on:** 1\n- **Status:** [x]\n\n"))
        .collect();
    assert_eq!(plan("PLAN.md", &format!("# T\n\n{headings}")).draft().steps.len(), 5_000);
    for text in [
        "[".repeat(100_000),
        "`".repeat(100_000),
        "#".repeat(100_000),
        "- ".repeat(50_000),
        "**".repeat(50_000),
    ] {
        assert!(plan("PLAN.md", &text).draft().steps.len() < 2);
    }
}
