//! PW0134: a proposal with more context than the limit.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::proposal::{self, CONTEXT_BYTES_MAX};

pub(super) const RULE: Rule = Rule {
    code: "PW0134",
    name: "large-context",
    severity: Severity::Warning,
    summary: "the context of a proposal is larger than 50 KB",
    page: include_str!("../../rules/large-context.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !proposal::wrote(subject.source) {
        return;
    }
    let bytes = proposal::context_bytes(subject.source);
    let section = proposal::section(subject.source, "context");
    if let Some(section) = section.filter(|_| bytes > CONTEXT_BYTES_MAX) {
        found.push(
            RULE.at(
                subject.source.line_at(section.span.start),
                format!("context is {bytes} bytes; the limit is {CONTEXT_BYTES_MAX}"),
            )
            .label("read again for every step")
            .help("move the largest parts to files in `artifacts/` and reference them"),
        );
    }
}
