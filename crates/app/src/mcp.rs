//! The MCP server: what agents, and the programs in which people talk to them, may ask of planwright over standard input and
//! output. A model is on the other end of every connection, so nothing is approved here, and nothing decided that a person has
//! not confirmed outside of the model. Each role sees its own tools and no others.

mod executor;
mod human;
mod peer;
mod person;
mod planner;
mod protocol;
mod session;
mod shared;
mod tool;
mod wire;

use std::io;
use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use planwright_engine::api::Stop;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use peer::Peer;
use person::{PersonQuestion, PersonReply, Questions};
use protocol::{About, Accepted, Caller, Fault, JsonObject, Lifecycle, Message, Request, response};
use session::{Drivers, McpSession};
use tool::{Definition, McpTool, ToolError, ToolOutcome, ToolReply, ToolRequest};
use wire::{LINE_BYTES_MAX, Line, Output};

/// Calls handled in parallel; others wait.
const CALLS_MAX: usize = 4;
/// How long calls may continue after the client disconnects, and how long they may take to stop.
const DRAIN_MAX: Duration = Duration::from_secs(5);
const LEAVE_MAX: Duration = Duration::from_secs(2);

/// Whom a server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum McpRole {
    /// An agent that writes plans
    Planner,
    /// An agent that does one step of a plan
    Executor,
    /// A person, through the agent that they talk to
    Human,
}

impl McpRole {
    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Executor => "executor",
            Self::Human => "human",
        }
    }

    const fn tools(self) -> &'static [McpTool] {
        match self {
            Self::Planner => planner::TOOLS,
            Self::Executor => executor::TOOLS,
            Self::Human => human::TOOLS,
        }
    }

    const fn instructions(self) -> &'static str {
        match self {
            Self::Planner => planner::INSTRUCTIONS,
            Self::Executor => executor::INSTRUCTIONS,
            Self::Human => human::INSTRUCTIONS,
        }
    }
}

/// The result of `tools/list`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definitions {
    /// Only the version without sessions has it, and the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
    pub(crate) tools: Vec<Definition>,
}

/// The tools of a role as clients see them.
pub(crate) fn definitions(role: McpRole) -> Definitions {
    let tools = role.tools().iter().map(McpTool::definition).collect();
    Definitions { result_type: Some("complete"), ttl_ms: None, cache_scope: None, tools }
}

/// What `tools/call` takes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    name: String,
    arguments: Option<JsonObject>,
    input_responses: Option<JsonObject>,
    request_state: Option<String>,
}

/// A call that waits for its turn.
struct Queued {
    id: Value,
    caller: Caller,
    tool: &'static McpTool,
    params: Params,
    stop: Stop,
}

/// Serves one client until it disconnects. Until then, standard output carries the protocol.
pub(crate) fn serve(role: McpRole) -> io::Result<()> {
    let drivers = Arc::<Drivers>::default();
    let (output, written) = Output::to(std::io::stdout())?;
    let peer = Arc::new(Peer::new(output.clone()));
    let server =
        Arc::new(Server { role, peer, questions: Questions::default(), drivers: Arc::clone(&drivers) });
    let (calls, queue) = mpsc::channel();
    let queue = Arc::new(Mutex::new(queue));
    let (is_at_work, ended) = mpsc::channel::<()>();
    for _ in 0..CALLS_MAX {
        let (server, queue, is_at_work) = (Arc::clone(&server), Arc::clone(&queue), is_at_work.clone());
        let work = move || {
            server.work(&queue);
            drop(is_at_work);
        };
        thread::Builder::new().name("call".to_owned()).spawn(work)?;
    }
    drop(is_at_work);
    server.read(&mut std::io::stdin().lock(), &output, &calls);
    drop(calls);
    server.peer.hang_up();
    if !is_over(&ended, DRAIN_MAX) {
        server.peer.give_up_all();
        is_over(&ended, LEAVE_MAX);
    }
    drivers.end();
    drop((server, output));
    written.wait();
    Ok(())
}

/// Whether every call has ended, waiting that long for it.
fn is_over(ended: &Receiver<()>, patience: Duration) -> bool {
    matches!(ended.recv_timeout(patience), Err(mpsc::RecvTimeoutError::Disconnected))
}

struct Server {
    role: McpRole,
    peer: Arc<Peer>,
    questions: Questions,
    drivers: Arc<Drivers>,
}

