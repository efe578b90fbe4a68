//! One line per diagnostic, for editors and problem matchers.

use planwright_engine::api::CheckedFile;

use super::window;
use crate::output::clean_line;

/// Returns `path:line:col: error[PW0203]: message` for every diagnostic.
pub fn short(checked: &[CheckedFile<'_>]) -> String {
    let mut text = String::new();
    for file in checked {
        for diagnostic in file.diagnostics {
            let line = format!(
                "{}: {}[{}]: {}",
                window::place(file.source, diagnostic.primary.span.start),
                diagnostic.severity.word(),
                diagnostic.code,
                diagnostic.message
            );
            text.push_str(&clean_line(&line));
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::sample::Sample;
    use super::*;

    #[test]
    fn every_complaint_is_one_line_with_a_place() {
        let unix = short(&[Sample::new("\n").checked()]);
        insta::assert_snapshot!(unix, @"
        plans/größe 1.md:9:8: error[PW0203]: step 1 `fix` reads a file that no earlier step creates
        plans/größe 1.md:12:1: warning[PW0307]: the contract of step 1 `fix` passes before any work
        ");
        assert_eq!(short(&[Sample::new("\r\n").checked()]), unix, "CRLF changes nothing");
    }

    #[test]
    fn a_message_with_control_characters_stays_on_its_line() {
        let mut sample = Sample::new("\n");
        sample.diagnostics.truncate(1);
        sample.diagnostics[0].message = "a\n\u{1b}[2Jb".into();
        assert_eq!(short(&[sample.checked()]), "plans/größe 1.md:9:8: error[PW0203]: a\\u{a}\\u{1b}[2Jb\n");
    }
}
