//! Holds an agent to its scope: determines the scope of an attempt or a planner, writes it where the agent's
//! hook finds it, and reads what the hook logged. Never rules on a call: that is [`planwright_core::scope`]'s
//! job.

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use planwright_core::agent::permission::{PermissionMode, Permissions, RefusedCall};
use planwright_core::agent::profile;
use planwright_core::agent::profile::{AgentIdentity, ExtraArgs, PermissionRules};
use planwright_core::plan::verified::Step;
use planwright_core::run::event::{Event, StepEvent};

use crate::config::{Config, GuardSettings};
use crate::run;
use crate::run::Runs;
use crate::store::{plan_file, state_dir};
use crate::workspace::project::Project;

/// The variable that names the scope file.
pub const VARIABLE: &str = "PLANWRIGHT_SCOPE";
/// The variable with the hash of that file. An agent can write the file, but not the environment of its
/// hooks.
pub const DIGEST: &str = "PLANWRIGHT_HASH_OF_SCOPE";
/// The variable with settings of opencode.
const OPENCODE: &str = "OPENCODE_CONFIG_CONTENT";
/// The file in the private directory of an attempt.
const FILE: &str = "scope.json";
const SCOPE_BYTES_MAX: u64 = 1 << 20;
/// How much of an attempt's log is read, and how many entries are kept.
const NOTES_BYTES_MAX: u64 = 1 << 20;
const NOTES_MAX: usize = 100;
/// The log of guarded tool calls, in the state directory of a project.
const GUARD_NOTES: &str = "guard.log";

pub fn of_step(config: &Config, root: &Path, step: &Step, closed: &[PathBuf]) -> Permissions {
    let tools = (!step.tools.is_empty()).then(|| step.tools.clone());
    Permissions {
        tools,
        touches: step.touches.clone(),
        sealed: step.sealed.clone(),
        closed: closed.iter().map(|path| real(path).to_string_lossy().into_owned()).collect(),
        registry: config.scope.registry.clone(),
        ..Permissions::open(config.scope.mode, &real(root).to_string_lossy())
    }
}

/// The scope of a planner in this project: it only reads.
pub fn of_planner(config: &Config, root: &Path) -> Permissions {
    Permissions {
        registry: config.scope.registry.clone(),
        ..Permissions::open(PermissionMode::Plan, &real(root).to_string_lossy())
    }
}

/// Writes a scope into `folder`, which is outside the workspace and private to the agent, and returns what
/// makes an agent of this make comply; its files are written already. If the scope cannot be written, the
/// agent must not start.
pub fn hold(scope: &Permissions, make: AgentIdentity, folder: &Path) -> Result<ExtraArgs, state_dir::Error> {
    let text = serde_json::to_string(scope).expect("a scope has string keys only");
    state_dir::keep(folder, FILE, text.as_bytes())?;
    // An unknown agent is checked afterwards, not beforehand.
    let held = own_program()
        .map(|hook| make.hold(scope, &PermissionRules { hook: &hook, folder: &folder.to_string_lossy() }));
    let mut additions = held.unwrap_or_default();
    for (name, text) in std::mem::take(&mut additions.files) {
        state_dir::keep(folder, &name, text.as_bytes())?;
    }
    let file = folder.join(FILE).to_string_lossy().into_owned();
    additions.environment.push((VARIABLE.to_owned(), file));
    additions.environment.push((DIGEST.to_owned(), digest(&text)));
    Ok(additions)
}

/// What makes a planner of this make only read.
pub fn planning(
    (config, root): (&Config, &Path),
    make: AgentIdentity,
    folder: &Path,
) -> Result<ExtraArgs, state_dir::Error> {
    hold(&of_planner(config, root), make, folder)
}

/// Adds variables to an environment. Existing opencode settings are kept unless these override them.
pub fn lay_over(environment: &mut Vec<(String, String)>, variables: Vec<(String, String)>) {
    for (name, value) in variables {
        let there =
            environment.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        let value = match there {
            Some(there) if name == OPENCODE => merged(&there, &value),
            Some(_) | None => value,
        };
        environment.retain(|(known, _)| *known != name);
        environment.push((name, value));
    }
}

/// Merges two objects: lists are joined, and otherwise `over` wins.
fn merged(under: &str, over: &str) -> String {
    let read = |text: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).ok();
    let (Some(mut all), Some(over_object)) = (read(under), read(over)) else { return over.to_owned() };
    for (key, value) in over_object {
        match (all.get_mut(&key), value) {
            (Some(serde_json::Value::Array(known)), serde_json::Value::Array(more)) => known.extend(more),
            (Some(serde_json::Value::Object(known)), serde_json::Value::Object(more)) => known.extend(more),
            (_, value) => drop(all.insert(key, value)),
        }
    }
    serde_json::Value::Object(all).to_string()
}

/// The program that agents call: this one.
pub(crate) fn own_program() -> Option<String> {
    Some(std::env::current_exe().ok()?.to_str()?.to_owned())
}

