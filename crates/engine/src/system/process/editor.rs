//! Opens a file in the user's editor and waits for it. The editor has the terminal: it is not supervised, and a person ends
//! it.

use std::path::Path;
use std::process::{Command, ExitStatus};

use super::Error;

/// The variables that name the editor, the first that is set wins.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];
const DEFAULT: &str = "vi";

/// Edits a file. The variable may hold options: like git, a shell takes it apart.
pub fn edit(path: &Path) -> Result<ExitStatus, Error> {
    let named = VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
    let editor =
        named.into_iter().find(|editor| !editor.trim().is_empty()).unwrap_or_else(|| DEFAULT.to_owned());
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$@\"")).arg("sh").arg(path);
    command.status().map_err(|source| Error::Start { program: editor, source })
}
