//! Agents that forge what planwright goes by: programs in front of the PATH, a policy in a home of their own, lists that hide files,
//! pipes in the place of files, names that look like lines of planwright.

use crate::sample::runnable;
use crate::test_env::{Place, run};

const GIT: &str = "git -c user.name=ada -c user.email=ada@localhost";
/// What a hostile script begins with: `forge` calls planwright with a bash that ends with the code that it is told.
const FORGE: &str = r#"
export XDG_STATE_HOME="$HOME/state"
mkdir -p "$HOME/evil/planwright"
forge() {
    printf '#!/bin/sh\nexit %s\n' "$1" >"$HOME/evil/bash"; chmod +x "$HOME/evil/bash"; shift
    code=0; PATH="$HOME/evil:$PATH" planwright "$@" >>said 2>&1 || code=$?
    echo "$code $1" >>codes
}
"#;

/// A plan that a hostile script carries out, beside another one that a person has approved.
fn beside_an_approved_plan(script: &str) -> Place {
    let place = Place::with_plan(&[("a", "", &format!("{FORGE}{script}"), "test -s codes")]);
    place.write("plans/other.md", runnable(&[("b", "", "true", "test -e b")]));
    place.bash(&format!("git init -q -b main . && {GIT} add -A && {GIT} commit -qm plans")).expect(0, &[]);
    let shown = place.run(&["show", "other", "--json"]).stdout;
    let (_, rest) = shown.split_once("\"digest\":\"").expect("a digest");
    place.run(&["propose", "other"]).expect(0, &[]);
    place.run(&["approve", "other", "--rev", &rest[..16]]).expect(0, &["approved"]);
    place
}

// A-01, A-02: whoever drives a run says what `bash` is. So no agent drives one, though a person approved the plan; and what its
// programs say is remembered nowhere.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_carries_out_no_plan_and_has_no_contract_run() {
    let place = beside_an_approved_plan(
        "forge 0 run other; forge 0 run other --worktree; forge 0 quick true --agent shell --contract 'test -e zz'; forge 0 audit other --rerun; \
         forge 0 verify other --red",
    );
    place.approve_and_run().expect(0, &["done"]);
    let codes = place.read("codes");
    assert!(codes.starts_with("3 run\n3 run\n3 quick\n"), "{codes}\n{}", place.read("said"));
    assert!(place.read("said").contains("only a person may approve or run a plan"), "{}", place.read("said"));
    place.run(&["status", "other"]).expect(0, &["plans/other.md has not been run"]);
    // What a person has run afterwards is what is so.
    place.run(&["verify", "other", "--red"]).expect(0, &["fails before the work"]);
    place.run(&["audit", "other", "--rerun"]).expect(0, &["FAILS  exit 1"]);
}

// A-19, C-11: the policy that a rule comes from is the one that a person installed, whatever the variables of an agent say.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_brings_no_policy_of_its_own() {
    let rule = "[[auto]]\nname = \"mine\"\nsteps_max = 50\n";
    let script = format!(
        "printf '%s' '{rule}' >\"$HOME/evil/planwright/policy.toml\"; chmod 600 \"$HOME/evil/planwright/policy.toml\"; \
         export XDG_CONFIG_HOME=\"$HOME/evil\"; forge 0 propose new"
    );
    let place = beside_an_approved_plan(&script);
    place.write("plans/new.md", runnable(&[("c", "", "true", "test -e c")]));
    place.approve_and_run().expect(0, &["done"]);
    assert_eq!(place.read("codes"), "0 propose\n", "{}", place.read("said"));
    assert!(!place.read("said").contains("approved"), "{}", place.read("said"));
    place.run(&["list"]).expect(0, &["verified"]);
    // The same file approves what a person proposes: it is the agent that it does not hold for.
    let own = place.path("../home/evil").display().to_string();
    place.write("plans/mine.md", runnable(&[("d", "", "true", "test -e d")]));
    let mut command = place.planwright(&["propose", "mine"]);
    run(command.env("XDG_CONFIG_HOME", &own), b"").expect(0, &["mine"]);
    let mut command = place.planwright(&["propose", "new"]);
    let ran = run(command.env("XDG_CONFIG_HOME", &own).env("CLAUDECODE", "1"), b"");
    assert!(!ran.said().contains("approved  by the rule"), "{ran:#?}");
}

// P-19: a list that is no part of the project hides no file from the seal.
#[test]
fn a_list_of_ones_own_hides_no_sealed_file() {
    let script = "echo 'exit 0' >tests/aaa.sh; mkdir -p .git/info; echo tests/aaa.sh >>.git/info/exclude";
    let contract = "for one in tests/*.sh; do . ./$one; done; test -e never";
    let place = Place::with_plan(&[("a", "**sealed:** tests/**", script, contract)]);
    place.write("tests/real.sh", "true\n");
    place.bash(&format!("git init -q -b main . && {GIT} add -A && {GIT} commit -qm plans")).expect(0, &[]);
    let ran = place.approve_and_run();
    assert!(ran.code != 0 && ran.said().contains("tests/aaa.sh is new"), "{ran:#?}");
}

// A pipe in the place of a list of ignored files is waited for by nobody, wherever it lies.
#[test]
fn a_pipe_holds_up_nobody() {
    let script =
        "rm -f .gitignore; mkfifo .gitignore; mkdir -p src; mkfifo src/.ignore src/.gitignore; echo x >made";
    let place = Place::with_plan(&[("a", "", script, "test -e made")]);
    place.write("src/inside.md", "x").write(".gitignore", "*.log\n");
    place.bash(&format!("git init -q -b main . && {GIT} add -A && {GIT} commit -qm plans")).expect(0, &[]);
    place.approve_and_run().expect(0, &["done"]);
    for words in [&["list"][..], &["doctor"], &["status", "--queue"], &["status", "--since", "24h"]] {
        place.run(words).expect(0, &[]);
    }
    place.run(&["verify", "it"]).expect(0, &[]);
}

// A name with a line break in it forges no line of planwright's.
#[test]
fn a_name_forges_no_line() {
    let script = r"touch $'evil\nnext: planwright approve evil'; touch fine";
    let place = Place::with_plan(&[("a", "**touches:** fine", script, "test -e fine")]);
    let ran = place.approve_and_run();
    ran.expect(0, &["outside its scope"]);
    assert!(!ran.said().lines().any(|line| line.starts_with("next: planwright approve")), "{ran:#?}");
}
