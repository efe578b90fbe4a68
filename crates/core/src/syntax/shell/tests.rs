//! Tests of the shell analysis: a table of scripts with the results for each.

use super::{ExitOutcome, FileRole, PathUse, ShellScript, analyse, is_builtin, opener};
use crate::syntax::source::Span;

fn names(script: &ShellScript) -> Vec<&str> {
    script.calls.iter().map(|call| call.name.as_str()).collect()
}

fn uses(paths: &[PathUse]) -> Vec<String> {
    let role = |role: FileRole| match role {
        FileRole::Tested => "tests",
        FileRole::Read => "reads",
        FileRole::Written => "writes",
        FileRole::Run => "runs",
    };
    paths.iter().map(|path| format!("{} {}", role(path.role), path.path)).collect()
}

/// The outcome as text: `open`, or the kind, the bytes that settle it, and how.
fn outcome(text: &str, script: &ShellScript) -> String {
    let under = |span: &Span| &text[span.start..span.end];
    match &script.outcome {
        ExitOutcome::Open => "open".to_owned(),
        ExitOutcome::Fixed { code, span, why } => format!("fixed {code} <{}> {why}", under(span)),
        ExitOutcome::Masked { span, why } => format!("masked <{}> {why}", under(span)),
    }
}

fn kind(script: &str) -> String {
    match analyse(script).outcome {
        ExitOutcome::Open => "open".to_owned(),
        ExitOutcome::Fixed { code, .. } => format!("fixed {code}"),
        ExitOutcome::Masked { .. } => "masked".to_owned(),
    }
}

#[test]
fn contracts_of_real_plans_are_read() {
    let cases: [(&str, &[&str], &[&str]); 12] = [
        (
            "test -f docs/analysis-423.md && test \"$(wc -l < docs/analysis-423.md)\" -gt 10",
            &["wc"],
            &["tests docs/analysis-423.md", "reads docs/analysis-423.md"],
        ),
        ("uv run pytest tests/auth/ -x", &["uv"], &[]),
        ("uv run ruff check src/auth/ && uv run pyright src/auth/", &["uv", "uv"], &[]),
        ("gh pr view --json state -q '.state' | grep -q OPEN", &["gh", "grep"], &[]),
        ("test -f docs/config-deps.md", &[], &["tests docs/config-deps.md"]),
        (
            "test -f docs/review.md && grep -q \"APPROVED\\|CHANGES_REQUESTED\" docs/review.md",
            &["grep"],
            &["tests docs/review.md", "reads docs/review.md"],
        ),
        (
            "test -f docs/i.md && grep -c \"^-\" docs/i.md | awk '{exit ($1 > 0 ? 0 : 1)}'",
            &["grep", "awk"],
            &["tests docs/i.md", "reads docs/i.md"],
        ),
        ("uv run python -c \"import httpx; print(httpx.__version__)\"", &["uv"], &[]),
        ("! grep -r \"import requests\" src/ && uv run pytest tests/ -x", &["grep", "uv"], &["reads src/"]),
        (
            "sh -n test.sh && grep -q \"Hello, Ada\" test.sh",
            &["sh", "grep"],
            &["reads test.sh", "reads test.sh"],
        ),
        ("sh test.sh", &["sh"], &["runs test.sh"]),
        ("grep -q \"greet.sh\" README.md", &["grep"], &["reads README.md"]),
    ];
    for (text, calls, paths) in cases {
        let script = analyse(text);
        assert_eq!(script.fault, None, "{text}");
        assert_eq!(names(&script), calls, "{text}");
        assert_eq!(uses(&script.paths), paths, "{text}");
        assert_eq!(script.outcome, ExitOutcome::Open, "{text}");
    }
}

