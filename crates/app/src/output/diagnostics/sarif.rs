//! SARIF 2.1.0 for code scanning services; only the objects that a diagnostic needs.

use std::fmt::Write as _;

use planwright_engine::api::{CheckedFile, Diagnostic, Edit, Label, Source, Span};
use serde::Serialize;

use super::RuleDoc;
use crate::output::envelope;
use crate::output::envelope::EnvelopeLayout;

/// Returns a log with one run: every rule, and every diagnostic as a result.
pub fn sarif(checked: &[CheckedFile<'_>], rules: &[RuleDoc<'_>]) -> String {
    let results = checked
        .iter()
        .flat_map(|file| file.diagnostics.iter().map(|diagnostic| outcome(file.source, diagnostic, rules)));
    let driver = Driver {
        name: "planwright",
        version: env!("CARGO_PKG_VERSION"),
        semantic_version: env!("CARGO_PKG_VERSION"),
        information_uri: env!("CARGO_PKG_REPOSITORY"),
        rules: rules.iter().map(descriptor).collect(),
    };
    let run = Run { tool: Tool { driver }, column_kind: "unicodeCodePoints", results: results.collect() };
    envelope::json(&Log { schema: SCHEMA, version: "2.1.0", runs: [run] }, EnvelopeLayout::Pretty)
}

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    version: &'a str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool<'a>,
    column_kind: &'a str,
    results: Vec<Outcome<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    name: &'a str,
    version: &'a str,
    semantic_version: &'a str,
    information_uri: &'a str,
    rules: Vec<Descriptor<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor<'a> {
    id: &'a str,
    name: &'a str,
    short_description: Message,
    help: Message,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    rule_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'a str,
    message: Message,
    locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Repair>,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(rename = "physicalLocation")]
    physical: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
    byte_offset: usize,
    byte_length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Repair {
    description: Message,
    artifact_changes: Vec<ArtifactChange>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange {
    artifact_location: ArtifactLocation,
    replacements: Vec<Replacement>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    deleted_region: Region,
    inserted_content: Message,
}

fn descriptor<'a>(rule: &RuleDoc<'a>) -> Descriptor<'a> {
    Descriptor {
        id: rule.code,
        name: rule.name,
        short_description: message(rule.summary),
        help: message(format!("planwright explain {}", rule.code)),
    }
}

