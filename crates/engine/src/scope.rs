//! Holds an agent to its scope: says what the scope of an attempt or a planner is, lays it where the agent's hook finds it, and reads
//! what the hook noted. Decides nothing: rulings are [`planwright_core::scope`]'s.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use planwright_core::agent::{self, Additions, Rig};
use planwright_core::plan::Step;
use planwright_core::scope::{Mode, Refused, Scope};

use crate::config::Config;
use crate::store::{self, state};

/// The variable that names the file with the scope.
pub const VARIABLE: &str = "PLANWRIGHT_SCOPE";
/// The file in the private folder of an attempt.
const FILE: &str = "scope.json";
/// How much of a scope is read.
const SCOPE_BYTES_MAX: u64 = 1 << 20;
/// How much of the notes of an attempt is read, and how many of them are kept.
const NOTES_BYTES_MAX: u64 = 1 << 20;
const NOTES_MAX: usize = 100;
/// Where calls of guarded tools are noted, in the state folder of a project.
const GUARD_NOTES: &str = "guard.log";

/// The scope of a step's attempts.
pub fn of_step(config: &Config, root: &Path, step: &Step, closed: &[PathBuf]) -> Scope {
    let tools = (!step.tools.is_empty()).then(|| step.tools.clone());
    Scope {
        tools,
        touches: step.touches.clone(),
        sealed: step.sealed.clone(),
        closed: closed.iter().map(|path| real(path).to_string_lossy().into_owned()).collect(),
        registry: config.scope.registry.clone(),
        ..Scope::open(config.scope.mode, &real(root).to_string_lossy())
    }
}

/// The scope of whoever plans in this project: it only reads.
pub fn of_planner(config: &Config, root: &Path) -> Scope {
    Scope {
        registry: config.scope.registry.clone(),
        ..Scope::open(Mode::Plan, &real(root).to_string_lossy())
    }
}

/// Lays a scope into `folder`, which is outside of the workspace and the agent's alone, and returns what makes the agent with this
/// command line keep to it. Where the scope can't be laid the agent must not be started.
pub fn hold(scope: &Scope, command: &[String], folder: &Path) -> io::Result<Additions> {
    state::create(folder).map_err(io::Error::other)?;
    let file = folder.join(FILE);
    let text = serde_json::to_string(scope).map_err(io::Error::other)?;
    state::keep(folder, FILE, text.as_bytes()).map_err(io::Error::other)?;
    let mut additions = match (agent::profile_of(command), hook()) {
        (Some(profile), Some(hook)) => {
            let folder = folder.to_string_lossy();
            (profile.hold)(scope, &Rig { hook: &hook, folder: &folder })
        }
        // An agent that nobody knows is looked at afterwards, and not before.
        (None, _) | (_, None) => Additions::default(),
    };
    for (name, text) in &additions.files {
        state::keep(folder, name, text.as_bytes()).map_err(io::Error::other)?;
    }
    additions.environment.push((VARIABLE.to_owned(), file.to_string_lossy().into_owned()));
    Ok(additions)
}

/// What makes a planner with this command line only read, and the folder that goes with it.
pub fn planning(config: &Config, root: &Path, command: &[String], folder: &Path) -> io::Result<Additions> {
    hold(&of_planner(config, root), command, folder)
}

/// The program that agents call: this one.
fn hook() -> Option<String> {
    Some(std::env::current_exe().ok()?.to_str()?.to_owned())
}

/// The scope that this process was started with; `None`: it has none.
pub(crate) fn of_process() -> Option<io::Result<(Scope, PathBuf)>> {
    let file = PathBuf::from(std::env::var_os(VARIABLE).filter(|file| !file.is_empty())?);
    let read = || {
        let text = store::read_text(&file, SCOPE_BYTES_MAX)?;
        serde_json::from_str(&text).map_err(io::Error::other)
    };
    Some(read().map(|scope| (scope, file.with_extension("log"))))
}

/// Notes that a call was refused, or would have been.
#[expect(clippy::disallowed_types, reason = "a file that several append to, in the state folder")]
pub(crate) fn note(file: &Path, refused: &Refused) -> io::Result<()> {
    let mut line = serde_json::to_vec(refused).map_err(io::Error::other)?;
    line.push(b'\n');
    std::fs::OpenOptions::new().create(true).append(true).open(file)?.write_all(&line)
}

/// What was noted in an attempt. What is no note is passed over: an agent can write there, and proves nothing by it.
pub fn notes(folder: &Path) -> Vec<Refused> {
    read_notes(&folder.join(FILE).with_extension("log"))
}

/// The calls of guarded tools in sessions of people.
pub fn guard_notes(states: &Path) -> Vec<Refused> {
    read_notes(&states.join(GUARD_NOTES))
}

pub(crate) fn guard_file(states: &Path) -> PathBuf {
    states.join(GUARD_NOTES)
}

fn read_notes(file: &Path) -> Vec<Refused> {
    let text = store::read_text(file, NOTES_BYTES_MAX).unwrap_or_default();
    let mut notes: Vec<Refused> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let excess = notes.len().saturating_sub(NOTES_MAX);
    notes.drain(..excess);
    notes.into_iter().map(Refused::within_bounds).collect()
}

/// A path without links, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(known) = above.canonicalize() {
            return path.strip_prefix(above).map_or_else(|_| known.clone(), |rest| known.join(rest));
        }
    }
    path.to_owned()
}
