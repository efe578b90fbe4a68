//! The lines about contracts before the work: whether they fail, as they should.

use planwright_engine::api::{Baseline, BaselineResult, BaselineSummary, fail_count};

use crate::output::clean_line;

/// How many fail, as they should, and each that does not.
pub(super) fn lines(summary: &BaselineSummary) -> Vec<String> {
    let BaselineSummary { judged, manual, results } = summary;
    let (fails, others): (Vec<_>, Vec<_>) =
        results.iter().partition(|(_, red)| matches!(red.before, BaselineResult::Fails(_)));
    let fails = fails.len();
    let mut first = match (*judged, fails == *judged) {
        (0, _) => "red check: no contract to run".to_owned(),
        (1, true) => format!("red check: {}, as it should", fail_count(fails, *judged)),
        (_, true) => format!("red check: {}, as they should", fail_count(fails, *judged)),
        (_, false) => format!("red check: {}", fail_count(fails, *judged)),
    };
    if *manual > 0 {
        let steps = if *manual == 1 { "step is" } else { "steps are" };
        first.push_str(&format!("; {manual} {steps} confirmed by you"));
    }
    let others = others.into_iter().map(|(number, red)| line(*number, red));
    let mut lines: Vec<String> = [first].into_iter().chain(others).collect();
    let unknown = judged - results.len();
    if unknown > 0 {
        lines.push(format!("  {unknown} not run yet: planwright verify --red"));
    }
    lines
}

fn line(number: u32, red: &Baseline) -> String {
    let says = match &red.before {
        BaselineResult::Fails(how) => format!("fails, as it should ({how})"),
        BaselineResult::Passes => "PASSES: proves nothing".to_owned(),
        BaselineResult::Excused(reason) => format!("passes, excused: {reason}"),
        BaselineResult::CannotRun(why) => format!("cannot run ({why})"),
    };
    clean_line(&format!("  step {number} `{}` {says}", red.step)).into_owned()
}
