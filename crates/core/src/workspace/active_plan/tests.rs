//! What markers mean, and which plan is chosen.

use super::lint::{Breach, LintEvidence, LintScript, RESOLVERS, breaches};
use super::session_text::{PlanNames, ShellKind, block, script};
use super::*;

fn entry(name: &str) -> PlanCandidate {
    PlanCandidate { name: name.to_owned(), kind: MarkerKind::File }
}

fn blank(name: &str) -> PlanCandidate {
    PlanCandidate { name: name.to_owned(), kind: MarkerKind::Blank }
}

fn other(name: &str) -> PlanCandidate {
    PlanCandidate { name: name.to_owned(), kind: MarkerKind::Other }
}

fn bytes(text: &str) -> ActivePlanMarker {
    ActivePlanMarker::Bytes(text.as_bytes().to_vec())
}

/// The choice: how it was made and the pair of files, or the error.
fn resolve(
    want: Audience<'_>,
    marker: &ActivePlanMarker,
    entries: &[PlanCandidate],
) -> Result<String, String> {
    let choice = choose(want, marker).map_err(|fault| fault.to_string())?;
    check(&choice, want, entries).map_err(|fault| fault.to_string())?;
    Ok(format!("{}: {} {}", choice.by.word(), choice.plan_file(), choice.progress_file()))
}

// D-09, D-11: the argument, else the marker, else the unnamed plan; slug, stem and file name are equivalent.
#[test]
fn what_was_said_comes_before_the_marker_and_the_marker_before_nothing() {
    let entries = [entry("PLAN.md"), entry("PLAN-foo.md"), entry("PLAN-bar.md")];
    let foo = "argument: PLAN-foo.md progress-foo.md";
    let cases = [
        (Audience::Any, ActivePlanMarker::Unset, "default: PLAN.md progress.md"),
        (Audience::Any, bytes("bar\n"), "marker: PLAN-bar.md progress-bar.md"),
        (Audience::Any, bytes("  PLAN-bar.md \r\n\n"), "marker: PLAN-bar.md progress-bar.md"),
        (Audience::Any, bytes("PLAN-bar"), "marker: PLAN-bar.md progress-bar.md"),
        (Audience::New("foo"), bytes("bar"), foo),
        (Audience::New("PLAN-foo"), bytes(""), foo),
        (Audience::Old("PLAN-foo.md"), ActivePlanMarker::Link, foo),
        (Audience::New("PLAN.md"), bytes("bar"), "argument: PLAN.md progress.md"),
        (
            Audience::New("PLAN"),
            ActivePlanMarker::NotAFile(FileKind::Device),
            "argument: PLAN.md progress.md",
        ),
        (Audience::New("later"), ActivePlanMarker::Unset, "argument: PLAN-later.md progress-later.md"),
    ];
    for (want, marker, chosen) in cases {
        assert_eq!(resolve(want, &marker, &entries).as_deref(), Ok(chosen), "{want:?} {marker:?}");
    }
    assert_eq!(
        resolve(Audience::Any, &ActivePlanMarker::Unset, &[]).as_deref(),
        Ok("default: PLAN.md progress.md")
    );
}

