//! Texts that are no plans, or too much of one: a clear answer in bounded time and memory, never a panic.

use crate::sample::sound;
use crate::test_env::Place;

/// The memory that the program may take for a plan within the limit, in KiB of address space. A debug build of it takes
/// about 250 MiB before it has done anything, most of it for the stacks and arenas of threads.
const ADDRESS_SPACE_KIB: u32 = 1 << 20;

/// The time of the processor that it may take for one.
const SECONDS: u32 = 20;

/// A text that is hard to take, and what is said of it.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    /// The exit codes that are right.
    codes: &'static [i32],
    said: &'static [&'static str],
}

fn cases() -> Vec<Case> {
    let case = |name, bytes: &[u8], codes, said| Case { name, bytes: bytes.to_vec(), codes, said };
    let front =
        |lines: &str| format!("---\ntype: plan\nstatus: draft\nowner: ada\n{lines}---\n\n# T\n").into_bytes();
    let bomb: String =
        (1..30).map(|level| format!("k{level}: &a{level} [*a{0}, *a{0}, *a{0}]\n", level - 1)).collect();
    let nested = sound("Deep", 1).replace("Write part 1.", &(">".repeat(50_000) + " deep"));
    let list = sound("Deep", 1).replace(
        "Write part 1.",
        &(0..2_000).map(|level| " ".repeat(level * 2 % 400) + "- x\n").collect::<String>(),
    );
    let words = sound("Deep", 1).replace("test -s part-1.txt", &("$(".repeat(50_000)));
    vec![
        case("empty", b"", &[1], &["PW0"]),
        case("blank", b"\n \n\t\n", &[1], &["PW0"]),
        case("only-frontmatter", b"---\ntype: plan\nstatus: draft\nowner: ada\n---\n", &[1], &["no steps"]),
        case("never-closed", b"---\ntype: plan\nstatus: draft\n", &[1], &["PW0"]),
        case(
            "invalid-utf-8",
            b"---\ntype: plan\n---\n\n# T\xff\xfe\n",
            &[1],
            &["PW0101", "not UTF-8", "0xff", ":5:4"],
        ),
        case("nul", b"---\ntype: plan\n---\n\n# T\0\n", &[1], &["PW0101", "NUL byte"]),
        case("utf-16", b"\xff\xfe-\0-\0-\0\n\0", &[1], &["PW0101", "UTF-8"]),
        case("duplicate-keys", &front("owner: eve\n"), &[1], &["PW0", "owner"]),
        case("anchors", &front("a: &x 1\nb: *x\n"), &[1], &["PW0102"]),
        case("tags", &front("a: !!python/object:os.system ls\n"), &[1], &["PW0102"]),
        case("bomb", &front(&format!("k0: &a0 lol\n{bomb}")), &[1], &["PW0102"]),
        case("brackets", &front(&format!("a: {}\n", "[".repeat(100_000))), &[1], &["PW0102"]),
        case("braces", &front(&format!("a: {}\n", "{a: ".repeat(20_000))), &[1], &["PW0102"]),
        case(
            "indent",
            &front(&(0..500).map(|level| " ".repeat(level) + "a:\n").collect::<String>()),
            &[1],
            &["PW0"],
        ),
        case("quotes", nested.as_bytes(), &[0], &[]),
        case("list", list.as_bytes(), &[0], &[]),
        // The stack of bash decides whether it says no or dies; a bash that dies has not said yes.
        case("substitutions", words.as_bytes(), &[1], &[]),
        case("parentheses", words.replace("$(", "(").as_bytes(), &[1], &["PW0301"]),
        case("links", sound("Deep", 1).replace("Write part 1.", &"[".repeat(100_000)).as_bytes(), &[0], &[]),
        case("stars", sound("Deep", 1).replace("Write part 1.", &"*a_".repeat(60_000)).as_bytes(), &[0], &[]),
        case(
            "fences",
            sound("Deep", 1).replace("Write part 1.", &"~~~\n".repeat(20_001)).as_bytes(),
            &[1],
            &["PW0"],
        ),
        case("one-line", &[b"# ", "a".repeat(900_000).as_bytes()].concat(), &[1], &["PW0"]),
        case("headings", "### 1. A\n".repeat(300).as_bytes(), &[1], &["PW0"]),
    ]
}

#[test]
fn every_text_gets_a_clear_answer_within_bounds() {
    let place = Place::empty();
    for Case { name, bytes, codes, said } in cases() {
        place.write(&format!("{name}.md"), bytes);
        let script =
            format!("ulimit -v {ADDRESS_SPACE_KIB} -t {SECONDS}; planwright verify {name}.md --format short");
        let ran = place.bash(&script);
        assert!(codes.contains(&ran.code), "{name}: {} {:.600}", ran.code, ran.said());
        for words in said {
            assert!(ran.said().contains(words), "{name}: `{words}` was not said: {:.600}", ran.said());
        }
        assert!(!ran.said().contains("panicked"), "{name}: {:.600}", ran.said());
    }
}

