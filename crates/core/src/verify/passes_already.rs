//! PW0307: a contract that passes before any work is done. This file detects what is evident without running the
//! contract; results of a real run come in as facts.

use super::subject::SubjectContract;
use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::Span;

pub(super) const RULE: Rule = Rule {
    code: "PW0307",
    name: "passes-already",
    severity: Severity::Warning,
    summary: "a contract passes before any work",
    page: include_str!("../../rules/passes-already.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for contract in subject.contracts() {
        if subject.draft.steps[contract.place].green.is_some() {
            continue;
        }
        let message = format!("the contract of {} passes before any work", subject.name(contract.place));
        let help = "add a check that fails until the work is done";
        let seen = present(subject, &contract);
        let ran = subject.facts.passed.get(&subject.ids[contract.place]);
        let diagnostic = match (seen, ran) {
            (Some((span, label)), ran) => {
                let diagnostic = RULE.at(span, message).label(label).help(help);
                ran.into_iter().fold(diagnostic, Diagnostic::note)
            }
            (None, Some(ran)) => {
                RULE.at(contract.command.span, message).label("passes on the base commit").note(ran).help(help)
            }
            (None, None) => continue,
        };
        found.push(diagnostic);
    }
}

/// The tests in the contract, if it does nothing but test for files that already exist.
fn present(subject: &VerifySubject<'_>, contract: &SubjectContract<'_>) -> Option<(Span, &'static str)> {
    let draft = subject.draft.steps[contract.place].contract.as_ref();
    let expect = draft.and_then(|draft| draft.expect.as_ref());
    if expect.is_some_and(|code| code.value != "0") {
        return None;
    }
    let tests = contract.script.tests.as_ref().filter(|tests| !tests.is_empty())?;
    if !tests.iter().all(|test| subject.exists(&test.path)) {
        return None;
    }
    let (first, last) = (tests[0].span, tests[tests.len() - 1].span);
    let span = contract.command.locate(Span::new(first.start, last.end.max(first.end)));
    Some((span, if tests.len() == 1 { "already exists" } else { "all of these already exist" }))
}
