//! Stands in for what is being built beside this.

pub(crate) mod seal {
    use std::collections::BTreeMap;
    use std::path::Path;

    use planwright_core::plan::Plan;

    use crate::decisions::Error;

    pub(crate) fn of(_root: &Path, _plan: &Plan) -> Result<BTreeMap<String, String>, Error> {
        Ok(BTreeMap::new())
    }

    pub(crate) fn moved(_then: &BTreeMap<String, String>, _now: &BTreeMap<String, String>) -> Vec<String> {
        Vec::new()
    }
}