fn outcome<'a>(source: &Source, diagnostic: &'a Diagnostic, rules: &[RuleDoc<'_>]) -> Outcome<'a> {
    let related = diagnostic.secondary.iter().enumerate();
    let fixes = diagnostic.fix.iter().map(|fix| Repair {
        description: message(&fix.title),
        artifact_changes: changes(source, &fix.edits),
    });
    Outcome {
        rule_id: diagnostic.code,
        rule_index: rules.iter().position(|rule| rule.code == diagnostic.code),
        level: diagnostic.severity.word(),
        message: message(told(diagnostic)),
        locations: [location(source, &diagnostic.primary)],
        related_locations: related
            .map(|(index, label)| Location { id: Some(index + 1), ..location(source, label) })
            .collect(),
        fixes: fixes.collect(),
    }
}

/// The message with what explains it; SARIF has no other place for notes and help.
fn told(diagnostic: &Diagnostic) -> String {
    let mut text = diagnostic.message.clone();
    for (word, said) in diagnostic
        .notes
        .iter()
        .map(|note| ("note", note))
        .chain(diagnostic.help.iter().map(|help| ("help", help)))
    {
        text.extend(["\n", word, ": ", said]);
    }
    text
}

fn location(source: &Source, label: &Label) -> Location {
    Location {
        id: None,
        physical: PhysicalLocation {
            artifact_location: artifact(source, label.span),
            region: region(source, label.span),
        },
        message: (!label.text.is_empty()).then(|| message(&label.text)),
    }
}

/// The edits of a fix, file by file.
fn changes(source: &Source, edits: &[Edit]) -> Vec<ArtifactChange> {
    let mut changes: Vec<ArtifactChange> = Vec::new();
    for edit in edits {
        let (file, replacement) = (artifact(source, edit.span), replacement(source, edit));
        match changes.iter_mut().find(|change| change.artifact_location.uri == file.uri) {
            Some(change) => change.replacements.push(replacement),
            None => changes.push(ArtifactChange { artifact_location: file, replacements: vec![replacement] }),
        }
    }
    changes
}

fn replacement(source: &Source, edit: &Edit) -> Replacement {
    Replacement { deleted_region: region(source, edit.span), inserted_content: message(&edit.text) }
}

fn region(source: &Source, span: Span) -> Region {
    let inside = source.within(span);
    let (start, end) = (source.position(inside.start), source.position(inside.end));
    let span = source.in_file(span);
    Region {
        start_line: start.line,
        start_column: start.column,
        end_line: end.line,
        end_column: end.column,
        byte_offset: span.start,
        byte_length: span.len(),
    }
}

fn message(text: impl Into<String>) -> Message {
    Message { text: text.into() }
}

/// The file that holds `span` as a relative reference or, for an absolute path, as a `file:` URI.
fn artifact(source: &Source, span: Span) -> ArtifactLocation {
    let name = source.name_at(source.within(span).start);
    let mut uri = String::from(if name.starts_with('/') { "file://" } else { "" });
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    ArtifactLocation { uri }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::sample::{RULES, Sample, folded};
    use super::*;

    fn log() -> Value {
        let log = sarif(&[Sample::new("\r\n").checked()], RULES);
        serde_json::from_str(&log.replace(env!("CARGO_PKG_VERSION"), "[version]")).expect("it is JSON")
    }

    #[test]
    fn a_log_names_the_tool_and_its_rules() {
        let mut log = log();
        log["runs"][0]["results"].take();
        insta::assert_snapshot!(folded(&log, 0), @r#"
        {
          "$schema":"https://json.schemastore.org/sarif-2.1.0.json",
          "version":"2.1.0",
          "runs":[
            {
              "tool":{
                "driver":{
                  "name":"planwright",
                  "version":"[version]",
                  "semanticVersion":"[version]",
                  "informationUri":"https://github.com/planwright/planwright",
                  "rules":[
                    {
                      "id":"PW0203",
                      "name":"unmade-file",
                      "shortDescription":{"text":"a step reads a file that nothing makes"},
                      "help":{"text":"planwright explain PW0203"}
                    },
                    {
                      "id":"PW0307",
                      "name":"green-contract",
                      "shortDescription":{"text":"a contract passes before any work"},
                      "help":{"text":"planwright explain PW0307"}
                    }
                  ]
                }
              },
              "columnKind":"unicodeCodePoints",
              "results":null
            }
          ]
        }
        "#);
    }

    #[test]
    fn a_result_holds_its_second_places_and_its_repair() {
        insta::assert_snapshot!(folded(&log()["runs"][0]["results"][0], 0), @r#"
        {
          "ruleId":"PW0203",
          "ruleIndex":0,
          "level":"error",
          "message":{"text":"step 1 `fix` reads a file that no earlier step creates"},
          "locations":[
            {
              "physicalLocation":{
                "artifactLocation":{"uri":"plans/gr%C3%B6%C3%9Fe%201.md"},
                "region":{"startLine":9,"startColumn":8,"endLine":9,"endColumn":23,"byteOffset":89,"byteLength":19}
              },
              "message":{"text":"file not found"}
            }
          ],
          "relatedLocations":[
            {
              "id":1,
              "physicalLocation":{
                "artifactLocation":{"uri":"plans/gr%C3%B6%C3%9Fe%201.md"},
                "region":{"startLine":17,"startColumn":9,"endLine":17,"endColumn":24,"byteOffset":168,"byteLength":19}
              },
              "message":{"text":"step 2 `document` seems to create it"}
            }
          ],
          "fixes":[
            {
              "description":{"text":"make step 1 need step 2"},
              "artifactChanges":[
                {
                  "artifactLocation":{"uri":"plans/gr%C3%B6%C3%9Fe%201.md"},
                  "replacements":[
                    {
                      "deletedRegion":{"startLine":8,"startColumn":1,"endLine":8,"endColumn":1,"byteOffset":70,"byteLength":0},
                      "insertedContent":{"text":"**needs:** document\r\n"}
                    }
                  ]
                }
              ]
            }
          ]
        }
        "#);
    }

    #[test]
    fn notes_and_help_stand_in_the_message() {
        insta::assert_snapshot!(folded(&log()["runs"][0]["results"][1], 0), @r#"
        {
          "ruleId":"PW0307",
          "ruleIndex":1,
          "level":"warning",
          "message":{
            "text":"the contract of step 1 `fix` passes before any work\nnote: run on main@4f1c8aa, exit 0 in 0.01 s\nhelp: add a check that fails until the work is done"
          },
          "locations":[
            {
              "physicalLocation":{
                "artifactLocation":{"uri":"plans/gr%C3%B6%C3%9Fe%201.md"},
                "region":{"startLine":12,"startColumn":1,"endLine":12,"endColumn":5,"byteOffset":121,"byteLength":4}
              }
            }
          ]
        }
        "#);
    }

    #[test]
    fn a_path_becomes_a_reference_that_can_be_resolved() {
        let uri = |name: &str| artifact(&Source::new(name, ""), Span::default()).uri;
        assert_eq!(uri("plans/a b%ñ.md"), "plans/a%20b%25%C3%B1.md");
        assert_eq!(uri("/x/a:b.md"), "file:///x/a%3Ab.md");
    }
}
