//! What a play came to: the plan file, the meaning of the journal, and the work tree. Says in words where a play that was
//! disturbed differs from one that was not.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::scenario::{FILE, Play, agent_steps};

/// How an undisturbed play ends.
pub(crate) struct Story {
    tree: BTreeMap<String, String>,
    /// For each step its verdicts in order, and how often a person was asked and has answered.
    steps: BTreeMap<String, Told>,
}

/// What the journal tells of a step.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    verdicts: Vec<String>,
    asked: Vec<String>,
    answered: Vec<String>,
}

/// What disturbed a play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// Nothing but kills, this many: everything must come out the same.
    Kills(usize),
    /// An error, which may be reported and settled by a person: no attempt is spent on it.
    Error,
    /// No space for the agents either: what they could not write, their contracts found missing.
    NoSpace,
    /// A power cut, which may take what agents wrote and did not sync, long after their contracts have seen it.
    PowerCut,
}

/// How many attempts were interrupted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) lost: usize,
}

impl Story {
    /// Tells a play that came to its end.
    pub(crate) fn of(play: &Play) -> Result<Self, String> {
        let events = play.events()?;
        Ok(Self { tree: play.tree(), steps: told(&events) })
    }

    /// Compares a play that was disturbed with this one, which was not.
    pub(crate) fn compare(&self, play: &Play, disturbance: Disturbance) -> Result<Cost, String> {
        let events = play.events()?;
        let mut faults = self.differences(play, &events, disturbance);
        faults.extend(order(&events));
        if matches!(disturbance, Disturbance::Kills(_) | Disturbance::Error) {
            faults.extend(work(play, &events));
        }
        let lost = events.iter().filter(|event| event["end"] == "lost").count();
        if let Disturbance::Kills(kills) = disturbance
            && lost > 2 * kills
        {
            faults.push(format!("{lost} attempts were interrupted by {kills} kills"));
        }
        let status = play.data(&["status", "it", "--json"])?;
        let run = &status["runs"][0];
        if (run["state"].as_str(), run["settled"].as_i64()) != (Some("done"), Some(6)) {
            faults.push(format!("it is not done: {run}"));
        }
        // Work that is gone after its run was over takes another run.
        if run["run"] != 1 && disturbance != Disturbance::PowerCut {
            faults.push(format!("it took more than one run: {run}"));
        }
        let alive = play.alive();
        if !alive.is_empty() {
            faults.push(format!("these are alive: {alive:?}"));
        }
        match faults.is_empty() {
            true => Ok(Cost { lost }),
            false => Err(format!("{}\n{}", faults.join("\n"), short(&events).join("\n"))),
        }
    }

    fn differences(&self, play: &Play, events: &[Value], disturbance: Disturbance) -> Vec<String> {
        let mut faults = Vec::new();
        let tree = play.tree();
        for path in self.tree.keys().chain(tree.keys()) {
            let (wanted, found) = (self.tree.get(path), tree.get(path));
            let is_lost = disturbance == Disturbance::PowerCut && path != FILE;
            if wanted != found && !is_lost && !faults.iter().any(|fault: &String| fault.contains(path)) {
                let what = if path == FILE { "the plan file" } else { "the work tree" };
                faults.push(format!("{what} differs: {path} is {found:?}, not {wanted:?}"));
            }
        }
        let steps = told(events);
        for (step, wanted) in &self.steps {
            let found = steps.get(step);
            let is_same = match (disturbance, found) {
                (Disturbance::Kills(_), found) => found == Some(wanted),
                // M-20: nobody's verdict, and nobody's attempt.
                (Disturbance::Error, Some(found)) => {
                    found.verdicts == wanted.verdicts && found.asked.len() == found.answered.len()
                }
                // What an agent wrote last may be gone with the power: then its contract honestly says no.
                (Disturbance::NoSpace | Disturbance::PowerCut, Some(found)) => {
                    found.asked.len() == found.answered.len()
                }
                (Disturbance::Error | Disturbance::NoSpace | Disturbance::PowerCut, None) => false,
            };
            if !is_same {
                faults.push(format!("{step}: the journal tells {found:?}, not {wanted:?}"));
            }
        }
        faults
    }
}

