//! How often contracts passed and failed. A contract that never failed may prove nothing.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::StepRecord;
use crate::run::baseline::{Baseline, BaselineResult};
use crate::run::event::{Event, StepEvent};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContractFigures {
    pub plan: String,
    pub step: String,
    pub command: String,
    pub passed: usize,
    /// At any time, not just in the period.
    pub failed: usize,
    /// Whether it failed before the work.
    pub fails_before: bool,
    /// If so, it may prove nothing.
    pub has_never_failed: bool,
}

/// What is known about one contract of a step, by hash: a changed command is another contract.
#[derive(Debug, Default)]
struct Known {
    command: String,
    passed: usize,
    failed: usize,
    is_recent: bool,
}

#[derive(Debug, Default)]
pub(super) struct Contracts {
    /// By plan, step and hash.
    known: BTreeMap<(String, String, String), Known>,
    /// Hashes of contracts that failed before the work.
    red: BTreeSet<String>,
}

impl Contracts {
    pub(super) fn count(&mut self, record: &StepRecord<'_>, since_ms: u64) {
        for (at_ms, event) in record.events {
            let Event::Step { step, event: StepEvent::Judged { receipt, .. } } = event else { continue };
            let key = (record.name.to_owned(), step.clone(), receipt.contract.clone());
            let known = self.known.entry(key).or_default();
            if known.command.is_empty() {
                let meant = record.plan.steps.iter().find(|one| one.id == *step);
                let command = meant.and_then(|step| step.contract.command());
                command.unwrap_or_default().clone_into(&mut known.command);
            }
            known.is_recent |= *at_ms >= since_ms;
            match receipt.verdict.is_passed() {
                true => known.passed += usize::from(*at_ms >= since_ms),
                false => known.failed += 1,
            }
        }
    }

    pub(super) fn count_red(&mut self, red: &[Baseline]) {
        let failed = red.iter().filter(|red| matches!(red.before, BaselineResult::Fails(_)));
        self.red.extend(failed.map(|red| red.contract.clone()));
    }

    /// Those that ran in the period.
    pub(super) fn figures(self) -> Vec<ContractFigures> {
        let Self { known, red } = self;
        let recent = known.into_iter().filter(|(_, known)| known.is_recent);
        let figures = recent.map(|((plan, step, contract), known)| {
            let fails_before = red.contains(&contract);
            ContractFigures {
                plan,
                step,
                command: known.command,
                passed: known.passed,
                failed: known.failed,
                fails_before,
                has_never_failed: known.passed > 0 && known.failed == 0 && !fails_before,
            }
        });
        figures.collect()
    }
}
