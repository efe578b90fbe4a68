//! Folders for the suite: document E's own examples, and one with every way to write things.

#[path = "directory/change.rs"]
mod change;
#[path = "directory/mutant.rs"]
mod mutant;

use planwright_core::dialect::{detect, directory, named};
use planwright_core::plan::draft::Draft;
use planwright_core::syntax::diagnostic::{Diagnostic, Severity};
use planwright_core::syntax::source::Source;
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

/// Plans as their authors keep them.
pub(crate) fn samples() -> Vec<Source> {
    [("plans/auth", AUTH), ("plans/database", DATABASE), ("plans/release", RELEASE)]
        .map(|(name, files)| folder(name, files))
        .into()
}

const AUTH: &[(&str, &str)] = &[
    ("plan.md", include_str!("../directory/auth/plan.md")),
    ("tasks/01-create-schema.md", include_str!("../directory/auth/tasks/01-create-schema.md")),
    ("tasks/02-implement-service.md", include_str!("../directory/auth/tasks/02-implement-service.md")),
    ("tasks/03-wire-handler.md", include_str!("../directory/auth/tasks/03-wire-handler.md")),
];

const DATABASE: &[(&str, &str)] = &[
    ("plan.md", include_str!("../directory/database/plan.md")),
    ("tasks/01-setup-db.md", include_str!("../directory/database/tasks/01-setup-db.md")),
];

const RELEASE: &[(&str, &str)] = &[
    ("plan.md", include_str!("../directory/release/plan.md")),
    ("tasks/05-freeze.md", include_str!("../directory/release/tasks/05-freeze.md")),
    ("tasks/10-write-the-notes.md", include_str!("../directory/release/tasks/10-write-the-notes.md")),
    ("tasks/11-tag.md", include_str!("../directory/release/tasks/11-tag.md")),
    ("tasks/20-announce.md", include_str!("../directory/release/tasks/20-announce.md")),
];

fn folder(name: &str, files: &[(&str, &str)]) -> Source {
    let dialect = named("directory").expect("it is in the table");
    Source::new(name, Source::bundle(files.iter().copied())).written_in(dialect)
}

/// One file of a folder: its path and its text.
type File<'a> = (&'a str, &'a str);

const PLAN: File<'_> = ("plan.md", "---\ntitle: T\n---\n\nWhy.\n");

/// Every complaint of a kind about a folder: where and what.
fn complaints(source: &Source, severity: Severity) -> Vec<String> {
    let draft = source.draft();
    let facts = Facts {
        agents: ["claude-code", "claude"].map(str::to_owned).into(),
        programs: ["test", "git", "grep"].map(str::to_owned).into(),
        ..Facts::default()
    };
    let checked = verify(&Study::of(source, &draft), &facts, &VerifyLimits::default());
    let wanted = checked.diagnostics.iter().filter(|found| found.severity == severity);
    wanted
        .map(|found| {
            let at = found.primary.span.start;
            let path = &source.part_at(at).path;
            format!("{path}:{}: {} {}", source.position(at), found.code, found.message)
        })
        .collect()
}

fn errors(source: &Source) -> Vec<String> {
    complaints(source, Severity::Error)
}

/// The complaint with this code, of which there is one.
fn only(source: &Source, code: &str) -> Diagnostic {
    let draft = source.draft();
    let checked = verify(&Study::of(source, &draft), &Facts::default(), &VerifyLimits::default());
    let mut found: Vec<Diagnostic> =
        checked.diagnostics.into_iter().filter(|found| found.code == code).collect();
    assert_eq!(found.len(), 1, "{code}: {found:?}");
    found.remove(0)
}

fn needs(draft: &Draft, step: usize) -> Vec<&str> {
    draft.steps[step].needs.iter().flatten().map(|need| need.value.as_str()).collect()
}

