//! Plans of every dialect, as their authors keep them: checked, listed, run, killed and taken up again in place, in their own words.

use std::process::Stdio;

use serde_json::Value;

use crate::follow::Running;
use crate::test_env::{Place, run};

/// Does the work of any step; waits for the file `go` first, where there is one called `wait`.
const AGENT: &str =
    "echo $$ >agent; while [ -e wait ] && [ ! -e go ]; do sleep 0.01; done; echo said so; touch one two";

/// A plan in one dialect: how it is called, where its dialect is told from, its files, and what they say in the end.
struct Kind {
    address: &'static str,
    told: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Pairs of a file and what stands in it once the plan is done.
    done: &'static [(&'static str, &'static str)],
}

const KINDS: &[Kind] = &[
    Kind {
        address: "make-files",
        told: "dialect: record (make-files.yaml in .rawko/plans/)",
        files: &[(
            ".rawko/plans/make-files.yaml",
            "# kept\nid: make-files\ntask: \"Make files\"   # why\nstatus: draft\nversion: 1\ncurrentStepIndex: 0\n\
             createdAt: \"2026-01-23T10:00:00Z\"\nupdatedAt: \"2026-01-23T10:00:00Z\"\ncreatedBy: planner\nsteps:\n\
             \x20 - index: 0\n    description: Make one\n    status: pending\n    contract: test -e one\n\
             \x20 - index: 1\n    description: Make two\n    status: pending\n    contract: test -e two\n    dependsOn: [0]\n",
        )],
        done: &[
            (
                ".rawko/plans/make-files.yaml",
                "# kept\nid: make-files\ntask: \"Make files\"   # why\nstatus: complete\n",
            ),
            (".rawko/plans/make-files.yaml", "    status: complete\n    executedBy: coder\n    startedAt: "),
            (".rawko/plans/make-files.yaml", "    output: said so\n    affectedFiles:\n"),
            (".rawko/current-task.yaml", "planId: make-files\nstatus: complete\n"),
        ],
    },
    Kind {
        address: "PLAN-1a2b3c4d",
        told: "dialect: proposal (PLAN-1a2b3c4d.md in .pi/plans/)",
        files: &[(
            ".pi/plans/PLAN-1a2b3c4d.md",
            "---\nid: PLAN-1a2b3c4d\ntitle: \"Make files\"\nstatus: approved\nversion: 3\ncreated_at: 2026-02-03T10:00:00Z\n\
             updated_at: 2026-02-03T10:00:00Z\nplanner_model: \"\"\ntools_required: [bash]\nexecutor_model: \"\"\n---\n\n\
             # Make files\n\n## Steps\n\n1. Make one (bash: run a script → one)\n   verify: `test -e one`\n\
             2. Make two\n   verify: `test -e two`\n\n## Context\n\n### Notes\n\nNone.\n",
        )],
        done: &[
            (".pi/plans/PLAN-1a2b3c4d.md", "title: \"Make files\"\nstatus: completed\nversion: "),
            (".pi/plans/PLAN-1a2b3c4d.md", "1. Make one (bash: run a script → one)\n"),
            (".pi/plans/sessions/PLAN-1a2b3c4d.jsonl", "\"step\": 2, "),
        ],
    },
    Kind {
        address: "make-files",
        told: "dialect: named (PLAN-make-files.md in .harness/)",
        files: &[(
            ".harness/PLAN-make-files.md",
            "# Plan: make files\n\n**Status:** planning\n\n## Tasks\n\n### 1. Make one\n\n- **What:** Make it.\n\
             - **Verification:** `test -e one`\n- **Status:** not started\n\n### 2. Make two\n\n- **What:** Make it.\n\
             - **Verification:** `test -e two` passes\n- **Status:** [ ] (by hand)\n",
        )],
        done: &[
            (".harness/PLAN-make-files.md", "**Status:** done\n"),
            (".harness/PLAN-make-files.md", "- **Status:** [x]"),
            (".harness/progress-make-files.md", "\"Make two\""),
        ],
    },
    Kind {
        address: "make-files",
        told: "dialect: directory (plan.md with tasks/)",
        files: &[
            ("plans/make-files/plan.md", "---\ntitle: Make files\n---\n\nBecause.\n"),
            (
                "plans/make-files/tasks/01-one.md",
                "---\nid: one\n---\n\nMake one.\n\n## Verification\n\n```shell\ntest -e one\n```\n",
            ),
            (
                "plans/make-files/tasks/02-two.md",
                "---\nid: two\ndepends_on: [one]\n---\n\nMake two.\n\n## Verification\n\n```shell\ntest -e two\n```\n",
            ),
        ],
        done: &[("plans/make-files/tasks/02-two.md", "---\nid: two\ndepends_on: [one]\n---\n\nMake two.\n")],
    },
];

