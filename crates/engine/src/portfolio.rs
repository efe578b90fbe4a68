//! Many plans at once: the board, shelving, the stand-up, duplicates and the merge queue.

pub mod board;
mod duplicate;
pub mod merge_queue;
mod staging;
mod standup;
