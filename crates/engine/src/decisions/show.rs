//! What a plan file shows of what was decided: its state, and where its dialect keeps them the rejections. A mirror of the
//! ledger, never the truth; what can't be set is only said.

use std::path::Path;

use planwright_core::dialect::proposal;

use super::{Case, Decisions};
use crate::clock;
use crate::mirror::Mirror;
use crate::store::{self, Reading, Text};

impl Decisions {
    /// Sets the state in the plan file to where the plan stands; says what went wrong.
    pub(super) fn show(&self, path: &Path, case: &Case) -> Vec<String> {
        let Some(newest) = case.standing.newest() else { return Vec::new() };
        let Ok(source) = self.source(case, newest) else { return Vec::new() };
        let bytes_max = self.project().config.limits.plan_bytes;
        let mut mirror = Mirror::new(path, source, self.store(), bytes_max);
        mirror.rest(case.state(), case.standing.since_ms);
        mirror.complaints
    }

    /// Writes the last rejection into the body of a plan whose dialect keeps them there.
    pub(super) fn show_rejection(&self, path: &Path, case: &Case) -> Vec<String> {
        let Some(last) = case.standing.rejections.last() else { return Vec::new() };
        let bytes_max = self.project().config.limits.plan_bytes;
        let reading = Reading { bytes_max, dialect: None };
        let written = match store::read(path, "plan", reading) {
            Ok(Text::Plan(source)) if source.dialect().name == "proposal" => {
                let text = proposal::rejected(&source, last, &clock::utc(last.at_ms));
                store::save(path, &source, &source.with(text)).map(drop)
            }
            Ok(Text::Plan(_) | Text::Unreadable(_)) => Ok(()),
            Err(error) => Err(error),
        };
        written
            .err()
            .map(|error| format!("the rejection was not written into the plan: {error}"))
            .into_iter()
            .collect()
    }
}