impl Kind {
    fn place(&self) -> Place {
        let place = Place::empty();
        let agent = format!("[agents.coder]\ncommand = [\"bash\", \"-c\", \"{AGENT}\"]\n");
        place.write("planwright.toml", agent);
        for (path, text) in self.files {
            place.write(path, text);
        }
        place
    }

    fn digest(&self, place: &Place) -> String {
        let ran = place.run(&["run", self.address, "--dry-run", "--json"]);
        let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
        envelope["data"]["digest"].as_str().unwrap_or_else(|| panic!("{ran:#?}")).to_owned()
    }

    #[track_caller]
    fn assert_done(&self, place: &Place) {
        for (path, words) in self.done {
            let text = place.read(path);
            assert!(text.contains(words), "{path} does not say {words:?}:\n{text}");
        }
    }
}

// M-10: `verify`, `show`, `list` and `run` work in place, and what they write is in the plan's own words.
#[test]
fn every_dialect_is_checked_listed_and_run_in_its_own_words() {
    for kind in KINDS {
        let place = kind.place();
        place.run(&["verify", kind.address]).expect(0, &[kind.told, "2 steps"]);
        place.run(&["show", kind.address]).expect(0, &[kind.told, "Make"]);
        place.run(&["list"]).expect(0, &["0/2"]);
        place.run(&["run", kind.address, "--rev", &kind.digest(&place)]).expect(0, &["2 of 2 steps passed"]);
        kind.assert_done(&place);
    }
}

// P-31: what a run has written into a plan of any dialect is no drift; taken away by hand, it is written again.
#[test]
fn drift_of_every_dialect_is_healed() {
    let mut healed = 0;
    for kind in KINDS {
        let place = kind.place();
        place.run(&["run", kind.address, "--rev", &kind.digest(&place)]).expect(0, &[]);
        let behind = "is out of date with the record";
        let ran = place.run(&["doctor"]);
        assert!(!ran.expect(0, &[]).said().contains(behind), "{ran:#?}");
        for (path, text) in kind.files {
            place.write(path, text);
        }
        healed += usize::from(place.run(&["doctor"]).said().contains(behind));
        let ran = place.run(&["doctor", "--fix"]);
        assert!(!ran.said().contains("cannot mark progress"), "{ran:#?}");
        kind.assert_done(&place);
        let ran = place.run(&["doctor"]);
        assert!(!ran.expect(0, &[]).said().contains(behind), "{ran:#?}");
    }
    assert!(healed >= 3, "only {healed} dialects had anything to heal");
}

// A-24, M-10: killed while an agent works, a run of any dialect goes on to the same end, and nothing beside it is told twice.
#[test]
fn every_dialect_goes_on_after_a_kill() {
    for kind in KINDS {
        let place = kind.place();
        place.write("wait", "");
        let digest = kind.digest(&place);
        let mut command = place.planwright(&["run", kind.address, "--rev", &digest]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Running(command.spawn().expect("the program starts"));
        place.wait_for_file("agent");
        running.kill();
        place.write("go", "");
        place.run(&["run", kind.address]).expect(0, &["2 of 2 steps passed"]);
        kind.assert_done(&place);
        for (path, _) in
            kind.done.iter().filter(|(path, _)| path.contains("progress") || path.contains("sessions"))
        {
            let text = place.read(path);
            let judged = text.lines().filter(|line| line.contains("completed") || line.contains("\"step\""));
            assert_eq!(judged.count(), 2, "{path} tells something twice:\n{text}");
        }
    }
}

// A-01, A-31: no dialect gives an agent a word that makes a step done.
#[test]
fn what_an_agent_writes_into_a_plan_of_any_dialect_makes_nothing_done() {
    let lies = [("status: pending", "status: complete"), ("[ ]", "[x]"), ("not started", "done")];
    for kind in KINDS {
        let place = kind.place();
        for (path, text) in kind.files {
            let lie = lies.iter().fold((*text).to_owned(), |text, (from, to)| text.replace(from, to));
            place.write(path, lie.replace("test -e", "test -d"));
        }
        let ran = place.run(&["run", kind.address, "--rev", &kind.digest(&place)]);
        ran.expect(3, &["0 of 2 steps passed"]);
    }
}

// C-08, C-09: of many writers at once each one adds its version or is told what it expected and what it found.
#[test]
fn eight_writers_grow_the_version_by_the_number_that_succeeded() {
    let kind = &KINDS[1];
    let place = kind.place();
    let wrote: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let place = &place;
                scope.spawn(move || {
                    let mut count = 0;
                    for round in 0..5 {
                        let note = format!("note {writer}.{round}");
                        let ran =
                            run(&mut place.planwright(&["edit", "PLAN-1a2b3c4d", "--note", &note]), b"");
                        match ran.code {
                            0 => count += 1,
                            _ => drop(
                                ran.expect(4, &["was changed by", "expected version ", "found version "]),
                            ),
                        }
                    }
                    count
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("no panic")).sum()
    });
    let text = place.read(".pi/plans/PLAN-1a2b3c4d.md");
    assert!(wrote > 0);
    assert!(text.contains(&format!("version: {}\n", 3 + wrote)), "{wrote} writes:\n{text}");
    assert_eq!(text.matches("note ").count(), wrote, "{text}");
}

