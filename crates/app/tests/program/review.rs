//! `review`: contracts first and whole, their direction since the revision that the reader knows, and a yes or a no that is meant
//! for exactly what was shown.

use serde_json::Value;

use crate::run_watched::Terminal;
use crate::sample::runnable;
use crate::test_env::{Place, Ran};

const PLAN: &str = "plans/it.md";

/// A plan of two steps, of which the first is judged by this command.
fn plan(contract: &str) -> String {
    runnable(&[
        ("make", "**touches:** made, notes/**", "touch made", contract),
        ("tell", "**touches:** told", "touch told", "test -e told"),
    ])
}

/// A project with a plan that was proposed.
fn proposed() -> Place {
    let place = Place::empty();
    place.write(PLAN, plan("test -e made"));
    place.run(&["propose", "it"]).expect(0, &[]);
    place
}

/// The same, rejected, mended and proposed anew with this contract.
fn proposed_again(contract: &str) -> Place {
    let place = proposed();
    place.run(&["comment", "it/make", "-m", "it can be empty"]).expect(0, &[]);
    place.run(&["reject", "it", "-m", "ask for more"]).expect(0, &[]);
    place.write(PLAN, plan(contract));
    place.run(&["propose", "it"]).expect(0, &[]);
    place
}

fn data(ran: &Ran) -> Value {
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    envelope["data"].clone()
}

// M-06, P-18: what changed since the revision that was read, contracts first, with a direction only where one is proven.
#[test]
fn a_review_shows_how_contracts_changed() {
    let cases = [
        ("test -e made && test -s made", "stricter", "+ && test -s made"),
        ("test -e made || test -e other", "weaker", "+ || test -e other"),
        ("touch made && test -e made", "changed", "+ touch made && test -e made"),
        ("test -e made # && test -s made", "changed", "+ test -e made # && test -s made"),
    ];
    for (contract, direction, line) in cases {
        let place = proposed_again(contract);
        let ran = place.run(&["review", "it"]);
        ran.expect(
            0,
            &["r2", direction, line, "Since r1, the last you read: ~ step 1 contract", "ask for more"],
        );
        let text = &ran.stdout;
        assert!(text.find("Contracts") < text.find("Since r1"), "{text}");
        let review = data(&place.run(&["review", "it", "--json"]));
        let directions: Vec<_> =
            review["contracts"].as_array().expect("rows").iter().map(|row| &row["direction"]).collect();
        assert_eq!(directions, [direction, "same"], "{contract}");
        assert_eq!(review["comments"][0]["step_number"], 1);
        assert_eq!(review["comments"][0]["answered_by"], Value::Null);
        assert_eq!(review["reach"]["globs"][0]["glob"], "made");
    }
}

#[test]
fn a_review_compares_with_what_is_asked_for() {
    let place = proposed_again("test -s made");
    place.run(&["review", "it", "--since", "r1", "--diff"]).expect(0, &["- test -e made", "+ test -s made"]);
    place.run(&["review", "it", "--since", "r7"]).expect(2, &["has no revision r7 to compare r2 with"]);
    place.run(&["review", "it", "--since", "soon"]).expect(2, &["r1, r2"]);
    place.run(&["review", "it", "--full"]).expect(0, &["### 1. Do make"]);
}

// M-06: what was proposed is reviewed, and a file that says something else is no way around it.
#[test]
fn what_is_reviewed_is_what_was_proposed() {
    let place = proposed();
    place.write(PLAN, plan("test -e other"));
    let ran = place.run(&["review", "it"]);
    ran.expect(0, &["test -e made", "the file changed", "next: planwright propose plans/it.md"]);
    let contracts = ran.stdout.split("Since").next().expect("text");
    assert!(!contracts.contains("other"), "{contracts}");
}

// Off a terminal, and for agents, a review only shows.
#[test]
fn a_review_asks_nobody_who_is_no_person_at_a_terminal() {
    let place = proposed();
    let ran = place.run_with(&["review", "it"], "a\ny\n");
    ran.expect(0, &["next: planwright approve plans/it.md --rev "]);
    assert!(!ran.said().contains("[a]pprove"), "{ran:#?}");
    let mut command = place.planwright(&["review", "it"]);
    let mut terminal = Terminal::started(command.env("CLAUDECODE", "1"));
    terminal.type_in("a\ny\n");
    let (code, said) = terminal.end();
    assert!(code == 0 && !said.contains("[a]pprove"), "{said}");
    assert_eq!(data(&place.run(&["review", "it", "--json"]))["state"], "proposed");
}

