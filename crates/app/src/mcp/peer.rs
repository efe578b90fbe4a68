//! The client as seen by a call: a call can ask it questions, and it can cancel the call.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use planwright_engine::api::Stop;
use serde_json::{Value, json};

use super::wire::Output;

pub(super) struct Peer {
    output: Output,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Calls that are not answered yet, by their id as JSON.
    calls: BTreeMap<String, Stop>,
    /// What the client was asked, by the number of the question: which call wants to know, and where it waits.
    questions: BTreeMap<u64, (String, Sender<Option<Value>>)>,
    count: u64,
    is_gone: bool,
}

impl Peer {
    pub(super) fn new(output: Output) -> Self {
        Self { output, state: Mutex::default() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call. The handle says stop when the client gives the call up.
    pub(super) fn begin(&self, id: &Value) -> Stop {
        let stop = Stop::new();
        self.state().calls.insert(id.to_string(), stop.clone());
        stop
    }

    /// Answers a call, unless the client has given it up.
    pub(super) fn finish(&self, id: &Value, answer: &Value) {
        if self.state().calls.remove(&id.to_string()).is_some() {
            self.output.send(answer);
        }
    }

    /// The client gives a call up.
    pub(super) fn give_up(&self, id: &Value) {
        let mut state = self.state();
        let id = id.to_string();
        if let Some(stop) = state.calls.remove(&id) {
            stop.request();
            // Wakes waiting calls: no answer will come.
            state.questions.retain(|_, (call, _)| *call != id);
        }
    }

    /// The client has disconnected: open questions stay unanswered.
    pub(super) fn hang_up(&self) {
        let mut state = self.state();
        state.is_gone = true;
        state.questions.clear();
    }

    /// Has every call end that is not answered yet.
    pub(super) fn give_up_all(&self) {
        self.state().calls.values().for_each(Stop::request);
    }

    /// Asks the client something in the name of a call; `None` where it does not answer in time, or can't.
    pub(super) fn ask(
        &self,
        call: &Value,
        (method, params): (&str, &Value),
        patience: Duration,
    ) -> Option<Value> {
        let (sender, answer) = mpsc::channel();
        let number = {
            let mut state = self.state();
            let call = call.to_string();
            if state.is_gone || !state.calls.contains_key(&call) {
                return None;
            }
            let number = state.count;
            state.count += 1;
            state.questions.insert(number, (call, sender));
            number
        };
        self.output.send(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}));
        match answer.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                self.state().questions.remove(&number);
                let params = json!({"requestId": number, "reason": "timed out"});
                let method = "notifications/cancelled";
                self.output.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
                None
            }
        }
    }

    /// Delivers an answer of the client; unknown ids are dropped.
    pub(super) fn answer(&self, id: &Value, result: Option<Value>) {
        let asked = id.as_u64().and_then(|number| self.state().questions.remove(&number));
        if let Some((_, sender)) = asked {
            // The caller may have stopped waiting.
            sender.send(result).ok();
        }
    }
}
