//! Three workers on three plans in one repository: each is bound to its plan by the worktree that it stands in, one waits for
//! another that touches the same files, and all land. Killed at any time, they come to the same end.
#![expect(
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they start and kill it"
)]

use std::fs::File;
use std::time::Duration;

use crate::follow::{Running, wait_until};
use crate::test_env::Place;

/// An agent that does what stands behind `run:` in what it is told.
const SETTINGS: &str = "[roles]\ncoder = \"hands\"\n[agents.hands]\ncommand = [\"bash\", \"-c\", \"sed -n 's/.*run: //p' | bash -e\"]\n";
const PLANS: [&str; 3] = ["api", "docs", "web"];

/// A plan of document D with one task for each of the files.
fn plan(name: &str, touches: &str, tasks: &[(&str, &str)]) -> String {
    let mut text = format!("---\ntouches: [{touches}]\n---\n# Plan: {name}\n\n## Tasks\n");
    for (number, (script, verification)) in tasks.iter().enumerate() {
        text.push_str(&format!(
            "\n### {}. Do {name} {number}\n- **What:** run: {script}\n- **Verification:** `{verification}`\n- **Status:** [ ]\n",
            number + 1
        ));
    }
    text
}

/// A repository with the three plans, each with a worktree. The first task of `api` waits for the file `go` in the home folder.
fn repository() -> Place {
    let place = Place::empty();
    let wait = "touch \"$HOME/api-began\"; until [ -e \"$HOME/go\" ]; do sleep 0.01; done; mkdir -p src/api; echo api >src/api/api.txt";
    place
        .write("planwright.toml", SETTINGS)
        .write(
            ".harness/PLAN-api.md",
            plan(
                "api",
                "\"src/api/**\"",
                &[
                    (wait, "test -s src/api/api.txt"),
                    ("cat src/api/api.txt src/api/api.txt >src/api/two.txt", "grep -q api src/api/two.txt"),
                ],
            ),
        )
        .write(
            ".harness/PLAN-docs.md",
            plan(
                "docs",
                "\"src/*/README.md\"",
                &[("mkdir -p src/api; echo docs >src/api/README.md", "grep -q docs src/api/README.md")],
            ),
        )
        .write(
            ".harness/PLAN-web.md",
            plan(
                "web",
                "\"src/web/**\"",
                &[("mkdir -p src/web; echo web >src/web/web.txt", "test -s src/web/web.txt")],
            ),
        );
    place.commit("plans");
    for name in PLANS {
        place.run(&["worktree", "add", name]).expect(0, &[&format!("plan/{name}")]);
    }
    place
}

/// A worker of its own in the worktree of a plan. It says nothing about which plan is meant.
fn worker(place: &Place, name: &str) -> Running {
    let tree = place.printed(&format!("planwright worktree path {name}"));
    let digest = place.printed(&format!(
        "cd '{tree}' && planwright run --dry-run --json | grep -o '\"digest\":\"[0-9a-f]*' | head -1 | cut -d'\"' -f4"
    ));
    let said = File::options().create(true).append(true).open(place.path(&format!("../{name}.said")));
    let said = said.expect("a file");
    let mut command = place.planwright(&["run", "--wait", "--plain", "--rev", &digest]);
    command.current_dir(&tree).stdout(said.try_clone().expect("the same file")).stderr(said);
    Running(command.spawn().expect("the program starts"))
}

fn said(place: &Place, name: &str) -> String {
    place.read(&format!("../{name}.said"))
}

/// What lies in the main branch after everything landed.
fn landed(place: &Place) -> String {
    place.printed("git ls-tree -r --format='%(objectname) %(path)' main -- src")
}

#[track_caller]
fn land(place: &Place) {
    place.run(&["merge"]).expect(0, &["api", "docs", "web"]);
    let files = ["src/api/README.md", "src/api/api.txt", "src/api/two.txt", "src/web/web.txt"];
    assert!(files.iter().all(|file| place.has(file)), "{}", landed(place));
    // What is on the merged tree is what the contracts of all three passed on.
    for name in PLANS {
        place.run(&["audit", name, "--rerun"]).expect(0, &[]);
    }
}