// D-10: every invalid marker is reported and never falls back to another plan. The unnamed plan exists in
// every case.
#[test]
fn a_marker_that_leads_to_no_plan_is_loud() {
    let here = [
        entry("PLAN.md"),
        entry("PLAN-foo.md"),
        blank("PLAN-empty.md"),
        other("PLAN-folder.md"),
        entry("PLAN-Twin.md"),
        entry("PLAN-twin.md"),
        entry("PLAN-Loud.md"),
        entry("PLAN-foo (1).md"),
        entry("PLAN-low.md"),
        entry("plan-low.md"),
    ];
    let cases = [
        (bytes(""), "does not name a plan"),
        (bytes(" \n\t\r\n "), "does not name a plan"),
        (bytes("PLAN-.md"), "does not name a plan"),
        (bytes("foo\nbar\n"), "it has more than one line"),
        (bytes("foo\rbar"), "it has more than one line"),
        (bytes("PLAN.md"), "`PLAN.md` is reserved for the plan without a name"),
        (bytes("foo bar"), "invalid character ' '"),
        (bytes("foo*"), "invalid character '*'"),
        (bytes("-x"), "invalid character '-'"),
        (bytes("\u{feff}foo"), "invalid character '\\u{feff}'"),
        (bytes("\u{1b}[31mfoo"), "invalid character '\\u{1b}'"),
        (bytes("../PLAN"), "unsafe plan name"),
        (bytes("/etc/passwd"), "unsafe plan name"),
        (bytes("a\\b"), "unsafe plan name"),
        (bytes("foo\0"), "unsafe plan name"),
        (bytes(".."), "unsafe plan name"),
        (bytes(&"x".repeat(200)), "longer than 120 bytes"),
        (ActivePlanMarker::Bytes(vec![b'f', 0xff]), "it is not text"),
        (ActivePlanMarker::TooLong, "larger than 4096 bytes"),
        (ActivePlanMarker::Link, "is a link"),
        (ActivePlanMarker::NotAFile(FileKind::Folder), "is a directory, not a file"),
        (ActivePlanMarker::NotAFile(FileKind::Device), "is a pipe or a device, not a file"),
        (
            ActivePlanMarker::Unreadable("not allowed".to_owned()),
            "cannot read .harness/active-plan: not allowed",
        ),
        (bytes("gone"), "binds this worktree to `gone`, but PLAN-gone.md does not exist"),
        (bytes("loud"), "PLAN-loud.md does not exist"),
        (bytes("empty"), "PLAN-empty.md is empty"),
        (bytes("folder"), "PLAN-folder.md is not a regular file"),
        (bytes("twin"), "ambiguous: PLAN-Twin.md, PLAN-twin.md"),
        (bytes("Twin"), "ambiguous: PLAN-Twin.md, PLAN-twin.md"),
        (bytes("low"), "ambiguous: PLAN-low.md, plan-low.md"),
    ];
    for (marker, said) in cases {
        let fault = resolve(Audience::Any, &marker, &here).expect_err("no plan is taken");
        assert!(fault.contains(said) && fault.contains(MARKER), "{marker:?}: {fault}");
        let fault = choose(Audience::Any, &marker).and_then(|choice| check(&choice, Audience::Any, &here));
        let way_out = fault.expect_err("no plan is taken").way_out();
        let helps = if matches!(marker, ActivePlanMarker::NotAFile(_)) {
            "remove it: rm"
        } else {
            "planwright use --clear"
        };
        assert!(way_out.contains(helps), "{way_out}");
    }
    let fault = choose(Audience::Any, &bytes("loud")).and_then(|choice| check(&choice, Audience::Any, &here));
    assert!(fault.expect_err("another file").way_out().starts_with("did you mean `Loud`?"));
}

// D-11: the unnamed plan is a single file also where case is ignored.
#[test]
fn the_plan_without_a_name_is_not_taken_for_another() {
    let here = [entry("PLAN.md"), entry("plan.md"), entry("PLAN-foo.md")];
    for want in [Audience::Any, Audience::New("PLAN.md"), Audience::Old("PLAN")] {
        let fault = resolve(want, &ActivePlanMarker::Unset, &here).expect_err("no plan is taken");
        assert_eq!(fault, "the unnamed plan is ambiguous: PLAN.md, plan.md");
    }
    assert!(resolve(Audience::New("foo"), &ActivePlanMarker::Unset, &here).is_ok());
    assert!(resolve(Audience::Any, &ActivePlanMarker::Unset, &here[1..]).is_ok(), "it need not be there");
    for name in ["PLAN.md", "plan.md", "Plan-x.md", "PLAN-X.MD"] {
        assert!(is_like_plan(name), "{name}");
    }
    assert!(!is_like_plan("planning.md") && !is_like_plan("PLAN.archive.1-x.md"));
}

// D-11: a name that was passed follows the same rules; only a plan to be created may be missing.
#[test]
fn a_name_that_was_said_is_one_component_of_a_path() {
    let here = [entry("PLAN-Twin.md"), entry("PLAN-twin.md"), other("PLAN-link.md"), blank("PLAN-empty.md")];
    for text in ["../x", "a/b", "a\\b", "..", "", " ", "a b", "\u{202e}x"] {
        assert!(resolve(Audience::New(text), &ActivePlanMarker::Unset, &here).is_err(), "{text:?}");
        assert!(resolve(Audience::Old(text), &ActivePlanMarker::Unset, &here).is_err(), "{text:?}");
    }
    for (text, may_be_new) in [("twin", false), ("link", false), ("empty", true), ("gone", true)] {
        assert_eq!(
            resolve(Audience::New(text), &ActivePlanMarker::Unset, &here).is_ok(),
            may_be_new,
            "{text}"
        );
        assert!(resolve(Audience::Old(text), &ActivePlanMarker::Unset, &here).is_err(), "{text}");
    }
}

// D-13: the unnamed plan first, then by name; archives, conflict copies, directories and other files are not
// plans.
#[test]
fn plans_are_listed_in_one_order_whatever_the_folder_says() {
    let entries = [
        entry("PLAN-b.md"),
        entry("progress.md"),
        entry("PLAN.archive.20260101-x.md"),
        entry("PLAN-a.md"),
        entry("PLAN-a (conflicted copy 2026-05-27).md"),
        entry("PLAN-a (1).md"),
        other("PLAN-folder.md"),
        blank("PLAN-0.md"),
        entry("PLAN.md"),
        entry("plan-c.md"),
        entry("active-plan"),
    ];
    let names = |entries: &[PlanCandidate]| -> Vec<String> {
        plans(entries).iter().map(|plan| plan_file(plan.slug())).collect()
    };
    let wanted = ["PLAN.md", "PLAN-0.md", "PLAN-a.md", "PLAN-b.md"];
    assert_eq!(names(&entries), wanted);
    let mut turned = entries;
    turned.reverse();
    assert_eq!(names(&turned), wanted);
}

