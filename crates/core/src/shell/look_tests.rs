//! Tests of the list of commands that only look: what passes, and every way around it that is known.

use super::{beyond_looking, is_single_call};

const LOOKING: &[&str] = &[
    "ls -la src",
    "cat a.txt b.txt | head -n 20",
    "grep -rn 'fn main' src && wc -l src/*.rs",
    "rg --files | sort -u | head",
    "find . -name '*.rs' -type f",
    "find src -name \"*.rs\" | xargs grep -l unwrap",
    "git log --oneline -5; git status --short",
    "git -C sub --no-pager diff HEAD~1 -- src/a.rs",
    "git branch --show-current",
    "cd src && ls | wc -l",
    "cat a 2>/dev/null || echo none",
    "ls 2>&1",
    "for f in src/*.rs; do echo \"$f\"; head -1 \"$f\"; done",
    "while read -r line; do echo \"$line\"; done < list.txt",
    "if [ -f a ]; then cat a; fi",
    "[[ -d src ]] && ls src",
    "echo $(git rev-parse HEAD)",
    "diff <(ls a) <(ls b)",
    "sed -n '10,20p' src/main.rs",
    "command -v cargo",
    "timeout 5 grep -r x .",
    "/usr/bin/ls",
    "grep '$(rm)' src",
    "n=$(wc -l < a); echo $n",
    "set -e; ls",
    "uniq a",
    "cat <<EOF\nplain\nEOF",
];

const ACTING: &[&str] = &[
    "rm -rf x",
    "ls; rm x",
    "ls && rm x",
    "ls || rm x",
    "ls | tee x",
    "ls & rm x",
    "ls\nrm x",
    "echo $(rm x)",
    "echo `rm x`",
    "echo \"$(rm x)\"",
    "cat <(rm x)",
    "ls > x",
    "ls >> x",
    "ls >| x",
    "ls &> x",
    "ls >& x",
    "ls 2> x",
    "cat <> x",
    "cat < /dev/tcp/example.org/80",
    "cat > x <<EOF\na\nEOF",
    "cat <<EOF\n$(rm x)\nEOF",
    "(rm x)",
    "{ rm x; }",
    "if true; then rm x; fi",
    "while rm x; do :; done",
    "for f in $(rm x); do :; done",
    "for PATH in /tmp; do ls; done",
    "case $(rm x) in a) ;; esac",
    "case a in a) rm x ;; esac",
    "! rm x",
    "time rm x",
    "timeout 5 rm x",
    "command rm x",
    "eval 'rm x'",
    "bash -c 'rm x'",
    "sh x.sh",
    "source x.sh",
    ". x.sh",
    "env rm x",
    "exec rm x",
    "trap 'rm x' EXIT",
    "ls() { rm x; }; ls",
    "alias ls='rm x'; ls",
    "PATH=/tmp/bin ls",
    "PATH=/tmp/bin; ls",
    "GIT_EXTERNAL_DIFF=./x git diff",
    "export PATH=/tmp; ls",
    "read PATH < x; ls",
    "printf -v PATH /tmp",
    "find . -exec rm {} +",
    "find . -delete",
    "find . -fprint x",
    "find . $ARGS",
    "find . \"$ARG\"",
    "find . {-delete,-print}",
    "find . | xargs rm",
    "find . | xargs sort",
    "find . | xargs -I{} sh -c 'rm {}'",
    "fd x -x rm",
    "fd x --exec rm",
    "sort -o x a",
    "sort -uo x a",
    "sort --outp=x a",
    "sort --compress-program=./x a",
    "uniq a b",
    "tree -o x",
    "rg --pre ./x y",
    "date -s tomorrow",
    "file -C -m x",
    "sed -i s/a/b/ x",
    "sed 's/a/b/w x' y",
    "sed -n '1e rm x' y",
    "awk 'BEGIN{system(\"rm x\")}'",
    "git commit -m x",
    "git checkout .",
    "git branch -D x",
    "git branch x",
    "git tag v1",
    "git stash",
    "git config core.pager ./x",
    "git -c core.pager=./x log",
    "git -c core.fsmonitor=./x status",
    "git log --output=x",
    "git diff --outp=x",
    "git diff --ext-diff",
    "git grep -O./x y",
    "git $VERB",
    "$CMD x",
    "{rm,x}",
    "./script.sh",
    "src/../script.sh",
    "python3 -c 'print(1)'",
    "curl -o x example.org",
    "touch x",
    "mkdir x",
    "(( a[$(rm x)] ))",
    "echo $((1 + $(rm x)))",
    "[[ $(rm x) ]]",
    "echo ${x:-$(rm x)}",
    "coproc rm x",
    "ls 'unclosed",
    "ls | while read f; do rm $f; done",
];

// C-35
#[test]
fn what_only_looks_passes() {
    for script in LOOKING {
        assert_eq!(beyond_looking(script), None, "{script}");
    }
}

// C-35
#[test]
fn whatever_does_more_than_look_is_named() {
    for script in ACTING {
        assert!(beyond_looking(script).is_some(), "{script}");
    }
    let why = |script: &str| beyond_looking(script).unwrap_or_default();
    assert_eq!(why("ls; rm -rf x"), "`rm` is not on the list of commands that only read");
    assert_eq!(why("ls > out.txt"), "it writes to `out.txt`");
    assert_eq!(why("find . -delete"), "`find -delete` does more than look");
    assert_eq!(why("git commit"), "`git commit` is not on the list of commands that only read");
}

#[test]
fn one_plain_command_is_told_from_several() {
    for script in ["npx mail search 'a b'", "odoo read 7"] {
        assert!(is_single_call(script), "{script}");
    }
    for script in ["a; b", "a | b", "a $(b)", "a > b", "X=1 a", "a $x", "a {b,c}", "(a)", "a &", "a 'b"] {
        assert!(!is_single_call(script), "{script}");
    }
}
