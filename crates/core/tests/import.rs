//! One suite for every importer: what a file of another tool says comes over, nothing of it is lost however the file is
//! damaged, and the draft can be written as a native plan. The samples are ours, after the formats that the tools publish.

#[path = "import/sample.rs"]
mod sample;

use planwright_core::dialect;
use planwright_core::dialect::NewPlan;
use planwright_core::dialect::import;
use planwright_core::dialect::import::{IMPORTERS, Importer};
use planwright_core::plan::draft::{Draft, StepDraft, StepNumber};
use planwright_core::plan::view;
use planwright_core::syntax::source::{FILE_SEPARATOR, Source};
use sample::{Sample, samples};

fn read(sample: &Sample) -> Draft {
    (format(sample.name).parse)(&sample.source())
}

fn format(name: &str) -> &'static Importer {
    import::named(name).unwrap_or_else(|| panic!("there is no importer {name}"))
}

/// A step in one line: id, mark, what it waits for, title.
fn line(step: &StepDraft) -> String {
    let id = step.id.as_ref().map_or("", |id| id.value.as_str());
    let mark = step.mark().map_or("open", |mark| mark.word());
    let needs: Vec<&str> = step.needs.iter().flatten().map(|need| need.value.as_str()).collect();
    format!("{id} | {mark} | {} | {}", needs.join(" "), step.title.value)
}

fn titles(draft: &Draft) -> Vec<String> {
    draft.steps.iter().map(|step| step.title.value.clone()).collect()
}

/// Which step waits for which, by place.
fn waits(draft: &Draft) -> Vec<Vec<usize>> {
    let graph = view::graph(draft);
    (0..draft.steps.len()).map(|step| graph.needs(step).to_vec()).collect()
}

fn composed(draft: &Draft) -> Source {
    let birth = NewPlan { id: "PLAN-a1b2c3d4", now: "2026-11-16T10:00:00Z" };
    Source::new("composed.md", dialect::NATIVE.compose(draft, &birth))
}

// P-06: titles, marks and waits of every format.
#[test]
fn every_sample_is_read_as_it_was_meant() {
    for sample in samples() {
        let draft = read(&sample);
        let lines: Vec<String> = draft.steps.iter().map(line).collect();
        assert_eq!(lines, sample.steps, "{}", sample.place);
        assert_eq!(draft.title.map(|title| title.value).as_deref(), Some(sample.title), "{}", sample.place);
    }
}

// P-06: every format has a sample, and every sample is told as what it is.
#[test]
fn every_sample_is_recognised_as_its_own_and_nothing_else() {
    for sample in samples() {
        let (found, because) = import::detect(&sample.place, &sample.text).expect("it is told");
        assert_eq!(found.name, sample.name, "{}: {because}", sample.place);
        assert!(!because.is_empty());
        for other in IMPORTERS.iter().filter(|other| !["checklist", sample.name].contains(&other.name)) {
            let because = (other.recognises)(&sample.place, &sample.text);
            assert_eq!(because, None, "{} is taken for {}", sample.place, other.name);
        }
    }
    for name in sample::MARKDOWN {
        assert!(samples().iter().any(|sample| sample.name == *name), "{name} has no sample");
    }
}

// P-06: a place alone tells some formats, and its slashes may be those of Windows.
#[test]
fn places_tell_formats() {
    let list = "- [ ] 1. Task\n";
    let table = [
        (".kiro/specs/login/tasks.md", list, Some("kiro")),
        ("C:\\work\\.kiro\\specs\\login\\tasks.md", list, Some("kiro")),
        (".kiro/specs/login/tasks.md", "- [ ] 1.1 (P) Task\n", Some("cc-sdd")),
        ("openspec/changes/add-login/tasks.md", list, Some("openspec")),
        ("openspec/changes/archive/2025-01-01-add-login/tasks.md", list, Some("openspec")),
        ("specs/001-login/tasks.md", list, Some("spec-kit")),
        ("specs/001-login/tasks.md", "- T001: Task\n", Some("spec-kit")),
        ("kitty-specs/001-login/tasks.md", list, Some("spec-kitty")),
        (".cursor/plans/login_1a2b.plan.md", list, Some("cursor")),
        ("/people/me/.claude/plans/happy-hopping-hare.md", list, Some("claude-plan")),
        (".planning/phases/01-x/01-01-PLAN.md", list, Some("gsd")),
        ("docs/plans/x.md", "### Task 1: A\n- [ ] b\n", Some("ralphex")),
        ("notes.md", list, Some("checklist")),
        ("notes.md", "Nothing to do.\n", None),
        ("main.rs", list, None),
    ];
    for (place, text, name) in table {
        assert_eq!(import::detect(place, text).map(|(found, _)| found.name), name, "{place}");
    }
}

