//! Texts that a person hands in by the name of a file, or on standard input.

use std::io::{self, Read as _};

use crate::api::error::{Error, ErrorKind};
use crate::store::plan_file;

/// The most that is read.
const BYTES_MAX: u64 = 16 << 20;
/// The name of standard input.
pub const STDIN: &str = "-";

/// Reads a file or standard input; `what` is how an error names it.
pub fn read_input(file: &str, what: &str) -> Result<String, Error> {
    let text = match file {
        STDIN => {
            let mut text = String::new();
            io::stdin().take(BYTES_MAX).read_to_string(&mut text).map(|_| text)
        }
        file => plan_file::read_stream_at(file.as_ref(), BYTES_MAX),
    };
    text.map_err(|error| match error.kind() == io::ErrorKind::NotFound {
        true => Error::new(ErrorKind::Usage, format!("file {file} not found")),
        false => Error::new(ErrorKind::Machine, format!("cannot read {what}")).because(&error),
    })
}
