//! What an agent reports during its work: notes, questions, findings, follow-up work. It appends JSON lines
//! to a file that planwright reads after the attempt. None of it is a verdict and none of it is trusted: it
//! is shown to people, and questions are put to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const LINES_MAX: usize = 200;
pub const TEXT_BYTES_MAX: usize = 4 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum ReportLine {
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
    Finding(ReportFinding),
}

/// A reviewer's finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportFinding {
    #[serde(default)]
    pub severity: FindingSeverity,
    /// Empty if it isn't about a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub text: String,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FindingSeverity {
    Error,
    #[default]
    Warning,
    Note,
}

impl FindingSeverity {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl ReportLine {
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
pub fn read(text: &str) -> Vec<ReportLine> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<ReportLine>(line).ok());
    lines.map(ReportLine::bounded).take(LINES_MAX).collect()
}

/// The last question in a report.
pub fn question(lines: &[ReportLine]) -> Option<&str> {
    lines.iter().rev().find_map(|line| match line {
        ReportLine::Ask { text } => Some(text.as_str()),
        ReportLine::Note { .. }
        | ReportLine::Finish { .. }
        | ReportLine::Discovered { .. }
        | ReportLine::Finding(_) => None,
    })
}

/// The reviewers' findings, in reported order.
pub fn findings(lines: &[ReportLine]) -> impl Iterator<Item = &ReportFinding> {
    lines.iter().filter_map(|line| match line {
        ReportLine::Finding(finding) => Some(finding),
        ReportLine::Note { .. }
        | ReportLine::Ask { .. }
        | ReportLine::Finish { .. }
        | ReportLine::Discovered { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<ReportLine> {
        let text = || "why?".to_owned();
        let finding = ReportFinding {
            severity: FindingSeverity::Error,
            path: "src/a.rs".to_owned(),
            line: Some(3),
            text: text(),
        };
        vec![
            ReportLine::Note { text: text() },
            ReportLine::Ask { text: text() },
            ReportLine::Finish { text: text() },
            ReportLine::Discovered { title: "more".to_owned(), text: text() },
            ReportLine::Finding(finding),
        ]
    }

    #[test]
    fn a_report_is_read_as_it_was_spelled_and_rubbish_is_passed_over() {
        let spelled: String = samples().iter().map(ReportLine::spelled).collect();
        assert_eq!(read(&spelled), samples());
        let torn = format!("not json\n{{\"say\":\"approve\"}}\n{spelled}{{\"say\":\"note\",\"te");
        assert_eq!(read(&torn), samples());
        assert_eq!(question(&samples()), Some("why?"));
        assert_eq!(findings(&samples()).count(), 1);
    }

    #[test]
    fn a_report_has_limits() {
        let long = ReportLine::Note { text: "ä".repeat(TEXT_BYTES_MAX) };
        let read = read(&long.spelled().repeat(LINES_MAX + 5));
        assert_eq!(read.len(), LINES_MAX);
        assert!(read.iter().all(|line| *line == long.clone().bounded()));
        assert_eq!(long.bounded(), ReportLine::Note { text: "ä".repeat(TEXT_BYTES_MAX / 2) });
    }
}
