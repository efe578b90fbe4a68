//! The table of settings: name, kind, default and meaning. Everything that reads, shows, writes or explains a setting takes
//! it from here; nothing here reads a file.

use std::fmt;

use planwright_core::agent::profile;
use planwright_core::agent::profile::PROFILES;
use planwright_core::syntax::nearest;
use serde::Serialize;

/// The part of a name that stands for any name: `roles.NAME`.
pub const ANY: &str = "NAME";
/// What planwright itself does under a name. No role and no agent can be called so.
pub const BUILT_IN: &[&str] = &["shell", "human"];
/// The most bytes that a plan may have, where nothing else is said.
pub const PLAN_BYTES_MAX: u64 = 1 << 20;
/// The most words of a command line, and the most bytes of one text.
const WORDS_MAX: usize = 256;
const TEXT_BYTES_MAX: usize = 4096;

/// One setting, or a family of them where its name holds [`ANY`].
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name, with dots: `run.jobs`.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// What it means, in one line.
    pub meaning: &'static str,
}

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Number {
        /// Where nothing else is said.
        default: u64,
        min: u64,
        max: u64,
    },
    /// A text that is not empty.
    Text,
    /// A command line: a list of words, the first of which is a program.
    Words,
    /// One of these words.
    Choice {
        /// Where nothing else is said.
        default: &'static str,
        of: &'static [&'static str],
    },
    /// A list of texts, in any order.
    List,
    /// The name of an agent that planwright knows.
    Agent,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Number(u64),
    Text(String),
    /// A list of words.
    Words(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::Words(words) => {
                let words: Vec<String> =
                    words.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
                write!(f, "[{}]", words.join(", "))
            }
        }
    }
}

const fn number(name: &'static str, kind: [u64; 3], meaning: &'static str) -> Setting {
    let [default, min, max] = kind;
    Setting { name, kind: Kind::Number { default, min, max }, meaning }
}

