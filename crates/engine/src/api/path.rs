//! How a path is shown to people.

use std::path::Path;

use crate::agent::planning_session;

/// A path relative to the current directory, if it is below it.
pub fn shown(path: &Path) -> String {
    // What a planner committed is in the state directory, under a name that can be typed.
    if let Some(name) = planning_session::name_of_copy(path) {
        return name;
    }
    let here = std::env::current_dir();
    let below = here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    let below = below.unwrap_or_else(|| path.to_owned());
    let text = below.to_string_lossy();
    let text = text.trim_start_matches("./");
    // A name that would be read as an option is written so that it can be typed.
    if text.starts_with('-') && text != "-" { format!("./{text}") } else { text.to_owned() }
}
