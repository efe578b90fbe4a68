//! The agents that people have: how each is started, and what its output tells. One file an agent, all of it data and pure
//! functions. Nothing that an agent says about its success is believed: how it ended only tells whether it could work at all.

mod acp;
mod aider;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod goose;
mod opencode;
mod pi;
mod qwen;

pub use crate::agent::failure::{Reset, Trouble};
pub use crate::agent::transcript::{Heard, Listener, Places};
pub use acp::BRIDGE;

use serde::{Deserialize, Serialize};

use crate::agent::permission::{Refused, Scope};
use crate::agent::report;

/// Every agent that is known by name, in the order in which one is chosen where nobody chose.
pub const PROFILES: &[Profile] = &[
    claude::PROFILE,
    codex::PROFILE,
    gemini::PROFILE,
    qwen::PROFILE,
    opencode::PROFILE,
    pi::PROFILE,
    copilot::PROFILE,
    cursor::PROFILE,
    goose::PROFILE,
    aider::PROFILE,
];

/// What a word of a command line stands for: the name that the harness gives a session, or the one that an agent gave it.
pub const SESSION: &str = "{session}";
/// What a word of a command line stands for: a folder for this attempt alone, outside of the workspace.
pub const FOLDER: &str = "{folder}";
/// How much of an agent's last message the journal keeps: the end of it, where the outcome stands.
pub const SAID_BYTES_MAX: usize = 16 << 10;

/// How an agent is started and read.
#[derive(Debug)]
pub struct Profile {
    /// Its name, as plans and settings spell it.
    pub name: &'static str,
    /// Its program, as it is looked for on the PATH.
    pub program: &'static str,
    /// The command line with which it reads its prompt from standard input, changes files unasked and says what it does line by
    /// line.
    pub command: &'static [&'static str],
    /// Variables that make it fit for work without a person: it gives up on its model early instead of trying for minutes, and
    /// does not renew itself.
    pub environment: &'static [(&'static str, &'static str)],
    /// Words that make it go on with a session, [`SESSION`] among them; empty where it can't.
    pub resume: &'static [&'static str],
    /// The command line with which it speaks the Agent Client Protocol; empty where it does not.
    pub acp: &'static [&'static str],
    /// What shows that somebody is signed in.
    pub credentials: &'static [Credential],
    /// Variables that it sets in the shells that it uses, by which these are known as an agent's.
    pub signs: &'static [&'static str],
    /// How a person signs in.
    pub sign_in: &'static str,
    /// Takes what one line of its standard output tells.
    pub read: Read,
    /// A file that it leaves in [`FOLDER`], and what takes that.
    pub leaves: Option<(&'static str, Read)>,
    /// What makes it keep to a scope: its own rules, and the hook that it asks.
    pub hold: fn(&Scope, &Rig<'_>) -> Additions,
}

/// What an agent's rules are made with.
#[derive(Debug, Clone, Copy)]
pub struct Rig<'a> {
    /// The program whose command `hook` is asked.
    pub hook: &'a str,
    /// The private folder that [`Additions::files`] go to.
    pub folder: &'a str,
}

impl Rig<'_> {
    /// The path of a file in the private folder.
    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// A program that asks, in which `HOOK` stands for ours.
    fn shim(&self, text: &str) -> String {
        text.replace("HOOK", &serde_json::Value::from(self.hook).to_string())
    }

    /// The command that is asked before a tool is called, for a shell.
    fn command(&self) -> String {
        format!("'{}' hook pre-tool", self.hook.replace('\'', "'\\''"))
    }
}

/// Settings with one command that is asked before every call of a tool; `timeout` is in the agent's own unit.
fn hooks(event: &str, command: &str, timeout: u64) -> String {
    let hook = serde_json::json!({"type": "command", "command": command, "timeout": timeout});
    serde_json::json!({"hooks": {event: [{"matcher": "*", "hooks": [hook]}]}}).to_string()
}

/// What an agent that has no rules of its own is held by: nothing but the look at its changes.
fn loose(_scope: &Scope, _rig: &Rig<'_>) -> Additions {
    Additions::default()
}

/// Takes what a line, or a file, of an agent tells.
pub type Read = fn(&str, &mut Heard);

