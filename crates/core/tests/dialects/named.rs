//! Named plans for the suite: the form of document D, and the ways in which people write plans of that name.

use planwright_core::dialect;
use planwright_core::source::Source;

/// Plans as their authors keep them.
pub fn samples() -> Vec<Source> {
    let named = dialect::named("named").expect("it is in the table");
    [
        (".harness/PLAN-sessions.md", include_str!("../named/worker.md")),
        (".harness/PLAN.md", include_str!("../named/template.md")),
        ("PLAN.md", include_str!("../named/phases.md")),
        ("docs/PLAN-importer.md", include_str!("../named/words.md")),
        ("PLAN-v2.1.md", include_str!("../named/list.md")),
    ]
    .map(|(name, text)| Source::new(name, text).written_in(named))
    .into()
}
