//! PW0116: a file that is not a plan in any known dialect.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::DIALECTS;
use crate::dialect::import;
use crate::syntax::source::{Detection, Span};

pub(super) const RULE: Rule = Rule {
    code: "PW0116",
    name: "unknown-dialect",
    severity: Severity::Error,
    summary: "the file is not a plan in any known dialect",
    page: include_str!("../../rules/unknown-dialect.md"),
    check,
};

/// Whether no dialect was detected. A file with numbered steps counts as a native plan without frontmatter.
pub(super) fn is_none(subject: &VerifySubject<'_>) -> bool {
    *subject.source.told() == Detection::Nothing && subject.draft.steps.is_empty()
}

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !is_none(subject) {
        return;
    }
    let mut none = RULE.at(Span::at(subject.source.parts()[0].span.start), "not a plan in any known dialect");
    none.notes = DIALECTS.iter().map(|dialect| format!("{}: {}", dialect.name, dialect.summary)).collect();
    let source = subject.source;
    let help = match import::detect(source.place(), source.text()) {
        Some((foreign, because)) => {
            format!("this is {}: {because}; run `planwright import {}` to make it a plan", foreign.tool, source.name())
        }
        None => "pass `--dialect NAME`, or start a plan with `planwright new`".to_owned(),
    };
    found.push(none.help(help));
}
