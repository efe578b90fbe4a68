//! The parts of a workspace's git directory that matter: whatever runs code as the user, or leads git to
//! something that does. Commits, branches and a fresh `git init` leave it unchanged, so that an agent that
//! merely uses git is never blamed. Never runs git.

use std::collections::BTreeMap;
use std::path::Path;

use planwright_core::agent::permission::STEERING_GIT;

use super::{Error, FILES_MAX, Look, data_of, names_in, text_of};

/// How much of a file is read; of a larger one only the metadata counts.
const BYTES_MAX: u64 = 1 << 20;
/// Settings that neither run anything nor lead anywhere: git writes them itself, or they name the committer.
const QUIET: &[(&str, &[&str])] = &[
    ("branch", &["remote", "merge", "rebase", "description", "pushremote"]),
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
        ],
    ),
    ("extensions", &["objectformat", "worktreeconfig"]),
    ("init", &["defaultbranch"]),
    ("user", &["name", "email"]),
];

/// What steers the git of a workspace, by relative path.
pub(super) fn steering(root: &Path) -> Result<BTreeMap<String, Look>, Error> {
    let mut files = BTreeMap::new();
    let mut paths: Vec<String> = STEERING_GIT.iter().map(|&path| path.to_owned()).collect();
    while let Some(path) = paths.pop() {
        let whole = root.join(&path);
        let Some(data) = data_of(&whole)? else { continue };
        if data.is_dir() {
            // Of the git directory itself only the rest of the list is read.
            if path != ".git" {
                let names = names_in(&whole)?.unwrap_or_default();
                paths.extend(names.iter().map(|name| format!("{path}/{}", name.to_string_lossy())));
            }
            continue;
        }
        // Git creates these as examples, and runs none of them.
        if path.ends_with(".sample") || files.len() >= FILES_MAX {
            continue;
        }
        let is_readable = data.is_file() && data.len() <= BYTES_MAX;
        let text = || if is_readable { text_of(&whole, BYTES_MAX) } else { Ok(None) };
        let lines = match path.as_str() {
            ".git/config" | ".git/config.worktree" => text()?.map(|text| settings(&text)),
            ".git/info/attributes" | ".git/info/exclude" => text()?.map(|text| rules(&text)),
            _ => None,
        };
        match lines {
            // An empty one is as good as none.
            Some(lines) if lines.is_empty() => {}
            Some(lines) => drop(files.insert(path, Look::Lines(lines))),
            None => drop(files.insert(path, Look::of(&data))),
        }
    }
    Ok(files)
}

/// The lines of a pattern list, without comments.
fn rules(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// The settings that may run something, each with its section. Anything but one plain setting per line counts
/// as it is.
fn settings(text: &str) -> Vec<String> {
    let mut section = String::new();
    let mut found = Vec::new();
    let mut is_continued = false;
    for line in text.lines().map(str::trim) {
        let was_continued = std::mem::replace(&mut is_continued, line.ends_with('\\'));
        let is_silent = line.is_empty() || line.starts_with(['#', ';']);
        match section_in(line) {
            _ if was_continued || is_continued => found.push(line.to_owned()),
            _ if is_silent => {}
            Some(name) => section = name,
            None if line.starts_with('[') => {
                section.clear();
                found.push(line.to_owned());
            }
            None if is_quiet(&section, line) => {}
            None => found.push(format!("[{section}] {line}")),
        }
    }
    found
}

/// The section that a line starts; `None` if the line contains more.
fn section_in(line: &str) -> Option<String> {
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_plain = !name.contains([']', '[', '\\']) && matches!(name.matches('"').count(), 0 | 2);
    is_plain.then(|| name.to_owned())
}

fn is_quiet(section: &str, line: &str) -> bool {
    let section = section.split([' ', '\t', '"']).next().unwrap_or_default().to_lowercase();
    let key = line.split('=').next().unwrap_or_default().trim().to_lowercase();
    QUIET.iter().any(|(known, keys)| *known == section && keys.contains(&key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn settings_that_run_nothing_do_not_count() {
        let quiet = "[core]\n\tbare = false\n\tlogallrefupdates = true\n# a\n[user]\n\tname = A = B\n\
                     [branch \"a b\"]\n\tremote = origin\n\tmerge = refs/heads/a\n";
        assert_eq!(settings(quiet), Vec::<String>::new());
        for loud in [
            "[core]\nfsmonitor = ./x",
            "[core] fsmonitor = ./x",
            "[CORE]\nhooksPath = x",
            "[include]\npath = x",
            "[user]\nname = a\\\n[core]\nbare = false",
            "[user]\nname = \\\n",
            "# a\\\nfsmonitor = x",
            "[branch \"a\"]\nmergeoptions = x",
            "[branch \"a\\\"] [core\"]\nremote = x",
            "[alias]\nst = !x",
            "[filter \"a\"]\nclean = x",
            "fsmonitor = x",
        ] {
            assert_ne!(settings(loud), Vec::<String>::new(), "{loud:?}");
        }
    }
}