/// Every setting, in the order in which they are shown. The page docs/settings.md has the same rows.
pub const SETTINGS: &[Setting] = &[
    number("limits.plan_bytes", [PLAN_BYTES_MAX, 1, 1 << 40], "the most bytes that a plan file may have"),
    number("limits.retries", [10, 0, 1000], "the most retries that a step may ask for"),
    number(
        "limits.free_mb",
        [200, 0, 1 << 30],
        "`doctor` warns when a disk that is written to has fewer megabytes free",
    ),
    Setting {
        name: "plans.harness",
        kind: Kind::Text,
        meaning: "the folder in which `PLAN.md` and named plans lie, where it is not `.harness`; it may be a shared one",
    },
    number("run.jobs", [1, 1, 256], "how many steps may be under way at once"),
    number(
        "run.step_seconds",
        [600, 1, 604_800],
        "how long an attempt may take, where the step has no `timeout`",
    ),
    number(
        "run.contract_seconds",
        [60, 1, 86_400],
        "how long a contract may take, where the step has no `contract_timeout`",
    ),
    number(
        "run.lost_max",
        [3, 1, 1000],
        "how many lost attempts of a step there may be before a person is asked",
    ),
    number(
        "run.parked_max",
        [20, 1, 10_000],
        "how often in a row the agent of a step may not be had before a person is asked",
    ),
    number(
        "run.park_seconds",
        [60, 1, 86_400],
        "how long a step waits for an agent that can't be had and does not say until when",
    ),
    number("run.warn_percent", [80, 1, 100], "the share of a budget at which a warning is given"),
    number(
        "run.output_bytes",
        [1 << 20, 1024, 4 << 20],
        "how much of an agent's or a contract's output is kept",
    ),
    number(
        "run.context_bytes",
        [64 << 10, 1024, 1 << 20],
        "how much of a file or topic an agent is given to read",
    ),
    number(
        "run.stalled_minutes",
        [30, 1, 525_600],
        "after how many minutes a run that nobody drives is stalled",
    ),
    Setting {
        name: "run.tree_per_step",
        kind: Kind::Choice { default: "auto", of: &["auto", "never"] },
        meaning: "whether steps that are under way at once work in trees of their own, or all in the workspace",
    },
    number(
        "merge.guards",
        [10, 0, 1000],
        "how many plans that landed last have their contracts run again whenever plans are merged",
    ),
    number("draft.tries", [3, 1, 20], "how often a planner is asked for one plan"),
    number("draft.seconds", [900, 1, 86_400], "how long a planner may take over one answer"),
    number("replan.max", [3, 0, 100], "how often one plan may be made anew"),
    number(
        "review.stale_days",
        [30, 0, 36_500],
        "after how many days a proposal that nobody decided about is cancelled; 0: never",
    ),
    number("red.seconds", [60, 1, 86_400], "how long a contract may take in the red check, at most"),
    number("red.total_seconds", [300, 1, 604_800], "how long the red check of a plan may take"),
    number(
        "retention.days",
        [0, 0, 36_500],
        "after how many days `doctor` offers to let go of what agents and contracts printed in a run that is over; 0: never",
    ),
    number(
        "consult.seconds",
        [300, 1, 86_400],
        "how long an agent may take that is asked for its word: arbiter, judge, reviewer of a plan",
    ),
    Setting {
        name: "arbiter.agent",
        kind: Kind::Text,
        meaning: "the agent that `arbiter` asks how a plan goes on; without one the built-in choice holds",
    },
    Setting {
        name: "approve.key",
        kind: Kind::Text,
        meaning: "the private SSH key that your approvals are signed with",
    },
    Setting {
        name: "topics.command",
        kind: Kind::Words,
        meaning: "prints the text of the topic that is its last word, where `.planwright/topics` has none",
    },
    Setting {
        name: "repositories.NAME",
        kind: Kind::Text,
        meaning: "where another repository lies that plans work in as well, beside the project's own: `../api`",
    },
    Setting { name: "roles.NAME", kind: Kind::Text, meaning: "the agent that plays this role" },
    Setting {
        name: "agents.NAME.command",
        kind: Kind::Words,
        meaning: "the command line of this agent; the prompt comes on its standard input",
    },
    number(
        "session.stop_holds",
        [0, 0, 10],
        "how often a session of your agent that wants to stop is told what the contract of its step says; 0: never",
    ),
    Setting {
        name: "session.plans",
        kind: Kind::Text,
        meaning: "where the plan folders of planners' sessions are made, outside of every repository; `~/.agentflow/plans` where it is not said",
    },
    Setting {
        name: "agents.NAME.like",
        kind: Kind::Agent,
        meaning: "the known agent that this one is like: its output is read so, and its command line is taken where none is said",
    },
    Setting {
        name: "agents.NAME.protocol",
        kind: Kind::Choice { default: "command", of: &["command", "acp"] },
        meaning: "how this agent is talked to: as a command with the prompt on its standard input, or by the Agent Client Protocol",
    },
    Setting {
        name: "agents.NAME.environment",
        kind: Kind::Words,
        meaning: "variables for this agent, each as `NAME=VALUE`",
    },
    Setting {
        name: "agents.NAME.tokens",
        kind: Kind::Words,
        meaning: "where this agent says its tokens in the JSON that it prints, as pointers (`/usage/input`); they are added up",
    },
    Setting {
        name: "agents.NAME.dollars",
        kind: Kind::Text,
        meaning: "where this agent says what it cost, as a pointer",
    },
    Setting {
        name: "agents.NAME.session",
        kind: Kind::Text,
        meaning: "where this agent names its session, as a pointer",
    },
    Setting {
        name: "agents.NAME.said",
        kind: Kind::Text,
        meaning: "where this agent prints a message, as a pointer",
    },
    Setting {
        name: "scope.mode",
        kind: Kind::Choice { default: "block", of: &["block", "log"] },
        meaning: "whether a call that is out of an attempt's scope is stopped, or only noted",
    },
    Setting {
        name: "scope.violation",
        kind: Kind::Choice { default: "flag", of: &["flag", "fail"] },
        meaning: "whether a change outside of `touches` is only shown, or fails the attempt before its contract is run",
    },
    Setting {
        name: "safety.read",
        kind: Kind::List,
        meaning: "commands and tools that only read, so that planners may use them; `*` is anything",
    },
    Setting {
        name: "safety.write",
        kind: Kind::List,
        meaning: "commands and tools that write, whatever `safety.read` says",
    },
    Setting {
        name: "guard.tools",
        kind: Kind::List,
        meaning: "names of tools that need an approved plan, in your own sessions",
    },
    Setting {
        name: "guard.mode",
        kind: Kind::Choice { default: "block", of: &["block", "log"] },
        meaning: "whether a guarded tool is stopped, or only noted",
    },
    Setting {
        name: "tools.NAME.operations",
        kind: Kind::List,
        meaning: "what this tool can do; where tools are listed, a plan can ask for no others",
    },
    Setting {
        name: "worktree.folder",
        kind: Kind::Text,
        meaning: "the folder for the trees of plans, outside of every workspace; `$XDG_DATA_HOME/planwright/trees` where nothing is said",
    },
    Setting {
        name: "worktree.include",
        kind: Kind::List,
        meaning: "patterns (as in `.gitignore`) of ignored files that a new tree gets copies of, beside those of `.worktreeinclude`",
    },
    Setting {
        name: "worktree.setup",
        kind: Kind::Words,
        meaning: "is run in a new tree, with its ports; a command line that only the project says has to be allowed by a person",
    },
    Setting {
        name: "worktree.teardown",
        kind: Kind::Words,
        meaning: "is run in a tree before it is removed; a command line that only the project says has to be allowed by a person",
    },
    number(
        "worktree.seconds",
        [600, 1, 86_400],
        "how long `worktree.setup` and `worktree.teardown` may take",
    ),
    number("worktree.ports", [0, 0, 64], "how many ports every tree has for itself, as `PLANWRIGHT_PORT`"),
    number("worktree.port_min", [21_000, 1024, 65_535], "the first port that trees are given"),
    number("worktree.port_max", [21_999, 1024, 65_535], "the last port that trees are given"),
    Setting {
        name: "hooks.needs_you",
        kind: Kind::Words,
        meaning: "is run when only a person can go on, with the event on its standard input",
    },
    Setting {
        name: "hooks.done",
        kind: Kind::Words,
        meaning: "is run when a run is done, with the event on its standard input",
    },
    Setting {
        name: "hooks.failed",
        kind: Kind::Words,
        meaning: "is run when a run has failed, with the event on its standard input",
    },
    number("hooks.seconds", [30, 1, 3600], "how long a hook may take for one event"),
    Setting {
        name: "hooks.webhook.url",
        kind: Kind::Text,
        meaning: "the address that the same events are sent to, signed",
    },
    Setting {
        name: "hooks.webhook.secret_file",
        kind: Kind::Text,
        meaning: "the file with the secret that they are signed with; nobody else may read it",
    },
];