// E-02, E-03, E-04: the document's own example loads with all its content, and nothing is wrong with it.
#[test]
fn the_documents_example_loads_with_all_its_content() {
    let source = folder("plans/auth", AUTH);
    let draft = source.draft();
    assert_eq!(draft.title.as_ref().map(|title| title.value.as_str()), Some("Add user authentication"));
    let context = draft.context.as_ref().expect("it has a narrative").value.as_str();
    assert!(context.starts_with("We need to add JWT-based authentication to the API."), "{context}");
    assert!(context.ends_with("expose principal identity to handlers."), "{context}");
    let ids: Vec<&str> =
        draft.steps.iter().filter_map(|step| Some(step.id.as_ref()?.value.as_str())).collect();
    assert_eq!(ids, ["create-schema", "implement-service", "wire-handler"]);
    assert_eq!([needs(&draft, 0), needs(&draft, 1)], [vec![], vec!["create-schema"]]);
    let service = &draft.steps[1];
    assert_eq!(service.title.value, "Implement service");
    assert_eq!(service.target.as_ref().map(|agent| agent.value.as_str()), Some("claude-code"));
    let subtasks: Vec<&str> = service.accept.iter().map(|item| item.value.as_str()).collect();
    assert_eq!(subtasks, ["Define service interface", "Implement SQLite store", "Add password hashing"]);
    let task = service.task.as_ref().expect("it has a text").value.as_str();
    assert_eq!(
        task,
        "Implement `auth_service.go` following the feature pattern.\nService should support `Register`, `Login`, `ValidateToken`."
    );
    assert_eq!(errors(&source), [""; 0]);
    assert_eq!(errors(&folder("plans/database", DATABASE)), [""; 0]);
    assert_eq!(errors(&folder("plans/release", RELEASE)), [""; 0]);
    let warned = complaints(&source, Severity::Warning);
    assert!(
        warned.iter().all(|warning| warning.contains("PW0302")),
        "a person is asked, no more: {warned:?}"
    );
}

// E-04: every way to write a list, a text and a comment is read, and what nobody reads is kept.
#[test]
fn every_way_to_write_a_task_is_read() {
    let draft = folder("plans/release", RELEASE).draft();
    assert_eq!(draft.title.as_ref().map(|title| title.value.as_str()), Some("Cut the release: 2.0"));
    assert_eq!(draft.priority.as_ref().map(|priority| priority.value.as_str()), Some("high"));
    assert!(draft.context.as_ref().is_some_and(|context| context.value.ends_with("- this is code\n```")));
    let notes: Vec<&str> = draft.notes.iter().map(|note| note.value.as_str()).collect();
    assert_eq!(notes, ["the date is set", "🚀 after the freeze"]);
    let titles: Vec<&str> = draft.steps.iter().map(|step| step.title.value.as_str()).collect();
    assert_eq!(titles, ["Freeze the branch & tell everybody", "Write the notes", "Tag", "Announce"]);
    let needed: Vec<Vec<&str>> = (0..4).map(|step| needs(&draft, step)).collect();
    assert_eq!(needed, [vec![], vec!["freeze"], vec!["freeze", "write-the-notes"], vec!["tag"]]);
    let notes = &draft.steps[1];
    assert_eq!(notes.timeout.as_ref().map(|timeout| timeout.value.as_str()), Some("300s"));
    assert_eq!(notes.accept[2].value, "Write them down, one line each");
    assert_eq!(
        notes.stray.iter().map(|kept| kept.value.as_str()).collect::<Vec<_>>(),
        ["estimated_effort: small"]
    );
}

// Our addition: a section or a label "Verification" with a command is the contract; prose is for a person, and for the agent.
#[test]
fn a_command_under_verification_is_the_contract() {
    let draft = folder("plans/release", RELEASE).draft();
    let contract = |step: usize| draft.steps[step].contract.as_ref();
    let command =
        |step: usize| contract(step).and_then(|contract| Some(contract.command.as_ref()?.value.trim_end()));
    let task = |step: usize| draft.steps[step].task.as_ref().map_or("", |task| task.value.as_str());
    assert_eq!(contract(0), None);
    assert_eq!(command(1), Some("grep -q '^## 2.0' CHANGELOG.md"));
    assert_eq!(task(1), "Write `CHANGELOG.md`.", "a section that is only a command is no part of the task");
    assert_eq!(command(2), Some("git tag --list v2.0 | grep -q v2.0"));
    assert_eq!(task(2), "Tag it.\n\n**Undo:** delete the tag.");
    assert!(contract(3).is_some_and(|contract| contract.is_manual));
    assert_eq!(task(3), "Tell people.\n\n**Verification:** somebody answers.");
}

