//! The arbiter: what it is told, what it chooses, and that no agent in its place leads anywhere that planwright would not go.

use serde_json::Value;

use crate::sample::Sketch;
use crate::test_env::{Place, Ran, run};

const STEPS: &[Sketch<'static>] = &[
    ("make", "", "touch made", "test -e made"),
    ("fix", "**on_fail:** retry(1), then escalate", "echo wrong", "test -e fixed"),
    ("last", "", "true", "test -e last"),
];

#[track_caller]
fn data(ran: &Ran) -> Value {
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    envelope["data"].clone()
}

/// Says in the user's own settings that this script is the arbiter.
fn with_arbiter(place: &Place, script: &str) {
    let words = serde_json::json!(["bash", "-c", script]).to_string();
    place.run(&["config", "set", "agents.sage.command", &words, "--user"]).expect(0, &[]);
    place.run(&["config", "set", "arbiter.agent", "sage", "--user"]).expect(0, &[]);
}

// B-14: the layout of document B, from the plan and its journal, with history and last error.
#[test]
fn an_arbiter_is_told_the_plan_and_what_happened() {
    let place = Place::with_plan(STEPS);
    place.run(&["show", "it", "--for", "arbiter"]).expect(
        0,
        &[
            "## Current Task\n\nCarry it out\n\n## Plan Status\n\nStatus: draft\nProgress: 0/3 steps\n\n## Current Step\n\n\
             Step 1: Do make\nSuggested agent: shell\n\n## Remaining Steps\n\n- Step 1: Do make\n- Step 2: Do fix\n",
        ],
    );
    place.approve_and_run().expect(3, &[]);
    let told = place.run(&["show", "it", "--for", "arbiter"]);
    told.expect(
        0,
        &[
            "Status: replanning\nProgress: 1/3 steps\n",
            "Step 2: Do fix\n",
            "## Remaining Steps\n\n- Step 3: Do last\n",
            "## History\n\n- Step 1, attempt 1 by shell: passed\n- Step 2, attempt 1 by shell: failed: exit 1\n",
            "## Last Error\n\nfix, attempt 2: exit 1\n",
        ],
    );
    let json = data(&place.run(&["show", "it", "--for", "arbiter", "--json"]));
    assert_eq!(json["told"].as_str(), Some(told.stdout.as_str()));
}

// B-15: without a model the choice is made all the same, is explained, and is the same every time.
#[test]
fn the_built_in_choice_is_explained_and_reproducible() {
    let place = Place::with_plan(STEPS);
    place
        .run(&["arbiter", "it"])
        .expect(0, &["step 1 make", "continue (of continue)", "names `shell`", "built-in"]);
    place.approve_and_run().expect(3, &[]);
    let first = place.run(&["arbiter", "it", "--json"]);
    let choice = data(first.expect(0, &[]));
    // The same words twice: another plan rather than another try.
    assert_eq!(
        (choice["step"].as_str(), choice["action"].as_str()),
        (Some("fix"), Some("replan")),
        "{choice:#}"
    );
    assert_eq!(choice["actions"], serde_json::json!(["escalate", "replan"]));
    assert_eq!(place.run(&["arbiter", "it", "--json"]), first);
    place.run(&["arbiter", "plans/none.md"]).expect(2, &[]);
}

