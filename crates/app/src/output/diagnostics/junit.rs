//! `JUnit` XML, which every build server reads: one suite per plan, one case per diagnostic.

use planwright_engine::api::{CheckedFile, Diagnostic, Warnings};

use super::window;
use crate::output::clean;

/// Returns one suite per plan with one case per diagnostic. What makes the plan fail is a failure, any other diagnostic is part of the
/// output of a case that passes; a clean file is one case that passes.
pub fn junit(checked: &[CheckedFile<'_>], warnings: Warnings) -> String {
    let mut suites = Vec::new();
    let (mut tests, mut failures) = (0, 0);
    for file in checked {
        let failed = file.diagnostics.iter().filter(|diagnostic| warnings.fail(diagnostic.severity)).count();
        let cases = file.diagnostics.len().max(1);
        let path = escaped(file.source.name());
        suites.push(format!(
            "  <testsuite name=\"{path}\" tests=\"{cases}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">\n"
        ));
        suites.extend(file.diagnostics.iter().map(|diagnostic| case(file, diagnostic, warnings)));
        if file.diagnostics.is_empty() {
            suites.push(format!("    <testcase name=\"verify\" classname=\"{path}\"/>\n"));
        }
        suites.push("  </testsuite>\n".to_owned());
        tests += cases;
        failures += failed;
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"planwright verify\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n\
         {}</testsuites>\n",
        suites.concat()
    )
}

fn case(file: &CheckedFile<'_>, diagnostic: &Diagnostic, warnings: Warnings) -> String {
    let at = file.source.within(diagnostic.primary.span).start;
    let path = escaped(&file.source.name_at(at));
    let place = file.source.position(at);
    let (code, rule) = (escaped(diagnostic.code), escaped(diagnostic.rule));
    let message = escaped(&diagnostic.message);
    let body = escaped(&told(file, diagnostic));
    let outcome = if warnings.fail(diagnostic.severity) {
        format!("<failure type=\"{code}\" message=\"{message}\">{body}</failure>")
    } else {
        format!("<system-out>{body}</system-out>")
    };
    format!(
        "    <testcase name=\"{code} {rule} {place}\" classname=\"{path}\">\n      {outcome}\n    </testcase>\n"
    )
}

/// The diagnostic in lines: where, what, why, and the fix.
fn told(file: &CheckedFile<'_>, diagnostic: &Diagnostic) -> String {
    let at = |offset| window::place(file.source, offset);
    let severity = diagnostic.severity.word();
    let first = format!("{}: {severity}: {}", at(diagnostic.primary.span.start), diagnostic.message);
    let mut lines = vec![first];
    if !diagnostic.primary.text.is_empty() {
        lines.push(diagnostic.primary.text.clone());
    }
    lines
        .extend(diagnostic.secondary.iter().map(|label| format!("{}: {}", at(label.span.start), label.text)));
    lines.extend(diagnostic.notes.iter().map(|note| format!("note: {note}")));
    let fix = diagnostic.fix.as_ref().map(|fix| &fix.title);
    lines.extend(diagnostic.help.iter().chain(fix).map(|help| format!("help: {help}")));
    lines.join("\n")
}

/// Returns `text` for an attribute or an element. XML cannot hold control characters at all, so they are spelled out first.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in clean(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use planwright_engine::api::Source;

    use super::super::sample::Sample;
    use super::*;

    #[test]
    fn an_error_is_a_failure_and_a_warning_is_told_and_a_clean_file_passes() {
        let sample = Sample::new("\r\n");
        let clean = Source::new("plans/clean.md", "");
        let files = [sample.checked(), CheckedFile { source: &clean, diagnostics: &[] }];
        insta::assert_snapshot!(junit(&files, Warnings::Allowed), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="planwright verify" tests="3" failures="1" errors="0">
          <testsuite name="plans/größe 1.md" tests="2" failures="1" errors="0" skipped="0">
            <testcase name="PW0203 unmade-file 9:8" classname="plans/größe 1.md">
              <failure type="PW0203" message="step 1 `fix` reads a file that no earlier step creates">plans/größe 1.md:9:8: error: step 1 `fix` reads a file that no earlier step creates
        file not found
        plans/größe 1.md:17:9: step 2 `document` seems to create it
        help: make step 1 need step 2</failure>
            </testcase>
            <testcase name="PW0307 green-contract 12:1" classname="plans/größe 1.md">
              <system-out>plans/größe 1.md:12:1: warning: the contract of step 1 `fix` passes before any work
        note: run on main@4f1c8aa, exit 0 in 0.01 s
        help: add a check that fails until the work is done</system-out>
            </testcase>
          </testsuite>
          <testsuite name="plans/clean.md" tests="1" failures="0" errors="0" skipped="0">
            <testcase name="verify" classname="plans/clean.md"/>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn a_denied_warning_is_a_failure() {
        let xml = junit(&[Sample::new("\n").checked()], Warnings::Denied);
        assert!(xml.contains("tests=\"2\" failures=\"2\""), "{xml}");
        assert!(xml.contains("<failure type=\"PW0307\""), "{xml}");
        assert!(!xml.contains("<system-out>"), "{xml}");
    }

    #[test]
    fn text_cannot_break_out_of_its_element() {
        assert_eq!(escaped("a\"<b>&\u{1b}\u{ffff}\n"), "a&quot;&lt;b&gt;&amp;\\u{1b}\u{fffd}\n");
    }
}
