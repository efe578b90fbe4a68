//! The records of plans in files, for verification elsewhere.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::Error;
use crate::api::path::shown;
use crate::api::workspace::Workspace;
use crate::audit;
use crate::store::journal::RunOutputs;

#[derive(Debug, Clone, Copy)]
pub struct ExportOptions<'a> {
    /// `None`: all plans.
    pub plan: Option<&'a str>,
    /// `None`: next to the code.
    pub folder: Option<&'a Path>,
    /// Whether the output of agents and contracts goes along.
    pub has_outputs: bool,
}

/// Records that were exported.
pub struct ExportedRecords {
    /// How the plan is shown to people, if one was named.
    pub plan: Option<String>,
    pub receipts: Vec<ReceiptsView>,
}

/// The record of a plan in a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReceiptsView {
    /// The plan, relative to the root of the project.
    pub plan: String,
    /// The file.
    pub path: String,
    /// How many records it has.
    pub records: usize,
    /// The hash over the ends of its ledger and of its runs.
    pub head: String,
}

impl Workspace {
    pub fn export_records(&self, options: ExportOptions<'_>) -> Result<ExportedRecords, Error> {
        let path = options.plan.map(|plan| self.project().address(plan)).transpose()?.map(|named| named.plan);
        let workspace = match &path {
            Some(path) => Self::open_for(path, self.options())?,
            None => self.clone(),
        };
        let outputs = if options.has_outputs { RunOutputs::Taken } else { RunOutputs::Left };
        let export = audit::Export { plan: path.as_deref(), folder: options.folder, outputs };
        let written = audit::export(workspace.project(), &export)?.into_iter();
        let receipts = written.map(|written| ReceiptsView {
            plan: written.plan,
            path: shown(&written.path),
            records: written.records,
            head: written.head,
        });
        Ok(ExportedRecords { plan: path.as_deref().map(shown), receipts: receipts.collect() })
    }
}