// P-06: steps are numbered, named, confirmed by a person unless the file has a command, and wait only for steps that are there.
#[test]
fn every_draft_is_sound() {
    for sample in samples() {
        let draft = read(&sample);
        let ids: Vec<&str> =
            draft.steps.iter().map(|step| step.id.as_ref().unwrap().value.as_str()).collect();
        for (place, step) in draft.steps.iter().enumerate() {
            let number = StepNumber::Counted(u32::try_from(place + 1).unwrap());
            assert_eq!(step.number.value, number, "{}", sample.place);
            assert_eq!(ids.iter().filter(|id| **id == ids[place]).count(), 1, "{} twice", ids[place]);
            for need in step.needs.as_ref().expect("an import says what a step waits for") {
                assert!(ids.contains(&need.value.as_str()), "{}: {}", sample.place, need.value);
            }
            let contract = step.contract.as_ref().expect("somebody judges it");
            assert!(contract.is_manual != contract.command.is_some());
            assert!(step.task.as_ref().is_some_and(|task| !task.value.trim().is_empty()));
            assert!(step.whole.0.end <= sample.text.len() && step.whole.0.covers(step.heading.0));
        }
        assert!(view::graph(&draft).order().is_some(), "{} goes round in a circle", sample.place);
    }
}

// P-06, P-07: what was imported can be written as a native plan that says the same.
#[test]
fn every_sample_composes_to_a_native_plan() {
    for sample in samples() {
        let draft = read(&sample);
        let plan = composed(&draft);
        let back = plan.draft();
        assert_eq!(titles(&back), titles(&draft), "{}:\n{}", sample.place, plan.text());
        assert_eq!(waits(&back), waits(&draft), "{}:\n{}", sample.place, plan.text());
        let tasks = |draft: &Draft| {
            let tasks =
                draft.steps.iter().map(|step| step.task.as_ref().map(|task| task.value.trim().to_owned()));
            tasks.collect::<Vec<_>>()
        };
        assert_eq!(tasks(&back), tasks(&draft), "{}:\n{}", sample.place, plan.text());
        assert_eq!(back.context, draft.context, "{}:\n{}", sample.place, plan.text());
    }
}

/// Words of titles that a tool gives to all of its files.
const USUAL: &[&str] = &["implementation", "plan", "tasks", "work", "packages", "roadmap"];

// P-06: what has no place in a draft is in the text of a task or in the context.
#[test]
fn no_word_of_a_sample_is_lost() {
    for sample in samples() {
        let said = format!("{:?}", read(&sample)).to_lowercase();
        let words = sample.text.split(|character: char| !character.is_alphanumeric()).map(str::to_lowercase);
        let is_meant = |word: &String| {
            word.len() > 3 && !USUAL.contains(&word.as_str()) && !sample.dropped.contains(&word.as_str())
        };
        let lost: Vec<String> = words.filter(is_meant).filter(|word| !said.contains(word.as_str())).collect();
        assert!(lost.is_empty(), "{}: {lost:?}", sample.place);
    }
}

// P-06: commands that a format has for it become contracts; prose never does.
#[test]
fn only_commands_become_contracts() {
    let commands = |name: &str| {
        let sample = samples().into_iter().find(|sample| sample.place.ends_with(name)).expect(name);
        let command = |step: &StepDraft| Some(step.contract.as_ref()?.command.as_ref()?.value.clone());
        read(&sample).steps.iter().map(command).collect::<Vec<_>>()
    };
    let checks = Some("go test ./... && golangci-lint run".to_owned());
    assert_eq!(commands("health.md"), [checks.clone(), checks.clone(), checks, None]);
    assert_eq!(commands("03-02-PLAN.md"), [Some("npm test -- delete".to_owned()), None]);
    assert!(commands("happy-hopping-hare.md").iter().all(Option::is_none), "a list of checks is for people");
}

