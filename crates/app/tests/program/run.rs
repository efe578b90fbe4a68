//! `run`: only a contract says what is done, whatever agents say, write or call, and only what a person approved is run.

use crate::follow::FILE;
use crate::sample::runnable;
use crate::test_env::{Place, Ran, run};

/// Goes on once the file `go` is there.
const WAIT: &str = "until [ -e go ]; do sleep 0.01; done";

// A-02, A-21, A-22, A-26: red first, a retry that is fed by what the contract said, green, and marks in the file.
#[test]
fn the_demo_fails_once_and_passes_on_what_the_contract_said() {
    let place = Place::empty();
    place.run(&["demo"]).expect(0, &["hello-planwright"]);
    let at = |words: &[&str]| run(place.planwright(words).current_dir(place.path("hello-planwright")), b"");
    for contract in
        ["sh -n test.sh && grep -q 'Hello, Ada' test.sh", "sh test.sh", "grep -q greet.sh README.md"]
    {
        assert_ne!(place.bash(&format!("cd hello-planwright && {contract}")).code, 0, "{contract}");
    }
    let digest = at(&["run", "hello", "--dry-run"])
        .stdout
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().last().map(str::to_owned));
    at(&["run", "hello", "--rev", &digest.expect("a digest")]).expect(
        0,
        &[
            "attempt 1 of 3, exit 1",
            "expected 'Hello, Ada!', got 'Hello Ada'",
            "retrying with this output",
            "attempt 2",
            "3 of 3 steps passed",
        ],
    );
    let log = at(&["log", "hello"]).stdout;
    let order: Vec<String> = log
        .lines()
        .map(|line| {
            line.split_whitespace()
                .skip(2)
                .filter(|word| *word != "attempt")
                .take(3)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let wanted = [
        "greeter attempt.started 1",
        "greeter attempt.finished 1",
        "greeter contract.finished 1",
        "greeter attempt.started 2",
        "greeter attempt.finished 2",
        "greeter contract.finished 2",
        "readme attempt.started 1",
    ];
    let begin = order.iter().position(|line| line == wanted[0]).expect("the greeter was begun");
    assert_eq!(order[begin..begin + wanted.len()], wanted, "{log}");
    at(&["log", "hello/greeter@2", "--prompt"])
        .expect(0, &["sh test.sh", "exit 1", "expected 'Hello, Ada!', got 'Hello Ada'", "greet.sh"]);
    let file = place.read("hello-planwright/plans/hello.md");
    assert!(file.contains("status: done") && file.matches('✅').count() == 3, "{file}");
}

// A-31: a plan can't hand the judge to the agent: what decides which programs a contract runs is no data.
#[test]
fn an_environment_that_decides_what_runs_is_refused() {
    for pair in ["PATH=bin:/usr/bin:/bin", "BASH_ENV=./evil.sh", "LD_PRELOAD=./evil.so"] {
        let field = format!("**env:** {pair}");
        let place =
            Place::with_plan(&[("a", field.as_str(), "mkdir bin; echo exit 0 > evil.sh", "test -s never")]);
        place.run(&["run", "it"]).expect(1, &["has errors"]);
        place.run(&["verify", "it", "--format", "short"]).expect(1, &["PW0505"]);
    }
}

// A-19: nothing is started that a person has not approved, byte for byte; an agent is no person.
#[test]
fn what_nobody_approved_is_not_started() {
    let place = Place::with_plan(&[("a", "", "touch started", "test -e started")]);
    let digest = place.digest();
    place
        .run(&["run", "it"])
        .expect(3, &["it is not approved", &format!("planwright run it --rev {}", &digest[..8])]);
    place.run(&["run", "it", "--rev", "0123456789abcdef"]).expect(4, &["not 0123456789abcdef"]);
    place.run(&["run", "it", "--rev", &digest[..7]]).expect(2, &["too short to name a digest"]);
    for variable in ["CLAUDECODE", "PLANWRIGHT_TAG"] {
        let ran = run(place.planwright(&["run", "it", "--rev", &digest]).env(variable, "1"), b"");
        ran.expect(3, &[variable, "only a person may approve"]);
    }
    assert!(!place.has("started"));
    assert_eq!(place.events(), Vec::<serde_json::Value>::new());
    place.run(&["run", "it", "--rev", &digest[..8]]).expect(0, &["done"]);
    assert!(place.has("started"));
}

/// What an agent may try so that its step counts as done. Every verb that the program has is called.
const LIES: &str = r#"
export XDG_STATE_HOME="$HOME/state"
text=$(cat plans/it.md)
text=${text/Do lie/Do lie ✅}
printf '%s\n' "${text/status: in-progress/status: done}" >plans/it.md
try() { planwright "$@" </dev/null >>said 2>&1 && echo "0 $1" >>codes || echo "$? $1" >>codes; }
try edit it --set status=done
for answer in --confirm --take-over --retry --stop "--skip -m done"; do try answer it/lie $answer; done
try run it --rev "$(cat digest)"
try run it
try status
try log it
echo "done, tests pass"
"#;

// A-01, A-02, A-34: an agent has no verb to finish a step; what it says is kept, and counts for nothing.
#[test]
fn an_agent_that_lies_in_every_way_does_not_pass() {
    let place = Place::with_plan(&[
        ("lie", "", LIES, "test -s real.txt"),
        ("next", "", "touch next", "test -e next"),
    ]);
    place.write("digest", place.digest());
    place.approve_and_run().expect(3, &["lie needs you"]);
    let codes = place.read("codes");
    for line in codes.lines() {
        assert!(
            !line.starts_with("0 ") || ["0 status", "0 log"].contains(&line),
            "an agent may not: {codes}{}",
            place.read("said")
        );
    }
    assert_eq!(codes.lines().count(), 10, "{codes}");
    let facts = place.facts();
    assert_eq!(
        facts[1..],
        [
            "lie attempt.started 1",
            "lie attempt.finished 1",
            "lie contract.finished 1 failed",
            "lie ask.opened"
        ],
        "{facts:?}"
    );
    let file = place.read(FILE);
    assert!(
        !file.contains("✅ Do") && !file.contains("Do lie ✅\n") && file.contains("\nstatus: in-progress\n"),
        "{file}"
    );
    place.run(&["log", "it/lie@1", "--agent"]).expect(0, &["done, tests pass"]);
    assert!(!place.has("next"));
}

// A-31, C-34: the bytes that were approved are judged; a plan that says something else pauses the run.
#[test]
fn an_agent_that_rewrites_its_contract_stops_the_run_and_wins_nothing() {
    let script = "text=$(cat plans/it.md); printf '%s\\n' \"${text//test -s real/test -s digest}\" >plans/it.md; touch digest";
    let place = Place::with_plan(&[("lie", "", script, "test -s real")]);
    let approved = place.read(FILE);
    place
        .approve_and_run()
        .expect(4, &["edited", "paused", "    -test -s real\n    +test -s digest\n", "planwright review it"]);
    assert_eq!(place.facts()[1..], ["lie attempt.started 1", "lie attempt.finished 1"]);
    // The other bytes are not approved, and asking does not end the run of those that are.
    place.run(&["run", "it"]).expect(3, &["it is not approved"]);
    place.write(FILE, approved);
    place.run(&["run", "it"]).expect(3, &["lie needs you"]);
    assert_eq!(place.facts()[3..], ["lie contract.finished 1 failed", "lie ask.opened"]);
}

// C-34, A-25: a person who edits the plan while a contract runs is not written over, and nothing else is started.
#[test]
fn a_plan_that_is_edited_during_a_run_pauses_it() {
    let contract = format!("echo now >judging; {WAIT}; test -e a.out");
    let place =
        Place::with_plan(&[("a", "", "touch a.out", &contract), ("b", "", "touch b.out", "test -e b.out")]);
    let mut running = place.start(&[]);
    place.wait_for_file("judging");
    let approved = place.read(FILE);
    place.rewrite("Do b", "Do b, and more");
    place.rewrite("touch b.out", "touch b.out c.out");
    let edited = place.read(FILE);
    place.write("go", "");
    assert_eq!(running.end(), 4);
    assert_eq!(place.read(FILE), edited);
    assert_eq!(place.facts().last().map(String::as_str), Some("a contract.finished 1 passed"));
    // Put back, the run would go on; approved anew, another begins: what was done is judged, not done again.
    place.write(FILE, approved);
    place.run(&["run", "it", "--dry-run"]).expect(0, &["resumes     run 1", "would run   2 b"]);
    place.write(FILE, edited);
    place.run(&["run", "it"]).expect(3, &["it is not approved"]);
    place.rewrite("### 1. Do a", "### 1. Do a ✅");
    place.approve_and_run().expect(0, &["1 a   already done"]);
    assert!(place.has("c.out"));
    assert_eq!(place.count("a attempt.started 1"), 0);
}

// A-21: marks and notes are no part of what was approved.
#[test]
fn a_mark_or_a_note_by_a_person_does_not_pause_a_run() {
    let script = format!("echo now >working; {WAIT}; touch a.out");
    let place =
        Place::with_plan(&[("a", "", &script, "test -e a.out"), ("b", "", "touch b.out", "test -e b.out")]);
    let mut running = place.start(&[]);
    place.wait_for_file("working");
    place.rewrite("### 2. Do b", "### 2. Do b ✅");
    place.run(&["edit", "it", "--note", "seen by grace"]).expect(0, &[]);
    place.write("go", "");
    assert_eq!(running.end(), 0);
    assert_eq!((place.count("b attempt.started 1"), place.count("b contract.finished 1 passed")), (1, 1));
    let file = place.read(FILE);
    assert!(
        file.contains("- seen by grace") && file.contains("status: done") && file.matches('✅').count() == 2,
        "{file}"
    );
}

// A-21: a mark without a verdict is a claim. The contract settles it.
#[test]
fn a_mark_that_was_set_by_hand_is_judged_before_it_is_believed() {
    let plan =
        runnable(&[("a", "", "touch a.out", "test -e a.out"), ("b", "", "touch b.out", "test -e b.out")]);
    let place = Place::empty();
    place.write(FILE, plan.replace("Do a", "Do a ✅").replace("Do b", "Do b ✅")).write("a.out", "");
    place
        .approve_and_run()
        .expect(0, &["1 a   already done", "2 b   is marked done, but its contract fails"]);
    let facts = place.facts();
    for (fact, count) in [
        ("a contract.finished 0 passed", 1),
        ("a attempt.started 1", 0),
        ("b contract.finished 0 failed", 1),
        ("b attempt.started 1", 1),
        ("b contract.finished 1 passed", 1),
    ] {
        assert_eq!(facts.iter().filter(|known| *known == fact).count(), count, "{fact}: {facts:?}");
    }
}

/// The name that has to be approved, as the last command of the program proposes it.
#[track_caller]
fn proposed(ran: &Ran) -> String {
    let name = ran.stderr.rsplit_once("--rev ").map(|(_, name)| name.trim().to_owned());
    name.unwrap_or_else(|| panic!("{ran:#?}"))
}

// A-19, A-31: the command lines of the agents are a part of what was approved. Whoever changes them, an agent too, has
// nothing started before a person has seen both.
#[test]
fn agents_that_are_not_those_that_were_approved_are_not_started() {
    let settings = |script: &str| format!("[agents.coder]\ncommand = [\"bash\", \"-c\", \"{script}\"]\n");
    let first = ("a", "", "mv new.toml planwright.toml", "! test -e new.toml");
    let place = Place::with_plan(&[first, ("b", "**target:** coder", "Write it.", "test -s b.out")]);
    place.write("planwright.toml", settings("touch right; cat >b.out"));
    place.write("new.toml", settings("touch wrong; cat >b.out"));
    let digest = place.digest();
    place.run(&["run", "it", "--until", "a", "--rev", &digest]).expect(0, &["coder runs: bash -c"]);
    let lapsed = [
        "lapsed  agent commands changed since approval",
        "coder  was  bash -c 'touch right; cat >b.out'",
        "       now  bash -c 'touch wrong; cat >b.out'",
        "nothing was started",
    ];
    let ran = place.run(&["run", "it"]);
    ran.expect(4, &lapsed);
    // The digest of the plan names other command lines.
    place.run(&["run", "it", "--rev", &digest]).expect(4, &lapsed);
    let agent = run(place.planwright(&["run", "it", "--rev", &proposed(&ran)]).env("CLAUDECODE", "1"), b"");
    agent.expect(3, &["only a person may approve"]);
    assert_eq!((place.count("b attempt.started 1"), place.count("agents.approved")), (0, 0));
    // What was approved may be put back; nobody has to say anything then.
    place.write("planwright.toml", settings("touch right; cat >b.out"));
    place.run(&["run", "it", "--dry-run"]).expect(0, &["resumes     run 1, approved"]);
    place.write("planwright.toml", settings("touch other; cat >b.out"));
    let ran = place.run(&["run", "it"]);
    place.run(&["run", "it", "--rev", &proposed(&ran)]).expect(0, &["2 of 2 steps passed"]);
    assert_eq!([place.has("right"), place.has("wrong"), place.has("other")], [false, false, true]);
    assert_eq!(place.count("agents.approved"), 1);
}

// A-33: two at once where the plan says that they don't depend on each other and touch different files.
#[test]
fn steps_with_disjoint_touches_run_at_once() {
    let meet = |own: &str, other: &str| {
        format!("touch {own}.here; until [ -e {other}.here ]; do sleep 0.01; done; touch {own}.out")
    };
    let (a, b) = (meet("a", "b"), meet("b", "a"));
    let place = Place::with_plan(&[
        ("first", "**touches:**\n- first", "touch first", "test -e first"),
        ("a", "**needs:** first\n**timeout:** 20 s\n**touches:**\n- a.*", &a, "test -e a.out"),
        ("b", "**needs:** first\n**timeout:** 20 s\n**touches:**\n- b.*", &b, "test -e b.out"),
    ]);
    place.run(&["run", "it", "--jobs", "2", "--rev", &place.digest()]).expect(0, &["3 of 3 steps passed"]);
}

// A-33: never two at once that may change the same file, nor without `--jobs`.
#[test]
fn steps_that_may_touch_the_same_file_run_one_after_the_other() {
    let alone = |own: &str| format!("mkdir lock; sleep 0.1; rm -r lock; touch {own}");
    let (a, b) = (alone("out/a"), alone("out/b"));
    for (touches, jobs) in [("**touches:**\n- out/**", "2"), ("**touches:**\n- out/OWN", "1"), ("", "2")] {
        let touches = |own: &str| touches.replace("OWN", own);
        let fields = |own: &str| format!("**needs:** first\n{}", touches(own)).trim_end().to_owned();
        let (of_a, of_b) = (fields("a"), fields("b"));
        let place = Place::with_plan(&[
            ("first", "", "mkdir out", "test -d out"),
            ("a", &of_a, &a, "test -e out/a"),
            ("b", &of_b, &b, "test -e out/b"),
        ]);
        place
            .run(&["run", "it", "--jobs", jobs, "--rev", &place.digest()])
            .expect(0, &["3 of 3 steps passed"]);
    }
}

// A contract sees what is documented and what the plan declares, and uses no program that an agent could have put there.
#[test]
fn a_contract_sees_a_clean_environment() {
    let contract = "export -p >seen.txt; grep -q needle hay.txt";
    let place = Place::with_plan(&[("a", "**env:** FROM_PLAN=yes", "echo hay >hay.txt", contract)]);
    place.write("tools/grep", "#!/bin/sh\ntouch fooled\n").permit("tools/grep", 0o755);
    let digest = place.digest();
    let inside = place.path("tools");
    let mut command = place.planwright(&["run", "it", "--rev", &digest]);
    let path = command
        .get_envs()
        .find_map(|(name, value)| (name == "PATH").then_some(value?))
        .expect("a PATH")
        .to_owned();
    let path = std::env::join_paths(["tools".into(), inside, path.into()]).expect("a PATH");
    let ran: Ran =
        run(command.env("PATH", path).env("SECRET", "x").env("BASH_ENV", "tools/grep").env("LANG", "C"), b"");
    ran.expect(3, &["exit 1"]);
    assert!(!place.has("fooled"));
    let seen = place.read("seen.txt");
    let names: Vec<&str> =
        seen.lines().filter_map(|line| line.strip_prefix("declare -x ")?.split('=').next()).collect();
    assert_eq!(
        names,
        ["FROM_PLAN", "HOME", "LANG", "OLDPWD", "PATH", "PLANWRIGHT_TAG", "PWD", "SHLVL"],
        "{seen}"
    );
}