// D-19: the last two words are a task of the plan before them; a plan may be named `task`.
#[test]
fn a_task_is_the_last_two_words() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(task(&words("foo task 3")), Some((&words("foo")[..], "3")));
    assert_eq!(task(&words("task 3")), Some((&[][..], "3")));
    assert_eq!(task(&words("task task 3")), Some((&words("task")[..], "3")));
    for none in ["foo", "task", "foo 3", "task 3 foo"] {
        assert_eq!(task(&words(none)), None, "{none}");
    }
}

fn told(names: &[&str], bound: Option<Result<&Slug, &MarkerFault>>) -> Option<String> {
    let entries: Vec<PlanCandidate> = names.iter().map(|name| entry(name)).collect();
    block(&PlanNames { folder: "/p/.harness", plans: &plans(&entries), bound })
}

// D-14, D-04: the locked text. Changing a byte of it changes what every project with one plan is told.
#[test]
fn without_a_name_a_session_is_told_what_it_always_was() {
    assert_eq!(
        told(&["PLAN.md", "progress.md"], None).as_deref(),
        Some(
            "[planwright] The state of this project's work:\n\
             \x20 PLAN.md:     /p/.harness/PLAN.md\n\
             \x20 progress.md: /p/.harness/progress.md\n\
             Read PLAN.md before you say where the work stands, and before you work, review or release.\n"
        )
    );
    assert_eq!(told(&["progress.md"], None), None);
}

