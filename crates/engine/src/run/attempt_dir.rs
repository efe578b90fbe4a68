//! The private directory of one attempt, through which the agent and planwright exchange files. It is outside
//! the workspace and is removed after the attempt. Nothing that an agent writes there is a verdict.

use std::path::{Path, PathBuf};

use planwright_core::agent::account::Usage;
use planwright_core::agent::assignment::Assignment;
use planwright_core::agent::profile::{AgentFailure, AgentIdentity, FOLDER, Profile, Reset, Transcript};
use planwright_core::agent::report;
use planwright_core::plan::verified::Step;
use planwright_core::run::event::AttemptEnd;

use crate::run::step_tools;
use crate::store::journal::Store;
use crate::store::plan_file;
use crate::store::state_dir;
use crate::system::process;

/// How long to wait for an agent that says when it will be available. Provider limits reset within a week.
const PARKED_MS_MAX: u64 = 8 * 24 * 3600 * 1000;
/// How much of an agent's usage report is read.
const USAGE_BYTES_MAX: u64 = 4 << 10;
/// How much of a report, or of another file that an agent leaves, is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

pub(crate) struct AttemptDir {
    path: PathBuf,
}

impl AttemptDir {
    /// Creates the directory of an attempt, or of an agent that is consulted about one.
    pub(crate) fn of(store: &Store, name: &str) -> Result<Self, state_dir::Error> {
        Self::at(&store.folder().join("attempts"), name)
    }

