//! PW0154: a key with the wrong type of value.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::ParseIssue;
use crate::syntax::source::Edit;

pub(super) const RULE: Rule = Rule {
    code: "PW0154",
    name: "wrong-type",
    severity: Severity::Error,
    summary: "a key has a list where text is expected, or text where a list is expected",
    page: include_str!("../../rules/wrong-type.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let ParseIssue::WrongType { key, expected } = &oddity.value else { continue };
        // If some keys of this file could not be parsed, this value may be misread as well.
        let file = subject.source.part_at(oddity.span.start).span;
        if subject.draft.oddities.0.iter().any(|other| is_unread(&other.value) && file.covers(other.span)) {
            continue;
        }
        let wrong =
            RULE.at(oddity.span, format!("`{key}` must be {expected}")).label(format!("this is not {expected}"));
        let text = subject.source.slice(oddity.span);
        let is_word = !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        let is_list = expected.starts_with("a list");
        found.push(match (is_list, is_word) {
            (true, true) => wrong.fix("make it a list", vec![Edit::replace(oddity.span, format!("[{text}]"))]),
            (true, false) => wrong.help(format!("write `{key}: [one, two]`, or an item `- one` on each line")),
            (false, _) => wrong.help(format!("write `{key}: ...` on one line")),
        });
    }
}

fn is_unread(oddity: &ParseIssue) -> bool {
    matches!(oddity, ParseIssue::Frontmatter(_))
}