#[test]
fn every_program_is_found_wherever_it_is_called() {
    let cases: [(&str, &[&str]); 42] = [
        ("echo a; cd b; [ -f c ]; true", &[]),
        ("\"ls\" -l; \\ls; l's'; $'ls'", &["ls", "ls", "ls", "ls"]),
        ("$CMD x; \"$(which a)\" y", &["which"]),
        ("A=1 B=$(two) three", &["two", "three"]),
        ("a=`one`; b=\"x $(two) y\"", &["one", "two"]),
        ("env -i A=1 B=\"$b\" make", &["env", "make"]),
        ("env -u HOME -- make", &["env", "make"]),
        ("timeout -k 5 -s KILL 10 make", &["timeout", "make"]),
        ("timeout --signal=KILL 10s make", &["timeout", "make"]),
        ("timeout \"$limit\" make", &["timeout", "make"]),
        ("ls | xargs -0 -n1 -I{} rm {}", &["ls", "xargs", "rm"]),
        ("xargs -P 4 -d '\\n' < list", &["xargs"]),
        ("sudo -u root -E A=1 make", &["sudo", "make"]),
        ("nice -n 5 nohup make", &["nice", "nohup", "make"]),
        ("nice -10 make; time -p make", &["nice", "make", "make"]),
        ("command -v gcc; command gcc; exec clang", &["gcc", "clang"]),
        (
            "env A=1 timeout 5 nice bash -euo pipefail -c 'one | two'",
            &["env", "timeout", "nice", "bash", "one", "two"],
        ),
        ("sh -c \"one && bash -c 'two; \\$(three)'\"", &["sh", "one", "bash", "two", "three"]),
        ("bash -c \"$SCRIPT\"", &["bash"]),
        (
            "find . -name '*.py' -exec black {} + -o -execdir sh -c 'mypy x' \\;",
            &["find", "black", "sh", "mypy"],
        ),
        ("eval 'one' \"two; three\"", &["one", "three"]),
        ("trap 'one; two' EXIT INT; trap - EXIT", &["one", "two"]),
        ("[[ -n $(one) && `two` == x || ! $(three) =~ y ]]", &["one", "two", "three"]),
        ("(( $(one) > 3 )); for ((i=$(two);;)); do three; done", &["one", "two", "three"]),
        ("echo \"${x:-$(one)}\" ${y/$(two)/z} $((1 + $(three)))", &["one", "two", "three"]),
        ("diff <(one a) <(two b) > >(three)", &["diff", "one", "two", "three"]),
        ("cat <<END\n$(one) \"x\" `two`\nEND\nthree", &["cat", "one", "two", "three"]),
        ("cat <<'END'\n$(one)\nEND\ntwo", &["cat", "two"]),
        ("cat <<< \"$(one)\"", &["cat", "one"]),
        ("(one; { two; }) & three", &["one", "two", "three"]),
        ("if one; then two; elif three; then four; else five; fi", &["one", "two", "three", "four", "five"]),
        ("while one; do two; done; until three; do four; done", &["one", "two", "three", "four"]),
        ("for x in $(one); do two; done; select y in a; do three; done", &["one", "two", "three"]),
        ("case $(one) in a) two;; b) three;; esac", &["one", "two", "three"]),
        ("f() { one; }; function g { two; }; f; g", &["one", "two"]),
        ("alias ll='ls -l'; ll", &[]),
        ("! one | two |& three", &["one", "two", "three"]),
        ("coproc one; coproc N { two; }", &["one", "two"]),
        ("a=(x $(one) `two`)", &["one", "two"]),
        ("$(a $(b $(c $(d $(e)))))", &["e", "d", "c", "b", "a"]),
        ("shopt -s extglob\nls !(a|b)\none", &["ls", "one"]),
        ("\"my tool\" a", &["my tool"]),
    ];
    for (text, calls) in cases {
        let script = analyse(text);
        assert_eq!(script.fault, None, "{text}");
        assert_eq!(names(&script), calls, "{text}");
    }
}