/// A command whose bridge, if it starts with one, is this very program, whatever PATH says.
pub(crate) fn own_bridge(mut argv: Vec<String>) -> Result<Vec<String>, String> {
    if profile::is_bridged(&argv) {
        argv[0] = own_program().ok_or("cannot find the path of planwright itself")?;
    }
    Ok(argv)
}

/// The scope that this process was started with; `None` if it has none.
pub(crate) fn of_process() -> Option<io::Result<(Permissions, PathBuf)>> {
    let file = PathBuf::from(std::env::var_os(VARIABLE).filter(|file| !file.is_empty())?);
    let read = || {
        let text = plan_file::read_text(&file, SCOPE_BYTES_MAX)?;
        if std::env::var(DIGEST).is_ok_and(|said| said != digest(&text)) {
            return Err(io::Error::other("it was changed"));
        }
        serde_json::from_str(&text).map_err(io::Error::other)
    };
    Some(read().map(|scope| (scope, file.with_extension("log"))))
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Logs that a call was refused, or would have been.
pub(crate) fn note(file: &Path, refused: &RefusedCall) -> io::Result<()> {
    let mut line = serde_json::to_vec(refused).map_err(io::Error::other)?;
    line.push(b'\n');
    // The file may be an agent's: opening a pipe would block, and the answer would never come.
    let flags = nix::fcntl::OFlag::O_NONBLOCK | nix::fcntl::OFlag::O_NOFOLLOW;
    let mut notes =
        std::fs::OpenOptions::new().create(true).append(true).custom_flags(flags.bits()).open(file)?;
    match notes.metadata()?.is_file() {
        true => notes.write_all(&line),
        false => Err(io::Error::other("not a file")),
    }
}

/// The log of an attempt. Invalid entries are skipped: an agent can write there, and proves nothing by it.
pub fn notes(folder: &Path) -> Vec<RefusedCall> {
    read_notes(&folder.join(FILE).with_extension("log"))
}

/// Guarded tool calls in people's sessions.
pub fn guard_notes(states: &Path) -> Vec<RefusedCall> {
    read_notes(&states.join(GUARD_NOTES))
}

pub(crate) fn guard_file(states: &Path) -> PathBuf {
    states.join(GUARD_NOTES)
}

fn read_notes(file: &Path) -> Vec<RefusedCall> {
    // The end, so that later entries cannot be hidden behind a heap of others.
    let text = plan_file::read_end(file, NOTES_BYTES_MAX).unwrap_or_default();
    let mut notes: Vec<RefusedCall> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let excess = notes.len().saturating_sub(NOTES_MAX);
    notes.drain(..excess);
    notes.into_iter().map(RefusedCall::within_bounds).collect()
}

/// The guarded tools by the settings and those of proposals, and what is wrong with the latter.
pub fn guard_of(project: &Project) -> (GuardSettings, Option<io::Error>) {
    let mut guard = project.config.guard.clone();
    match project.proposal_settings() {
        Ok(Some((settings, _))) => guard.tools.extend(settings.guarded_tools),
        Ok(None) => {}
        Err(error) => return (guard, Some(error)),
    }
    (guard, None)
}

/// The tools that a planner can use in a plan, as text; empty if none are listed.
pub fn inventory(config: &Config) -> String {
    if config.tools.is_empty() {
        return String::new();
    }
    let line = |(name, operations): (&String, &Vec<String>)| match operations.as_slice() {
        [] => format!("- {name}\n"),
        operations => format!("- {name}: {}\n", operations.join(", ")),
    };
    let lines: String = config.tools.iter().map(line).collect();
    format!("Available executor tools:\n{lines}")
}

/// A call out of scope, and where it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionNotice {
    /// `plan/step@attempt`; empty for a person's session.
    pub place: String,
    pub refused: RefusedCall,
}

/// Every call out of scope in this project, oldest first.
pub fn refused(project: &Project) -> Result<Vec<PermissionNotice>, run::Error> {
    let mut all = Vec::new();
    if let Ok(states) = state_dir::of_project(&project.root) {
        let notes = guard_notes(&states).into_iter();
        all.extend(notes.map(|refused| PermissionNotice { place: String::new(), refused }));
    }
    if let Some(runs) = Runs::open_existing(project)? {
        for run in runs.all()? {
            for recorded in &run.events {
                if let Event::Step { step, event: StepEvent::Finished(finish) } = &recorded.event {
                    let place = format!("{}/{step}@{}", run.row.name, finish.attempt);
                    let told = finish.account.refused.iter().cloned();
                    all.extend(told.map(|refused| PermissionNotice { place: place.clone(), refused }));
                }
            }
        }
    }
    all.sort_by_key(|told| told.refused.at_ms);
    Ok(all)
}

/// A path with links resolved, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(known) = above.canonicalize() {
            return path.strip_prefix(above).map_or_else(|_| known.clone(), |rest| known.join(rest));
        }
    }
    path.to_owned()
}
