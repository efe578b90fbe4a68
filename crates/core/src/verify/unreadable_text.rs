//! PW0101: bytes that are no text, or too many of them. Raised before a plan is parsed: nothing can be checked then.

use super::{Diagnostic, Rule, Subject};
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

/// Raised by [`read`]; a draft has been read already.
fn check(_: &Subject<'_>, _: &mut Vec<Diagnostic>) {}

/// A file that can't be read as text.
#[derive(Debug)]
pub struct Unreadable {
    /// As much of the file as can be shown.
    pub source: Source,
    /// What is wrong with it.
    pub diagnostic: Diagnostic,
}

/// What is said of a file that has more bytes than a plan may have.
pub fn too_large(name: &str, bytes: u64, bytes_max: usize) -> Box<Unreadable> {
    let diagnostic = RULE
        .at(Span::default(), format!("the file has {bytes} bytes or more; a plan may have {bytes_max}"))
        .help("split the plan, or raise the limit with --max-bytes or `limits.plan_bytes` in planwright.toml");
    Box::new(Unreadable { source: Source::new(name, ""), diagnostic })
}

/// Takes the bytes of a file as text, or says why not.
pub fn read(name: &str, bytes: Vec<u8>) -> Result<Source, Box<Unreadable>> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let byte = error.as_bytes()[at];
            let message = format!("the file is not UTF-8 text: byte {at} is 0x{byte:02x}");
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let span = Span::new(at, at + '\u{fffd}'.len_utf8());
            let diagnostic = RULE.at(span, message).label("not a character").help("save the file as UTF-8");
            return Err(Box::new(Unreadable { source: Source::new(name, text), diagnostic }));
        }
    };
    let at = text.find(['\0', FILE_SEPARATOR]);
    let Some(at) = at else { return Ok(Source::new(name, text)) };
    let span = Span::new(at, at + 1);
    let is_nul = text[at..].starts_with('\0');
    let (what, help) = match is_nul {
        true => ("a NUL byte", "remove it; no shell can be given a command with a NUL byte"),
        false => ("the control character U+001C", "remove it; planwright sets files apart by it"),
    };
    let diagnostic = RULE.at(span, format!("the file has {what} at {at}")).label("this is no text").help(help);
    // The text of a single file must not pass for that of a folder.
    let text = text.replace(FILE_SEPARATOR, " ");
    Err(Box::new(Unreadable { source: Source::new(name, text), diagnostic }))
}