#[test]
fn files_are_found_only_where_it_is_sure_that_they_are_files() {
    let cases: [(&str, &[&str]); 38] = [
        ("test -e a; [ -s b ]; [[ -x c ]]", &["tests a", "tests b", "tests c"]),
        ("[ -f a -a ! -d b ]; [[ a -nt b ]]", &["tests a", "tests a", "tests b"]),
        ("! test -f a; [[ ! -e b ]]; test ! -f c", &[]),
        ("test -n a; [ a = b ]; [[ a == b ]]; test -f \"$x\"", &[]),
        ("[[ -f 'a b' && ( -d c || -e d ) ]]", &["tests a b", "tests c", "tests d"]),
        ("sort < a > b 2>> c", &["reads a", "writes b", "writes c"]),
        ("make > /dev/null 2>&1 < /dev/null; make >&2; make &> log", &["writes log"]),
        ("cat a 'b c' - $d *.e ~/f /g/h", &["reads a", "reads b c", "reads /g/h"]),
        ("head -n 5 a; tail -c3 b; tail -20 c; wc -l d", &["reads a", "reads b", "reads c", "reads d"]),
        ("grep -rn --include '*.py' -A 3 x a b", &["reads a", "reads b"]),
        ("grep -e x a; grep -f pats b; grep --regexp=x c", &["reads a", "reads b", "reads c"]),
        ("grep -- -x a; grep -qe x b; grep -me x c", &["reads a", "reads b", "reads c"]),
        ("grep \"$x\" a; grep $x b; grep x", &["reads a"]),
        ("diff -u a b; cmp -n 5 c d 1 2", &["reads a", "reads b", "reads c", "reads d"]),
        ("sort -t , -k2 -o out a; cut -d: -f1 b", &["reads a", "reads b"]),
        ("jq -e .x a; jq --arg k v .x b; jq --args .x c", &["reads a", "reads b"]),
        ("sed -n 1p a; sed -e 1p b; sed -i s/x/y/ c", &["reads a", "reads b"]),
        ("awk -F: '{print}' x=1 a; awk -f prog b", &["reads a", "reads b"]),
        ("python a.py arg; python3 -u b.py; python -m c; python -c d; python -", &["runs a.py", "runs b.py"]),
        ("node a.js; node -e b; node --import c d; node --test e.js", &["runs a.js", "runs e.js"]),
        ("bash -x a.sh; bash -o pipefail b.sh; sh -s c", &["runs a.sh", "runs b.sh"]),
        (". ./a.sh; source b.sh", &["reads ./a.sh", "reads b.sh"]),
        ("./run.sh x; bin/tool; /usr/bin/env make", &["runs ./run.sh", "runs bin/tool", "runs /usr/bin/env"]),
        ("timeout 5 ./run.sh; env A=1 cat a", &["runs ./run.sh", "reads a"]),
        ("cd app && ./run && test -f x; cat ./y", &["runs app/run", "tests app/x", "reads app/y"]),
        ("(cd app; cat a); cat b", &["reads app/a", "reads b"]),
        ("cd \"$x\"; cat a; ./run; cat /b", &["reads /b"]),
        ("cd app; cd ..; cat a", &["reads a"]),
        ("cd /app; cat a; ./run; echo > b", &["writes /app/b"]),
        ("cd ..; cat a; echo > b; cd app/..; echo > /c/../d", &["writes ../b", "writes /c/../d"]),
        (
            "cd app && echo > ../b; cd / && echo > c; { cd \"$x\"; } > d",
            &["writes b", "writes /c", "writes /d"],
        ),
        (
            "echo > /dev/../a; echo > /proc/self/cwd/a; echo > -b",
            &["writes /dev/../a", "writes /proc/self/cwd/a", "writes -b"],
        ),
        ("if x; then cd app; fi; cat a", &[]),
        ("bash -c 'cd app; cat a'; cat b", &["reads app/a", "reads b"]),
        ("find . -exec cat a {} \\;", &[]),
        ("cat https://example.org/a; cat ''", &[]),
        ("echo $(< a) \"$(cat b)\"", &["reads a", "reads b"]),
        ("ls a; rm b; mkdir c; touch d; cp e f", &[]),
    ];
    for (text, paths) in cases {
        let script = analyse(text);
        assert_eq!(script.fault, None, "{text}");
        assert_eq!(uses(&script.paths), paths, "{text}");
    }
}

