//! The task files of other tools as drafts: what each says is found, what is torn is read as far as it goes and told, and
//! all of it can be written down as a native plan. The fixtures are written after the public formats.

use planwright_core::dialect::import;
use planwright_core::dialect::import::Importer;
use planwright_core::dialect::{NATIVE, NewPlan};
use planwright_core::plan::draft::{Draft, ParseIssue};
use planwright_core::syntax::source::Source;

/// A file of another tool: which format it is, where it lies, and what it holds.
struct Fixture {
    format: &'static str,
    place: &'static str,
    text: String,
}

fn fixtures() -> Vec<Fixture> {
    let file = |format, place, text: &str| Fixture { format, place, text: text.to_owned() };
    let session = [
        ("1.json", include_str!("import/tasks/session/1.json")),
        ("10.json", include_str!("import/tasks/session/10.json")),
        ("2.json", include_str!("import/tasks/session/2.json")),
    ];
    vec![
        file("task-master", "app/.taskmaster/tasks/tasks.json", include_str!("import/tasks/taskmaster.json")),
        file("task-master", "app/tasks/tasks.json", include_str!("import/tasks/taskmaster-old.json")),
        file("beads", "app/.beads/issues.jsonl", include_str!("import/tasks/issues.jsonl")),
        file("ralph", "app/scripts/ralph/prd.json", include_str!("import/tasks/prd.json")),
        file("codex", "plan.json", include_str!("import/tasks/plan.json")),
        file(
            "codex",
            "sessions/rollout-2026-01-05.jsonl",
            include_str!("import/tasks/rollout-2026-01-05.jsonl"),
        ),
        file("claude-tasks", "home/.claude/todos/a.json", include_str!("import/tasks/todos.json")),
        file("claude-tasks", "home/.claude/tasks/a/2.json", include_str!("import/tasks/session/2.json")),
        file("claude-tasks", "home/.claude/tasks/a/", &Source::bundle(session)),
        file("backlog", DIARY, include_str!("import/tasks/backlog/task-7 - Keep-a-diary.md")),
        file("backlog", "app/backlog/tasks/", &backlog()),
        file("feature-list", "app/feature_list.json", include_str!("import/tasks/feature_list.json")),
    ]
}

const DIARY: &str = "app/backlog/tasks/task-7 - Keep-a-diary.md";

fn backlog() -> String {
    Source::bundle([
        ("readme.md", include_str!("import/tasks/backlog/readme.md")),
        ("task-7 - Keep-a-diary.md", include_str!("import/tasks/backlog/task-7 - Keep-a-diary.md")),
        ("task-8 - Print-it.md", include_str!("import/tasks/backlog/task-8 - Print-it.md")),
        ("task-8.1 - Choose-paper.md", include_str!("import/tasks/backlog/task-8.1 - Choose-paper.md")),
    ])
}

fn format(name: &str) -> &'static Importer {
    import::named(name).expect("it is in the table")
}

fn read(format_name: &str, place: &str, text: &str) -> Draft {
    (format(format_name).parse)(&Source::new(place, text))
}

/// The fixture of a format, by a part of its place.
fn fixture(place: &str) -> Draft {
    let found =
        fixtures().into_iter().find(|fixture| fixture.place.contains(place)).expect("it is a fixture");
    read(found.format, found.place, &found.text)
}

/// Every step in a line: `id: Title (mark) <- needs`.
fn steps(draft: &Draft) -> Vec<String> {
    let line = |step: &planwright_core::plan::draft::StepDraft| {
        let id = step.id.as_ref().map_or("", |id| id.value.as_str());
        let mark = step.mark().map(|mark| format!(" ({})", mark.word())).unwrap_or_default();
        let needs: Vec<&str> = step.needs.iter().flatten().map(|need| need.value.as_str()).collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" <- {}", needs.join(" ")) };
        format!("{id}: {}{mark}{needs}", step.title.value)
    };
    draft.steps.iter().map(line).collect()
}

fn task(draft: &Draft, step: usize) -> &str {
    draft.steps[step].task.as_ref().map_or("", |task| task.value.as_str())
}

fn accept(draft: &Draft, step: usize) -> Vec<&str> {
    draft.steps[step].accept.iter().map(|criterion| criterion.value.as_str()).collect()
}

fn command(draft: &Draft, step: usize) -> Option<&str> {
    Some(draft.steps[step].contract.as_ref()?.command.as_ref()?.value.as_str())
}

