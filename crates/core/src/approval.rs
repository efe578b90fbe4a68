//! Who approved what, who may approve, and what a reviewer sees. Stores nothing.

pub mod ledger;
pub mod policy;
pub mod review;
pub mod status;
