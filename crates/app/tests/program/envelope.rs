//! `--json`: one line, one envelope, as its schema says, for every command and for every way to fail. What an envelope
//! proposes to type next can be typed.

use serde_json::Value;

use crate::sample::{HOSTILE_NAME, hostile, sound};
use crate::test_env::{Place, Ran};

/// What is typed, and what comes on standard input.
type Case<'a> = (&'a [&'a str], &'a str);

/// A project in which everything can happen.
fn project() -> Place {
    let place = Place::harbor();
    place
        .write("plans/good.md", sound("A good plan", 2))
        .write("plans/auth-cookie.md", sound("Another plan", 1))
        .write("other/twin.md", sound("A twin", 1))
        .write("plans/twin.md", sound("A twin", 1))
        .write("plans/loose.md", sound("Loose", 1).replace("### 1.", "###   1."))
        .write("plans/-dash.md", sound("A name like an option", 1))
        .write("plans/with space.md", sound("A name of two words", 1))
        .write("plans/binary.md", b"---\ntype: plan\n---\n\xff")
        .write("plans/empty.md", "")
        .write(
            ".rawko/plans/record.yaml",
            "id: record\ntask: T\nstatus: draft\nsteps:\n  - index: 0\n    description: A\n    status: failed\n",
        )
        .write("policy.toml", "[[auto]]\nname = \"docs\"\npaths = [\"docs/**\"]\n")
        .write(".harness/PLAN-tide.md", "# Plan: tide\n\n## Tasks\n\n### 1. Look\n- **What:** look\n- **Verification:** `test -e x`\n")
        .write("tasks.md", "# Tasks\n\n- [ ] Do a\n- [x] Do b\n")
        .write(HOSTILE_NAME, hostile());
    place
}

/// What a planner answers.
const DRAFT: &str = "Because.\n\n```plan-json\n{\"action\":\"plan\",\"title\":\"Drafted\",\"steps\":[{\"kind\":\"shell\",\
    \"command\":\"touch d\",\"check\":\"test -e d\"}]}\n```\n";

