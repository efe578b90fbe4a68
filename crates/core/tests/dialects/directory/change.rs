//! What changes do to a folder: each takes only its bytes, in the file that it is about.

use planwright_core::dialect::{NewPlan, named};
use planwright_core::plan::draft::{Draft, Mark, StepDraft};
use planwright_core::plan::edit::{EditError, PlanEdit};
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::syntax::source::{Excerpt, Source, Span, Spanned};

use super::{AUTH, File, PLAN, RELEASE, folder};

/// The files that a change gives other bytes, with what they hold then.
fn changed(source: &Source, change: &PlanEdit) -> Result<Vec<(String, String)>, EditError> {
    let after = source.edited(&source.dialect().patch(source, change)?);
    let texts = |source: &Source| -> Vec<(String, String)> {
        source.parts().iter().map(|part| (part.path.clone(), source.slice(part.span).to_owned())).collect()
    };
    let before = texts(source);
    assert_eq!(before.len(), after.parts().len(), "no file comes or goes");
    Ok(texts(&after).into_iter().filter(|file| !before.contains(file)).collect())
}

/// The one file that a change gives other bytes.
fn one(source: &Source, change: &PlanEdit) -> String {
    let files = changed(source, change).unwrap_or_else(|refusal| panic!("{change:?}: {refusal}"));
    assert_eq!(files.len(), 1, "{change:?}: {files:?}");
    files.into_iter().map(|(_, text)| text).collect()
}

fn need(step: usize, on: &str) -> PlanEdit {
    PlanEdit::Need { step, on: on.to_owned() }
}

// E-04: another need is written in the form that the list has.
#[test]
fn a_need_is_added_in_the_form_of_the_list() {
    let forms = [
        ("id: b", "id: b\ndepends_on: [a]"),
        ("depends_on: []\nid: b", "depends_on: [a]\nid: b"),
        ("depends_on:  # none\nid: b", "depends_on: [a]  # none\nid: b"),
        ("id: b\ndepends_on: [c]  # why", "id: b\ndepends_on: [c, a]  # why"),
        ("id: b\ndepends_on: [ \"c\", ]", "id: b\ndepends_on: [ \"c\", a, ]"),
        ("depends_on:\n    - c  # why\n\nid: b", "depends_on:\n    - c  # why\n    - a\n\nid: b"),
        ("depends_on:\n- c\nid: b", "depends_on:\n- c\n- a\nid: b"),
        ("depends_on: [\n  c,\n]\nid: b", "depends_on: [\n  c, a,\n]\nid: b"),
    ];
    for newline in ["\n", "\r\n"] {
        for (before, after) in forms {
            let text = |yaml: &str| format!("---\n{yaml}\n---\nDo it.").replace('\n', newline);
            let (a, c) = ("---\nid: a\n---\nDo it.", "---\nid: c\n---\nDo it.");
            let own = text(before);
            let files = [PLAN, ("tasks/01-a.md", a), ("tasks/02-b.md", own.as_str()), ("tasks/03-c.md", c)];
            let source = folder("p", &files);
            assert_eq!(one(&source, &need(1, "a")), text(after));
            assert_eq!(changed(&source, &need(1, "b")).map(|files| files.len()), Ok(1), "even a wrong one");
        }
    }
}

#[test]
fn a_need_that_is_there_changes_nothing_and_one_with_no_place_is_refused() {
    let source = folder("p", AUTH);
    assert_eq!(changed(&source, &need(1, "create-schema")), Ok(Vec::new()));
    let scalar = ("tasks/01-a.md", "---\nid: a\ndepends_on: b\n---\nDo it.\n");
    let unclosed = ("tasks/02-b.md", "---\nid: b\n\nDo it.\n");
    let source = folder("p", &[PLAN, scalar, unclosed]);
    assert!(changed(&source, &need(0, "x")).is_err());
    assert!(changed(&source, &need(1, "x")).is_err());
}

// E-05: another id is written in its own file and in those that wait for it.
#[test]
fn a_rename_follows_into_the_files_that_wait_for_the_task() {
    let source = folder("p", RELEASE);
    let rename = PlanEdit::Rename { step: 0, id: "code-freeze".to_owned() };
    let files = changed(&source, &rename).expect("it is made");
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["tasks/05-freeze.md", "tasks/10-write-the-notes.md", "tasks/11-tag.md"]);
    assert!(files[0].1.starts_with("---\nid: code-freeze\n---\n"), "{}", files[0].1);
    assert!(files[1].1.contains("  - code-freeze   # nothing may change any more\n"), "{}", files[1].1);
    assert!(files[2].1.contains("[\n  code-freeze,\n"), "{}", files[2].1);
}