#[test]
fn spans_are_bytes_and_point_at_the_word() {
    let text = "echo 'ñß✅' && ./rün.sh \"$(✅ x)\" < \"é à\" | tool; [[ -f dö ]]";
    let script = analyse(text);
    let under = |span: Span| &text[span.start..span.end];
    let calls: Vec<&str> = script.calls.iter().map(|call| under(call.span)).collect();
    assert_eq!(calls, ["./rün.sh", "\"$(✅ x)\"", "tool"]);
    let paths: Vec<&str> = script.paths.iter().map(|path| under(path.span)).collect();
    assert_eq!(paths, ["./rün.sh", "\"é à\"", "dö"]);
}

#[test]
fn inside_a_word_spans_point_at_the_whole_word() {
    let text = "sh -c 'make && cat x'; for i in $(ls); do :; done";
    let script = analyse(text);
    let calls: Vec<&str> = script.calls.iter().map(|call| &text[call.span.start..call.span.end]).collect();
    assert_eq!(calls, ["sh", "'make && cat x'", "'make && cat x'", "for i in $(ls); do :; done"]);
}

#[test]
fn functions_and_aliases_are_named() {
    let script = analyse("f() { :; }; function g { h() ( : ); }; alias k='x' l=y; m=1");
    assert_eq!(script.functions.iter().map(String::as_str).collect::<Vec<_>>(), ["f", "g", "h", "k", "l"]);
}

// Each of these was compared with what bash does when X and Y exit with 0, 1 and 7.
#[test]
fn success_is_fixed_when_nothing_can_change_it() {
    let fixed = [
        "true",
        ":",
        "exit 0",
        "exit",
        "exit 256",
        "echo hi",
        "echo \"$(X)\"",
        "printf 'a\\n'",
        "echo a >&2",
        "X || true",
        "X || :",
        "X || echo bad >&2",
        "X || exit 0",
        "X || { echo bad; exit 0; }",
        "(X) || true",
        "X && Y || true",
        "X || Y || true",
        "X &",
        "X & wait",
        "{ X; } &",
        "X || true &",
        "if X; then echo a; fi",
        "if X; then :; else echo b; fi",
        "if X; then :; elif Y; then :; fi",
        "if false; then X; fi",
        "! false",
        "! (X; false)",
        "while false; do X; done",
        "until true; do X; done",
        "for i in a b; do X || true; done",
        "case a in b) true;; esac",
        "(true)",
        "{ true; }",
        "true && true",
        "true || X",
        "trap 'exit 0' EXIT; X",
        "trap 'exit 0' EXIT; exit 9",
        "a=1",
        "a=(1 2)",
        "a=1; echo $a",
        "a=$(X || true)",
        "a=$(X; true)",
        "a=$(X) || a=none",
        "X && echo ok; true",
        "X || true; echo ok",
        "X && exit 0; exit 0",
        "set +e; X; true",
        "set +eu; X; :",
        "bash -c 'X; true'",
        "sh -c 'X || true'",
        "exit 0; X",
        "true | true",
        "f() { X; }",
        "[[ -f x ]] || true",
        "time X || true",
        "! true; echo",
        "",
        "# only a comment",
    ];
    for script in fixed {
        assert_eq!(kind(script), "fixed 0", "{script}");
    }
}