// E-07: a broken folder lists every error of every file in one run, the nine rules of the document among them.
#[test]
fn all_errors_of_all_files_are_told_at_once() {
    let files: &[File<'_>] = &[
        ("plan.md", "---\ntitle: \"\"\nowner: me\n---\n"),
        ("tasks/1-x.md", "---\nid: x\n---\nDo it.\n"),
        ("tasks/02-empty.md", "---\nid: empty\ndepends_on: [nobody]\n---\n\n  \n"),
        ("tasks/02-same.md", "---\nid: empty\ndepend_on: [x]\n---\nDo it.\n"),
        ("tasks/03-bad.md", "---\nid: Bad_Id\ndepends_on: x\nid: again\n---\nDo it.\n"),
        ("tasks/04-loop.md", "---\nid: loop\ndepends_on: [knot, loop]\n---\nDo it.\n"),
        ("tasks/05-knot.md", "---\nid: knot\ndepends_on: [loop]\n---\nDo it.\n"),
        ("tasks/06-broken.md", "---\nid: [\n---\nDo it.\n"),
        ("tasks/07-bare.md", "Do it.\n"),
        ("tasks/08-number.md", "---\nid: number\ndepends_on: [4]\n---\nDo it.\n"),
        ("tasks/09-slug.md", "---\nid: other\ndepends_on: [bare]\n---\nDo it.\n"),
        ("tasks/readme.txt", "Do it.\n"),
    ];
    let expected = [
        "plan.md:2:1: PW0105 the plan has no title",
        "plan.md:3:1: PW0104 unknown key `owner` in frontmatter",
        "tasks/1-x.md:1:1: PW0151 invalid task file name `tasks/1-x.md`",
        "tasks/02-empty.md:2:1: PW0108 step 2 `empty` has no task",
        "tasks/02-empty.md:3:14: PW0201 step 2 `empty` needs unknown step `nobody`",
        "tasks/02-same.md:1:1: PW0152 duplicate task number 02: `tasks/02-same.md`, `tasks/02-empty.md`",
        "tasks/02-same.md:2:5: PW0503 duplicate step id `empty`",
        "tasks/02-same.md:3:1: PW0104 unknown field `depend_on` in step 2 `empty`",
        "tasks/03-bad.md:2:5: PW0504 invalid id `Bad_Id`",
        "tasks/03-bad.md:3:13: PW0154 `depends_on` must be a list of ids",
        "tasks/03-bad.md:4:1: PW0102 duplicate key `id` in frontmatter",
        "tasks/04-loop.md:3:14: PW0202 dependency cycle: loop → knot → loop",
        "tasks/04-loop.md:3:20: PW0206 step 4 `loop` needs itself",
        "tasks/06-broken.md:2:5: PW0102 the frontmatter is not valid YAML: unclosed bracket '['",
        "tasks/07-bare.md:1:1: PW0153 `tasks/07-bare.md` has no frontmatter",
        "tasks/08-number.md:3:14: PW0201 step 8 `number` needs unknown step `4`",
        "tasks/09-slug.md:3:14: PW0201 step 9 `other` needs unknown step `bare`",
        "tasks/readme.txt:1:1: PW0151 invalid task file name `tasks/readme.txt`",
    ];
    assert_eq!(errors(&folder("plans/broken", files)), expected);
    let without_plan = folder("plans/broken", &files[6..7]);
    assert_eq!(
        errors(&without_plan),
        [
            "tasks/05-knot.md:1:1: PW0150 the directory has no `plan.md`",
            "tasks/05-knot.md:3:14: PW0201 step 5 `knot` needs unknown step `loop`",
        ]
    );
}

// E-05, E-19: ids are known in their own folder only: the same one in two folders is fine, and no task waits for another folder's.
#[test]
fn an_id_is_known_in_its_own_folder_only() {
    let (first, second) = (folder("plans/auth", AUTH), folder("plans/auth-2", AUTH));
    assert_eq!((errors(&first), errors(&second)), (vec![], vec![]));
    let stranger = ("tasks/01-a.md", "---\nid: a\ndepends_on: [create-schema]\n---\nDo it.\n");
    assert_eq!(
        errors(&folder("plans/other", &[PLAN, stranger])),
        ["tasks/01-a.md:3:14: PW0201 step 1 `a` needs unknown step `create-schema`"]
    );
}

// E-05, E-06: the two patterns of the document, letter by letter.
#[test]
fn names_and_ids_have_the_forms_of_the_document() {
    for name in ["01-a.md", "00-a-b.md", "99-3d-model.md", "10-1.md"] {
        assert!(directory::is_task_file(name), "{name}");
    }
    let bad = [
        "1-a.md",
        "001-a.md",
        "01_a.md",
        "01-A.md",
        "01-a--b.md",
        "01-a-.md",
        "01--a.md",
        "01-.md",
        "01.md",
        "01-a.MD",
        "01-a.txt",
        "01-ä.md",
        "٠١-a.md",
        "a-b.md",
        "01-a.md ",
        "x/01-a.md",
        "",
        "-",
        ".md",
    ];
    for name in bad {
        assert!(!directory::is_task_file(name), "{name}");
    }
    for id in ["a", "0", "setup-db", "a1-b2-c3", "2024"] {
        assert!(directory::is_id(id), "{id}");
    }
    for id in ["", "-", "a-", "-a", "a--b", "A", "a_b", "a b", "ä", "a.b", "a/b"] {
        assert!(!directory::is_id(id), "{id:?}");
    }
    assert_eq!(directory::task_file_name("1-Setup_DB.md").as_deref(), Some("01-setup-db.md"));
    assert_eq!(directory::task_file_name("100-a.md"), None, "a third digit has no place");
    assert_eq!(directory::task_file_name("notes.md"), None);
    let folders = ["p/plan.md", "plan.md", "p/tasks/01-a.md", "tasks/01-a.md", "p/tasks/a.md", "p/other.md"];
    assert_eq!(folders.map(directory::folder_of), [Some("p"), Some("."), Some("p"), Some("."), None, None]);
    let mut paths = ["tasks/100-z.md", "tasks/x.md", "tasks/02-b.md", "plan.md", "tasks/11-a.md"];
    paths.sort_by_key(|path| directory::reading_order(path));
    assert_eq!(paths, ["plan.md", "tasks/02-b.md", "tasks/11-a.md", "tasks/100-z.md", "tasks/x.md"]);
}

