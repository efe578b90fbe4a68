//! What reaches a terminal, a pipe and a full disk: colour, glyphs, silence, and nothing that a plan could steer it with.

use crate::sample::{HOSTILE_NAME, hostile, sound};
use crate::test_env::{Place, Ran, run};

/// Every command that prints something of a plan, in every form.
const SHOWING: &[&[&str]] = &[
    &["verify", HOSTILE_NAME],
    &["verify", HOSTILE_NAME, "--format", "short"],
    &["verify", HOSTILE_NAME, "--format", "json"],
    &["verify", HOSTILE_NAME, "--format", "sarif"],
    &["verify", HOSTILE_NAME, "--format", "github"],
    &["verify", HOSTILE_NAME, "--format", "junit"],
    &["verify"],
    &["show", HOSTILE_NAME],
    &["show", HOSTILE_NAME, "--json"],
    &["show", HOSTILE_NAME, "--graph"],
    &["show", HOSTILE_NAME, "--graph=mermaid"],
    &["show", HOSTILE_NAME, "--graph=dot"],
    &["show", "e\u{1b}[2Jv\u{7}i\u{202e}l.md/1"],
    &["show", "e\u{1b}[2Jv\u{7}i\u{202e}l.md/no\u{1b}[2Jne"],
    &["list"],
    &["list", "--json"],
    &["list", "--find", "\u{1b}[2J"],
    &["edit", HOSTILE_NAME, "--note", "n\u{1b}[2J", "--dry-run"],
    &["edit", HOSTILE_NAME, "--set", "owner=\u{1b}[2J"],
    &["edit", HOSTILE_NAME, "--rename", "1=\u{1b}[2J"],
    &["edit", HOSTILE_NAME, "--rename", "1=a"],
    &["edit", HOSTILE_NAME, "--move", "2=1"],
    &["edit", HOSTILE_NAME, "--expand", "1=\u{1b}[2J"],
    &["fmt", "--check"],
    &["fmt", "--check", HOSTILE_NAME],
    &["new", "\u{1b}[2J"],
    &["new", "x", "--owner", "\u{1b}[2J"],
    &["explain", "\u{1b}[2J"],
    &["schema", "\u{1b}[2J"],
    &["help", "\u{1b}[2J"],
    &["man", "\u{1b}[2J"],
    &["completions", "\u{1b}[2J\u{7}\u{202e}"],
    &["\u{1b}[2J\u{7}\u{202e}"],
    &["verify", "--\u{1b}[2J\u{7}\u{202e}"],
    &["verify", "\u{1b}[2J.md"],
    &["verify", "--allow", "\u{1b}[2J"],
    &["verify", "--fix", HOSTILE_NAME],
    &["fmt", HOSTILE_NAME],
    &["edit", HOSTILE_NAME, "--note", "n\u{1b}[2J"],
];

fn steers(character: char) -> bool {
    (character.is_control() && character != '\n' && character != '\t')
        || matches!(character, '\u{202a}'..='\u{202e}')
}

#[test]
fn nothing_in_a_plan_reaches_the_terminal_as_it_is() {
    let place = Place::harbor();
    place
        .write(HOSTILE_NAME, hostile())
        .write("plans/loose\u{1b}[2J.md", sound("Loose", 1).replace("### 1.", "###  1."));
    for words in SHOWING {
        for json in [&[][..], &["--json"]] {
            let words: Vec<&str> = words.iter().chain(json).copied().collect();
            let ran = place.run(&words);
            assert!(!ran.said().contains(steers), "{words:?}: {ran:#?}");
            assert!(ran.code <= 3 && !ran.said().contains("panicked"), "{words:?}: {ran:#?}");
        }
    }
}

/// `fmt -` is a filter between programs and must give back every byte of what it was given.
#[test]
fn a_filter_passes_on_what_it_was_given() {
    let place = Place::harbor();
    let plan = sound("T\u{1b}[2Jitle", 1);
    assert_eq!(place.run_with(&["fmt", "-"], &plan).expect(0, &[]).stdout, plan);
}

