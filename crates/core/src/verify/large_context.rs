//! PW0134: a proposal that carries more context than it may.

use super::{Diagnostic, Rule, Subject};
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

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !proposal::wrote(subject.source) {
        return;
    }
    let bytes = proposal::context_bytes(subject.source);
    let section = proposal::section(subject.source, "context");
    if let Some(section) = section.filter(|_| bytes > CONTEXT_BYTES_MAX) {
        found.push(
            RULE.at(
                subject.source.line_at(section.span.start),
                format!("the context has {bytes} bytes, and {CONTEXT_BYTES_MAX} at most belong into the plan"),
            )
            .label("all of it is read again for every step")
            .help("move the largest parts into files in `artifacts/` and refer to them"),
        );
    }
}
