//! The table docs/contributing/features.md: an id stands once, and `works` is said only of what a test shows.

use std::collections::BTreeMap;

use crate::rust;
use crate::tree::{Fault, File, assert_caught, assert_none, repository};

const TABLE: &str = "docs/contributing/features.md";

struct Row<'a> {
    line: usize,
    id: &'a str,
    state: &'a str,
    shown_by: &'a str,
}

/// The rows of the table, and a fault for each line that looks like one and is none.
fn rows(table: &File) -> (Vec<Row<'_>>, Vec<Fault>) {
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for (line, text) in table.lines() {
        let Some(inside) = text.trim_end().strip_prefix('|').and_then(|text| text.strip_suffix('|')) else {
            continue;
        };
        let cells: Vec<&str> = inside.split('|').map(str::trim).collect();
        match cells[..] {
            ["id" | "---", ..] => {}
            [id, _, state, shown_by] if is_id(id) => rows.push(Row { line, id, state, shown_by }),
            _ => faults.push(Fault::new(&table.path, line, "a row is `| A-01 | what | state | shown by |`")),
        }
    }
    (rows, faults)
}

fn is_id(text: &str) -> bool {
    let (letter, digits) = text.split_once('-').unwrap_or_default();
    letter.len() == 1
        && letter.bytes().all(|b| b.is_ascii_uppercase())
        && digits.len() == 2
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a file is a test that names `id`, in any words (`A-14`) or in the name of a function (`a_14_…`).
fn shows(file: &File, id: &str) -> bool {
    // Most files name no id at all, and taking one apart is dear.
    let in_name = id.to_lowercase().replace('-', "_");
    if !file.text.contains(id) && !file.text.contains(&in_name) {
        return false;
    }
    let mut parts = file.path.split('/');
    let is_in_crate = parts.next() == Some("crates") && parts.next().is_some();
    let folder = parts.next().unwrap_or_default();
    // The checks of this table name ids that they only make up.
    if !is_in_crate || file.path.starts_with("crates/app/tests/tidy") {
        return false;
    }
    match folder {
        "tests" => file.text.lines().any(|line| names(line, id)),
        "src" if file.is_test_module() => file.text.lines().any(|line| names(line, id)),
        "src" => {
            let is_test = rust::lines_in_tests(&rust::lines(&file.text));
            file.text.lines().zip(is_test).any(|(line, is_test)| is_test && names(line, id))
        }
        _ => false,
    }
}

fn names(line: &str, id: &str) -> bool {
    let mut functions = line.split_whitespace().skip_while(|word| *word != "fn").skip(1).take(1);
    let in_name = format!("_{}_", id.to_lowercase().replace('-', "_"));
    !rust::words(line, id).is_empty()
        || functions
            .any(|name| format!("_{}_", name.split('(').next().unwrap_or_default()).contains(&in_name))
}

fn unfounded<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let files: Vec<&File> = files.into_iter().collect();
    let Some(table) = files.iter().find(|file| file.path == TABLE) else {
        return vec![Fault::new(TABLE, 1, "is missing")];
    };
    let (rows, mut faults) = rows(table);
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &rows {
        let mut fault = |message: String| faults.push(Fault::new(TABLE, row.line, message));
        let id = row.id;
        if let Some(line) = first.insert(id, row.line) {
            fault(format!("{id} stands on line {line} too"));
        }
        for name in row.shown_by.split('`').skip(1).step_by(2) {
            if let Some(message) = missing_test(&files, name) {
                fault(format!("{id}: {message}"));
            }
        }
        match row.state {
            "works" if !row.shown_by.contains('`') => {
                fault(format!("{id} works, but names no test that shows it"));
            }
            "works" if !files.iter().any(|file| shows(file, id)) => {
                fault(format!("{id} works, but no test names {id}"));
            }
            "planned" | "works" => {}
            state => fault(format!("{id} is `{state}`; a state is `works` or `planned`")),
        }
    }
    faults
}

/// Why a test that the table names as `path` or `path::name` is not there.
fn missing_test(files: &[&File], name: &str) -> Option<String> {
    let (path, function) = name.split_once("::").unwrap_or((name, ""));
    let Some(file) = files.iter().find(|file| file.path == path) else {
        return Some(format!("file {path} not found"));
    };
    // The last part is the function; what stands before it are modules.
    let function = function.rsplit("::").next().unwrap_or_default();
    let is_there = function.is_empty() || file.text.contains(&format!("fn {function}("));
    (!is_there).then(|| format!("{path} has no test {function}"))
}

#[test]
fn what_works_is_shown_by_a_test() {
    let files = repository();
    assert_none(&unfounded(&files));
    let table = files.iter().find(|file| file.path == TABLE).expect("a missing table was a fault");
    assert!(!rows(table).0.is_empty(), "{TABLE}: no row was found; has the table another form?");
}

#[test]
fn a_claim_without_its_test_is_caught() {
    let judge = |rows: &str, test: &File| {
        unfounded([&File::new(TABLE, &format!("| id | what | state | shown by |\n{rows}")), test])
    };
    let test =
        File::new("crates/core/tests/plan.rs", "// Z-01\nfn a_plan_is_read() {}\nfn z_02_holds() {}\n");
    assert_none(&judge("| Z-01 | a | works | `crates/core/tests/plan.rs::a_plan_is_read` |", &test));
    assert_none(&judge("| Z-02 | a | works | `crates/core/tests/plan.rs` |", &test));
    assert_none(&judge("| Z-03 | a | planned | |", &test));
    assert_caught(
        &judge("| Z-01 | a | works | |", &test),
        "docs/contributing/features.md:2: Z-01 works, but names no test",
    );
    assert_caught(&judge("| Z-03 | a | works | `crates/core/tests/plan.rs` |", &test), "no test names Z-03");
    assert_caught(
        &judge("| Z-01 | a | works | `crates/core/tests/gone.rs` |", &test),
        "file crates/core/tests/gone.rs not found",
    );
    assert_caught(
        &judge("| Z-01 | a | works | `crates/core/tests/plan.rs::gone` |", &test),
        "has no test gone",
    );
    assert_caught(
        &judge("| Z-01 | a | planned | |\n| Z-01 | b | planned | |", &test),
        "features.md:3: Z-01 stands on line 2",
    );
    assert_caught(&judge("| Z-01 | a | done | |", &test), "`done`");
    assert_caught(&judge("| Z-01 | a | planned |", &test), "a row is");
}

#[test]
fn only_tests_can_show_a_feature() {
    let shown = |path: &str, text: &str| shows(&File::new(path, text), "Z-01");
    assert!(shown("crates/core/tests/verify/cycle.md", "Z-01"));
    assert!(shown("crates/core/src/plan.rs", "//! Plan.\n#[cfg(test)]\nmod tests {\n    // Z-01\n}\n"));
    assert!(shown("crates/core/src/plan/tests.rs", "// Z-01"));
    assert!(!shown("crates/core/src/plan.rs", "//! Z-01\n#[cfg(test)]\nmod tests {\n}\n"));
    assert!(!shown("crates/core/tests/plan.rs", "// Z-011 and AZ-01"));
    assert!(!shown("crates/app/tests/tidy/feature.rs", "Z-01"));
    assert!(!shown("docs/reference/plan-format.md", "Z-01"));
}
