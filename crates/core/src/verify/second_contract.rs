//! PW0309: two code blocks in one contract, of which only the first would run.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::ParseIssue;

pub(super) const RULE: Rule = Rule {
    code: "PW0309",
    name: "second-contract",
    severity: Severity::Error,
    summary: "a contract has two code blocks",
    page: include_str!("../../rules/second-contract.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if let ParseIssue::SecondContract { first } = &oddity.value {
            let line = |span: crate::syntax::source::Span| {
                let line = subject.source.line_at(span.start);
                crate::syntax::source::Span::new(span.start, line.end)
            };
            let (message, runs) = match subject.is_directory() {
                true => ("second verification in one task", "this one runs"),
                false => ("second code block in one contract", "this block runs"),
            };
            found.push(
                RULE.at(line(oddity.span), message)
                    .label("never runs")
                    .also(line(*first), runs)
                    .help("merge both commands into one block, joined by `&&`"),
            );
        }
    }
}
