//! Merges finished plans into a branch.

use std::path::PathBuf;

use crate::api::caller::Right;
use crate::api::error::Error;
use crate::api::error::merge::merge_failed;
use crate::api::next::NextCommand;
use crate::api::workspace::Workspace;
use crate::portfolio::merge_queue;
use crate::portfolio::merge_queue::{MergeAction, MergeNotice, MergeOptions, MergeReport};
use crate::system::process::Stop;

/// What is merged into what.
#[derive(Debug, Clone, Copy)]
pub struct MergeRequest<'a> {
    /// Empty: every finished plan with a branch.
    pub plans: &'a [String],
    /// `None`: the current branch.
    pub into: Option<&'a str>,
    pub act: MergeAction,
}

impl MergeRequest<'_> {
    /// The command that merges them.
    pub fn command(&self) -> NextCommand {
        let words = ["planwright", "merge"].into_iter().chain(self.plans.iter().map(String::as_str));
        NextCommand::new(words.chain(self.into.iter().flat_map(|into| ["--into", into])))
    }
}

impl Workspace {
    /// Merges plans. `watch` receives progress.
    pub fn merge(
        &self,
        request: &MergeRequest<'_>,
        stop: &Stop,
        watch: &mut dyn FnMut(MergeNotice<'_>),
    ) -> Result<MergeReport, Error> {
        self.caller().may(Right::Merge)?;
        let mut plans: Vec<PathBuf> = Vec::new();
        for name in request.plans {
            let plan = self.project().address(name)?.plan;
            if !plans.contains(&plan) {
                plans.push(plan);
            }
        }
        let options = MergeOptions { plans, into: request.into.map(str::to_owned), act: request.act };
        merge_queue::merge(self.project(), &options, &self.caller().identity(), stop, watch)
            .map_err(|error| merge_failed(error, || request.command()))
    }
}
