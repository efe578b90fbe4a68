//! The scripted model itself, without an agent: what a case says of an agent is worth no more than the model that it talked to.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::model::{FEEDBACK, Model, Outage};

/// A request with one tool, in each wire format: its path, and its body for a prompt and the results since.
type Spelling = (&'static str, fn(&str, usize) -> Value);

const SPELLINGS: [Spelling; 4] = [
    ("/v1/messages", |prompt, results| {
        let mut messages = vec![json!({"role": "user", "content": prompt})];
        let result = json!({"role": "user", "content": [{"type": "tool_result", "content": "ok"}]});
        messages.extend(vec![result; results]);
        json!({"stream": true, "messages": messages, "tools": [{"name": "Bash", "input_schema": {}}]})
    }),
    ("/v1/responses", |prompt, results| {
        let mut input = vec![json!({"role": "user", "content": [{"type": "input_text", "text": prompt}]})];
        input.extend(vec![json!({"type": "function_call_output", "output": "ok"}); results]);
        json!({"stream": true, "input": input, "tools": [{"type": "function", "name": "shell", "parameters": {}}]})
    }),
    ("/v1/chat/completions", |prompt, results| {
        let mut messages = vec![json!({"role": "user", "content": prompt})];
        messages.extend(vec![json!({"role": "tool", "content": "ok"}); results]);
        json!({"stream": true, "messages": messages, "tools": [{"function": {"name": "bash", "parameters": {}}}]})
    }),
    ("/v1beta/models/m:streamGenerateContent?alt=sse", |prompt, results| {
        let mut contents = vec![json!({"role": "user", "parts": [{"text": prompt}]})];
        let result = json!({"role": "user", "parts": [{"functionResponse": {"response": {"output": "ok"}}}]});
        contents.extend(vec![result; results]);
        let tool = json!({"name": "run_shell_command", "parameters": {}});
        json!({"contents": contents, "tools": [{"functionDeclarations": [tool]}]})
    }),
];

/// Sends a request; returns all that comes back.
fn post(model: &Model, path: &str, body: &Value) -> String {
    let address = model.url().replace("http://", "");
    let mut stream = TcpStream::connect(address).expect("the model listens");
    let body = body.to_string();
    let request = format!("POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    answer
}

/// The same script is played in every wire format, each action once, and what comes back is a stream.
pub(crate) fn the_model_plays_a_script_in_every_wire_format() {
    let model = Model::start();
    let prompt = "Go. %%[{\"do\":\"bash\",\"command\":\"run-me\"},{\"do\":\"say\",\"text\":\"said-it\"}]%%";
    for (path, body) in SPELLINGS {
        for (results, wanted) in [(0, "run-me"), (1, "said-it"), (2, "the script is over")] {
            let answer = post(&model, path, &body(prompt, results));
            assert!(
                answer.contains(wanted) && answer.contains("text/event-stream"),
                "{path} {results}: {answer}"
            );
            let others =
                ["run-me", "said-it", "the script is over"].into_iter().filter(|other| *other != wanted);
            others.for_each(|other| assert!(!answer.contains(other), "{path} {results}: {answer}"));
        }
    }
    assert_eq!(model.heard().len(), 12);
}

/// The second script is only played to somebody who tells what happened, in the words that are waited for.
pub(crate) fn the_model_knows_whether_it_was_told_what_happened() {
    let model = Model::start();
    let script = "%%{\"first\":[{\"do\":\"say\",\"text\":\"one\"}],\"heard\":\"exit 4\",\"then\":[{\"do\":\"say\",\"text\":\"two\"}]}%%";
    for (path, body) in SPELLINGS {
        let cases = [
            ("", "\"one\""),
            ("\n\n# What happened before\n\nexit 4", "\"two\""),
            ("\n\n# What happened before\n\nexit 5", "nobody told me"),
        ];
        for (told, wanted) in cases {
            assert!(told.is_empty() || told.contains(FEEDBACK));
            let answer = post(&model, path, &body(&format!("{script}{told}"), 0));
            assert!(answer.contains(wanted), "{path} {told}: {answer}");
        }
    }
}

/// An outage is one until it is over.
pub(crate) fn the_model_fails_as_long_as_it_should() {
    let model = Model::start();
    let (path, body) = SPELLINGS[0];
    let body = body("%%[{\"do\":\"say\",\"text\":\"here\"}]%%", 0);
    model.set_outage(Some(Outage { status: 429, retry_after: Some(7) }));
    let answer = post(&model, path, &body);
    assert!(answer.starts_with("HTTP/1.1 429 ") && answer.contains("retry-after: 7"), "{answer}");
    model.set_outage(None);
    assert!(post(&model, path, &body).contains("here"));
}
