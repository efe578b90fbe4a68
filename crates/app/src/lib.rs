//! The part of planwright that shows: the command line and everything that is printed. It depends on the engine alone and
//! decides nothing about plans.

pub mod agentctl;
mod carry;
pub mod cli;
mod command;
mod consent;
mod desk;
mod fact;
mod herald;
mod mcp;
mod named;
mod offer;
pub mod out;
mod planner;
mod signal;
mod twin;
