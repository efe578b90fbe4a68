//! The settings: from the command line, the environment, the project, the user, and the defaults, in this order. Knows every
//! key through one table, refuses what it does not know, and never writes what it was not told to.

pub mod policy;
pub mod signature;
mod edit;
mod layer;
pub mod schema;
mod worktree;

pub use edit::{Edited, Refused, set, unset};
pub use layer::Fault;
pub use schema::{Kind, SETTINGS, Setting, Value};
pub use worktree::{Script, Worktree};

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::agent::permission::{Mode, Registry};
use planwright_core::agent::profile;
use planwright_core::agent::profile::Places;
use planwright_core::plan::verified::{Plan, Reference};
use planwright_core::run::event::Agents;
use planwright_core::run::opinion;
use planwright_core::run::opinion::Weight;
use planwright_core::run::schedule;
use planwright_core::workspace::notification::Occasion;

use layer::Layer;

/// The name of the file at the root of a project.
pub const FILE: &str = "planwright.toml";
/// The key of the command that topics come from, among the command lines of agents. No target is spelled like it.
pub const TOPICS_KEY: &str = "topic:";
/// The key of the agent that is asked about work that passed, where its opinion is advice.
pub const ADVISORY_JUDGE_KEY: &str = "judge:advisory";
/// The key of the agent that is asked about work that passed, where its opinion counts.
pub const GATE_JUDGE_KEY: &str = "judge:gate";
/// The beginning of the key of what an agent is like, before its target. No target is spelled like it.
pub const LIKE_KEY: &str = "like:";
/// The beginning of the key of an agent's variables.
pub const ENVIRONMENT_KEY: &str = "environment:";
/// The beginning of the key of where a judge's output has its answer.
pub const SAID_KEY: &str = "said:";
/// How much of a file is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The settings as they hold, each with its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Limits that plans are held to.
    pub limits: Limits,
    pub plans: Plans,
    /// How plans are carried out.
    pub run: Run,
    /// How finished plans are merged.
    pub merge: Merge,
    /// How planners are asked.
    pub draft: Draft,
    /// How plans are made anew.
    pub replan: Replan,
    /// How plans are decided about.
    pub review: Review,
    /// How contracts are run before the work.
    pub red: Red,
    /// How agents are asked for their word.
    pub consult: Consult,
    /// How long things are kept.
    pub retention: Retention,
    /// How your approvals are signed.
    pub approve: Approve,
    /// Where topics come from that are no file.
    pub topics: Topics,
    /// Repositories beside the project's own, by name: `api = "../api"`.
    pub repositories: BTreeMap<String, String>,
    /// Which agent plays a role: `coder = "claude"`.
    pub roles: BTreeMap<String, String>,
    /// Agents that are command lines.
    pub agents: BTreeMap<String, Agent>,
    /// What sessions of your own agents are told.
    pub session: Session,
    /// Who is told of what happens.
    pub hooks: Hooks,
    /// How agents are held to the scope of their step.
    pub scope: Scope,
    /// Tools that need an approved plan, in sessions of people.
    pub guard: Guard,
    /// The tools that steps may ask for, with what each can do; empty where nobody listed them.
    pub tools: BTreeMap<String, Vec<String>>,
    /// How the trees of plans are made.
    pub worktree: Worktree,
}

/// How agents are held to the scope of their step. Never from a file that an agent could have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// What becomes of a call that is out of scope.
    pub mode: Mode,
    /// What becomes of an attempt that changed other files than it may.
    pub violation: Violation,
    /// What is known of commands and tools that planwright does not know.
    pub registry: Registry,
}

/// What becomes of an attempt that changed other files than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// It is shown, and the contract judges.
    Flag,
    /// The contract is not run.
    Fail,
}

/// Tools that need an approved plan, in sessions of people.
pub type Guard = planwright_core::agent::permission::Guard;

/// How finished plans are merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// How many plans that landed last have their contracts run again.
    pub guards: usize,
}

/// Limits that plans are held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes that a plan file may have.
    pub plan_bytes: usize,
    /// The most retries that a step may ask for.
    pub retries: u32,
    /// The fewest megabytes that should be free on a disk that is written to.
    pub free_mb: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plans {
    /// The folder with named plans, relative to the root; `None`: the usual one.
    pub harness: Option<PathBuf>,
}

