//! The rules of `verify`: each has a line in the list, a source file with code and name, a page and a suite, and none of
//! these stands alone.

use std::collections::BTreeSet;

use crate::rust;
use crate::tree::{Fault, File, assert_caught, assert_none, repository};

const LIST: &str = "crates/core/src/verify.rs";
const SOURCES: &str = "crates/core/src/verify/";
const PAGES: &str = "docs/reference/rules/";
const SUITES: &str = "crates/core/tests/verify/";
/// Pages about all rules.
const NOT_PAGES: [&str; 2] = ["README", "index"];

/// The modules between `rules![` and `];`, with their lines.
fn listed(list: &File) -> Vec<(usize, String)> {
    let lines = rust::lines(&list.text);
    let numbered = lines.iter().enumerate().map(|(index, line)| (index + 1, line.code.as_str()));
    let inside = numbered
        .skip_while(|(_, code)| !code.starts_with("rules!["))
        .take_while(|(_, code)| !code.starts_with(']'));
    let entries = inside.flat_map(|(number, code)| {
        code.trim_start_matches("rules![").split(',').map(move |entry| (number, entry.trim().to_owned()))
    });
    entries.filter(|(_, entry)| !entry.is_empty()).collect()
}

/// Whether the list's file declares `module` by itself: then it is something that rules share, and no rule.
fn is_shared(list: &File, module: &str) -> bool {
    let declaration = format!("mod {module};");
    rust::lines(&list.text)
        .iter()
        .any(|line| line.code.trim().trim_start_matches("pub ").starts_with(&declaration))
}

/// Code and name of a rule, from its source: the first literal that is `PW` with four digits, and the name in kebab case
/// that stands next after it or, if none does, right before it. The exact shape of the definition does not matter.
fn code_and_name(source: &File) -> Option<(&str, &str)> {
    let code_lines = source.text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let literals: Vec<&str> = code_lines.flat_map(|line| line.split('"').skip(1).step_by(2)).collect();
    let at = literals.iter().position(|literal| is_code(literal))?;
    let after = literals.get(at + 1).filter(|literal| is_name(literal));
    let before = at.checked_sub(1).map(|before| &literals[before]).filter(|literal| is_name(literal));
    after.or(before).map(|name| (literals[at], *name))
}

fn is_code(literal: &str) -> bool {
    literal
        .strip_prefix("PW")
        .is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn is_name(literal: &str) -> bool {
    !literal.is_empty() && literal.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// The file stems right inside `folder`.
fn stems<'a>(files: &[&'a File], folder: &str, ending: &str) -> BTreeSet<&'a str> {
    let inside = files.iter().filter_map(|file| file.path.strip_prefix(folder)?.strip_suffix(ending));
    inside.filter(|stem| !stem.contains('/')).collect()
}

fn disagreements<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let files: Vec<&File> = files.into_iter().collect();
    let Some(list) = files.iter().find(|file| file.path == LIST) else {
        return vec![Fault::new(LIST, 1, "is missing, and with it the list of rules")];
    };
    let rules = listed(list);
    let mut faults = Vec::new();
    let mut codes = BTreeSet::new();
    for (line, module) in &rules {
        let mut fault =
            |message: String| faults.push(Fault::new(LIST, *line, format!("rule `{module}` {message}")));
        let path = format!("{SOURCES}{module}.rs");
        let Some(source) = files.iter().find(|file| file.path == path) else {
            fault(format!("has no {path}"));
            continue;
        };
        let Some((code, name)) = code_and_name(source) else {
            fault(format!("has no code `PW…` beside a name in kebab case in {path}"));
            continue;
        };
        if !codes.insert(code) {
            fault(format!("has the code {code} of another rule"));
        }
        if name != module.replace('_', "-") {
            fault(format!("calls itself `{name}`; file and name must agree"));
        }
        missing_texts(&files, code, &module.replace('_', "-")).into_iter().for_each(fault);
    }
    let is_rule = |module: &str| rules.iter().any(|(_, rule)| rule == module);
    for stem in stems(&files, SOURCES, ".rs") {
        if !is_rule(stem) && !is_shared(list, stem) {
            faults.push(Fault::new(
                &format!("{SOURCES}{stem}.rs"),
                1,
                format!("has no line in the list of {LIST}"),
            ));
        }
    }
    for folder in [PAGES, SUITES] {
        let stems = stems(&files, folder, ".md");
        let strays = stems.into_iter().filter(|stem| !is_rule(&stem.replace('-', "_")));
        for stem in strays.filter(|stem| folder != PAGES || !NOT_PAGES.contains(stem)) {
            faults.push(Fault::new(
                &format!("{folder}{stem}.md"),
                1,
                format!("belongs to no rule in the list of {LIST}"),
            ));
        }
    }
    faults
}

