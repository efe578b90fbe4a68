//! The settings: from the command line, the environment, the project, the user and the defaults, in this
//! order. Knows every key through one table, refuses unknown ones, and only writes on request.

pub mod policy;
pub mod signature;
mod edit;
mod layer;
pub mod schema;
mod worktree;

pub use edit::{ConfigEditError, ConfigEditResult, set, unset};
pub use layer::ConfigFault;
pub use schema::{SETTINGS, Setting, SettingKind, SettingValue};
pub use worktree::{Worktree, WorktreeScript};

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::agent::permission::{PermissionMode, Registry};
use planwright_core::agent::profile;
use planwright_core::agent::profile::FieldPaths;
use planwright_core::plan::verified::{Plan, Reference};
use planwright_core::run::event::AgentCommands;
use planwright_core::run::opinion;
use planwright_core::run::opinion::Authority;
use planwright_core::run::schedule;
use planwright_core::workspace::notification::Trigger;

use layer::Layer;

/// The name of the file at the root of a project.
pub const FILE: &str = "planwright.toml";
/// The key of the topic command among the agents' commands. No target is spelled like it.
pub const TOPICS_KEY: &str = "topic:";
/// The key of the judge whose opinion is advice.
pub const ADVISORY_JUDGE_KEY: &str = "judge:advisory";
/// The key of the judge whose opinion counts.
pub const GATE_JUDGE_KEY: &str = "judge:gate";
/// The prefix of the key of the profile an agent is like. No target is spelled like it.
pub const LIKE_KEY: &str = "like:";
/// The prefix of the key of an agent's variables.
pub const ENVIRONMENT_KEY: &str = "environment:";
/// The prefix of the key of where a judge's output has its answer.
pub const SAID_KEY: &str = "said:";
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The effective settings, with their types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub limits: LimitSettings,
    pub plans: PlanSettings,
    pub run: RunSettings,
    pub merge: MergeSettings,
    pub draft: DraftSettings,
    pub replan: ReplanSettings,
    pub review: ReviewSettings,
    /// The red check.
    pub red: BaselineSettings,
    /// Asking agents for opinions.
    pub consult: Consult,
    pub retention: Retention,
    pub approve: Approve,
    /// Topics that are not files.
    pub topics: Topics,
    /// Other repositories, by name: `api = "../api"`.
    pub repositories: BTreeMap<String, String>,
    /// Agents by role: `coder = "claude"`.
    pub roles: BTreeMap<String, String>,
    pub agents: BTreeMap<String, AgentSettings>,
    /// What sessions of the user's own agents are told.
    pub session: SessionSettings,
    pub hooks: Hooks,
    /// How agents are held to the scope of their step.
    pub scope: ScopeSettings,
    /// Tools that need an approved plan in people's sessions.
    pub guard: GuardSettings,
    /// The tools that steps may use and their operations; empty if none are listed.
    pub tools: BTreeMap<String, Vec<String>>,
    pub worktree: Worktree,
}

/// How agents are held to the scope of their step. Never read from a file that an agent could have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeSettings {
    /// What happens to a call out of scope.
    pub mode: PermissionMode,
    /// What happens to an attempt that changed files out of scope.
    pub violation: Violation,
    /// Facts about commands and tools that planwright does not know itself.
    pub registry: Registry,
}

/// What happens to an attempt that changed files out of scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// It is shown, and the contract decides.
    Flag,
    /// The attempt fails before its contract runs.
    Fail,
}

