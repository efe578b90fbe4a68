//! A plan that verified: every step judged or confirmed by a person, every reference resolved, no cycle.
//! Only [`crate::verify`] makes one.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::budget::Budget;
use crate::plan::draft::{Draft, Mark, StepNumber};
use crate::plan::graph::Graph;

/// A plan that verified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    pub title: String,
    /// Who owns the execution.
    pub owner: String,
    /// Why the plan exists.
    pub context: String,
    /// How urgent it is.
    pub priority: String,
    /// What it may cost.
    pub budget: Budget,
    /// The steps in file order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Which step waits for which, as places in [`Plan::steps`].
    pub fn graph(&self) -> Graph {
        Graph::new(self.steps.iter().map(|step| step.needs.clone()).collect())
    }
}

/// One step of a plan that verified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The number in the heading.
    pub number: u32,
    /// The name that is unique in the plan.
    pub id: String,
    pub title: String,
    /// What the file claims; nothing is proven by it.
    pub mark: Option<Mark>,
    /// The role or agent that does the step.
    pub target: String,
    /// What the agent is told.
    pub task: String,
    /// What decides whether the step is done.
    pub contract: Contract,
    /// What happens after a failure.
    pub on_fail: OnFail,
    /// Places of the steps that must be done first.
    pub needs: Vec<usize>,
    /// What the agent is given to read.
    pub reads: Vec<Reference>,
    /// Globs of the files that the step may change; `None`: not declared, so the step runs alone.
    pub touches: Option<Vec<String>>,
    /// Paths and globs of the files that judge the work: nobody may change them.
    pub sealed: Vec<String>,
    /// Criteria for agent and reviewer.
    pub accept: Vec<String>,
    /// Why the contract may pass before the work; `None`: it may not.
    pub green: Option<String>,
    /// What an agent is asked about the work once the contract has passed; `None`: nothing.
    pub judge: Option<String>,
    /// How long an attempt may take, in seconds; `None`: the usual limit.
    pub timeout_seconds: Option<u64>,
    /// How long the contract may take, in seconds; `None`: the usual limit.
    pub contract_timeout_seconds: Option<u64>,
    /// Tools that the agent may use.
    pub tools: Vec<String>,
    /// Environment of agent and contract.
    pub env: Vec<String>,
    /// Whether the network may be used, in the author's words.
    pub network: Option<String>,
    /// A command that prepares the place where the contract runs.
    pub setup: Option<String>,
}

/// What decides whether a step is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contract {
    /// A command and the exit code that means done.
    Shell {
        /// The command, exactly as it is run.
        command: String,
        /// The exit code that means done.
        expect: u8,
    },
    /// A person confirms the step.
    Manual,
}

/// Something that an agent is given to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// `file:PATH`
    File(String),
    /// `topic:NAME`
    Topic(String),
}

impl Reference {
    /// Reads `file:PATH` or `topic:NAME`.
    pub fn read(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        let name = name.trim();
        match kind.trim().to_lowercase().as_str() {
            _ if name.is_empty() => None,
            "file" => Some(Self::File(name.to_owned())),
            "topic" => Some(Self::Topic(name.to_owned())),
            _ => None,
        }
    }
}

/// What happens when a contract fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnFail {
    /// How many more attempts are made.
    pub retries: u32,
    /// What happens after the last of them.
    pub then: Last,
}

/// What happens when all attempts are spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// A person is asked.
    Escalate,
    Abort,
}

impl OnFail {
    /// What happens where a step does not say.
    pub const DEFAULT: Self = Self { retries: 2, then: Last::Escalate };

    /// Reads `retry(N)`, `escalate`, `abort`, `retry(N), then escalate` and `retry(N), then abort`.
    pub fn read(text: &str) -> Option<Self> {
        let normal = text.to_lowercase().replace([',', '.', ';', '(', ')', '`'], " ");
        let words: Vec<&str> = normal.split_whitespace().filter(|&word| word != "then").collect();
        let last = |word: &str| match word {
            "escalate" => Some(Last::Escalate),
            "abort" => Some(Last::Abort),
            _ => None,
        };
        match *words.as_slice() {
            [word] => Some(Self { retries: 0, then: last(word)? }),
            ["retry", count] => Some(Self { retries: count.parse().ok()?, then: Last::Escalate }),
            ["retry", count, word] => Some(Self { retries: count.parse().ok()?, then: last(word)? }),
            _ => None,
        }
    }
}

impl std::fmt::Display for OnFail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = match self.then {
            Last::Escalate => "escalate",
            Last::Abort => "abort",
        };
        match self.retries {
            0 => write!(f, "{last}"),
            count => write!(f, "retry({count}), then {last}"),
        }
    }
}

pub const ID_CHARS_MAX: usize = 64;

/// Makes a name of a text: lower-case letters and digits with single dashes between words.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(ID_CHARS_MAX);
    slug.trim_end_matches('-').to_owned()
}

/// The id of every step: the one that the author gave, or one made of the title. Those that are made never clash.
pub fn ids(draft: &Draft) -> Vec<String> {
    let written = draft.steps.iter().filter_map(|step| step.id.as_ref()).map(|id| id.value.clone());
    let mut taken: BTreeSet<String> = written.collect();
    // Where to go on counting for each name: thousands of steps may share a title.
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut ids = Vec::with_capacity(draft.steps.len());
    for (place, step) in draft.steps.iter().enumerate() {
        if let Some(id) = &step.id {
            ids.push(id.value.clone());
            continue;
        }
        let slug = slug(&step.title.value);
        let is_name = slug.bytes().any(|byte| byte.is_ascii_lowercase());
        let base = if is_name { slug } else { format!("step-{}", place + 1) };
        let count = counts.entry(base.clone()).or_default();
        let id = loop {
            *count += 1;
            let id = if *count == 1 { base.clone() } else { format!("{base}-{count}") };
            if !taken.contains(&id) {
                break id;
            }
        };
        taken.insert(id.clone());
        ids.push(id);
    }
    ids
}

/// Finds the step that `name` means: an id, or a number. `None` when there is no such step.
pub fn find_step(draft: &Draft, ids: &[String], name: &str) -> Option<usize> {
    let by_number =
        |number: u32| draft.steps.iter().position(|step| step.number.value == StepNumber::Counted(number));
    ids.iter()
        .position(|id| id == name)
        .or_else(|| name.trim_start_matches('#').parse().ok().and_then(by_number))
}

/// Which step waits for which. A step that declares nothing waits for all earlier ones: listed are those among them
/// that no other earlier step waits for. Names that mean no step are left out.
pub fn needs(draft: &Draft, ids: &[String]) -> Vec<Vec<usize>> {
    let mut needs: Vec<Vec<usize>> = Vec::with_capacity(draft.steps.len());
    let mut last: BTreeSet<usize> = BTreeSet::new();
    for (place, step) in draft.steps.iter().enumerate() {
        let own = match &step.needs {
            Some(names) => names.iter().filter_map(|name| find_step(draft, ids, &name.value)).collect(),
            None => last.iter().copied().collect(),
        };
        for before in &own {
            last.remove(before);
        }
        last.insert(place);
        needs.push(own);
    }
    needs
}
