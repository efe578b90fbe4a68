//! What a plan says: its draft, its verified form, edits and life cycle. Knows no file format and no run.

pub mod budget;
pub mod digest;
pub mod draft;
pub mod edit;
pub mod graph;
pub mod identity;
pub mod lifecycle;
pub mod tool;
pub mod verified;
pub mod view;
