//! M-06: pairs of contracts and their direction. Every `stricter` and `weaker` here has a reason that is a proof; every
//! `changed` is a case in which a guess would have been wrong, or could have been.

use planwright_core::approval::review::{Direction, compare_commands};
use planwright_core::syntax::shell;
use proptest::prelude::*;

const SAME: Direction = Direction::Same;
const STRICTER: Direction = Direction::Stricter;
const WEAKER: Direction = Direction::Weaker;
const CHANGED: Direction = Direction::Changed;

/// Old, new, the direction; the reverse is checked, too.
const PAIRS: &[(&str, &str, Direction)] = &[
    ("pytest tests/", "pytest tests/", SAME),
    // One more demand, in every place and spelling.
    ("pytest tests/ -x", "pytest tests/ -x && python -c 'import app'", STRICTER),
    ("pytest tests/", "test -s out.md && pytest tests/", STRICTER),
    ("pytest tests/", "pytest tests/\nruff check src/", STRICTER),
    ("pytest tests/", "pytest tests/; ruff check src/", STRICTER),
    ("a\nc", "a\ntest -f b\nc", STRICTER),
    ("a && c", "a && [[ -f b ]] && c", STRICTER),
    ("a && b", "a && b && c && d", STRICTER),
    ("a | b", "a | b && c", STRICTER),
    ("test -f a", "test -f a && ! grep -q TODO a", STRICTER),
    ("! grep -q TODO a", "! grep -q TODO a && pytest", STRICTER),
    ("pytest", "set -euo pipefail\npytest\nmypy src", STRICTER),
    ("pytest", "pytest  # all of them\nmypy src # and the types", STRICTER),
    ("pytest", "pytest && { mypy src; ruff check src; }", STRICTER),
    ("pytest", "pytest\nfor f in a b; do test -s $f; done", STRICTER),
    (
        "for f in a b; do test -s $f; done\npytest",
        "for f in a b; do test -s $f; done\npytest\nmypy",
        STRICTER,
    ),
    ("a || { echo no; exit 1; }", "a || { echo no; exit 1; }\nb", STRICTER),
    ("a", "a || { echo no >&2; exit 1; }\nb", STRICTER),
    // In front of another command only what leaves everything as it was is one more demand.
    ("test -s out.md", "touch out.md && test -s out.md", CHANGED),
    ("pytest", "cd elsewhere && pytest", CHANGED),
    ("pytest", "PATH=./bin:$PATH && pytest", CHANGED),
    ("pytest", "export PYTEST_ADDOPTS=--co && pytest", CHANGED),
    ("test -f out", "pytest tests/prepare && test -f out", CHANGED),
    ("test -f out", "cat template > out && test -f out", CHANGED),
    ("test -f out", "grep -q x a > out && test -f out", CHANGED),
    ("test -f out", "test -n \"$(touch out)\" && test -f out", CHANGED),
    ("test -f $x", "test -n ${x:=/etc/passwd} && test -f $x", CHANGED),
    ("test -f $x", "[[ -v 'a[$(touch x)]' ]] && test -f $x", CHANGED),
    ("pytest", "hash -p /bin/true pytest && pytest", CHANGED),
    ("pytest", "exec pytest", CHANGED),
    // What can't fail is no demand.
    ("pytest", "pytest && true", CHANGED),
    ("pytest", "pytest && echo ok", CHANGED),
    ("pytest", "echo begin; pytest", CHANGED),
    ("pytest", "pytest; exit 0", CHANGED),
    ("pytest", "pytest && { mypy src || true; }", CHANGED),
    ("pytest", "set -e; pytest", CHANGED),
    // Something that forgives.
    ("pytest", "pytest || true", WEAKER),
    ("pytest", "pytest || :", WEAKER),
    ("pytest", "pytest || exit 0", WEAKER),
    ("pytest", "pytest || echo 'flaky, never mind'", WEAKER),
    ("pytest", "pytest || pytest --lf", WEAKER),
    ("a && b", "a && b || c", WEAKER),
    ("a && b", "a || x && b", WEAKER),
    ("a; b", "a || true; b", WEAKER),
    ("a\nb\nc", "a\nb || true\nc", WEAKER),
    ("{ a; b; }", "{ a; b; } || false", WEAKER),
    ("for f in a b; do test -s $f; done", "for f in a b; do test -s $f; done || true", WEAKER),
    // Something that only reports the failure forgives nothing.
    ("pytest", "pytest || exit 1", CHANGED),
    ("pytest", "pytest || { echo failed; exit 3; }", CHANGED),
    // A demand added and a failure forgiven.
    ("pytest", "pytest && mypy || true", WEAKER),
    ("pytest", "pytest && mypy || mypy --lax", CHANGED),
    ("a && b", "a || true && c", CHANGED),
    // Whatever happens, it passes.
    ("pytest", "exit 0; pytest", WEAKER),
    ("pytest", "true || pytest", WEAKER),
    ("pytest", "pytest & true", WEAKER),
    ("pytest", "trap 'exit 0' EXIT; pytest", WEAKER),
    ("pytest", "trap 'exit 0' EXIT\npytest\nmypy", WEAKER),
    // Options of the shell that runs them.
    ("a; b", "set +e; a; b", WEAKER),
    ("a; b; c", "set +o pipefail\na\nb\nc", WEAKER),
    ("a", "set +e; a", CHANGED),
    ("a", "a; set +e; b", CHANGED),
    ("set +e; a; b", "set +e; a; b; c", CHANGED),
    ("a; test -o errexit", "set +e; a; test -o errexit", CHANGED),
    ("a; b", "shopt -u inherit_errexit; a; b", CHANGED),
    // What only looks like a demand, or like something that forgives.
    ("pytest", "pytest # && mypy", CHANGED),
    ("pytest", "pytest # || true", CHANGED),
    ("pytest", "pytest '&& mypy'", CHANGED),
    ("pytest -k x", "pytest -k 'x || true'", CHANGED),
    ("test -n x", "test -n \"$(a || true)\"", CHANGED),
    ("test -n \"$(a)\"", "test -n \"$(a || true)\"", CHANGED),
    ("pytest", "pytest &", WEAKER),
    ("pytest", "( pytest )", CHANGED),
    ("pytest", "! pytest", CHANGED),
    ("pytest", "if pytest; then true; fi", WEAKER),
    ("! a", "! a; b", CHANGED),
    ("a && b", "a && b; c", CHANGED),
    ("a && b; c", "a; b; c", CHANGED),
    ("{ a; b; }", "{ a; b; } && c", CHANGED),
    ("( a; b )", "( a; b ) && c", CHANGED),
    ("{ a && b; }", "{ a && b; }; c", CHANGED),
    ("a; b", "a && b", CHANGED),
    ("a; b", "b; a", CHANGED),
    ("a", "a;  ", CHANGED),
    ("a  b", "a b", CHANGED),
    // Functions and aliases change what words mean.
    ("pytest", "pytest() { true; }; pytest", CHANGED),
    ("pytest", "pytest\npytest() { :; }\nmypy", CHANGED),
    ("pytest", "alias pytest=true; pytest", CHANGED),
    ("pytest", "eval pytest", CHANGED),
    ("pytest", "pytest\neval \"$CHECK\"", CHANGED),
    ("pytest", "command pytest", CHANGED),
    ("pytest", "source checks.sh; pytest", CHANGED),
    ("trap 'exit 0' ERR; a", "trap 'exit 0' ERR; a; b", CHANGED),
    ("$CHECK", "$CHECK && b", CHANGED),
    // Text inside of the script.
    ("cat <<E\nx\nE", "cat <<E\nx\nE\npytest", CHANGED),
    ("python - <<E\nassert a\nE", "python - <<E\npass\nE\nmypy", CHANGED),
    ("a <<< x", "a <<< x && b", CHANGED),
    // Scripts that look at themselves.
    ("a; test \"$_\" = a", "a; test -f b; test \"$_\" = a", CHANGED),
    ("a; test $LINENO = 1", "a; test -f b; test $LINENO = 1", CHANGED),
    // More and fewer files for the same program.
    ("pytest tests/a tests/b", "pytest tests/a", WEAKER),
    ("uv run pytest -x tests/a tests/b", "uv run pytest -x tests/b", WEAKER),
    ("python -m pytest a b c && test -s x", "python -m pytest a c && test -s x", WEAKER),
    ("cat a b c", "cat a c", WEAKER),
    ("sha256sum -c a b", "sha256sum -c a", WEAKER),
    ("ruff check src tests", "ruff check src", WEAKER),
    ("grep -q x a b", "grep -q x a", STRICTER),
    ("grep -qi x a", "grep -qi x a b", WEAKER),
    ("ruff check src && test -f x", "ruff check src tests && test -f x", CHANGED),
    ("pytest tests/a", "pytest", CHANGED),
    ("pytest", "pytest tests/a", CHANGED),
    ("pytest -k fast a", "pytest -k a", CHANGED),
    ("pytest tests/a", "pytest tests/a/test_one.py", CHANGED),
    ("pytest --deselect a b", "pytest --deselect b", CHANGED),
    ("grep x a b", "grep x a", CHANGED),
    ("grep -q x a", "grep -q a", CHANGED),
    ("grep -qv x a", "grep -q x a", CHANGED),
    ("cmp a b", "cmp a", CHANGED),
    ("cat a", "cat", CHANGED),
    ("bash -n a b", "bash -n a", CHANGED),
    ("test -f a", "test -f", CHANGED),
    ("grep -q \"APPROVED\\|CHANGES_REQUESTED\" r.md", "grep -qx \"APPROVED\" r.md", CHANGED),
    // What nobody can read.
    ("pytest", "pytest && (", CHANGED),
    ("pytest (", "pytest", CHANGED),
    ("a", "", WEAKER),
];

