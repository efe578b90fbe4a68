//! The digest that identifies the exact meaning of a plan. docs/reference/plan-format.md specifies the encoding; any change to it
//! needs a new version.

use std::fmt;

use crate::plan::verified::{Contract, Plan, Reference, Step};

/// The first record of every encoding, so that digests of different versions never collide.
const VERSION: &str = "planwright digest 1";

/// Covers the meaning of a plan and the exact text of its contracts, but not marks, status and formatting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn of(plan: &Plan) -> Self {
        Self(blake3::hash(encoding(plan).as_bytes()).into())
    }

    /// The first 8 digits, enough for people to compare.
    pub fn short(&self) -> String {
        let mut full = self.to_string();
        full.truncate(8);
        full
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The hashed text: one record per fact of the plan.
pub fn encoding(plan: &Plan) -> String {
    let mut records = Records(String::new());
    records.add("version", VERSION);
    records.add("title", &plan.title);
    records.add("owner", &plan.owner);
    records.add("context", &plan.context);
    records.add("priority", &plan.priority);
    records.number("budget.tokens", plan.budget.tokens);
    records.number("budget.micro-dollars", plan.budget.micro_dollars);
    records.number("budget.seconds", plan.budget.seconds);
    for step in &plan.steps {
        records.step(plan, step);
    }
    records.0
}

/// Records of the form `NAME LENGTH\nVALUE\n`. The length makes every encoding unambiguous: no text in a plan can
/// imitate the start of another record.
struct Records(String);

impl Records {
    fn add(&mut self, name: &str, value: &str) {
        self.0.push_str(&format!("{name} {}\n{value}\n", value.len()));
    }

    fn number(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.add(name, &value.to_string());
        }
    }

    fn all(&mut self, name: &str, values: &[String]) {
        for value in values {
            self.add(name, value);
        }
    }

    fn step(&mut self, plan: &Plan, step: &Step) {
        self.add("step", &step.number.to_string());
        self.add("id", &step.id);
        self.add("title", &step.title);
        self.add("target", &step.target);
        self.add("task", &step.task);
        match &step.contract {
            Contract::Shell { command, expect } => {
                self.add("contract", command);
                self.add("exit-code", &expect.to_string());
            }
            Contract::Manual => self.add("manual", ""),
        }
        self.add("on-fail", &step.on_fail.to_string());
        for &place in &step.needs {
            self.add("needs", &plan.steps[place].id);
        }
        for reference in &step.reads {
            match reference {
                Reference::File(path) => self.add("reads.file", path),
                Reference::Topic(name) => self.add("reads.topic", name),
            }
        }
        if let Some(touches) = &step.touches {
            self.add("touches", &touches.len().to_string());
            self.all("touch", touches);
        }
        self.all("sealed", &step.sealed);
        self.all("accept", &step.accept);
        self.all("green", step.green.as_slice());
        self.all("judge", step.judge.as_slice());
        self.number("timeout", step.timeout_seconds);
        self.number("contract-timeout", step.contract_timeout_seconds);
        self.all("tool", &step.tools);
        self.all("env", &step.env);
        self.all("network", step.network.as_slice());
        self.all("setup", step.setup.as_slice());
    }
}
