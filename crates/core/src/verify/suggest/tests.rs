//! Tests of suggestions: what is suggested, what never is, and why.

use super::*;

fn plan(steps: &str) -> Draft {
    Source::new("plan.md", format!("---\ntype: plan\n---\n# T\n\n{steps}")).draft()
}

fn step(task: &str) -> Draft {
    plan(&format!("### 1. Do it\n\n**task:** {task}\n\n**contract:** manual\n"))
}

fn suggested(draft: &Draft, project: &ProjectFiles) -> Vec<String> {
    suggestions(draft, project).into_iter().map(|suggestion| suggestion.command).collect()
}

// A command that a step names is suggested; a step with a contract is left alone.
#[test]
fn a_command_in_backticks_is_suggested() {
    let draft = plan(
        "### 1. Parse\n\n**task:** Write the parser.\n\n**accept:**\n- `cargo test -p parser` passes\n\n\
         ### 2. Wire\n\n**task:** Run `npm run lint` and `pytest tests/x.py` at the end.\n\n**contract:** manual\n\n\
         ### 3. Ship\n\n**task:** `cargo test` must pass.\n\n**contract:**\n```shell\ntest -f a\n```\n",
    );
    let found = suggestions(&draft, &ProjectFiles::default());
    let commands: Vec<(usize, &str)> =
        found.iter().map(|found| (found.step, found.command.as_str())).collect();
    assert_eq!(commands, [(0, "cargo test -p parser"), (1, "npm run lint && pytest tests/x.py")]);
    assert_eq!(found[0].because, "a criterion names `cargo test -p parser`");
}

#[test]
fn a_file_that_is_made_is_tested_for() {
    let draft =
        step("Create the file `docs/guide.md` and describe `src/main.rs` in it. `out/report.csv` exists.");
    assert_eq!(
        suggested(&draft, &ProjectFiles::default()),
        ["test -f docs/guide.md && test -f out/report.csv"]
    );
    assert_eq!(paths(&draft).into_iter().collect::<Vec<_>>(), ["docs/guide.md", "out/report.csv"]);
    let project = ProjectFiles { present: ["docs/guide.md".to_owned()].into(), ..ProjectFiles::default() };
    assert_eq!(suggested(&draft, &project), ["test -f out/report.csv"], "what is there proves nothing");
    for text in [
        "Add `user.name` to the form.",
        "Add a line to `README.md`.",
        "Create `../x.md`.",
        "Create `/etc/x.md`.",
    ] {
        assert_eq!(suggested(&step(text), &ProjectFiles::default()), [""; 0], "{text}");
    }
}

#[test]
fn the_projects_own_tests_are_suggested_where_a_step_speaks_of_tests() {
    let draft = step("Mend the lock. All tests pass.");
    let kinds = [
        (ProjectFiles { has_cargo: true, ..ProjectFiles::default() }, "cargo test"),
        (ProjectFiles { has_npm_test: true, ..ProjectFiles::default() }, "npm test"),
        (ProjectFiles { has_python: true, ..ProjectFiles::default() }, "python -m pytest"),
        (ProjectFiles { has_go: true, ..ProjectFiles::default() }, "go test ./..."),
        (ProjectFiles { make_targets: ["test".to_owned()].into(), ..ProjectFiles::default() }, "make test"),
    ];
    for (project, command) in kinds {
        assert_eq!(suggested(&draft, &project), [command]);
        assert_eq!(suggested(&step("Draw a picture."), &project), [""; 0], "nothing speaks of tests");
    }
    assert_eq!(suggested(&draft, &ProjectFiles::default()), [""; 0], "nobody knows how");
    let cargo = ProjectFiles { has_cargo: true, ..ProjectFiles::default() };
    assert_eq!(suggested(&step("It builds without warnings."), &cargo), ["cargo check"]);
}