pub type GuardSettings = planwright_core::agent::permission::ToolGuard;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeSettings {
    /// How many recently merged plans have their contracts run again.
    pub guards: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// The maximum size of a plan file.
    pub plan_bytes: usize,
    /// The maximum retries a step may request.
    pub retries: u32,
    /// The free space below which `doctor` warns.
    pub free_mb: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSettings {
    /// The directory of named plans, relative to the root; `None` for the default.
    pub harness: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSettings {
    /// Maximum parallel steps.
    pub jobs: usize,
    /// Time limit of an attempt without `timeout`.
    pub step_seconds: u64,
    /// Time limit of a contract without `contract_timeout`.
    pub contract_seconds: u64,
    /// Interrupted attempts of one step before planwright asks the user.
    pub lost_max: u32,
    /// Times in a row an agent may be unavailable before planwright asks the user.
    pub parked_max: u32,
    /// How long a step waits for an unavailable agent that gives no time.
    pub park_seconds: u64,
    /// The share of a budget, in percent, at which planwright warns.
    pub warn_percent: u64,
    /// Bytes kept of an output.
    pub output_bytes: usize,
    /// Bytes of a file or topic given to an agent.
    pub context_bytes: u64,
    /// Minutes after which a run without a process counts as stalled.
    pub stalled_minutes: u64,
    /// Whether parallel steps get their own worktrees.
    pub has_trees: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftSettings {
    /// How often a planner is asked for one plan.
    pub tries: u32,
    /// Time limit of one answer.
    pub seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplanSettings {
    /// How often one plan may be replanned.
    pub max: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewSettings {
    /// Days after which a proposal without a decision is cancelled; 0: never.
    pub stale_days: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Days after which output of finished runs may be deleted; 0: never.
    pub days: u64,
}

impl Config {
    /// The limits that `decide` uses.
    pub fn run_limits(&self) -> schedule::ScheduleLimits {
        schedule::ScheduleLimits {
            jobs: self.run.jobs,
            lost_max: self.run.lost_max,
            parked_max: self.run.parked_max,
            warn_percent: self.run.warn_percent,
            is_straying_asked: self.scope.violation == Violation::Fail,
            ..schedule::ScheduleLimits::default()
        }
    }
}

/// The red check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineSettings {
    /// Time limit of one contract; a step may set less.
    pub seconds: u64,
    /// Time limit of all contracts of a plan together.
    pub total_seconds: u64,
}

/// Asking agents for opinions, as arbiter, judge or plan reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consult {
    /// Time limit of an answer.
    pub seconds: u64,
    /// The agent asked for the next action; `None` for the built-in choice.
    pub arbiter: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approve {
    /// The private key; `None` leaves them unsigned.
    pub key: Option<PathBuf>,
}

/// Topics that are not files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    /// Prints the topic passed as its last argument; empty if not set.
    pub command: Vec<String>,
}

/// An agent with settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentSettings {
    /// The command; it reads the prompt from stdin. Empty: the profile's.
    pub command: Vec<String>,
    /// The profile it is like: it determines how its output is read, and its default command.
    pub like: Option<String>,
    pub environment: Vec<String>,
    /// Where its output reports usage, if it matches no known profile.
    pub places: FieldPaths,
    /// Whether the project's file sets any of this: then it needs an approval before it runs.
    pub is_projects: bool,
    pub protocol: Protocol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// It reads the prompt from standard input and reports on its output.
    #[default]
    Command,
    /// The Agent Client Protocol, through our own bridge.
    Acp,
}

/// What sessions of the user's own agents are told, and where planners write. Never read from a file that an
/// agent could have written: see [`Setting::is_personal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSettings {
    /// How often a session that wants to stop is shown its failing contract; 0: never.
    pub stop_holds: u32,
    /// The directory of planner sessions; `None`: below the user's home.
    pub plans: Option<PathBuf>,
}

/// Who is notified of events. Never read from a file that an agent could have written: see
/// [`Setting::is_personal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// The command per occasion; it reads the event from stdin.
    pub commands: BTreeMap<Trigger, Vec<String>>,
    pub webhook_url: Option<String>,
    pub webhook_secret_file: Option<PathBuf>,
    /// Time limit of one delivery.
    pub seconds: u64,
}

/// Where a value comes from; the first of these that has one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// `--config KEY=VALUE`.
    Flag,
    Environment,
    /// `planwright.toml` at the root of the project.
    Project,
    /// The file of the user.
    User,
    Default,
}

impl Origin {
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

#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// `KEY=VALUE`, as typed.
    pub flags: Vec<String>,
    /// Environment variables; foreign ones are ignored.
    pub environment: Vec<(String, String)>,
    pub project: Option<PathBuf>,
    pub user: Option<PathBuf>,
}

impl Sources {
    /// The sources of this process, in the project at `root`.
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

/// The user's file: `$XDG_CONFIG_HOME/planwright/config.toml`, below `~/.config` if that is not set.
pub fn user_file() -> Option<PathBuf> {
    // A relative path would be in the workspace, within reach of agents; the specification says to ignore it.
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("planwright/config.toml"))
}

