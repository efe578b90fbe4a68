//! A model that answers on this machine alone: it does what the script in the prompt says, in the four wire formats that
//! agents speak. It keeps no state between requests but what it heard, so agents may retry, resume and work at once.

#[path = "model/http.rs"]
mod http;
#[path = "model/script.rs"]
mod script;
#[path = "model/wire.rs"]
mod wire;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use http::{Request, Response};
use script::Decision;
use wire::{Turn, Wire};

pub(crate) use script::FEEDBACK;

/// What every answer is said to have cost: tokens that were read, those of them that were cached, and tokens that were written.
pub(crate) const TOKENS_READ: u64 = 1000;
pub(crate) const TOKENS_CACHED: u64 = 200;
pub(crate) const TOKENS_WRITTEN: u64 = 50;

/// A model that is being served. It ends with its value.
pub(crate) struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    heard: Mutex<Vec<Heard>>,
    outage: Mutex<Option<Outage>>,
    is_over: AtomicBool,
}

/// A request, and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    /// Where it was sent to.
    pub(crate) path: String,
    /// What people and harnesses said, in order.
    pub(crate) prompts: Vec<String>,
    /// What tools gave back, in order.
    pub(crate) results: Vec<String>,
    /// The tools that the agent offered.
    pub(crate) tools: Vec<String>,
    /// What was answered, in short.
    pub(crate) answer: String,
}

/// Answers every request in the same bad way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outage {
    /// The status of HTTP.
    pub(crate) status: u16,
    /// In how many seconds the client is told to come back.
    pub(crate) retry_after: Option<u64>,
}

impl Model {
    /// Serves at any port that is free.
    pub(crate) fn start() -> Self {
        Self::start_at(0).expect("a port of this machine")
    }

    /// Serves at this port; 0: any.
    pub(crate) fn start_at(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let model = Self { address: listener.local_addr()?, shared: Arc::default() };
        let shared = Arc::clone(&model.shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.is_over.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&shared);
                // A client that goes away takes its answer with it.
                thread::spawn(move || shared.converse(&stream).ok());
            }
        });
        Ok(model)
    }

    /// Its address, without a path.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on every request fails in this way; `None`: no longer.
    pub(crate) fn set_outage(&self, outage: Option<Outage>) {
        *self.shared.outage.lock().unwrap_or_else(PoisonError::into_inner) = outage;
    }

    /// What it was asked so far.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.shared.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for the next client; where it is gone already, there is nothing to wake.
        TcpStream::connect(self.address).ok();
    }
}

impl Shared {
    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        let request = http::read(stream)?;
        let response = match Wire::of(&request.path) {
            Some(wire) if request.method == "POST" => self.answer(wire, &request),
            Some(_) | None => Response::json(200, &incidental(&request.path)),
        };
        http::write(stream, &request, &response)
    }

    fn answer(&self, wire: Wire, request: &Request) -> Response {
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            return Response::json(415, &json!({"error": {"message": "this body is no plain JSON"}}));
        };
        let conversation = wire.hear(&body);
        let outage = *self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        let decision = match outage {
            Some(Outage { status, retry_after }) => Decision::Fail { status, retry_after },
            None => script::decide(&conversation),
        };
        let number = self.note(request, &conversation, &decision);
        match decision {
            Decision::Fail { status, retry_after } => Response::failure(status, retry_after),
            Decision::Reply { after_seconds, reply } => {
                thread::sleep(Duration::from_secs(after_seconds));
                wire.say(&reply, &body, &request.path, number)
            }
        }
    }

    /// Keeps what was heard; returns its number.
    fn note(&self, request: &Request, conversation: &wire::Conversation, decision: &Decision) -> usize {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = |wanted: fn(&Turn) -> Option<&String>| -> Vec<String> {
            conversation.turns.iter().filter_map(wanted).cloned().collect()
        };
        heard.push(Heard {
            path: request.path.clone(),
            prompts: texts(|turn| match turn {
                Turn::Said(text) => Some(text),
                Turn::Gave(_) => None,
            }),
            results: texts(|turn| match turn {
                Turn::Gave(text) => Some(text),
                Turn::Said(_) => None,
            }),
            tools: conversation.tools.iter().map(|tool| tool.name.clone()).collect(),
            answer: format!("{decision:?}"),
        });
        heard.len()
    }
}

/// What is asked beside conversations: lists of models and counts of tokens.
fn incidental(path: &str) -> Value {
    if path.ends_with("/models") {
        let model = json!({"id": "scripted-model", "object": "model", "type": "model", "created": 1});
        return json!({"object": "list", "data": [model], "models": []});
    }
    json!({"input_tokens": TOKENS_READ, "totalTokens": TOKENS_READ})
}