/// What is wrong with the page and the suite of a rule.
fn missing_texts(files: &[&File], code: &str, name: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let (page, suite) = (format!("{PAGES}{name}.md"), format!("{SUITES}{name}.md"));
    match files.iter().find(|file| file.path == page) {
        None => messages.push(format!("has no page {page}")),
        Some(found) if !found.text.contains(code) => {
            messages.push(format!("is {code}, which {page} does not name"));
        }
        Some(_) => {}
    }
    if !files.iter().any(|file| file.path == suite) {
        messages.push(format!("has no suite {suite}"));
    }
    messages
}

#[test]
fn every_rule_has_its_line_its_file_its_page_and_its_suite() {
    let files = repository();
    assert_none(&disagreements(&files));
    let list = files.iter().find(|file| file.path == LIST).expect("a missing list was a fault");
    assert!(
        !listed(list).is_empty(),
        "{LIST}: no rule was found between `rules![` and `];`; has the list another form?"
    );
}

/// A rule with all its parts, and a file that rules share.
fn whole() -> [File; 5] {
    [
        File::new(LIST, "//! Rules.\nmod subject;\nrules![\n    unmade_file, // first\n];\n"),
        File::new(
            "crates/core/src/verify/unmade_file.rs",
            "const RULE: Rule = Rule { code: \"PW0203\", name: \"unmade-file\" };\n",
        ),
        File::new("docs/reference/rules/unmade-file.md", "# PW0203: unmade-file\n"),
        File::new("crates/core/tests/verify/unmade-file.md", ""),
        File::new("crates/core/src/verify/subject.rs", ""),
    ]
}

#[test]
fn a_rule_that_lacks_one_of_its_four_parts_is_caught() {
    assert_none(&disagreements(&whole()));
    let without = |part: usize| {
        let files = whole();
        disagreements(files.iter().enumerate().filter(|(index, _)| *index != part).map(|(_, file)| file))
    };
    assert_caught(&without(0), "verify.rs:1: is missing");
    assert_caught(
        &without(1),
        "verify.rs:4: rule `unmade_file` has no crates/core/src/verify/unmade_file.rs",
    );
    assert_caught(&without(2), "has no page docs/reference/rules/unmade-file.md");
    assert_caught(&without(3), "has no suite crates/core/tests/verify/unmade-file.md");
}

#[test]
fn a_file_a_page_or_a_suite_without_its_rule_is_caught() {
    let with = |path: &str| {
        let stray = File::new(path, "");
        disagreements(whole().iter().chain([&stray]))
    };
    for path in [
        "crates/core/src/verify/cycle.rs",
        "docs/reference/rules/cycle.md",
        "crates/core/tests/verify/cycle.md",
    ] {
        assert_caught(&with(path), path);
    }
    assert_none(&with("docs/reference/rules/README.md"));
}

#[test]
fn a_rule_whose_parts_disagree_is_caught() {
    let change = |part: usize, from: &str, to: &str| {
        let mut files = whole();
        files[part].text = files[part].text.replace(from, to);
        disagreements(&files)
    };
    assert_caught(&change(1, "unmade-file", "unmade-files"), "calls itself `unmade-files`");
    assert_caught(&change(1, "PW0203", "PW203"), "has no code");
    assert_caught(
        &change(2, "PW0203", "PW0999"),
        "is PW0203, which docs/reference/rules/unmade-file.md does not name",
    );
    let mut twice = whole();
    twice[0].text = twice[0].text.replace("unmade_file,", "unmade_file, unmade_file,");
    assert_caught(&disagreements(&twice), "the code PW0203 of another rule");
}
