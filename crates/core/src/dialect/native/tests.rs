//! Unit tests of the native dialect: its field table agrees with the docs, and listing agrees with full parsing.

use super::{DIALECT, field};
use crate::plan::draft::Draft;
use crate::syntax::source::Source;

const FORMATS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/plan-format.md"));

/// The words in backticks of a cell.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_page_about_formats_lists_every_field_with_all_its_names() {
    let (_, section) =
        FORMATS.split_once("### Fields\n").expect("docs/reference/plan-format.md has a section about fields");
    let (section, _) = section.split_once("\nForms:").expect("the table ends in front of the forms");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let listed: Vec<Vec<&str>> =
        rows.map(|row| row.split('|').skip(1).take(2).flat_map(names).collect()).collect();
    let known: Vec<Vec<&str>> = field::FIELDS.iter().map(|(_, names)| names.to_vec()).collect();
    assert_eq!(listed, known);
}

#[test]
fn a_list_shows_what_a_whole_reading_shows() {
    let plans = [
        include_str!("../../../tests/native/seed-a-1.md"),
        include_str!("../../../tests/native/seed-a-3.md"),
        "---\ntype: plan\nstatus: done\n---\n# T\n### 1. ✅ A\n**task:** x\n### 2. B\n**status: done**\n### 3. C\n**Status:** failed\n",
    ];
    for plan in plans {
        let source = Source::new("plan.md", plan);
        let (whole, skimmed) = ((DIALECT.parse)(&source), (DIALECT.skim)(&source));
        let shown = |draft: &Draft| {
            let marks: Vec<_> =
                draft.steps.iter().map(|step| (step.title.value.clone(), step.mark())).collect();
            (draft.frontmatter.clone(), draft.title.clone(), marks)
        };
        assert_eq!(shown(&whole), shown(&skimmed));
    }
}