/// How plans are carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How many steps may be under way at once.
    pub jobs: usize,
    /// How long an attempt may take, where the step does not say.
    pub step_seconds: u64,
    /// How long a contract may take, where the step does not say.
    pub contract_seconds: u64,
    /// Lost attempts of one step before a person is asked.
    pub lost_max: u32,
    /// How often in a row the agent of a step may not be had before a person is asked.
    pub parked_max: u32,
    /// How long a step waits for an agent that can't be had and does not say until when.
    pub park_seconds: u64,
    /// The share of a budget, in percent, at which people are warned.
    pub warn_percent: u64,
    /// How much of an output is kept.
    pub output_bytes: usize,
    /// How much of a file or topic an agent is given to read.
    pub context_bytes: u64,
    /// Minutes after which a run that nobody drives is stalled.
    pub stalled_minutes: u64,
    /// Whether steps that are under way at once work in trees of their own.
    pub has_trees: bool,
}

/// How planners are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// How often a planner is asked for one plan.
    pub tries: u32,
    /// How long it may take over one answer.
    pub seconds: u64,
}

/// How plans are made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replan {
    /// How often one plan may be.
    pub max: u32,
}

/// How plans are decided about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Days after which a proposal that nobody decided about is cancelled; 0: never.
    pub stale_days: u64,
}

/// How long things are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Days after which what agents and contracts printed in a run that is over may go; 0: never.
    pub days: u64,
}

impl Config {
    /// The limits that `decide` goes by.
    pub fn run_limits(&self) -> schedule::Limits {
        schedule::Limits {
            jobs: self.run.jobs,
            lost_max: self.run.lost_max,
            parked_max: self.run.parked_max,
            warn_percent: self.run.warn_percent,
            is_straying_asked: self.scope.violation == Violation::Fail,
            steps: None,
        }
    }
}

/// How contracts are run before the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Red {
    /// How long one contract may take, where the step does not say less.
    pub seconds: u64,
    /// How long all contracts of a plan may take together.
    pub total_seconds: u64,
}

/// How agents are asked for their word, as arbiter, judge or reviewer of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consult {
    /// How long an answer may take.
    pub seconds: u64,
    /// The agent that is asked how a plan goes on; `None`: none is.
    pub arbiter: Option<String>,
}

/// How your approvals are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approve {
    /// The private key; `None`: they are not.
    pub key: Option<PathBuf>,
}

/// Where topics come from that are no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    /// Prints the text of the topic that is its last word; empty where there is none.
    pub command: Vec<String>,
}

/// An agent that the user says something about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agent {
    /// The command line; the prompt comes on its stdin. Empty: that of the profile.
    pub command: Vec<String>,
    /// The profile that it is like: how its output is read, and its command line where none is said.
    pub like: Option<String>,
    /// Variables of its environment, each as `NAME=VALUE`.
    pub environment: Vec<String>,
    /// Where it says what it used, if it is like nothing that is known.
    pub places: Places,
    /// Whether the file of the project says any of it: then it is run only once it was approved.
    pub is_projects: bool,
    /// How it is talked to.
    pub protocol: Protocol,
}

/// How an agent is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The prompt comes on its standard input, and it says what it does on its output.
    #[default]
    Command,
    /// By the Agent Client Protocol, over our own bridge.
    Acp,
}

/// What sessions of your own agents are told, and where planners write. Never from a file that an agent could have written: see
/// [`Setting::is_personal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// How often a session that wants to stop is told what the contract of its step says; 0: never.
    pub stop_holds: u32,
    /// Where the plan folders of planners are made; `None`: below the home of the user.
    pub plans: Option<PathBuf>,
}

/// Who is told of what happens. Never from a file that an agent could have written: see [`Setting::is_personal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// The command for each occasion; the event comes on its stdin.
    pub commands: BTreeMap<Occasion, Vec<String>>,
    /// The address that events are sent to.
    pub webhook_url: Option<String>,
    /// The file with the secret that they are signed with.
    pub webhook_secret_file: Option<PathBuf>,
    /// How long one delivery may take.
    pub seconds: u64,
}

/// Where a value comes from; the first of these that has one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// `--config KEY=VALUE`.
    Flag,
    /// A variable of the environment.
    Environment,
    /// `planwright.toml` at the root of the project.
    Project,
    /// The file of the user.
    User,
    /// The table of settings.
    Default,
}

impl Origin {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "env",
            Self::Project => "project",
            Self::User => "user",
            Self::Default => "default",
        }
    }
}

/// Everything that settings are read from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// `KEY=VALUE`, as typed.
    pub flags: Vec<String>,
    /// Variables of the environment; those that are none of ours are passed over.
    pub environment: Vec<(String, String)>,
    /// The file of the project.
    pub project: Option<PathBuf>,
    /// The file of the user.
    pub user: Option<PathBuf>,
}