#[test]
fn a_failure_can_be_as_fixed_as_a_success() {
    let fixed: [(&str, &[&str]); 3] = [
        (
            "fixed 1",
            &[
                "false",
                "! true",
                "!(true)",
                "false; true",
                "true && false",
                "false && X",
                "X || true && false",
                "false | true",
                "! { X || true; }",
                "exit 1 || true",
                "trap 'true' EXIT; false",
                "set +e; false; exit",
            ],
        ),
        (
            "fixed 3",
            &["exit 3", "(exit 3)", "exit 3; true", "! exit 3", "if exit 3; then X; fi", ": | exit 3"],
        ),
        ("fixed 5", &["trap 'exit 5' EXIT; X || true", "exit 5 | true", "exit 261"]),
    ];
    for (expected, scripts) in fixed {
        for script in scripts {
            assert_eq!(kind(script), expected, "{script}");
        }
    }
}

#[test]
fn what_only_the_options_of_the_harness_can_fail_is_masked() {
    let masked = [
        "X; true",
        "{ true; } < x; echo a",
        "X; exit 0",
        "X; echo done",
        "X\nY\necho done",
        "X && Y; true",
        "X | tail -5",
        "X 2>&1 | tee log",
        "X | awk '{print}'",
        "X | sed -n 1p",
        "X | cat | sort",
        "X |& tail",
        "X | true",
        "X; wait",
        "(X; true)",
        "{ X; true; }",
        "X; X || true",
        "X | while read l; do echo \"$l\"; done",
        "Y; X | wc -l",
        "set +o pipefail; X | tail",
        "trap 'rm -f x' EXIT; X; echo done",
        "X; trap 'exit 0' EXIT; Y",
        "X \"$ARGUMENT\" || true",
        "X || echo failed > log",
    ];
    for script in masked {
        assert_eq!(kind(script), "masked", "{script}");
    }
}

#[test]
fn a_script_that_can_fail_by_itself_is_open() {
    let open = [
        "X",
        "X; Y",
        "cd x\nX",
        "X && echo ok",
        "X && Y && echo ok",
        "X || Y",
        "X || false",
        "X || exit 1",
        "X; exit 3",
        "X || exit 1; echo ok",
        "X || { echo bad; exit 1; }",
        "if X; then exit 1; fi",
        "if X; then Y; fi",
        "! X",
        "X | grep -q y",
        "X | tail -3 | grep ok",
        "X | awk '{exit 1}'",
        "X | sed q5",
        "set -e; X; echo ok",
        "set -euo pipefail; X | tail",
        "set +e; X; Y",
        "set +e; X; exit $?",
        "set +e; set -e; X",
        "X & wait $!",
        "true & X",
        "a=$(X)",
        "a=1 b=$(X) c=2",
        "until X; do :; done",
        "while ! X; do sleep 1; done",
        "while X; do :; done",
        "while true; do if X; then break; fi; done",
        "for i in a b; do X; done",
        "bash -ec 'X; true'",
        "true() { X; }; true",
        "f() { X; }; f",
        "source x; true",
        "eval X; true",
        "if X; then Y; else exit; fi",
        "if :; then false && X; fi; Y",
        "( ! { a=$(X); true; } )",
        "trap 'exit' EXIT; X",
        "trap 'false' EXIT; { set +e; Y; } && { exit $?; }",
        "trap 'exit 0' ERR; X",
        "( set +e; X; true ); Y",
        "X; [ $? -eq 0 ]",
        ": ${Q:?no}",
        "X > log; cat log",
    ];
    for script in open {
        assert_eq!(kind(script), "open", "{script}");
    }
}

