//! The red check of `verify`: whether contracts fail before the work, as they should.

use planwright_engine::Verified;
use planwright_engine::core::plan::verified::{Contract, Plan};
use planwright_engine::core::run::baseline::{Baseline, BaselineResult};
use planwright_engine::workspace::project::BaselineSet;

use crate::output::clean_line;
use crate::output::diagnostics::RedData;

/// What programs are told.
pub(super) fn data(all: &[Verified]) -> Vec<RedData> {
    let of = |one: &Verified| {
        let reds = one.red.iter().flat_map(|reds| reds.contracts.iter().map(|red| (reds.base.clone(), red)));
        let row = |(base, red): (Option<_>, &Baseline)| RedData {
            plan: one.source.name().to_owned(),
            base: base.map(|base: planwright_engine::git::base::Base| base.to_string()),
            red: red.clone(),
        };
        reds.map(row).collect::<Vec<_>>()
    };
    all.iter().flat_map(of).collect()
}

/// The lines that people are shown: how many fail, as they should, and each that does not.
pub(super) fn lines(plan: &Plan, reds: &BaselineSet) -> Vec<String> {
    let judged = plan.steps.iter().filter(|step| matches!(step.contract, Contract::Shell { .. })).count();
    let fails = reds.contracts.iter().filter(|red| matches!(red.before, BaselineResult::Fails(_))).count();
    let mut first = match (judged, fails == judged) {
        (0, _) => "red check: no contract to run".to_owned(),
        (1, true) => "red check: 1 of 1 contract fails before the work, as it should".to_owned(),
        (_, true) => format!("red check: {fails} of {judged} contracts fail before the work, as they should"),
        (1, false) => "red check: 0 of 1 contract fails before the work".to_owned(),
        (_, false) => format!("red check: {fails} of {judged} contracts fail before the work"),
    };
    let manual = plan.steps.len() - judged;
    if manual > 0 {
        let steps = if manual == 1 { "step is" } else { "steps are" };
        first.push_str(&format!("; {manual} {steps} confirmed by you"));
    }
    let others = reds.contracts.iter().filter(|red| !matches!(red.before, BaselineResult::Fails(_)));
    let mut lines: Vec<String> = [first].into_iter().chain(others.map(|red| line(plan, red))).collect();
    let unknown = judged - reds.contracts.len();
    if unknown > 0 {
        lines.push(format!("  {unknown} not run yet: planwright verify --red"));
    }
    lines
}

fn line(plan: &Plan, red: &Baseline) -> String {
    let number = plan.steps.iter().find(|step| step.id == red.step).map_or(0, |step| step.number);
    let says = match &red.before {
        BaselineResult::Fails(how) => format!("fails, as it should ({how})"),
        BaselineResult::Passes => "PASSES: proves nothing".to_owned(),
        BaselineResult::Excused(reason) => format!("passes, excused: {reason}"),
        BaselineResult::CannotRun(why) => format!("cannot run ({why})"),
    };
    clean_line(&format!("  step {number} `{}` {says}", red.step)).into_owned()
}
