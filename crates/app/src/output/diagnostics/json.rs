//! The data of `planwright.verify/1`: everything that a diagnostic holds, with byte offsets and with places as people count them.

use planwright_engine::core::run::baseline::Baseline;
use planwright_engine::core::syntax::diagnostic::Diagnostic;
use planwright_engine::core::syntax::source::{Edit, Source, Span};
use schemars::JsonSchema;
use serde::Serialize;

use super::{CheckedFile, Counts, Warnings, window};

/// The data of the envelope of `verify`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VerifyData {
    /// Every file that was checked.
    pub files: Vec<FileData>,
    /// Contracts that were suggested for steps that have none, where that was asked for.
    pub suggested: Vec<SuggestionData>,
    /// What contracts say before the work, as far as that is known: all of them after `--red`.
    pub red: Vec<RedData>,
    /// What a reviewer found, where one was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<FoundData>,
}

/// Something that a reviewer found in a plan.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FoundData {
    /// The plan.
    pub plan: String,
    /// The agent that found it.
    pub by: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The file, as the reviewer names it; empty where it names none.
    pub path: String,
    /// The line there.
    pub line: Option<u32>,
    /// What is wrong.
    pub text: String,
}

/// What a contract says before the work.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RedData {
    /// The plan.
    pub plan: String,
    /// Where it was run: branch and commit; `None`: there is nothing to run it on.
    pub base: Option<String>,
    /// The step, the hash of the command, what it says and how long it took.
    #[serde(flatten)]
    pub red: Baseline,
}

/// A contract that a step could have.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SuggestionData {
    /// The plan.
    pub plan: String,
    /// The id of the step.
    pub step: String,
    /// The command.
    pub command: String,
    /// Where it comes from.
    pub because: String,
}

/// One file and what is wrong with it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileData {
    /// The path as given; for a directory plan, the directory.
    pub path: String,
    /// Whether the file passes: no errors, and no warnings where they are denied.
    pub ok: bool,
    /// How many diagnostics of which kind there are.
    pub counts: Counts,
    /// The diagnostics in file order.
    pub diagnostics: Vec<DiagnosticData>,
}

/// One diagnostic.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiagnosticData {
    /// The stable code of the rule, such as `PW0203`.
    pub code: String,
    /// The name of the rule, such as `unmade-file`.
    pub rule: String,
    /// `error` or `warning`.
    pub severity: String,
    /// One line that names the thing and the fault.
    pub message: String,
    /// The file of the span, for a directory plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where the fault is.
    pub span: SpanData,
    /// A few words about that place; may be empty.
    pub label: String,
    /// Other places that explain it.
    pub related: Vec<RelatedData>,
    /// Facts that explain it.
    pub notes: Vec<String>,
    /// The fix, in words.
    pub help: Option<String>,
    /// The way out, ready to be applied.
    pub fix: Option<FixData>,
}

/// A range of bytes. In a directory plan, bytes and lines count per file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpanData {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset one past the last byte.
    pub end: usize,
    /// Line of the start, from 1.
    pub line: usize,
    /// Column of the start in characters, from 1.
    pub column: usize,
    /// Line of the end.
    pub end_line: usize,
    /// Column one past the last character.
    pub end_column: usize,
}

/// A second place.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RelatedData {
    /// The file of the span, for a directory plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where it is.
    pub span: SpanData,
    /// What it has to do with the fault.
    pub label: String,
}

/// A fix.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FixData {
    /// What it does, as an imperative.
    pub title: String,
    /// The changes, all against the text as it was checked; none overlap.
    pub edits: Vec<EditData>,
}

/// One change of a fix.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EditData {
    /// The changed file, for a directory plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Offset of the first byte that goes.
    pub start: usize,
    /// Offset one past the last byte that goes.
    pub end: usize,
    /// The text that comes instead.
    pub text: String,
}