const SUCCESSES: &[Case<'_>] = &[
    (&["init"], ""),
    (&["init", "--agents", "claude,pi", "--write"], ""),
    (&["hook"], "{\"tool_name\":\"Read\",\"tool_input\":{}}"),
    (&["tools"], ""),
    (&["tools", "--refused"], ""),
    (&["should-plan", "delete all of it"], ""),
    (&["should-plan", "fix a typo"], ""),
    (&["prompt", "overseer"], ""),
    (&["prompt", "context"], ""),
    (&["prompt", "planner"], ""),
    (&["prompt", "skill"], ""),
    (&["session", "show"], ""),
    (&["session", "dir"], ""),
    (&["session", "add"], ""),
    (&["session", "topic", "What it is about"], ""),
    (&["session", "clear"], ""),
    (&["session", "commit"], ""),
    (&["session", "show"], ""),
    (&["prompt", "session-start"], ""),
    (&["resolve-active-plan"], ""),
    (&["resolve-active-plan", "--plan", "tide"], ""),
    (&["list-plans"], ""),
    (&["list-plans", "--session"], "{}"),
    (&["list-plans", "--gate"], ""),
    (&["show", "--name", "tide", "task", "1"], ""),
    (&["use", "tide"], ""),
    (&["show"], ""),
    (&["list-plans"], ""),
    (&["use", "--clear"], ""),
    (&["new", "first"], ""),
    (&["verify", "good"], ""),
    (&["verify", "good", "--red"], ""),
    (&["verify", "auth-timeout"], ""),
    (&["verify", "good", "auth-timeout"], ""),
    (&["verify", "plans/binary.md"], ""),
    (&["verify", "plans/empty.md"], ""),
    (&["verify", "-"], "# nothing"),
    (&["verify", HOSTILE_NAME], ""),
    (&["plan", "verify", "good"], ""),
    (&["show", "good"], ""),
    (&["audit"], ""),
    (&["audit", "good"], ""),
    (&["audit", "--format", "markdown"], ""),
    (&["show", "auth-timeout/fix"], ""),
    (&["show", "good", "--graph=mermaid"], ""),
    (&["show", HOSTILE_NAME], ""),
    (&["list"], ""),
    (&["list", "--status", "done"], ""),
    (&["edit", "good", "--note", "seen"], ""),
    (&["edit", "good", "--rename", "s1=first", "--dry-run"], ""),
    (&["fmt", "--check", "loose"], ""),
    (&["fmt", "loose"], ""),
    (&["fmt", "-"], "---\ntype: plan\n---\n\n# nothing\n"),
    (&["convert", "good", "--to", "record", "--name", "recorded"], ""),
    (&["convert", "good", "--to", "named", "--output", "-"], ""),
    (&["import", "tasks.md", "--name", "imported"], ""),
    (&["export", "good", "--to", "markdown"], ""),
    (&["revise", "record", "--copy"], ""),
    (&["draft", "--from", "-", "--name", "drafted", "--no-propose"], DRAFT),
    (&["new", "--templates"], ""),
    (&["quick", "touch q", "--contract", "test -s q", "--agent", "shell", "--dry-run"], ""),
    (&["discover", "More to do", "--plan", "good", "--step", "s1"], ""),
    (&["discover", "good", "--list"], ""),
    (&["log", "record", "--versions"], ""),
    (&["stats"], ""),
    (&["stats", "--since", "7d", "--contracts", "--tools", "--plans"], ""),
    (&["simulate", "good"], ""),
    (&["arbiter", "good"], ""),
    (&["explain", "states"], ""),
    (&["show", "good", "--for", "arbiter"], ""),
    (&["stats", "--cost"], ""),
    (&["mcp", "--role", "planner", "--list"], ""),
    (&["mcp", "--role", "human", "--list"], ""),
    (&["verify", "record", "--suggest-contracts"], ""),
    (&["merge"], ""),
    (&["merge", "--dry-run"], ""),
    (&["merge-driver", "plans/good.md", "plans/auth-cookie.md", "plans/good.md"], ""),
    (&["config"], ""),
    (&["config", "run.jobs"], ""),
    (&["config", "set", "run.jobs", "2"], ""),
    (&["config", "set", "agents.pen.command", "[\"cat\", \"-\"]", "--user"], ""),
    (&["config", "unset", "run.jobs"], ""),
    (&["config", "path"], ""),
    (&["policy"], ""),
    (&["policy", "show"], ""),
    (&["policy", "check", "policy.toml"], ""),
    (&["policy", "install", "policy.toml"], ""),
    (&["policy"], ""),
    (&["doctor"], ""),
    (&["doctor", "--fix"], ""),
    (&["demo"], ""),
    (&["demo", "two words"], ""),
    (&["review"], ""),
    (&["review", "good"], ""),
    (&["review", "good", "--format", "json"], ""),
    (&["run", "good", "--dry-run"], ""),
    (&["run", "good", "--dry-run", "--until", "s1"], ""),
    (&["status"], ""),
    (&["status", "good"], ""),
    (&["status", "--next"], ""),
    (&["status", "--inbox"], ""),
    (&["log", "--all"], ""),
    (&["log", "--all", "--plan", "good", "--since", "14m"], ""),
    (&["log", "--all", "--deliver"], ""),
    (&["status", "--queue"], ""),
    (&["queue-status"], ""),
    (&["queue-status"], ""),
    (&["status", "--since", "24h"], ""),
    (&["status", "--since", "7d"], ""),
    (&["shelve", "loose"], ""),
    (&["unshelve", "loose"], ""),
    (&["worker", "--once"], ""),
    (&["worktree", "list"], ""),
    (&["worktree", "prune", "--dry-run"], ""),
    (&["worktree", "prune"], ""),
    (&["archive", "other/twin.md"], ""),
    (&["archive", "--older-than", "30d", "--outputs", "--dry-run"], ""),
    (&["propose", "good"], ""),
    (&["propose", "good"], ""),
    (&["comment", "good/s1", "-m", "why?"], ""),
    (&["comment", "good", "--answer", "1", "-m", "so"], ""),
    (&["comment", "good"], ""),
    (&["approve", "good", "--rev", DIGEST], ""),
    (&["undo", "good"], ""),
    (&["reject", "good", "-m", "not yet"], ""),
    (&["revise", "good"], ""),
    (&["new", "twin-of-good", "--from", "good"], ""),
    (&["delete", "twin-of-good", "--confirm", "twin-of-good"], ""),
    (&["undo", "plans/twin-of-good.md"], ""),
    (&["audit"], ""),
    (&["audit", "good"], ""),
    (&["export", "--receipts"], ""),
    (&["explain"], ""),
    (&["explain", "PW0203"], ""),
    (&["schema"], ""),
    (&["schema", "verify"], ""),
    (&["completions", "bash"], ""),
    (&["man"], ""),
    (&["man", "verify"], ""),
    (&["help"], ""),
    (&["help", "verify"], ""),
    (&["help", "exit-codes"], ""),
    (&["help", "--all"], ""),
    (&["help", "options"], ""),
    (&["list", "--shelved"], ""),
    (&["simulate", "good"], ""),
    (&["use"], ""),
    (&["--help"], ""),
    (&["verify", "--help"], ""),
    (&["--version"], ""),
];

