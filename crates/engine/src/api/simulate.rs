//! What a run of a plan would do, without the checker. Starts nothing and writes nothing.

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::plan::Plan;
use crate::run::simulate::{Simulation, simulate};

impl Plan {
    pub fn simulate(&self) -> Result<Simulation, Error> {
        let path = self.shown();
        // The checker would start bash; what it alone can find out is `verify`'s to say.
        let plan = self.trusted().ok_or_else(|| {
            Error::new(ErrorKind::Refused, format!("cannot run {path}: it has errors"))
                .next(NextCommand::new(["planwright", "verify", path.as_str()]))
        })?;
        Ok(simulate(self.workspace().project(), &self.name(), &plan)?)
    }
}
