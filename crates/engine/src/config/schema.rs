//! The table of settings: name, kind, default and meaning. Everything that reads, shows, writes or explains a
//! setting uses it; nothing here reads a file.

use std::fmt;

use planwright_core::agent::profile;
use planwright_core::agent::profile::PROFILES;
use planwright_core::syntax::nearest;
use serde::Serialize;

/// The placeholder in a name: `roles.NAME`.
pub const ANY: &str = "NAME";
/// Names with a built-in meaning. No role or agent can have them.
pub const BUILT_IN: &[&str] = &["shell", "human"];
pub const PLAN_BYTES_MAX: u64 = 1 << 20;
/// The most words of a command, and the most bytes of a string.
const WORDS_MAX: usize = 256;
const TEXT_BYTES_MAX: usize = 4096;

/// One setting, or a family of them if its name contains [`ANY`].
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    pub kind: SettingKind,
    pub meaning: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    Number {
        default: u64,
        min: u64,
        max: u64,
    },
    /// A non-empty string.
    Text,
    /// A command: a list of words starting with a program.
    Words,
    Choice {
        default: &'static str,
        of: &'static [&'static str],
    },
    /// A list of strings, in any order.
    List,
    /// The name of a known agent.
    Agent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    Number(u64),
    Text(String),
    Words(Vec<String>),
}

impl fmt::Display for SettingValue {
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
    setting(name, SettingKind::Number { default, min, max }, meaning)
}

