//! PW0110: a code fence that is never closed.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::ParseIssue;

pub(super) const RULE: Rule = Rule {
    code: "PW0110",
    name: "unclosed-fence",
    severity: Severity::Error,
    summary: "a code fence is never closed and swallows the text below it",
    page: include_str!("../../rules/unclosed-fence.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if oddity.value == ParseIssue::UnclosedFence {
            found.push(
                RULE.at(oddity.span, "unclosed code fence")
                    .label("everything below is read as code")
                    .help("close it with the same fence"),
            );
        }
    }
}