impl Setting {
    /// The setting that a path of names means.
    pub fn find(path: &[String]) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| {
            let parts: Vec<&str> = setting.name.split('.').collect();
            parts.len() == path.len() && setting.begins_with(path)
        })
    }

    /// Whether the setting stands at this path or below it.
    fn begins_with(&self, path: &[String]) -> bool {
        let parts: Vec<&str> = self.name.split('.').collect();
        path.len() <= parts.len() && parts.iter().zip(path).all(|(part, name)| *part == ANY || part == name)
    }

    /// The name that this setting has with the names of `path` where its own has any; families of another section have none.
    fn named_like(&self, path: &[String]) -> Option<Vec<String>> {
        let section = self.name.split('.').next()?;
        let typed = path.first()?;
        let is_near = section == typed || nearest::nearest(typed, [section]).is_some();
        let parts = self.name.split('.').enumerate().map(|(place, part)| match path.get(place) {
            Some(name) if part == ANY => name.clone(),
            Some(_) | None => part.to_owned(),
        });
        (self.is_single() || is_near).then(|| parts.collect())
    }

    /// Whether it is one setting, not a family.
    pub fn is_single(&self) -> bool {
        !self.name.split('.').any(|part| part == ANY)
    }

    /// Whether only the user may say it, and never the file of the project: agents can write that one, and what they put there
    /// would be run, or signed with, outside of their attempt, or take away what watches over them.
    pub fn is_personal(&self) -> bool {
        let sections = ["hooks.", "approve.", "arbiter.", "session.", "scope.", "safety."];
        let single = ["worktree.folder", "merge.guards", "retention.days"];
        sections.iter().any(|section| self.name.starts_with(section)) || single.contains(&self.name)
    }

    /// The variable of the environment that sets it; lists and families have none.
    pub fn variable(&self) -> Option<String> {
        let is_scalar = self.is_single() && !matches!(self.kind, Kind::Words | Kind::List);
        is_scalar.then(|| format!("PLANWRIGHT_{}", self.name.to_uppercase().replace('.', "_")))
    }

    /// The value where nothing is said.
    pub fn default(&self) -> Option<Value> {
        match self.kind {
            Kind::Number { default, .. } => Some(Value::Number(default)),
            Kind::Choice { default, .. } => Some(Value::Text(default.to_owned())),
            Kind::Text | Kind::Words | Kind::List | Kind::Agent => None,
        }
    }

    /// Takes a value that `path` is to have, or says what it must be.
    pub fn check(&self, path: &[String], value: Value) -> Result<Value, String> {
        let key = key(path);
        let must = |what: &str| Err(format!("`{key}` must be {what}, not {}", described(&value)));
        if let Some(name) = path.iter().skip(1).find(|name| BUILT_IN.contains(&name.as_str())) {
            return Err(format!("`{key}` can't be set: `{name}` is planwright's own"));
        }
        match (self.kind, &value) {
            (Kind::Number { min, max, .. }, Value::Number(number)) if (min..=max).contains(number) => {
                Ok(value)
            }
            (Kind::Number { min, max, .. }, _) => must(&format!("a whole number from {min} to {max}")),
            (Kind::Text, Value::Text(text)) if is_text(text) => Ok(value),
            (Kind::Text, _) => must("a text on one line"),
            (Kind::Words, Value::Words(words)) if is_command(words) => Ok(value),
            (Kind::Words, _) => {
                must("a list of words, the first of them a program: [\"program\", \"--option\"]")
            }
            (Kind::Choice { of, .. }, Value::Text(text)) if of.contains(&text.as_str()) => Ok(value),
            (Kind::Choice { of, .. }, _) => must(&format!("one of {}", of.join(", "))),
            (Kind::List, Value::Words(texts)) if is_list(texts) => Ok(value),
            (Kind::List, _) => must("a list of texts: [\"one\", \"another\"]"),
            (Kind::Agent, Value::Text(text)) if profile::profile(text).is_some() => Ok(value),
            (Kind::Agent, _) => {
                let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
                let near = match &value {
                    Value::Text(text) => nearest::nearest(text, known.iter().copied()),
                    Value::Number(_) | Value::Words(_) => None,
                };
                let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                must(&format!("a known agent ({})", known.join(", "))).map_err(|why| format!("{why}{meant}"))
            }
        }
    }

    /// Reads a value as it is typed, for a setting at `path`.
    pub fn parse(&self, path: &[String], text: &str) -> Result<Value, String> {
        let value = match self.kind {
            Kind::Number { .. } => text.parse().map(Value::Number).unwrap_or(Value::Text(text.to_owned())),
            Kind::Text | Kind::Choice { .. } | Kind::Agent => Value::Text(text.to_owned()),
            Kind::Words | Kind::List => match text.parse::<toml_edit::Value>() {
                Ok(toml_edit::Value::Array(list)) => Value::Words(
                    list.iter().map(|word| word.as_str().unwrap_or_default().to_owned()).collect(),
                ),
                Ok(_) | Err(_) => Value::Text(text.to_owned()),
            },
        };
        self.check(path, value)
    }
}

