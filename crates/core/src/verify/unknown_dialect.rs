//! PW0116: a file that looks like a plan in none of the dialects.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::DIALECTS;
use crate::dialect::import;
use crate::syntax::source::{Span, Told};

pub(super) const RULE: Rule = Rule {
    code: "PW0116",
    name: "unknown-dialect",
    severity: Severity::Error,
    summary: "the file looks like a plan in none of the dialects",
    page: include_str!("../../rules/unknown-dialect.md"),
    check,
};

/// Whether the file looks like no plan. One with numbered steps is a native plan that lacks its frontmatter.
pub(super) fn is_none(subject: &Subject<'_>) -> bool {
    *subject.source.told() == Told::Nothing && subject.draft.steps.is_empty()
}

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !is_none(subject) {
        return;
    }
    let mut none = RULE.at(Span::at(subject.source.parts()[0].span.start), "this looks like a plan in none of the dialects");
    none.notes = DIALECTS.iter().map(|dialect| format!("{}: {}", dialect.name, dialect.summary)).collect();
    let source = subject.source;
    let help = match import::detect(source.place(), source.text()) {
        Some((foreign, because)) => {
            format!("it is {}: {because}; `planwright import {}` makes a plan of it", foreign.tool, source.name())
        }
        None => "say which one it is with `--dialect NAME`, or begin a plan with `planwright new`".to_owned(),
    };
    found.push(none.help(help));
}