impl Sources {
    /// What this process was given, in the project at `root`.
    pub fn of_process(root: &Path, flags: &[String]) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        };
        Self {
            flags: flags.to_vec(),
            environment: std::env::vars_os().filter_map(text).collect(),
            project: Some(root.join(FILE)),
            user: user_file(),
        }
    }
}

/// The file of the user: `$XDG_CONFIG_HOME/planwright/config.toml`, below `~/.config` where that is not set.
pub fn user_file() -> Option<PathBuf> {
    // A relative path would lie in the workspace, within reach of the agents; the specification says to ignore it.
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("planwright/config.toml"))
}

/// A path of a setting: `~/` in front of it is the home, as it is for a shell.
pub(crate) fn from_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        (Ok(_), None) | (Err(_), _) => path.to_owned(),
    }
}

/// Why the settings can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is there and can't be read.
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file is no TOML, or says something that we don't know.
    #[error("{} is not a valid configuration", path.display())]
    Invalid {
        path: PathBuf,
        /// Everything that is wrong with it.
        faults: Vec<Fault>,
    },
    /// A variable of the environment says something that we don't know.
    #[error("the environment has a setting that can't be used")]
    Environment {
        /// Everything that is wrong with it.
        faults: Vec<Fault>,
    },
    /// The command line says something that we don't know.
    #[error("--config has a setting that can't be used")]
    Flag {
        /// Everything that is wrong with it.
        faults: Vec<Fault>,
    },
}

impl Error {
    /// Everything that is wrong with what was read.
    pub fn faults(&self) -> &[Fault] {
        match self {
            Self::Read { .. } => &[],
            Self::Invalid { faults, .. } | Self::Environment { faults } | Self::Flag { faults } => faults,
        }
    }
}

/// Every setting that somebody made, with where it comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    said: BTreeMap<Vec<String>, (Value, Origin)>,
}

/// One setting as it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name: `run.jobs`, `roles.coder`.
    pub key: String,
    /// Its row in the table.
    pub setting: &'static Setting,
    /// Its value; `None` where nothing is said and there is no default.
    pub value: Option<Value>,
    /// Where the value comes from.
    pub origin: Origin,
}

impl Settings {
    pub fn read(sources: &Sources) -> Result<Self, Error> {
        let file = |path: &Option<PathBuf>| path.as_deref().map_or(Ok(Layer::new()), read_file);
        let mut settings = Self::default();
        // The weakest first: what comes later replaces it.
        settings.lay(file(&sources.user)?, Origin::User);
        settings.lay(read_project(sources)?, Origin::Project);
        let environment = layer::of_environment(&sources.environment);
        settings.lay(environment.map_err(|faults| Error::Environment { faults })?, Origin::Environment);
        let flags = layer::of_flags(&sources.flags);
        settings.lay(flags.map_err(|faults| Error::Flag { faults })?, Origin::Flag);
        Ok(settings)
    }

    fn lay(&mut self, layer: Layer, origin: Origin) {
        self.said.extend(layer.into_iter().map(|(path, value)| (path, (value, origin))));
    }

