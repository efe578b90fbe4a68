//! Plans to simulate: written by hand in few words, or by chance.

use std::collections::BTreeSet;

use planwright_core::dialect;
use planwright_core::draft::Mark;
use planwright_core::event::{Agents, Event};
use planwright_core::plan::{Contract, Last, OnFail, Plan, Step};
use planwright_core::source::Source;
use planwright_core::verify::{Facts, Limits, Study, verify};

use crate::random::Random;

const TEXT: &str = "\
---
type: plan
status: draft
owner: harness
---

# Sample

### 1. First

**target:** coder
**touches:** src/first.rs
**task:** Do it.
**contract:**
```bash
test -f src/first.rs
```
";

fn verified() -> Plan {
    let source = Source::new("plan.md", TEXT);
    let draft = (dialect::of(source.text()).parse)(&source);
    let study = Study::of(&source, &draft);
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
    let facts = Facts { programs: words("bash test"), agents: words("coder human"), ..Facts::default() };
    let checked = verify(&study, &facts, &Limits::default());
    checked.plan.unwrap_or_else(|| panic!("the sample verifies: {:#?}", checked.diagnostics))
}

fn next_step(model: &Step, count: usize) -> Step {
    let mut step = model.clone();
    step.id = format!("s{}", count + 1);
    step.number = u32::try_from(count).expect("few steps") + 1;
    step.touches = None;
    step.on_fail = OnFail { retries: 0, then: Last::Escalate };
    step.needs = count.checked_sub(1).into_iter().collect();
    step
}

/// A plan of one line a step, named `s1`, `s2` …: `[needs=1,2] [free] [touches=p] [retry=N] [abort] [human] [manual]`.
/// A step that says nothing about needs waits for the one before.
pub(crate) fn plan(lines: &[&str]) -> Plan {
    let mut plan = verified();
    let model = plan.steps.remove(0);
    for line in lines {
        let mut step = next_step(&model, plan.steps.len());
        for word in line.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number = |text: &str| text.parse::<usize>().expect("a number");
            match key {
                "free" => step.needs.clear(),
                "needs" => step.needs = value.split(',').map(|name| number(name) - 1).collect(),
                "touches" => step.touches = Some(vec![value.to_owned()]),
                "retry" => step.on_fail.retries = value.parse().expect("a number"),
                "abort" => step.on_fail.then = Last::Abort,
                "human" => "human".clone_into(&mut step.target),
                "manual" => step.contract = Contract::Manual,
                other => panic!("unknown word `{other}`"),
            }
        }
        plan.steps.push(step);
    }
    plan
}

/// A plan by chance: one to eight steps.
pub(crate) fn random_plan(model: &Plan, random: &mut Random) -> Plan {
    let mut plan = model.clone();
    let model = plan.steps.remove(0);
    for count in 0..=random.index(8) {
        let mut step = next_step(&model, count);
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

pub(crate) fn run_started() -> Event {
    let text = str::to_owned;
    Event::RunStarted {
        digest: text("d"),
        approved_by: text("ada"),
        approved_at: text("terminal"),
        base: None,
        agents: Agents::new(),
    }
}

/// Whether the step passed, if the event is a verdict about it.
pub(crate) fn verdict_of(event: &Event, id: &str) -> Option<bool> {
    if let Event::ContractFinished { step, receipt, .. } = event
        && step == id
    {
        return Some(receipt.verdict.is_passed());
    }
    None
}
