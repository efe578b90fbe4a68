//! The rules of this repository that a test can hold, one test each; a failure names file and line.
//! Every check is a function over files, and beside it stands a twin: a test that feeds it a violation and sees it caught.

#[path = "tidy/border.rs"]
mod border;
#[path = "tidy/feature.rs"]
mod feature;
#[path = "tidy/folder.rs"]
mod folder;
#[path = "tidy/import.rs"]
mod import;
#[path = "tidy/layout.rs"]
mod layout;
#[path = "tidy/link.rs"]
mod link;
#[path = "tidy/map.rs"]
mod map;
#[path = "tidy/rule.rs"]
mod rule;
#[path = "tidy/rust.rs"]
mod rust;
#[path = "tidy/thread.rs"]
mod thread;
#[path = "tidy/tree.rs"]
mod tree;
#[path = "tidy/wording.rs"]
mod wording;
