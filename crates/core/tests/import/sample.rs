//! Files of other tools for the suite, and what is meant by them. All of them are ours.

use planwright_core::syntax::source::Source;

/// The formats that this suite has samples of.
pub(crate) const MARKDOWN: &[&str] = &[
    "cursor",
    "spec-kitty",
    "gsd",
    "openspec",
    "cc-sdd",
    "kiro",
    "spec-kit",
    "ralphex",
    "claude-plan",
    "checklist",
];

/// A file and what is meant by it.
pub(crate) struct Sample {
    /// The importer that it is for.
    pub(crate) name: &'static str,
    pub(crate) place: String,
    pub(crate) text: String,
    /// The title of the plan.
    pub(crate) title: &'static str,
    /// Every step: id, mark, what it waits for, title.
    pub(crate) steps: Vec<&'static str>,
    /// Words that are how the tool spells things and say nothing.
    pub(crate) dropped: &'static [&'static str],
}

impl Sample {
    pub(crate) fn source(&self) -> Source {
        Source::new(self.place.as_str(), self.text.as_str())
    }
}

/// A file, with the steps that are meant one a line.
fn sample(name: &'static str, place: &str, text: &str, title: &'static str, steps: &'static str) -> Sample {
    let steps = steps.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Sample { name, place: place.to_owned(), text: text.to_owned(), title, steps, dropped: &[] }
}

/// One sample of every format at least.
pub(crate) fn samples() -> Vec<Sample> {
    let mut all = lists();
    all.extend(plans());
    all
}

fn lists() -> Vec<Sample> {
    vec![
        sample(
            "kiro",
            ".kiro/specs/background-import/tasks.md",
            include_str!("kiro.md"),
            "background import",
            "task-1 | done |  | Set up the queue
            task-2 | running | task-2-1 task-2-2 task-2-3 | Import in the background
            task-2-1 | done | task-1 | Read files in pieces
            task-2-2 | open | task-2-1 | Report progress
            task-2-3 | open | task-2-2 | Write property tests for pieces
            task-3 | open | task-2 | Checkpoint - all tests pass",
        ),
        sample(
            "cc-sdd",
            ".kiro/specs/event-store/tasks.md",
            include_str!("cc-sdd.md"),
            "event store",
            "task-1 | open | task-1-1 task-1-2 task-1-3 | Foundation
            task-1-1 | done |  | Set up the project
            task-1-2 | open | task-1-1 | Define the events
            task-1-3 | open | task-1-1 | Define the store
            task-2 | open | task-2-1 task-2-2 task-2-3 | Core
            task-2-1 | open | task-1 task-1-2 task-1-3 | Append events to the store
            task-2-2 | open | task-2-1 | Replay events
            task-2-3 | open | task-2-2 | Measure replay of a million events",
        ),
        sample(
            "spec-kit",
            "specs/004-shared-lists/tasks.md",
            include_str!("spec-kit.md"),
            "Shared shopping lists",
            "t001 | done |  | Create the project structure of the plan
            t002 | done | t001 | Configure the linter in `eslint.config.js`
            t003 | open | t001 | Configure the database in `src/db/client.ts`
            t004 | open | t002 t003 | Create the List model in `src/models/list.ts`
            t005 | open | t002 t003 | Create the Member model in `src/models/member.ts`
            t006 | open | t004 t005 | Implement sharing in `src/services/share.ts` (depends on T004, T005)
            t007 | open | t006 | Add the endpoint in `src/api/share.ts`
            t008 | open | t007 | Document sharing in `docs/sharing.md`",
        ),
        sample(
            "openspec",
            "openspec/changes/archive-projects/tasks.md",
            include_str!("openspec.md"),
            "archive projects",
            "task-1-1 | done |  | Add the column `archived_at` to the table of projects
            task-1-2 | done | task-1-2-1 task-1-2-2 | Fill it for projects that were closed
            task-1-2-1 | done | task-1-1 | In batches of a thousand
            task-1-2-2 | done | task-1-2-1 | Log what could not be filled
            task-2-1 | open | task-1-2 | Show archived projects in a tab of their own
            task-2-2 | open | task-2-1 | Restore a project from there
            item-7 | open | task-2-2 | Run the end-to-end tests",
        ),
        sample(
            "checklist",
            "moving.md",
            include_str!("checklist.md"),
            "Moving house",
            "item-1 | done |  | Find a flat
            item-2 | open | item-3 item-4 | Pack
            item-3 | open | item-1 | kitchen
            item-4 | running | item-3 | cellar
            item-5 | skipped | item-2 | Sell the piano
            item-6 | open | item-5 | Hand over the keys
            item-7 | open | item-6 | Tell the bank
            item-8 | open | item-7 | Rest",
        ),
    ]
}

