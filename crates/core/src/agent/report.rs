//! What an agent reports during its work: notes, questions, findings, follow-up work. It appends JSON lines
//! to a file that planwright reads after the attempt. None of it is a verdict and none of it is trusted: it
//! is shown to people, and questions are put to them.

use serde::{Deserialize, Serialize};

pub const LINES_MAX: usize = 200;
pub const TEXT_BYTES_MAX: usize = 4 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum Line {
    Note {
        text: String,
    },
    /// A question for a person. Asked after the attempt, if its contract failed.
    Ask {
        text: String,
    },
    /// The agent thinks that it is done. The contract decides.
    Finish {
        /// A summary of its work.
        text: String,
    },
    /// Work outside the step.
    Discovered {
        title: String,
        /// Why, and further details.
        #[serde(default)]
        text: String,
    },
    /// A reviewer's finding.
    Finding(Finding),
}

/// A reviewer's finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    #[serde(default)]
    pub severity: Severity,
    /// Empty if it isn't about a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It must be fixed.
    Error,
    #[default]
    Warning,
    Note,
}

impl Severity {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl Line {
    /// Truncates every text to [`TEXT_BYTES_MAX`].
    #[must_use]
    pub fn bounded(mut self) -> Self {
        match &mut self {
            Self::Note { text } | Self::Ask { text } | Self::Finish { text } => cut(text),
            Self::Discovered { title, text } => {
                cut(title);
                cut(text);
            }
            Self::Finding(finding) => {
                cut(&mut finding.path);
                cut(&mut finding.text);
            }
        }
        self
    }

    /// The line as it is in a report, with its newline.
    pub fn spelled(&self) -> String {
        format!("{}\n", serde_json::json!(self))
    }
}

fn cut(text: &mut String) {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
}

/// Parses a report. Ignores invalid lines: an agent may write anything there.
pub fn read(text: &str) -> Vec<Line> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    lines.map(Line::bounded).take(LINES_MAX).collect()
}

/// The last question in a report.
pub fn question(lines: &[Line]) -> Option<&str> {
    lines.iter().rev().find_map(|line| match line {
        Line::Ask { text } => Some(text.as_str()),
        Line::Note { .. } | Line::Finish { .. } | Line::Discovered { .. } | Line::Finding(_) => None,
    })
}

/// The reviewers' findings, in reported order.
pub fn findings(lines: &[Line]) -> impl Iterator<Item = &Finding> {
    lines.iter().filter_map(|line| match line {
        Line::Finding(finding) => Some(finding),
        Line::Note { .. } | Line::Ask { .. } | Line::Finish { .. } | Line::Discovered { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Line> {
        let text = || "why?".to_owned();
        let finding =
            Finding { severity: Severity::Error, path: "src/a.rs".to_owned(), line: Some(3), text: text() };
        vec![
            Line::Note { text: text() },
            Line::Ask { text: text() },
            Line::Finish { text: text() },
            Line::Discovered { title: "more".to_owned(), text: text() },
            Line::Finding(finding),
        ]
    }

    #[test]
    fn a_report_is_read_as_it_was_spelled_and_rubbish_is_passed_over() {
        let spelled: String = samples().iter().map(Line::spelled).collect();
        assert_eq!(read(&spelled), samples());
        let torn = format!("not json\n{{\"say\":\"approve\"}}\n{spelled}{{\"say\":\"note\",\"te");
        assert_eq!(read(&torn), samples());
        assert_eq!(question(&samples()), Some("why?"));
        assert_eq!(findings(&samples()).count(), 1);
    }

    #[test]
    fn a_report_has_limits() {
        let long = Line::Note { text: "ä".repeat(TEXT_BYTES_MAX) };
        let read = read(&long.spelled().repeat(LINES_MAX + 5));
        assert_eq!(read.len(), LINES_MAX);
        assert!(read.iter().all(|line| *line == long.clone().bounded()));
        assert_eq!(long.bounded(), Line::Note { text: "ä".repeat(TEXT_BYTES_MAX / 2) });
    }
}