/// What a value is, for a complaint.
fn described(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Text(text) if text.is_empty() => "nothing".to_owned(),
        Value::Text(text) => format!("`{text}`"),
        Value::Words(_) => format!("`{value}`"),
    }
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control)
}

fn is_command(words: &[String]) -> bool {
    // An agent may be called by these names only as planwright means them: an approval must tell which was meant.
    let is_program = |word: &String| !word.trim().is_empty() && !BUILT_IN.contains(&word.as_str());
    let is_word = |word: &String| word.len() <= TEXT_BYTES_MAX && !word.contains('\0');
    words.first().is_some_and(is_program) && words.len() <= WORDS_MAX && words.iter().all(is_word)
}

fn is_list(texts: &[String]) -> bool {
    texts.len() <= WORDS_MAX && texts.iter().all(|text| is_text(text))
}

/// Whether a path leads to settings further down.
pub(super) fn is_section(path: &[String]) -> bool {
    Setting::find(path).is_none() && SETTINGS.iter().any(|setting| setting.begins_with(path))
}

/// A path of names as it is typed: with dots, and in quotes where a name has signs of its own.
pub fn key(path: &[String]) -> String {
    let is_bare = |name: &str| {
        !name.is_empty() && name.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_".contains(sign))
    };
    let names = path.iter().map(|name| match is_bare(name) {
        true => name.clone(),
        false => serde_json::Value::from(name.as_str()).to_string(),
    });
    names.collect::<Vec<_>>().join(".")
}

/// The path that a typed key means.
pub fn path(key: &str) -> Option<Vec<String>> {
    let keys = toml_edit::Key::parse(key).ok()?;
    Some(keys.iter().map(|key| key.get().to_owned()).collect())
}

/// The complaint about a path that means no setting, with the one that was probably meant.
pub fn unknown(path: &[String]) -> String {
    let message = format!("unknown setting `{}`", key(path));
    match meant(path) {
        Some(meant) => format!("{message}; did you mean `{meant}`?"),
        None => message,
    }
}

/// The setting that was probably meant.
pub fn meant(path: &[String]) -> Option<String> {
    let (typed, first) = (key(path), path.first()?);
    let known: Vec<String> =
        SETTINGS.iter().filter_map(|setting| setting.named_like(path)).map(|path| key(&path)).collect();
    let sections = SETTINGS.iter().filter_map(|setting| setting.name.split('.').next());
    let is_section = path.len() == 1;
    let near = match is_section {
        true => nearest::nearest(first, sections),
        false => nearest::nearest(&typed, known.iter().map(String::as_str)),
    };
    // Whoever leaves out the section, or takes another, means the setting with this last name.
    let last = path.last().map(String::as_str);
    let single = SETTINGS.iter().filter(|setting| setting.is_single()).map(|setting| setting.name);
    let same_end = || single.into_iter().find(|known| known.rsplit('.').next() == last);
    near.or_else(same_end).filter(|meant| *meant != typed).map(str::to_owned)
}