/// More tests may bring a file that changes all others: only the way down is proven.
const ONE_WAY: [&str; 3] =
    ["pytest tests/a tests/b", "uv run pytest -x tests/a tests/b", "python -m pytest a b c && test -s x"];

const fn reversed(direction: Direction) -> Direction {
    match direction {
        Direction::Stricter => Direction::Weaker,
        Direction::Weaker => Direction::Stricter,
        Direction::Same | Direction::Changed | Direction::New | Direction::Gone => direction,
    }
}

// M-06: a direction only where it is provable.
#[test]
fn contracts_have_the_direction_that_is_proven() {
    let mut wrong = Vec::new();
    for &(old, new, direction) in PAIRS {
        let found = compare_commands(old, new, 0);
        if found.direction != direction {
            wrong.push(format!("{old:?} -> {new:?}: {found:?}, not {direction}"));
        }
        let back = compare_commands(new, old, 0).direction;
        let expected = if ONE_WAY.contains(&old) { CHANGED } else { reversed(direction) };
        if back != expected {
            wrong.push(format!("{new:?} -> {old:?}: {back}, not {expected}"));
        }
    }
    assert!(PAIRS.len() >= 60);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn another_exit_code_turns_no_demand_into_a_stricter_one() {
    for &(old, new, direction) in PAIRS.iter().filter(|(_, _, direction)| *direction == STRICTER) {
        let found = compare_commands(old, new, 1).direction;
        assert_ne!(found, direction, "{old:?} -> {new:?} with exit 1");
    }
    // What always ends with 3 passes where 3 is expected.
    assert_eq!(compare_commands("pytest", "pytest; exit 3", 3).direction, CHANGED);
    assert_eq!(compare_commands("pytest", "exit 3", 3).direction, WEAKER);
}

#[test]
fn a_direction_says_what_shows_it() {
    let because = |old: &str, new: &str| compare_commands(old, new, 0).because.join("; ");
    assert_eq!(because("a", "a && b -c"), "`b -c` is also required");
    assert_eq!(because("a && b", "a"), "`b` is no longer required");
    assert_eq!(because("a", "a || c"), "`|| c` ignores a failure");
    assert_eq!(because("a; b", "set +e; a; b"), "`set +e` ignores failures");
    assert_eq!(because("pytest a b", "pytest a"), "`b` no longer runs");
    assert_eq!(because("a", "exit 0"), "always passes now");
    assert_eq!(because("a", "b"), "");
}

const ATOMS: [&str; 12] = [
    "a",
    "b",
    "test -f x",
    "pytest t",
    "! a",
    "{ a; b; }",
    "(a; b)",
    "true",
    "exit 0",
    "set +e",
    "x=$(a || b)",
    "cat <<< x",
];

fn script() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(ATOMS.as_slice());
    let joint = prop::sample::select([" && ", " || ", "; ", "\n", " | ", " & "].as_slice());
    prop::collection::vec((atom, joint), 1..5).prop_map(|parts| {
        let mut script = String::new();
        for (at, (atom, joint)) in parts.iter().enumerate() {
            script.push_str(if at == 0 { "" } else { joint });
            script.push_str(atom);
        }
        script
    })
}

