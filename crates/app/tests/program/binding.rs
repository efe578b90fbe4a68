//! Which plan a session works on: every way to say it, every way to say it wrongly, and the scripts that rely on it. What sessions are
//! told is in golden files (`tests/binding/`).
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they read their cases and lay out its files"
)]

use serde_json::Value;

use crate::run_watched::Terminal;
use crate::test_env::{Place, Ran, repository};

fn text(title: &str) -> String {
    format!(
        "# Plan: {title}\n\n**Status:** planning\n\n## Tasks\n\n### 1. Make one\n- **What:** echo {title} >one\n\
         - **Verification:** `test -e one`\n- **Status:** [ ]\n\n### 2. Make two\n- **What:** echo {title} >two\n\
         - **Verification:** `test -e two`\n- **Status:** [ ]\n"
    )
}

/// A project with a plan that has no name and two that have one; tasks are scripts.
fn project() -> Place {
    let place = Place::empty();
    place
        .write("planwright.toml", "[roles]\ncoder = \"shell\"\n")
        .write(".harness/PLAN.md", text("solo"))
        .write(".harness/PLAN-foo.md", text("foo"))
        .write(".harness/PLAN-bar.md", text("bar"));
    place
}

fn pair(place: &Place, plan: &str, progress: &str) -> String {
    let folder = place.path(".harness");
    format!("{}\t{}\n", folder.join(plan).display(), folder.join(progress).display())
}

/// Everything that lies in the project, with what it says.
fn state(place: &Place) -> String {
    place.bash("grep -r '' .harness planwright.toml; ls -A . .harness").stdout
}

/// What the marker says, what is typed, and the files that are meant.
type Resolved<'a> = (Option<&'a str>, &'a [&'a str], (&'a str, &'a str));

// D-09, D-11, D-12: argument, marker, singleton; slug, stem and file name; the pair and nothing else on stdout; nothing is written.
#[test]
fn a_plan_is_resolved_by_argument_then_by_marker_then_to_the_one_without_a_name() {
    let place = project();
    let (solo, foo) = (("PLAN.md", "progress.md"), ("PLAN-foo.md", "progress-foo.md"));
    let cases: &[Resolved<'_>] = &[
        (None, &[], solo),
        (None, &["foo"], foo),
        (None, &["PLAN-foo"], foo),
        (None, &["PLAN-foo.md"], foo),
        (None, &["later"], ("PLAN-later.md", "progress-later.md")),
        (Some("foo\n"), &[], foo),
        (Some("PLAN-foo.md"), &[], foo),
        (Some("  PLAN-foo \r\n\n"), &[], foo),
        (Some("foo"), &["bar"], ("PLAN-bar.md", "progress-bar.md")),
        (Some("foo"), &["PLAN.md"], solo),
        (Some("gone"), &["foo"], foo),
    ];
    for (marker, words, (plan, progress)) in cases {
        place.bash("rm -f .harness/active-plan");
        marker.map(|marker| place.write(".harness/active-plan", marker));
        let before = state(&place);
        let wanted = pair(&place, plan, progress);
        let active: Vec<&str> = ["resolve-active-plan"].iter().chain(*words).copied().collect();
        let resolver: Vec<&str> = match words {
            [plan] => vec!["resolve-active-plan", "--plan", plan],
            _ => vec!["resolve-active-plan"],
        };
        for words in [active, resolver] {
            let ran = place.run(&words);
            assert_eq!(ran.expect(0, &[]).stdout, wanted, "{marker:?} {words:?}");
        }
        assert_eq!(state(&place), before, "looking changes nothing");
    }
    // From a folder below, and from outside.
    place.write("src/x", "");
    let wanted = pair(&place, "PLAN.md", "progress.md");
    place.bash("rm .harness/active-plan");
    assert_eq!(place.bash("cd src && planwright resolve-active-plan").stdout, wanted);
    let root = place.path("");
    let ran =
        place.bash(&format!("cd / && planwright resolve-active-plan --project-root '{}'", root.display()));
    assert_eq!(ran.stdout, wanted);
}

/// Where nothing but the bytes of the marker matters.
const BAD: &[(&[u8], &str)] = &[
    (b"", "does not name a plan"),
    (b" \t\n\r\n", "does not name a plan"),
    (b"foo\nbar\n", "it has more than one line"),
    (b"foo bar", "invalid .harness/active-plan"),
    (b"PLAN.md", "`PLAN.md` is reserved for the plan without a name"),
    (b"../PLAN-foo", "unsafe plan name"),
    (b"/etc/passwd", "unsafe plan name"),
    (b"..", "unsafe plan name"),
    (b"a\\b", "unsafe plan name"),
    (b"foo\0", "unsafe plan name"),
    (b"foo\xff", "it is not text"),
    (b"\x1b[2Jfoo", "invalid .harness/active-plan"),
    (b"gone", "PLAN-gone.md does not exist"),
    (b"Foo", "PLAN-Foo.md does not exist"),
    (b"empty", "PLAN-empty.md is empty"),
    (b"blank", "PLAN-blank.md is empty"),
    (b"folder", "PLAN-folder.md is not a regular file"),
    (b"link", "PLAN-link.md is not a regular file"),
    (b"twin", "ambiguous: PLAN-TWIN.md, PLAN-twin.md"),
];

