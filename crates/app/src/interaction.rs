//! Prompts and reports shared by the command line and the MCP server.

pub(crate) mod choice;
pub(crate) mod confirm;
pub(crate) mod conversion;
pub(crate) mod driver;
pub(crate) mod duplicate;
pub(crate) mod notifier;
pub(crate) mod planner;
pub(crate) mod project;
pub(crate) mod proposal;
pub(crate) mod session;
pub(crate) mod signal;
pub(crate) mod target;
