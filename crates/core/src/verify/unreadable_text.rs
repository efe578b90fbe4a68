//! PW0101: a file that is not text, or too large. Raised before parsing, because nothing else can be checked then.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::{FILE_SEPARATOR, Source, Span};

pub(super) const RULE: Rule = Rule {
    code: "PW0101",
    name: "unreadable-text",
    severity: Severity::Error,
    summary: "the file is not UTF-8 text, has a NUL byte, or is too large",
    page: include_str!("../../rules/unreadable-text.md"),
    check,
};

/// Empty, because [`read`] raises this rule before there is a draft.
fn check(_: &VerifySubject<'_>, _: &mut Vec<Diagnostic>) {}

/// A file that can't be read as text.
#[derive(Debug)]
pub struct Unreadable {
    /// The part of the file that can be shown.
    pub source: Source,
    pub diagnostic: Diagnostic,
}

/// The diagnostic for a file over the size limit.
pub fn too_large(name: &str, bytes_max: usize) -> Box<Unreadable> {
    let diagnostic = RULE
        .at(Span::default(), format!("file is larger than {bytes_max} bytes"))
        .help("split the plan, or raise the limit with --max-bytes or `limits.plan_bytes` in planwright.toml");
    Box::new(Unreadable { source: Source::new(name, ""), diagnostic })
}

/// Decodes the bytes of a file as text.
pub fn read(name: &str, bytes: Vec<u8>) -> Result<Source, Box<Unreadable>> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let byte = error.as_bytes()[at];
            let message = format!("file is not UTF-8 text: byte {at} is 0x{byte:02x}");
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let span = Span::new(at, at + '\u{fffd}'.len_utf8());
            let diagnostic = RULE.at(span, message).label("invalid byte").help("save the file as UTF-8");
            return Err(Box::new(Unreadable { source: Source::new(name, text), diagnostic }));
        }
    };
    let at = text.find(['\0', FILE_SEPARATOR]);
    let Some(at) = at else { return Ok(Source::new(name, text)) };
    let span = Span::new(at, at + 1);
    let is_nul = text[at..].starts_with('\0');
    let (what, help) = match is_nul {
        true => ("a NUL byte", "remove it; a shell command cannot contain a NUL byte"),
        false => ("the control character U+001C", "remove it; planwright uses it to separate files"),
    };
    let diagnostic = RULE.at(span, format!("file contains {what} at offset {at}")).label("binary data").help(help);
    // A single file must not look like a directory plan.
    let text = text.replace(FILE_SEPARATOR, " ");
    Err(Box::new(Unreadable { source: Source::new(name, text), diagnostic }))
}