    /// Every setting as it holds, in the order of the table.
    pub fn entries(&self) -> Vec<Entry> {
        let mut paths: Vec<Vec<String>> =
            SETTINGS.iter().filter(|setting| setting.is_single()).map(parts).collect();
        paths.extend(self.said.keys().filter(|path| !paths.contains(path)).cloned().collect::<Vec<_>>());
        let mut entries: Vec<(usize, Entry)> = paths
            .iter()
            .filter_map(|path| {
                let place = SETTINGS.iter().position(|setting| Setting::find(path) == Some(setting))?;
                Some((place, self.entry(path)?))
            })
            .collect();
        entries.sort_by(|one, other| (one.0, &one.1.key).cmp(&(other.0, &other.1.key)));
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    /// One setting as it holds; `None` where there is no such setting.
    pub fn entry(&self, path: &[String]) -> Option<Entry> {
        let setting = Setting::find(path)?;
        let (value, origin) = match self.said.get(path) {
            Some((value, origin)) => (Some(value.clone()), *origin),
            None => (setting.default(), Origin::Default),
        };
        Some(Entry { key: schema::key(path), setting, value, origin })
    }

    fn number(&self, name: &str) -> u64 {
        match self
            .entry(&name.split('.').map(str::to_owned).collect::<Vec<_>>())
            .and_then(|entry| entry.value)
        {
            Some(Value::Number(number)) => number,
            found @ (Some(Value::Text(_) | Value::Words(_)) | None) => {
                panic!("`{name}` is a number of the table, not {found:?}")
            }
        }
    }

    /// The word of a setting that is one of several.
    fn word(&self, name: &str) -> String {
        let path: Vec<String> = name.split('.').map(str::to_owned).collect();
        match self.entry(&path).and_then(|entry| entry.value) {
            Some(Value::Text(word)) => word,
            found @ (Some(Value::Number(_) | Value::Words(_)) | None) => {
                panic!("`{name}` is a word of the table, not {found:?}")
            }
        }
    }

    /// How plans are carried out.
    fn run(&self) -> Run {
        let size = |name| usize::try_from(self.number(name)).unwrap_or(usize::MAX);
        let count = |name| u32::try_from(self.number(name)).unwrap_or(u32::MAX);
        Run {
            jobs: size("run.jobs"),
            step_seconds: self.number("run.step_seconds"),
            contract_seconds: self.number("run.contract_seconds"),
            lost_max: count("run.lost_max"),
            parked_max: count("run.parked_max"),
            park_seconds: self.number("run.park_seconds"),
            warn_percent: self.number("run.warn_percent"),
            output_bytes: size("run.output_bytes"),
            context_bytes: self.number("run.context_bytes"),
            stalled_minutes: self.number("run.stalled_minutes"),
            has_trees: self.word("run.tree_per_step") != "never",
        }
    }

    /// The settings with their types.
    pub fn config(&self) -> Config {
        let mut config = self.usual();
        for (path, (value, origin)) in &self.said {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            config.take((&path, *origin), value);
        }
        config
    }

    /// The settings that have a default, with their types.
    fn usual(&self) -> Config {
        let size = |name| usize::try_from(self.number(name)).unwrap_or(usize::MAX);
        let count = |name| u32::try_from(self.number(name)).unwrap_or(u32::MAX);
        Config {
            limits: Limits {
                plan_bytes: size("limits.plan_bytes"),
                retries: count("limits.retries"),
                free_mb: self.number("limits.free_mb"),
            },
            plans: Plans { harness: None },
            run: self.run(),
            merge: Merge { guards: usize::try_from(self.number("merge.guards")).unwrap_or(usize::MAX) },
            draft: Draft { tries: count("draft.tries"), seconds: self.number("draft.seconds") },
            replan: Replan { max: count("replan.max") },
            review: Review { stale_days: self.number("review.stale_days") },
            red: Red { seconds: self.number("red.seconds"), total_seconds: self.number("red.total_seconds") },
            consult: Consult { seconds: self.number("consult.seconds"), arbiter: None },
            retention: Retention { days: self.number("retention.days") },
            approve: Approve { key: None },
            topics: Topics { command: Vec::new() },
            repositories: BTreeMap::new(),
            roles: BTreeMap::new(),
            agents: BTreeMap::new(),
            session: Session { stop_holds: count("session.stop_holds"), plans: None },
            hooks: Hooks {
                commands: BTreeMap::new(),
                webhook_url: None,
                webhook_secret_file: None,
                seconds: self.number("hooks.seconds"),
            },
            scope: Scope {
                mode: mode(&self.word("scope.mode")),
                violation: match self.word("scope.violation").as_str() {
                    "fail" => Violation::Fail,
                    _ => Violation::Flag,
                },
                registry: Registry::default(),
            },
            guard: Guard { tools: Vec::new(), mode: mode(&self.word("guard.mode")) },
            tools: BTreeMap::new(),
            worktree: Worktree::usual(self),
        }
    }
}

impl Config {
    /// Takes what somebody says, if it is something that has no default.
    fn take(&mut self, (path, origin): (&[&str], Origin), value: &Value) {
        match (path, value) {
            (["topics", "command"], Value::Words(words)) => self.topics.command.clone_from(words),
            (["arbiter", "agent"], Value::Text(agent)) => self.consult.arbiter = Some(agent.clone()),
            (["approve", "key"], Value::Text(path)) => self.approve.key = Some(path.into()),
            (["session", "plans"], Value::Text(path)) => self.session.plans = Some(path.into()),
            (["plans", "harness"], Value::Text(path)) => self.plans.harness = Some(path.into()),
            (["repositories", name], Value::Text(path)) => {
                self.repositories.insert((*name).to_owned(), path.clone());
            }
            (["roles", name], Value::Text(agent)) => {
                self.roles.insert((*name).to_owned(), agent.clone());
            }
            (["agents", name, key], value) => {
                let agent = self.agents.entry((*name).to_owned()).or_default();
                agent.take(key, value);
                agent.is_projects |= origin == Origin::Project;
            }
            (["hooks", name], Value::Words(words)) => {
                let occasion = Occasion::ALL.into_iter().find(|known| hook_name(*known) == *name);
                self.hooks.commands.extend(occasion.map(|occasion| (occasion, words.clone())));
            }
            (["hooks", "webhook", "url"], Value::Text(url)) => {
                self.hooks.webhook_url = Some(url.clone());
            }
            (["hooks", "webhook", "secret_file"], Value::Text(path)) => {
                self.hooks.webhook_secret_file = Some(path.into());
            }
            (["safety", "read"], Value::Words(list)) => self.scope.registry.read.clone_from(list),
            (["safety", "write"], Value::Words(list)) => self.scope.registry.write.clone_from(list),
            (["guard", "tools"], Value::Words(list)) => self.guard.tools.clone_from(list),
            (["tools", name, "operations"], Value::Words(list)) => {
                self.tools.insert((*name).to_owned(), list.clone());
            }
            (["worktree", key], value) => self.worktree.take((key, origin), value),
            (_, Value::Number(_) | Value::Text(_) | Value::Words(_)) => {}
        }
    }
}

impl Agent {
    fn take(&mut self, key: &str, value: &Value) {
        match (key, value) {
            ("command", Value::Words(words)) => self.command.clone_from(words),
            ("environment", Value::Words(words)) => self.environment.clone_from(words),
            ("like", Value::Text(name)) => self.like = Some(name.clone()),
            ("protocol", Value::Text(word)) if word == "acp" => self.protocol = Protocol::Acp,
            ("tokens", Value::Words(places)) => self.places.tokens.clone_from(places),
            ("dollars", Value::Text(place)) => self.places.dollars = Some(place.clone()),
            ("session", Value::Text(place)) => self.places.session = Some(place.clone()),
            ("said", Value::Text(place)) => self.places.said = Some(place.clone()),
            (_, Value::Number(_) | Value::Text(_) | Value::Words(_)) => {}
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Settings::default().config()
    }
}

impl Config {
    /// The agent that does the steps for `target`: what the role says, or the target itself.
    pub fn agent_of<'a>(&'a self, target: &'a str) -> &'a str {
        self.roles.get(target).map_or(target, String::as_str)
    }

