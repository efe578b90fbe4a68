//! What the page about the native format says about fields is what the table of fields says.

use super::field;

const FORMATS: &str = include_str!("../../../../../docs/formats.md");

/// The words in backticks of a cell.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_page_about_formats_lists_every_field_with_all_its_names() {
    let (_, section) =
        FORMATS.split_once("### Fields\n").expect("docs/formats.md has a section about fields");
    let (section, _) = section.split_once("\nForms:").expect("the table ends in front of the forms");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let listed: Vec<Vec<&str>> =
        rows.map(|row| row.split('|').skip(1).take(2).flat_map(names).collect()).collect();
    let known: Vec<Vec<&str>> = field::FIELDS.iter().map(|(_, names)| names.to_vec()).collect();
    assert_eq!(listed, known);
}