// E-08: an unknown field is refused, with what was probably meant; what the document keeps for later is not.
#[test]
fn an_unknown_field_is_refused_with_a_suggestion() {
    let task = |fields: &str| format!("---\nid: a\n{fields}\n---\nDo it.\n");
    let unknown = |fields: &str| {
        let found = only(&folder("p", &[PLAN, ("tasks/01-a.md", &task(fields))]), "PW0104");
        assert_eq!(found.severity, Severity::Error);
        (found.primary.text, found.fix.map(|fix| fix.edits[0].text.clone()), found.help)
    };
    let meant = |name: &str| (format!("did you mean `{name}`?"), Some(name.to_owned()), None);
    assert_eq!(unknown("depend_on: []"), meant("depends_on"));
    assert_eq!(unknown("Agent: claude"), meant("agent"));
    assert_eq!(unknown("subtask: []"), meant("subtasks"));
    assert_eq!(unknown("priorty: high"), meant("priority"));
    let known = "expected one of id, depends_on, agent, subtasks, timeout, priority, estimated_effort, tags";
    let none = ("unknown key".to_owned(), None, Some(known.to_owned()));
    assert_eq!(unknown("colour: red"), none);
    let later = task("priority: high\nestimated_effort: small\ntags: [backend, database]\ntimeout: 300s");
    assert_eq!(errors(&folder("p", &[PLAN, ("tasks/01-a.md", &later)])), [""; 0]);
    // The twin: one letter away from what is allowed.
    let slip = later.replace("tags:", "tag:");
    assert_eq!(errors(&folder("p", &[PLAN, ("tasks/01-a.md", &slip)])).len(), 1);
}

// E-18: YAML is held to its rules, and still what other editors save is read.
#[test]
fn yaml_is_strict_and_files_of_other_editors_load() {
    let bad = [
        "id: a\nid: b",
        "id: &x a",
        "id: *x",
        "id: !!str a",
        "\tid: a",
        "id: a: b",
        "- id",
        "id: 'a",
        "<<: {}",
    ];
    for yaml in bad {
        let source = folder("p", &[PLAN, ("tasks/01-a.md", &format!("---\n{yaml}\n---\nDo it.\n"))]);
        assert!(
            errors(&source).iter().any(|error| error.contains("PW0102")),
            "{yaml:?}: {:?}",
            errors(&source)
        );
    }
    let saved = |text: &str| format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n"));
    let files: Vec<(&str, String)> = AUTH.iter().map(|(path, text)| (*path, saved(text))).collect();
    let windows: Vec<File<'_>> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let (unix, windows) = (folder("plans/auth", AUTH), folder("plans/auth", &windows));
    assert_eq!(errors(&windows), [""; 0]);
    assert_eq!(windows.draft(), unix.draft(), "it says the same to the last letter");
}

// E-02: what tells a folder from other plans; a file that says it is native stays native.
#[test]
fn a_folder_is_told_by_its_files() {
    let told = |source: &Source| {
        let detected = detect(source.place(), source.text()).expect("it is told");
        format!("{} ({})", detected.dialect.name, detected.because)
    };
    assert_eq!(told(&folder("p", AUTH)), "directory (plan.md with tasks/)");
    assert_eq!(told(&folder("p", &AUTH[1..])), "directory (a directory with tasks/)");
    let native = "---\ntype: plan\nstatus: draft\nowner: me\n---\n# T\n";
    assert_eq!(told(&Source::new("p/plan.md", native)), "native (`type: plan` in its frontmatter)");
    // A folder whose plan.md is native is still a folder: it is told which keys have no place there.
    let mixed = folder("p", &[("plan.md", native), AUTH[1]]);
    assert_eq!(told(&mixed), "directory (plan.md with tasks/)");
    assert!(errors(&mixed).contains(&"plan.md:2:1: PW0104 unknown key `type` in frontmatter".to_owned()));
}
