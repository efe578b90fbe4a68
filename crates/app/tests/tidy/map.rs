//! ARCHITECTURE.md, the map of the source: it has a row for each folder in the order of `lib.rs`, and everything that it
//! names exists.

use crate::import::Crate;
use crate::rust;
use crate::tree::{Fault, File, assert_caught, assert_none, repository};

const MAP: &str = "ARCHITECTURE.md";
const CRATES: [&str; 3] = ["core", "engine", "app"];
const DEFINITIONS: [&str; 8] = ["struct", "enum", "trait", "type", "fn", "const", "static", "mod"];

fn untrue(files: &[File]) -> Vec<Fault> {
    let Some(map) = files.iter().find(|file| file.path == MAP) else {
        return vec![Fault::new(MAP, 1, "the map is missing")];
    };
    let mut faults = Vec::new();
    let mut section = "";
    let mut rows: Vec<(&str, usize, &str)> = Vec::new();
    for (number, line) in map.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.trim();
        }
        let folder = line.strip_prefix("| `").and_then(|rest| rest.split('`').next());
        match folder.filter(|_| CRATES.contains(&section)) {
            Some(folder) => {
                rows.push((section, number, folder));
                let base = format!("crates/{section}/src/{folder}");
                let inside: Vec<&File> = files.iter().filter(|file| is_in(&file.path, &base)).collect();
                let names = spans(line).skip(1);
                faults.extend(names.filter(|name| !is_true_of(name, &base, &inside)).map(|name| {
                    Fault::new(MAP, number, format!("`{name}` is not in folder `{folder}` of {section}"))
                }));
            }
            None => faults.extend(
                spans(line)
                    .filter(|name| !is_true(name, files))
                    .map(|name| Fault::new(MAP, number, format!("`{name}` does not exist"))),
            ),
        }
    }
    for name in CRATES {
        let root = format!("crates/{name}/src/lib.rs");
        let declared = Crate::read(files.iter().filter(|file| file.path == root), name).declared;
        let own: Vec<&(&str, usize, &str)> = rows.iter().filter(|(section, ..)| *section == name).collect();
        let number = own.first().map_or(1, |(_, number, _)| *number);
        let shown: Vec<&str> = own.iter().map(|(.., folder)| *folder).collect();
        if shown != declared {
            faults.push(Fault::new(MAP, number, format!("{root} lists {declared:?}, the map has {shown:?}")));
        }
    }
    faults
}

/// The code spans of a line.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_in(path: &str, base: &str) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Whether a folder has the file, the folder or the definition `name`.
fn is_true_of(name: &str, base: &str, inside: &[&File]) -> bool {
    if name.rsplit_once('.').is_some_and(|(_, ending)| ending == "rs") || name.ends_with('/') {
        let path = format!("{base}/{name}");
        return inside
            .iter()
            .any(|file| file.path == path || (path.ends_with('/') && file.path.starts_with(&path)));
    }
    name.split("::").all(|part| inside.iter().any(|file| defines(&file.text, part)))
}

/// Whether a path from the root or from `src` exists, or a type or constant is defined somewhere. Other words are prose.
fn is_true(name: &str, files: &[File]) -> bool {
    let root = name.split('/').next().unwrap_or_default();
    if name.contains('/') && (CRATES.contains(&root) || ["crates", "docs"].contains(&root)) {
        let rest = name.strip_prefix(root).unwrap_or_default();
        let path = match (CRATES.contains(&root), rest.starts_with("/tests/")) {
            (true, true) => format!("crates/{root}{rest}"),
            (true, false) => format!("crates/{root}/src{rest}"),
            (false, _) => name.to_owned(),
        };
        // `<name>` stands for any: its folder must exist, or the file of that name beside it.
        let known = path.split('<').next().unwrap_or_default();
        let is_part = known.len() < path.len() || known.ends_with('/');
        return files.iter().any(|file| file.path == known || (is_part && file.path.starts_with(known)));
    }
    let head = name.split("::").next().unwrap_or_default();
    let is_name = head.starts_with(|c: char| c.is_ascii_uppercase())
        && head.chars().all(|c| c.is_alphanumeric() || c == '_');
    !is_name
        || name
            .split("::")
            .all(|part| files.iter().any(|file| file.is_source_of("*") && defines(&file.text, part)))
}

fn defines(text: &str, name: &str) -> bool {
    text.contains(name)
        && DEFINITIONS.iter().any(|kind| !rust::words(text, &format!("{kind} {name}")).is_empty())
}

#[test]
fn the_map_is_true() {
    assert_none(&untrue(&repository()));
}

#[test]
fn a_map_that_is_not_true_is_caught() {
    let judge = |map: &str| {
        let mut files = vec![
            File::new(MAP, map),
            File::new("docs/reference/policy.md", ""),
            File::new("crates/core/src/lib.rs", "pub mod syntax;\npub mod plan;\n"),
            File::new("crates/core/src/plan.rs", "pub mod draft;\n"),
            File::new("crates/core/src/plan/draft.rs", "pub struct Draft;\nimpl Draft { fn apply() {} }\n"),
            File::new("crates/core/tests/run.rs", ""),
        ];
        files.extend(["engine", "app"].map(|name| File::new(&format!("crates/{name}/src/lib.rs"), "")));
        untrue(&files)
    };
    let rows = "## core\n| folder | owns |\n|---|---|\n| `syntax` | text |\n";
    assert_none(&judge(&format!(
        "{rows}| `plan` | `draft.rs` (`Draft::apply`), `draft` |\n## Next\n`Draft`, `verify`\n"
    )));
    assert_none(&judge(&format!(
        "`core/plan/<x>.rs` `core/tests/run.rs` `docs/reference/` `core/plan/`\n{rows}| `plan` | |\n"
    )));
    assert_caught(&judge(rows), "crates/core/src/lib.rs lists");
    assert_caught(
        &judge("## core\n| `plan` | |\n| `syntax` | |\n"),
        "ARCHITECTURE.md:2: crates/core/src/lib.rs lists",
    );
    let plan = |cell: &str| judge(&format!("{rows}| `plan` | {cell} |\n"));
    assert_caught(&plan("`edit.rs`"), "ARCHITECTURE.md:5: `edit.rs` is not in folder `plan` of core");
    assert_caught(&plan("`PlanDraft`"), "`PlanDraft`");
    assert_caught(&plan("`Draft::fold`"), "`Draft::fold`");
    let rest = |text: &str| judge(&format!("{rows}| `plan` | |\n## Invariants\n| x | {text} |\n"));
    assert_caught(&rest("`core/plan/edit.rs`"), "ARCHITECTURE.md:7: `core/plan/edit.rs` does not exist");
    assert_caught(&rest("`core/tests/patch.rs`"), "`core/tests/patch.rs`");
    assert_caught(&rest("`docs/rules/<rule>.md`"), "`docs/rules/<rule>.md`");
    assert_caught(&rest("`Verdict`"), "`Verdict` does not exist");
}
