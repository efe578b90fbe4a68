//! `convert`, `import` and `export`: plans go from any dialect to any other, come from other tools, and leave for other programs.

use serde_json::Value;

use crate::sample::sound;
use crate::test_env::Place;

const DIALECTS: [&str; 5] = ["native", "record", "proposal", "named", "directory"];

/// The titles of the steps of a plan, and what each waits for.
fn steps(place: &Place, plan: &str) -> Vec<(String, String)> {
    let ran = place.run(&["show", plan, "--json"]);
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    let steps = envelope["data"]["steps"].as_array().unwrap_or_else(|| panic!("{ran:#?}")).clone();
    steps.iter().map(|step| (step["title"].to_string(), step["contract"].to_string())).collect()
}

// P-07: any dialect converts to any other: no step and no contract is lost, and the new plan is sound.
#[test]
fn every_dialect_converts_to_every_other() {
    let place = Place::empty();
    place.write("plans/good.md", sound("A good plan", 3));
    let meant = steps(&place, "plans/good.md");
    let mut all = vec!["plans/good.md".to_owned()];
    for to in DIALECTS {
        let out = format!("out/from-native/{}", file(to));
        place.run(&["convert", "plans/good.md", "--to", to, "-o", &out]).expect(0, &["wrote"]);
        all.push(out);
    }
    for (round, from) in all.clone().iter().enumerate() {
        for to in DIALECTS {
            let out = format!("out/{round}/{}", file(to));
            place.run(&["convert", from, "--to", to, "-o", &out]).expect(0, &["wrote"]);
            assert_eq!(steps(&place, &out), meant, "{from} as {to}");
            let verified = place.run(&["verify", &out, "--dialect", to]);
            assert_eq!(verified.code, 0, "{from} as {to}: {verified:#?}");
        }
    }
}

fn file(dialect: &str) -> &'static str {
    match dialect {
        "record" => "plans/good.yaml",
        "proposal" => "PLAN-1a2b3c4d.md",
        "named" => "PLAN-good.md",
        "directory" => "good",
        _ => "good.md",
    }
}

// P-07: what the target can't say is listed, and `--strict` writes nothing.
#[test]
fn what_is_lost_is_listed_and_strict_refuses() {
    let place = Place::empty();
    let plan = format!("{}\n## Appendix\n\nElephants are grey.\n", sound("A good plan", 1));
    place.write("plans/good.md", plan);
    let strict = place.run(&["convert", "plans/good.md", "--to", "directory", "--strict"]);
    strict.expect(
        1,
        &[
            "dialect directory cannot express all of plans/good.md",
            "Elephants are grey",
            "nothing was written",
        ],
    );
    assert!(!place.has("plans/good"));
    place
        .run(&["convert", "plans/good.md", "--to", "directory"])
        .expect(0, &["cannot express", "Elephants are grey", "planwright verify plans/good"]);
    place.run(&["convert", "plans/good.md", "--to", "directory"]).expect(2, &["already exists"]);
}

// P-07: files that judge and the reason why a contract may pass go where the dialect can say them, and are listed elsewhere.
#[test]
fn sealed_files_and_green_contracts_are_kept_or_listed() {
    let place = Place::empty();
    let fields = "**sealed:** tests/**\n**green:** it guards the elephants\n**on_fail:**";
    place.write("plans/good.md", sound("A good plan", 1).replace("**on_fail:**", fields));
    for to in ["record", "proposal"] {
        let (out, back) = (format!("out/{}", file(to)), format!("back/{to}.md"));
        let ran = place.run(&["convert", "plans/good.md", "--to", to, "-o", &out]);
        ran.expect(0, &["wrote"]);
        assert!(!ran.said().contains("elephants") && !ran.said().contains("tests/**"), "{ran:#?}");
        place.run(&["convert", &out, "--to", "native", "-o", &back]).expect(0, &["wrote"]);
        let shown = place.run(&["show", &format!("{back}/s1")]);
        shown.expect(0, &["sealed     tests/**", "may pass   it guards the elephants"]);
    }
    for to in ["named", "directory"] {
        let out = format!("out/{}", file(to));
        place
            .run(&["convert", "plans/good.md", "--to", to, "-o", &out])
            .expect(0, &["sealed", "tests/**", "green", "it guards the elephants"]);
    }
}

// C-01, C-06, P-02: a new proposal has a name that no other has, in its own folder; a large context goes into artifacts.
#[test]
fn a_new_proposal_has_its_own_name_and_a_context_within_the_limit() {
    let place = Place::empty();
    let big = "words about it ".repeat(4000);
    place.write("plans/good.md", sound("A good plan", 2).replace("Because.", &big));
    for _ in 0..2 {
        place.run(&["convert", "plans/good.md", "--to", "proposal"]).expect(0, &["wrote  .pi/plans/PLAN-"]);
    }
    let names = place.bash("ls .pi/plans .pi/plans/artifacts/*").stdout;
    let plans: Vec<&str> =
        names.lines().filter(|line| line.starts_with("PLAN-") && line.contains(".md")).collect();
    assert_eq!(plans.len(), 2, "{names}");
    for plan in plans {
        let text = place.read(&format!(".pi/plans/{plan}"));
        assert!(text.len() < 50_000 && text.contains("artifacts/PLAN-"), "{} bytes", text.len());
        place.run(&["verify", &format!(".pi/plans/{plan}")]).expect(0, &["2 steps"]);
    }
    assert!(place.bash("cat .pi/plans/artifacts/*/*").stdout.contains(big.trim()));
}