// B-15: an agent may be the arbiter. A good answer is followed; one that is not in the table, rubbish, silence and an agent that
// hangs leave the built-in choice, and say so. All of it is kept.
#[test]
fn an_agent_as_arbiter_is_bounded() {
    let place = Place::with_plan(STEPS);
    place.approve_and_run().expect(3, &[]);
    let cases = [
        (
            r#"cat > /dev/null; test -e plans || echo '{"agent":"sage","action":"escalate","reason":"ask her"}'"#,
            "escalate",
            "sage",
            "ask her",
        ),
        (
            r#"echo '{"agent":"sage","action":"retry","reason":"again"}'"#,
            "replan",
            "built-in",
            "invalid action `retry`, expected one of escalate, replan",
        ),
        (r#"echo '{"agent":"root","action":"replan"}'"#, "replan", "built-in", "invalid agent `root`"),
        (r#"echo '{"action":"approve","agent":"sage"}'"#, "replan", "built-in", "invalid action `approve`"),
        ("echo I would try again", "replan", "built-in", "it is not a choice in JSON"),
        ("echo broken >&2; exit 3", "replan", "built-in", "it exited with 3: broken"),
        ("sleep 600", "replan", "built-in", "timed out after 1 s"),
    ];
    for (script, action, by, because) in cases {
        with_arbiter(&place, script);
        let ran = place.run(&["arbiter", "it", "--json", "--config", "consult.seconds=1"]);
        let choice = data(ran.expect(0, &[]));
        assert_eq!(
            (choice["action"].as_str(), choice["by"].as_str()),
            (Some(action), Some(by)),
            "{script}: {choice:#}"
        );
        let reasons = choice["reasons"].to_string();
        assert!(reasons.contains(because), "{script}: {reasons}");
        place.run(&["comment", "it"]).expect(0, &["sage (an agent): arbiter", because]);
    }
    // Whatever was said, nothing moved: the question is still open, and a person answers it.
    assert_eq!(place.standing()["state"], "waiting");
    place.run(&["arbiter", "it", "--built-in"]).expect(0, &["built-in"]);
    let agent = run(place.planwright(&["arbiter", "it"]).env("CLAUDECODE", "1"), b"");
    agent.expect(
        0,
        &["arbiter not asked, because this terminal belongs to an agent; using the built-in choice"],
    );
}

// A command line that an agent could have written into the project is not run by a question; the same one is, once the user says it.
#[test]
fn what_the_project_says_is_not_run_as_arbiter() {
    let place = Place::with_plan(STEPS);
    let script = format!("touch {}", place.path("started").display());
    let words = serde_json::json!(["bash", "-c", script]).to_string();
    place.write("planwright.toml", format!("[agents.evil]\ncommand = {words}\n"));
    place.run(&["config", "set", "arbiter.agent", "evil", "--user"]).expect(0, &[]);
    place.run(&["arbiter", "it"]).expect(0, &["is set in planwright.toml", "built-in"]);
    assert!(!place.has("started"));
    place.write("planwright.toml", "");
    place.run(&["config", "set", "agents.evil.command", &words, "--user"]).expect(0, &[]);
    place.run(&["arbiter", "it"]).expect(0, &["no answer from `evil`: it exited with 0", "built-in"]);
    assert!(place.has("started"), "the guard was what kept it from starting");
    place.write("planwright.toml", "[arbiter]\nagent = \"evil\"\n");
    place.run(&["arbiter", "it"]).expect(2, &["arbiter.agent"]);
}

// B-15: where a target is not configured the choice is written into the settings, so that an approval is of what will be run.
#[test]
fn who_plays_a_role_is_chosen_before_the_approval() {
    let place = Place::with_plan(&[("make", "**target:** tester", "Make it.", "test -e made")]);
    place.write("planwright.toml", "[agents.mine]\ncommand = [\"bash\", \"-c\", \"touch made\"]\n");
    place.run(&["verify", "it"]).expect(1, &["PW0501"]);
    place
        .run(&["arbiter", "it"])
        .expect(0, &["role `tester` could be assigned to `mine`", "planwright arbiter plans/it.md --assign"]);
    run(place.planwright(&["arbiter", "it", "--assign"]).env("CLAUDECODE", "1"), b"")
        .expect(3, &["only a person may assign roles"]);
    place.run(&["arbiter", "it", "--assign"]).expect(0, &["role `tester` is now assigned to `mine`"]);
    assert!(place.read("planwright.toml").contains("tester = \"mine\""));
    place.approve_and_run().expect(0, &["tester runs: bash -c"]);
}

// B-17: the picture that is printed is the one that is drawn of the table.
#[test]
fn the_states_are_explained_by_their_table() {
    let place = Place::empty();
    let ran = place.run(&["explain", "states"]);
    assert_eq!(ran.expect(0, &[]).stdout, planwright_core::run::arbiter::diagram());
    place.run(&["explain", "stats"]).expect(2, &["planwright explain states"]);
}

// B-15: whoever is asked for a word only reads, in a folder of its own that nobody else knew of.
#[test]
fn an_arbiter_only_reads() {
    let place = Place::with_plan(STEPS);
    place.approve_and_run().expect(3, &[]);
    let script = r#"cat > /dev/null; test -d "$0" && grep -q '"mode":"plan"' "$PLANWRIGHT_SCOPE" && test -z "$(ls -A)" && case $PWD in */advisers/arbiter-desk-*) echo '{"agent":"sage","action":"escalate","reason":"ask her"}';; esac"#;
    let words = serde_json::json!(["bash", "-c", script, "{folder}"]).to_string();
    with_arbiter(&place, "true");
    place.run(&["config", "set", "agents.sage.command", &words, "--user"]).expect(0, &[]);
    place.run(&["arbiter", "it"]).expect(0, &["ask her"]);
    place.bash("ls -A \"$HOME\"/.local/state/planwright/*/advisers | grep .").expect(1, &[]);
}