/// What can be said where the first of the plan's two steps has landed in a repository.
const WHERE_A_STEP_LANDED: &[Case<'_>] = &[(&["rollback", "it", "a"], "")];

/// What can be said while a run of the plan `good` waits for a person, in this order.
const WHILE_A_RUN_WAITS: &[Case<'_>] = &[
    (&["run", "good"], ""),
    (&["status"], ""),
    (&["status", "good"], ""),
    (&["log", "good"], ""),
    (&["log", "good/s1"], ""),
    (&["log", "good/s1@1", "--prompt"], ""),
    (&["log", "good/1@1", "--agent"], ""),
    (&["log", "good/s1@1", "--contract"], ""),
    (&["log", "good/s1@1"], ""),
    (&["log", "good", "--run", "1"], ""),
    (&["status", "--inbox"], ""),
    (&["status", "--next"], ""),
    (&["answer", "good/s1"], ""),
    (&["answer", "good/s1", "--skip", "-m", "no need"], ""),
    (&["run", "good"], ""),
    (&["answer", "good", "--stop"], ""),
    (&["status"], ""),
    (&["stop", "good"], ""),
    (&["run", "good"], ""),
    (&["stop", "good", "--now"], ""),
    (&["cancel", "good", "-m", "no need", "--failed"], ""),
    (&["run", "good", "--retry"], ""),
    (&["cancel", "good", "-m", "no need"], ""),
    (&["status"], ""),
];

const FAILURES: &[Case<'_>] = &[
    (&["worktree", "path", "nothing"], ""),
    (&["worktree", "remove", "nothing"], ""),
    (&["worktree", "add", "good"], ""),
    (&["worktree", "add", "good", "--name", "a/b"], ""),
    (&["resolve-active-plan", "../x"], ""),
    (&["resolve-active-plan", "a", "b"], ""),
    (&["use", "nobody"], ""),
    (&["use", "PLAN.md"], ""),
    (&["queue-status", "everything"], ""),
    (&["list-plans", "everything"], ""),
    (&["show", "good", "--name", "tide"], ""),
    (&["show", "--name", "nobody"], ""),
    (&["prompt", "session-start", "--shell", "fish"], ""),
    (&["review", "nobody"], ""),
    (&["mcp", "--role", "planner"], ""),
    (&["mcp"], ""),
    (&["review", "good", "--since", "r9"], ""),
    (&["review", "good", "--since", "soon"], ""),
    (&["review", "auth-timeout"], ""),
    (&["convert", "good", "--to", "nowhere"], ""),
    (&["convert", "auth-timeout", "--to", "directory", "--strict"], ""),
    (&["import", "nowhere.md"], ""),
    (&["import", "plans/empty.md"], ""),
    (&["export", "nothing", "--to", "json"], ""),
    (&["export", "nothing", "--receipts"], ""),
    (&["export", "good", "--receipts"], ""),
    (&["audit", "nothing"], ""),
    (&["audit", "--anchor", "ref"], ""),
    (&["revise", "good", "--planner"], ""),
    (&["draft"], ""),
    (&["draft", "Anything"], ""),
    (&["draft", "--from", "-"], "nothing"),
    (&["draft", "Anything", "--name", "good"], ""),
    (&["quick", "Anything"], ""),
    (&["quick", "touch q", "--contract", "true", "--agent", "shell"], ""),
    (&["quick", "touch q", "--contract", "test -s q", "--agent", "shell"], ""),
    (&["discover", "More to do"], ""),
    (&["discover", "good", "--add", "9"], ""),
    (&["new", "more", "--template", "nothing"], ""),
    (&["new", "more", "--template", "bugfix"], ""),
    (&["log", "nothing", "--versions"], ""),
    (&["archive", "nothing"], ""),
    (&["status", "--since", "soon"], ""),
    (&["shelve", "nothing"], ""),
    (&["unshelve", "nothing"], ""),
    (&["unshelve", "../good"], ""),
    (&["archive"], ""),
    (&["archive", "--older-than", "soon"], ""),
    (&["stats", "--since", "soon"], ""),
    (&["stats", "--plan", "nothing"], ""),
    (&["simulate", "plans/empty.md"], ""),
    (&["simulate", "nothing"], ""),
    (&["arbiter", "nothing"], ""),
    (&["arbiter", "plans/empty.md"], ""),
    (&["merge-driver", "nothing", "nobody", "nowhere"], ""),
    (&["show", "good", "--section", "nothing"], ""),
    (&["list", "--dialect", "nothing"], ""),
    (&[], ""),
    (&["nonsense"], ""),
    (&["verfy"], ""),
    (&["verify", "--bogus"], ""),
    (&["verify", "--format", "xml"], ""),
    (&["verify", "nobody"], ""),
    (&["verify", "auth-timout"], ""),
    (&["verify", "auth"], ""),
    (&["verify", "twin"], ""),
    (&["verify", "plans"], ""),
    (&["verify", "plans/gone.md"], ""),
    (&["verify", "good/nothing"], ""),
    (&["verify", "--allow", "PW0301"], ""),
    (&["verify", "--deny", "nonsense"], ""),
    (&["verify", "--fix", "-"], ""),
    (&["verify", "good", "--max-bytes", "many"], ""),
    (&["show"], ""),
    (&["show", "nobody"], ""),
    (&["show", "good/nothing"], ""),
    (&["show", "plans/binary.md"], ""),
    (&["edit", "good"], ""),
    (&["edit", "good", "--rename", "s1"], ""),
    (&["edit", "good", "--rename", "nothing=a"], ""),
    (&["edit", "good", "--rename", "s1=Not An Id"], ""),
    (&["edit", "good", "--set", "status=done"], ""),
    (&["edit", "good", "--move", "s1=zero"], ""),
    (&["edit", "good", "--expand", "s1=gone.txt"], ""),
    (&["edit", "good", "--note", "two\nlines"], ""),
    (&["list", "everything"], ""),
    (&["config", "run.jbos"], ""),
    (&["config", "set", "run.jobs", "many"], ""),
    (&["config", "set", "nonsense", "1"], ""),
    (&["config", "unset", "run.lost_max"], ""),
    (&["config", "--config", "run.jobs=0"], ""),
    (&["policy", "check", "nowhere.toml"], ""),
    (&["policy", "check", "plans/good.md"], ""),
    (&["policy", "install", "plans/good.md"], ""),
    (&["policy", "forget"], ""),
    (&["doctor", "--mend"], ""),
    (&["demo", "plans"], ""),
    (&["run", "good"], ""),
    (&["run", "nobody"], ""),
    (&["run", "auth-timeout"], ""),
    (&["run", "good", "--jobs", "many"], ""),
    (&["run", "good", "--jobs", "0"], ""),
    (&["run", "good", "--only", "s2"], ""),
    (&["run", "good", "--until", "nothing"], ""),
    (&["merge", "nobody"], ""),
    (&["merge", "good"], ""),
    (&["log", "nobody"], ""),
    (&["log", "good"], ""),
    (&["log", "good/nothing"], ""),
    (&["log", "good/s1@first"], ""),
    (&["answer", "good"], ""),
    (&["answer", "good", "--skip"], ""),
    (&["answer", "good", "--confirm"], ""),
    (&["answer", "nobody", "--retry"], ""),
    (&["answer", "good", "--budget", "much"], ""),
    (&["status", "good", "extra"], ""),
    (&["status", "--inbox", "good"], ""),
    (&["log", "--all", "--since", "soon"], ""),
    (&["log", "--all", "--plan", "nobody"], ""),
    (&["show", "good/s1", "--work-item"], ""),
    (&["status", "--queue", "everything"], ""),
    (&["worker", "--jobs", "0"], ""),
    (&["stop", "good"], ""),
    (&["stop", "nobody"], ""),
    (&["rollback", "good", "s1"], ""),
    (&["rollback", "good", "nobody"], ""),
    (&["rollback", "nobody", "1"], ""),
    (&["cancel", "good"], ""),
    (&["cancel", "good", "-m", "no need"], ""),
    (&["propose", "nobody"], ""),
    (&["propose", "auth-timeout"], ""),
    (&["propose", "-"], "# nothing\n"),
    (&["propose", "--steps", "-"], "{}"),
    (&["approve", "good"], ""),
    (&["approve", "good", "--rev", "00000000"], ""),
    (&["approve", "good", "--rev", "0"], ""),
    (&["reject", "good", "-m", "not yet"], ""),
    (&["reject", "good", "-m", " "], ""),
    (&["comment", "good", "-m", ""], ""),
    (&["comment", "good", "--answer", "7", "-m", "so"], ""),
    (&["undo", "good"], ""),
    (&["undo", "plans/nobody.md"], ""),
    (&["revise", "good"], ""),
    (&["run", "good", "--retry"], ""),
    (&["new", "Not A Name", "--from", "good"], ""),
    (&["delete", "good"], ""),
    (&["delete", "good", "--confirm", "bad"], ""),
    (&["audit", "nobody"], ""),
    (&["fmt", "nobody"], ""),
    (&["fmt", "-"], "\0"),
    (&["fmt", "-"], "# nothing\n"),
    (&["init", "here"], ""),
    (&["init", "--agents", "nobody"], ""),
    (&["init", "--write"], ""),
    (&["hook", "nonsense"], ""),
    (&["tools", "everything"], ""),
    (&["should-plan"], ""),
    (&["prompt"], ""),
    (&["prompt", "nothing"], ""),
    (&["session"], ""),
    (&["session", "drop", "thread_nothing"], ""),
    (&["session", "topic", " "], ""),
    (&["new"], ""),
    (&["new", "Not A Name"], ""),
    (&["new", "../up"], ""),
    (&["new", "good"], ""),
    (&["explain", "nonsense"], ""),
    (&["explain", "unmade-fil"], ""),
    (&["schema", "nonsense"], ""),
    (&["completions", "nonsense"], ""),
    (&["man", "nonsense"], ""),
    (&["help", "verfy"], ""),
];

/// Stands for the digest of the plan `good`.
const DIGEST: &str = "DIGEST";

fn digest(place: &Place) -> String {
    let shown = place.run(&["show", "good", "--json"]).stdout;
    let shown: Value = serde_json::from_str(&shown).expect("an envelope");
    shown["data"]["digest"].as_str().expect("a digest").to_owned()
}

fn ask(place: &Place, (words, input): &Case<'_>) -> (Ran, Value) {
    let digest = if words.contains(&DIGEST) { digest(place) } else { String::new() };
    let words = words.iter().map(|&word| if word == DIGEST { digest.as_str() } else { word });
    let words: Vec<&str> = words.chain(["--json"]).collect();
    let ran = place.run_with(&words, input);
    let mut lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{words:?}: {error}: {ran:#?}")))
        .collect();
    let envelope = lines.pop().unwrap_or_else(|| panic!("{words:?}: {ran:#?}"));
    // A command that goes on for long gives its events a line each.
    for event in lines {
        assert!(
            (words[0] == "run" || words.starts_with(&["log", "--all"]))
                && event["schema"] == "planwright.event/1",
            "{words:?}: {event}"
        );
        let fault = schema(place, "event").validate(&event).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{words:?}: {event}");
    }
    (ran, envelope)
}

/// The schema that the program has under this name.
pub(crate) fn schema(place: &Place, name: &str) -> jsonschema::Validator {
    let ran = place.run(&["schema", name]);
    let schema = serde_json::from_str(&ran.expect(0, &[]).stdout).expect("a schema is JSON");
    jsonschema::validator_for(&schema).expect("a schema is a schema")
}

/// The commands that the program says it has, and those that only tools call.
fn commands(place: &Place) -> Vec<String> {
    let listed = |words: &[&str]| -> Vec<String> {
        let (_, envelope) = ask(place, &(words, ""));
        let text = envelope["data"]["text"].as_str().expect("the help is text").to_owned();
        let names = text.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
        names.map(str::to_owned).collect()
    };
    let tools = ["merge-driver", "schema", "man"].map(str::to_owned);
    [listed(&["help", "--all"]), listed(&["help", "agents"]), tools.to_vec()].concat()
}

// P-03: every command has `--json`, under a versioned schema.
#[test]
fn every_answer_is_one_line_with_one_envelope_as_its_schema_says() {
    let place = project();
    for case in SUCCESSES {
        let (ran, envelope) = ask(&place, case);
        let name = envelope["schema"].as_str().expect("an envelope names its schema");
        assert_ne!(name, "planwright.error/1", "{case:?}: {ran:#?}");
        assert!(ran.code <= 1, "{case:?}: {ran:#?}");
        assert_eq!(envelope["ok"], ran.code == 0, "{case:?}: {ran:#?}");
        let fault = schema(&place, name).validate(&envelope).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{case:?}: {envelope}");
    }
}

// P-03: the same while a run waits for a person, where exit code 3 is an answer and no error.
#[test]
fn every_answer_about_a_run_is_one_line_with_one_envelope_as_its_schema_says() {
    let place = project();
    let (_, envelope) = ask(&place, &(&["run", "good", "--dry-run"], ""));
    let digest = envelope["data"]["digest"].as_str().expect("a digest");
    place.run(&["run", "good", "--rev", digest]).expect(3, &["s1 needs you"]);
    for case in WHILE_A_RUN_WAITS {
        let (ran, envelope) = ask(&place, case);
        let name = envelope["schema"].as_str().expect("an envelope names its schema");
        assert_eq!(
            Some(name),
            // A word with several views has a schema for each.
            match case.0 {
                [_, "--inbox", ..] => Some("planwright.inbox/1".to_owned()),
                [_, "--queue", ..] | [_, _, "--work-item"] => Some("planwright.queue/1".to_owned()),
                [_, "--since", ..] => Some("planwright.standup/1".to_owned()),
                [_, "--all", ..] => Some("planwright.events/1".to_owned()),
                [_, _, "--versions"] => Some("planwright.history/1".to_owned()),
                _ => case.0.first().map(|verb| format!("planwright.{verb}/1")),
            }
            .as_deref(),
            "{ran:#?}"
        );
        let needs_person = matches!(case.0, ["run", ..] | ["answer", _] | ["status", "--next"]);
        assert_eq!(ran.code, if needs_person { 3 } else { 0 }, "{case:?}: {ran:#?}");
        assert_eq!(envelope["ok"], ran.code == 0, "{case:?}: {ran:#?}");
        let fault = schema(&place, name).validate(&envelope).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{case:?}: {envelope}");
        for next in envelope["next"].as_array().expect("a list of commands") {
            let next = next.as_str().expect("a command is text");
            // A run that is proposed is not made here: the cases stand in their order.
            let ran = place.bash(&next.replacen("planwright run ", "planwright run --dry-run ", 1));
            assert!(![2, 5, 127].contains(&ran.code), "{case:?}: `{next}`: {ran:#?}");
        }
    }
}

// P-22: an error is an envelope too, and its kind is the word for the exit code.
#[test]
fn every_failure_is_one_line_with_one_envelope_as_its_schema_says() {
    let place = project();
    let schema = schema(&place, "error");
    for case in FAILURES {
        let (ran, envelope) = ask(&place, case);
        let fault = schema.validate(&envelope).err().map(|error| error.to_string());
        assert_eq!((fault, &envelope["ok"]), (None, &Value::from(false)), "{case:?}: {envelope}");
        let kind = [(1, "no"), (2, "usage"), (3, "person"), (4, "moved"), (5, "machine")]
            .iter()
            .find(|(code, _)| *code == ran.code);
        assert_eq!(
            Some(envelope["error"]["kind"].as_str()),
            kind.map(|(_, word)| Some(*word)),
            "{case:?}: {ran:#?}"
        );
        let message = envelope["error"]["message"].as_str().expect("a message");
        assert!(!message.is_empty() && !message.ends_with(['.', ':']), "{case:?}: {message}");
    }
}

// P-03: the same where work has landed.
#[test]
fn every_answer_about_what_landed_is_one_line_with_one_envelope_as_its_schema_says() {
    let place =
        Place::repository(&[("a", "", "touch a.out", "test -e a.out"), ("b", "", "true", "test -e b.out")]);
    place.approve_and_run().expect(3, &["b needs you"]);
    for case in WHERE_A_STEP_LANDED {
        let (ran, envelope) = ask(&place, case);
        let name = envelope["schema"].as_str().expect("an envelope names its schema");
        assert_eq!((ran.code, name), (0, "planwright.rollback/1"), "{ran:#?}");
        let fault = schema(&place, name).validate(&envelope).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{case:?}: {envelope}");
    }
}

#[test]
fn a_wrong_envelope_does_not_pass_its_schema() {
    let place = project();
    let (_, mut envelope) = ask(&place, &(&["verify", "auth-timeout"], ""));
    let schema = schema(&place, "planwright.verify/1");
    assert!(schema.is_valid(&envelope));
    envelope["data"]["files"][0]["counts"]["errors"] = "two".into();
    assert!(!schema.is_valid(&envelope));
}

#[test]
fn a_command_without_a_schema_a_case_or_a_page_is_caught() {
    let place = project();
    let commands = commands(&place);
    assert!(commands.len() >= 11 && commands.contains(&"verify".to_owned()), "{commands:?}");
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcript");
    for command in &commands {
        place.run(&["schema", command]).expect(0, &["planwright."]);
        let has_case = |cases: &[Case<'_>]| cases.iter().any(|(words, _)| words.contains(&command.as_str()));
        let has_success = has_case(SUCCESSES) || has_case(WHILE_A_RUN_WAITS) || has_case(WHERE_A_STEP_LANDED);
        assert!(has_success && has_case(FAILURES), "`{command}` has no case here");
        let page = place.bash(&format!("cat '{pages}/{command}.md'"));
        page.expect(0, &["--json", &format!("$ planwright {command}")]);
    }
}

/// What an envelope proposes is typed in the project as the command left it.
#[test]
fn what_is_proposed_next_can_be_typed() {
    let mut proposed = 0;
    for case in SUCCESSES.iter().chain(FAILURES) {
        let place = project();
        let (_, envelope) = ask(&place, case);
        for next in envelope["next"].as_array().expect("a list of commands") {
            let next = next.as_str().expect("a command is text");
            assert!(next.starts_with("planwright ") || next.starts_with("cd "), "{case:?}: {next}");
            let ran = place.bash(next);
            assert!(![2, 5, 127].contains(&ran.code), "{case:?}: `{next}`: {ran:#?}");
            proposed += 1;
        }
    }
    assert!(proposed > 40, "{proposed}");
}

#[test]
fn what_is_proposed_can_be_typed_where_there_is_nothing_and_from_a_folder_below() {
    let nothing = Place::empty();
    let words: &[&[&str]] = &[&["list"], &["verify"], &["fmt"]];
    for words in words {
        let (_, envelope) = ask(&nothing, &(words, ""));
        for next in envelope["next"].as_array().expect("a list of commands") {
            Place::empty().bash(next.as_str().expect("text")).expect(0, &[]);
        }
    }
    let place = project();
    for words in [
        "list",
        "list --find twin",
        "list --find two",
        "list --find option",
        "verify auth-timeout",
        "show good",
    ] {
        let ran = place.bash(&format!("cd src/auth && planwright {words} --json"));
        let envelope: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
        for next in envelope["next"].as_array().expect("a list of commands") {
            let ran = place.bash(&format!("cd src/auth && {}", next.as_str().expect("text")));
            assert!(ran.code < 2, "{words}: {next}: {ran:#?}");
        }
    }
}