#[test]
fn at_a_terminal_a_yes_is_for_what_was_shown() {
    let place = proposed();
    let mut terminal = Terminal::started(&mut place.planwright(&["review", "it"]));
    terminal.wait_for("[Q]uit  [?]");
    terminal.type_in("a");
    terminal.wait_for("[N]o  [?]");
    terminal.type_in("\n");
    terminal.wait_for("nothing was approved");
    terminal.wait_for("[Q]uit  [?]");
    terminal.type_in("a");
    terminal.wait_for("[N]o  [?]");
    terminal.type_in("y");
    let (code, said) = terminal.end();
    assert!(code == 0 && said.contains("approved") && said.contains("next: planwright run"), "{said}");
    let review = data(&place.run(&["review", "it", "--json"]));
    assert_eq!(review["state"], "approved");
    assert_eq!(review["approvals"][0]["is_signed"], false);
    assert!(review["approvals"][0]["worth"].as_str().expect("a sentence").contains("unsigned"));
}

// M-06: approving what moved since it was shown is refused, and nothing starts.
#[test]
fn a_yes_to_what_is_no_longer_proposed_is_refused() {
    let place = proposed();
    let mut terminal = Terminal::started(&mut place.planwright(&["review", "it"]));
    terminal.wait_for("[Q]uit  [?]");
    place.write(PLAN, plan("test -e other"));
    place.run(&["propose", "it"]).expect(0, &[]);
    terminal.type_in("s");
    terminal.wait_for("[N]o  [?]");
    terminal.type_in("y");
    let (code, said) = terminal.end();
    assert!(code == 4 && said.contains("nothing was recorded"), "{code} {said}");
    assert_eq!(data(&place.run(&["review", "it", "--json"]))["state"], "proposed");
    assert!(!place.has("made"));
}

// An edit changes the file and never the proposal: the review says so, and the key approves nothing.
#[test]
fn at_a_terminal_the_plan_can_be_edited() {
    let place = proposed();
    let mut command = place.planwright(&["review", "it"]);
    command.env("EDITOR", "sed -i -e 's/test -e made/test -e other/'");
    let mut terminal = Terminal::started(&mut command);
    terminal.wait_for("[e]dit  [Q]uit  [?]");
    terminal.type_in("e");
    terminal.wait_for("the file changed");
    terminal.wait_for("[Q]uit  [?]");
    terminal.type_in("q");
    let (code, said) = terminal.end();
    assert!(code == 0 && said.contains("next: planwright propose plans/it.md"), "{code} {said}");
    assert!(place.read(PLAN).contains("test -e other"));
    assert_eq!(data(&place.run(&["review", "it", "--json"]))["state"], "proposed");
}

#[test]
fn an_editor_that_fails_is_reported() {
    let place = proposed();
    let mut command = place.planwright(&["review", "it"]);
    command.env("VISUAL", "false").env("EDITOR", "true");
    let mut terminal = Terminal::started(&mut command);
    terminal.wait_for("[Q]uit  [?]");
    terminal.type_in("e");
    let (code, said) = terminal.end();
    assert!(code == 5 && said.contains("cannot edit plans/it.md"), "{code} {said}");
}

#[test]
fn at_a_terminal_one_can_start_or_ask_for_changes() {
    let place = proposed();
    let mut terminal = Terminal::started(&mut place.planwright(&["review", "it"]));
    terminal.wait_for("[Q]uit  [?]");
    terminal.type_in("s");
    terminal.wait_for("[N]o  [?]");
    terminal.type_in("y");
    let (code, said) = terminal.end();
    assert!(code == 0 && place.has("made"), "{code} {said}");
    let place = proposed();
    let mut terminal = Terminal::started(&mut place.planwright(&["review", "it"]));
    terminal.wait_for("[Q]uit  [?]");
    terminal.type_in("c");
    terminal.wait_for("What should change?");
    terminal.type_in("one more step\n");
    let (code, said) = terminal.end();
    assert!(code == 0 && said.contains("rejected"), "{code} {said}");
    let review = data(&place.run(&["review", "it", "--json"]));
    assert_eq!(
        (&review["state"], &review["rejections"][0]["feedback"]),
        (&"rejected".into(), &"one more step".into())
    );
}