impl Server {
    /// Reads messages until the end of input. No message can end it; calls run on other threads.
    fn read(&self, input: &mut impl BufRead, output: &Output, calls: &Sender<Queued>) {
        let mut lifecycle = Lifecycle::default();
        while let Some(line) = wire::read_line(input) {
            let line = match line {
                Line::Whole(line) => line,
                Line::TooLong => {
                    let message = format!("message is larger than {LINE_BYTES_MAX} bytes");
                    output.offer(&response(None, Err(Fault::invalid_request(message))));
                    continue;
                }
            };
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match protocol::read(&line) {
                Ok(Message::Request(request)) => {
                    let id = request.id.clone();
                    match self.take(request, &mut lifecycle) {
                        Ok(Taken::Answered(result)) => output.send(&response(Some(&id), Ok(result))),
                        // The workers live as long as this.
                        Ok(Taken::Call(call)) => drop(calls.send(*call)),
                        Err(fault) => output.send(&response(Some(&id), Err(fault))),
                    }
                }
                Ok(Message::Notification { method, params }) if method == "notifications/cancelled" => {
                    params.get("requestId").into_iter().for_each(|id| self.peer.give_up(id));
                }
                Ok(Message::Notification { .. }) => {}
                Ok(Message::Answer { id, result }) => self.peer.answer(&id, result),
                // A client that does not read gets no message.
                Err(wrong) => {
                    let (id, fault) = *wrong;
                    output.offer(&response(id.as_ref(), Err(fault)));
                }
            }
        }
    }

    fn take(&self, request: Request, lifecycle: &mut Lifecycle) -> Result<Taken, Fault> {
        let about = About {
            name: "planwright",
            version: env!("CARGO_PKG_VERSION"),
            instructions: self.role.instructions(),
        };
        let caller = match lifecycle.accept(&request, &about)? {
            Accepted::Answered(result) => return Ok(Taken::Answered(result)),
            Accepted::Served(caller) => caller,
        };
        let Request { id, method, params } = request;
        match method.as_str() {
            "tools/list" => Ok(Taken::Answered(self.list(&caller))),
            // Some clients ask for these whatever a server says that it has.
            "prompts/list" => Ok(Taken::Answered(json!({"prompts": []}))),
            "resources/list" => Ok(Taken::Answered(json!({"resources": []}))),
            "resources/templates/list" => Ok(Taken::Answered(json!({"resourceTemplates": []}))),
            "tools/call" => {
                let params: Params = serde_json::from_value(Value::Object(params))
                    .map_err(|error| Fault::invalid_params(format!("invalid call: {error}")))?;
                let tool = self.tool(&params.name)?;
                let stop = self.peer.begin(&id);
                Ok(Taken::Call(Box::new(Queued { id, caller, tool, params, stop })))
            }
            _ => Err(Fault::unknown_method(&method)),
        }
    }

    fn list(&self, caller: &Caller) -> Value {
        let all = definitions(self.role);
        let all = match caller.is_stateless() {
            true => Definitions { ttl_ms: Some(0), cache_scope: Some("private"), ..all },
            false => Definitions { result_type: None, ..all },
        };
        serde_json::to_value(all).expect("definitions are JSON")
    }

    /// Handles calls one by one until the queue closes.
    fn work(&self, queue: &Mutex<Receiver<Queued>>) {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(call) = next else { return };
            if !call.stop.is_requested() {
                let result = self.call(&call);
                self.peer.finish(&call.id, &response(Some(&call.id), Ok(result)));
            }
        }
    }

    fn call(&self, queued: &Queued) -> Value {
        let session = McpSession::with(queued.caller.client.clone(), &self.drivers);
        let client = session.client.clone();
        let arguments = queued.params.arguments.clone().unwrap_or_default();
        let call = ToolRequest { session: &session, stop: &queued.stop, arguments };
        let told = |reply: ToolReply| reply.result(&queued.caller);
        let PersonQuestion { question, act } = match worked(|| (queued.tool.call)(&call)) {
            Ok(ToolOutcome::Said(reply)) => return told(reply),
            Ok(ToolOutcome::Ask(matter)) => *matter,
            Err(ToolError(text)) => return told(ToolReply::error(text)),
        };
        match self.questions.ask(&question, queued, &self.peer) {
            PersonReply::No(reply) => told(reply),
            PersonReply::Asking(result) => result,
            PersonReply::Yes => {
                let by = format!("{} over MCP ({})", planwright_engine::api::user(), client);
                told(worked(|| act(&by)).unwrap_or_else(|ToolError(text)| ToolReply::error(text)))
            }
        }
    }

    fn tool(&self, name: &str) -> Result<&'static McpTool, Fault> {
        let tools = self.role.tools();
        tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
            let message = format!(
                "unknown tool `{name}` for role {}; available: {}",
                self.role.word(),
                names.join(", ")
            );
            Fault::invalid_params(message)
        })
    }
}

/// The result of accepting a request.
enum Taken {
    Answered(Value),
    /// Queued; answered later.
    Call(Box<Queued>),
}

/// Runs a call. A panic fails this call only; other calls and the protocol continue.
fn worked<T>(work: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(_) => Err(ToolError::new("internal error; run `planwright doctor`")),
    }
}
