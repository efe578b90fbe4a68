//! Plans that are a directory: every format names the file of a diagnostic, counts lines per file and hides the
//! separators between files.

use planwright_engine::api::{CheckedFile, Diagnostic, Edit, Severity, Source, Span, VerifyView, Warnings};

use super::sample::{RULES, complaint};
use super::{github, human, junit, sarif, short};
use crate::output::glyph::{Glyphs, Palette};

const FILES: [(&str, &str); 4] = [
    ("plan.md", "\u{feff}---\ntitle: T\n---"),
    ("tasks/01-a.md", "---\nid: a\n---\nDo ß."),
    ("tasks/02-empty.md", ""),
    ("tasks/03-b.md", "---\nid: b\ndepends_on: [a]\n---\nDo it.\n"),
];

/// One diagnostic about both ids, one about the empty file, one without a location.
fn folder() -> (Source, Vec<Diagnostic>) {
    let source = Source::new("plans/auth/", Source::bundle(FILES));
    let find = |needle: &str| {
        let start = source.text().find(needle).expect("the sample holds it");
        Span::new(start, start + needle.len())
    };
    let (first, need) = (find("id: a"), find("[a]"));
    let need = Span::new(need.start + 1, need.end - 1);
    let end = find("Do ß.");
    let twice = complaint("PW0203", "sample", Severity::Error, need)
        .label("here")
        .also(first, "and there")
        .also(Span::at(end.end), "at the end")
        .fix("call it c", vec![Edit::replace(first, "id: c"), Edit::replace(need, "c")]);
    let empty = complaint("PW0307", "sample", Severity::Warning, source.parts()[2].span);
    let nothing = complaint("PW0307", "sample", Severity::Warning, Span::default());
    (source, vec![nothing, empty, twice])
}

fn shown(format: impl Fn(&[CheckedFile<'_>]) -> String) -> String {
    let (source, diagnostics) = folder();
    let text = format(&[CheckedFile { source: &source, diagnostics: &diagnostics }]);
    assert!(!text.contains(['\u{1c}', '\u{feff}']) && !text.contains("\\u{1c}"), "{text}");
    text
}

#[test]
fn a_complaint_is_one_line_with_its_file() {
    insta::assert_snapshot!(shown(short), @"
    plans/auth/plan.md:1:1: warning[PW0307]: message
    plans/auth/tasks/02-empty.md:1:1: warning[PW0307]: message
    plans/auth/tasks/03-b.md:3:14: error[PW0203]: message
    ");
}

#[test]
fn a_workflow_command_names_its_file() {
    insta::assert_snapshot!(shown(github), @"
    ::warning file=plans/auth/plan.md,line=1,col=1,endLine=1,endColumn=1,title=PW0307::message
    ::warning file=plans/auth/tasks/02-empty.md,line=1,col=1,endLine=1,endColumn=1,title=PW0307::message
    ::error file=plans/auth/tasks/03-b.md,line=3,col=14,endLine=3,endColumn=15,title=PW0203::message
    ");
}

#[test]
fn a_case_is_in_the_class_of_its_file() {
    let text = shown(|checked| junit(checked, Warnings::Allowed));
    assert!(text.contains("<testsuite name=\"plans/auth/\" tests=\"3\""), "{text}");
    assert!(
        text.contains("<testcase name=\"PW0203 sample 3:14\" classname=\"plans/auth/tasks/03-b.md\">"),
        "{text}"
    );
    assert!(text.contains("plans/auth/tasks/01-a.md:2:1: and there\n"), "{text}");
}

#[test]
fn lines_of_one_file_are_never_shown_with_those_of_another() {
    let palette = Palette { has_color: false, glyphs: Glyphs::Unicode };
    insta::assert_snapshot!(shown(|checked| human(checked, palette, 100)), @"
    warning[PW0307]: message
     --> plans/auth/plan.md:1:1
      |
    1 | ---
      | ^

    warning[PW0307]: message
     --> plans/auth/tasks/02-empty.md:1:1
      |
    1 |
      | ^

    error[PW0203]: message
     --> plans/auth/tasks/03-b.md:3:14
      |
    3 | depends_on: [a]
      |              ^ here
      |
     ::: plans/auth/tasks/01-a.md:2:1
      |
    2 | id: a
      | ----- and there
    3 | ---
    4 | Do ß.
      |      - at the end
      |
    help: call it c
     --> plans/auth/tasks/01-a.md:2:1
      |
    2 - id: a
    2 + id: c
      |
     --> plans/auth/tasks/03-b.md:3:14
      |
    3 - depends_on: [a]
    3 + depends_on: [c]
      |

    plans/auth/: 1 error, 2 warnings; 1 fixable (planwright verify --fix)
    ");
}

#[test]
fn offsets_and_edits_are_those_of_the_file() {
    let (source, diagnostics) = folder();
    let data =
        VerifyView::of(&[CheckedFile { source: &source, diagnostics: &diagnostics }], Warnings::Allowed);
    let twice = &data.files[0].diagnostics[2];
    assert_eq!(data.files[0].path, "plans/auth/");
    assert_eq!(twice.file.as_deref(), Some("plans/auth/tasks/03-b.md"));
    assert_eq!((twice.span.start, twice.span.end, twice.span.line), (23, 24, 3));
    assert_eq!(twice.related[0].file.as_deref(), Some("plans/auth/tasks/01-a.md"));
    assert_eq!((twice.related[1].span.end, twice.related[1].span.end_line), (FILES[1].1.len(), 4));
    let fix = twice.fix.as_ref().expect("it has one");
    for edit in &fix.edits {
        let path = edit.file.as_deref().and_then(|path| path.strip_prefix("plans/auth/"));
        let (_, text) = FILES.iter().find(|(own, _)| Some(*own) == path).expect("it is a file of the folder");
        assert!(["id: a", "a"].contains(&&text[edit.start..edit.end]), "{edit:?}");
    }
}

#[test]
fn a_log_names_files_and_changes_each_on_its_own() {
    let log = shown(|checked| sarif(checked, RULES));
    let log: serde_json::Value = serde_json::from_str(&log).expect("it is JSON");
    let result = &log["runs"][0]["results"][2];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "plans/auth/tasks/03-b.md");
    assert_eq!((&place["region"]["startLine"], &place["region"]["byteOffset"]), (&3.into(), &23.into()));
    let changes = result["fixes"][0]["artifactChanges"].as_array().expect("a list");
    let files: Vec<&str> =
        changes.iter().filter_map(|change| change["artifactLocation"]["uri"].as_str()).collect();
    assert_eq!(files, ["plans/auth/tasks/01-a.md", "plans/auth/tasks/03-b.md"]);
}
