//! Plans by chance.

use planwright_core::plan::draft::Mark;
use planwright_core::plan::verified::{Contract, Last, Plan};

use crate::random::Random;
use crate::sample;

/// A plan by chance: one to eight steps.
pub(crate) fn random_plan(model: &Plan, random: &mut Random) -> Plan {
    let mut plan = model.clone();
    let model = plan.steps.remove(0);
    for count in 0..=random.index(8) {
        let mut step = sample::step(&model, &plan.steps, &format!("s{}", count + 1));
        if random.once_in(2) {
            step.needs = (0..count).filter(|_| random.once_in(4)).collect();
        }
        if !random.once_in(4) {
            let places =
                ["src/**", "src/a.rs", "src/b.rs", "docs/*.md", "docs/**", "tests/{a,b}.rs", "tests/b.rs"];
            step.touches = Some((0..=random.index(2)).map(|_| random.pick(&places).to_owned()).collect());
        }
        step.on_fail.retries = u32::try_from(random.below(3)).expect("few retries");
        if random.once_in(5) {
            step.on_fail.then = Last::Abort;
        }
        if random.once_in(8) {
            "human".clone_into(&mut step.target);
        }
        if random.once_in(8) {
            step.contract = Contract::Manual;
        }
        if count > 0 && random.once_in(8) {
            plan.steps[count - 1].holds_until = Some(count);
        }
        if random.once_in(8) {
            step.mark = Some(Mark::Done);
        }
        plan.steps.push(step);
    }
    plan.budget.tokens = random.once_in(3).then(|| 100 + random.below(1_000));
    plan.budget.micro_dollars = random.once_in(6).then(|| 100 + random.below(1_000));
    plan.budget.seconds = random.once_in(6).then(|| 1 + random.below(10));
    plan
}
