//! A client of the MCP server that knows nothing but the wire: lines of JSON in, lines of JSON out. Every line that the server
//! prints must be a message; it waits for each no longer than for any other run.
#![expect(clippy::disallowed_types, reason = "these tests stand outside of the program: they start it")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

use serde_json::{Value, json};

use crate::test_env::{DEADLINE, Place, end};

/// The version before server and client lost their handshake, and the one since.
pub(crate) const SESSIONS: &str = "2025-11-25";
pub(crate) const STATELESS: &str = "2026-07-28";

pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    count: u64,
    /// What every request carries, where the version has no sessions.
    meta: Option<Value>,
    /// What a person says in the dialog of this client; `None`: it has no dialog.
    person: Option<Value>,
    /// What the dialog said, each time that it was shown.
    pub(crate) dialogs: Vec<String>,
}

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) is_error: bool,
    pub(crate) text: String,
}

impl Called {
    /// The text as data.
    #[track_caller]
    pub(crate) fn data(&self) -> Value {
        assert!(!self.is_error, "{self:#?}");
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Fails unless the call did what was asked and said all of this.
    #[track_caller]
    pub(crate) fn fine(&self, said: &[&str]) {
        assert!(!self.is_error, "{self:#?}");
        self.says(said);
    }

    /// Fails unless the call came back as an error and said all of this.
    #[track_caller]
    pub(crate) fn refused(&self, said: &[&str]) {
        assert!(self.is_error, "{self:#?}");
        self.says(said);
    }

    #[track_caller]
    fn says(&self, said: &[&str]) {
        for words in said {
            assert!(self.text.contains(words), "`{words}` was not said: {self:#?}");
        }
    }
}

impl Client {
    /// Starts a server and says nothing yet.
    pub(crate) fn silent(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the program starts");
        let output = child.stdout.take().expect("a pipe");
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, count: 0, meta: None, person: None, dialogs: Vec::new() }
    }

    /// A session with a server for this role.
    #[track_caller]
    pub(crate) fn of(place: &Place, role: &str) -> Self {
        let mut client = Self::silent(place.planwright(&["mcp", "--role", role]));
        client.greet(&json!({}));
        client
    }

    /// The same with a client whose dialog is answered by a person in this way.
    #[track_caller]
    pub(crate) fn with_person(place: &Place, person: Value) -> Self {
        let mut client = Self::silent(place.planwright(&["mcp", "--role", "human"]));
        client.greet(&json!({"elicitation": {}}));
        client.person = Some(person);
        client
    }

    /// The same in the version that has no sessions.
    #[track_caller]
    pub(crate) fn stateless(place: &Place, person: Option<Value>) -> Self {
        let mut client = Self::silent(place.planwright(&["mcp", "--role", "human"]));
        let capabilities = if person.is_some() { json!({"elicitation": {"form": {}}}) } else { json!({}) };
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }));
        client.person = person;
        client
    }

    #[track_caller]
    fn greet(&mut self, capabilities: &Value) {
        let info = json!({"name": "test", "version": "1"});
        let greeting = json!({"protocolVersion": SESSIONS, "capabilities": capabilities, "clientInfo": info});
        let answer = self.request("initialize", &greeting);
        let result = &answer["result"];
        assert_eq!(result["serverInfo"]["name"], "planwright", "{answer}");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"), "{answer}");
        assert_eq!(result["capabilities"], json!({"tools": {}}), "{answer}");
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string().as_bytes());
    }

    /// Sends a line of any bytes.
    #[track_caller]
    pub(crate) fn send(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("the session goes on");
        input.write_all(line).and_then(|()| input.write_all(b"\n")).expect("the server reads");
    }

    /// The next message of the server.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(DEADLINE).expect("the server answers");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Sends a request and returns its answer. What the server asks meanwhile is answered as the person would.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.count += 1;
        let id = self.count;
        let mut params = params.clone();
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.send(
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string().as_bytes(),
        );
        loop {
            let message = self.receive();
            if message["method"] == "elicitation/create" {
                self.dialogs.push(message["params"]["message"].as_str().unwrap_or_default().to_owned());
                let result = self.person.clone().expect("a server asks nobody who said that it can't");
                self.send(
                    json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string().as_bytes(),
                );
                continue;
            }
            assert_eq!(message["id"], id, "{message}");
            return message;
        }
    }

    /// Calls a tool; where the server needs a person first, they are asked.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Called {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        if answer["result"]["resultType"] == "input_required" {
            let (key, asked) = answer["result"]["inputRequests"]
                .as_object()
                .and_then(|requests| requests.iter().next())
                .unwrap_or_else(|| panic!("{answer}"));
            self.dialogs.push(asked["params"]["message"].as_str().unwrap_or_default().to_owned());
            let person = self.person.clone().expect("a server asks nobody who said that it can't");
            let state = answer["result"]["requestState"].clone();
            return self.call_again(tool, arguments, (&json!({ key: person }), &state));
        }
        called(&answer)
    }

    /// Calls a tool with what a person said.
    #[track_caller]
    pub(crate) fn call_again(
        &mut self,
        tool: &str,
        arguments: &Value,
        (said, state): (&Value, &Value),
    ) -> Called {
        let params =
            json!({"name": tool, "arguments": arguments, "inputResponses": said, "requestState": state});
        let answer = self.request("tools/call", &params);
        called(&answer)
    }

    /// Hangs up; the server ends well.
    #[track_caller]
    pub(crate) fn end(mut self) {
        drop(self.input.take());
        assert_eq!(end(&mut self.child), 0);
        assert_eq!(self.lines.try_iter().collect::<Vec<_>>(), Vec::<String>::new(), "nothing is left to say");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // One that ended by itself can't be killed, and need not be.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[track_caller]
fn called(answer: &Value) -> Called {
    let result = &answer["result"];
    let content = result["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(content.len(), 1, "{answer}");
    Called {
        is_error: result["isError"].as_bool().unwrap_or_else(|| panic!("{answer}")),
        text: content[0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned(),
    }
}
