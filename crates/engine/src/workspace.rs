//! One project: its plans, what is true of them, and who is notified.

pub mod active_plan;
pub mod facts;
pub mod feed;
pub(crate) mod index;
pub mod init;
pub mod notify;
pub mod project;
pub mod repository_set;
pub(crate) mod session_copy;
pub(crate) mod staging;
pub mod template;
pub mod toolchain;
pub(crate) mod topic;
pub mod version;