fn unreadable(draft: &Draft) -> Vec<&str> {
    let told = draft.oddities.0.iter().filter_map(|oddity| {
        let ParseIssue::Unreadable(why) = &oddity.value else { return None };
        Some(why.as_str())
    });
    told.collect()
}

// P-06: subtasks count inside of their task, the numbers that they wait for are those beside them, and a task that has some is
// done after them. Tags keep their tasks apart.
#[test]
fn task_master_with_tags() {
    let draft = fixture(".taskmaster");
    assert_eq!(
        steps(&draft),
        [
            "task-1: Lay out the service (done)",
            "task-2: Store sessions (running) <- task-1 task-2-1 task-2-2 task-2-3",
            "task-2-1: Choose the table (done) <- task-1",
            "task-2-2: Write the queries <- task-2-1 task-1",
            "task-2-3: Expire old rows (running) <- task-2-2 task-2-1 task-1",
            "task-3: Show sessions to the user (skipped) <- task-2",
            "search-1: Index the pages",
            "search-2: Answer queries <- search-1",
        ]
    );
    assert!(task(&draft, 0).contains("Test strategy: The crate builds."), "{}", task(&draft, 0));
    assert!(task(&draft, 0).contains("Priority: high"));
    assert!(task(&draft, 4).contains("Status: review"), "what a mark can't say is kept: {}", task(&draft, 4));
    assert!(task(&draft, 5).contains("Depends on 9, which is not in this file."), "{}", task(&draft, 5));
    assert!(task(&draft, 7).contains("Tag: search"));
    assert_eq!(draft.oddities.0, []);
    assert_eq!(draft.context.expect("it has one").value, "master: Tasks of the main branch");
}

#[test]
fn task_master_without_tags() {
    let draft = fixture("app/tasks/");
    assert_eq!(
        steps(&draft),
        ["task-1: Read the bank's files (done)", "task-2: Match payments (skipped) <- task-1"]
    );
    assert_eq!(draft.title.expect("it has one").value, "Ledger");
}

// P-06: a subtask that says to wait for its own task is not waited for by it: no circle is made up.
#[test]
fn a_wait_that_only_follows_never_closes_a_circle() {
    let text = r#"{"tasks": [{"id": 5, "title": "A", "dependencies": [], "subtasks": [
        {"id": 1, "title": "B", "dependencies": ["5"]}, {"id": 2, "title": "C", "dependencies": []}]}]}"#;
    let draft = read("task-master", "tasks.json", text);
    assert_eq!(steps(&draft)[1], "task-5-1: B <- task-5");
    assert_eq!(planwright_core::plan::view::graph(&draft).cycles(), Vec::<Vec<usize>>::new());
    // The twin: a circle that the file itself says is kept, for the rule `cycle` to tell.
    let said = r#"{"tasks": [{"id": 1, "title": "A", "dependencies": [2]}, {"id": 2, "title": "B", "dependencies": [1]}]}"#;
    assert_eq!(
        planwright_core::plan::view::graph(&read("task-master", "tasks.json", said)).cycles(),
        [[0, 1]]
    );
}

// P-06: a number that a subtask waits for is that of the one beside it, unless that one comes later and a task before has it too.
#[test]
fn a_number_means_what_can_come_first() {
    let text = r#"{"tasks": [{"id": 1, "title": "A"}, {"id": 2, "title": "B"}, {"id": 3, "title": "C", "subtasks": [
        {"id": 1, "title": "D", "dependencies": [2]}, {"id": 2, "title": "E", "dependencies": [1, 3]}]}]}"#;
    let draft = read("task-master", "tasks.json", text);
    assert_eq!(steps(&draft)[3..], ["task-3-1: D <- task-2", "task-3-2: E <- task-3-1 task-3"]);
}

// P-06: an epic is done after its issues, blockers are waited for, and what was deleted is skipped.
#[test]
fn beads() {
    let draft = fixture(".beads");
    assert_eq!(
        steps(&draft),
        [
            "led-1: Ledger <- led-1-1 led-1-2",
            "led-1-1: Parse statements (done)",
            "led-1-2: Match payments (running) <- led-1-1",
            "led-9: Old report (skipped)",
            "led-10: Send reminders <- led-1",
        ]
    );
    assert_eq!(accept(&draft, 1), ["A file of each bank is read", "A torn file is told"]);
    assert_eq!(draft.steps[2].target.as_ref().expect("it has one").value, "codex");
    for said in ["Ask the accountant.", "- money", "discovered from: led-9"] {
        assert!(task(&draft, 2).contains(said), "{said}: {}", task(&draft, 2));
    }
    assert!(task(&draft, 4).contains("led-77"));
}

