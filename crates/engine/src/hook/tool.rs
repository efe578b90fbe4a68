//! The question before a tool is called, answered by the scope of the attempt.

use std::path::Path;

use serde_json::Value;

use super::Reply;

/// Answers whether a tool may be called.
pub(super) fn answer(_input: Result<Value, String>, _folder: &Path, _complaints: &mut Vec<String>) -> Reply {
    Reply::Pass
}
