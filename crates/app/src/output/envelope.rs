//! The one JSON object that a command prints with `--json`. Owns its fields; the data comes from the commands.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::NextCommand;
use super::exit::Exit;
use super::failure::Failure;
use planwright_engine::api::is_unprintable;

/// What a command has to say once it is through.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The code that the command ends with.
    pub exit: Exit,
    /// The name of the data's schema, without prefix and version: `verify`.
    pub name: &'static str,
    /// The same facts that the plain text tells.
    pub data: serde_json::Value,
    /// What to type next.
    pub next: Vec<NextCommand>,
}

impl Response {
    /// What was asked is done; `data` is what came of it.
    pub fn done(name: &'static str, data: &impl Serialize) -> Self {
        Self::new(Exit::Done, name, data)
    }

    /// The answer is `data`, and `exit` says how to take it.
    pub fn new(exit: Exit, name: &'static str, data: &impl Serialize) -> Self {
        let data = serde_json::to_value(data).expect("the data of an answer has string keys only");
        Self { exit, name, data, next: Vec::new() }
    }

    /// Adds a next command.
    #[must_use]
    pub fn next(mut self, next: NextCommand) -> Self {
        self.next.push(next);
        self
    }
}

/// What every command prints with `--json`, unless it failed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Envelope<T> {
    /// `planwright.<name>/1`.
    pub schema: String,
    /// Whether the command ended with code 0.
    pub ok: bool,
    /// What the command has to say.
    pub data: T,
    /// Next commands.
    pub next: Vec<String>,
}

/// The data of envelopes that hold a text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Page {
    /// The text.
    pub(crate) text: String,
}

/// What every command prints with `--json` when it failed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorEnvelope {
    /// `planwright.error/1`.
    pub schema: String,
    /// Always false.
    pub ok: bool,
    /// What failed.
    pub error: ErrorData,
    /// Commands that get further.
    pub next: Vec<String>,
}

/// What failed, on what, because of what.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorData {
    /// The word of the exit code.
    pub kind: String,
    /// What failed, on what.
    pub message: String,
    /// What led to it, nearest first.
    pub causes: Vec<String>,
    /// The fix, in words.
    pub hint: Option<String>,
}

/// How JSON is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnvelopeLayout {
    /// On one line, for programs.
    Compact,
    /// Indented, for people.
    Pretty,
}

impl Response {
    /// The envelope on one line, with its line break.
    pub fn line(&self) -> String {
        self.json(EnvelopeLayout::Compact)
    }

    pub(super) fn json(&self, layout: EnvelopeLayout) -> String {
        let schema = format!("planwright.{}/1", self.name);
        let next = commands(&self.next);
        json(&Envelope { schema, ok: self.exit == Exit::Done, data: &self.data, next }, layout)
    }
}

impl Failure {
    pub(super) fn json(&self, layout: EnvelopeLayout) -> String {
        let error = ErrorData {
            kind: self.exit.word().to_owned(),
            message: self.message.clone(),
            causes: self.causes.clone(),
            hint: self.hint.clone(),
        };
        let schema = "planwright.error/1".to_owned();
        json(&ErrorEnvelope { schema, ok: false, error, next: commands(&self.next) }, layout)
    }
}

/// Returns `value` as JSON with a newline at its end, in which no character steers a terminal.
pub(super) fn json(value: &impl Serialize, layout: EnvelopeLayout) -> String {
    let text = match layout {
        EnvelopeLayout::Compact => serde_json::to_string(value),
        EnvelopeLayout::Pretty => serde_json::to_string_pretty(value),
    };
    let text = text.expect("our own data has string keys only");
    let mut safe = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        // Inside strings JSON itself escapes what is below the space; beyond that it leaves DEL, C1 and bidi controls alone.
        if character >= ' ' && is_unprintable(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(safe, "\\u{unit:04x}").expect("writing to a string cannot fail");
            }
        } else {
            safe.push(character);
        }
    }
    safe.push('\n');
    safe
}

fn commands(next: &[NextCommand]) -> Vec<String> {
    next.iter().map(|next| next.command.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Listing {
        plans: Vec<&'static str>,
        count: usize,
    }

    #[test]
    fn an_answer_is_one_line_and_keeps_the_order_of_its_fields() {
        let answer = Response::done("list", &Listing { plans: vec!["a", "b"], count: 2 })
            .next(NextCommand::new(["planwright", "show", "a b"]));
        insta::assert_snapshot!(answer.json(EnvelopeLayout::Compact), @r#"{"schema":"planwright.list/1","ok":true,"data":{"plans":["a","b"],"count":2},"next":["planwright show 'a b'"]}"#);
        let no = Response { exit: Exit::No, ..answer };
        insta::assert_snapshot!(no.json(EnvelopeLayout::Pretty), @r#"
        {
          "schema": "planwright.list/1",
          "ok": false,
          "data": {
            "plans": [
              "a",
              "b"
            ],
            "count": 2
          },
          "next": [
            "planwright show 'a b'"
          ]
        }
        "#);
    }

    #[test]
    fn a_failure_is_an_envelope_too() {
        let failure = Failure::new(Exit::Usage, "no plan `x`").hint("plans here: y");
        insta::assert_snapshot!(failure.json(EnvelopeLayout::Compact), @r#"{"schema":"planwright.error/1","ok":false,"error":{"kind":"usage","message":"no plan `x`","causes":[],"hint":"plans here: y"},"next":[]}"#);
    }

    #[test]
    fn json_holds_no_character_that_steers_a_terminal_and_still_means_the_same() {
        let title = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}✅";
        let text = json(&title, EnvelopeLayout::Compact);
        assert_eq!(text, "\"a\\u001b\\u007f\\u009b\\u202e\\udb40\\udc41✅\"\n");
        assert_eq!(serde_json::from_str::<String>(&text).expect("it is JSON"), title);
    }
}
