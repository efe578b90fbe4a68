//! How our own git folder joins plans and progress files: by what they say, with this very program, as `merge-driver` does it for
//! those who set it up.

use std::path::Path;

use crate::git::merge_driver::PATTERNS;

/// The setting that names the driver; `None` where this program does not know where it lies.
pub(super) fn setting() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    // Git hands the line to a shell, and fills in what stands behind a percent sign.
    let quoted = program.to_str()?.replace('\'', "'\\''").replace('%', "%%");
    Some(format!("merge.planwright.driver='{quoted}' merge-driver %O %A %B %L %P"))
}

/// Which files it is for, in a project that is this part of its repository.
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