/// What is loud: code 2, nothing on stdout, the marker and a way out on stderr, and no other plan.
#[track_caller]
fn is_loud(place: &Place, said: &str) {
    let helps = if said == "not a file" { "remove it: rm" } else { "planwright use --clear" };
    for words in [
        &["resolve-active-plan"][..],
        &["resolve-active-plan"],
        &["run"],
        &["show"],
        &["verify"],
        &["review"],
        &["status"],
        &["propose"],
        &["log"],
    ] {
        let ran = place.run(words);
        ran.expect(2, &[said, ".harness/active-plan", helps]);
        assert_eq!(ran.stdout, "", "{words:?}");
        assert!(!ran.stderr.contains('\u{1b}'), "{ran:#?}");
    }
}

// D-10: whatever is wrong with a marker is loud, though a plan without a name is there.
#[test]
fn a_marker_that_leads_to_no_plan_is_loud_and_nothing_else_is_taken() {
    let place = project();
    place
        .write(".harness/PLAN-empty.md", "")
        .write(".harness/PLAN-blank.md", " \n\n\t")
        .write(".harness/PLAN-folder.md/x", "")
        .write(".harness/PLAN-TWIN.md", text("one"))
        .write(".harness/PLAN-twin.md", text("two"))
        .link("PLAN-foo.md", ".harness/PLAN-link.md");
    for (marker, said) in BAD {
        place.write(".harness/active-plan", marker);
        is_loud(&place, said);
        // Whoever names a plan is not held up by a marker.
        place.run(&["resolve-active-plan", "foo"]).expect(0, &["PLAN-foo.md"]);
    }
    place.write(".harness/active-plan", "x".repeat(5000));
    is_loud(&place, "larger than 4096 bytes");
    place.bash("rm .harness/active-plan && mkdir .harness/active-plan");
    is_loud(&place, "not a file");
    place.bash("rm -r .harness/active-plan && mkfifo .harness/active-plan");
    is_loud(&place, "not a file");
    place.bash("rm .harness/active-plan").expect(0, &[]);
    place.write("elsewhere", "foo\n").link("../elsewhere", ".harness/active-plan");
    is_loud(&place, "is a link");
    place.bash("rm .harness/active-plan; echo foo >.harness/active-plan; mv .harness shared").expect(0, &[]);
    place.link("shared", ".harness");
    is_loud(&place, "is a link");
    // The twin that must be caught: the same files without a fault are no fault.
    place.bash("rm .harness && mv shared .harness").expect(0, &[]);
    place.run(&["resolve-active-plan"]).expect(0, &["PLAN-foo.md"]);
}

// D-10: a marker that may not be read could name a plan.
#[test]
fn a_marker_that_may_not_be_read_is_loud() {
    let place = project();
    place.write(".harness/active-plan", "foo").permit(".harness/active-plan", 0o000);
    if let Some(ran) = place.run_unprivileged(&["resolve-active-plan"]) {
        ran.expect(2, &["cannot read .harness/active-plan: Permission denied"]);
        assert_eq!(ran.stdout, "");
    }
}

// D-11, D-12: names that leave the folder, in an argument.
#[test]
fn a_name_that_is_no_name_is_refused() {
    let place = project();
    place.link("PLAN-foo.md", ".harness/PLAN-link.md");
    for name in ["../x", "a/b", "..", "", "a b", "/etc/passwd", "link"] {
        let option = format!("--plan={name}");
        for words in [
            &["resolve-active-plan", name][..],
            &["resolve-active-plan", &option],
            &["use", name],
            &["show", "--name", name],
        ] {
            let ran = place.run(words);
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}: {ran:#?}");
        }
    }
    assert!(!place.has(".harness/active-plan"));
}