// P-06: files that a format names are the limit of a step, with brackets that mean themselves.
#[test]
fn stated_files_become_touches() {
    let touches = |name: &str| {
        let sample = samples().into_iter().find(|sample| sample.place.ends_with(name)).expect(name);
        let touches = read(&sample).steps[0].touches.clone().unwrap_or_default();
        touches.into_iter().map(|path| path.value).collect::<Vec<_>>()
    };
    assert_eq!(touches("03-02-PLAN.md"), ["src/account/delete.ts", "src/app/\\[id\\]/page.tsx"]);
    assert_eq!(touches("health.md"), ["pkg/web/health.go", "pkg/web/server.go"]);
    assert_eq!(touches("012-faster-search"), ["src/index/**", "tests/index/**"]);
}

/// The sample as other editors would have saved it.
fn variants(sample: &Sample) -> Vec<String> {
    let files = sample.text.starts_with(FILE_SEPARATOR);
    let marked = if files { sample.text.clone() } else { format!("\u{feff}{}", sample.text) };
    vec![sample.text.replace('\n', "\r\n"), marked, sample.text.trim_end().to_owned()]
}

// P-06: line endings, byte order marks and a missing last line ending change nothing.
#[test]
fn editors_change_nothing() {
    for sample in samples() {
        // The path of a file in a folder is followed by a bare line ending.
        let meant: Vec<String> = read(&sample).steps.iter().map(line).collect();
        for text in variants(&sample)
            .into_iter()
            .filter(|text| !(text.starts_with(FILE_SEPARATOR) && text.contains("\r\n")))
        {
            let source = Source::new(sample.place.as_str(), text);
            let lines: Vec<String> = (format(sample.name).parse)(&source).steps.iter().map(line).collect();
            assert_eq!(lines, meant, "{}", sample.place);
        }
    }
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits fit") % sides.max(1)
    }
}

const SPLINTERS: &[&str] = &[
    "```\n",
    "~~~",
    "---\n",
    "- [ ] ",
    "[",
    "]",
    "\t",
    "    ",
    "\r\n",
    "<!--",
    "-->",
    "<task>",
    "</task>",
    "#",
    "## WP01",
    "é",
    "✅",
    "\u{feff}",
    "1.1.1",
    "T001",
    "> ",
    ": ",
    "\"",
    "- id: x\n",
    "todos:\n",
    "|",
    "**",
    "depends on T001, 1.1\n",
];

/// A text with a few places cut out, doubled or filled with splinters.
fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.roll(4) {
        let from = text.floor_char_boundary(dice.roll(text.len() + 1));
        let to = text.floor_char_boundary((from + dice.roll(40)).min(text.len()));
        match dice.roll(4) {
            0 => text.replace_range(from..to, ""),
            1 => text.truncate(from.max(1).min(text.len())),
            2 => {
                let copy = text[from..to].to_owned();
                text.insert_str(from, &copy);
            }
            _ => text.insert_str(from, SPLINTERS[dice.roll(SPLINTERS.len())]),
        }
        if !text.is_char_boundary(text.len()) || text.is_empty() {
            return text;
        }
    }
    text
}

// P-06: nothing makes an importer fail, and whatever it reads can be written and read again.
#[test]
fn damaged_files_are_read_by_every_importer() {
    let mut dice = Dice(4);
    for sample in samples() {
        for round in 0..150 {
            let text = damaged(&sample.text, &mut dice);
            let source = Source::new(sample.place.as_str(), text);
            for foreign in IMPORTERS.iter().filter(|foreign| round % 10 == 0 || foreign.name == sample.name) {
                let draft = (foreign.parse)(&source);
                let back = composed(&draft).draft();
                assert_eq!(back.steps.len(), draft.steps.len(), "{}: {}", foreign.name, source.text());
                assert!(
                    view::graph(&draft).order().is_some() || foreign.name == "cursor",
                    "{}",
                    source.text()
                );
                for step in &draft.steps {
                    assert!(step.whole.0.end <= source.text().len());
                    let _ = source.slice(step.whole.0);
                    let _ = source.slice(step.title.span);
                }
            }
        }
    }
}

/// The tasks with boxes that stand in a text, by their last words.
fn boxes(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| line.trim_start().starts_with("- [ ] "));
    lines.map(|line| line.trim().trim_start_matches("- [ ] ")).collect()
}

