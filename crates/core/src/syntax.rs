//! Text with positions, and readers of the languages that plans are written in. Knows nothing about plans.

pub mod count;
pub mod diagnostic;
pub mod glob;
pub mod invisible;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod outline;
pub mod nearest;
pub mod shell;
pub mod source;
pub mod text;
pub mod yaml;
