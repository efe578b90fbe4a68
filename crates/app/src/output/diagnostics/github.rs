//! Workflow commands, which GitHub shows as annotations in a change.

use planwright_engine::api::{CheckedFile, Source, Span};

use super::window;
use crate::output::clean;

/// Returns `::error file=…,line=…::message` for every diagnostic.
pub fn github(checked: &[CheckedFile<'_>]) -> String {
    let commands = checked.iter().flat_map(|file| {
        file.diagnostics.iter().map(|diagnostic| {
            format!(
                "::{} file={},{},title={}::{}\n",
                diagnostic.severity.word(),
                property(&file.source.name_at(file.source.within(diagnostic.primary.span).start)),
                place(file.source, diagnostic.primary.span),
                property(diagnostic.code),
                escaped(&diagnostic.message)
            )
        })
    });
    commands.collect::<Vec<_>>().concat()
}

/// The place as properties. GitHub takes columns only where the annotation stays on one line.
fn place(source: &Source, span: Span) -> String {
    // A line break at the end would put the end on a line of which nothing is meant.
    let span = window::trimmed(source, source.within(span));
    let (start, end) = (source.position(span.start), source.position(span.end));
    if start.line == end.line {
        format!("line={},col={},endLine={},endColumn={}", start.line, start.column, end.line, end.column)
    } else {
        format!("line={},endLine={}", start.line, end.line)
    }
}

fn escaped(text: &str) -> String {
    clean(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use planwright_engine::api::Severity;

    use super::super::sample::{Sample, complaint};
    use super::*;

    #[test]
    fn every_complaint_is_a_workflow_command() {
        let unix = github(&[Sample::new("\n").checked()]);
        insta::assert_snapshot!(unix, @"
        ::error file=plans/größe 1.md,line=9,col=8,endLine=9,endColumn=23,title=PW0203::step 1 `fix` reads a file that no earlier step creates
        ::warning file=plans/größe 1.md,line=12,col=1,endLine=12,endColumn=5,title=PW0307::the contract of step 1 `fix` passes before any work
        ");
        assert_eq!(github(&[Sample::new("\r\n").checked()]), unix, "CRLF changes nothing");
    }

    #[test]
    fn what_would_end_a_field_is_escaped() {
        let source = Source::new("a,b:c%.md", "x\r\ny\r\n");
        let mut diagnostic = complaint("PW0101", "no-title", Severity::Warning, Span::new(0, 6));
        diagnostic.message = "100 %, a::b\r\nsecond\u{1b}".into();
        let file = CheckedFile { source: &source, diagnostics: &[diagnostic] };
        assert_eq!(
            github(&[file]),
            "::warning file=a%2Cb%3Ac%25.md,line=1,endLine=2,title=PW0101::100 %25, a::b%0Asecond\\u{1b}\n"
        );
    }

    #[test]
    fn a_whole_line_with_its_break_stays_on_one_line() {
        let source = Source::new("a.md", "x\r\ny\r\n");
        assert_eq!(place(&source, Span::new(0, 3)), "line=1,col=1,endLine=1,endColumn=2");
    }
}
