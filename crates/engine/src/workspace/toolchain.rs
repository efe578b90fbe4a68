//! The kind of a project: which command runs its tests. Only looks at files; runs nothing.

use planwright_core::plan::draft::Draft;
use planwright_core::verify::suggest;
use planwright_core::verify::suggest::ProjectFiles as Kind;

use crate::store::plan_file;
use crate::workspace::project::Project;

const BYTES_MAX: u64 = 1 << 20;

/// What is known about the project for contracts of this plan.
pub fn of(project: &Project, draft: &Draft) -> Kind {
    let has = |name: &str| project.root.join(name).is_file();
    let text = |name: &str| plan_file::read_text(&project.root.join(name), BYTES_MAX).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&text("package.json")).unwrap_or_default();
    let rules = text("Makefile");
    let targets = rules.lines().filter_map(|line| {
        let (name, behind) = line.split_once(':')?;
        let is_target = !behind.starts_with('=') && !name.is_empty();
        let is_plain =
            name.chars().all(|character| character.is_ascii_alphanumeric() || "-_".contains(character));
        (is_target && is_plain).then(|| name.to_owned())
    });
    let is_there = |path: &String| project.root.join(path).exists();
    Kind {
        has_cargo: has("Cargo.toml"),
        has_npm_test: package["scripts"]["test"].is_string(),
        has_python: has("pyproject.toml") || has("setup.py"),
        has_go: has("go.mod"),
        make_targets: targets.collect(),
        present: suggest::paths(draft).into_iter().filter(is_there).collect(),
    }
}