// P-06: stories are done in the order of their priority, whatever order they stand in.
#[test]
fn ralph() {
    let draft = fixture("prd.json");
    assert_eq!(
        steps(&draft),
        ["us-001: Keep loans (done)", "us-003: Remind borrowers <- us-002", "us-002: Show loans <- us-001",]
    );
    assert_eq!(accept(&draft, 0), ["A loan has a book, a person and a day", "Typecheck passes"]);
    assert_eq!(accept(&draft, 1), ["A mail is sent after 30 days", "No mail twice"]);
    assert_eq!(command(&draft, 1), Some("npm test -- reminders &&\n(\nnpm test -- twice | grep -q ok\n)"));
    assert_eq!(command(&draft, 0), None);
    assert!(draft.steps[0].contract.as_ref().expect("it has one").is_manual);
    assert_eq!(draft.title.as_ref().expect("it has one").value, "Bookshelf");
    let context = draft.context.expect("it has one").value;
    assert!(context.contains("ralph/loans") && context.contains("People lend books"), "{context}");
}

#[test]
fn codex() {
    let draft = fixture("plan.json");
    assert_eq!(
        steps(&draft),
        [
            "write-the-parser: Write the parser (done)",
            "wire-it-into-the-command: Wire it into the command (running) <- write-the-parser",
            "document-the-flag: Document the flag <- wire-it-into-the-command",
        ]
    );
    assert_eq!(draft.context.expect("it has one").value, "The parser first, since all else needs it.");
    // The last call says what the plan is.
    let rollout = fixture("rollout");
    assert_eq!(
        steps(&rollout),
        ["look-around: Look around (done)", "mend-the-lock: Mend the lock (running) <- look-around"]
    );
}

// P-06: the tasks of a session are files; 10 comes after 2, and who is blocked waits whether or not both files say so.
#[test]
fn claude_tasks() {
    let draft = fixture("tasks/a/2.json");
    assert_eq!(steps(&draft), ["task-2: Draw the chart (running)"]);
    assert!(task(&draft, 0).contains("Depends on 1, which is not in this file."), "{}", task(&draft, 0));
    let all = fixtures().into_iter().find(|fixture| fixture.place.ends_with("tasks/a/")).expect("it is one");
    let draft = read("claude-tasks", all.place, &all.text);
    assert_eq!(
        steps(&draft),
        [
            "task-1: Collect the numbers (done)",
            "task-2: Draw the chart (running) <- task-1",
            "task-10: Send the report <- task-2",
        ]
    );
    assert_eq!(draft.steps[1].target.as_ref().expect("it has one").value, "painter");
    assert!(task(&draft, 2).contains("channel"), "{}", task(&draft, 2));
    let todos = fixture("todos");
    assert_eq!(
        steps(&todos),
        [
            "read-the-log: Read the log (done)",
            "find-the-leak: Find the leak (running) <- read-the-log",
            "write-a-test-for-it: Write a test for it <- find-the-leak",
        ]
    );
}

// P-06: a file is a task, a folder is a plan; boxes in code are no criteria, and frontmatter that is no YAML is read anyway.
#[test]
fn backlog_md() {
    let alone = fixture(DIARY);
    assert_eq!(steps(&alone), ["task-7: Diary: keep one (done)"]);
    assert_eq!(
        accept(&alone, 0),
        ["Every day has an entry, even an empty one", "Entries are sorted", "Tests pass"]
    );
    assert_eq!(alone.steps[0].target.as_ref().expect("it has one").value, "claude");
    for said in
        ["An entry for every day.", "- [ ] this is code", "1. Make the folder", "Labels: writing, daily"]
    {
        assert!(task(&alone, 0).contains(said), "{said}: {}", task(&alone, 0));
    }
    assert!(!task(&alone, 0).contains("SECTION:"), "{}", task(&alone, 0));

    let all = read("backlog", "app/backlog/tasks/", &backlog());
    assert_eq!(
        steps(&all),
        [
            "task-7: Diary: keep one (done)",
            "task-8: Print it (running) <- task-7 task-8-1",
            "task-8-1: Paper: which one <- task-7",
        ]
    );
    assert!(task(&all, 2).contains("Status: Waiting for Ana"), "{}", task(&all, 2));
    assert_eq!(all.steps[2].target.as_ref().expect("it has one").value, "ana");
    assert_eq!(unreadable(&all).len(), 2, "the readme and the title with a colon: {:?}", unreadable(&all));
    assert!(
        all.oddities
            .0
            .iter()
            .any(|oddity| oddity.value == ParseIssue::UnknownMark("Waiting for Ana".to_owned()))
    );
}

