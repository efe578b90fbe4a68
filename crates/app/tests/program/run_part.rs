//! `run` for a part of a plan, and for nothing at all: `--until`, `--only`, `--dry-run`, and what programs read of a run.

use serde_json::Value;

use crate::follow::FILE;
use crate::sample::Sketch;
use crate::test_env::Place;

const A: Sketch<'static> = ("a", "**touches:**\n- a", "echo once >>a", "test -s a");
const B: Sketch<'static> = ("b", "**needs:** a\n**touches:**\n- b", "echo once >>b", "test -s b");
const C: Sketch<'static> = ("c", "**needs:** a\n**touches:**\n- c", "echo once >>c", "test -s c");
const D: Sketch<'static> = ("d", "**needs:** b, c\n**touches:**\n- d", "echo once >>d", "test -s d");

/// Which of the files of the four steps are there.
fn made(place: &Place) -> String {
    ["a", "b", "c", "d"].into_iter().filter(|file| place.has(file)).collect()
}

/// The envelopes that a run printed, one a line.
#[track_caller]
fn envelopes(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

// P-21, A-25: up to a step means what it waits for and nothing else; the rest is left for another time.
#[test]
fn until_goes_as_far_as_the_step_and_what_it_waits_for() {
    let place = Place::with_plan(&[A, B, C, D]);
    place.run(&["run", "it", "--until", "c", "--rev", &place.digest()]).expect(
        0,
        &["reached  it   2 of 4 steps passed", "not started  2 b, 4 d", "next: planwright run it"],
    );
    assert_eq!(made(&place), "ac");
    // Nobody has to approve it again, and nothing is done twice.
    place.run(&["run", "it", "--until", "2"]).expect(0, &["reached  it   3 of 4"]);
    place.run(&["run", "it", "--until", "a"]).expect(0, &["reached  it   3 of 4"]);
    place.run(&["run", "it"]).expect(0, &["done  it   4 of 4"]);
    assert_eq!((made(&place).as_str(), place.read("a").as_str()), ("abcd", "once\n"));
}

// P-21: one step alone, if it can begin; otherwise the honest answer is no, and says why.
#[test]
fn only_does_one_step_and_names_what_is_missing() {
    let place = Place::with_plan(&[A, B, C, D]);
    let digest = place.digest();
    place
        .run(&["run", "it", "--only", "b", "--rev", &digest])
        .expect(1, &["step 2 b is blocked by 1 a", "planwright run it --until b"]);
    assert_eq!((made(&place).as_str(), place.events().len()), ("", 0));
    place.run(&["run", "it", "--only", "a", "--rev", &digest]).expect(0, &["reached"]);
    place.run(&["run", "it", "--only", "d"]).expect(1, &["step 4 d is blocked by 2 b, 3 c"]);
    place.run(&["run", "it", "--only", "b"]).expect(0, &["reached  it   2 of 4"]);
    assert_eq!(made(&place), "ab");
    place.run(&["run", "it", "--only", "nothing"]).expect(2, &["its steps are a, b, c, d"]);
    place.run(&["run", "it", "--only", "c", "--until", "c"]).expect(2, &["cannot be used with"]);
    place.run(&["run", "it", "--jobs", "0"]).expect(2, &["--jobs must be at least 1"]);
}

// P-21: a dry run says what would be done, by whom and what is only claimed; it starts and writes nothing.
#[test]
fn a_dry_run_says_everything_and_does_nothing() {
    let place = Place::with_plan(&[A, B, ("c", "**target:** coder", "Write it.", "test -s c"), D]);
    place.write("planwright.toml", "[roles]\ncoder = \"pen\"\n");
    place.rewrite("### 2. Do b", "### 2. Do b ✅");
    let said =
        ["marked      2 b", "would run   1 a, 3 c, 4 d", "[agents.pen]", "new run", "nothing was started"];
    place.run(&["run", "it", "--dry-run"]).expect(0, &said);
    assert_eq!(place.bash("ls -A ~").stdout, "", "no state was made");
    place.write(
        "planwright.toml",
        "[roles]\ncoder = \"pen\"\n[agents.pen]\ncommand = [\"bash\", \"-c\", \"cat >c\"]\n",
    );
    place.run(&["run", "it", "--dry-run"]).expect(0, &["coder runs: bash -c 'cat >c'"]);
    place.run(&["run", "it", "--until", "a", "--rev", &place.digest()]).expect(0, &[]);
    let (events, file) = (place.events(), place.read(FILE));
    let said =
        ["resumes     run 1", "done        1 a", "would run   2 b, 3 c", "not run     4 d", "--until c"];
    place.run(&["run", "it", "--dry-run", "--until", "c"]).expect(0, &said);
    assert_eq!((place.events(), place.read(FILE), place.has("c")), (events, file, false));
    let envelope = envelopes(&place.run(&["run", "it", "--dry-run", "--json"]).stdout).remove(0);
    assert_eq!(envelope["data"]["agents"][0]["command"][0], "bash", "{envelope}");
    assert_eq!(envelope["data"]["succeeded"], Value::from(vec!["a"]), "{envelope}");
}

// programs read every event of a run as a line of its own, in the order of the loop, and the end as the last line.
#[test]
fn with_json_every_event_is_a_line_and_the_last_line_is_the_run() {
    let place = Place::with_plan(&[A, ("b", "", "echo no", "test -s b")]);
    let ran = place.run(&["run", "it", "--json", "--rev", &place.digest()]);
    let mut lines = envelopes(&ran.expect(3, &[]).stdout);
    let end = lines.pop().expect("a last line");
    assert_eq!((&end["schema"], &end["data"]["state"]), (&"planwright.run/1".into(), &"waiting".into()));
    for (list, ids) in [("succeeded", vec!["a"]), ("failed", vec!["b"]), ("left", vec![])] {
        assert_eq!(end["data"][list], Value::from(ids), "{list}");
    }
    assert!(lines.iter().all(|line| line["schema"] == "planwright.event/1"), "{lines:#?}");
    let events: Vec<Value> = lines.iter().map(|line| line["data"]["event"].clone()).collect();
    assert_eq!(events, place.events());
    let seqs: Vec<u64> = lines.iter().filter_map(|line| line["data"]["seq"].as_u64()).collect();
    assert!(seqs.len() == lines.len() && seqs.is_sorted_by(|one, next| one < next), "{seqs:?}");
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).take(4).collect();
    assert_eq!(names, ["run.started", "attempt.started", "attempt.finished", "contract.finished"]);
    // What happened before is not told again.
    let again = place.run(&["run", "it", "--json"]);
    assert_eq!(envelopes(&again.expect(3, &[]).stdout).len(), 1);
}