// D-23, D-18, D-07, C-28, P-12: bound without a flag, one waits for `touches`, all land, contracts pass on the merged tree.
#[test]
fn three_workers_on_three_plans_land_together() {
    let place = repository();
    let mut api = worker(&place, "api");
    wait_until("the first one works", || place.printed("ls $HOME").contains("api-began"));
    let (mut web, mut docs) = (worker(&place, "web"), worker(&place, "docs"));
    assert_eq!(web.end(), 0, "{}", said(&place, "web"));
    wait_until("it waits", || said(&place, "docs").contains("docs is blocked by api"));
    assert!(said(&place, "docs").contains("src/api/README.md"), "{}", said(&place, "docs"));
    assert!(!place.printed("planwright status --queue --json").is_empty());
    place.printed("touch $HOME/go");
    assert_eq!(api.end(), 0, "{}", said(&place, "api"));
    assert_eq!(docs.end(), 0, "{}", said(&place, "docs"));
    assert_eq!(
        place.printed("git log --format=%s plan/api -- src | tail -1"),
        "Do api 0",
        "one commit a step"
    );
    assert!(!place.has("src"), "nothing landed yet");
    land(&place);
    place.run(&["worktree", "prune"]).expect(0, &["api", "docs", "web"]);
    assert!(!place.printed("git branch --list 'plan/*'").is_empty(), "branches stay");
}

// D-23, P-15: any of them is killed at any time, again and again: everything lands all the same.
#[test]
fn three_workers_that_are_killed_land_all_the_same() {
    let calm = repository();
    calm.printed("touch $HOME/go");
    for name in PLANS {
        assert_eq!(worker(&calm, name).end(), 0, "{}", said(&calm, name));
    }
    land(&calm);
    for round in 0..4_u64 {
        let place = repository();
        place.printed("touch $HOME/go");
        let mut workers: Vec<(&str, Running)> = PLANS.map(|name| (name, worker(&place, name))).into();
        for kill in 0..6 {
            std::thread::sleep(Duration::from_millis((round * 37 + kill * 53) % 190));
            let victim = usize::try_from((round + kill) % 3).expect("small");
            let (name, running) = &mut workers[victim];
            running.kill();
            *running = worker(&place, name);
        }
        for (name, running) in &mut workers {
            assert_eq!(running.end(), 0, "round {round}: {}", said(&place, name));
        }
        land(&place);
        assert_eq!(landed(&place), landed(&calm), "round {round}");
    }
}

// D-07: a plan that does not say what it touches is never taken for safe, neither the one that begins nor the one at work.
#[test]
fn a_plan_that_does_not_say_what_it_touches_is_waited_for() {
    let place = Place::empty();
    let wait = "touch \"$HOME/one-began\"; until [ -e \"$HOME/go\" ]; do sleep 0.01; done; echo one >one.txt";
    let silent = |name: &str, script: &str, verification: &str| {
        plan(name, "", &[(script, verification)]).replace("---\ntouches: []\n---\n", "")
    };
    place
        .write("planwright.toml", SETTINGS)
        .write(".harness/PLAN-one.md", silent("one", wait, "test -s one.txt"))
        .write(".harness/PLAN-two.md", silent("two", "echo two >two.txt", "test -s two.txt"))
        .write(
            ".harness/PLAN-three.md",
            plan("three", "\"docs/**\"", &[("mkdir -p docs; echo >docs/three", "test -e docs/three")]),
        );
    place.commit("plans");
    for name in ["one", "two", "three"] {
        place.run(&["worktree", "add", name]).expect(0, &[]);
    }
    let mut one = worker(&place, "one");
    wait_until("the first one works", || place.printed("ls $HOME").contains("one-began"));
    let mut two = worker(&place, "two");
    wait_until("it waits", || said(&place, "two").contains("two is blocked by one, which "));
    // Whoever does not wait is told.
    let tree = place.printed("planwright worktree path three");
    let ran = place.bash(&format!("cd '{tree}' && planwright run --plain"));
    ran.expect(3, &["warning: one is running and may change any file", "pass --wait to wait for it"]);
    place.printed("touch $HOME/go");
    assert_eq!((one.end(), two.end()), (0, 0), "{}", said(&place, "two"));
}