    /// The command lines by which the targets of a plan are served: what an approval of the plan is also for.
    ///
    /// A plan that says `shell` or `human` says all there is, so these are left out. A role that one of them plays has its
    /// name as the only word, which no command line can have; a target without a command line has none.
    pub fn agents_of(&self, plan: &Plan) -> Agents {
        let targets = plan.steps.iter().map(|step| step.target.as_str());
        let targets = targets.filter(|target| !schema::BUILT_IN.contains(target));
        targets
            .map(|target| {
                let agent = self.agent_of(target);
                let command = match schema::BUILT_IN.contains(&agent) {
                    true => vec![agent.to_owned()],
                    false => self.command_of(agent),
                };
                (target.to_owned(), command)
            })
            .collect()
    }

    /// The command line of an agent: what the settings say, or the profile that it is like or called by; empty where there is
    /// none.
    pub fn command_of(&self, agent: &str) -> Vec<String> {
        let said = self.agents.get(agent);
        let protocol = said.map(|said| said.protocol).unwrap_or_default();
        let own = said.map(|said| said.command.clone()).filter(|command| !command.is_empty());
        let words: Vec<String> = own.unwrap_or_else(|| {
            let profile = profile::profile(said.and_then(|said| said.like.as_deref()).unwrap_or(agent));
            let words = profile.map(|profile| match protocol {
                Protocol::Command => profile.command,
                Protocol::Acp => profile.acp,
            });
            words.unwrap_or_default().iter().map(|&word| word.to_owned()).collect()
        });
        match protocol {
            Protocol::Acp if !words.is_empty() => {
                profile::BRIDGE.iter().map(|&word| word.to_owned()).chain(words).collect()
            }
            Protocol::Acp | Protocol::Command => words,
        }
    }