// D-12, D-22: without a harness folder there is nothing to resolve, and nothing is wrong: code 1, and nothing is made.
#[test]
fn without_a_harness_folder_the_answer_is_skip() {
    let place = Place::empty();
    for words in [&["resolve-active-plan"][..], &["resolve-active-plan", "foo"], &["list-plans"]] {
        let ran = place.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{words:?}: {ran:#?}");
    }
    place
        .write("planwright.toml", "[plans]\nharness = \"/nowhere/vault\"\n")
        .write(".harness/PLAN.md", text("solo"));
    place.run(&["resolve-active-plan"]).expect(1, &["/nowhere/vault"]);
    place.write(".harness/active-plan", "foo");
    let ran = place.run(&["resolve-active-plan"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:#?}");
    assert_eq!(place.bash("ls -A .harness").stdout, "PLAN.md\nactive-plan\n");
}

// D-12, D-13: scripts that were written against the document.
#[test]
fn scripts_of_the_document_run_unchanged() {
    let place = project();
    let script = r#"set -euo pipefail
        IFS=$'\t' read -r PLAN PROGRESS < <(planwright resolve-active-plan --plan foo 2>/dev/null)
        [[ "$PLAN" == "$PWD/.harness/PLAN-foo.md" && "$PROGRESS" == "$PWD/.harness/progress-foo.md" ]]
        grep -q 'Plan: foo' "$PLAN"
        echo '2026-06-10 14:30 /work — began' >>"$PROGRESS"
        PAIR="$(planwright resolve-active-plan 2>/dev/null)"
        [[ "${PAIR%%$'\t'*}" == "$PWD/.harness/PLAN.md" ]]
        echo gone >.harness/active-plan
        rc=0; OUT="$(planwright resolve-active-plan 2>err)" || rc=$?
        [[ $rc == 2 && -z "$OUT" ]] && grep -q active-plan err
        NAMED=(); SINGLE=""; BINDING=""
        while IFS= read -r line; do
            case "$line" in
                active-binding=*) BINDING="${line#active-binding=}" ;;
                *PLAN.md) SINGLE="$line" ;;
                *) [[ -n "$line" ]] && NAMED+=("${line##*/}") ;;
            esac
        done < <(planwright list-plans 2>/dev/null)
        echo "$BINDING ${SINGLE##*/} ${NAMED[*]}"
        cd / && mkdir -p "$HOME/none" && cd "$HOME/none"
        rc=0; planwright resolve-active-plan >/dev/null 2>&1 || rc=$?; echo "$rc""#;
    let ran = place.bash(script);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "gone PLAN.md PLAN-bar.md PLAN-foo.md\n1\n"), "{ran:#?}");
    assert_eq!(place.read(".harness/progress-foo.md"), "2026-06-10 14:30 /work — began\n");
}

// D-13: the one without a name first, then by name; archives and conflict copies are no plans, and the copies are told of.
#[test]
fn plans_are_listed_in_one_order_with_the_binding() {
    let place = project();
    place
        .write(".harness/PLAN.archive.20260101-old.md", text("old"))
        .write(".harness/archive/PLAN-older.md", text("older"))
        .write(".harness/PLAN-foo (conflicted copy 2026-05-27).md", text("copy"))
        .write(".harness/PLAN-foo (1).md", text("copy"))
        .write(".harness/progress.md", "x\n")
        .write(".harness/PLAN-folder.md/x", "");
    let list = |binding: &str| {
        let files = ["PLAN.md", "PLAN-bar.md", "PLAN-foo.md"];
        let lines = files.map(|file| format!("{}\n", place.path(".harness").join(file).display()));
        format!("{}{binding}", lines.concat())
    };
    let ran = place.run(&["list-plans"]);
    assert_eq!(ran.expect(0, &["PLAN-foo (1).md is a conflict copy"]).stdout, list(""));
    place.run(&["use", "foo"]).expect(0, &["bound  foo"]);
    assert_eq!(place.run(&["list-plans"]).stdout, list("active-binding=foo\n"));
    place.write(".harness/active-plan", "PLAN-gone.md");
    let ran = place.run(&["list-plans"]);
    assert_eq!(
        ran.expect(0, &["warning: DANGLING", "next: planwright use --clear"]).stdout,
        list("active-binding=gone\n")
    );
    place.write(".harness/active-plan", "a\nb");
    assert_eq!(place.run(&["list-plans"]).expect(0, &["DANGLING"]).stdout, list("active-binding=?\n"));
    let envelope: Value =
        serde_json::from_str(&place.run(&["list-plans", "--json"]).stdout).expect("an envelope");
    assert_eq!(
        (&envelope["data"]["bound"], envelope["data"]["plans"][1]["name"].as_str()),
        (&Value::Null, Some("bar"))
    );
    assert!(
        envelope["data"]["dangling"].as_str().is_some_and(|why| why.contains("it has more than one line")),
        "{envelope}"
    );
}

