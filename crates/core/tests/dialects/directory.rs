//! Folders for the suite: document E's own examples, and one with every way to write things.

use planwright_core::dialect::named;
use planwright_core::source::Source;

/// Plans as their authors keep them.
pub(crate) fn samples() -> Vec<Source> {
    [("plans/auth", AUTH), ("plans/database", DATABASE), ("plans/release", RELEASE)]
        .map(|(name, files)| folder(name, files))
        .into()
}

const AUTH: &[(&str, &str)] = &[
    ("plan.md", include_str!("../directory/auth/plan.md")),
    ("tasks/01-create-schema.md", include_str!("../directory/auth/tasks/01-create-schema.md")),
    ("tasks/02-implement-service.md", include_str!("../directory/auth/tasks/02-implement-service.md")),
    ("tasks/03-wire-handler.md", include_str!("../directory/auth/tasks/03-wire-handler.md")),
];

const DATABASE: &[(&str, &str)] = &[
    ("plan.md", include_str!("../directory/database/plan.md")),
    ("tasks/01-setup-db.md", include_str!("../directory/database/tasks/01-setup-db.md")),
];

const RELEASE: &[(&str, &str)] = &[
    ("plan.md", include_str!("../directory/release/plan.md")),
    ("tasks/05-freeze.md", include_str!("../directory/release/tasks/05-freeze.md")),
    ("tasks/10-write-the-notes.md", include_str!("../directory/release/tasks/10-write-the-notes.md")),
    ("tasks/11-tag.md", include_str!("../directory/release/tasks/11-tag.md")),
    ("tasks/20-announce.md", include_str!("../directory/release/tasks/20-announce.md")),
];

fn folder(name: &str, files: &[(&str, &str)]) -> Source {
    let dialect = named("directory").expect("it is in the table");
    Source::new(name, Source::bundle(files.iter().copied())).written_in(dialect)
}