/// A setting with one of these words, of which the first is the default.
const fn choice(name: &'static str, of: &'static [&'static str], meaning: &'static str) -> Setting {
    setting(name, SettingKind::Choice { default: of[0], of }, meaning)
}

const fn setting(name: &'static str, kind: SettingKind, meaning: &'static str) -> Setting {
    Setting { name, kind, meaning }
}

/// Every setting, in display order. The settings page of the docs has the same rows.
pub const SETTINGS: &[Setting] = &[
    number("limits.plan_bytes", [PLAN_BYTES_MAX, 1, 1 << 40], "maximum size of a plan file in bytes"),
    number("limits.retries", [10, 0, 1000], "maximum retries a step may request"),
    number("limits.free_mb", [200, 0, 1 << 30], "free disk space in MB below which `doctor` warns"),
    setting("plans.harness", SettingKind::Text, "directory of PLAN.md and named plans [default: .harness]"),
    number("run.jobs", [1, 1, 256], "maximum parallel steps"),
    number("run.step_seconds", [600, 1, 604_800], "time limit of an attempt without `timeout`"),
    number("run.contract_seconds", [60, 1, 86_400], "time limit of a contract without `contract_timeout`"),
    number("run.lost_max", [3, 1, 1000], "interrupted attempts of a step before planwright asks you"),
    number(
        "run.parked_max",
        [20, 1, 10_000],
        "times in a row an agent may be unavailable before planwright asks you",
    ),
    number(
        "run.park_seconds",
        [60, 1, 86_400],
        "wait before retrying an unavailable agent that gives no time",
    ),
    number("run.warn_percent", [80, 1, 100], "share of a budget at which planwright warns"),
    number("run.output_bytes", [1 << 20, 1024, 4 << 20], "bytes kept of the output of an agent or contract"),
    number("run.context_bytes", [64 << 10, 1024, 1 << 20], "bytes of a file or topic given to an agent"),
    number(
        "run.stalled_minutes",
        [30, 1, 525_600],
        "minutes after which a run without a process counts as stalled",
    ),
    choice(
        "run.tree_per_step",
        &["auto", "never"],
        "whether parallel steps get their own worktrees or share the workspace",
    ),
    number("merge.guards", [10, 0, 1000], "recently merged plans whose contracts run again on every merge"),
    number("draft.tries", [3, 1, 20], "maximum attempts of a planner at one plan"),
    number("draft.seconds", [900, 1, 86_400], "time limit of one planner answer"),
    number("replan.max", [3, 0, 100], "maximum replans of one plan"),
    number(
        "review.stale_days",
        [30, 0, 36_500],
        "days after which a proposal without a decision is cancelled; 0: never",
    ),
    number("red.seconds", [60, 1, 86_400], "time limit of one contract in the red check"),
    number("red.total_seconds", [300, 1, 604_800], "time limit of the red check of a plan"),
    number(
        "retention.days",
        [0, 0, 36_500],
        "days after which `doctor` offers to delete output of finished runs; 0: never",
    ),
    number(
        "consult.seconds",
        [300, 1, 86_400],
        "time limit of an agent asked for an opinion: arbiter, judge or plan reviewer",
    ),
    setting(
        "arbiter.agent",
        SettingKind::Text,
        "agent that `arbiter` asks for a recommendation [default: the built-in choice]",
    ),
    setting("approve.key", SettingKind::Text, "private SSH key that signs your approvals"),
    setting(
        "topics.command",
        SettingKind::Words,
        "command that prints a topic missing from `.planwright/topics`; the topic is its last argument",
    ),
    setting(
        "repositories.NAME",
        SettingKind::Text,
        "path of another repository that plans may change, such as `../api`",
    ),
    setting("roles.NAME", SettingKind::Text, "agent assigned to this role"),
    setting(
        "agents.NAME.command",
        SettingKind::Words,
        "command of this agent; it reads the prompt from standard input",
    ),
    number(
        "session.stop_holds",
        [0, 0, 10],
        "times a session of your agent that wants to stop is shown the failing contract; 0: never",
    ),
    setting(
        "session.plans",
        SettingKind::Text,
        "directory of planner sessions, outside every repository [default: ~/.agentflow/plans]",
    ),
    setting(
        "agents.NAME.like",
        SettingKind::Agent,
        "known agent whose output format and default command this agent shares",
    ),
    choice(
        "agents.NAME.protocol",
        &["command", "acp"],
        "protocol of this agent: a command that reads the prompt from standard input, or the Agent Client Protocol",
    ),
    setting(
        "agents.NAME.environment",
        SettingKind::Words,
        "environment variables of this agent, each as `NAME=VALUE`",
    ),
    setting(
        "agents.NAME.tokens",
        SettingKind::Words,
        "JSON pointers to the token counts in this agent's output, such as `/usage/input`; planwright adds them up",
    ),
    setting("agents.NAME.dollars", SettingKind::Text, "JSON pointer to the cost in this agent's output"),
    setting(
        "agents.NAME.session",
        SettingKind::Text,
        "JSON pointer to the session id in this agent's output",
    ),
    setting("agents.NAME.said", SettingKind::Text, "JSON pointer to the message in this agent's output"),
    choice(
        "scope.mode",
        &["block", "log"],
        "whether a call outside an attempt's scope is blocked or only logged",
    ),
    choice(
        "scope.violation",
        &["flag", "fail"],
        "whether a change outside `touches` is only flagged or fails the attempt before its contract runs",
    ),
    setting(
        "safety.read",
        SettingKind::List,
        "read-only commands and tools that planners may use; `*` matches anything",
    ),
    setting("safety.write", SettingKind::List, "commands and tools that write; overrides `safety.read`"),
    setting("guard.tools", SettingKind::List, "tools that need an approved plan in your own sessions"),
    choice("guard.mode", &["block", "log"], "whether a guarded tool is blocked or only logged"),
    setting(
        "tools.NAME.operations",
        SettingKind::List,
        "operations of this tool; if any tool is listed, plans may use only listed tools",
    ),
    setting(
        "worktree.folder",
        SettingKind::Text,
        "directory of plan worktrees, outside every workspace [default: $XDG_DATA_HOME/planwright/trees]",
    ),
    setting(
        "worktree.include",
        SettingKind::List,
        "ignored files to copy into a new worktree, as `.gitignore` patterns; adds to `.worktreeinclude`",
    ),
    setting(
        "worktree.setup",
        SettingKind::Words,
        "command to run in a new worktree, with its ports; you must allow one that only the project sets",
    ),
    setting(
        "worktree.teardown",
        SettingKind::Words,
        "command to run in a worktree before its removal; you must allow one that only the project sets",
    ),
    number("worktree.seconds", [600, 1, 86_400], "time limit of `worktree.setup` and `worktree.teardown`"),
    number("worktree.ports", [0, 0, 64], "ports reserved per worktree, passed as `PLANWRIGHT_PORT`"),
    number("worktree.port_min", [21_000, 1024, 65_535], "first port for worktrees"),
    number("worktree.port_max", [21_999, 1024, 65_535], "last port for worktrees"),
    setting(
        "hooks.needs_you",
        SettingKind::Words,
        "command to run when a run needs you; it reads the event from standard input",
    ),
    setting(
        "hooks.done",
        SettingKind::Words,
        "command to run when a run is done; it reads the event from standard input",
    ),
    setting(
        "hooks.failed",
        SettingKind::Words,
        "command to run when a run fails; it reads the event from standard input",
    ),
    number("hooks.seconds", [30, 1, 3600], "time limit of a hook for one event"),
    setting("hooks.webhook.url", SettingKind::Text, "URL that receives the same events, signed"),
    setting(
        "hooks.webhook.secret_file",
        SettingKind::Text,
        "file with the signing secret; only you may read it",
    ),
];

impl Setting {
    /// The setting at a path of names.
    pub fn find(path: &[String]) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| {
            let parts: Vec<&str> = setting.name.split('.').collect();
            parts.len() == path.len() && setting.begins_with(path)
        })
    }

    /// Whether the setting is at this path or below it.
    fn begins_with(&self, path: &[String]) -> bool {
        let parts: Vec<&str> = self.name.split('.').collect();
        path.len() <= parts.len() && parts.iter().zip(path).all(|(part, name)| *part == ANY || part == name)
    }

    /// This setting's name with the names of `path` filled into its placeholders; `None` for another section.
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

    /// Whether only the user may set it, and never the project's file: agents can write that one, and their
    /// value would be run, or signed with, outside their attempt, or disable their supervision.
    pub fn is_personal(&self) -> bool {
        let sections = ["hooks.", "approve.", "arbiter.", "session.", "scope.", "safety."];
        let single = ["worktree.folder", "merge.guards", "retention.days"];
        sections.iter().any(|section| self.name.starts_with(section)) || single.contains(&self.name)
    }

    /// The environment variable that sets it; lists and families have none.
    pub fn variable(&self) -> Option<String> {
        let is_scalar = self.is_single() && !matches!(self.kind, SettingKind::Words | SettingKind::List);
        is_scalar.then(|| format!("PLANWRIGHT_{}", self.name.to_uppercase().replace('.', "_")))
    }

    pub fn default(&self) -> Option<SettingValue> {
        match self.kind {
            SettingKind::Number { default, .. } => Some(SettingValue::Number(default)),
            SettingKind::Choice { default, .. } => Some(SettingValue::Text(default.to_owned())),
            SettingKind::Text | SettingKind::Words | SettingKind::List | SettingKind::Agent => None,
        }
    }

    /// Accepts a value for `path`, or says what it must be.
    pub fn check(&self, path: &[String], value: SettingValue) -> Result<SettingValue, String> {
        let key = key(path);
        let must = |what: &str| Err(format!("`{key}` must be {what}, not {}", described(&value)));
        if let Some(name) = path.iter().skip(1).find(|name| BUILT_IN.contains(&name.as_str())) {
            return Err(format!("cannot set `{key}`: `{name}` is built in"));
        }
        match (self.kind, &value) {
            (SettingKind::Number { min, max, .. }, SettingValue::Number(number))
                if (min..=max).contains(number) =>
            {
                Ok(value)
            }
            (SettingKind::Number { min, max, .. }, _) => must(&format!("a whole number from {min} to {max}")),
            (SettingKind::Text, SettingValue::Text(text)) if is_text(text) => Ok(value),
            (SettingKind::Text, _) => must("a single-line string"),
            (SettingKind::Words, SettingValue::Words(words)) if is_command(words) => Ok(value),
            (SettingKind::Words, _) => {
                must("a list of words starting with a program: [\"program\", \"--option\"]")
            }
            (SettingKind::Choice { of, .. }, SettingValue::Text(text)) if of.contains(&text.as_str()) => {
                Ok(value)
            }
            (SettingKind::Choice { of, .. }, _) => must(&format!("one of {}", of.join(", "))),
            (SettingKind::List, SettingValue::Words(texts)) if is_list(texts) => Ok(value),
            (SettingKind::List, _) => must("a list of strings: [\"one\", \"another\"]"),
            (SettingKind::Agent, SettingValue::Text(text)) if profile::profile(text).is_some() => Ok(value),
            (SettingKind::Agent, _) => {
                let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
                let near = match &value {
                    SettingValue::Text(text) => nearest::nearest(text, known.iter().copied()),
                    SettingValue::Number(_) | SettingValue::Words(_) => None,
                };
                let meant = nearest::did_you_mean(near);
                must(&format!("a known agent ({})", known.join(", "))).map_err(|why| format!("{why}{meant}"))
            }
        }
    }

    /// Parses a value as typed, for a setting at `path`.
    pub fn parse(&self, path: &[String], text: &str) -> Result<SettingValue, String> {
        let value = match self.kind {
            SettingKind::Number { .. } => {
                text.parse().map(SettingValue::Number).unwrap_or(SettingValue::Text(text.to_owned()))
            }
            SettingKind::Text | SettingKind::Choice { .. } | SettingKind::Agent => {
                SettingValue::Text(text.to_owned())
            }
            SettingKind::Words | SettingKind::List => match text.parse::<toml_edit::Value>() {
                Ok(toml_edit::Value::Array(list)) => SettingValue::Words(
                    list.iter().map(|word| word.as_str().unwrap_or_default().to_owned()).collect(),
                ),
                Ok(_) | Err(_) => SettingValue::Text(text.to_owned()),
            },
        };
        self.check(path, value)
    }
}

