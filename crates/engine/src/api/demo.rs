//! A repository to try planwright in.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::store::plan_file;
use crate::system::process;

/// A demo that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DemoView {
    /// The directory.
    pub folder: String,
}

/// Creates a repository in a new directory, with this plan as `plans/hello.md`.
pub fn create_demo(folder: &str, plan: &str) -> Result<DemoView, Error> {
    let path = Path::new(folder);
    match plan_file::create_folder(path) {
        Ok(()) => {}
        Err(plan_file::Error::Exists { .. }) => {
            return Err(Error::new(ErrorKind::Usage, format!("{folder} already exists"))
                .hint("pass another directory")
                .next(NextCommand::new(["planwright", "demo", format!("{folder}-2").as_str()])));
        }
        Err(error) => return Err(error.into()),
    }
    plan_file::create(&path.join("plans/hello.md"), plan)?;
    process::init_repository(path).map_err(|error| {
        Error::from_error(ErrorKind::Machine, &error).hint("the demo creates a git repository")
    })?;
    Ok(DemoView { folder: folder.to_owned() })
}
