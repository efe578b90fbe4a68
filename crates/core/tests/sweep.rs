//! How much of a long test is done: a fixed sample, or with `PLANWRIGHT_SWEEP=all` (`scripts/check --long`) all of it.

/// Whether everything is tried.
pub(crate) fn is_whole() -> bool {
    std::env::var("PLANWRIGHT_SWEEP").is_ok_and(|what| what == "all")
}
