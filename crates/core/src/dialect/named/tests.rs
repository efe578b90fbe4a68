//! Unit tests of the named dialect: status words, headings, plan names and sync copies.

use super::{
    BadSlug, PlanSlug, Slug, conflict_copy, heading, plan_file, plan_of, progress_file, slug, status,
};
use crate::plan::draft::{Mark, StepNumber};
use crate::syntax::source::{Source, Span};

#[test]
fn the_beginning_of_a_status_decides() {
    for (text, mark) in [
        ("[x]", Some(Mark::Done)),
        ("[X] (2026-04-29: all of it)", Some(Mark::Done)),
        ("[ ]", None),
        ("[ ] TODO", None),
        ("[~] half of it", Some(Mark::Running)),
        ("in progress (2026-04-29 …)", Some(Mark::Running)),
        ("In-Progress", Some(Mark::Running)),
        ("done — 2026-05-01", Some(Mark::Done)),
        ("**DONE**", Some(Mark::Done)),
        ("`completed`", Some(Mark::Done)),
        ("✅", Some(Mark::Done)),
        ("✅ Merged in #12", Some(Mark::Done)),
        ("✔️ ok", Some(Mark::Done)),
        ("🟡 in progress", Some(Mark::Running)),
        ("🔴 Not started", None),
        ("blocked on the licence", None),
        ("skipped (nobody needs it)", Some(Mark::Skipped)),
        ("deferred", Some(Mark::Skipped)),
        ("not done", None),
        ("failed: no disk", Some(Mark::Failed)),
        ("100%", Some(Mark::Done)),
        ("40%", Some(Mark::Running)),
        ("[ ] Not started | [ ] In progress | [x] Complete", Some(Mark::Done)),
        ("[ ] Not started | [x] In progress | [ ] Complete", Some(Mark::Running)),
        ("[x] (build) / [ ] (uploaded)", None),
        ("已完成", Some(Mark::Done)),
        ("진행중", Some(Mark::Running)),
    ] {
        let reading = status::read(text);
        assert_eq!((reading.mark, reading.is_known), (mark, true), "{text}");
    }
    for unknown in ["", "frobnicated", "donated", "see above (done)", "[link](done)"] {
        assert!(!status::read(unknown).is_known, "{unknown}");
    }
}

#[test]
fn a_status_is_rewritten_in_its_own_style_and_keeps_its_note() {
    for (text, mark, rewritten) in [
        ("[ ]", Some(Mark::Done), "[x]"),
        ("[x] (note)", None, "[ ] (note)"),
        ("[ ] TODO — Ada", Some(Mark::Running), "[~] — Ada"),
        ("in progress (since Monday)", Some(Mark::Done), "done (since Monday)"),
        ("Not started", Some(Mark::Done), "Done"),
        ("✅ Done", None, "Pending"),
        ("frobnicated twice (by Bob)", Some(Mark::Failed), "failed (by Bob)"),
        ("[ ] Not started | [x] Complete", Some(Mark::Skipped), "[-]"),
    ] {
        assert_eq!(status::rewritten(text, mark), rewritten, "{text}");
        assert_eq!(status::read(rewritten).mark, mark, "{rewritten}");
    }
}

#[test]
fn headings_are_read_in_the_ways_in_which_people_write_them() {
    use heading::HeadingKind;
    for (text, kind, label, title, mark) in [
        ("1. Read the file", HeadingKind::Number, "1", "Read the file", None),
        ("12) ✅ Read it", HeadingKind::Number, "12", "Read it", Some(Mark::Done)),
        ("[x] 3. Read it", HeadingKind::Number, "3", "Read it", Some(Mark::Done)),
        ("Task 4: Read it (done)", HeadingKind::Task, "4", "Read it", Some(Mark::Done)),
        ("✅ Task 4 — Read it", HeadingKind::Task, "4", "Read it", Some(Mark::Done)),
        ("Step 2.1: Read it", HeadingKind::Step, "2.1", "Read it", None),
        ("Phase 2: Reading 🚧 IN PROGRESS", HeadingKind::Phase, "2", "Reading", Some(Mark::Running)),
        ("Phase 1: 기반 ✅ 완료", HeadingKind::Phase, "1", "기반", Some(Mark::Done)),
        ("阶段 1：底座", HeadingKind::Phase, "1", "底座", None),
        ("WP-01: Baseline", HeadingKind::Named, "WP-01", "Baseline", None),
        ("1.2 Set-up", HeadingKind::Dotted, "1.2", "Set-up", None),
        ("3–N. Each of them", HeadingKind::Number, "3–N", "Each of them", None),
        ("#7 Fix it", HeadingKind::Number, "7", "Fix it", None),
        ("2026 in review", HeadingKind::Plain, "", "2026 in review", None),
        ("3 ways to fail", HeadingKind::Plain, "", "3 ways to fail", None),
        ("Tasks", HeadingKind::Plain, "", "Tasks", None),
        ("GPT-4 support", HeadingKind::Plain, "", "GPT-4 support", None),
        ("Render ✓ in the list", HeadingKind::Plain, "", "Render ✓ in the list", None),
        ("Open it (new)", HeadingKind::Plain, "", "Open it (new)", None),
        ("", HeadingKind::Plain, "", "", None),
    ] {
        let source = Source::new("plan.md", text);
        let read = heading::read(&source, Span::new(0, text.len()));
        let marks: Vec<Mark> = read.marks.iter().map(|mark| mark.value).collect();
        let expected = (kind, label, title, mark.into_iter().collect::<Vec<_>>());
        assert_eq!(
            (read.kind, read.label.value.as_str(), read.title.value.as_str(), marks),
            expected,
            "{text}"
        );
        assert_eq!(source.slice(read.title.span), title);
    }
    let source = Source::new("plan.md", "99999999999. Far");
    let read = heading::read(&source, Span::new(0, source.text().len()));
    assert_eq!(read.number, Some(StepNumber::Counted(u32::MAX)), "a number that is too long is still one");
}

