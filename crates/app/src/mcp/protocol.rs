//! The protocol, as far as a server that has tools needs it: what a message is, which versions are spoken, and who calls. Pure: it
//! reads and writes nothing.
//!
//! Up to 2025-11-25 a client starts with `initialize` and has a session. Since 2026-07-28 there is none: each request says in its
//! `_meta` which version it speaks and what its client can do. Which of the two a connection is, its first request decides.

use serde::Serialize;
use serde_json::{Map, Value, json};

pub(super) type JsonObject = Map<String, Value>;

/// The versions that are spoken, oldest first.
const VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", STATELESS];
/// The first version without a handshake. Versions are dates, so later ones are greater.
pub(super) const STATELESS: &str = "2026-07-28";
/// What is offered to a client that names a version which has no handshake, or none of ours.
const NEWEST_WITH_HANDSHAKE: &str = "2025-11-25";

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Why a request has no result, as JSON-RPC says it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Fault {
    code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl Fault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(super) fn parse_error(message: impl Into<String>) -> Self {
        Self::new(-32700, message)
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(-32601, format!("unknown method `{method}`"))
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    fn unsupported_version(version: &str) -> Self {
        let data = json!({"requested": version, "supported": VERSIONS});
        Self { data: Some(data), ..Self::new(-32022, "Unsupported protocol version") }
    }
}

/// The answer to a request. Without an id where none could be read.
pub(super) fn response(id: Option<&Value>, result: Result<Value, Fault>) -> Value {
    match (id, result) {
        (Some(id), Ok(result)) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        (Some(id), Err(fault)) => json!({"jsonrpc": "2.0", "id": id, "error": fault}),
        (None, Ok(result)) => json!({"jsonrpc": "2.0", "result": result}),
        (None, Err(fault)) => json!({"jsonrpc": "2.0", "error": fault}),
    }
}

#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request(Request),
    Notification {
        method: String,
        params: JsonObject,
    },
    /// The client's answer to a request of this server; `None` where it has no result.
    Answer {
        id: Value,
        result: Option<Value>,
    },
}

#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: JsonObject,
}

/// Reads a message, or reports what is wrong with it and which request it was, if known.
pub(super) fn read(line: &[u8]) -> Result<Message, Box<(Option<Value>, Fault)>> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| Box::new((None, Fault::parse_error(format!("invalid JSON: {error}")))))?;
    let wrong = |id: Option<Value>, what: &str| {
        Err(Box::new((id, Fault::invalid_request(format!("invalid message: {what}")))))
    };
    let Value::Object(mut object) = value else { return wrong(None, "not an object") };
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    let id = object.remove("id");
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return wrong(None, "`id` must be a string or an integer");
    }
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong(id, "`jsonrpc` must be \"2.0\"");
    }
    match (object.remove("method"), id) {
        (Some(Value::String(method)), id) => {
            let params = match object.remove("params") {
                None | Some(Value::Null) => JsonObject::new(),
                Some(Value::Object(params)) => params,
                Some(_) => return wrong(id, "`params` must be an object"),
            };
            Ok(match id {
                Some(id) => Message::Request(Request { id, method, params }),
                None => Message::Notification { method, params },
            })
        }
        (Some(_), id) => wrong(id, "`method` must be a string"),
        (None, Some(id)) if object.contains_key("result") || object.contains_key("error") => {
            Ok(Message::Answer { id, result: object.remove("result") })
        }
        (None, id) => wrong(id, "`method` or `result` is missing"),
    }
}

/// Who makes a request, as far as they say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Caller {
    pub(super) version: String,
    /// What the client calls itself.
    pub(super) client: Option<String>,
    pub(super) capabilities: JsonObject,
}

impl Caller {
    /// Whether the client expects the results of the version without sessions.
    pub(super) fn is_stateless(&self) -> bool {
        self.version.as_str() >= STATELESS
    }
}

/// What was agreed with the client.
#[derive(Debug, Default)]
pub(super) enum Lifecycle {
    #[default]
    Open,
    Session(Caller),
    /// Every request has to say who makes it.
    Stateless,
}

/// What a request that can be served is.
#[derive(Debug, PartialEq)]
pub(super) enum Accepted {
    /// It is answered by what the protocol says alone.
    Answered(Value),
    /// It is for the tools.
    Served(Caller),
}

/// What a server says of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) instructions: &'static str,
}

impl Lifecycle {
    /// Answers protocol requests itself and returns the caller of all others.
    pub(super) fn accept(&mut self, request: &Request, about: &About) -> Result<Accepted, Fault> {
        match request.method.as_str() {
            "initialize" => return self.begin(&request.params, about).map(Accepted::Answered),
            "ping" if matches!(self, Self::Open) => return Ok(Accepted::Answered(json!({}))),
            _ => {}
        }
        let caller = self.caller(request)?;
        match request.method.as_str() {
            "server/discover" => return Ok(Accepted::Answered(discovered(about))),
            "ping" if !caller.is_stateless() && !matches!(self, Self::Stateless) => {
                return Ok(Accepted::Answered(json!({})));
            }
            _ => {}
        }
        if matches!(self, Self::Open) {
            *self = Self::Stateless;
        }
        Ok(Accepted::Served(caller))
    }

