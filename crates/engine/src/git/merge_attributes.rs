//! How our own git directory merges plans and progress files: by meaning, through this same program, as
//! `merge-driver` does for those who set it up.

use std::path::Path;

use crate::git::merge_driver::PATTERNS;

/// The setting that names the merge driver; `None` if this program does not know its own path.
pub(super) fn setting() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    // Git passes the line to a shell, and expands percent placeholders.
    let quoted = program.to_str()?.replace('\'', "'\\''").replace('%', "%%");
    Some(format!("merge.planwright.driver='{quoted}' merge-driver %O %A %B %L %P"))
}

/// The files it applies to, in a project at this part of its repository.
pub(super) fn attributes(part: &Path) -> String {
    let lines = PATTERNS.iter().map(|pattern| {
        let is_anywhere = !pattern.contains('/') || part.as_os_str().is_empty();
        let pattern = if is_anywhere {
            (*pattern).to_owned()
        } else {
            part.join(pattern).to_string_lossy().into_owned()
        };
        format!("{} merge=planwright\n", serde_json::Value::from(pattern))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_with_a_folder_are_those_of_the_project() {
        let web = attributes(Path::new("my web"));
        assert!(web.contains("\"my web/plans/**/*.md\" merge=planwright\n"), "{web}");
        assert!(web.contains("\"PLAN*.md\" merge=planwright\n"), "{web}");
        assert!(attributes(Path::new("")).starts_with("\"plans/**/*.md\" merge=planwright\n"));
    }
}