// E-03: the title and the keys of plan.md are set in plan.md; what has no place there is refused.
#[test]
fn keys_are_set_in_plan_md() {
    let source = folder("p", RELEASE);
    let set = |key: &str, value: &str| PlanEdit::Set { key: key.to_owned(), value: value.to_owned() };
    let text = one(&source, &set("title", "Ship: 2.0"));
    assert!(
        text.starts_with("---\n# what the release is called\ntitle: \"Ship: 2.0\"\npriority: high\n"),
        "{text}"
    );
    assert!(one(&source, &set("timeout", "1h")).contains("\ntimeout: 1h\n---\n"));
    let refused = changed(&source, &set("status", "done")).expect_err("there is no such key");
    assert_eq!(refused.to_string(), "the directory dialect does not support `status`");
    assert!(changed(&source, &set("tags", "x")).is_err(), "a list is not replaced by a word");
    assert!(changed(&folder("p", &AUTH[1..]), &set("title", "x")).is_err(), "there is no plan.md");
}

// Notes go to the end of plan.md, and are no part of what the author says.
#[test]
fn a_note_goes_to_the_end_of_plan_md() {
    let note = PlanEdit::Note { text: "all is well".to_owned() };
    let release = folder("p", RELEASE);
    assert!(one(&release, &note).ends_with("- 🚀 after the freeze\n- all is well\n"));
    let auth = folder("p", AUTH);
    let text = one(&auth, &note);
    assert!(text.ends_with("identity to handlers.\n\n## Notes\n\n- all is well\n"), "{text}");
    for ending in ["Why.", "Why.\n", "", "## Notes\n", "## Notes\n\nProse.\n", "```\nunclosed\n```\n"] {
        let plan = format!("---\ntitle: T\n---\n{ending}");
        let source = folder("p", &[("plan.md", plan.as_str()), AUTH[1]]);
        let noted = source.edited(&source.dialect().patch(&source, &note).expect("it is made"));
        let (before, after) = (source.dialect().meaning(&source), noted.dialect().meaning(&noted));
        assert_eq!(after, before, "{ending:?}: a note is nothing that the author says");
        let again = noted.edited(&noted.dialect().patch(&noted, &note).expect("it is made"));
        assert_eq!(again.draft().notes.len(), 2, "{ending:?}");
    }
    // The twin: where the note would be read as code it is not written.
    let open = folder("p", &[("plan.md", "---\ntitle: T\n---\n```\nopen\n"), AUTH[1]]);
    assert!(changed(&open, &note).is_err());
}

// E-06: the order is in the names of the files, which no edit of a text can change.
#[test]
fn the_order_of_tasks_is_in_the_names_of_their_files() {
    let source = folder("p", AUTH);
    let refused =
        changed(&source, &PlanEdit::Move { step: 2, to: 0 }).expect_err("a file would have to be renamed");
    assert_eq!(
        refused.to_string(),
        "file names set the order of these steps; rename `tasks/03-wire-handler.md`"
    );
    assert!(changed(&folder("p", RELEASE), &PlanEdit::Renumber).is_err());
    assert!(changed(&source, &PlanEdit::Expand { step: 0, items: vec!["x".to_owned()] }).is_err());
}

// The document has no place for states and marks: nothing is written, and a mark is refused.
#[test]
fn states_and_marks_have_no_place_in_the_files() {
    let source = folder("p", AUTH);
    for state in PlanState::all() {
        assert_eq!(changed(&source, &PlanEdit::Become { state }), Ok(Vec::new()));
    }
    for mark in Mark::ALL {
        let refused = changed(&source, &PlanEdit::Mark { step: 0, mark: Some(mark) });
        assert!(matches!(refused, Err(EditError::NoWord { .. })), "{refused:?}");
    }
    assert_eq!(changed(&source, &PlanEdit::Mark { step: 0, mark: None }), Ok(Vec::new()));
}

#[test]
fn the_canonical_form_says_the_same_and_is_its_own() {
    let windows = |(path, text): &File<'_>| {
        ((*path).to_owned(), format!("\u{feff}\n{}\n\n", text.replace('\n', "\r\n")))
    };
    for files in [AUTH, RELEASE] {
        let saved: Vec<(String, String)> = files.iter().map(windows).collect();
        let saved: Vec<File<'_>> = saved.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let source = folder("p", &saved);
        let text = source.dialect().format(&source).expect("it says the same");
        assert!(!text.contains(['\r', '\u{feff}']), "{text}");
        assert_eq!(source.dialect().format(&source.with(text.as_str())).as_ref(), Ok(&text));
        assert_eq!(source.with(text).draft(), source.draft());
    }
}

