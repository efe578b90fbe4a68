//! Marks that claim what is not so.

use planwright_engine::audit::rerun::{RerunOptions, RerunScope};

use crate::site::{Site, words};
use planwright_engine::run::baseline;

/// A plan in one dialect that says all of its steps are done: one that is, one that is not, one that nobody can tell of. Its
/// path and its files.
const FORGED: &[(&str, &[(&str, &str)])] = &[
    (
        "plan.md",
        &[(
            "plan.md",
            "---\ntype: plan\nstatus: in-progress\nowner: ada\n---\n\n# It\n\n**Context:** Because.\n\n## Steps\n\n\
             ### 1. ✅ Make one\n\n**target:** shell\n\n**task:**\nDo it.\n\n**contract:**\n```shell\ntest -e one\n```\n\n\
             ### 2. ✅ Make two\n\n**target:** shell\n\n**task:**\nDo it.\n\n**contract:**\n```shell\ntest -e two\n```\n\n\
             ### 3. ✅ Look at it\n\n**target:** human\n\n**task:**\nLook.\n\n**contract:** manual\n",
        )],
    ),
    (
        ".rawko/plans/it.yaml",
        &[(
            ".rawko/plans/it.yaml",
            "id: it\ntask: \"It\"\nstatus: in_progress\nversion: 1\ncurrentStepIndex: 3\n\
             createdAt: \"2026-01-23T10:00:00Z\"\nupdatedAt: \"2026-01-23T10:00:00Z\"\ncreatedBy: planner\nsteps:\n\
             \x20 - index: 0\n    description: Make one\n    status: complete\n    contract: test -e one\n\
             \x20 - index: 1\n    description: Make two\n    status: pending\n    contract: test -e two\n\
             \x20 - index: 2\n    description: Look at it\n    status: complete\n",
        )],
    ),
    (
        ".pi/plans/PLAN-1a2b3c4d.md",
        &[(
            ".pi/plans/PLAN-1a2b3c4d.md",
            "---\nid: PLAN-1a2b3c4d\ntitle: \"It\"\nstatus: completed\nversion: 3\ncreated_at: 2026-02-03T10:00:00Z\n\
             updated_at: 2026-02-03T10:00:00Z\nplanner_model: \"\"\ntools_required: [bash]\nexecutor_model: \"\"\n---\n\n\
             # It\n\n## Steps\n\n1. Make one (bash: run a script → one)\n   verify: `test -e one`\n\
             2. Make two\n   verify: `test -e two`\n3. Look at it\n\n## Context\n\n### Notes\n\nNone.\n",
        )],
    ),
    (
        ".harness/PLAN-it.md",
        &[(
            ".harness/PLAN-it.md",
            "# Plan: it\n\n**Status:** in progress\n\n## Tasks\n\n### 1. Make one\n\n- **What:** Make it.\n\
             - **Verification:** `test -e one`\n- **Status:** [x]\n\n### 2. Make two\n\n- **What:** Make it.\n\
             - **Verification:** `test -e two` passes\n- **Status:** done\n\n### 3. Look at it\n\n- **What:** Look.\n\
             - **Verification:** It looks good.\n- **Status:** [x]\n",
        )],
    ),
    (
        "plans/it",
        &[
            ("plans/it/plan.md", "---\ntitle: It\n---\n\nBecause.\n"),
            (
                "plans/it/tasks/01-one.md",
                "---\nid: one\nstatus: done\n---\n\nMake one.\n\n## Verification\n\n```shell\ntest -e one\n```\n",
            ),
            (
                "plans/it/tasks/02-two.md",
                "---\nid: two\nstatus: done\n---\n\nMake two.\n\n## Verification\n\n```shell\ntest -e two\n```\n",
            ),
            ("plans/it/tasks/03-look.md", "---\nid: look\nstatus: done\n---\n\nLook at it.\n"),
        ],
    ),
];

// P-20: a mark is settled by the contract, in every dialect; the file stays as it is.
pub(crate) fn a_forged_mark_is_listed_in_every_dialect() {
    let mut dialects = Vec::new();
    for (plan, files) in FORGED {
        let site = Site::new();
        for (path, text) in *files {
            site.write(path, text);
        }
        site.write("one", "");
        let before = site.files();
        let audit =
            site.audit_of(plan, &RerunOptions { scope: RerunScope::Claims, ..RerunOptions::default() });
        assert_eq!(words(&audit), ["1 holds", "2 FALSE", "3 unknown"], "{plan}: {audit:#?}");
        assert_eq!(site.files(), before, "{plan}: a sweep writes nothing");
        dialects.push(audit.dialect);
    }
    dialects.sort_unstable();
    assert_eq!(dialects, ["directory", "named", "native", "proposal", "record"]);
}

// P-20: a plan that no run would take is swept all the same, and what claims nothing is left out.
pub(crate) fn a_plan_with_faults_is_swept_too() {
    let site = Site::new();
    site.plan(&[
        ("✅ Make one", "**on_fail:** pray\n", "test -e one"),
        ("Make two", "", "test -e two"),
        ("✅ Odd bash", "", "if then"),
    ]);
    assert!(
        baseline::verify(&site.project(), &site.root().join("plan.md"), "plan.md")
            .expect("read")
            .plan
            .is_none()
    );
    let sweep = RerunOptions { scope: RerunScope::Claims, ..RerunOptions::default() };
    assert_eq!(words(&site.audit(&sweep)), ["1 FALSE", "3 FALSE"]);
    assert_eq!(words(&site.audit(&RerunOptions::default())), ["1 FALSE", "2 open", "3 FALSE"]);
}
