//! What is a command and what is for a person.

use super::contract;
use crate::dialect::frontmatter;
use crate::syntax::markdown::Blocks;
use crate::syntax::source::{Source, Span};

/// The command that a verification says, with the code that it expects; "manual" where a person must look.
fn said(text: &str) -> String {
    let source = Source::new("plan.md", text);
    let blocks = Blocks::read(&source, frontmatter::split(text).body);
    match contract(&source, &blocks, Span::new(0, text.len())) {
        None => "nothing".to_owned(),
        Some(contract) => {
            assert_eq!(contract.is_manual, contract.command.is_none(), "{text}");
            let command = contract.command.map_or_else(|| "manual".to_owned(), |command| command.value);
            command + &contract.expect.map(|code| format!(" == {}", code.value)).unwrap_or_default()
        }
    }
}

// D-01: what is clearly only commands is the contract.
#[test]
fn commands_in_backticks_are_the_contract() {
    for (text, command) in [
        ("`cargo test`", "cargo test"),
        ("`cargo test` passes.", "cargo test"),
        ("Run `cargo test -p core` and ensure that it passes", "cargo test -p core"),
        ("`cargo test` and `cargo clippy` both pass", "cargo test && cargo clippy"),
        ("`cd web && npm test`, then `cargo test`", "( cd web && npm test ) && cargo test"),
        ("\n- `just check`\n- `./scripts/smoke.sh` is green\n", "just check && ./scripts/smoke.sh"),
        ("`scripts/check.sh` exits 3", "scripts/check.sh == 3"),
        ("`./run` exits with code 0", "./run"),
        ("`RUST_LOG=debug cargo test`", "RUST_LOG=debug cargo test"),
        ("`make`", "make"),
        ("`! grep -q TODO src/main.rs`", "! grep -q TODO src/main.rs"),
        ("`[ -f README.md ]`", "[ -f README.md ]"),
        ("``echo `date` ``", "echo `date`"),
        (
            "Run:\n\n```bash\ncargo test\n# all of them\ncargo doc\n```\n",
            "cargo test\n# all of them\ncargo doc",
        ),
        ("```sh\na b\n```\nthen\n```sh\nc d\n```\n", "a b\nc d"),
        ("```\ncargo test\n```\nexit code 2\n", "cargo test == 2"),
    ] {
        assert_eq!(said(text), command, "{text}");
    }
}

// D-01: what is not clearly only commands is for a person, all of it.
#[test]
fn what_a_person_must_look_at_is_never_half_judged() {
    for text in [
        "The dashboard shows the new tile.",
        "run `cargo run` and check that the window looks right",
        "`cargo test` passes and the page loads",
        "`cargo run` prints 42",
        "`cargo test` fails",
        "`cargo test` should not pass",
        "`cargo test` or `make test`",
        "`a b` and `c d` exit 3",
        "tests in `tests/auth.rs` pass",
        "`tests/auth.rs`",
        "`Status: done`",
        "`GET /health` returns 200",
        "`x == 3`",
        "`expect(a).toBe(b)`",
        "`const a = 1`",
        "`echo 'unclosed`",
        "`cargo test",
        "```json\n{\"a\": 1}\n```",
        "```console\n$ cargo test\nok\n```",
        "```bash\ncargo run\n```\nLook at the picture.",
        "```bash\n\n```",
        "manual",
        "`2 + 2`",
    ] {
        assert_eq!(said(text), "manual", "{text}");
    }
    assert_eq!(said(" \n"), "nothing");
}

// The spans of a joined command are those of its parts, so that a diagnostic points at the right one.
#[test]
fn a_joined_command_knows_where_its_parts_stand() {
    let text = "`cargo test` and `cargo clippy`";
    let source = Source::new("plan.md", text);
    let blocks = Blocks::read(&source, 0);
    let command = contract(&source, &blocks, Span::new(0, text.len())).and_then(|contract| contract.command);
    let command = command.expect("it is a command");
    let at = command.value.find("clippy").expect("it is there");
    let place = command.locate(Span::new(at, at + "clippy".len()));
    assert_eq!(source.slice(place), "clippy");
}
