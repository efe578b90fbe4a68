//! The part of planwright that decides. Pure: no files, processes, clock, environment or threads; what a decision needs
//! from the world comes in as data. Read the modules in this order.

pub mod source;
pub mod diagnostic;
pub mod draft;
pub mod change;
pub mod dialect;
pub mod frontmatter;
pub mod yaml;
pub mod plan;
pub mod budget;
pub mod digest;
pub mod graph;
pub mod glob;
pub mod shell;
pub mod suggest;
pub mod verify;
pub mod view;