// P-06: a task whose line is still there is still a step, whatever is missing around it.
#[test]
fn what_is_cut_elsewhere_loses_no_task() {
    let mut dice = Dice(11);
    let lists = ["kiro", "cc-sdd", "spec-kit", "openspec", "checklist"];
    for sample in samples().into_iter().filter(|sample| lists.contains(&sample.name)) {
        let lines: Vec<&str> = sample.text.split_inclusive('\n').collect();
        for _ in 0..400 {
            // Bytes go from one line that is neither task nor fence, or a whole line goes.
            let victim = dice.roll(lines.len());
            let line = lines[victim];
            if line.contains("- [") || line.contains("```") || line.contains("<!--") || line.trim() == "---" {
                continue;
            }
            let from = line.floor_char_boundary(dice.roll(line.len()));
            let kept = if dice.roll(2) == 0 { "" } else { &line[..from] };
            let kept =
                if kept.is_empty() || kept.ends_with('\n') { kept.to_owned() } else { format!("{kept}\n") };
            let text: String = lines
                .iter()
                .enumerate()
                .map(|(at, line)| if at == victim { kept.as_str() } else { line })
                .collect();
            let source = Source::new(sample.place.as_str(), text.as_str());
            let found = titles(&(format(sample.name).parse)(&source));
            for task in boxes(&text) {
                let is_found =
                    found.iter().any(|title| task.ends_with(title.as_str()) || task.contains(title.as_str()));
                assert!(is_found, "{}: `{task}` is gone from {found:?}", sample.place);
            }
            assert!(found.len() >= boxes(&text).len());
        }
    }
}

// P-06: a task in code is an example, a fence that is never closed hides nothing.
#[test]
fn only_closed_code_hides_tasks() {
    let read = |text: &str| titles(&(format("checklist").parse)(&Source::new("x.md", text)));
    assert_eq!(read("- [ ] a\n```\n- [ ] b\n```\n- [ ] c\n"), ["a", "c"]);
    assert_eq!(read("- [ ] a\n```\n- [ ] b\n- [ ] c\n"), ["a", "b", "c"]);
    assert_eq!(read("- [ ] a\n  ```\n  code\n- [ ] b\n```\nx\n```\n- [ ] c\n"), ["a", "b", "c"]);
    assert_eq!(read("<!--\n- [ ] a\n-->\n- [ ] b\n"), ["b"]);
    assert_eq!(read("<!-- - [ ] a\n- [ ] b\n"), ["b"]);
    assert_eq!(
        read("<details>\n- [ ] a\n</details>\n\n\n        - [ ] b\n> - [ ] c\n[ ] d\n-[ ] e\n"),
        ["a", "b", "c", "d", "e"]
    );
    assert_eq!(read("- [x](http://link)\n- [1]: note\n- [P] tasks\n- [ ] a\n"), ["a"]);
}

// P-06: frontmatter that is no sound YAML still gives its todos.
#[test]
fn unquoted_colons_lose_no_todo() {
    let text = "---\nname: x: y\ntodos:\n  - id: a\n    content: Fix: the thing: now\n    status: completed\n  - id: b\n    content: [odd\nisProject: false\n---\n# T\n";
    let draft = (format("cursor").parse)(&Source::new("x.plan.md", text));
    assert_eq!(titles(&draft), ["Fix: the thing: now", "[odd"]);
    assert_eq!(draft.steps.iter().map(line).next().unwrap(), "a | done |  | Fix: the thing: now");
}

// P-06: a pile of anything is read, by every importer.
#[test]
fn long_files_are_read() {
    let piles = [
        "- [ ] a\n",
        "  - [x] 1.1 b\n",
        "```\n",
        "<!--\n",
        "## Step 1: c\n",
        "#",
        " ",
        "> ",
        "<task>\n",
        "é",
        "- id: x\n",
    ];
    for pile in piles {
        let text = pile.repeat(60_000 / pile.len());
        for foreign in IMPORTERS.iter().filter(|foreign| sample::MARKDOWN.contains(&foreign.name)) {
            let draft = (foreign.parse)(&Source::new("x.md", text.as_str()));
            assert!(
                pile != "- [ ] a\n" || foreign.name == "gsd" || draft.steps.len() == 7_500,
                "{}",
                foreign.name
            );
        }
    }
}
