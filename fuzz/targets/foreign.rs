//! See `planwright_fuzz`: the coverage-guided driver of one claim.

PLACEHOLDER