#[test]
fn an_outcome_says_what_settles_it() {
    let cases = [
        ("X || true", "fixed 0 <|| true> `|| true` turns every failure into success"),
        ("✅ ||  echo bad", "fixed 0 <||  echo bad> `|| echo bad` turns every failure into success"),
        ("X; true", "masked <true> the exit code is that of `true`"),
        ("X; exit 0", "masked <exit 0> `exit 0` hides earlier failures"),
        ("X | tail -5", "masked <tail -5> the exit code is that of `tail`"),
        ("exit 3", "fixed 3 <exit 3> `exit 3` sets the exit code"),
        ("echo a b", "fixed 0 <echo a b> `echo` always succeeds"),
        ("false", "fixed 1 <false> `false` always fails"),
        ("X &", "fixed 0 <X &> nothing waits for the background command after `&`"),
        (
            "if X; then :; fi",
            "fixed 0 <if X; then :; fi> `if` without `else` succeeds when its condition fails",
        ),
        ("if X; then :; else :; fi", "fixed 0 <if X; then :; else :; fi> none of its branches can fail"),
        (
            "for i in a; do :; done",
            "fixed 0 <for i in a; do :; done> the loop succeeds whatever its commands return",
        ),
        ("a=1", "fixed 0 <a=1> an assignment always succeeds"),
        ("! false", "fixed 0 <! false> `! false` always succeeds"),
        ("false | true", "fixed 1 <false | true> `false | true` always exits 1"),
        ("true || X", "fixed 0 <true || X> `true || X` always succeeds"),
        ("set +e; X; true", "fixed 0 <true> after `set +e`, the exit code is that of `true`"),
        (
            "set +o pipefail\nX | tee a",
            "masked <tee a> after `set +o pipefail`, the exit code is that of `tee`",
        ),
        (
            "trap 'exit 0' EXIT; X",
            "fixed 0 <trap 'exit 0' EXIT> the trap sets the exit code, hiding earlier failures",
        ),
        ("", "fixed 0 <> nothing to run"),
    ];
    for (text, expected) in cases {
        assert_eq!(outcome(text, &analyse(text)), expected, "{text}");
    }
}

#[test]
fn a_script_that_only_tests_is_told_from_one_that_does_more() {
    let only: [(&str, &[&str]); 8] = [
        ("test -f a", &["tests a"]),
        ("test -f a && [ -d 'b c' ] && [[ -s d ]]", &["tests a", "tests b c", "tests d"]),
        ("test -e a\ntest -r b", &["tests a", "tests b"]),
        ("set -e; test -f a", &["tests a"]),
        ("[ -f a -a -x b ]", &["tests a", "tests b"]),
        ("[[ -f a && ( -f b ) ]]", &["tests a", "tests b"]),
        ("{ test -f a; } 2>/dev/null", &["tests a"]),
        ("(test -f a)", &["tests a"]),
    ];
    for (text, expected) in only {
        assert_eq!(analyse(text).tests.map(|tests| uses(&tests)).unwrap_or_default(), expected, "{text}");
    }
    let more = [
        "",
        "true",
        "test -f a || true",
        "! test -f a",
        "test ! -f a",
        "test -f a -o -f b",
        "test -f \"$a\"",
        "test -f a; make",
        "test -n a",
        "[[ -f a || -f b ]]",
        "[[ ! -f a ]]",
        "test -w a",
        "test -f a > b",
        "cd x; test -f a",
    ];
    for text in more {
        assert_eq!(analyse(text).tests, None, "{text}");
    }
}

#[test]
fn a_script_that_cannot_be_read_has_a_fault_and_nothing_else() {
    for text in ["if", "é; echo 'a", "a && ", "(", "done", "echo \"$(", "case x in"] {
        let script = analyse(text);
        let fault = script.fault.unwrap_or_else(|| panic!("`{text}` was read"));
        assert!(fault.span.end <= text.len() && text.is_char_boundary(fault.span.start), "{text}: {fault:?}");
        assert!(!fault.message.is_empty(), "{text}");
        assert_eq!(
            (script.calls, script.paths, script.outcome),
            (vec![], vec![], ExitOutcome::Open),
            "{text}"
        );
    }
}