// D-18: the marker is written whole, for a plan that is there, and leads nobody elsewhere.
#[test]
fn a_worktree_is_bound_and_let_go() {
    let place = project();
    place.write(".harness/PLAN-empty.md", "\n").write("prey", "mine\n");
    for (plan, said) in [
        ("gone", "PLAN-gone.md does not exist"),
        ("fo", "did you mean `foo`?"),
        ("empty", "PLAN-empty.md is empty"),
        ("../foo", "unsafe plan name"),
        ("PLAN.md", "PLAN.md has no name to use"),
    ] {
        place.run(&["use", plan]).expect(2, &[said]);
        assert!(!place.has(".harness/active-plan"), "{plan}");
    }
    for plan in ["foo", "PLAN-foo", "PLAN-foo.md"] {
        place.run(&["use", plan]).expect(0, &["bound  foo", "PLAN-foo.md"]);
        assert_eq!(place.read(".harness/active-plan"), "foo\n");
    }
    place.run(&["use", "bar"]).expect(0, &["bound  bar"]);
    place.run(&["use", "gone"]).expect(2, &[]);
    assert_eq!(place.read(".harness/active-plan"), "bar\n", "what was refused changes nothing");
    place.run(&["use", "--clear"]).expect(0, &["cleared"]);
    assert!(!place.has(".harness/active-plan"));
    place.run(&["use", "--clear"]).expect(0, &["this worktree uses no named plan"]);
    place.run(&["use"]).expect(0, &["PLAN.md", "default: no plan is chosen for this worktree"]);
    // A link would have another file written, or another worktree bound.
    place.link("../prey", ".harness/active-plan");
    place.run(&["use", "foo"]).expect(2, &["is a link", "remove the link with `planwright use --clear`"]);
    assert_eq!(place.read("prey"), "mine\n");
    place.run(&["use", "--clear"]).expect(0, &["cleared"]);
    assert_eq!(place.read("prey"), "mine\n");
    place.bash("mv .harness shared").expect(0, &[]);
    place.link("shared", ".harness");
    for words in [&["use", "foo"][..], &["resolve-active-plan"]] {
        place.bash("echo foo >shared/active-plan");
        place.run(words).expect(2, &["is a link", "`rm .harness`"]);
        place.bash("rm shared/active-plan");
        place.run(&["use", "foo"]).expect(2, &["is a link", "`rm .harness`"]);
    }
    assert!(!place.has("shared/active-plan"));
    assert_eq!(
        place.bash("ls -A shared").stdout.matches("active-plan").count(),
        0,
        "nothing half written stays"
    );
}

// D-10: what lies in the place of the marker is named, and what is said to help does.
#[test]
fn what_is_no_marker_is_removed_by_who_put_it_there() {
    let place = project();
    for (make, help) in [("mkdir", "rmdir .harness/active-plan"), ("mkfifo", "rm .harness/active-plan")] {
        place.bash(&format!("{make} .harness/active-plan")).expect(0, &[]);
        for words in [&["resolve-active-plan"][..], &["use", "foo"], &["use", "--clear"]] {
            place.run(words).expect(2, &["not a file", &format!("remove it: {help}")]);
        }
        place.bash("rm -r .harness/active-plan").expect(0, &[]);
    }
    place.run(&["use", "foo"]).expect(0, &["bound  foo"]);
    // One that is staged is not lost.
    place.run(&["shelve", "foo"]).expect(0, &[]);
    for words in [&["resolve-active-plan"][..], &["use", "foo"]] {
        place.run(words).expect(2, &["PLAN-foo.md is shelved", "planwright unshelve foo"]);
    }
    place.run(&["list-plans"]).expect(0, &["DANGLING", "is shelved"]);
}

// D-11: two files that differ in case alone are one to other machines, however they are spelled.
#[test]
fn names_that_differ_in_case_alone_are_not_told_apart() {
    let place = project();
    place.write(".harness/plan-foo.md", text("other"));
    place.run(&["resolve-active-plan", "--plan", "foo"]).expect(2, &["PLAN-foo.md, plan-foo.md"]);
    place.run(&["resolve-active-plan"]).expect(0, &["PLAN.md"]);
    place.write(".harness/plan.md", text("other"));
    place.run(&["resolve-active-plan"]).expect(2, &["ambiguous: PLAN.md, plan.md"]);
    place.run(&["resolve-active-plan", "bar"]).expect(0, &["PLAN-bar.md"]);
}

// A folder that is misspelt lies in some project all the same, and nobody means that one.
#[test]
fn a_project_root_that_is_no_folder_is_refused() {
    let place = project();
    for words in [&["resolve-active-plan"][..], &["list-plans"], &["list-plans", "--gate"]] {
        for root in ["sub/misspelt", "/nonexistent", "planwright.toml"] {
            let words: Vec<&str> = words.iter().copied().chain(["--project-root", root]).collect();
            let ran = place.run(&words);
            assert_eq!(ran.expect(2, &["is not a directory", root]).stdout, "", "{words:?}");
        }
    }
    let ran = place.run(&["list-plans", "--session", "--project-root", "/nonexistent"]);
    assert_eq!(ran.expect(0, &["/nonexistent is not a directory"]).stdout, "");
}