/// Keys that are no answer ask again, and no key that was typed before a question is one.
#[test]
fn a_question_is_asked_until_it_is_answered() {
    let place = proposed();
    let mut terminal = Terminal::started(&mut place.planwright(&["review", "it"]));
    terminal.wait_for("[Q]uit  [?]");
    for key in ["x", "\u{1b}[A", "7"] {
        terminal.type_in(key);
        terminal.wait_for("is not a choice; press ? for help");
        terminal.wait_for("[Q]uit  [?]");
    }
    terminal.type_in("?");
    terminal.wait_for("rejects it and asks what should change");
    terminal.wait_for("[Q]uit  [?]");
    terminal.type_in("\u{4}");
    let (code, said) = terminal.end();
    assert!(code == 0 && said.contains("nothing was decided"), "{code} {said}");
    for (key, code) in [("\n", 0), ("q", 0), ("\u{1b}", 0), ("\u{3}", 130)] {
        let mut terminal = Terminal::started(&mut place.planwright(&["review", "it"]));
        terminal.wait_for("[Q]uit  [?]");
        terminal.type_in(key);
        let (ended, said) = terminal.end();
        assert_eq!(ended, code, "{key:?}: {said}");
    }
    assert_eq!(data(&place.run(&["review", "it", "--json"]))["state"], "proposed");
}

#[test]
fn a_key_typed_before_the_question_approves_nothing() {
    let place = Place::empty();
    place.write(PLAN, plan("test -e made"));
    let mut terminal = Terminal::started(&mut place.planwright(&["run", "it"]));
    terminal.type_in("y\n");
    terminal.wait_for("[N]o  [d]etails  [?]");
    assert!(!place.has("made"));
    terminal.type_in("d");
    terminal.wait_for("contract, passes with exit code 0");
    terminal.wait_for("[N]o  [d]etails  [?]");
    terminal.type_in("\n");
    let (code, said) = terminal.end();
    assert!(code == 3 && said.contains("is not approved; nothing was started"), "{code} {said}");
    assert!(!place.has("made"));
    let mut terminal = Terminal::started(&mut place.planwright(&["run", "it"]));
    terminal.wait_for("[N]o  [d]etails  [?]");
    terminal.type_in("y");
    let (code, said) = terminal.end();
    assert!(code == 0 && place.has("made"), "{code} {said}");
}

#[test]
fn without_a_plan_a_review_lists_what_waits() {
    let place = Place::empty();
    place.run(&["review"]).expect(0, &["no plans pending review"]);
    let place = proposed();
    place.run(&["review"]).expect(0, &["r1", "is pending review", "next: planwright review plans/it.md"]);
    assert_eq!(data(&place.run(&["review", "--json"]))["waiting"][0]["revision"], 1);
}

// What people and plans say reaches neither the markup of a comment nor a terminal.
#[test]
fn nothing_that_was_said_can_forge_markup_or_steer_a_terminal() {
    let evil = "</details> <script>x</script> [l](https://e.vil) | @all ``` # h";
    let place = Place::empty();
    let text =
        plan("test -e made\n# ```\n# </details>").replace("# Carry it out", &format!("# Carry {evil}"));
    place.write(PLAN, text);
    place.run(&["propose", "it"]).expect(0, &[]);
    place.run(&["comment", "it/make", "-m", &format!("{evil}\u{1b}[2J\n## heading\n````\n")]).expect(0, &[]);
    place.run(&["reject", "it", "-m", &format!("{evil}\u{202e}\u{7}")]).expect(0, &[]);
    for words in
        [&["review", "it"][..], &["review", "it", "--format", "markdown"], &["review", "it", "--full"]]
    {
        let ran = place.run(words);
        ran.expect(0, &[]);
        let steers = |character: char| character.is_control() && character != '\n' || character == '\u{202e}';
        assert!(!ran.said().contains(steers), "{ran:#?}");
    }
    let page = place.run(&["review", "it", "--format", "markdown"]).stdout;
    let mut fence: Option<String> = None;
    for line in page.lines() {
        let ticks: String = line.chars().take_while(|&character| character == '`').collect();
        match &fence {
            Some(open) if *open == line => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => {
                assert!(!line.contains("script>") && !line.contains("](") && !line.contains('@'), "{line}");
                assert!(!line.starts_with("## h"), "{line}");
            }
        }
    }
    assert_eq!(fence, None, "every block is closed\n{page}");
}