// D-14: every named plan and the binding; a marker that leads nowhere is shown.
#[test]
fn a_session_is_told_of_named_plans_and_of_the_binding() {
    let (foo, gone) = (slug("foo").expect("a name"), slug("gone").expect("a name"));
    let files = ["PLAN-foo.md", "PLAN.md", "PLAN-parser.md"];
    insta::assert_snapshot!(told(&files, Some(Ok(&foo))).expect("a text"), @"
    [planwright] The state of this project's work: named plans, each with a worker of its own:
      PLAN.md         /p/.harness/PLAN.md
      PLAN-foo.md     /p/.harness/PLAN-foo.md
      PLAN-parser.md  /p/.harness/PLAN-parser.md
    Active plan (.harness/active-plan -> foo): /p/.harness/PLAN-foo.md
    Read the plan that you own before you say where the work stands, and before you work, review or release. The others are other workers'.
    ");
    let line = |bound| {
        let text = told(&["PLAN-foo.md"], bound).expect("a text");
        text.lines().find(|line| line.starts_with("Active plan")).expect("a line").to_owned()
    };
    assert_eq!(
        line(None),
        "Active plan: none is bound here (planwright use NAME binds one); without a name it is PLAN.md"
    );
    let absent = MarkerFault::Absent(ResolvedBy::Marker, gone, None);
    assert_eq!(
        line(Some(Err(&absent))),
        "Active plan (.harness/active-plan -> gone): DANGLING - .harness/active-plan binds this worktree to `gone`, but \
         PLAN-gone.md does not exist; run planwright doctor"
    );
    assert!(line(Some(Err(&MarkerFault::Lines))).contains("-> ?): DANGLING"));
    // A marker names a plan, too: the locked text would lead its worker to another one.
    let alone = told(&["PLAN.md"], Some(Err(&absent))).expect("a text");
    assert!(alone.contains("DANGLING"), "{alone}");
}

// D-14: both scripts do the same things in the same order.
#[test]
fn the_scripts_of_all_shells_are_made_of_one_source() {
    insta::assert_snapshot!(script(ShellKind::Bash), @"
    #!/usr/bin/env bash
    # Tells a session which plans this project has and to which one its worktree is bound.
    # Made by `planwright prompt session-start`; the twin for the other shell is made of the same source.
    command -v planwright >/dev/null 2>&1 || { echo '[planwright] not on the PATH, so no plan is told of' >&2; exit 0; }
    planwright --quiet list-plans --session
    exit 0
    ");
    insta::assert_snapshot!(script(ShellKind::PowerShell), @"
    #!/usr/bin/env pwsh
    # Tells a session which plans this project has and to which one its worktree is bound.
    # Made by `planwright prompt session-start`; the twin for the other shell is made of the same source.
    if (-not (Get-Command planwright -ErrorAction SilentlyContinue)) { [Console]::Error.WriteLine('[planwright] not on the PATH, so no plan is told of'); exit 0 }
    [Console]::In.ReadToEnd() | & planwright --quiet list-plans --session
    exit 0
    ");
}

fn gate(words: &[&str], scripts: &[(ShellKind, LintScript)], document: &str) -> Vec<&'static str> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let documents = [("guide.md".to_owned(), document.to_owned())];
    let found = breaches(&LintEvidence { words: &words, scripts, documents: &documents });
    assert!(found.iter().all(|breach| !breach.way_out().is_empty() && !breach.to_string().is_empty()));
    found.iter().map(Breach::word).collect()
}

// D-21: documents that assume a single plan are reported, those that only mention it are not.
#[test]
fn a_document_that_says_there_is_one_plan_does_not_pass() {
    for line in [
        "Read the PLAN.md first.",
        "Update the `PLAN.md` after each task.",
        "See `PLAN.md`'s tasks.",
        "PLAN.md’s status decides.",
        "The plan is always PLAN.md.",
        "The plan is `.harness/PLAN.md`.",
        "The plan lives in **.harness/PLAN.md**.",
        "There is only `PLAN.md`.",
        "`PLAN.md` is the plan of the project.",
        "Look at the ./docs/PLAN.md",
        "````md\n```\n````\nRead the PLAN.md",
        "There is exactly one plan: PLAN.md",
        "the singleton PLAN.md",
        "Read the project PLAN.md",
        "one plan per project, `PLAN.md`",
        "See the [PLAN.md](docs/PLAN.md) first.",
        "See the [`PLAN.md`][plan]",
        "the <code>PLAN.md</code>",
        "Before you work, read the\n`PLAN.md`, and then begin.",
    ] {
        assert_eq!(gate(RESOLVERS, &[], line), ["singleton"], "{line}");
    }
    for line in [
        "A plan is `PLAN.md` or `PLAN-<name>.md`.",
        "the PLAN.md of a project with named plans",
        "the PLAN-foo.md of the worker",
        "`PLAN*.md` in the folder",
        "the queued foo.PLAN.md",
        "| `PLAN.md` | the plan without a name |",
        "Without a marker it is PLAN.md.",
        "bathe PLAN.md",
        "what the\n\nPLAN.md says",
        "# The\nPLAN.md",
        "Named plans are PLAN-<name>.md; the\nPLAN.md has none.",
        "a < b, and [x](PLAN.md)",
        "one plan per worker, or PLAN.md",
        "the plan",
        "```\nread the PLAN.md\n```",
        "````md\n```\nx\n```\nread the PLAN.md\n````",
        "~~~\n```\nread the PLAN.md\n~~~",
        "",
    ] {
        assert_eq!(gate(RESOLVERS, &[], line), [""; 0], "{line}");
    }
    let found = breaches(&LintEvidence {
        words: &RESOLVERS.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(),
        scripts: &[],
        documents: &[("a.md".to_owned(), "# A\n\nSee the PLAN.md\n".to_owned())],
    });
    assert_eq!(found[0].to_string(), "a.md:3 assumes a single plan: See the PLAN.md");
}

// D-21: the resolver, and both scripts as generated.
#[test]
fn a_resolver_that_is_gone_and_scripts_that_drift_do_not_pass() {
    assert_eq!(gate(&["run", "list-plans"], &[], ""), ["no-resolver"]);
    assert_eq!(gate(&["resolve-active-plan"], &[], ""), ["no-resolver"]);
    let made = |shell| (shell, LintScript::Text(script(shell)));
    let text = LintScript::Text;
    let (bash, other) = (ShellKind::Bash, ShellKind::PowerShell);
    assert_eq!(gate(RESOLVERS, &[made(bash), made(other)], ""), [""; 0]);
    assert_eq!(gate(RESOLVERS, &[(bash, LintScript::Missing), (other, LintScript::Missing)], ""), [""; 0]);
    assert_eq!(gate(RESOLVERS, &[made(bash), (other, LintScript::Missing)], ""), ["missing"]);
    assert_eq!(gate(RESOLVERS, &[(bash, LintScript::Unreadable), made(other)], ""), ["drift"]);
    let alone = [(bash, LintScript::Unreadable), (other, LintScript::Missing)];
    assert_eq!(gate(RESOLVERS, &alone, ""), ["drift", "missing"]);
    assert_eq!(gate(RESOLVERS, &[(bash, text(script(other))), made(other)], ""), ["drift"]);
    let edited = script(other).replace("--quiet ", "");
    assert_eq!(gate(RESOLVERS, &[made(bash), (other, text(edited))], ""), ["drift"]);
    // A comment doesn't count.
    let deaf = script(bash).replace("planwright --quiet list-plans", "# planwright list-plans");
    assert_eq!(gate(RESOLVERS, &[(bash, text(deaf)), made(other)], ""), ["unasked"]);
}