fn digest(place: &Place, plan: &str) -> String {
    let shown: Value =
        serde_json::from_str(&place.run(&["show", plan, "--json"]).stdout).expect("an envelope");
    shown["data"]["digest"].as_str().expect("a digest").to_owned()
}

/// The plan that an answer is about.
fn name_of(ran: &Ran) -> String {
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    envelope["data"]["name"].as_str().unwrap_or_else(|| panic!("{ran:#?}")).to_owned()
}

// D-09, D-19: in a worktree that is bound no command of a worker needs to be told its plan, and each can be told another one.
#[test]
fn a_worker_needs_no_argument() {
    let place = project();
    assert_eq!(name_of(&place.run(&["show", "--json"])), "PLAN", "nothing is bound: the one without a name");
    place.run(&["use", "foo"]).expect(0, &[]);
    assert_eq!(name_of(&place.run(&["show", "--json"])), "PLAN-foo");
    assert_eq!(name_of(&place.run(&["show", "--json", "--name", "bar"])), "PLAN-bar");
    assert_eq!(name_of(&place.run(&["show", "--json", "PLAN"])), "PLAN");
    place.run(&["show", "task", "2"]).expect(0, &["PLAN-foo/make-two"]);
    place.run(&["show", "--name", "bar", "task", "make-one"]).expect(0, &["PLAN-bar/make-one"]);
    place.run(&["show", "bar", "task", "1"]).expect(0, &["PLAN-bar/make-one"]);
    place.run(&["show", "task", "9"]).expect(2, &["no step `9`"]);
    place.run(&["run", "task", "1", "--only", "2"]).expect(2, &["cannot be used with"]);
    place.run(&["show", "foo", "bar"]).expect(2, &["unknown plan `foo bar`"]);
    place.run(&["show", "foo", "--name", "bar"]).expect(2, &["two plans given: `foo` and --name `bar`"]);
    let checked = place.run(&["verify"]);
    assert!(checked.expect(0, &["PLAN-foo.md"]).said().matches("checked").count() == 1, "{checked:#?}");
    place.run(&["verify", "--name", "PLAN-bar.md"]).expect(0, &["checked  .harness/PLAN-bar.md"]);
    place.run(&["review"]).expect(0, &["PLAN-foo  Plan: foo"]);
    place.run(&["simulate", "--name", "bar"]).expect(0, &[]);
    place.run(&["propose"]).expect(0, &["PLAN-foo"]);
    place.run(&["status"]).expect(0, &["PLAN-foo"]);
    assert!(!place.run(&["status", "--name", "bar"]).said().contains("foo"));
    let rev = digest(&place, "foo");
    let one = place.run(&["run", "task", "1", "--rev", &rev]);
    assert_eq!((one.code, place.has("one"), place.has("two")), (0, true, false), "{one:#?}");
    place.run(&["work"]).expect(0, &["2 of 2 steps passed"]);
    assert_eq!(place.read("two"), "foo\n");
    place.run(&["log"]).expect(0, &["make-two"]);
    assert!(place.read(".harness/progress-foo.md").contains("completed task 2"));
    assert!(!place.has(".harness/progress.md") && !place.has(".harness/progress-bar.md"));
    assert_eq!(place.read(".harness/PLAN-bar.md"), text("bar"));
    assert_eq!(place.read(".harness/PLAN.md"), text("solo"));
}

// D-19: what a person decides is about a plan that the person names: a marker lies within reach of agents.
#[test]
fn no_marker_says_what_a_person_decides_about() {
    let place = project();
    place.run(&["use", "foo"]).expect(0, &[]);
    place.run(&["propose"]).expect(0, &[]);
    for words in [
        &["approve"][..],
        &["reject", "-m", "no"],
        &["cancel", "-m", "no"],
        &["answer"],
        &["stop"],
        &["undo"],
        &["revise"],
        &["run", "--retry"],
        &["comment"],
    ] {
        place.run(words).expect(2, &["missing plan"]);
    }
    let rev = digest(&place, "foo");
    // Nor is anybody led by one to a question: what is bound is shown, with the command that names it.
    for (words, shown) in [
        (&["review"][..], "next: planwright approve .harness/PLAN-foo.md --rev "),
        (&["run"], "next: planwright run .harness/PLAN-foo.md --rev "),
    ] {
        let mut terminal = Terminal::started(&mut place.planwright(words));
        terminal.type_in("a\ny\ny\n");
        let (_, said) = terminal.end();
        assert!(said.contains(shown), "{words:?}: {said}");
        assert!(!said.contains("[a]pprove") && !said.contains("[y]es"), "{words:?}: {said}");
    }
    let mut terminal = Terminal::started(&mut place.planwright(&["run", "--name", "foo"]));
    terminal.wait_for("[d]etails  [?]");
    terminal.type_in("n");
    terminal.end();
    place.run(&["approve", "--name", "bar", "--rev", &rev]).expect(4, &[]);
    place.run(&["approve", "--name", "foo", "--rev", &rev]).expect(0, &["approved"]);
}