/// Returns everything that is known about the diagnostics.
pub fn json(checked: &[CheckedFile<'_>], warnings: Warnings) -> VerifyData {
    let files = checked.iter().map(|file| FileData {
        path: file.source.name().to_owned(),
        ok: file.is_ok(warnings),
        counts: file.counts(),
        diagnostics: file.diagnostics.iter().map(|diagnostic| complaint(file.source, diagnostic)).collect(),
    });
    VerifyData { files: files.collect(), suggested: Vec::new(), red: Vec::new(), found: Vec::new() }
}

fn complaint(source: &Source, diagnostic: &Diagnostic) -> DiagnosticData {
    let related = diagnostic.secondary.iter().map(|label| RelatedData {
        file: file(source, label.span),
        span: SpanData::new(source, label.span),
        label: label.text.clone(),
    });
    let fix = diagnostic.fix.as_ref().map(|fix| FixData {
        title: fix.title.clone(),
        edits: fix.edits.iter().map(|edit| EditData::new(source, edit)).collect(),
    });
    DiagnosticData {
        code: diagnostic.code.to_owned(),
        rule: diagnostic.rule.to_owned(),
        severity: diagnostic.severity.word().to_owned(),
        message: diagnostic.message.clone(),
        file: file(source, diagnostic.primary.span),
        span: SpanData::new(source, diagnostic.primary.span),
        label: diagnostic.primary.text.clone(),
        related: related.collect(),
        notes: diagnostic.notes.clone(),
        help: diagnostic.help.clone(),
        fix,
    }
}

impl SpanData {
    /// The bytes of `span` with their places.
    pub fn new(source: &Source, span: Span) -> Self {
        let inside = window::within(source, span);
        let (start, end) = (source.position(inside.start), source.position(inside.end));
        let span = window::in_file(source, span);
        Self {
            start: span.start,
            end: span.end,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

impl EditData {
    /// The change in its file.
    pub fn new(source: &Source, edit: &Edit) -> Self {
        let span = window::in_file(source, edit.span);
        Self { file: file(source, edit.span), start: span.start, end: span.end, text: edit.text.clone() }
    }
}

/// The file that holds `span`, where there are several.
fn file(source: &Source, span: Span) -> Option<String> {
    let at = window::within(source, span).start;
    (!source.part_at(at).path.is_empty()).then(|| source.name_at(at))
}

#[cfg(test)]
mod tests {
    use planwright_engine::core::syntax::source::apply;

    use super::super::sample::{Sample, folded};
    use super::*;

    #[test]
    fn a_complaint_tells_everything_that_it_holds() {
        let data = json(&[Sample::new("\r\n").checked()], Warnings::Allowed);
        let data = serde_json::to_value(data).expect("it is plain data");
        insta::assert_snapshot!(folded(&data, 0), @r#"
        {
          "files":[
            {
              "path":"plans/größe 1.md",
              "ok":false,
              "counts":{"errors":1,"warnings":1,"fixable":1},
              "diagnostics":[
                {
                  "code":"PW0203",
                  "rule":"unmade-file",
                  "severity":"error",
                  "message":"step 1 `fix` reads a file that no earlier step creates",
                  "span":{"start":89,"end":108,"line":9,"column":8,"end_line":9,"end_column":23},
                  "label":"file not found",
                  "related":[
                    {
                      "span":{"start":168,"end":187,"line":17,"column":9,"end_line":17,"end_column":24},
                      "label":"step 2 `document` seems to create it"
                    }
                  ],
                  "notes":[],
                  "help":null,
                  "fix":{"title":"make step 1 need step 2","edits":[{"start":70,"end":70,"text":"**needs:** document\r\n"}]}
                },
                {
                  "code":"PW0307",
                  "rule":"green-contract",
                  "severity":"warning",
                  "message":"the contract of step 1 `fix` passes before any work",
                  "span":{"start":121,"end":125,"line":12,"column":1,"end_line":12,"end_column":5},
                  "label":"",
                  "related":[],
                  "notes":["run on main@4f1c8aa, exit 0 in 0.01 s"],
                  "help":"add a check that fails until the work is done",
                  "fix":null
                }
              ]
            }
          ],
          "suggested":[],
          "red":[]
        }
        "#);
    }

    #[test]
    fn denied_warnings_make_a_file_fail() {
        let mut sample = Sample::new("\n");
        sample.diagnostics.remove(0);
        let is_ok = |warnings| json(&[sample.checked()], warnings).files[0].ok;
        assert_eq!([is_ok(Warnings::Allowed), is_ok(Warnings::Denied)], [true, false]);
    }

    #[test]
    fn the_edits_of_a_fix_can_be_applied_by_their_offsets() {
        let sample = Sample::new("\r\n");
        let data = json(&[sample.checked()], Warnings::Allowed);
        let fix = data.files[0].diagnostics[0].fix.as_ref().expect("the first complaint has a fix");
        let edits: Vec<Edit> = fix
            .edits
            .iter()
            .map(|edit| Edit::replace(Span::new(edit.start, edit.end), &*edit.text))
            .collect();
        assert!(apply(sample.source.text(), &edits).contains("shell\r\n**needs:** document\r\n**reads:**"));
    }
}
