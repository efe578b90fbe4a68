//! Turns a draft without errors into a [`Plan`]. Never decides anything: where it panics, a rule should have reported
//! an error first.

use super::subject::VerifySubject;
use crate::plan::budget;
use crate::plan::budget::Budget;
use crate::plan::draft::{ContractDraft, StepDraft, StepNumber};
use crate::plan::verified::{Contract, OnFail, Plan, Reference, Step};
use crate::syntax::source::{text, texts};

/// The role of a step without a target.
pub(super) const DEFAULT_TARGET: &str = "coder";

pub(super) fn plan(subject: &VerifySubject<'_>) -> Plan {
    let draft = subject.draft;
    let mut steps: Vec<Step> = subject.steps().map(|(place, draft)| step(subject, place, draft)).collect();
    for place in 0..steps.len() {
        let later = (place + 1..steps.len())
            .find(|&later| exclude_each_other(&steps[place].contract, &steps[later].contract));
        steps[place].holds_until = later;
    }
    Plan {
        title: text(draft.title.as_ref()),
        owner: text(draft.owner.0.as_ref()),
        context: text(draft.context.as_ref()),
        priority: text(draft.priority.as_ref()),
        budget: draft.budget.as_ref().map(|budget| Budget::read(&budget.value)).unwrap_or_default(),
        steps,
    }
}

/// Whether two contracts can't hold at once: `! cmd` and `cmd`, or one command with two exit codes. The earlier one
/// is meant to stop holding, as in "a failing test exists".
fn exclude_each_other(one: &Contract, other: &Contract) -> bool {
    let (Contract::Shell { command: one, expect: first }, Contract::Shell { command: other, expect: second }) =
        (one, other)
    else {
        return false;
    };
    let (one, other) = (one.trim(), other.trim());
    // A negation covers only the first command of several.
    let is_single = |command: &str| !command.contains(['&', '|', ';', '\n', '!']);
    let negates = |one: &str, other: &str| {
        one.strip_prefix('!').is_some_and(|inner| inner.trim() == other && is_single(other))
    };
    match (first, second) {
        (0, 0) => negates(one, other) || negates(other, one),
        (first, second) => first != second && one == other,
    }
}

fn step(subject: &VerifySubject<'_>, place: usize, draft: &StepDraft) -> Step {
    let StepNumber::Counted(number) = draft.number.value else {
        panic!("the rule unexpanded-template rejects template steps")
    };
    let on_fail = draft.on_fail.as_ref().map_or(OnFail::DEFAULT, |text| {
        OnFail::read(&text.value).expect("the rule unreadable-on-fail rejects an invalid policy")
    });
    let contract = draft.contract.as_ref().map_or(Some(Contract::Manual), contract);
    Step {
        number,
        contract: contract.expect("the rule bad-exit-code rejects an invalid exit code"),
        on_fail,
        needs: subject.graph.needs(place).to_vec(),
        ..plain(draft, subject.ids[place].clone())
    }
}

/// Reads one step of a plan that may have errors, for callers that only need its contract. `Err` gives the reason why
/// it can't be read.
pub(crate) fn step_as_read(draft: &StepDraft, id: String) -> Result<Step, &'static str> {
    let StepNumber::Counted(number) = draft.number.value else {
        return Err("it is a template step that is not expanded");
    };
    let contract = draft.contract.as_ref().map_or(Some(Contract::Manual), contract);
    let contract = contract.ok_or("its expected exit code is invalid")?;
    Ok(Step { number, contract, ..plain(draft, id) })
}

/// The fields that are copied without interpretation; the caller fills in the others.
fn plain(draft: &StepDraft, id: String) -> Step {
    Step {
        number: 0,
        id,
        title: draft.title.value.clone(),
        mark: draft.mark(),
        target: draft
            .target
            .as_ref()
            .map_or_else(|| DEFAULT_TARGET.to_owned(), |target| target.value.clone()),
        task: text(draft.task.as_ref()),
        contract: Contract::Manual,
        on_fail: OnFail::DEFAULT,
        needs: Vec::new(),
        reads: draft.reads.iter().filter_map(|read| Reference::read(&read.value)).collect(),
        touches: draft.touches.as_ref().map(|touches| texts(touches)),
        sealed: texts(&draft.sealed),
        accept: texts(&draft.accept),
        holds_until: None,
        green: draft.green.as_ref().map(|green| green.value.clone()),
        judge: draft.judge.as_ref().map(|judge| judge.value.clone()),
        timeout_seconds: draft.timeout.as_ref().and_then(|timeout| budget::seconds(&timeout.value)),
        contract_timeout_seconds: draft
            .contract_timeout
            .as_ref()
            .and_then(|timeout| budget::seconds(&timeout.value)),
        tools: texts(&draft.tools),
        env: texts(&draft.env),
        network: draft.network.as_ref().map(|network| network.value.clone()),
        setup: draft.setup.as_ref().map(|setup| setup.value.clone()),
    }
}

/// `None` if the exit code is invalid.
fn contract(draft: &ContractDraft) -> Option<Contract> {
    let Some(command) = &draft.command else { return Some(Contract::Manual) };
    let expect = draft.expect.as_ref().map_or(Some(0), |code| code.value.parse().ok())?;
    Some(Contract::Shell { command: command.value.clone(), expect })
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-16: only what can never hold together lapses.
    #[test]
    fn contracts_exclude_each_other_only_where_that_is_certain() {
        let shell = |command: &str, expect| Contract::Shell { command: command.to_owned(), expect };
        let cases = [
            (shell("! pytest -q", 0), shell("pytest -q", 0), true),
            (shell("pytest -q", 0), shell("! pytest -q\n", 0), true),
            (shell("pytest -q", 1), shell("pytest -q", 0), true),
            (shell("pytest -q", 0), shell("pytest -q", 0), false),
            (shell("! pytest -q", 0), shell("pytest", 0), false),
            (shell("! a && b", 0), shell("a && b", 0), false),
            (shell("! a", 1), shell("a", 0), false),
            (shell("! a", 0), Contract::Manual, false),
        ];
        for (one, other, is_certain) in cases {
            assert_eq!(exclude_each_other(&one, &other), is_certain, "{one:?} {other:?}");
        }
    }
}
