//! The part of planwright that decides. Pure: no files, processes, clock, environment or threads; what a decision needs
//! from the world comes in as data. Read the modules in this order.

pub mod budget;
pub mod change;
pub mod contracts;
pub mod convert;
pub mod decide;
pub mod diagnostic;
pub mod dialect;
pub mod digest;
pub mod draft;
pub mod event;
pub mod foreign;
pub mod frontmatter;
pub mod glob;
pub mod graph;
mod json;
pub mod judge;
pub mod ledger;
mod markdown;
pub mod merge;
pub mod plan;
pub mod prompt;
pub mod red;
pub mod reflection;
pub mod review;
pub mod run;
pub mod shell;
pub mod source;
pub mod standing;
pub mod state;
pub mod suggest;
pub mod verify;
pub mod view;
pub mod work;
pub mod yaml;
