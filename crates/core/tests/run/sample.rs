//! Plans in few words. The suites of the engine use it too.

use std::collections::BTreeSet;

use planwright_core::plan::draft::Mark;
use planwright_core::plan::verified::{Contract, Last, OnFail, Plan, Step};
use planwright_core::run::event::{AgentCommands, Event, RunEvent, RunStart};
use planwright_core::syntax::source::Source;
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

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
    let draft = (source.dialect().parse)(&source);
    let study = Study::of(&source, &draft);
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
    let facts = Facts { programs: words("bash test"), agents: words("coder human"), ..Facts::default() };
    let checked = verify(&study, &facts, &VerifyLimits::default());
    checked.plan.unwrap_or_else(|| panic!("the sample verifies: {:#?}", checked.diagnostics))
}

/// A plan of one line a step: `ID [free] [needs=a,b] [touches=p,q] [retry=N] [abort] [human] [manual] [done]`. A step that
/// says nothing about needs waits for the one before; one that says nothing about touches may change anything.
pub(crate) fn plan(lines: &str) -> Plan {
    let mut plan = verified();
    let model = plan.steps[0].clone();
    plan.steps.clear();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let step = step(&model, &plan.steps, line);
        plan.steps.push(step);
    }
    plan
}

/// The step that a line says, behind those before it; what no line can say is as in the model.
pub(crate) fn step(model: &Step, before: &[Step], line: &str) -> Step {
    let mut words = line.split(' ');
    let mut step = model.clone();
    words.next().expect("a step has an id").clone_into(&mut step.id);
    step.number = u32::try_from(before.len()).expect("few steps") + 1;
    step.task = format!("The task of {}.", step.id);
    step.touches = None;
    step.on_fail = OnFail { retries: 0, then: Last::Escalate };
    step.needs = before.len().checked_sub(1).into_iter().collect();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let place = |id: &str| before.iter().position(|step| step.id == id).expect("an earlier step");
        match key {
            "free" => step.needs.clear(),
            "needs" => step.needs = value.split(',').map(place).collect(),
            "touches" => step.touches = Some(value.split(',').map(str::to_owned).collect()),
            "retry" => step.on_fail.retries = value.parse().expect("a number"),
            "abort" => step.on_fail.then = Last::Abort,
            "human" => "human".clone_into(&mut step.target),
            "manual" => step.contract = Contract::Manual,
            "done" => step.mark = Some(Mark::Done),
            other => panic!("unknown word `{other}`"),
        }
    }
    step
}

pub(crate) fn run_started() -> Event {
    let text = str::to_owned;
    Event::Run(RunEvent::Started(RunStart {
        digest: text("d"),
        approved_by: text("ada"),
        approved_at: text("terminal"),
        base: None,
        agents: AgentCommands::new(),
        sealed: std::collections::BTreeMap::new(),
        programs: std::collections::BTreeMap::new(),
        approvals: Vec::new(),
        note: String::new(),
    }))
}