#[test]
fn feature_lists() {
    let draft = fixture("feature_list");
    assert_eq!(
        steps(&draft),
        [
            "a-press-stops-one-clock-and-starts-the-other: A press stops one clock and starts the other (done)",
            "f2: The clock beeps in the last minute",
            "f3: Beeps can be switched off <- f2",
        ]
    );
    assert_eq!(accept(&draft, 1), ["Set a minute", "Wait"]);
    assert_eq!(command(&draft, 1), Some("npm test -- beep"));
    let touches: Vec<&str> =
        draft.steps[1].touches.iter().flatten().map(|path| path.value.as_str()).collect();
    assert_eq!(touches, ["src/beep.js", "test/beep.test.js"]);
    assert!(task(&draft, 2).contains("Status: blocked"));
    let bare =
        read("feature-list", "feature_list.json", r#"[{"description": "A", "steps": [], "passes": true}]"#);
    assert_eq!(steps(&bare), ["a: A (done)"]);
    let named = r#"{"0": {"id": "F1", "title": "A", "status": "done"}, "1": {"id": "F2", "title": "B", "status": "todo"}}"#;
    assert_eq!(import::detect("feature_list.json", named).expect("it is one").0.name, "feature-list");
    assert_eq!(steps(&read("feature-list", "feature_list.json", named)), ["f1: A (done)", "f2: B"]);
}

// P-06: every file is told by what it holds, and by that alone where that is enough.
#[test]
fn every_fixture_is_recognised_as_its_own() {
    for fixture in fixtures() {
        let (found, because) = import::detect(fixture.place, &fixture.text).expect("it is recognised");
        assert_eq!(found.name, fixture.format, "{}: {because}", fixture.place);
        assert!(!because.is_empty());
        let by_content = import::detect("x", &fixture.text).expect("it is recognised anywhere");
        assert_eq!(by_content.0.name, fixture.format, "{} without its place", fixture.place);
        // One format takes every list that no other one does.
        let claims = import::IMPORTERS
            .iter()
            .filter(|foreign| foreign.name != "checklist")
            .filter(|foreign| (foreign.recognises)(fixture.place, &fixture.text).is_some());
        assert_eq!(claims.count(), 1, "{} is claimed by one alone", fixture.place);
    }
}

/// The twin: files that share a name or a key with them are not theirs.
#[test]
fn other_files_are_not_recognised() {
    for (place, text) in [
        (
            ".vscode/tasks.json",
            r#"{"version": "2.0.0", "tasks": [{"label": "build", "type": "shell", "command": "make"}]}"#,
        ),
        (
            "package.json",
            r#"{"name": "x", "version": "1.0.0", "scripts": {"test": "jest"}, "features": ["a"]}"#,
        ),
        (
            ".taskmaster/reports/task-complexity-report.json",
            r#"{"meta": {}, "complexityAnalysis": [{"taskId": 1, "taskTitle": "A"}]}"#,
        ),
        (
            ".beads/interactions.jsonl",
            r#"{"id": "int-1", "kind": "field_change", "actor": "a", "issue_id": "b-1"}"#,
        ),
        (
            "prd.schema.json",
            r#"{"$schema": "x", "type": "object", "properties": {"userStories": {"type": "array"}}}"#,
        ),
        ("data.json", "[1, 2, 3]"),
        ("data.json", "{}"),
        ("data.json", ""),
        ("post.md", "---\ntitle: A post\nstatus: draft\nlabels: [a]\n---\n\nText.\n"),
    ] {
        let found = import::detect(place, text).map(|(found, because)| (found.name, because));
        assert_eq!(found, None, "{place}");
    }
}

fn titles(draft: &Draft) -> Vec<&str> {
    draft.steps.iter().map(|step| step.title.value.as_str()).collect()
}

fn waits(draft: &Draft) -> Vec<Vec<usize>> {
    let graph = planwright_core::plan::view::graph(draft);
    (0..draft.steps.len()).map(|step| graph.needs(step).to_vec()).collect()
}

/// Whatever was read can be written down as a native plan that says the same.
fn assert_composes(draft: &Draft, what: &str) {
    let text = NATIVE.compose(draft, &NewPlan { id: "PLAN-a1b2c3d4", now: "2026-11-16T10:00:00Z" });
    let composed = Source::new("composed.md", text.as_str()).draft();
    assert_eq!(titles(&composed), titles(draft), "{what}:\n{text}");
    assert_eq!(waits(&composed), waits(draft), "{what}:\n{text}");
    for (read, meant) in composed.steps.iter().zip(&draft.steps) {
        assert_eq!(read.accept, meant.accept, "{what}:\n{text}");
        assert_eq!(
            read.contract.as_ref().map(|contract| contract.is_manual),
            meant.contract.as_ref().map(|contract| contract.is_manual),
            "{what}:\n{text}"
        );
        assert!(read.task.is_some(), "{what}:\n{text}");
    }
}

#[test]
fn every_fixture_becomes_a_native_plan() {
    for fixture in fixtures() {
        assert_composes(&read(fixture.format, fixture.place, &fixture.text), fixture.place);
    }
}

// P-07: prose that leaves something open, or looks like a step, hides no step when a plan is written anew.
#[test]
fn no_prose_reaches_into_the_next_step() {
    for prose in [
        "```rust\nfn never_closed() {",
        "~~~\n### 2. In code",
        "### 7. A heading\n**contract:** rm x",
        "#### 3. Deeper\n\n**task:** x\n\n**contract:** manual",
        "<!-- never closed",
        "<script>\nvar a = 1;",
        "<pre>\nopen",
        "Step 4: go on\n===",
        "- item\n\n      indented\n\n**needs:** nothing",
        "> quoted\n**status:** done",
    ] {
        let mut draft = fixture("plan.json");
        draft.steps[0].task.as_mut().expect("it has one").value = prose.to_owned();
        assert_composes(&draft, prose);
        let mut context = fixture("plan.json");
        context.steps[1].task.as_mut().expect("it has one").value = format!("Text first.\n\n{prose}");
        assert_composes(&context, prose);
    }
}

// P-06: what is no JSON is told with its line, and the tasks around it are found.
#[test]
fn torn_and_commented_files_are_told_and_read() {
    let sound = r#"{"tasks": [
  {"id": 1, "title": "A", "status": "done"},
  {"id": 2, "title": "B", "dependencies": [1]}
]}"#;
    for (what, text, line) in [
        ("a comment", sound.replacen("  {\"id\": 2", "  // the next\n  {\"id\": 2", 1), 3),
        ("a comma too many", sound.replace("[1]}\n]", "[1]},\n]"), 3),
        ("a torn end", sound.replace("[1]}\n]}", ""), 3),
        ("a conflict", sound.replacen("  {\"id\": 2", "<<<<<<< ours\n  {\"id\": 2", 1), 3),
    ] {
        let source = Source::new("tasks.json", text);
        let draft = (format("task-master").parse)(&source);
        assert_eq!(titles(&draft), ["A", "B"], "{what}");
        let told: Vec<usize> =
            draft.oddities.0.iter().map(|oddity| source.position(oddity.span.start).line).collect();
        assert!(told.contains(&line), "{what}: {told:?}");
    }
    let marked = read("task-master", "tasks.json", &format!("\u{feff}{sound}"));
    assert_eq!((titles(&marked), marked.oddities.0.len()), (vec!["A", "B"], 0));
    let windows = read("task-master", "tasks.json", &sound.replace('\n', "\r\n"));
    assert_eq!(steps(&windows), steps(&read("task-master", "tasks.json", sound)));
    for (name, text) in [
        ("task-master", "[]"),
        ("ralph", "{}"),
        ("codex", "{}"),
        ("claude-tasks", "{}"),
        ("feature-list", ""),
    ] {
        let empty = read(name, "x.json", text);
        assert!(empty.steps.is_empty());
        assert!(!unreadable(&empty).is_empty() || text == "[]", "{name}: nothing in it is told");
    }
}

