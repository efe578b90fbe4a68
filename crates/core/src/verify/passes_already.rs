//! PW0307: a contract that is true before any work is done. This is the part that can be seen without running it.

use super::{Diagnostic, Rule, Subject};
use crate::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "PW0307",
    name: "passes-already",
    severity: Severity::Warning,
    summary: "a contract passes before any work",
    page: include_str!("../../rules/passes-already.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for contract in subject.contracts() {
        let contract_draft = subject.draft.steps[contract.place].contract.as_ref();
        let expect = contract_draft.and_then(|draft| draft.expect.as_ref());
        if expect.is_some_and(|code| code.value != "0") {
            continue;
        }
        let Some(tests) = contract.script.tests.as_ref().filter(|tests| !tests.is_empty()) else { continue };
        if !tests.iter().all(|test| subject.exists(&test.path)) {
            continue;
        }
        let first = tests[0].span;
        let last = tests[tests.len() - 1].span;
        let span = contract.command.locate(crate::source::Span::new(first.start, last.end.max(first.end)));
        let message = format!("the contract of {} passes before any work", subject.name(contract.place));
        let label = if tests.len() == 1 { "this is there already" } else { "all of these are there already" };
        found.push(RULE.at(span, message).label(label).help("add a condition only the finished step can meet"));
    }
}
