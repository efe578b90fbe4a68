//! An approved plan being run: events, state, scheduling, verdicts and figures. Performs nothing itself.

pub mod arbiter;
pub mod baseline;
pub mod cost;
pub mod event;
pub mod forecast;
pub mod judge;
pub mod mirror;
pub mod opinion;
pub mod receipt;
pub mod schedule;
pub mod state;
pub mod stats;
pub mod summary;
