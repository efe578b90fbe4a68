//! What the user's agents ask for and hand in: hooks, sessions, plans, integrations.

pub mod acp;
pub mod hook;
pub mod integration;
pub mod planner;
pub mod planning_session;
pub mod session;
pub mod submission;
