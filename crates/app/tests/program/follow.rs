//! Runs of the plan `plans/it.md`, as somebody outside sees them: starts them, waits for what the journal says, and looks
//! for processes. Judges nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they start and kill it"
)]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sample::{Sketch, runnable};
use crate::test_env::{DEADLINE, Place, Ran, end};

pub(crate) const FILE: &str = "plans/it.md";

/// A `planwright run` that is under way. It is killed when the test is over.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Kills it in the way that nothing can prepare for.
    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("a child can be killed");
        self.0.wait().expect("a child can be waited for");
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().is_ok_and(|ended| ended.is_some())
    }

    /// Waits for its end and returns its exit code.
    #[track_caller]
    pub(crate) fn end(&mut self) -> i32 {
        end(&mut self.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that ended by itself can't be killed, and need not be.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < DEADLINE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Place {
    /// A project with this plan.
    pub(crate) fn with_plan(steps: &[Sketch<'_>]) -> Self {
        let place = Self::empty();
        place.write(FILE, runnable(steps));
        place
    }

    /// The digest of the plan as it is now.
    #[track_caller]
    pub(crate) fn digest(&self) -> String {
        let ran = self.run(&["run", "it", "--dry-run", "--json"]);
        let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
        envelope["data"]["digest"].as_str().unwrap_or_else(|| panic!("{ran:#?}")).to_owned()
    }

    /// Approves the plan as it is now and carries it out as far as it goes.
    #[track_caller]
    pub(crate) fn approve_and_run(&self) -> Ran {
        self.run(&["run", "it", "--rev", &self.digest()])
    }

    /// Starts the same, and does not wait for it.
    #[track_caller]
    pub(crate) fn start(&self, more: &[&str]) -> Running {
        let digest = self.digest();
        let mut command = self.planwright(&["run", "it", "--rev", &digest]);
        command.args(more).stdout(Stdio::null()).stderr(Stdio::null());
        Running(command.spawn().expect("the program starts"))
    }

    /// Starts the program with these words; what it says goes into a file of the project.
    #[track_caller]
    pub(crate) fn start_into(&self, words: &[&str], inside: &str) -> Running {
        let said = std::fs::File::create(self.path(inside)).expect("a file");
        let mut command = self.planwright(words);
        command.stdout(said.try_clone().expect("the same file")).stderr(said);
        Running(command.spawn().expect("the program starts"))
    }

    /// The events of the newest run.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let ran = self.run(&["log", "it", "--json"]);
        if ran.code == 1 {
            return Vec::new();
        }
        let envelope: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).expect("an envelope");
        let events = envelope["data"]["events"].as_array().expect("events");
        events.iter().map(|entry| entry["event"].clone()).collect()
    }

    /// The events in short: `fix attempt.started 1`, `fix contract.finished 1 passed`, `run.finished`.
    #[track_caller]
    pub(crate) fn facts(&self) -> Vec<String> {
        let word = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Object(fields) => fields.keys().next().cloned(),
            Value::Null | Value::Bool(_) | Value::Array(_) => None,
        };
        let fact = |event: &Value| {
            let parts = [
                &event["step"],
                &event["event"],
                &event["attempt"],
                &event["receipt"]["verdict"],
                &event["answer"]["answer"],
                &event["outcome"],
            ];
            parts.into_iter().filter_map(word).collect::<Vec<_>>().join(" ")
        };
        self.events().iter().map(fact).collect()
    }

    /// How often something is among the facts.
    #[track_caller]
    pub(crate) fn count(&self, fact: &str) -> usize {
        self.facts().iter().filter(|known| known.as_str() == fact).count()
    }

    /// Waits until the journal says something.
    #[track_caller]
    pub(crate) fn wait_for(&self, fact: &str) {
        wait_until(fact, || self.count(fact) > 0);
    }

    /// Waits until a script has written a line into a file.
    #[track_caller]
    pub(crate) fn wait_for_file(&self, inside: &str) -> String {
        let path = self.path(inside);
        wait_until(inside, || std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')));
        self.read(inside).trim().to_owned()
    }

    /// Whether the project has this file.
    pub(crate) fn has(&self, inside: &str) -> bool {
        self.path(inside).exists()
    }

    /// What `status` says about the plan.
    #[track_caller]
    pub(crate) fn standing(&self) -> Value {
        let ran = self.run(&["status", "it", "--json"]);
        let envelope: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).expect("an envelope");
        envelope["data"]["runs"][0].clone()
    }

    /// Whether a process is at work: it is there, and is not merely waiting to be forgotten.
    pub(crate) fn is_alive(&self, pid: &str) -> bool {
        let script = format!("kill -0 {pid} && ! grep -q '^State:.Z' /proc/{pid}/status");
        self.bash(&script).code == 0
    }

    /// Changes the plan file as somebody with an editor would.
    #[track_caller]
    pub(crate) fn rewrite(&self, from: &str, to: &str) {
        let text = self.read(FILE);
        assert!(text.contains(from), "`{from}` is not in the plan: {text}");
        self.write(FILE, text.replace(from, to));
    }
}
