//! A verified plan: every step has a contract or is confirmed by a person, every reference is resolved, and there is
//! no cycle. Only [`crate::verify`] creates one.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::budget::Budget;
use crate::plan::draft::{Draft, Mark, StepNumber};
use crate::plan::graph::Graph;

/// A verified plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    pub title: String,
    pub owner: String,
    /// Why the plan exists.
    pub context: String,
    /// How urgent it is.
    pub priority: String,
    /// What it may cost.
    pub budget: Budget,
    /// In file order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// The dependencies, as positions in [`Plan::steps`].
    pub fn graph(&self) -> Graph {
        Graph::new(self.steps.iter().map(|step| step.needs.clone()).collect())
    }
}

/// A step of a verified plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    pub number: u32,
    /// Unique in the plan.
    pub id: String,
    pub title: String,
    /// What the file claims, which proves nothing.
    pub mark: Option<Mark>,
    /// Role or agent.
    pub target: String,
    /// The instructions for the agent.
    pub task: String,
    pub contract: Contract,
    pub on_fail: OnFail,
    /// Positions of the steps that must be done first.
    pub needs: Vec<usize>,
    /// References whose content the agent gets.
    pub reads: Vec<Reference>,
    /// Globs of the files that the step may change; `None` if not declared, so that the step runs alone.
    pub touches: Option<Vec<String>>,
    /// Paths and globs of files that the contract depends on and that must not change.
    pub sealed: Vec<String>,
    /// Criteria for agent and reviewer.
    pub accept: Vec<String>,
    /// The position of the step after which the contract need not hold any more; `None` if it holds to the end.
    pub holds_until: Option<usize>,
    /// The reason why the contract may pass before the work; `None` if it may not.
    pub green: Option<String>,
    /// A question to an agent about the work after the contract passed.
    pub judge: Option<String>,
    /// Time limit of an attempt; `None` for the default.
    pub timeout_seconds: Option<u64>,
    /// Time limit of the contract; `None` for the default.
    pub contract_timeout_seconds: Option<u64>,
    /// Tools that the agent may use.
    pub tools: Vec<String>,
    /// Environment of agent and contract.
    pub env: Vec<String>,
    /// Whether the network may be used, as written.
    pub network: Option<String>,
    /// A command that prepares the checkout in which the contract runs.
    pub setup: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contract {
    Shell {
        /// Exactly as it runs.
        command: String,
        /// The expected exit code.
        expect: u8,
    },
    /// A person confirms the step.
    Manual,
}

impl Contract {
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Shell { command, .. } => Some(command),
            Self::Manual => None,
        }
    }

    /// The exit code that means done.
    pub const fn expected_code(&self) -> Option<u8> {
        match self {
            Self::Shell { expect, .. } => Some(*expect),
            Self::Manual => None,
        }
    }

    /// The hash by which receipts name the command; empty without one.
    pub fn hash(&self) -> String {
        self.command()
            .map(|command| blake3::hash(command.as_bytes()).to_hex().to_string())
            .unwrap_or_default()
    }
}

/// Something that the agent gets to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// `file:PATH`
    File(String),
    /// `topic:NAME`
    Topic(String),
}

impl Reference {
    /// Parses `file:PATH` or `topic:NAME`.
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
    /// The number of further attempts.
    pub retries: u32,
    /// What happens after the last attempt.
    pub then: Last,
}

/// What happens when all attempts failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// Ask a person.
    Escalate,
    Abort,
}

impl OnFail {
    /// The policy of a step without `on_fail`.
    pub const DEFAULT: Self = Self { retries: 2, then: Last::Escalate };

    /// Parses `retry(N)`, `escalate`, `abort`, `retry(N), then escalate` and `retry(N), then abort`.
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

/// Turns a text into a name: lowercase letters and digits with single dashes between words.
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

/// The id of every step: the written one, or one derived from the title. Derived ids never clash.
pub fn ids(draft: &Draft) -> Vec<String> {
    let written = draft.steps.iter().filter_map(|step| step.id.as_ref()).map(|id| id.value.clone());
    let mut taken: BTreeSet<String> = written.collect();
    // The next suffix per name: thousands of steps may share a title, so counting must not start over each time.
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

/// Finds a step by id or number.
pub fn find_step(draft: &Draft, ids: &[String], name: &str) -> Option<usize> {
    let by_number =
        |number: u32| draft.steps.iter().position(|step| step.number.value == StepNumber::Counted(number));
    ids.iter()
        .position(|id| id == name)
        .or_else(|| name.trim_start_matches('#').parse().ok().and_then(by_number))
}

/// The dependencies of every step. A step that declares none depends on all earlier ones, of which only those are
/// listed that no other earlier step depends on. Unknown names are skipped.
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