#[test]
fn other_commands_take_the_same_texts_without_a_panic() {
    let place = Place::empty();
    for Case { name, bytes, .. } in cases() {
        place.write(&format!("{name}.md"), bytes);
        for words in ["show", "fmt --check", "edit --note hello --dry-run", "show --graph=ascii"] {
            let ran = place.bash(&format!("planwright {words} {name}.md"));
            assert!([0, 1].contains(&ran.code), "{words} {name}: {} {:.600}", ran.code, ran.stderr);
        }
    }
    place.run(&["list"]).expect(0, &["invalid-utf-8", "unreadable"]);
}

#[test]
fn a_plan_beyond_the_limit_is_refused_with_the_limit_and_the_way_to_raise_it() {
    let place = Place::empty();
    let big = sound("Big", 1).replace("Write part 1.", &"x ".repeat(5_000_000));
    place.write("big.md", &big);
    let ran = place.run(&["verify", "big.md"]);
    ran.expect(1, &["PW0101", "file is larger than 1048576 bytes", "--max-bytes", "limits.plan_bytes"]);
    assert!(ran.said().len() < 2000, "{ran:#?}");
    place.run(&["verify", "big.md", "--max-bytes", "20000000"]).expect(0, &["checked  big.md"]);
    place.run(&["verify", "big.md", "--max-bytes", "18446744073709551615"]).expect(0, &["checked  big.md"]);
    place.run(&["verify", "big.md", "--max-bytes=-1"]).expect(2, &["--max-bytes"]);
    place.run_with(&["verify", "-"], &big).expect(1, &["PW0101", "1048576"]);
    place.run(&["show", "big.md"]).expect(1, &["big.md", "1048576"]);
    place.write("planwright.toml", "[limits]\nplan_bytes = 20000000\n");
    place.run(&["show", "big.md"]).expect(0, &["big", "Big"]);
    place.write("planwright.toml", "[limits]\nplan_bytes = 100\n").write("small.md", sound("Small", 1));
    place.run(&["verify", "small.md"]).expect(1, &["PW0101", "file is larger than 100 bytes"]);
}

#[test]
fn a_file_of_many_gigabytes_takes_no_memory() {
    let place = Place::empty();
    place.write("huge.md", sound("Huge", 1));
    let script = |rest: &str| format!("ulimit -v {ADDRESS_SPACE_KIB}; {rest}");
    // A file with a hole: as long as one likes, and nothing on the disk.
    place.bash("printf x >last; dd if=last of=huge.md bs=1 seek=8000000000 2>/dev/null").expect(0, &[]);
    place
        .bash(&script("planwright verify huge.md"))
        .expect(1, &["PW0101", "file is larger than 1048576 bytes"]);
    place.bash(&script("planwright list")).expect(0, &["unreadable"]);
    place.bash(&script("planwright verify - </dev/zero")).expect(1, &["PW0101"]);
    place.bash(&script("planwright fmt - </dev/zero")).expect(1, &["1048576"]);
}

#[test]
fn a_plan_of_ten_thousand_steps_is_within_the_limit() {
    let place = Place::empty();
    let mut plan =
        "---\ntype: plan\nstatus: draft\nowner: ada\n---\n# Long\n**Budget:** 900M tokens\n".to_owned();
    for step in 1..=10_000 {
        let contract = format!("**contract:**\n```shell\ntest -s {step}\n```\n");
        plan.push_str(&format!("### {step}. S{step}\n**target:** shell\n**task:** t\n{contract}"));
    }
    place.write("long.md", &plan);
    place.run(&["verify", "long.md"]).expect(0, &["10000 steps", "no errors"]);
}

#[test]
fn a_picture_of_hundreds_of_steps_is_refused_in_words() {
    let place = Place::empty();
    place.write("long.md", sound("Long", 300));
    place.run(&["show", "long.md", "--graph"]).expect(0, &["300 steps are too many to draw", "wave 300"]);
    place.run(&["show", "long.md/s299"]).expect(0, &["test -s part-299.txt"]);
}

#[test]
fn settings_that_are_broken_are_named_with_their_place() {
    let place = Place::harbor();
    let said = |text: &str, words: &[&str]| {
        place.write("planwright.toml", text);
        for command in [&["list"][..], &["verify", "auth"], &["show", "auth"], &["new", "x"]] {
            place.run(command).expect(2, &[&["invalid configuration planwright.toml"], words].concat());
        }
    };
    said("[limits\n", &["line 1"]);
    said(
        "[limits]\nretrys = 3\n",
        &["line 2: unknown setting `limits.retrys`; did you mean `limits.retries`?"],
    );
    said("colour = true\n", &["line 1: unknown setting `colour`"]);
    said(
        "[limits]\nretries = \"many\"\n",
        &["line 2: `limits.retries` must be a whole number from 0 to 1000, not `many`"],
    );
    place.write("planwright.toml", b"\xff").run(&["list"]).expect(5, &["cannot read planwright.toml"]);
    // What needs no project works without its settings.
    place.run(&["explain", "PW0203"]).expect(0, &["unmade-file"]);
}