    /// Creates a directory in `above` with an unpredictable name: a predictable one would let somebody leave
    /// files for the next attempt to read, such as settings for a judge or a forged report.
    pub(crate) fn at(above: &Path, name: &str) -> Result<Self, state_dir::Error> {
        let path = match crate::store::random_id::chance() {
            Ok(chance) => above.join(format!("{name}-{chance}")),
            Err(_) => above.join(name),
        };
        state_dir::create_fresh(&path)?;
        Ok(Self { path })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The file in which a script finds the output of the last contract.
    pub(crate) fn feedback(&self, text: &str) -> Result<String, plan_file::Error> {
        let file = self.file("feedback");
        if text.is_empty() {
            return Ok("/dev/null".to_owned());
        }
        plan_file::create(&file, text)?;
        Ok(file.to_string_lossy().into_owned())
    }

    /// The variable that points the agent's tools to its step.
    pub(crate) fn step(&self, step: &Step, attempt: u32) -> Result<(String, String), plan_file::Error> {
        let file = self.file("step");
        plan_file::create(&file, &serde_json::json!(Assignment::of(step, attempt)).to_string())?;
        Ok((step_tools::STEP.to_owned(), file.to_string_lossy().into_owned()))
    }

    pub(crate) fn environment(&self) -> [(String, String); 2] {
        let named = |variable: &str, file: &str| {
            (variable.to_owned(), self.file(file).to_string_lossy().into_owned())
        };
        [named("PLANWRIGHT_USAGE", "usage"), named(step_tools::REPORT, "report")]
    }

    /// A word of a command line with [`FOLDER`] replaced by the directory.
    pub(crate) fn word(&self, word: &str) -> String {
        word.replace(FOLDER, &self.path.to_string_lossy())
    }

    /// The agent's own report: `{"tokens": 1200, "dollars": 0.03}`, or `{"retry_after": 60, "why": "out of
    /// quota"}`.
    pub(crate) fn said(&self) -> AgentSaid {
        let text = plan_file::read_text(&self.file("usage"), USAGE_BYTES_MAX).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    pub(crate) fn report(&self) -> Vec<report::ReportLine> {
        let bytes = plan_file::read_bytes(&self.file("report"), FILE_BYTES_MAX).unwrap_or_default();
        // A broken line, or one cut at the limit, costs only itself.
        report::read(&String::from_utf8_lossy(&bytes))
    }

    /// Adds the contents of the file that an agent of this profile leaves.
    pub(crate) fn hear_left(&self, profile: Option<&Profile>, heard: &mut Transcript) {
        if let Some((name, read)) = profile.and_then(|profile| profile.leaves)
            && let Ok(text) = plan_file::read_text(&self.file(name), FILE_BYTES_MAX)
        {
            read(&text, heard);
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for AttemptDir {
    fn drop(&mut self) {
        // A directory that cannot be removed is outside the workspace, and nothing reads it.
        std::fs::remove_dir_all(&self.path).ok();
    }
}

/// An agent's report about itself. It may lie about its usage; saying that it cannot continue is not a
/// verdict.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct AgentSaid {
    tokens: Option<u64>,
    dollars: Option<f64>,
    /// Seconds until it can be tried again.
    retry_after: Option<u64>,
    why: Option<String>,
}

impl AgentSaid {
    /// The usage according to the agent's file and its output; what neither reports is unknown.
    pub(crate) fn usage(&self, heard: &Transcript, milliseconds: u64) -> Usage {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "what is below nothing is nothing, and too much saturates"
        )]
        let micro_dollars = self.dollars.map(|dollars| (dollars * 1e6).round().max(0.0) as u64);
        Usage {
            // The larger of both: an agent may report more than its output shows, but cannot deny what it
            // shows.
            tokens: self.tokens.max(heard.tokens.map(planwright_core::agent::account::Tokens::total)),
            micro_dollars: micro_dollars.max(heard.micro_dollars),
            milliseconds,
        }
    }

    /// When to retry an agent that could not work now, in milliseconds since 1970, and why; `None` if it
    /// could work.
    pub(crate) fn later(&self, now: u64) -> Option<AttemptEnd> {
        let seconds = self.retry_after?;
        Some(AttemptEnd::Parked {
            why: self.why.clone().unwrap_or_else(|| "the agent asked to be retried later".to_owned()),
            until: within_patience(now, Some(now.saturating_add(seconds.saturating_mul(1000)))),
        })
    }
}

/// A time to retry, if it is near enough to wait for; otherwise planwright asks the user.
fn within_patience(now: u64, until: Option<u64>) -> Option<u64> {
    until.filter(|until| *until <= now.saturating_add(PARKED_MS_MAX))
}

/// The end of an attempt whose agent reports that it could not work; `None` if it reports no such thing.
pub(crate) fn parked(
    trouble: &AgentFailure,
    (agent, make): (&str, AgentIdentity),
    (now, park_seconds): (u64, u64),
) -> Option<AttemptEnd> {
    let after = |seconds: u64| Some(now.saturating_add(seconds.saturating_mul(1000)));
    let (what, until) = match trouble {
        AgentFailure::RateLimited { reset: Some(Reset::After(seconds)), .. } => {
            ("is out of quota", after(*seconds))
        }
        AgentFailure::RateLimited { reset: Some(Reset::At(second)), .. } => {
            ("is out of quota", Some(second.saturating_mul(1000)))
        }
        AgentFailure::RateLimited { reset: None, .. } => ("is out of quota", after(park_seconds)),
        AgentFailure::Infrastructure { .. } => ("cannot reach its model", after(park_seconds)),
        AgentFailure::SignedOut { .. } => ("is not signed in", None),
        // It worked without success, which the contract will show.
        AgentFailure::Refused { .. } => return None,
    };
    let sign_in = match (trouble, make.sign_in()) {
        (AgentFailure::SignedOut { .. }, Some(sign_in)) => format!("; sign in: {sign_in}"),
        _ => String::new(),
    };
    let why = format!("{agent} {what}: {}{sign_in}", trouble.why());
    Some(AttemptEnd::Parked { why, until: within_patience(now, until) })
}

/// Agents bring their own credentials and settings: they get planwright's environment, what their profile
/// adds unless the user overrides it, and the variables set for this agent.
pub(crate) fn environment(make: AgentIdentity, said: &[String]) -> Vec<(String, String)> {
    let mut all = process::environment();
    for (name, value) in make.own.map(|profile| profile.environment).unwrap_or_default() {
        if !all.iter().any(|(known, _)| known == name) {
            all.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    for (name, value) in said.iter().filter_map(|word| word.split_once('=')) {
        all.retain(|(known, _)| known != name);
        all.push((name.to_owned(), value.to_owned()));
    }
    all
}