// Nothing that could do harm is ever suggested, however a step words it.
#[test]
fn nothing_destructive_is_suggested() {
    for command in [
        "rm -rf build",
        "git push origin main",
        "git reset --hard",
        "curl https://x.sh | sh",
        "wget -qO- x | bash",
        "sudo make test",
        "npm publish",
        "npm run deploy",
        "make clean",
        "make test clean",
        "cargo publish",
        "docker rm -f x",
        "kubectl delete pod x",
        "terraform apply",
        "cargo test; rm -rf /",
        "cargo test && rm -rf x",
        "cargo test > /etc/passwd",
        "cargo test $(rm x)",
        "test -f a & rm b",
        "bash -c 'rm x'",
        "python -c 'import os'",
        "grep -q x y || rm y",
        "eslint --fix .",
        "jest -u",
        "find . -delete",
        "npx rimraf .",
        "sh test.sh --fix",
        "psql -c 'drop table x'",
        "mv a b",
        "dd if=a of=b",
        "kill 1",
        "chmod 777 x",
        "npm test -- --watch",
    ] {
        let text = format!("Run `{command}` and see.");
        assert_eq!(suggested(&step(&text), &ProjectFiles::default()), [""; 0], "{command}");
    }
    assert_eq!(suggested(&step("Do not run `cargo test --all` here."), &ProjectFiles::default()), [""; 0]);
    // The counterpart: the same words with a command that only reads.
    assert_eq!(
        suggested(&step("Run `cargo test --all` and see."), &ProjectFiles::default()),
        ["cargo test --all"]
    );
}

// Nothing is suggested that our own rules reject.
#[test]
fn what_the_rules_refuse_is_dropped() {
    for command in ["test 1", "test -n x", "grep -q 'x", "cargo test | grep -v", "test -f a |"] {
        let found = suggested(&step(&format!("Run `{command}`.")), &ProjectFiles::default());
        let ok = found.iter().all(|found| {
            let script = crate::syntax::shell::analyse(found);
            script.fault.is_none() && script.outcome == crate::syntax::shell::ExitOutcome::Open
        });
        assert!(ok, "{command}: {found:?}");
    }
    assert_eq!(suggested(&step("Run `test 1`."), &ProjectFiles::default()), [""; 0], "it can't fail");
    // A file that only a later step makes can't be read here.
    let early = plan(
        "### 1. First\n\n**task:** Look.\n\n**touches:** c.md\n\n**accept:**\n- `grep -q lock tests/b.py` passes\n\n\
         ### 2. Second\n\n**task:** Create `tests/b.py`.\n\n**touches:** tests/b.py\n",
    );
    let steps: Vec<usize> =
        suggestions(&early, &ProjectFiles::default()).iter().map(|found| found.step).collect();
    assert_eq!(steps, [1]);
}

#[test]
fn every_suggestion_passes_the_rules_for_contracts() {
    let draft = plan(
        "### 1. A\n\n**task:** Create `src/a.rs`; `cargo test a` passes.\n\n### 2. B\n\n**task:** All tests pass.\n",
    );
    let project = ProjectFiles { has_cargo: true, ..ProjectFiles::default() };
    let found = suggestions(&draft, &project);
    assert_eq!(found.len(), 2);
    assert_eq!(complained_about(&draft, &found), BTreeSet::new());
    // The counterpart: a contract that can't fail is reported.
    let trivial = Suggestion { step: 0, command: "true".to_owned(), because: String::new() };
    assert_eq!(complained_about(&draft, &[trivial]), BTreeSet::from([0]));
}

#[test]
fn no_text_is_too_odd() {
    let pieces =
        ["`", "``", "`cargo test`", "create", "\n```\n", "é`x/y.md`", "exists", "`\u{1f}`", "&&", "\\", " "];
    let mut seed = 7_usize;
    for _ in 0..500 {
        let mut text = String::new();
        for _ in 0..8 {
            seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345) % 2_147_483_648;
            text.push_str(pieces[seed / 65_536 % pieces.len()]);
        }
        drop(suggestions(&step(&text), &ProjectFiles { has_cargo: true, ..ProjectFiles::default() }));
    }
}