// D-03: whoever else writes, progress lines are whole.
#[test]
fn many_notes_at_once_are_whole_lines() {
    let kind = &KINDS[2];
    let place = kind.place();
    std::thread::scope(|scope| {
        for writer in 0..10 {
            let place = &place;
            scope.spawn(move || {
                // A plan that moved is no reason to lose the note: it is tried again, as people do.
                let note = format!("note {writer}");
                while place.run(&["edit", "make-files", "--note", &note]).code != 0 {}
            });
        }
    });
    let text = place.read(".harness/progress-make-files.md");
    for writer in 0..10 {
        assert_eq!(
            text.lines().filter(|line| line.ends_with(&format!("note {writer}"))).count(),
            1,
            "{text}"
        );
    }
}

// M-10: a dialect can be forced, and what looks like none is told what it lacks.
#[test]
fn a_dialect_can_be_said_and_nothing_is_guessed() {
    let place = Place::empty();
    place.write("notes.md", "# Notes\n\nNothing to do here.\n");
    place.run(&["verify", "notes.md"]).expect(1, &["PW0116", "not a plan in any known dialect", "--dialect"]);
    for words in [&["show"][..], &["edit", "--note", "x"], &["convert", "--to", "native"], &["fmt"]] {
        let words: Vec<&str> = words.iter().copied().chain(["notes.md"]).collect();
        place.run(&words).expect(1, &["notes.md is not a plan in any known dialect", "--dialect NAME"]);
    }
    assert_eq!(place.read("notes.md"), "# Notes\n\nNothing to do here.\n");
    place.write("todo.md", "# Todo\n\n- [ ] one thing\n- [ ] another\n");
    for command in ["show", "fmt"] {
        place.run(&[command, "todo.md"]).expect(1, &["todo.md is not a plan", "planwright import todo.md"]);
    }
    place.write(
        "x.md",
        "# T\n\n### 1. A\n\n- **What:** x\n- **Verification:** `test -e x`\n- **Status:** [ ]\n",
    );
    place.run(&["verify", "x.md", "--dialect", "named"]).expect(0, &["dialect: named (as you say)"]);
    place
        .run(&["verify", "x.md", "--dialect", "namd"])
        .expect(2, &["unknown dialect `namd`", "did you mean `named`?"]);
}

// B-07, D-13, D-16: a pointer to a missing plan is loud; conflict copies are told of, never read, never deleted.
#[test]
fn pointers_that_lead_nowhere_and_conflict_copies_are_told_of() {
    let kind = &KINDS[2];
    let place = kind.place();
    let copy = ".harness/PLAN-make-files (conflicted copy 2026-05-27).md";
    place
        .write(copy, kind.files[0].1)
        .write(".rawko/current-task.yaml", "task: x\nplanId: gone\nstatus: draft\n");
    for words in [&["list"][..], &["doctor"]] {
        let ran = place.run(words);
        let said = ran.said();
        assert!(said.contains("conflict copy") && said.contains("`gone`, which was not found"), "{said}");
    }
    assert_eq!(place.run(&["list", "--json"]).stdout.matches("\"steps\"").count(), 1);
    assert_eq!(place.read(copy), kind.files[0].1);
}

