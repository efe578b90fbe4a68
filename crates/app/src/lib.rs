//! The part of planwright that shows: the command line, the MCP server and everything that is printed. It depends on the
//! engine alone and decides nothing about plans. Folders are listed bottom up: each imports only those above it.

pub mod output;
pub mod interaction;
mod mcp;
mod command;
pub mod cli;
