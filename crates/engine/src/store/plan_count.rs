//! Counts how often this process reads, parses and verifies plans: `crates/app/tests/reads.rs` holds every command to once
//! each, which no output would show.

use std::sync::atomic::{AtomicUsize, Ordering};

use planwright_core::plan::draft::Draft;
use planwright_core::plan::verified::Plan;
use planwright_core::syntax::source::Source;
use planwright_core::verify;

static READS: AtomicUsize = AtomicUsize::new(0);
static PARSES: AtomicUsize = AtomicUsize::new(0);
static VERIFICATIONS: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanCounts {
    pub reads: usize,
    pub parses: usize,
    pub verifications: usize,
}

pub fn plan_counts() -> PlanCounts {
    let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    PlanCounts { reads: of(&READS), parses: of(&PARSES), verifications: of(&VERIFICATIONS) }
}

/// Parses a plan.
#[expect(clippy::disallowed_methods, reason = "this is where it is counted")]
pub(crate) fn parse(source: &Source) -> Draft {
    PARSES.fetch_add(1, Ordering::Relaxed);
    source.draft()
}

/// The plan in text that was checked and approved before.
pub(crate) fn trusted(source: &Source) -> Option<Plan> {
    verify::trusted_draft(source, &parse(source))
}

pub(crate) fn count_read() {
    READS.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn count_verification() {
    VERIFICATIONS.fetch_add(1, Ordering::Relaxed);
}