fn told(events: &[Value]) -> BTreeMap<String, Told> {
    let mut steps: BTreeMap<String, Told> = BTreeMap::new();
    let mut asks: BTreeMap<String, String> = BTreeMap::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for event in events {
        let step = text(&event["step"]);
        match event["event"].as_str() {
            Some("contract.finished") => {
                steps.entry(step).or_default().verdicts.push(verdict(&event["receipt"]["verdict"]));
            }
            Some("ask.opened") => {
                asks.insert(text(&event["ask"]), step.clone());
                steps.entry(step).or_default().asked.push(text(&event["reason"]));
            }
            Some("ask.answered") => {
                let step = asks.get(&text(&event["ask"])).cloned().unwrap_or_default();
                steps.entry(step).or_default().answered.push(text(&event["answer"]["answer"]));
            }
            _ => {}
        }
    }
    steps
}

/// A verdict in a word or two: `passed`, `code 7`, `not-started: why`.
fn verdict(value: &Value) -> String {
    let Some(failed) = value.get("failed") else { return value.as_str().unwrap_or_default().to_owned() };
    let fields = failed.as_object().into_iter().flatten();
    fields.map(|(kind, what)| format!("{kind} {what}")).collect()
}

/// What must hold of every journal: one beginning, one end, no verdict without an attempt that ended, one passing verdict
/// a step and nothing after it but that it still holds, nothing twice.
fn order(events: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    if named("run.started") != 1 || named("run.finished") != 1 {
        faults.push("a run begins once and ends once".to_owned());
    }
    if events.last().is_none_or(|last| last["outcome"] != "done") {
        faults.push("the last event is not the end".to_owned());
    }
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for event in events {
        let (step, attempt) = (event["step"].as_str().unwrap_or_default(), &event["attempt"]);
        let (key, state) = (format!("{step}/{attempt}"), event["event"].as_str().unwrap_or_default());
        let before = seen.get(&key).copied().unwrap_or_default();
        match (state, before) {
            ("attempt.started", "") => drop(seen.insert(key, "started")),
            ("attempt.finished", "started")
                if event["end"] == "lost" || event["end"].get("faulted").is_some() =>
            {
                seen.insert(key, "lost");
            }
            ("attempt.finished", "started") => drop(seen.insert(key, "finished")),
            ("contract.finished", "finished") => drop(seen.insert(key, "judged")),
            ("attempt.started" | "attempt.finished" | "contract.finished", before) => {
                faults.push(format!("{key}: {state} after `{before}`"));
            }
            _ => {}
        }
    }
    for step in agent_steps() {
        let own: Vec<&Value> = events.iter().filter(|event| event["step"] == step).collect();
        let is_passed = |event: &&Value| event["receipt"]["verdict"] == "passed";
        let is_broken = |event: &&Value| event["event"] == "contract.rechecked" && !is_passed(event);
        // Work that is gone when the run closes, after a power cut say, is done again.
        for stretch in own.split(is_broken) {
            let verdicts = stretch.iter().filter(|event| event["event"] == "contract.finished");
            let passed = verdicts.filter(|event| is_passed(event)).count();
            if passed != 1 {
                faults.push(format!("{step} has {passed} passing verdicts"));
            }
        }
        if !own.last().is_some_and(is_passed) {
            faults.push(format!("{step} has something behind its passing verdict"));
        }
    }
    faults
}

/// What the agents really did is what the journal says: an attempt that ended was one piece of work, one that was lost
/// was at most one, and nothing was done without an attempt.
fn work(play: &Play, events: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    for step in agent_steps() {
        let own = || events.iter().filter(|event| event["step"] == step);
        let started = own().filter(|event| event["event"] == "attempt.started").count();
        let ended = own().filter(|event| event["end"].get("exited").is_some()).count();
        let done = play.done(step);
        if done > started || done < ended {
            faults.push(format!("{step}: done {done} times in {started} attempts, of which {ended} ended"));
        }
    }
    faults
}

fn short(events: &[Value]) -> Vec<String> {
    let line = |event: &Value| {
        let parts = [
            &event["step"],
            &event["event"],
            &event["attempt"],
            &event["end"],
            &event["reason"],
            &event["receipt"]["verdict"],
            &event["answer"]["answer"],
        ];
        parts.iter().filter(|part| !part.is_null()).map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    events.iter().map(line).collect()
}