/// A value for an error message.
fn described(value: &SettingValue) -> String {
    match value {
        SettingValue::Number(number) => number.to_string(),
        SettingValue::Text(text) if text.is_empty() => "nothing".to_owned(),
        SettingValue::Text(text) => format!("`{text}`"),
        SettingValue::Words(_) => format!("`{value}`"),
    }
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control)
}

fn is_command(words: &[String]) -> bool {
    // These names always have their built-in meaning for agents: an approval must be unambiguous.
    let is_program = |word: &String| !word.trim().is_empty() && !BUILT_IN.contains(&word.as_str());
    let is_word = |word: &String| word.len() <= TEXT_BYTES_MAX && !word.contains('\0');
    words.first().is_some_and(is_program) && words.len() <= WORDS_MAX && words.iter().all(is_word)
}

fn is_list(texts: &[String]) -> bool {
    texts.len() <= WORDS_MAX && texts.iter().all(|text| is_text(text))
}

pub(super) fn is_section(path: &[String]) -> bool {
    Setting::find(path).is_none() && SETTINGS.iter().any(|setting| setting.begins_with(path))
}

/// A path of names as typed: with dots, and quoted where needed.
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

/// The path of a typed key.
pub fn path(key: &str) -> Option<Vec<String>> {
    let keys = toml_edit::Key::parse(key).ok()?;
    Some(keys.iter().map(|key| key.get().to_owned()).collect())
}

/// The message for an unknown path, with a suggestion.
pub fn unknown(path: &[String]) -> String {
    format!("unknown setting `{}`{}", key(path), nearest::did_you_mean(meant(path)))
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
    // A missing or wrong section usually still has the right last name.
    let last = path.last().map(String::as_str);
    let single = SETTINGS.iter().filter(|setting| setting.is_single()).map(|setting| setting.name);
    let same_end = || single.into_iter().find(|known| known.rsplit('.').next() == last);
    near.or_else(same_end).filter(|meant| *meant != typed).map(str::to_owned)
}
