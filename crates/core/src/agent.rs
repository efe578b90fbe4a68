//! What agents are told, what they may do and what they report. Starts no process.

pub mod account;
pub mod acp;
pub mod assignment;
mod failure;
pub mod finding;
pub mod integration;
pub mod permission;
pub mod planner;
pub mod profile;
pub mod prompt;
pub mod reply;
pub mod report;
mod transcript;
pub mod work_item;
