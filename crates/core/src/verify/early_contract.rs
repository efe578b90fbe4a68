//! PW0209: a contract that looks at a file which only a later step makes.

use super::subject::Says;
use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::shell::Role;

pub(super) const RULE: Rule = Rule {
    code: "PW0209",
    name: "early-contract",
    severity: Severity::Warning,
    summary: "a contract uses a file that only a later step makes",
    page: include_str!("../../rules/early-contract.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for contract in subject.contracts() {
        let place = contract.place;
        for used in &contract.script.paths {
            if subject.is_there_before(&used.path, place) {
                continue;
            }
            let span = contract.command.locate(used.span);
            let makers = subject.makers(&used.path);
            let declares = subject.draft.steps[place].touches.is_some();
            // A contract that tests for a file expects its step to make it, unless the step says what it touches.
            let is_expected = !declares && matches!(used.role, Role::Tested | Role::Written);
            let makes_it = makers.iter().any(|maker| maker.place == place && maker.says != Says::Contract);
            let later = makers
                .iter()
                .find(|maker| maker.says != Says::Contract && subject.reach.is_before(place, maker.place));
            if let (Some(later), false) = (later, makes_it || is_expected) {
                let name = subject.name(place);
                let message = format!("the contract of {name} uses `{}`, a file that only a later step makes", used.path);
                found.push(
                    RULE.at(span, message)
                        .label("not there yet when the contract runs")
                        .also(later.span, format!("{} makes it", subject.name(later.place)))
                        .help("put the steps in the order of the work, or add the file to this step's touches"),
                );
            }
        }
    }
}