/// A text that may be cut, spaced, quoted or commented anywhere.
fn near(script: &str, at: prop::sample::Index, what: &str) -> String {
    let at = script.floor_char_boundary(at.index(script.len() + 1));
    format!("{}{what}{}", &script[..at], &script[at..])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    // M-06: `same` is said of the same bytes and of nothing else.
    #[test]
    fn only_the_same_bytes_are_the_same(
        old in script(),
        at in any::<prop::sample::Index>(),
        what in prop::sample::select(["", " ", "#", "'", "\\", "\n", " || true", " && b", "é", "\u{200b}"].as_slice()),
    ) {
        let new = near(&old, at, what);
        let found = compare_commands(&old, &new, 0).direction;
        prop_assert_eq!(found == Direction::Same, old == new);
    }

    #[test]
    fn a_direction_turns_round_with_its_contracts(old in script(), new in script()) {
        let there = compare_commands(&old, &new, 0).direction;
        let back = compare_commands(&new, &old, 0).direction;
        // What is proven one way round need not be provable the other way; it must never be contradicted.
        let is_one_way = there == Direction::Changed || back == Direction::Changed;
        prop_assert!(back == reversed(there) || is_one_way, "{} -> {}: {} and {}", old, new, there, back);
    }

    #[test]
    fn demands_are_read_of_any_text(script in "\\PC{0,60}") {
        if let Some(demands) = shell::demands(&script) {
            prop_assert!(demands.len() <= script.len() + 1);
        }
    }
}
