//! PW0115: an unknown status of a plan or a step.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::record;
use crate::plan::draft::ParseIssue;
use crate::syntax::source::{Edit, Span};
use crate::syntax::nearest;

pub(super) const RULE: Rule = Rule {
    code: "PW0115",
    name: "unknown-status",
    severity: Severity::Warning,
    summary: "a status is unknown",
    page: include_str!("../../rules/unknown-status.md"),
    check,
};

const STEP: &[&str] = &["pending", "running", "done", "failed", "skipped"];

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if let (Some(status), None) = (&subject.draft.status.0, &subject.draft.state) {
        let words: Vec<&str> = subject.source.dialect().states.iter().map(|&(word, _)| word).collect();
        found.push(unknown("plan", &status.value, status.span, &words));
    }
    let words = if subject.source.dialect().name == "record" { record::STEP_WORDS } else { STEP };
    for oddity in &subject.draft.oddities.0 {
        if let ParseIssue::UnknownMark(word) = &oddity.value {
            found.push(unknown("step", word, oddity.span, words));
        }
    }
}

fn unknown(what: &str, word: &str, span: Span, known: &[&str]) -> Diagnostic {
    let unknown = RULE.at(span, format!("unknown {what} status `{word}`"));
    match nearest::nearest(word, known.iter().copied()) {
        Some(meant) => unknown
            .label(format!("did you mean `{meant}`?"))
            .fix(format!("change it to `{meant}`"), vec![Edit::replace(span, meant)]),
        None => unknown.help(format!("expected one of {}", known.join(", "))),
    }
}