/// The path of a setting, with a leading `~/` expanded as a shell does.
pub(crate) fn from_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        (Ok(_), None) | (Err(_), _) => path.to_owned(),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file that is not TOML, or contains unknown settings.
    #[error("invalid configuration {}", path.display())]
    Invalid { path: PathBuf, faults: Vec<ConfigFault> },
    /// An environment variable with an unknown or invalid setting.
    #[error("invalid setting in the environment")]
    Environment { faults: Vec<ConfigFault> },
    /// A command line option with an unknown or invalid setting.
    #[error("invalid setting in --config")]
    Flag { faults: Vec<ConfigFault> },
}

impl Error {
    pub fn faults(&self) -> &[ConfigFault] {
        match self {
            Self::Read { .. } => &[],
            Self::Invalid { faults, .. } | Self::Environment { faults } | Self::Flag { faults } => faults,
        }
    }
}

/// Every setting with its origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    said: BTreeMap<Vec<String>, (SettingValue, Origin)>,
}

/// One effective setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingEntry {
    pub key: String,
    pub setting: &'static Setting,
    /// `None` if it is not set and has no default.
    pub value: Option<SettingValue>,
    pub origin: Origin,
}

impl Settings {
    pub fn read(sources: &Sources) -> Result<Self, Error> {
        let file = |path: &Option<PathBuf>| path.as_deref().map_or(Ok(Layer::new()), read_file);
        let mut settings = Self::default();
        // Weakest first: later layers replace earlier ones.
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

    /// Every effective setting, in table order.
    pub fn entries(&self) -> Vec<SettingEntry> {
        let mut paths: Vec<Vec<String>> = SETTINGS
            .iter()
            .filter(|setting| setting.is_single())
            .map(|setting| parts(setting.name))
            .collect();
        paths.extend(self.said.keys().filter(|path| !paths.contains(path)).cloned().collect::<Vec<_>>());
        let mut entries: Vec<(usize, SettingEntry)> = paths
            .iter()
            .filter_map(|path| {
                let place = SETTINGS.iter().position(|setting| Setting::find(path) == Some(setting))?;
                Some((place, self.entry(path)?))
            })
            .collect();
        entries.sort_by(|one, other| (one.0, &one.1.key).cmp(&(other.0, &other.1.key)));
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    /// One effective setting; `None` if it is unknown.
    pub fn entry(&self, path: &[String]) -> Option<SettingEntry> {
        let setting = Setting::find(path)?;
        let (value, origin) = match self.said.get(path) {
            Some((value, origin)) => (Some(value.clone()), *origin),
            None => (setting.default(), Origin::Default),
        };
        Some(SettingEntry { key: schema::key(path), setting, value, origin })
    }

    fn number(&self, name: &str) -> u64 {
        match self.entry(&parts(name)).and_then(|entry| entry.value) {
            Some(SettingValue::Number(number)) => number,
            found @ (Some(SettingValue::Text(_) | SettingValue::Words(_)) | None) => {
                panic!("`{name}` is a number of the table, not {found:?}")
            }
        }
    }

    /// The value of a choice setting.
    fn word(&self, name: &str) -> String {
        match self.entry(&parts(name)).and_then(|entry| entry.value) {
            Some(SettingValue::Text(word)) => word,
            found @ (Some(SettingValue::Number(_) | SettingValue::Words(_)) | None) => {
                panic!("`{name}` is a word of the table, not {found:?}")
            }
        }
    }

    fn run(&self) -> RunSettings {
        let size = |name| usize::try_from(self.number(name)).unwrap_or(usize::MAX);
        let count = |name| u32::try_from(self.number(name)).unwrap_or(u32::MAX);
        RunSettings {
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
            limits: LimitSettings {
                plan_bytes: size("limits.plan_bytes"),
                retries: count("limits.retries"),
                free_mb: self.number("limits.free_mb"),
            },
            plans: PlanSettings { harness: None },
            run: self.run(),
            merge: MergeSettings { guards: size("merge.guards") },
            draft: DraftSettings { tries: count("draft.tries"), seconds: self.number("draft.seconds") },
            replan: ReplanSettings { max: count("replan.max") },
            review: ReviewSettings { stale_days: self.number("review.stale_days") },
            red: BaselineSettings {
                seconds: self.number("red.seconds"),
                total_seconds: self.number("red.total_seconds"),
            },
            consult: Consult { seconds: self.number("consult.seconds"), arbiter: None },
            retention: Retention { days: self.number("retention.days") },
            approve: Approve { key: None },
            topics: Topics { command: Vec::new() },
            repositories: BTreeMap::new(),
            roles: BTreeMap::new(),
            agents: BTreeMap::new(),
            session: SessionSettings { stop_holds: count("session.stop_holds"), plans: None },
            hooks: Hooks {
                commands: BTreeMap::new(),
                webhook_url: None,
                webhook_secret_file: None,
                seconds: self.number("hooks.seconds"),
            },
            scope: ScopeSettings {
                mode: mode(&self.word("scope.mode")),
                violation: match self.word("scope.violation").as_str() {
                    "fail" => Violation::Fail,
                    _ => Violation::Flag,
                },
                registry: Registry::default(),
            },
            guard: GuardSettings { tools: Vec::new(), mode: mode(&self.word("guard.mode")) },
            tools: BTreeMap::new(),
            worktree: Worktree::usual(self),
        }
    }
}

impl Config {
    /// Stores a value of a setting without a default.
    fn take(&mut self, (path, origin): (&[&str], Origin), value: &SettingValue) {
        match (path, value) {
            (["topics", "command"], SettingValue::Words(words)) => self.topics.command.clone_from(words),
            (["arbiter", "agent"], SettingValue::Text(agent)) => self.consult.arbiter = Some(agent.clone()),
            (["approve", "key"], SettingValue::Text(path)) => self.approve.key = Some(path.into()),
            (["session", "plans"], SettingValue::Text(path)) => self.session.plans = Some(path.into()),
            (["plans", "harness"], SettingValue::Text(path)) => self.plans.harness = Some(path.into()),
            (["repositories", name], SettingValue::Text(path)) => {
                self.repositories.insert((*name).to_owned(), path.clone());
            }
            (["roles", name], SettingValue::Text(agent)) => {
                self.roles.insert((*name).to_owned(), agent.clone());
            }
            (["agents", name, key], value) => {
                let agent = self.agents.entry((*name).to_owned()).or_default();
                agent.take(key, value);
                agent.is_projects |= origin == Origin::Project;
            }
            (["hooks", name], SettingValue::Words(words)) => {
                let occasion = Trigger::ALL.into_iter().find(|known| hook_name(*known) == *name);
                self.hooks.commands.extend(occasion.map(|occasion| (occasion, words.clone())));
            }
            (["hooks", "webhook", "url"], SettingValue::Text(url)) => {
                self.hooks.webhook_url = Some(url.clone());
            }
            (["hooks", "webhook", "secret_file"], SettingValue::Text(path)) => {
                self.hooks.webhook_secret_file = Some(path.into());
            }
            (["safety", "read"], SettingValue::Words(list)) => self.scope.registry.read.clone_from(list),
            (["safety", "write"], SettingValue::Words(list)) => self.scope.registry.write.clone_from(list),
            (["guard", "tools"], SettingValue::Words(list)) => self.guard.tools.clone_from(list),
            (["tools", name, "operations"], SettingValue::Words(list)) => {
                self.tools.insert((*name).to_owned(), list.clone());
            }
            (["worktree", key], value) => self.worktree.take((key, origin), value),
            (_, SettingValue::Number(_) | SettingValue::Text(_) | SettingValue::Words(_)) => {}
        }
    }
}

impl AgentSettings {
    fn take(&mut self, key: &str, value: &SettingValue) {
        match (key, value) {
            ("command", SettingValue::Words(words)) => self.command.clone_from(words),
            ("environment", SettingValue::Words(words)) => self.environment.clone_from(words),
            ("like", SettingValue::Text(name)) => self.like = Some(name.clone()),
            ("protocol", SettingValue::Text(word)) if word == "acp" => self.protocol = Protocol::Acp,
            ("tokens", SettingValue::Words(places)) => self.places.tokens.clone_from(places),
            ("dollars", SettingValue::Text(place)) => self.places.dollars = Some(place.clone()),
            ("session", SettingValue::Text(place)) => self.places.session = Some(place.clone()),
            ("said", SettingValue::Text(place)) => self.places.said = Some(place.clone()),
            (_, SettingValue::Number(_) | SettingValue::Text(_) | SettingValue::Words(_)) => {}
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Settings::default().config()
    }
}

impl Config {
    /// The agent that does the steps for `target`: the one assigned to the role, or the target itself.
    pub fn agent_of<'a>(&'a self, target: &'a str) -> &'a str {
        self.roles.get(target).map_or(target, String::as_str)
    }

    /// The commands that serve the targets of a plan, which an approval of the plan covers.
    ///
    /// Targets `shell` and `human` are complete as they are and left out. A role assigned to one of them has
    /// its name as the only word, which no command can have; a target without a command has an empty one.
    pub fn agents_of(&self, plan: &Plan) -> AgentCommands {
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

    /// The command of an agent: as set, or of the profile it is like or named after; empty if there is none.
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

    /// Whether an agent is started by the project's file, which agents can write: then only an approval, or
    /// the user's settings, may start it.
    pub fn is_projects_word(&self, agent: &str) -> bool {
        let Some(said) = self.agents.get(agent).filter(|said| said.is_projects) else { return false };
        let known = profile::profile(agent).map(|profile| profile.command).unwrap_or_default();
        let is_known = said.command.is_empty() || said.command.iter().eq(known);
        !is_known || said.like.is_some() || !said.environment.is_empty()
    }

    /// What an approval covers of an agent besides its command: its profile and its variables.
    fn manner_of(&self, target: &str) -> impl Iterator<Item = (String, Vec<String>)> {
        let said = self.agents.get(self.agent_of(target));
        let like = said.and_then(|said| said.like.clone()).map(|like| vec![like]).unwrap_or_default();
        let environment = said.map(|said| said.environment.clone()).unwrap_or_default();
        let all = [(LIKE_KEY, like), (ENVIRONMENT_KEY, environment)];
        let all = all.into_iter().filter(|(_, words)| !words.is_empty());
        all.map(move |(key, words)| (format!("{key}{target}"), words))
    }

    /// Every command that running a plan takes from the settings: those of its agents with their profiles and
    /// variables (under [`LIKE_KEY`] and [`ENVIRONMENT_KEY`]), the topic command (under [`TOPICS_KEY`]) if a
    /// step reads a topic, and that of the judge with the weight of its opinion if a step has a question for
    /// it.
    pub fn commands_of(&self, plan: &Plan, weight: Authority) -> AgentCommands {
        let mut commands = self.agents_of(plan);
        let manners: Vec<_> = commands.keys().flat_map(|target| self.manner_of(target)).collect();
        commands.extend(manners);
        if plan.steps.iter().any(|step| step.judge.is_some()) {
            let key = match weight {
                Authority::Advisory => ADVISORY_JUDGE_KEY,
                Authority::Gate => GATE_JUDGE_KEY,
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

/// The name of the hook for an occasion, as in the settings.
pub const fn hook_name(occasion: Trigger) -> &'static str {
    match occasion {
        Trigger::NeedsYou => "needs_you",
        Trigger::Done => "done",
        Trigger::Failed => "failed",
    }
}

fn mode(word: &str) -> PermissionMode {
    if word == "log" { PermissionMode::Log } else { PermissionMode::Block }
}

/// The path of a setting's name.
fn parts(name: &str) -> Vec<String> {
    name.split('.').map(str::to_owned).collect()
}

/// The project's file, which anyone could have written: settings reserved for the user are refused.
fn read_project(sources: &Sources) -> Result<Layer, Error> {
    let Some(path) = &sources.project else { return Ok(Layer::new()) };
    let text = read_text(path)?.unwrap_or_default();
    let layer = layer::of_project(&text, sources.user.as_deref());
    layer.map_err(|faults| Error::Invalid { path: path.clone(), faults })
}

/// The settings in a file; empty if there is none.
fn read_file(path: &Path) -> Result<Layer, Error> {
    let text = read_text(path)?.unwrap_or_default();
    layer::of_file(&text).map_err(|faults| Error::Invalid { path: path.to_owned(), faults })
}

/// The text of a settings file; `None` if there is none.
fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let read_error = |source| Error::Read { path: path.to_owned(), source };
    // The user did not name this file: reading a pipe in its place would block forever.
    let data = path.metadata();
    if data.as_ref().is_ok_and(|data| !data.is_file()) {
        return Err(read_error(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    // Half a file must not be taken for the whole.
    if data.is_ok_and(|data| data.len() > FILE_BYTES_MAX) {
        return Err(read_error(io::Error::new(io::ErrorKind::InvalidInput, "too large for a settings file")));
    }
    match crate::store::plan_file::read_text(path, FILE_BYTES_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(read_error(source)),
    }
}

#[cfg(test)]
mod tests;