/// Plans whose tasks are more than lines.
fn plans() -> Vec<Sample> {
    vec![
        sample(
            "claude-plan",
            "/people/me/.claude/plans/happy-hopping-hare.md",
            include_str!("claude-plan.md"),
            "Cache the exchange rates",
            "step-1 | open |  | Add a cache with an expiry
            step-2 | open | step-1 | Ask the cache first
            step-3 | open | step-2 | Count hits and misses",
        ),
        Sample {
            dropped: &[
                "todos",
                "content",
                "status",
                "false",
                "isproject",
                "overview",
                "completed",
                "progress",
                "dependencies",
                "pending",
                "cancelled",
            ],
            ..sample(
                "cursor",
                ".cursor/plans/dark_mode_1a2b3c4d.plan.md",
                include_str!("cursor.plan.md"),
                "Dark mode",
                "tokens | done |  | Move all colours into tokens in `styles/tokens.css`
                switch | running | tokens | Add the switch to the settings page: off, on, as the system says
                store | open | tokens | Store the choice with the user
                flash | open | switch store | Set the class before the first paint
                legacy-theme | skipped |  | Keep the old theme file for a release",
            )
        },
        sample(
            "cursor",
            ".cursor/plans/export.plan.md",
            include_str!("cursor-todos.plan.md"),
            "Export as CSV",
            "item-1 | done |  | Stream rows from `api/report.ts`
            item-2 | open | item-1 | Add the button to the report page
            item-3 | open | item-2 | Test an export of 100,000 rows",
        ),
        sample(
            "ralphex",
            "docs/plans/health.md",
            include_str!("ralphex.md"),
            "Add a health check",
            "task-1 | done |  | Add the handler
            task-2 | running | task-1 | Look at the database as well
            task-3 | open | task-2 | [Final] Update documentation
            item-7 | open | task-3 | tell operations about the address",
        ),
        gsd_roadmap(),
        gsd(),
        gsd_phase(),
        spec_kitty(),
        spec_kitty_list(),
    ]
}

fn gsd_roadmap() -> Sample {
    sample(
        "gsd",
        ".planning/ROADMAP.md",
        include_str!("gsd-roadmap.md"),
        "Notes",
        "phase-1 | done | plan-01-01 plan-01-02 | Editor - Write and read notes
        phase-2 | open | plan-02-01 | Search - Find them again
        phase-2-1 | open | phase-2 | Hotfix - Fix the search (INSERTED)
        plan-01-01 | done |  | Text area with autosave
        plan-01-02 | done | plan-01-01 | Markdown preview
        plan-02-01 | open | phase-1 | Index of words",
    )
}

fn gsd() -> Sample {
    Sample {
        dropped: GSD_WORDS,
        ..sample(
            "gsd",
            ".planning/phases/03-accounts/03-02-PLAN.md",
            include_str!("gsd.md"),
            "Let people delete their account",
            "task-1 | open |  | Delete what belongs to an account
            task-2 | open | task-1 | Look at the dialog",
        )
    }
}

const GSD_WORDS: &[&str] = &[
    "objective",
    "tasks",
    "criteria",
    "success",
    "wave",
    "gate",
    "blocking",
    "human",
    "type",
    "modified",
    "autonomous",
];

/// A phase with two plans, the second of which waits for the first.
fn gsd_phase() -> Sample {
    let first = "---\nphase: 03-accounts\nplan: 01\ndepends_on: []\n---\n\n<objective>\nSign up.\n</objective>\n\n<tasks>\n<task type=\"auto\">\n<name>Task 1: Add the form</name>\n<action>Ask for a name.</action>\n</task>\n</tasks>\n";
    let files = [("03-01-PLAN.md", first), ("03-02-PLAN.md", include_str!("gsd.md"))];
    Sample {
        dropped: GSD_WORDS,
        ..sample(
            "gsd",
            ".planning/phases/03-accounts",
            &Source::bundle(files),
            "Sign up",
            "plan-03-01-task-1 | open |  | Add the form
            plan-03-02-task-1 | open | plan-03-01-task-1 | Delete what belongs to an account
            plan-03-02-task-2 | open | plan-03-02-task-1 | Look at the dialog",
        )
    }
}

fn spec_kitty() -> Sample {
    let files = [
        ("tasks.md", include_str!("spec-kitty/tasks.md")),
        ("tasks/WP01-build-the-index.md", include_str!("spec-kitty/tasks/WP01-build-the-index.md")),
        ("tasks/WP02-ask-the-index.md", include_str!("spec-kitty/tasks/WP02-ask-the-index.md")),
    ];
    Sample {
        dropped: &["lane", "dependencies", "agent", "owned", "doing"],
        ..sample(
            "spec-kitty",
            "kitty-specs/012-faster-search",
            &Source::bundle(files),
            "Faster search",
            "wp01 | done |  | Build the index
            wp02 | running | wp01 | Ask the index
            wp03 | open | wp01 wp02 | Keep the index fresh",
        )
    }
}

fn spec_kitty_list() -> Sample {
    sample(
        "spec-kitty",
        "kitty-specs/012-faster-search/tasks.md",
        include_str!("spec-kitty/tasks.md"),
        "Faster search",
        "wp01 | done |  | Build the index
        wp02 | running | wp01 | Ask the index
        wp03 | open | wp01 wp02 | Keep the index fresh",
    )
}