    /// Whether an agent is started by what the file of the project says, which agents can write: then only an approval, or the
    /// settings of the user, may start it.
    pub fn is_projects_word(&self, agent: &str) -> bool {
        let Some(said) = self.agents.get(agent).filter(|said| said.is_projects) else { return false };
        let known = profile::profile(agent).map(|profile| profile.command).unwrap_or_default();
        let is_known = said.command.is_empty() || said.command.iter().eq(known);
        !is_known || said.like.is_some() || !said.environment.is_empty()
    }

    /// What an approval names of an agent besides its command line: the profile that it is said to be like, its variables.
    fn manner_of(&self, target: &str) -> impl Iterator<Item = (String, Vec<String>)> {
        let said = self.agents.get(self.agent_of(target));
        let like = said.and_then(|said| said.like.clone()).map(|like| vec![like]).unwrap_or_default();
        let environment = said.map(|said| said.environment.clone()).unwrap_or_default();
        let all = [(LIKE_KEY, like), (ENVIRONMENT_KEY, environment)];
        let all = all.into_iter().filter(|(_, words)| !words.is_empty());
        all.map(move |(key, words)| (format!("{key}{target}"), words))
    }

    /// Every command line that carrying out a plan takes from the settings: those of its agents with what else is said of them
    /// (under [`LIKE_KEY`] and [`ENVIRONMENT_KEY`]), under [`TOPICS_KEY`] the one that topics come from, where a step reads a
    /// topic, and that of the judge with the weight of its opinion, where a step has a question for it.
    pub fn commands_of(&self, plan: &Plan, weight: Weight) -> Agents {
        let mut commands = self.agents_of(plan);
        let manners: Vec<_> = commands.keys().flat_map(|target| self.manner_of(target)).collect();
        commands.extend(manners);
        if plan.steps.iter().any(|step| step.judge.is_some()) {
            let key = match weight {
                Weight::Advisory => ADVISORY_JUDGE_KEY,
                Weight::Gate => GATE_JUDGE_KEY,
            };
            commands.insert(key.to_owned(), self.command_of(self.agent_of(opinion::ROLE)));
            commands.extend(self.manner_of(opinion::ROLE));
            let said =
                self.agents.get(self.agent_of(opinion::ROLE)).and_then(|said| said.places.said.clone());
            commands.extend(said.map(|place| (format!("{SAID_KEY}{}", opinion::ROLE), vec![place])));
        }
        let mut reads = plan.steps.iter().flat_map(|step| &step.reads);
        let reads_topics = reads.any(|reference| matches!(reference, Reference::Topic(_)));
        if reads_topics && !self.topics.command.is_empty() {
            commands.insert(TOPICS_KEY.to_owned(), self.topics.command.clone());
        }
        commands
    }
}

/// The name of the hook for an occasion, as the settings spell it.
pub const fn hook_name(occasion: Occasion) -> &'static str {
    match occasion {
        Occasion::NeedsYou => "needs_you",
        Occasion::Done => "done",
        Occasion::Failed => "failed",
    }
}

fn mode(word: &str) -> Mode {
    if word == "log" { Mode::Log } else { Mode::Block }
}

fn parts(setting: &Setting) -> Vec<String> {
    setting.name.split('.').map(str::to_owned).collect()
}

/// What the file of the project says, which may be anybody's word: what is for the user alone to say is refused.
fn read_project(sources: &Sources) -> Result<Layer, Error> {
    let Some(path) = &sources.project else { return Ok(Layer::new()) };
    let text = read_text(path)?.unwrap_or_default();
    let layer = layer::of_project(&text, sources.user.as_deref());
    layer.map_err(|faults| Error::Invalid { path: path.clone(), faults })
}

/// What a file says; nothing where there is none.
fn read_file(path: &Path) -> Result<Layer, Error> {
    let text = read_text(path)?.unwrap_or_default();
    layer::of_file(&text).map_err(|faults| Error::Invalid { path: path.to_owned(), faults })
}

/// The text of a file of settings; `None` where there is none.
fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let read_error = |source| Error::Read { path: path.to_owned(), source };
    // Nobody named this file: a pipe in its place would be waited for without end.
    let data = path.metadata();
    if data.as_ref().is_ok_and(|data| !data.is_file()) {
        return Err(read_error(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    // Half a file must not be taken for the whole.
    if data.is_ok_and(|data| data.len() > FILE_BYTES_MAX) {
        return Err(read_error(io::Error::new(
            io::ErrorKind::InvalidInput,
            "too large for a file of settings",
        )));
    }
    match crate::store::plan_file::read_text(path, FILE_BYTES_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(read_error(source)),
    }
}

#[cfg(test)]
mod tests;