// A slug, a stem and a file name mean the same plan; nothing leaves the directory.
#[test]
fn a_slug_is_one_component_of_a_path() {
    for text in ["foo-bar", "PLAN-foo-bar", "PLAN-foo-bar.md", " foo-bar.md\n"] {
        let slug = slug(text).expect("it names a plan");
        assert_eq!(
            (plan_file(Some(&slug)), progress_file(Some(&slug))),
            ("PLAN-foo-bar.md".into(), "progress-foo-bar.md".into())
        );
    }
    for text in ["v2.1", "Foo", "2026-06", "überblick", "a_b"] {
        assert_eq!(slug(text).as_ref().map(Slug::as_str), Ok(text), "case and letters are kept");
    }
    for text in ["../x", "..", ".", "a/b", "a\\b", "foo\0", "PLAN-../x.md", "..."] {
        assert!(matches!(slug(text), Err(BadSlug::Escapes(_))), "{text:?}: {:?}", slug(text));
    }
    for text in [".hidden", "-x", "a b", "a (1)", "x:y", "x\ny", "a*", "\u{202e}x", "dot."] {
        assert!(matches!(slug(text), Err(BadSlug::Character(..))), "{text:?}: {:?}", slug(text));
    }
    assert_eq!(slug("PLAN.md"), Err(BadSlug::Unnamed));
    assert_eq!(slug(" "), Err(BadSlug::Empty));
    assert_eq!(slug("PLAN-.md"), Err(BadSlug::Empty));
    assert_eq!(slug(&"x".repeat(200)), Err(BadSlug::TooLong));
    assert_eq!((plan_file(None), progress_file(None)), ("PLAN.md".into(), "progress.md".into()));
}

// Archives and copies are not plans; case matters.
#[test]
fn only_files_with_the_name_of_a_plan_are_plans() {
    assert_eq!(plan_of("PLAN.md"), Some(PlanSlug::Unnamed));
    assert_eq!(plan_of("PLAN-x.md").as_ref().and_then(PlanSlug::slug).map(Slug::as_str), Some("x"));
    for name in [
        "plan.md",
        "Plan.md",
        "PLAN",
        "PLAN.archive.20260101-x.md",
        "PLAN-x.txt",
        "PLAN-.md",
        "progress.md",
        "x.md",
        "PLAN-x (1).md",
    ] {
        assert_eq!(plan_of(name), None, "{name}");
    }
}

// The four families that the dialect lists, and those of other services.
#[test]
fn copies_of_sync_services_are_told_by_their_names() {
    for (name, service) in [
        ("PLAN (conflicted copy 2026-05-27) - Mac.md", "Google Drive or Dropbox"),
        ("PLAN-foo (Ada's conflicted copy 2026-05-27).md", "Google Drive or Dropbox"),
        ("progress-foo (conflicted copy).md", "Google Drive or Dropbox"),
        ("PLAN [Conflict].md", "Google Drive"),
        ("PLAN-foo [Conflict 2].md", "Google Drive"),
        ("Copy of PLAN.md", "Google Drive"),
        ("Copy of PLAN-foo.md", "Google Drive"),
        ("Copy of Copy of PLAN-foo.md", "Google Drive"),
        ("Copy (2) of PLAN-foo.md", "Google Drive"),
        ("Copy of Copy (2) of PLAN.md", "Google Drive"),
        ("PLAN-foo(1).md", "Google Drive"),
        ("PLAN (1).md", "Google Drive"),
        ("PLAN-foo  (12).md", "Google Drive"),
        ("PLAN.sync-conflict-20260527-101500-ABCDEFG.md", "Syncthing"),
        ("PLAN - Copy.md", "OneDrive"),
        ("PLAN-foo - Copy (2).md", "OneDrive"),
        ("PLAN 2.md", "iCloud"),
    ] {
        assert_eq!(conflict_copy(name), Some(service), "{name}");
        assert_eq!(plan_of(name), None, "{name} is never read as a plan");
    }
    // The counterpart: names that people give.
    for name in [
        "PLAN.md",
        "PLAN-foo.md",
        "PLAN-conflict.md",
        "PLAN-copy-of-x.md",
        "PLAN-2.md",
        "PLAN-2026.md",
        "PLAN-HOSTNAME.md",
        "PLAN (2026).md",
        "Phase 2.md",
        "Report (1).md",
        "Copy of the contract.md",
        "Copy of Copy of the contract.md",
        "Copy (of) PLAN.md",
        "Report(1).md",
        "PLAN-foo(draft).md",
        "notes [draft].md",
        "progress.md",
        "PLAN-sync-conflict.md",
        "",
    ] {
        assert_eq!(conflict_copy(name), None, "{name}");
    }
}
