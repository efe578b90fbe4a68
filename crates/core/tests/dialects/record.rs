//! Plan records for the suite: document B's own examples, one of them as JSON, and YAML as people write it by hand.

use planwright_core::dialect;
use planwright_core::source::Source;

/// Plans as their authors keep them.
pub(crate) fn samples() -> Vec<Source> {
    let record = dialect::named("record").expect("it is one of the dialects");
    [
        (".rawko/plans/plan-20260123-auth-feature.yaml", include_str!("record/auth-feature.yaml")),
        (".rawko/plans/short.yaml", include_str!("record/short.yaml")),
        ("plans/auth-feature.json", include_str!("record/auth-feature.json")),
        ("plans/notes.yml", include_str!("record/unusual.yml")),
    ]
    .map(|(name, text)| Source::new(name, text).written_in(record))
    .into()
}
