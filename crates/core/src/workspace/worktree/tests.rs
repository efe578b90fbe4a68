//! The states of worktrees, and which may be reclaimed.

use super::*;

fn facts() -> WorktreeFacts {
    WorktreeFacts {
        maker: CreatedBy::Planwright,
        is_known: true,
        folder: WorktreeFolder::There,
        plan: WorktreePlan::There,
        dangling: None,
        landing: Landing::Nothing,
        work: WorktreeWork::default(),
        busy: None,
        beside: None,
    }
}

fn files() -> WorktreeWork {
    WorktreeWork { files: vec!["a.rs".to_owned()], ..WorktreeWork::default() }
}

// P-35: a worktree that belongs to another is only removed with that one.
#[test]
fn a_tree_beside_another_never_goes_by_itself() {
    let facts = WorktreeFacts { landing: Landing::Landed, beside: Some("/web".to_owned()), ..facts() };
    assert_eq!(state(&facts), WorktreeState::Merged);
    assert_eq!(may_remove(&facts), Err(KeepReason::Beside("/web".to_owned())));
    assert_eq!(prune(&facts), PruneDecision::Kept { why: KeepReason::Beside("/web".to_owned()) });
}

// D-24: the four states, and which of them are safe to reclaim.
#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn each_state_follows_from_facts_and_only_what_loses_nothing_is_safe() {
    let lost = || WorktreeWork { commits: vec!["abc".to_owned()], ..WorktreeWork::default() };
    let unknown = || WorktreeWork { unknown: Some("no git folder".to_owned()), ..WorktreeWork::default() };
    let dangling = || Some("auth".to_owned());
    let cases: Vec<(&str, WorktreeFacts, WorktreeState, bool)> = vec![
        ("new", facts(), WorktreeState::Active, false),
        (
            "on its branch",
            WorktreeFacts { landing: Landing::OnBranch, ..facts() },
            WorktreeState::Active,
            false,
        ),
        ("landed", WorktreeFacts { landing: Landing::Landed, ..facts() }, WorktreeState::Merged, true),
        (
            "landed, with work",
            WorktreeFacts { landing: Landing::Landed, work: files(), ..facts() },
            WorktreeState::Merged,
            false,
        ),
        (
            "landed, with commits",
            WorktreeFacts { landing: Landing::Landed, work: lost(), ..facts() },
            WorktreeState::Merged,
            false,
        ),
        (
            "landed, plan archived",
            WorktreeFacts { landing: Landing::Landed, plan: WorktreePlan::Gone, ..facts() },
            WorktreeState::Merged,
            true,
        ),
        ("plan gone", WorktreeFacts { plan: WorktreePlan::Gone, ..facts() }, WorktreeState::Orphaned, true),
        (
            "plan gone, with work",
            WorktreeFacts { plan: WorktreePlan::Gone, work: files(), ..facts() },
            WorktreeState::Orphaned,
            false,
        ),
        (
            "plan gone, busy",
            WorktreeFacts { plan: WorktreePlan::Gone, busy: dangling(), ..facts() },
            WorktreeState::Orphaned,
            false,
        ),
        (
            "folder gone",
            WorktreeFacts { folder: WorktreeFolder::Absent, ..facts() },
            WorktreeState::Orphaned,
            true,
        ),
        (
            "a link in its place",
            WorktreeFacts { folder: WorktreeFolder::Other, ..facts() },
            WorktreeState::Active,
            false,
        ),
        (
            "nobody knows it",
            WorktreeFacts { is_known: false, plan: WorktreePlan::Unsaid, ..facts() },
            WorktreeState::Orphaned,
            true,
        ),
        (
            "nobody knows it, nor what is in it",
            WorktreeFacts { is_known: false, plan: WorktreePlan::Unsaid, work: unknown(), ..facts() },
            WorktreeState::Orphaned,
            false,
        ),
        ("dangling", WorktreeFacts { dangling: dangling(), ..facts() }, WorktreeState::Dangling, false),
        (
            "dangling and gone",
            WorktreeFacts { dangling: dangling(), plan: WorktreePlan::Gone, ..facts() },
            WorktreeState::Orphaned,
            true,
        ),
        (
            "the user's",
            WorktreeFacts { maker: CreatedBy::Git, plan: WorktreePlan::Unsaid, ..facts() },
            WorktreeState::Active,
            false,
        ),
        (
            "the user's, landed",
            WorktreeFacts { maker: CreatedBy::Git, landing: Landing::Landed, ..facts() },
            WorktreeState::Merged,
            false,
        ),
        (
            "the user's, gone",
            WorktreeFacts { maker: CreatedBy::Git, folder: WorktreeFolder::Absent, ..facts() },
            WorktreeState::Orphaned,
            false,
        ),
    ];
    for (what, facts, expected, is_safe) in cases {
        assert_eq!(state(&facts), expected, "{what}");
        assert_eq!(prune(&facts) == PruneDecision::Safe, is_safe, "{what}: {:?}", prune(&facts));
    }
}

/// Every combination of facts: whatever else is true, a worktree that contains work is never reclaimed or
/// removed.
#[test]
fn no_combination_of_facts_reclaims_work() {
    let works = [files(), WorktreeWork { commits: vec!["c".to_owned()], ..WorktreeWork::default() }];
    let mut count = 0;
    for work in works {
        for is_known in [true, false] {
            for folder in [WorktreeFolder::There, WorktreeFolder::Other] {
                for plan in [WorktreePlan::There, WorktreePlan::Gone, WorktreePlan::Unsaid] {
                    for landing in [Landing::Nothing, Landing::OnBranch, Landing::Landed] {
                        for maker in [CreatedBy::Planwright, CreatedBy::Git] {
                            let work = work.clone();
                            let all =
                                WorktreeFacts { maker, is_known, folder, plan, landing, work, ..facts() };
                            assert_ne!(prune(&all), PruneDecision::Safe, "{all:?}");
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
    assert_eq!(prune(&active), PruneDecision::Kept { why: KeepReason::Active });
    assert_eq!(may_remove(&active), Ok(()));
    let busy = WorktreeFacts { busy: Some("process 7".to_owned()), ..facts() };
    assert_eq!(may_remove(&busy), Err(KeepReason::Busy("process 7".to_owned())));
}

#[test]
fn what_would_be_lost_is_named() {
    let files = (1..=7).map(|number| format!("f{number}")).collect();
    let why = KeepReason::Work(WorktreeWork { files, commits: vec!["abc a fix".to_owned()], unknown: None });
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
        assert_eq!(WorktreeName::of(text).expect(text).as_str(), name);
    }
    for text in ["", "..", "../x", "a/b", "-x", ".git", "a..b", "x.lock", "a b", "a\0b", "PLAN.md", "x.LOCK"]
    {
        assert!(WorktreeName::of(text).is_err(), "{text:?}");
    }
    for (plan, name) in
        [("PLAN", "singleton"), ("PLAN-auth", "auth"), ("with space", "with-space"), ("a..b", "a-b")]
    {
        assert_eq!(WorktreeName::of_plan(plan).expect(plan).as_str(), name);
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