// D-19: the words of the document for a new plan.
#[test]
fn a_named_plan_is_planned_under_its_name() {
    let place = project();
    let answer = "```plan-json\n{\"action\":\"plan\",\"title\":\"Sessions\",\"steps\":[{\"kind\":\"shell\",\"command\":\"touch d\",\
        \"check\":\"test -e d\"}]}\n```\n";
    place.run_with(&["plan", "--name", "sessions", "--from", "-", "--no-propose"], answer).expect(0, &[]);
    assert!(place.has(".harness/PLAN-sessions.md"));
    place.run(&["resolve-active-plan", "sessions"]).expect(0, &["PLAN-sessions.md"]);
    place.run(&["plan", "show", "--name", "sessions"]).expect(0, &["Sessions"]);
    place
        .run_with(&["plan", "--name", "sessions", "--from", "-", "--no-propose"], answer)
        .expect(2, &["already exists"]);
}

// D-01, D-09: a shared folder, also one in another repository; the marker stays in the worktree, and so does the work.
#[test]
fn plans_of_a_shared_folder_are_worked_on_here() {
    let place = Place::empty();
    place
        .write("planwright.toml", "[roles]\ncoder = \"shell\"\n\n[plans]\nharness = \"~/vault/harness\"\n")
        .write("../home/vault/.git/HEAD", "ref: refs/heads/main\n")
        .write("../home/vault/harness/PLAN-foo.md", text("foo"));
    place.run(&["use", "foo"]).expect(0, &["bound  foo"]);
    assert_eq!(place.read(".harness/active-plan"), "foo\n");
    place.run(&["resolve-active-plan"]).expect(0, &["home/vault/harness/PLAN-foo.md\t"]);
    let shown: Value = serde_json::from_str(&place.run(&["show", "--json"]).stdout).expect("an envelope");
    let rev = shown["data"]["digest"].as_str().expect("a digest");
    place.run(&["run", "--rev", rev]).expect(0, &["2 of 2 steps passed"]);
    assert_eq!(place.read("one"), "foo\n");
    assert!(place.read("../home/vault/harness/progress-foo.md").contains("completed task 1"));
    place.run(&["status"]).expect(0, &["PLAN-foo"]);
}