// P-06: files of other tools become drafts that verify, told by where they lie and what they say.
#[test]
fn files_of_other_tools_become_drafts() {
    let place = Place::empty();
    let files = [
        (
            "specs/001-auth/tasks.md",
            "# Tasks: auth\n\n## Phase 1: Setup\n\n- [ ] T001 Make src/a.rs\n- [x] T002 [P] Make src/b.rs\n",
            "spec-kit",
            2,
        ),
        (
            ".kiro/specs/auth/tasks.md",
            "# Implementation Plan\n\n- [ ] 1. Set up\n  - Make it.\n  - _Requirements: 1.1_\n- [ ] 2. Test\n",
            "Kiro",
            2,
        ),
        (
            "openspec/changes/add-auth/tasks.md",
            "## 1. Work\n\n- [ ] 1.1 Do a\n- [x] 1.2 Do b\n",
            "OpenSpec",
            2,
        ),
        (
            ".taskmaster/tasks/tasks.json",
            "{\"master\":{\"tasks\":[{\"id\":1,\"title\":\"A\",\"status\":\"done\",\"dependencies\":[]},{\"id\":2,\"title\":\"B\",\"status\":\"pending\",\"dependencies\":[1]}]}}",
            "Task Master",
            2,
        ),
        (
            ".cursor/plans/auth.plan.md",
            "---\nname: Auth\ntodos:\n  - id: a\n    content: Do a\n    status: pending\n---\n\n# Auth\n",
            "Cursor",
            1,
        ),
        (
            "prd.json",
            "{\"project\":\"x\",\"branchName\":\"b\",\"userStories\":[{\"id\":\"US-001\",\"title\":\"A\",\"acceptanceCriteria\":[\"x\"],\"priority\":1,\"passes\":false}]}",
            "ralph",
            1,
        ),
        (
            ".beads/issues.jsonl",
            "{\"id\":\"bd-1\",\"title\":\"A\",\"status\":\"open\",\"issue_type\":\"task\",\"priority\":1}\n",
            "beads",
            1,
        ),
        (
            "backlog/tasks/task-1 - Do-it.md",
            "---\nid: task-1\ntitle: Do it\nstatus: To Do\ndependencies: []\n---\n\n## Description\n\nIt.\n",
            "Backlog.md",
            1,
        ),
    ];
    for (place_in, text, tool, count) in files {
        place.write(place_in, text);
        let name = format!("from-{}", tool.to_lowercase().replace([' ', '.'], "-"));
        let steps = if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
        place.run(&["import", place_in, "--name", &name]).expect(0, &["wrote", tool, &steps]);
        let plan = format!("plans/{name}.md");
        place.run(&["verify", &plan]).expect(0, &[]);
        assert!(place.read(&plan).contains("status: draft"), "{}", place.read(&plan));
    }
    place.write("notes.txt", "nothing\n");
    place.run(&["import", "notes.txt"]).expect(1, &["cannot detect the format of notes.txt", "--from"]);
    place.run(&["import", "prd.json", "--from", "ralhp"]).expect(2, &["did you mean `ralph`?"]);
}

// P-07: a plan leaves for other programs and for people.
#[test]
fn a_plan_is_exported_in_every_form() {
    let place = Place::empty();
    place.write("plans/good.md", sound("A <b>good</b> plan", 2));
    let export = |form: &str| place.run(&["export", "good", "--to", form]).expect(0, &[]).stdout.clone();
    let json: Value = serde_json::from_str(&export("json")).expect("JSON");
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(2));
    assert!(export("mermaid").starts_with("flowchart"));
    assert!(export("dot").starts_with("digraph"));
    assert!(export("markdown").contains("- verdict: not run\n"));
    let html = export("html");
    assert!(html.starts_with("<!doctype html>") && !html.contains("<b>good</b>"), "{html}");
    place.run(&["export", "good", "--to", "html", "-o", "report.html"]).expect(0, &["wrote  report.html"]);
    assert_eq!(place.read("report.html"), html);
}

// B-19 and M-10: suggestions are words, never written.
#[test]
fn contracts_are_suggested_and_nothing_is_written() {
    let place = Place::empty();
    let plan = "# T\n\n**Status:** planning\n\n## Tasks\n\n### 1. Add the parser\n\n- **What:** Create `src/parser.sh`.\n\
        - **Verification:** look at it\n- **Status:** [ ]\n";
    place.write(".harness/PLAN.md", plan);
    let ran = place.run(&["verify", ".harness/PLAN.md", "--suggest-contracts"]);
    ran.expect(0, &["suggested", "src/parser.sh", "nothing was written"]);
    assert_eq!(place.read(".harness/PLAN.md"), plan);
}