fn birth() -> NewPlan<'static> {
    NewPlan { id: "PLAN-a1b2c3d4", now: "2026-11-16T10:00:00Z" }
}

/// What a folder says that was made of a draft.
fn composed(draft: &Draft) -> Source {
    let dialect = named("directory").expect("it is in the table");
    Source::new("composed", dialect.compose(draft, &birth())).written_in(dialect)
}

// P-07: a folder that is written anew says what the old one said, however often.
#[test]
fn a_folder_that_is_composed_says_what_was_meant() {
    for files in [AUTH, RELEASE] {
        let draft = folder("p", files).draft();
        let once = composed(&draft);
        assert!(super::errors(&once).is_empty(), "{:?}\n{}", super::errors(&once), once.text());
        let read = once.draft();
        assert_eq!((&read.title, &read.context, &read.notes), (&draft.title, &draft.context, &draft.notes));
        for (read, meant) in read.steps.iter().zip(&draft.steps) {
            assert_eq!((&read.id, &read.title, &read.task), (&meant.id, &meant.title, &meant.task));
            assert_eq!(
                (&read.needs, &read.target, &read.timeout),
                (&meant.needs, &meant.target, &meant.timeout)
            );
            let command = |step: &StepDraft| {
                let command = step.contract.as_ref().and_then(|contract| contract.command.as_ref());
                command.map(|command| command.value.trim_end().to_owned())
            };
            assert_eq!((&read.accept, command(read)), (&meant.accept, command(meant)));
        }
        assert_eq!(composed(&read).text(), once.text(), "and the next one is the same");
    }
}

// P-07: whatever a plan of another dialect calls its steps, the files have names and the tasks have ids.
#[test]
fn any_title_and_id_becomes_a_file_and_an_id() {
    let mut draft = folder("p", AUTH).draft();
    let titles =
        ["C#", "Über # und so #", "日本語", "a/../b \\ c", "", "Create\u{1c}schema", "Implement service"];
    let step = draft.steps[0].clone();
    draft.steps = titles
        .iter()
        .map(|title| {
            let mut step = step.clone();
            step.title.value = (*title).to_owned();
            step.id = Some(Spanned::new(format!("{title} id"), Span::default()));
            step
        })
        .collect();
    let made = composed(&draft);
    let read = made.draft();
    assert_eq!(read.steps.len(), titles.len(), "{}", made.text());
    for (read, title) in read.steps.iter().zip(titles).filter(|(_, title)| !title.is_empty()) {
        assert_eq!(read.title.value, title.replace('\u{1c}', " "));
    }
    assert_eq!(super::errors(&made), [""; 0], "{}", made.text());
}

// A contract that expects another exit code than 0 must not come out as its opposite: it is said, or left to a person.
#[test]
fn a_contract_that_expects_a_failure_never_becomes_one_that_expects_success() {
    let mut draft = folder("p", RELEASE).draft();
    let contract = draft.steps[1].contract.as_mut().expect("it has one");
    contract.expect = Some(Spanned::new("1".to_owned(), Span::default()));
    let read = composed(&draft).draft().steps.swap_remove(1);
    let task = read.task.map_or_else(String::new, |task| task.value);
    match read.contract.and_then(|contract| contract.expect) {
        Some(code) => assert_eq!(code.value, "1"),
        None => assert!(task.contains("This must exit with 1:") && task.contains("> grep -q"), "{task}"),
    }
}

// The twin, and no fence in a command can end its section.
#[test]
fn a_contract_that_expects_success_is_a_section_of_its_own() {
    for command in ["test -s x", "cat <<'E'\n```\n````\nE", "test -s x &&\n\n  test -s y"] {
        let mut draft = folder("p", RELEASE).draft();
        let mut other = Excerpt::new(Span::default());
        other.push(command, 0);
        draft.steps[1].contract.as_mut().expect("it has one").command = Some(other);
        let read = composed(&draft).draft().steps.swap_remove(1);
        let written = read.contract.and_then(|contract| contract.command).expect("it is written");
        assert_eq!(written.value.trim_end(), command);
        assert_eq!(read.task.map(|task| task.value).as_deref(), Some("Write `CHANGELOG.md`."));
    }
}