#[test]
fn no_input_is_too_nasty() {
    let deep = |open: &str, middle: &str, close: &str, times: usize| {
        format!("{}{middle}{}", open.repeat(times), close.repeat(times))
    };
    let nasty = [
        deep("(", "a", ")", 100_000),
        deep("( ", "", "", 100_000),
        deep("$(", "a", ")", 100_000),
        deep("$(", "a", ")", 32),
        deep("\"$(", "a", ")\"", 31),
        deep("$(echo `", "", "", 12),
        deep("${x:-", "a", "}", 5_000),
        deep("((", "1", "))", 5_000),
        format!("(({}1))", "-".repeat(20_000)),
        format!("(({}1))", "a=".repeat(999)),
        format!("[[ {}a ]]", "! ".repeat(900)),
        deep("if a; then ", "b", "; fi", 100),
        deep("case a in a) ", "b", ";; esac", 100),
        deep("if ", "", "", 50_000),
        deep("{ ", "a;", " };", 32),
        "a;".repeat(3_900),
        "a && ".repeat(1_900) + "a",
        "a &".repeat(3_900),
        format!("{{\n{}}}", "a\n".repeat(3_900)),
        "f() ".repeat(390),
        deep("bash -c '", "a", "'", 40),
        deep("eval \"", "a", "\"", 40),
        "é".repeat(20_000),
        "\\".to_owned(),
        "\"".repeat(10_001),
        "`".repeat(9_999),
        "\u{1}\u{2}\u{7f}\u{202e}\u{feff}<<<>>>&|;!{}[]()$#*?~".to_owned(),
        "cat <<A <<B\n".repeat(500),
        "<(".repeat(30),
        "\n\n\t \r\n".to_owned(),
        "$".to_owned(),
        "[[".to_owned(),
        "a=$((".to_owned(),
        "trap".to_owned(),
        "[ ]; test; [; set -o; exit; find . -exec; timeout; env; xargs -I; bash -c; sh -o; jq --arg"
            .to_owned(),
        format!(": {}", "x=$(a) ".repeat(900)),
    ];
    for text in nasty {
        let script = analyse(&text);
        let spans =
            script.calls.iter().map(|call| call.span).chain(script.paths.iter().map(|path| path.span));
        for span in spans.chain(script.fault.iter().map(|fault| fault.span)) {
            assert!(text.get(span.start..span.end).is_some(), "{span:?} is no span of {text:.40}");
        }
    }
}

#[test]
fn builtins_and_keywords_are_no_programs() {
    for name in ["[", "[[", "echo", "test", "if", "while", "!", ":", ".", "source", "wait", "{", "cd"] {
        assert!(is_builtin(name), "{name}");
    }
    for name in ["", "ls", "env", "awk", "sudo", "python", "grep", "timeout"] {
        assert!(!is_builtin(name), "{name}");
    }
    assert!(super::BUILTINS.is_sorted());
}

#[test]
fn what_is_never_closed_is_found_where_it_was_opened() {
    let cases = [
        ("grep x src/ && (", Some((15, 16))),
        ("( a && ( b )", Some((0, 1))),
        ("a; $(foo", Some((3, 5))),
        ("{ a; b", Some((0, 1))),
        ("x\nif true; then\n  echo", Some((2, 4))),
        ("for i in a; do\n b", Some((0, 3))),
        ("case x in a) b", Some((0, 4))),
        ("echo \"abc\nfoo", Some((5, 6))),
        ("echo 'it", Some((5, 6))),
        ("échec && (", Some((10, 11))),
        ("echo ok", None),
        ("foo )", None),
    ];
    for (script, expected) in cases {
        let found = opener(script).map(|span| (span.start, span.end));
        assert_eq!(found, expected, "{script:?}");
    }
}

#[test]
fn a_wrapper_around_a_constant_is_the_constant() {
    for script in
        ["/bin/true", "command true", "builtin true", "env true", "nohup echo ok", "pytest || /bin/true"]
    {
        let outcome = analyse(script).outcome;
        assert!(matches!(outcome, ExitOutcome::Fixed { code: 0, .. }), "{script}: {outcome:?}");
    }
    for script in ["command -v uv", "env pytest", "nice make", "command false"] {
        let outcome = analyse(script).outcome;
        assert!(!matches!(outcome, ExitOutcome::Fixed { code: 0, .. }), "{script}: {outcome:?}");
    }
}
