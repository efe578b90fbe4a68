//! The versions of a plan that its dialect keeps in separate files, linked by name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::project::Project;

/// File extensions of versions.
const ENDINGS: &[&str] = &["md", "yaml", "yml", "json"];
/// The key that names the previous version.
const PREVIOUS: &str = "previousPlanId";

/// The files of all versions of the plan at `path`, oldest first. They end where names form a cycle or lead
/// nowhere.
pub fn of(project: &Project, path: &Path) -> Vec<PathBuf> {
    let mut chain = vec![path.to_owned()];
    let mut seen = BTreeSet::from([plan_file::name(path)]);
    let mut first = path.to_owned();
    while let Some(earlier) = previous(project, &first).and_then(|name| sibling(path, &name)) {
        if !seen.insert(plan_file::name(&earlier)) {
            break;
        }
        chain.insert(0, earlier.clone());
        first = earlier;
    }
    let others = siblings(path);
    while let Some(last) = chain.last().map(|last| plan_file::name(last)) {
        let follows = |other: &&PathBuf| previous(project, other).is_some_and(|name| name == last);
        let later = others.iter().find(follows);
        let Some(later) = later.filter(|later| seen.insert(plan_file::name(later))) else { break };
        chain.push(later.clone());
    }
    chain
}

/// The plan of this name in the same directory.
fn sibling(path: &Path, name: &str) -> Option<PathBuf> {
    let is_name = !name.is_empty() && !name.contains('/');
    let files = ENDINGS.iter().map(|ending| path.with_file_name(format!("{name}.{ending}")));
    files.filter(|_| is_name).find(|file| file.is_file())
}

fn siblings(path: &Path) -> Vec<PathBuf> {
    let has_ending =
        |path: &PathBuf| path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    if !has_ending(&path.to_owned()) {
        return Vec::new();
    }
    // An unreadable directory shows no later versions; the plan itself was read from it.
    let entries = path.parent().and_then(|folder| folder.read_dir().ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    // Markdown files are numerous; only those named like a version of this plan are read.
    let name = plan_file::name(path);
    let base = name.rsplit_once("-v").map_or(name.as_str(), |(base, _)| base).to_owned();
    let is_version = |path: &PathBuf| {
        path.extension().is_none_or(|ending| ending != "md")
            || plan_file::name(path)
                .strip_prefix(&base)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("-v"))
    };
    let mut siblings: Vec<PathBuf> = paths.filter(has_ending).filter(is_version).collect();
    siblings.sort();
    siblings
}

/// The version before the one in this file.
fn previous(project: &Project, path: &Path) -> Option<String> {
    let Ok(FileText::Plan(source)) = plan_file::read(path, "plan", project.reading()) else { return None };
    let draft = (source.dialect().skim)(&source);
    draft.frontmatter.value(PREVIOUS).map(|value| value.value.clone())
}
