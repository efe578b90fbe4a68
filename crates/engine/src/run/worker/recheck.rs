//! Runs the contract of a finished step again, on the tree that is there.

use planwright_core::plan::verified::Step;
use planwright_core::run::receipt::Receipt;

use super::Worker;
use crate::git::base;
use crate::system::fault::Fault;
use crate::system::process::Stop;

impl Worker {
    /// The hash of the workspace, as receipts name it.
    pub(crate) fn tree(&self) -> Result<String, Fault> {
        base::tree_of_workspace(&self.root, &self.own).map_err(|error| Fault::of(&error))
    }

    /// The receipt of a step's contract for the workspace as it is, and what the contract printed. `None` if it was
    /// interrupted before it could tell anything. No agent has a hand in this.
    pub(crate) fn check_again(&self, step: &Step, stop: &Stop) -> Result<Option<(Receipt, Vec<u8>)>, Fault> {
        let tree = self.tree()?;
        let tag = format!("{}/{}/again/contract", self.tag, step.id);
        let Some(seen) = self.runner(&self.root).run(step, &self.for_contracts, &tag, stop)? else {
            return Ok(None);
        };
        let receipt = Receipt::new(&seen, None, self.provenance(tree));
        Ok(Some((receipt, seen.output.into_bytes())))
    }
}
