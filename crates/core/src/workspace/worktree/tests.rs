//! The states of worktrees, and which may be reclaimed.

use super::*;

fn facts() -> Facts {
    Facts {
        maker: Maker::Planwright,
        is_known: true,
        folder: Folder::There,
        plan: Plan::There,
        dangling: None,
        landing: Landing::Nothing,
        work: Work::default(),
        busy: None,
        beside: None,
    }
}

fn files() -> Work {
    Work { files: vec!["a.rs".to_owned()], ..Work::default() }
}

// P-35: a worktree that belongs to another is only removed with that one.
#[test]
fn a_tree_beside_another_never_goes_by_itself() {
    let facts = Facts { landing: Landing::Landed, beside: Some("/web".to_owned()), ..facts() };
    assert_eq!(state(&facts), State::Merged);
    assert_eq!(may_remove(&facts), Err(Why::Beside("/web".to_owned())));
    assert_eq!(reclaim(&facts), Reclaim::Kept { why: Why::Beside("/web".to_owned()) });
}

// D-24: the four states, and which of them are safe to reclaim.
#[test]
fn each_state_follows_from_facts_and_only_what_loses_nothing_is_safe() {
    let lost = || Work { commits: vec!["abc".to_owned()], ..Work::default() };
    let unknown = || Work { unknown: Some("no git folder".to_owned()), ..Work::default() };
    let dangling = || Some("auth".to_owned());
    let cases: Vec<(&str, Facts, State, bool)> = vec![
        ("new", facts(), State::Active, false),
        ("on its branch", Facts { landing: Landing::OnBranch, ..facts() }, State::Active, false),
        ("landed", Facts { landing: Landing::Landed, ..facts() }, State::Merged, true),
        (
            "landed, with work",
            Facts { landing: Landing::Landed, work: files(), ..facts() },
            State::Merged,
            false,
        ),
        (
            "landed, with commits",
            Facts { landing: Landing::Landed, work: lost(), ..facts() },
            State::Merged,
            false,
        ),
        (
            "landed, plan archived",
            Facts { landing: Landing::Landed, plan: Plan::Gone, ..facts() },
            State::Merged,
            true,
        ),
        ("plan gone", Facts { plan: Plan::Gone, ..facts() }, State::Orphaned, true),
        (
            "plan gone, with work",
            Facts { plan: Plan::Gone, work: files(), ..facts() },
            State::Orphaned,
            false,
        ),
        ("plan gone, busy", Facts { plan: Plan::Gone, busy: dangling(), ..facts() }, State::Orphaned, false),
        ("folder gone", Facts { folder: Folder::Absent, ..facts() }, State::Orphaned, true),
        ("a link in its place", Facts { folder: Folder::Other, ..facts() }, State::Active, false),
        ("nobody knows it", Facts { is_known: false, plan: Plan::Unsaid, ..facts() }, State::Orphaned, true),
        (
            "nobody knows it, nor what is in it",
            Facts { is_known: false, plan: Plan::Unsaid, work: unknown(), ..facts() },
            State::Orphaned,
            false,
        ),
        ("dangling", Facts { dangling: dangling(), ..facts() }, State::Dangling, false),
        (
            "dangling and gone",
            Facts { dangling: dangling(), plan: Plan::Gone, ..facts() },
            State::Orphaned,
            true,
        ),
        ("the user's", Facts { maker: Maker::Git, plan: Plan::Unsaid, ..facts() }, State::Active, false),
        (
            "the user's, landed",
            Facts { maker: Maker::Git, landing: Landing::Landed, ..facts() },
            State::Merged,
            false,
        ),
        (
            "the user's, gone",
            Facts { maker: Maker::Git, folder: Folder::Absent, ..facts() },
            State::Orphaned,
            false,
        ),
    ];
    for (what, facts, expected, is_safe) in cases {
        assert_eq!(state(&facts), expected, "{what}");
        assert_eq!(reclaim(&facts) == Reclaim::Safe, is_safe, "{what}: {:?}", reclaim(&facts));
    }
}

/// Every combination of facts: whatever else is true, a worktree that contains work is never reclaimed or
/// removed.
#[test]
fn no_combination_of_facts_reclaims_work() {
    let works = [files(), Work { commits: vec!["c".to_owned()], ..Work::default() }];
    let mut count = 0;
    for work in works {
        for is_known in [true, false] {
            for folder in [Folder::There, Folder::Other] {
                for plan in [Plan::There, Plan::Gone, Plan::Unsaid] {
                    for landing in [Landing::Nothing, Landing::OnBranch, Landing::Landed] {
                        for maker in [Maker::Planwright, Maker::Git] {
                            let work = work.clone();
                            let all = Facts { maker, is_known, folder, plan, landing, work, ..facts() };
                            assert_ne!(reclaim(&all), Reclaim::Safe, "{all:?}");
                            assert!(may_remove(&all).is_err(), "{all:?}");
                            count += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(count, 144);
}

#[test]
fn a_tree_in_use_is_removed_only_by_its_name() {
    let active = facts();
    assert_eq!(reclaim(&active), Reclaim::Kept { why: Why::Active });
    assert_eq!(may_remove(&active), Ok(()));
    let busy = Facts { busy: Some("process 7".to_owned()), ..facts() };
    assert_eq!(may_remove(&busy), Err(Why::Busy("process 7".to_owned())));
}

#[test]
fn what_would_be_lost_is_named() {
    let files = (1..=7).map(|number| format!("f{number}")).collect();
    let why = Why::Work(Work { files, commits: vec!["abc a fix".to_owned()], unknown: None });
    assert_eq!(
        why.to_string(),
        "7 uncommitted files: f1, f2, f3, f4, f5 and 2 more; \
         1 commit not in your repository: abc a fix"
    );
}

#[test]
fn a_name_is_one_component_of_a_path_and_of_a_branch() {
    for (text, name) in [("auth", "auth"), ("PLAN-auth.md", "auth"), ("v1.2", "v1.2"), ("Größe", "Größe")]
    {
        assert_eq!(Name::of(text).expect(text).as_str(), name);
    }
    for text in ["", "..", "../x", "a/b", "-x", ".git", "a..b", "x.lock", "a b", "a\0b", "PLAN.md", "x.LOCK"]
    {
        assert!(Name::of(text).is_err(), "{text:?}");
    }
    for (plan, name) in
        [("PLAN", "singleton"), ("PLAN-auth", "auth"), ("with space", "with-space"), ("a..b", "a-b")]
    {
        assert_eq!(Name::of_plan(plan).expect(plan).as_str(), name);
    }
}

#[test]
fn marks_are_the_harness_s_and_all_else_is_work() {
    let plan = |status: &str, mark: &str, task: &str| {
        let text = format!(
            "---\ntype: plan\nstatus: {status}\nowner: a\n---\n# P\n\n## Steps\n\n### 1. {mark}One\n**task:** {task}\n"
        );
        crate::syntax::source::Source::new("plan.md", text).recognised(None).draft()
    };
    assert!(says_the_same(&plan("draft", "", "do"), &plan("done", "✅ ", "do")));
    assert!(!says_the_same(&plan("draft", "", "do"), &plan("draft", "", "do more")));
}

#[test]
fn what_is_typed_is_one_word_each() {
    assert_eq!(typed(&["planwright", "run", "plans/a b.md"]), "planwright run 'plans/a b.md'");
    assert_eq!(typed(&["it's", ""]), "'it'\\''s' ''");
}