fn golden(name: &str) -> String {
    let path = repository().join("crates/app/tests/binding").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs the script for bash, as an agent does that stands elsewhere.
fn session(place: &Place) -> Ran {
    let root = place.path("");
    let script = format!(
        "planwright prompt session-start --shell bash 2>/dev/null >$HOME/start.sh; cd / && \
         printf '{{\"hook_event_name\":\"SessionStart\",\"cwd\":\"{}\"}}' | bash $HOME/start.sh",
        root.display().to_string().trim_end_matches('/')
    );
    let ran = place.bash(&script);
    Ran { stdout: place.without_folders(&ran.stdout), ..ran }
}

// D-14, D-04: what a session is told, by the real script in a real bash. A marker that leads nowhere is shown and never fatal.
#[test]
fn a_session_is_told_what_the_golden_files_say() {
    let place = Place::empty();
    assert_eq!(session(&place), Ran { code: 0, stdout: String::new(), stderr: String::new() });
    place.write(".harness/PLAN.md", text("solo"));
    assert_eq!(session(&place).stdout, golden("singleton.txt"));
    place.write(".harness/PLAN-foo.md", text("foo")).write(".harness/PLAN-bar.md", text("bar"));
    place.run(&["use", "foo"]).expect(0, &[]);
    assert_eq!(session(&place).stdout, golden("named.txt"));
    place.write(".harness/active-plan", "gone\n");
    let ran = session(&place);
    assert_eq!((ran.code, ran.stdout), (0, golden("dangling.txt")));
    place.bash("rm .harness/active-plan .harness/PLAN.md");
    assert_eq!(session(&place).stdout, golden("unbound.txt"));
    // Whatever else is wrong, the session begins.
    place.write("planwright.toml", "nonsense = 1\n");
    let ran = session(&place);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:#?}");
    assert!(ran.stderr.contains("cannot show plans: invalid configuration"), "{ran:#?}");
    place.bash("rm planwright.toml");
    let ran =
        place.bash("planwright prompt session-start >s.sh 2>/dev/null; PATH=$PWD/none $BASH s.sh </dev/null");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:#?}");
    assert!(ran.stderr.contains("not on the PATH"), "{ran:#?}");
}

// D-14: the twins. There is no PowerShell here: that they are made of one source is what is tested in core.
#[test]
fn the_scripts_of_both_shells_are_what_the_golden_files_say() {
    let place = Place::empty();
    for (shell, file) in [("bash", "session-start.sh"), ("powershell", "session-start.ps1")] {
        let ran = place.run(&["prompt", "session-start", "--shell", shell]);
        assert_eq!(ran.expect(0, &[]).stdout, golden(file), "{shell}");
        assert!(ran.stdout.contains("list-plans"), "{shell}");
    }
}

// D-14: a session begins, also where its agent never closes what it says.
#[test]
fn a_session_does_not_wait_for_the_end_of_what_is_said() {
    let place = project();
    let elsewhere = Place::empty();
    elsewhere.write(".harness/PLAN.md", text("elsewhere"));
    let cwd = format!("{{\"cwd\":\"{}\"}}", elsewhere.project().display());
    for (said, told) in [("", &place), (cwd.as_str(), &elsewhere)] {
        for words in ["list-plans --session", "hook session-start"] {
            // What the agent says stays open until the session has begun.
            let script = format!(
                "mkfifo in; {{ printf '%s' '{said}'; until [ -e begun ]; do sleep 0.01; done; }} >in & \
                 planwright {words} <in; touch begun; wait; rm in begun"
            );
            let ran = place.bash(&script);
            ran.expect(0, &[]);
            if words.starts_with("list-plans") {
                assert!(ran.stdout.contains(&told.path(".harness").display().to_string()), "{ran:#?}");
            }
        }
    }
}

// D-14: the hook of connected agents says the binding first; without one nothing is said differently.
#[test]
fn the_hook_of_a_session_tells_of_the_binding() {
    let place = project();
    let start = |place: &Place| place.run_with(&["hook", "session-start"], "").stdout;
    assert_eq!(start(&place), "", "no plan is active, and none is bound");
    place.run(&["propose", "bar"]).expect(0, &[]);
    place.run(&["propose", "foo"]).expect(0, &[]);
    let plain = start(&place);
    assert!(plain.starts_with("This project has an active plan (planwright).\n"), "{plain}");
    for plan in ["bar", "foo"] {
        place.run(&["use", plan]).expect(0, &[]);
        let told = start(&place);
        let first = format!(
            "This worktree is bound to the plan `{plan}` (.harness/active-plan): .harness/PLAN-{plan}.md, progress in \
             .harness/progress-{plan}.md. Other plans are other workers'.\n\nThis project has an active plan (planwright).\n\n\
             plan      PLAN-{plan} "
        );
        assert!(told.starts_with(&first), "{told}");
    }
    place.write(".harness/active-plan", "gone");
    let told = place.run_with(&["hook", "session-start"], "");
    assert!(told.expect(0, &["DANGLING", "don't take another plan"]).stdout.contains("PLAN-gone.md"));
}

// D-15: named plans are named, a project with nothing but named plans is healthy, and a marker that leads nowhere is a warning.
#[test]
fn the_doctor_looks_at_named_plans_and_the_marker() {
    let place = project();
    place.bash("rm .harness/PLAN.md");
    let healthy = place.run(&["doctor"]);
    healthy.expect(0, &["2 named plans: PLAN-bar.md, PLAN-foo.md", "healthy"]);
    place.run(&["use", "foo"]).expect(0, &[]);
    place.run(&["doctor"]).expect(0, &["bound to PLAN-foo.md", "healthy"]);
    place.write(".harness/active-plan", "gone");
    let ran = place.run(&["doctor"]);
    ran.expect(
        0,
        &[
            "warn  dangling: .harness/active-plan binds",
            "PLAN-gone.md",
            "fix: planwright use --clear",
            "1 warning",
        ],
    );
    place.write(".harness/active-plan", "");
    place.run(&["doctor"]).expect(0, &["warn  dangling"]);
    place.run(&["use", "--clear"]).expect(0, &[]);
    place.run(&["doctor"]).expect(0, &["healthy"]);
}

// D-04: who never named a plan sees nothing of names, and no byte of theirs changes.
#[test]
fn a_project_with_one_plan_is_what_it_was() {
    let place = Place::empty();
    place
        .write(".harness/PLAN.md", text("solo"))
        .write(".harness/progress.md", "2026-06-10 14:30 /work — began\n");
    let before = place.bash("ls -A . .harness; cat .harness/PLAN.md .harness/progress.md").stdout;
    for words in [
        &["list"][..],
        &["show"],
        &["show", "PLAN"],
        &["verify"],
        &["status"],
        &["review"],
        &["doctor"],
        &["hook", "session-start"],
        &["resolve-active-plan"],
    ] {
        let said = place.run(words).expect(0, &[]).said();
        for word in ["named plan", "active-plan", "bound", "DANGLING"] {
            assert!(!said.contains(word), "{words:?}: {said}");
        }
    }
    assert_eq!(place.run(&["show"]).said(), place.run(&["show", "PLAN"]).said());
    assert_eq!(place.run(&["hook", "session-start"]).stdout, "");
    assert_eq!(place.bash("ls -A . .harness; cat .harness/PLAN.md .harness/progress.md").stdout, before);
}

// D-21: the gate lets this repository through, and stops what would lead workers to the wrong plan again.
#[test]
fn the_naming_gate_fails_for_each_fault_and_for_no_other() {
    let place = project();
    place.write("docs/guide.md", "# Guide\n\nA plan is `PLAN.md` or `PLAN-<name>.md`.\n");
    let gate = |place: &Place| place.run(&["list-plans", "--gate"]);
    gate(&place).expect(0, &["ok  "]);
    place.write("docs/guide.md", "# Guide\n\nRead the `PLAN.md` before you work.\n");
    gate(&place)
        .expect(1, &["singleton  docs/guide.md:3 assumes a single plan", "help: write that a plan is"]);
    let envelope: Value =
        serde_json::from_str(&place.run(&["list-plans", "--gate", "--json"]).stdout).expect("an envelope");
    assert_eq!(
        (&envelope["ok"], &envelope["data"]["breaches"][0]["kind"]),
        (&false.into(), &"singleton".into())
    );
    for name in ["PLANNING.md", "progress-report.md", "guide.markdown"] {
        place.bash(&format!("mv docs/guide.md docs/{name}")).expect(0, &[]);
        gate(&place).expect(1, &[&format!("singleton  docs/{name}:3")]);
        place.bash(&format!("mv docs/{name} docs/guide.md")).expect(0, &[]);
    }
    // Plans, what happened to them, and what is over may say what they like.
    place.bash("mkdir archive && cp docs/guide.md CHANGELOG.md && cp docs/guide.md .harness/progress-foo.md");
    place.bash("mv docs/guide.md archive/old.md").expect(0, &[]);
    gate(&place).expect(0, &[]);
    let make = "for twin in bash:sh powershell:ps1; do planwright prompt session-start --shell ${twin%:*} 2>/dev/null \
        >.harness/session-start.${twin#*:}; done";
    place.bash(make).expect(0, &[]);
    gate(&place).expect(0, &[]);
    place.bash("echo '# mine' >>.harness/session-start.ps1");
    gate(&place).expect(
        1,
        &[
            "drift  .harness/session-start.ps1 is not the script that planwright generates",
            "--shell powershell",
        ],
    );
    place.bash("rm .harness/session-start.*; printf '\\xff' >.harness/session-start.sh").expect(0, &[]);
    gate(&place).expect(1, &["drift  .harness/session-start.sh"]);
    place.bash("rm .harness/session-start.sh; mkdir .harness/session-start.sh").expect(0, &[]);
    gate(&place).expect(1, &["drift  .harness/session-start.sh"]);
    place.bash("rm -r .harness/session-start.sh").expect(0, &[]);
    place.bash(make).expect(0, &[]);
    place.bash("rm .harness/session-start.ps1");
    gate(&place).expect(1, &["missing  .harness/session-start.ps1"]);
    place.bash(make).expect(0, &[]);
    place.write(".harness/session-start.sh", "#!/usr/bin/env bash\ncat .harness/PLAN.md # not list-plans\n");
    gate(&place).expect(1, &["session-start.sh"]);
    // What the help says of the gate is what this repository is held to.
    let ran = place.bash(&format!("cd '{}' && planwright list-plans --gate", repository().display()));
    ran.expect(0, &["ok  "]);
}

/// A new plan lies where the settings have named plans, as a drafted one does.
#[test]
fn a_new_named_plan_is_in_the_harness_directory_of_the_settings() {
    let place = Place::empty();
    place.write("planwright.toml", "[plans]\nharness = \"work\"\n").write("work/.keep", "");
    place.run(&["new", "auth", "--dialect", "named"]).expect(0, &[]);
    assert!(place.path("work/PLAN-auth.md").exists() && !place.path(".harness").exists());
}
