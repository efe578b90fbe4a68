//! Plan templates with variables `{{name}}`. Fills them or reports what is missing; the result is an ordinary plan and
//! verified like one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::syntax::invisible;

/// A built-in template.
#[derive(Debug, PartialEq, Eq)]
pub struct Template {
    pub name: &'static str,
    /// Its purpose, in one line.
    pub summary: &'static str,
    pub text: &'static str,
}

/// The built-in templates.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "bugfix",
        summary: "a test that shows the bug, then the fix",
        text: include_str!("template/bugfix.md"),
    },
    Template {
        name: "feature",
        summary: "a test for the feature, the feature, its documentation",
        text: include_str!("template/feature.md"),
    },
    Template {
        name: "refactor",
        summary: "a restructuring that keeps all tests passing",
        text: include_str!("template/refactor.md"),
    },
    Template {
        name: "migration",
        summary: "the same change in many files: one step per line of --each",
        text: include_str!("template/migration.md"),
    },
];

/// Variables that `planwright new` sets in every template.
pub const GIVEN: &[&str] = &["name", "title", "owner", "target"];

/// The longest variable, with its closing braces. Keeps a file full of braces from being searched to its end from each
/// of them.
const HOLE_BYTES_MAX: usize = 256;

/// Why a template can't be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfilled {
    /// Missing variables, each with the line of its first use.
    pub missing: Vec<(String, usize)>,
    /// Given variables that the template doesn't have.
    pub unknown: Vec<String>,
    /// Variables whose value is not one line.
    pub long: Vec<String>,
}

impl fmt::Display for Unfilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let missing =
            self.missing.iter().map(|(name, line)| format!("variable `{name}` (line {line}) is not set"));
        parts.extend(missing);
        parts.extend(self.unknown.iter().map(|name| format!("the template has no variable `{name}`")));
        parts.extend(self.long.iter().map(|name| format!("`{name}` is not one line of text")));
        f.write_str(&parts.join("; "))
    }
}

impl std::error::Error for Unfilled {}

/// A place in a template.
struct Hole<'a> {
    start: usize,
    end: usize,
    name: &'a str,
}

/// The variables of a template, in order of first use.
pub fn variables(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    holes(text).into_iter().filter(|hole| seen.insert(hole.name)).map(|hole| hole.name.to_owned()).collect()
}

/// Fills the template. `given` may contain unused variables; `said` may not.
pub fn fill(
    text: &str,
    said: &BTreeMap<String, String>,
    given: &BTreeMap<String, String>,
) -> Result<String, Unfilled> {
    let holes = holes(text);
    let value = |name: &str| said.get(name).or_else(|| given.get(name));
    let mut seen = BTreeSet::new();
    let missing = holes.iter().filter(|hole| value(hole.name).is_none() && seen.insert(hole.name));
    // Variables are in order, so that each line is counted once.
    let (mut counted, mut line) = (0, 1);
    let missing = missing.map(|hole| {
        line += text[counted..hole.start].matches('\n').count();
        counted = hole.start;
        (hole.name.to_owned(), line)
    });
    let names: BTreeSet<&str> = holes.iter().map(|hole| hole.name).collect();
    let is_known = |name: &&String| names.contains(name.as_str()) || given.contains_key(*name);
    let unfilled = Unfilled {
        missing: missing.collect(),
        unknown: said.keys().filter(|name| !is_known(name)).cloned().collect(),
        long: said.iter().filter(|(_, value)| !is_line(value)).map(|(name, _)| name.clone()).collect(),
    };
    if unfilled != (Unfilled { missing: Vec::new(), unknown: Vec::new(), long: Vec::new() }) {
        return Err(unfilled);
    }
    let mut filled = String::with_capacity(text.len());
    let mut at = 0;
    for hole in holes {
        filled.push_str(&text[at..hole.start]);
        filled.push_str(value(hole.name).map_or("", String::as_str));
        at = hole.end;
    }
    filled.push_str(&text[at..]);
    Ok(filled)
}

fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(['\n', '\r']) && !text.chars().any(invisible::is_hidden)
}

/// Every `{{name}}`. Double braces without a name (`{{.State}}`) are text: other programs use them too.
fn holes(text: &str) -> Vec<Hole<'_>> {
    let mut holes = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("{{").map(|found| at + found) {
        let inside = &text[start + 2..];
        let inside = &inside[..inside.floor_char_boundary(HOLE_BYTES_MAX)];
        let inside = inside.split('\n').next().unwrap_or_default();
        let name = inside.find("}}").map(|end| (&inside[..end], start + 2 + end + 2));
        let is_foreign = text[..start].ends_with('$');
        match name.filter(|(name, _)| is_name(name.trim()) && !is_foreign) {
            Some((name, end)) => {
                holes.push(Hole { start, end, name: name.trim() });
                at = end;
            }
            None => at = start + 2,
        }
    }
    holes
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "-_".contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    // P-28: every hole is filled or named, and braces of other programs are text.
    #[test]
    fn holes_are_filled_or_named() {
        let text = "a {{x}} {{ y }} {{x}}\n{{.State}} ${{ x }} {{X}} {{";
        assert_eq!(variables(text), ["x", "y"]);
        let filled = fill(text, &map(&[("x", "1"), ("y", "{{x}}")]), &map(&[("name", "n")]));
        assert_eq!(filled.as_deref(), Ok("a 1 {{x}} 1\n{{.State}} ${{ x }} {{X}} {{"));
        let unfilled =
            fill("1\n{{x}} {{y}} {{x}}", &map(&[("z", "1"), ("y", "a\nb")]), &map(&[])).expect_err("holes");
        assert_eq!(
            unfilled.to_string(),
            "variable `x` (line 2) is not set; the template has no variable `z`; `y` is not one line of text"
        );
        assert_eq!(fill("{{name}}", &map(&[]), &map(&[("name", "n"), ("title", "t")])).as_deref(), Ok("n"));
    }

    #[test]
    fn a_hole_is_short_and_on_one_line() {
        let long = format!("{{{{{}}}}}", "x".repeat(HOLE_BYTES_MAX));
        assert_eq!(variables(&long), Vec::<String>::new());
        assert_eq!(variables("{{x\n}} {{y}}"), ["y"]);
        assert_eq!(variables("{{é{{é{{x}}"), ["x"]);
        let holes = fill("{{a}}\n{{b}} {{a}}\n\n{{c}}", &map(&[]), &map(&[])).expect_err("holes");
        let missing = [("a", 1), ("b", 2), ("c", 4)].map(|(name, line)| (name.to_owned(), line));
        assert_eq!(holes.missing, missing);
    }

    // Each of these took minutes where every place was searched, or counted, from one end of the text.
    #[test]
    fn a_flood_of_braces_or_names_takes_no_time() {
        let flood = "{{".repeat(1 << 20);
        assert_eq!(variables(&flood), Vec::<String>::new());
        let names: String = (0..50_000).map(|number| format!("\n\n\n\n{{{{n{number}}}}}")).collect();
        let unfilled = fill(&names, &map(&[]), &map(&[])).expect_err("holes");
        assert_eq!(unfilled.missing.last(), Some(&("n49999".to_owned(), 200_001)));
    }
}