/// Something that shows that somebody is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// A variable of the environment that is set.
    Variable(&'static str),
    /// A file below the home of the user.
    File(&'static str),
}

impl Profile {
    /// The words that make a command line go on with a session; `None` where the agent can't.
    pub fn resume_words(&self, session: &str) -> Option<Vec<String>> {
        let words = self.resume.iter().map(|word| word.replace(SESSION, session));
        (!self.resume.is_empty()).then(|| words.collect())
    }

    /// Listens to one process of this agent.
    pub fn listener(&self) -> Listener {
        Listener::new(self.read)
    }
}

/// The profile with this name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// The command line behind our own bridge to an agent that speaks the Agent Client Protocol, if a command line begins with that.
fn behind_bridge(command: &[String]) -> Option<&[String]> {
    let is_bridge = |words: &[String]| words.iter().zip(BRIDGE).all(|(word, known)| word == known);
    let (bridge, behind) = command.split_at_checked(BRIDGE.len())?;
    (is_bridge(bridge) && !behind.is_empty()).then_some(behind)
}

/// Whether a command line is our own bridge to an agent that speaks the Agent Client Protocol.
pub fn is_bridged(command: &[String]) -> bool {
    behind_bridge(command).is_some()
}

/// The program of an agent that has to be there: the one behind the bridge, where there is a bridge.
pub fn program(command: &[String]) -> Option<&str> {
    behind_bridge(command).unwrap_or(command).first().map(String::as_str)
}

/// What is known of the agent that a command line starts.
#[derive(Debug, Clone, Copy)]
pub struct Make {
    /// The profile by which its output is read.
    pub reader: Option<&'static Profile>,
    /// Its own profile. Behind the bridge it is another one: there an agent speaks another protocol.
    pub own: Option<&'static Profile>,
    is_bridged: bool,
}

impl Make {
    /// What is known of the agent of a command line, and of which profile somebody says that it is like.
    pub fn of(command: &[String], like: Option<&str>) -> Self {
        let behind = behind_bridge(command);
        let own = match like {
            Some(name) => profile(name),
            None => match behind {
                Some(behind) => profile_of(behind).or_else(|| profile_by_bridge(behind)),
                None => profile_of(command),
            },
        };
        let reader = if behind.is_some() { Some(&acp::PROFILE) } else { own };
        Self { reader, own, is_bridged: behind.is_some() }
    }

    /// What makes it keep to a scope. Behind the bridge it takes other words, but has the same settings.
    pub fn hold(&self, scope: &Scope, rig: &Rig<'_>) -> Additions {
        let held = self.own.map(|own| (own.hold)(scope, rig)).unwrap_or_default();
        if self.is_bridged { Additions { words: Vec::new(), ..held } } else { held }
    }

    /// How a person signs in.
    pub fn sign_in(&self) -> Option<&'static str> {
        self.own.or(self.reader).map(|profile| profile.sign_in)
    }
}

/// The profile of the program that a command line starts.
pub fn profile_of(command: &[String]) -> Option<&'static Profile> {
    if is_bridged(command) {
        return Some(&acp::PROFILE);
    }
    let program = command.first()?.rsplit('/').next()?;
    PROFILES.iter().find(|profile| profile.program == program)
}

/// The profile of the agent that speaks the Agent Client Protocol by this program, which may be another one than its own.
fn profile_by_bridge(behind: &[String]) -> Option<&'static Profile> {
    let program = behind.first()?.rsplit('/').next()?;
    PROFILES.iter().find(|profile| profile.acp.first() == Some(&program))
}

/// What is added to a command line for one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Additions {
    /// Words, put behind the program's own.
    pub words: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// Files in the private folder of the attempt, by name.
    pub files: Vec<(String, String)>,
}

/// What is known of an attempt beyond how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// The session, by which a person can look into it or go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that did the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The end of the agent's last message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// Why its model would not do the work, in its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
    /// Files that it changed although the step does not touch them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Calls that were out of its scope, as its hook noted them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub report: Vec<report::Line>,
}

/// Options of which a command line has one at most: what is added takes the place of what is there.
const SINGLE: &[&str] = &["-s", "--sandbox", "--permission-mode", "--approval-mode"];

impl Additions {
    /// A command line with these words behind it.
    pub fn applied_to(&self, command: &[String]) -> Vec<String> {
        let is_replaced = |word: &String| SINGLE.contains(&word.as_str()) && self.words.contains(word);
        let mut words = Vec::new();
        let mut rest = command.iter();
        while let Some(word) = rest.next() {
            if is_replaced(word) {
                rest.next();
            } else {
                words.push(word.clone());
            }
        }
        words.extend(self.words.iter().cloned());
        words
    }

    pub fn extend(&mut self, others: Self) {
        self.words.extend(others.words);
        self.environment.extend(others.environment);
        self.files.extend(others.files);
    }
}

impl Account {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Tokens that a model was given and gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    /// Given, those included that its provider remembered.
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

impl Tokens {
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