// A-27, C-23: a failure is told in full where it happens, what is asked says what was tried, and the end has three lists.
#[test]
fn a_failure_is_told_in_full_once_and_short_at_the_end() {
    let contract =
        "i=0; while [ $i -lt 50 ]; do echo line $i; i=$((i+1)); done; echo 'b is not there'; exit 7";
    let place = Place::with_plan(&[
        A,
        (
            "b",
            "**needs:** a\n**on_fail:** retry(1), then escalate\n**touches:**\n- b",
            "touch b.tmp",
            contract,
        ),
        C,
        D,
    ]);
    let said = place.approve_and_run().expect(3, &[]).stdout.clone();
    let expected = [
        "2 b   ",
        "attempt 1 of 2, exit 7",
        "11 earlier lines: planwright log it/b@1 --contract",
        "  retrying with this output",
        "attempt 2 of 2, exit 7",
        "it/2 b needs you",
        "-> exit 7, attempt 2 of 2",
        "  tried      1  ",
        "same failure 2 times",
        "  running    3 c",
        "  blocked    4 d",
        "  answer     planwright answer it/b  --retry --hint",
        "--take-over",
        "--skip -m",
        "needs you  it   2 of 4 steps passed",
        "  passed       1 a, 3 c",
        "  failed       2 b   attempt 2, exit 7: ",
        "  needs you    2 b",
        "  not started  4 d",
    ];
    let mut rest = said.as_str();
    for words in expected {
        let at =
            rest.find(words).unwrap_or_else(|| panic!("`{words}` is missing or in another place: {said}"));
        rest = &rest[at + words.len()..];
    }
    assert_eq!(said.matches("retrying").count(), 1, "{said}");
    assert!(!said.contains("--confirm") && !said.contains("--budget"), "only answers that fit: {said}");
    // Nobody is offered an answer that would be refused.
    for answer in ["--retry --hint x", "--take-over", "--skip -m x", "--stop"] {
        assert!(said.contains(answer.split_whitespace().next().unwrap_or_default()), "{answer}");
    }
}

// A-45, P-16: a budget that is spent stops nothing in silence: a person is asked, and told what is left.
#[test]
fn a_budget_that_is_spent_is_asked_about() {
    let spend = "echo once >>a; echo '{\"tokens\": 10, \"dollars\": 0.95}' >\"$PLANWRIGHT_USAGE\"";
    let place = Place::with_plan(&[("a", "**touches:**\n- a", spend, "test -s a"), B, C, D]);
    place.rewrite("$1, 900 minutes", "$0.90, 900 minutes");
    place.approve_and_run().expect(
        3,
        &[
            "it needs you",
            "The budget is used up: 3 steps left",
            "blocked    2 b, 3 c, 4 d",
            "planwright answer it  --budget",
            "$0.95",
        ],
    );
    assert_eq!(made(&place), "a");
    place.run(&["answer", "it", "--budget", "9"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &["4 of 4 steps passed"]);
}
