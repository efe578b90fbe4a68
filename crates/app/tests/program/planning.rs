//! What plans are made of besides a planner: `plan-json` blocks, templates, one task at once, and work that was come upon.

use crate::sample::runnable;
use crate::test_env::Place;

const JSON: &str = r#"Here is what I want.

```plan-json
{"action": "plan", "title": "Ship it", "steps": [
  {"id": "make", "kind": "spawn", "agent": "coder", "task": "Make it.", "check": {"command": "test -e made"}, "attempts": 2},
  {"id": "pack", "title": "Pack it", "kind": "shell", "command": "touch packed", "check": {"file_exists": "packed"}}
]}
```
"#;

fn block(json: &str) -> String {
    format!("Because.\n\n```plan-json\n{json}\n```\n")
}

// A-49: a block becomes a plan that is proposed, and never more than that.
#[test]
fn a_plan_json_block_becomes_a_plan() {
    let place = Place::empty();
    place
        .run_with(&["draft", "--from", "-"], JSON)
        .expect(0, &["plans/ship-it.md   2 steps", "Here is what I want."]);
    let text = place.read("plans/ship-it.md");
    for words in [
        "**target:** coder",
        "test -e made",
        "retry(1), then escalate",
        "**target:** shell",
        "test -e packed",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    place
        .run_with(&["draft", "--from", "-"], block(r#"{"action":"done","summary":"all \u001b[2Jgreen"}"#))
        .expect(0, &["the agent reports: all", "only contracts decide"]);
    place
        .run_with(&["draft", "--from", "-"], block(r#"{"action":"escalate","reason":"which one?"}"#))
        .expect(3, &["the planner needs a person: which one?"]);
    for (json, words) in [
        (r#"{"action":"approve"}"#, "unknown variant `approve`"),
        (
            r#"{"action":"plan","steps":[{"kind":"spawn","title":"x"}]}"#,
            "step 1 of the plan-json block: kind `spawn` requires `task`",
        ),
        (
            r#"{"action":"plan","replace_from_step":2,"steps":[{"kind":"shell","command":"x"}]}"#,
            "planwright revise PLAN --from",
        ),
    ] {
        place.run_with(&["draft", "--from", "-"], block(json)).expect(1, &[words, "nothing was written"]);
    }
    assert_eq!(place.bash("ls plans").stdout, "ship-it.md\n");
}

// A-49: `replace_from_step` patches what is left of a plan; what is finished stays, byte for byte.
#[test]
fn a_plan_json_block_replaces_what_is_left() {
    let place = Place::with_plan(&[
        ("one", "", "touch one", "test -e one"),
        ("two", "", "true", "test -e two"),
        ("three", "", "true", "test -e three"),
    ]);
    place.approve_and_run().expect(3, &["two needs you"]);
    let new = r#"{"kind":"shell","title":"Other","command":"touch two three","check":{"files_exist":["two","three"]}}"#;
    let patch = |from: usize| {
        block(&format!("{{\"action\":\"plan\",\"replace_from_step\":{from},\"steps\":[{new}]}}"))
    };
    place
        .run_with(&["revise", "it", "--from", "-"], patch(1))
        .expect(1, &["step 1 `one` (Do one) is finished, but missing"]);
    place
        .run_with(&["revise", "it", "--from", "-"], patch(9))
        .expect(1, &["replace_from_step 9: out of range, the plan has steps 1 to 3"]);
    let stale = patch(2).replace("\"steps\"", "\"revision\":7,\"steps\"");
    place
        .run_with(&["revise", "it", "--from", "-"], stale)
        .expect(1, &["the block is for revision 7 but the plan is at r1"]);
    place
        .run_with(&["revise", "it", "--from", "-"], patch(2))
        .expect(0, &["plans/it-v2.md", "proposed  it-v2"]);
    let text = place.read("plans/it-v2.md");
    let kept = runnable(&[("one", "", "touch one", "test -e one")]);
    let step = kept.split("### 1. Do one").nth(1).expect("a step").trim_end();
    assert!(
        text.contains(step) && text.contains("### 1. ✅ Do one") && text.contains("### 2. Other"),
        "{text}"
    );
    assert!(!text.contains("Do three"), "{text}");
    place
        .run_with(
            &["revise", "it-v2/other", "--from", "-"],
            block(r#"{"action":"escalate","step":2,"reason":"how?"}"#),
        )
        .expect(3, &["commented", "needs a person: how?"]);
    place.run(&["comment", "it-v2"]).expect(0, &["needs a person: how?"]);
    place
        .run_with(&["revise", "it-v2/other", "--from", "-"], block(r#"{"action":"done"}"#))
        .expect(0, &["only contracts decide"]);
    assert!(!place.has("plans/it-v3.md"));
}

// P-28: templates with variables, those of the project among them; what is not said is named.
#[test]
fn a_template_is_filled_in_or_says_what_is_missing() {
    let place = Place::empty();
    place.run(&["new", "--templates"]).expect(0, &["bugfix", "--var bug=…", "migration", "--each FILE"]);
    place
        .run(&["new", "login", "--template", "bugfix"])
        .expect(2, &["variable `bug` (line 9) is not set", "`test`", "nothing was written"]);
    assert!(!place.has("plans/login.md"));
    let words = [
        "new",
        "login",
        "--template",
        "bugfix",
        "--var",
        "bug=it hangs",
        "--var",
        "file=tests/login.sh",
        "--var",
        "test=sh tests/login.sh",
    ];
    place.run(&words).expect(0, &["plans/login.md"]);
    let text = place.read("plans/login.md");
    assert!(text.contains("# Login") && text.contains("Bug: it hangs") && !text.contains("{{"), "{text}");
    place.run(&["verify", "login"]).expect(0, &["no errors"]);
    let unknown: Vec<&str> = words
        .iter()
        .map(|&word| if word == "login" { "other" } else { word })
        .chain(["--var", "x=1"])
        .collect();
    place.run(&unknown).expect(2, &["the template has no variable `x`"]);
    place.run(&["new", "other", "--template", "bugfx"]).expect(2, &["did you mean `bugfix`?"]);
    place.run(&["new", "other", "--template", "gone.md"]).expect(2, &["file gone.md not found"]);
    place.write(".planwright/templates/ours.md", runnable(&[("a", "", "echo {{what}}", "test -e {{name}}")]));
    place.run(&["new", "--templates"]).expect(0, &["ours", "--var what=…"]);
    place.run(&["new", "mine", "--template", "ours", "--var", "what=hi"]).expect(0, &[]);
    let text = place.read("plans/mine.md");
    assert!(text.contains("echo hi") && text.contains("test -e mine"), "{text}");
}

// A-15, P-28: a batch is written out from a list.
#[test]
fn a_template_is_written_out_for_a_list() {
    let place = Place::empty();
    place.write("files", "src/a\nsrc/b\n\nsrc/c\n");
    let words = [
        "new",
        "move",
        "--template",
        "migration",
        "--each",
        "files",
        "--var",
        "change=use new",
        "--var",
        "old=use old",
        "--var",
        "folder=src",
        "--var",
        "test=sh check.sh",
    ];
    place.run(&words).expect(0, &["plans/move.md"]);
    let text = place.read("plans/move.md");
    for words in [
        "### 1. Change src/a",
        "### 3. Change src/c",
        "### 4. Nothing is left",
        "test -f 'src/b' && ! grep -q 'use old' 'src/b'",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    place
        .run(&[
            "new",
            "more",
            "--template",
            "bugfix",
            "--each",
            "files",
            "--var",
            "bug=b",
            "--var",
            "file=f",
            "--var",
            "test=t",
        ])
        .expect(2, &["has no step to expand"]);
}

// P-29, B-18: one task and the command that decides, approved and run like any plan, and no file in the workspace.
#[test]
fn a_quick_task_needs_no_file() {
    let place = Place::empty();
    place.write(
        "planwright.toml",
        "[agents.hand]\ncommand = [\"bash\", \"-c\", \"cat >/dev/null; touch made\"]\n",
    );
    let quick = |contract: &str, more: &[&str]| {
        let words = ["quick", "Make it", "--contract", contract, "--agent", "hand", "--retries", "1"];
        place.run(&words.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>())
    };
    let asked = quick("test -e made", &[]);
    asked.expect(3, &["must pass: test -e made", "hand runs: bash -c", "is not approved"]);
    assert!(!place.has("made"));
    let rev = asked.stderr.split("--rev ").nth(1).expect("a command").trim().to_owned();
    quick("test -e made", &["--rev", "00000000"]).expect(4, &["not 00000000"]);
    let done = quick("test -e made", &["--rev", &rev]);
    done.expect(0, &["1 of 1 step passed"]);
    let log = done
        .stderr
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("next: "))
        .expect("a command")
        .to_owned();
    place.bash(&log).expect(0, &["contract.finished"]);
    // Once more is another run, and what fails twice has failed.
    place.bash("rm made").expect(0, &[]);
    quick("test -e made", &["--rev", &rev]).expect(0, &["1 of 1 step passed"]);
    let asked = quick("test -e never", &[]);
    let rev = asked.stderr.split("--rev ").nth(1).expect("a command").trim().to_owned();
    quick("test -e never", &["--rev", &rev]).expect(1, &["failed", "attempt 2"]);
    quick("true", &[]).expect(1, &["PW0306", "nothing was started"]);
    place
        .run(&["quick", "Do", "--contract", "test -e x"])
        .expect(1, &["agent `coder` has no command; set agents.coder.command"]);
    assert_eq!(place.bash("ls").stdout, "made\nplanwright.toml\n");
}

// P-27: work that was come upon goes on a list, by people and by agents, and only a person makes a step of it.
#[test]
fn discovered_work_is_listed_and_becomes_a_step() {
    let report = r#"printf '{"say":"discovered","title":"Mend the\\nfence","text":"It leans."}\n' >>"$PLANWRIGHT_REPORT"; touch one"#;
    let place =
        Place::with_plan(&[("one", "", report, "test -e one"), ("two", "", "touch two", "test -e two")]);
    place
        .run(&["discover", "Paint it", "--step", "two", "-m", "It is grey."])
        .expect(0, &["recorded  1  Paint it at two"]);
    place.approve_and_run().expect(0, &["2 of 2 steps passed"]);
    place
        .run(&["discover", "it", "--list"])
        .expect(0, &["1  Paint it", "at two", "2  Mend the fence", "at one", "(an agent)"]);
    place.run(&["discover", "it", "--list"]).expect(0, &["planwright discover plans/it.md --add 1"]);
    let agent =
        crate::test_env::run(place.planwright(&["discover", "it", "--add", "2"]).env("CLAUDECODE", "1"), b"");
    agent.expect(3, &["only a person may"]);
    let before = place.read("plans/it.md");
    place
        .run(&["discover", "it", "--add", "2"])
        .expect(0, &["step mend-the-fence", "the plan needs a new approval"]);
    let text = place.read("plans/it.md");
    assert!(text.starts_with(before.trim_end()), "{text}");
    for words in ["### 3. Mend the fence", "**needs:** one", "It leans.", "**contract:** manual"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    place.run(&["discover", "it", "--add", "2"]).expect(1, &["already added as step `mend-the-fence`"]);
    place.run(&["discover", "it", "--add", "9"]).expect(2, &["has no follow-up work 9"]);
    // Whoever was ended before it was recorded adds it once, not twice.
    let added = &text[before.trim_end().len()..];
    let painted = [
        ("### 3.", "### 4."),
        ("Mend the fence", "Paint it"),
        ("mend-the-fence", "paint-it"),
        ("**needs:** one", "**needs:** two"),
        ("It leans.", "It is grey."),
    ];
    let painted = painted.iter().fold(added.to_owned(), |text, (from, to)| text.replace(from, to));
    let text = format!("{}\n{painted}", text.trim_end());
    place.write("plans/it.md", &text);
    place.run(&["discover", "it", "--add", "1"]).expect(0, &["step paint-it"]);
    assert_eq!(place.read("plans/it.md"), text);
    place.run(&["discover", "it", "--add", "1"]).expect(1, &["already added as step `paint-it`"]);
    place.run(&["run", "it"]).expect(3, &["it is not approved"]);
}
