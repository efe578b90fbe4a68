//! PW0112: a step heading at a different level than the other steps.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::ParseIssue;
use crate::syntax::source::{Edit, Span};

pub(super) const RULE: Rule = Rule {
    code: "PW0112",
    name: "heading-level",
    severity: Severity::Warning,
    summary: "a step heading is at a different level than the first one",
    page: include_str!("../../rules/heading-level.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_native() {
        return;
    }
    for oddity in &subject.draft.oddities.0 {
        let ParseIssue::HeadingLevel { usual } = &oddity.value else { continue };
        let marks = "#".repeat(usize::from(*usual));
        let odd = RULE
            .at(oddity.span, format!("expected heading level `{marks}`"))
            .label("still read as a step");
        let text = subject.source.slice(oddity.span);
        let written = text.len() - text.trim_start_matches('#').len();
        found.push(match written {
            // An underlined (setext) heading has no marks to replace.
            0 => odd.help(format!("start the heading with `{marks}`")),
            _ => odd.fix(
                format!("change it to `{marks}`"),
                vec![Edit::replace(Span::new(oddity.span.start, oddity.span.start + written), marks)],
            ),
        });
    }
}