// P-03: NO_COLOR, and no colour in a pipe.
#[test]
fn colour_is_for_those_who_want_it() {
    let place = Place::harbor();
    let colored = |words: &[&str], environment: &[(&str, &str)]| {
        let mut command = place.planwright(words);
        command.envs(environment.iter().copied());
        let ran = run(&mut command, b"");
        [ran.stdout.contains('\u{1b}'), ran.stderr.contains('\u{1b}')]
    };
    for words in [
        &["verify", "auth"][..],
        &["show", "auth"],
        &["list"],
        &["verify", "nobody"],
        &["explain"],
        &["nonsense"],
        &["--help"],
    ] {
        assert_eq!(colored(words, &[]), [false; 2], "{words:?} in a pipe");
        let always: Vec<&str> = words.iter().copied().chain(["--color", "always"]).collect();
        assert!(colored(&always, &[("NO_COLOR", "1")]).contains(&true), "{words:?} always");
        let never: Vec<&str> = words.iter().copied().chain(["--color", "never"]).collect();
        assert_eq!(colored(&never, &[("CLICOLOR_FORCE", "1")]), [false; 2], "{words:?} never");
        assert!(colored(words, &[("CLICOLOR_FORCE", "1")]).contains(&true), "{words:?} forced");
        let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert_eq!(colored(words, &both), [false; 2], "{words:?} with NO_COLOR");
    }
    assert_eq!(colored(&["verify", "auth", "--json", "--color", "always"], &[]), [false; 2]);
}

#[test]
fn without_a_unicode_locale_what_we_add_is_ascii() {
    let place = Place::harbor();
    place.write(
        "plans/marked.md",
        sound("Marked", 2).replace("Write part 1\n\n", "Write part 1 \u{2705}\n\n"),
    );
    let said = |words: &[&str], locale: &str| {
        let mut command = place.planwright(words);
        run(command.env("LC_ALL", locale), b"").said()
    };
    for words in [
        &["verify", "auth-timeout"][..],
        &["show", "auth-timeout"],
        &["show", "marked"],
        &["show", "auth-timeout", "--graph"],
        &["show", "auth-timeout/fix"],
        &["list"],
        &["help"],
        &["help", "exit-codes"],
        &["verify", "nobody"],
    ] {
        let text = said(words, "C");
        assert!(text.is_ascii(), "{words:?}: {text}");
    }
    // A mark is a claim, and never looks like a verdict.
    assert!(said(&["show", "marked"], "C.UTF-8").contains("claims done"));
    assert!(!said(&["show", "marked"], "C.UTF-8").contains('\u{2713}'));
    // Arrows between the steps of a picture: the same picture in both sets.
    assert!(!said(&["show", "auth-timeout", "--graph"], "C.UTF-8").is_ascii());
}

#[test]
fn quiet_leaves_the_data_and_the_errors() {
    let place = Place::harbor();
    let loud = place.run(&["list"]);
    let quiet = place.run(&["list", "--quiet"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), (loud.stdout.as_str(), ""));
    assert!(loud.stderr.contains("next: "), "{loud:#?}");
    let failed = place.run(&["show", "nobody", "-q"]);
    assert_eq!((failed.stdout.as_str(), failed.code), ("", 2));
    assert!(
        failed.stderr.starts_with("error: plan `nobody` not found") && !failed.stderr.contains("next:"),
        "{failed:#?}"
    );
    assert_eq!(place.run(&["edit", "auth", "--note", "a", "--quiet"]).said(), "");
}

#[test]
fn a_reader_who_has_seen_enough_is_no_failure() {
    let place = Place::harbor();
    place.bash("set -o pipefail; planwright explain | head -n 1").expect(0, &["PW0101"]);
    // A pipe that nobody reads any more, before the first byte is written.
    place.bash("mkfifo pipe").expect(0, &[]);
    for (words, code) in [
        ("list", 0),
        ("explain", 0),
        ("completions bash", 0),
        ("show auth", 0),
        ("list --json", 0),
        ("help", 0),
        ("--help", 0),
        ("verify auth", 1),
        ("verify auth --json", 1),
        ("verify nobody --json", 2),
    ] {
        let ran = place.bash(&format!("exec 3<>pipe 4>pipe 3<&-; planwright {words} >&4"));
        ran.expect(code, &[]);
        assert!(!ran.stderr.contains("error:") && !ran.stderr.contains("roken"), "{words}: {ran:#?}");
    }
}

// P-22: a disk that is full is the machine's fault.
#[test]
fn a_full_disk_is_said_and_is_exit_code_5() {
    let place = Place::harbor();
    for words in [
        "list",
        "verify auth",
        "show auth",
        "help",
        "--help",
        "list --json",
        "verify nobody --json",
        "schema verify",
        "man",
        "fmt - <plans/auth-timeout.md",
    ] {
        let ran: Ran = place.bash(&format!("planwright {words} >/dev/full"));
        ran.expect(5, &["cannot write to standard output", "No space left"]);
    }
}