// C-14: the settings of proposals are read, and what is wrong with them is said.
#[test]
fn the_settings_of_proposals_are_looked_at() {
    let place = KINDS[1].place();
    place.write(".pi/plans.json", "{ \"guardedTools\": [\"gmail_send\"], \"stale_after_day\": 3 }");
    let said = place.run(&["doctor"]).said();
    for words in ["1 guarded tool, stale after 30 days", "did you mean `stale_after_days`?"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

// D-11: a named plan goes by its slug, its stem and its file name; what leads elsewhere is none.
#[test]
fn a_named_plan_goes_by_slug_stem_and_file_name() {
    let place = KINDS[2].place();
    for address in ["make-files", "PLAN-make-files", "PLAN-make-files.md", ".harness/PLAN-make-files.md"] {
        place.run(&["verify", address]).expect(0, &["2 steps"]);
    }
    place.run(&["verify", "../make-files"]).expect(2, &[]);
}

// E-07, E-09: every error of every folder is said in one run, an empty task among them.
#[test]
fn all_errors_of_all_folders_are_said_at_once() {
    let place = KINDS[3].place();
    place
        .write("plans/make-files/tasks/1-x.md", "x\n")
        .write("plans/other/plan.md", "---\ntitle: \"\"\n---\n")
        .write("plans/other/tasks/01-a.md", "---\nid: a\ndepend_on: [b]\n---\n");
    let ran = place.run(&["verify", "--format", "short"]);
    for said in ["tasks/1-x.md", "PW0151", "plans/other", "PW0108", "unknown field `depend_on`", "PW0105"] {
        assert!(ran.said().contains(said), "{said}: {ran:#?}");
    }
    assert_eq!(ran.code, 1);
}

// E-01: a plan may lie away from the repository that it is about; the work is done where the user stands, and nothing of the
// plan comes into the repository.
#[test]
fn a_folder_outside_of_the_repository_is_run_where_the_user_stands() {
    let kind = &KINDS[3];
    let place = Place::empty();
    place.write("planwright.toml", format!("[agents.coder]\ncommand = [\"bash\", \"-c\", \"{AGENT}\"]\n"));
    let outside = "../home/.agentflow/plans/session-1";
    for (path, text) in kind.files {
        place.write(&path.replace("plans/make-files", outside), text);
    }
    let kind = Kind { address: outside, told: kind.told, files: &[], done: &[] };
    place.run(&["verify", outside]).expect(0, &["2 steps"]);
    place.run(&["run", outside, "--rev", &kind.digest(&place)]).expect(0, &["2 of 2 steps passed"]);
    place.run(&["status", outside]).expect(0, &["session-1"]);
    let names = place.bash("ls").stdout;
    assert_eq!(names, "agent\none\nplanwright.toml\ntwo\n");
}

// B-12, B-16, B-19: the next version of a plan, its history, its events by their names, and an archive that deletes nothing.
#[test]
fn a_plan_is_planned_anew_and_archived() {
    let place = KINDS[0].place();
    let path = ".rawko/plans/make-files.yaml";
    place.write(path, place.read(path).replace("test -e two", "test -d two"));
    place.run(&["run", "make-files", "--rev", &KINDS[0].digest(&place)]).expect(3, &["make-two needs you"]);
    assert!(place.read(path).contains("status: replanning\n"), "{}", place.read(path));
    place.run(&["archive", "make-files"]).expect(4, &["is running"]);
    place
        .run(&["revise", "make-files", "--copy", "--constraint", "use folders"])
        .expect(0, &["make-files-v2.yaml"]);
    place.run(&["revise", "make-files-v2/make-two", "--copy"]).expect(0, &["make-files-v3.yaml"]);
    let next = place.read(".rawko/plans/make-files-v3.yaml");
    for said in ["id: make-files-v3\n", "version: 3\n", "previousPlanId: make-files-v2\n", "use folders"] {
        assert!(next.contains(said), "{said}:\n{next}");
    }
    assert_eq!(next.matches("status: complete").count(), 1, "what was finished stays finished:\n{next}");
    let history = place.run(&["log", "make-files-v2", "--versions"]);
    let order: Vec<usize> = ["make-files ", "make-files-v2 ", "make-files-v3 "]
        .iter()
        .map(|name| history.stdout.find(name).unwrap_or_else(|| panic!("{history:#?}")))
        .collect();
    assert!(order.is_sorted(), "{history:#?}");
    let events = place.run(&["log", "--all", "--names", "record"]);
    let names: Vec<String> = events
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["type"].as_str().unwrap_or_default().to_owned()
        })
        .collect();
    assert_eq!(names[..3], ["PLAN_CREATED", "STEP_STARTED", "STEP_COMPLETED"], "{names:?}");
    assert_eq!(names.last().map(String::as_str), Some("STEP_FAILED"), "{names:?}");
    place.run(&["archive", "make-files-v3"]).expect(0, &["archive/make-files-v3.yaml"]);
    assert_eq!(place.read(".rawko/plans/archive/make-files-v3.yaml"), next);
    assert!(!place.run(&["list"]).stdout.contains("make-files-v3"));
}
