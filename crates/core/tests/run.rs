//! Runs on paper: the transition table, what `decide` says to it, and what an agent is told. No world, no clock.

#[path = "run/arbiter.rs"]
mod arbiter;
#[path = "run/cost.rs"]
mod cost;
#[path = "run/decide.rs"]
mod decide;
#[path = "run/forecast.rs"]
mod forecast;
#[path = "run/happened.rs"]
mod happened;
#[path = "run/journal.rs"]
mod journal;
#[path = "run/makespan.rs"]
mod makespan;
#[path = "run/prompt.rs"]
mod prompt;
#[path = "run/sample.rs"]
mod sample;
#[path = "run/stats.rs"]
mod stats;
#[path = "run/table.rs"]
mod table;
#[path = "run/tripwire.rs"]
mod tripwire;