/// However a file is cut, every task whose title is whole in what is left is found.
#[test]
fn no_cut_loses_a_task_in_front_of_it() {
    for fixture in
        fixtures().iter().filter(|fixture| ["task-master", "ralph", "beads"].contains(&fixture.format))
    {
        let whole = read(fixture.format, fixture.place, &fixture.text);
        let ends: Vec<usize> = whole.steps.iter().map(|step| step.title.span.end).collect();
        for cut in (0..fixture.text.len()).step_by(3).filter(|&cut| fixture.text.is_char_boundary(cut)) {
            let left = read(fixture.format, fixture.place, &fixture.text[..cut]);
            let expected = ends.iter().filter(|&&end| end < cut).count();
            assert!(left.steps.len() >= expected, "{} cut at {cut}", fixture.place);
        }
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides.max(1)).expect("it fits")).expect("it fits")
    }

    fn place(&mut self, text: &str) -> usize {
        text.floor_char_boundary(self.roll(text.len() + 1))
    }
}

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "\r\n",
    "'",
    "null",
    "true",
    "\"id\": 1",
    "\"title\": \"✅ (done)\"",
    "\"subtasks\": [",
    "\"dependencies\": [1, \"1.1\"]",
    "---\n",
    "## Acceptance Criteria\n",
    "- [ ] #1 x\n",
    "```\n",
    "<!-- ",
    "\u{1c}a.md\n",
    "\u{feff}",
    "\u{200b}",
    "é",
    "👩‍🚀",
    "\\ud83d",
    "### 1. Step\n**task:** x\n",
    "<details>\n",
    "\0",
];

