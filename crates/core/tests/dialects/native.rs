//! Native plans for the suite: document A's own examples, and the plan of the demo.

use planwright_core::syntax::source::Source;

/// Plans as their authors keep them.
pub(crate) fn samples() -> Vec<Source> {
    [
        ("plans/seed-a-1.md", include_str!("../native/seed-a-1.md")),
        ("plans/seed-a-2.md", include_str!("../native/seed-a-2.md")),
        ("plans/seed-a-3.md", include_str!("../native/seed-a-3.md")),
        ("plans/hello.md", include_str!("../native/hello.md")),
    ]
    .map(|(name, text)| Source::new(name, text))
    .into()
}