    fn begin(&mut self, params: &JsonObject, about: &About) -> Result<Value, Fault> {
        let (Some(wanted), Some(capabilities), Some(name)) = (
            params.get("protocolVersion").and_then(Value::as_str),
            params.get("capabilities").and_then(Value::as_object),
            params.get("clientInfo").and_then(|client| client["name"].as_str()),
        ) else {
            let message = "initialize needs `protocolVersion`, `capabilities` and `clientInfo`";
            return Err(Fault::invalid_params(message));
        };
        let is_ours = VERSIONS.contains(&wanted) && wanted < STATELESS;
        let version = if is_ours { wanted } else { NEWEST_WITH_HANDSHAKE };
        *self = Self::Session(Caller {
            version: version.to_owned(),
            client: Some(name.to_owned()),
            capabilities: capabilities.clone(),
        });
        Ok(json!({
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": about.name, "version": about.version},
            "instructions": about.instructions,
        }))
    }

    /// Who makes a request: what it says itself counts, and in a session what was said at its beginning.
    fn caller(&self, request: &Request) -> Result<Caller, Fault> {
        let said = |key: &str| request.params.get("_meta").and_then(|meta| meta.get(key));
        let version = said(META_VERSION).and_then(Value::as_str);
        let capabilities = said(META_CAPABILITIES).and_then(Value::as_object);
        let client = said(META_CLIENT).and_then(|client| client["name"].as_str()).map(str::to_owned);
        let session = match self {
            Self::Session(session) => Some(session),
            Self::Open | Self::Stateless => None,
        };
        let must_say_all = session.is_none()
            || request.method == "server/discover"
            || version.is_some_and(|version| version >= STATELESS);
        let missing: Vec<&str> =
            [(META_VERSION, version.is_none()), (META_CAPABILITIES, capabilities.is_none())]
                .into_iter()
                .filter_map(|(key, is_missing)| is_missing.then_some(key))
                .collect();
        if must_say_all && !missing.is_empty() {
            let message =
                format!("request _meta is missing or has malformed required fields: {}", missing.join(", "));
            return Err(Fault::invalid_params(message));
        }
        if let Some(version) = version.filter(|version| !VERSIONS.contains(version)) {
            return Err(Fault::unsupported_version(version));
        }
        let version = version.or(session.map(|session| session.version.as_str()));
        Ok(Caller {
            version: version.unwrap_or(STATELESS).to_owned(),
            client: client.or_else(|| session?.client.clone()),
            capabilities: capabilities
                .or(session.map(|session| &session.capabilities))
                .cloned()
                .unwrap_or_default(),
        })
    }
}

fn discovered(about: &About) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": VERSIONS,
        "capabilities": {"tools": {}},
        "instructions": about.instructions,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {META_SERVER: {"name": about.name, "version": about.version}},
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{About, Accepted, Lifecycle, Message, Request, read};

    const ABOUT: About = About { name: "planwright", version: "0", instructions: "" };

    fn ask(lifecycle: &mut Lifecycle, method: &str, params: &Value) -> Result<Accepted, i32> {
        let params = params.as_object().expect("an object").clone();
        let request = Request { id: json!(1), method: method.to_owned(), params };
        lifecycle.accept(&request, &ABOUT).map_err(|fault| fault.code)
    }

    fn hello(version: &str) -> Value {
        json!({"protocolVersion": version, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "test"}})
    }

    fn meta(version: &str) -> Value {
        json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "one"},
        }})
    }

    #[test]
    fn a_handshake_settles_on_a_version_that_has_one() {
        for (wanted, version) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-06-18", "2025-06-18"),
            ("2026-07-28", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
            ("2099-01-01", "2025-11-25"),
        ] {
            let mut lifecycle = Lifecycle::default();
            let Ok(Accepted::Answered(answer)) = ask(&mut lifecycle, "initialize", &hello(wanted)) else {
                panic!("{wanted} was refused")
            };
            assert_eq!(answer["protocolVersion"], version, "{wanted}");
            let Ok(Accepted::Served(caller)) = ask(&mut lifecycle, "tools/list", &json!({})) else {
                panic!("{wanted}: the session was forgotten")
            };
            assert_eq!((caller.version.as_str(), caller.client.as_deref()), (version, Some("test")));
            assert!(caller.capabilities.contains_key("elicitation"));
        }
        assert_eq!(ask(&mut Lifecycle::default(), "initialize", &json!({})), Err(-32602));
    }

    #[test]
    fn without_a_handshake_every_request_says_who_makes_it() {
        let mut lifecycle = Lifecycle::default();
        assert_eq!(ask(&mut lifecycle, "ping", &json!({})), Ok(Accepted::Answered(json!({}))));
        assert_eq!(ask(&mut lifecycle, "tools/list", &json!({})), Err(-32602));
        assert_eq!(ask(&mut lifecycle, "tools/list", &meta("1999-01-01")), Err(-32022));
        // A probe decides nothing: the handshake is still open.
        let Ok(Accepted::Answered(found)) = ask(&mut lifecycle, "server/discover", &meta("2026-07-28"))
        else {
            panic!("the probe was refused")
        };
        assert_eq!(found["supportedVersions"].as_array().map(Vec::len), Some(5));
        assert!(matches!(lifecycle, Lifecycle::Open));
        let Ok(Accepted::Served(caller)) = ask(&mut lifecycle, "tools/list", &meta("2026-07-28")) else {
            panic!("a request that says all was refused")
        };
        assert!(caller.is_stateless() && caller.client.as_deref() == Some("one"));
        assert_eq!(ask(&mut lifecycle, "tools/list", &json!({})), Err(-32602));
    }

    #[test]
    fn what_is_no_message_is_told_from_what_is_one() {
        for (line, code) in [
            ("{", -32700),
            ("[]", -32600),
            ("7", -32600),
            (r#"{"id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600),
        ] {
            assert_eq!(read(line.as_bytes()).expect_err(line).1.code, code, "{line}");
        }
        let answer = read(br#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"no"}}"#);
        assert_eq!(answer, Ok(Message::Answer { id: json!(0), result: None }));
    }
}
