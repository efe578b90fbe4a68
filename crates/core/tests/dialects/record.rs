//! Plan records for the suite: document B's own examples, one of them as JSON, and YAML as people write it by hand.

#[path = "record/claims.rs"]
mod claims;
#[path = "record/mutants.rs"]
mod mutants;

use planwright_core::dialect::{Dialect, named};
use planwright_core::syntax::source::Source;

const NOW: &str = "2026-11-16T10:00:00Z";

fn dialect() -> &'static Dialect {
    named("record").expect("it is one of the dialects")
}

/// Plans as their authors keep them.
pub(crate) fn samples() -> Vec<Source> {
    [
        (".rawko/plans/plan-20260123-auth-feature.yaml", include_str!("record/auth-feature.yaml")),
        (".rawko/plans/short.yaml", include_str!("record/short.yaml")),
        ("plans/auth-feature.json", include_str!("record/auth-feature.json")),
        ("plans/notes.yml", include_str!("record/unusual.yml")),
    ]
    .map(|(name, text)| Source::new(name, text).written_in(dialect()))
    .into()
}
