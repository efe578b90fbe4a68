//! PW0209: a contract that uses a file which only a later step creates.

use super::subject::Says;
use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::shell::FileRole;

pub(super) const RULE: Rule = Rule {
    code: "PW0209",
    name: "early-contract",
    severity: Severity::Warning,
    summary: "a contract uses a file that only a later step creates",
    page: include_str!("../../rules/early-contract.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for contract in subject.contracts() {
        let place = contract.place;
        for used in &contract.script.paths {
            if subject.is_there_before(&used.path, place) {
                continue;
            }
            let span = contract.command.locate(used.span);
            let makers = subject.makers(&used.path);
            let declares = subject.draft.steps[place].touches.is_some();
            // A contract that tests for a file expects its own step to create it, unless the step declares `touches`
            // without it.
            let is_expected = !declares && matches!(used.role, FileRole::Tested | FileRole::Written);
            let makes_it = makers.iter().any(|maker| maker.place == place && maker.says != Says::Contract);
            let later = makers
                .iter()
                .find(|maker| maker.says != Says::Contract && subject.reach.is_before(place, maker.place));
            if let (Some(later), false) = (later, makes_it || is_expected) {
                let name = subject.name(place);
                let message = format!("the contract of {name} uses `{}`, which only a later step creates", used.path);
                found.push(
                    RULE.at(span, message)
                        .label("doesn't exist yet when the contract runs")
                        .also(later.span, format!("{} creates it", subject.name(later.place)))
                        .help("reorder the steps, or add the file to this step's `touches`"),
                );
            }
        }
    }
}