fn mutated(dice: &mut Dice, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.roll(4) {
        let (one, other) = (dice.place(&text), dice.place(&text));
        let (from, to) = (one.min(other), one.max(other));
        let to = text.floor_char_boundary(to.min(from + 200));
        match dice.roll(4) {
            0 => drop(text.drain(from..to.max(from))),
            1 => text.insert_str(from, PIECES[dice.roll(PIECES.len())]),
            2 => text.truncate(text.floor_char_boundary(text.len() - text.len().min(dice.roll(200)))),
            _ => {
                let piece = text[from..to.max(from)].to_owned();
                let at = dice.place(&text);
                text.insert_str(at, &piece);
            }
        }
    }
    text
}

// P-06: thousands of broken files: none panics, every place lies in the text, and what was found is a sound draft.
#[test]
fn no_file_is_too_broken() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let fixtures = fixtures();
    for round in 0..4_000 {
        let fixture = &fixtures[round % fixtures.len()];
        let text = mutated(&mut dice, &fixture.text);
        let name = if round % 7 == 0 { fixtures[dice.roll(fixtures.len())].format } else { fixture.format };
        let source = Source::new(fixture.place, text.as_str());
        let draft = (format(name).parse)(&source);
        drop(import::detect(fixture.place, &text));
        let what = format!("round {round}, {name}:\n{text}");
        let spans = draft.steps.iter().flat_map(|step| [step.whole.0, step.title.span]);
        for span in spans.chain(draft.oddities.0.iter().map(|oddity| oddity.span)) {
            assert!(span.start <= span.end && span.end <= text.len(), "{what}");
        }
        let ids = planwright_core::plan::verified::ids(&draft);
        let unique: std::collections::BTreeSet<&String> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{what}");
        for id in &ids {
            assert_eq!(&planwright_core::plan::verified::slug(id), id, "{what}");
        }
        if round % 3 == 0 {
            assert_composes(&draft, &what);
        }
    }
}

// P-06: a big file costs no more than its size: ten thousand tasks that all lie in one that waits for many.
#[test]
fn a_big_file_is_read() {
    let subtask = |id: usize| {
        format!(r#"{{"id": {id}, "title": "Subtask {id}", "dependencies": [{}]}}"#, id.max(2) - 1)
    };
    let subtasks: Vec<String> = (1..=5_000).map(subtask).collect();
    let others: Vec<String> =
        (2..=5_000).map(|id| format!(r#"{{"id": {id}, "title": "Task {id}"}}"#)).collect();
    let needs: Vec<String> = (2..=5_000).map(|id| id.to_string()).collect();
    let text = format!(
        r#"{{"tasks": [{{"id": 1, "title": "All", "dependencies": [{}], "subtasks": [{}]}}, {}]}}"#,
        needs.join(","),
        subtasks.join(","),
        others.join(",")
    );
    let draft = read("task-master", "tasks.json", &text);
    assert_eq!(draft.steps.len(), 10_000);
    assert_eq!(draft.steps[0].needs.as_ref().map(Vec::len), Some(9_999));
}
