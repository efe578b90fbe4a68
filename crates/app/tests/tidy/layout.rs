//! The shape of the source tree: how long files are, what they are called, how modules are laid out and how they open.

use crate::rust;
use crate::tree::{Fault, File, assert_caught, assert_none, repository};

const LINES_MAX: usize = 800;
const LINES_QUESTION: usize = 400;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] = ["common", "helpers", "manager", "misc", "service", "types", "utils", "v2"];

fn longer_than<'a>(files: impl IntoIterator<Item = &'a File>, lines_max: usize) -> Vec<Fault> {
    let rust = files.into_iter().filter(|file| file.is_rust());
    let long = rust.filter(|file| file.text.lines().count() > lines_max);
    long.map(|file| {
        let lines = file.text.lines().count();
        Fault::new(
            &file.path,
            lines_max + 1,
            format!("{lines} lines, more than {lines_max}: find the second idea and move it"),
        )
    })
    .collect()
}

fn empty_names<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.into_iter().filter(|file| file.is_rust()) {
        let parts = file.path.trim_end_matches(".rs").split('/');
        for name in parts.filter(|part| EMPTY_NAMES.contains(part)) {
            faults.push(Fault::new(
                &file.path,
                1,
                format!("`{name}` says nothing about what is inside; name the idea"),
            ));
        }
        for (index, line) in rust::lines(&file.text).iter().enumerate() {
            let mut words =
                line.code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            let module = words.find(|word| *word == "mod").and_then(|_| words.next());
            if let Some(name) = module.filter(|name| EMPTY_NAMES.contains(name)) {
                faults.push(Fault::new(
                    &file.path,
                    index + 1,
                    format!("module `{name}` says nothing about what is inside"),
                ));
            }
        }
    }
    faults
}

fn wrong_module_form<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let rust: Vec<&File> = files.into_iter().filter(|file| file.is_rust()).collect();
    let mut faults = Vec::new();
    for file in &rust {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        if name == "mod.rs" {
            faults.push(Fault::new(
                &file.path,
                1,
                format!("a module is `{folder}.rs` beside its folder, not mod.rs"),
            ));
        }
        // Files right under src and src/bin are crate roots or modules of one; they have no parent file.
        let is_nested = file.is_source_of("*") && !folder.ends_with("/src") && !folder.ends_with("/src/bin");
        let parent = format!("{folder}.rs");
        if is_nested && name != "mod.rs" && !rust.iter().any(|other| other.path == parent) {
            faults.push(Fault::new(
                &file.path,
                1,
                format!("the folder has no {parent}, so nothing declares this module"),
            ));
        }
    }
    faults
}

fn unopened_modules<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let sources = files.into_iter().filter(|file| file.is_source_of("*"));
    let unopened = sources.filter(|file| !file.text.starts_with("//!"));
    unopened
        .map(|file| {
            Fault::new(&file.path, 1, "opens without `//!`: say what the module owns and what it never does")
        })
        .collect()
}

/// A file `tests.rs` counts as tests in the other checks, so nothing else may hide there.
fn undeclared_tests<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let sources: Vec<&File> = files.into_iter().filter(|file| file.is_source_of("*")).collect();
    let mut faults = Vec::new();
    for file in sources.iter().filter(|file| file.is_test_module()) {
        let folder = file.path.trim_end_matches("/tests.rs");
        let parents = [format!("{folder}.rs"), format!("{folder}/lib.rs"), format!("{folder}/main.rs")];
        let is_declared = sources.iter().filter(|source| parents.contains(&source.path)).any(|parent| {
            let lines = rust::lines(&parent.text);
            let is_test = rust::lines_in_tests(&lines);
            lines.iter().zip(is_test).any(|(line, is_test)| is_test && line.code.contains("mod tests;"))
        });
        if !is_declared {
            faults.push(Fault::new(
                &file.path,
                1,
                "its parent does not declare it as `#[cfg(test)] mod tests;`",
            ));
        }
    }
    faults
}

#[test]
fn files_end_before_line_800() {
    let files = repository();
    for long in longer_than(&files, LINES_QUESTION) {
        println!("question, not a fault: {long}");
    }
    assert_none(&longer_than(&files, LINES_MAX));
}

#[test]
fn a_file_of_801_lines_is_caught() {
    let long = File::new("crates/core/src/long.rs", &"//\n".repeat(801));
    assert_caught(&longer_than([&long], LINES_MAX), "crates/core/src/long.rs:801: 801 lines");
    let short = File::new("crates/core/src/short.rs", &"//\n".repeat(800));
    assert_none(&longer_than([&short], LINES_MAX));
}

#[test]
fn names_say_what_is_inside() {
    assert_none(&empty_names(&repository()));
}

#[test]
fn a_file_a_folder_or_a_module_with_an_empty_name_is_caught() {
    assert_caught(&empty_names([&File::new("crates/core/src/utils.rs", "")]), "`utils`");
    assert_caught(&empty_names([&File::new("crates/core/tests/common/plan.rs", "")]), "`common`");
    let inline = File::new("crates/core/src/plan.rs", "// mod misc\npub(crate) mod types {}");
    assert_caught(&empty_names([&inline]), "plan.rs:2: module `types`");
}

#[test]
fn a_module_is_a_file_beside_its_folder() {
    assert_none(&wrong_module_form(&repository()));
}

#[test]
fn a_mod_rs_and_a_folder_without_its_file_are_caught() {
    let old = File::new("crates/core/src/verify/mod.rs", "");
    assert_caught(&wrong_module_form([&old]), "crates/core/src/verify.rs");
    let orphan = File::new("crates/core/src/verify/cycle.rs", "");
    assert_caught(&wrong_module_form([&orphan]), "the folder has no crates/core/src/verify.rs");
    assert_none(&wrong_module_form([&orphan, &File::new("crates/core/src/verify.rs", "")]));
}

#[test]
fn every_source_file_opens_by_saying_what_it_owns() {
    assert_none(&unopened_modules(&repository()));
}

#[test]
fn a_source_file_without_an_opening_is_caught() {
    let silent = File::new("crates/core/src/plan.rs", "// not a module comment\n//! too late\n");
    assert_caught(&unopened_modules([&silent]), "crates/core/src/plan.rs:1: opens without");
}

#[test]
fn a_file_of_tests_is_built_for_tests_only() {
    assert_none(&undeclared_tests(&repository()));
}

#[test]
fn a_file_of_tests_that_is_always_built_is_caught() {
    let tests = File::new("crates/core/src/plan/tests.rs", "");
    let parent = |text: &str| File::new("crates/core/src/plan.rs", text);
    assert_caught(&undeclared_tests([&tests, &parent("mod tests;\n")]), "plan/tests.rs:1");
    assert_none(&undeclared_tests([&tests, &parent("#[cfg(test)]\nmod tests;\n")]));
}
