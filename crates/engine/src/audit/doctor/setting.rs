//! Checks the settings, and the agents and hooks that they name.

use std::collections::BTreeSet;
use std::path::Path;

use planwright_core::agent::profile;
use planwright_core::agent::profile::{Credential, PROFILES, Profile};
use planwright_core::syntax::count::{counted, number};
use planwright_core::workspace::worktree::typed;

use super::DoctorFinding;
use super::program::version;
use crate::config;
use crate::config::{Config, schema};
use crate::store::journal::Store;
use crate::system::program;
use crate::workspace::notify;

pub(super) fn faults(error: &config::Error) -> Vec<DoctorFinding> {
    let file = match error {
        config::Error::Invalid { path, .. } => format!("{}, ", path.display()),
        config::Error::Read { .. } => return vec![DoctorFinding::failed("settings", error)],
        config::Error::Environment { .. } | config::Error::Flag { .. } => String::new(),
    };
    let is_of_user =
        matches!(error, config::Error::Invalid { path, .. } if config::user_file().as_ref() == Some(path));
    let finding = |fault: &config::ConfigFault| DoctorFinding {
        fix: fault.key.as_ref().map(|key| {
            let whose = if is_of_user { " --user" } else { "" };
            format!("planwright config unset {}{whose}", typed(&[key]))
        }),
        ..DoctorFinding::error(format!("settings: {file}{fault}"))
    };
    error.faults().iter().map(finding).collect()
}

/// Which agents are usable; whether every role has an agent, and every agent a program.
pub(super) fn agents(root: &Path, config: &Config) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> =
        PROFILES.iter().filter_map(|profile| installed(profile, config)).collect();
    for (role, agent) in &config.roles {
        if !schema::BUILT_IN.contains(&agent.as_str()) && config.command_of(agent).is_empty() {
            let key = schema::key(&["agents".to_owned(), agent.clone(), "command".to_owned()]);
            let list = serde_json::Value::from(vec![agent.as_str()]).to_string();
            findings.push(DoctorFinding::warn(
                format!("role `{role}` is assigned to `{agent}`, which has no command"),
                format!("planwright config set {} {}", typed(&[&key]), typed(&[&list])),
            ));
        }
    }
    let played = config.roles.values().filter(|agent| !schema::BUILT_IN.contains(&agent.as_str()));
    let used: BTreeSet<&String> = config.agents.keys().chain(played).collect();
    let mut there = Vec::new();
    for name in used {
        let command = config.command_of(name);
        let Some(program) = profile::program(&command) else { continue };
        let is_path = program.contains('/') && !program.starts_with('/');
        if if is_path { root.join(program).is_file() } else { program::has_program(program) } {
            there.push(name.as_str());
        } else {
            let key = schema::key(&["agents".to_owned(), name.clone(), "command".to_owned()]);
            findings.push(DoctorFinding::warn(
                format!("agent `{name}` runs `{program}`, which is not on the PATH"),
                format!("planwright config {}", typed(&[&key])),
            ));
        }
    }
    if !there.is_empty() {
        findings.insert(0, DoctorFinding::ok(format!("agents found: {}", there.join(", "))));
    }
    findings
}

/// Whether a known agent is installed and signed in; `None` if it is not installed.
fn installed(profile: &Profile, config: &Config) -> Option<DoctorFinding> {
    if !program::has_program(profile.program) {
        return None;
    }
    let version = version(profile.program).unwrap_or_else(|why| why);
    let is_used = config.roles.values().any(|agent| agent == profile.name);
    let has = |credential: &Credential| match credential {
        Credential::Variable(name) => std::env::var_os(name).is_some_and(|value| !value.is_empty()),
        Credential::File(path) => {
            std::env::var_os("HOME").is_some_and(|home| Path::new(&home).join(path).is_file())
        }
    };
    let what = format!("{} {version}", profile.name);
    Some(match (profile.credentials.iter().any(has), is_used) {
        (true, _) => DoctorFinding::ok(format!("{what}: installed, signed in")),
        (false, true) => DoctorFinding::warn(
            format!("{what}: installed, not signed in; sign in: {}", profile.sign_in),
            profile.program,
        ),
        (false, false) => {
            DoctorFinding::ok(format!("{what}: installed, not signed in ({})", profile.sign_in))
        }
    })
}

/// Whether hooks can be called, and have accepted their events.
pub(super) fn hooks(root: &Path, config: &Config) -> Vec<DoctorFinding> {
    let hooks = notify::hooks_of(&config.hooks);
    let mut findings = Vec::new();
    let mut there = Vec::new();
    for hook in &hooks {
        let (name, program) = (hook.name, hook.program());
        let key = if name == "webhook" { "hooks.webhook.url".to_owned() } else { format!("hooks.{name}") };
        let show = format!("planwright config {key}");
        let is_path = program.contains('/');
        if !(is_path || program::has_program(program)) {
            findings.push(DoctorFinding::warn(
                format!("hook `{name}` runs `{program}`, which is not on the PATH"),
                show,
            ));
        } else if let Some(fault) = hook.fault(root) {
            findings.push(DoctorFinding::warn(format!("hook `{name}`: {fault}"), show));
        } else {
            there.push(name);
        }
    }
    if !there.is_empty() {
        findings.insert(0, DoctorFinding::ok(format!("hooks set: {}", there.join(", "))));
    }
    // A check must not create what is not there.
    if !hooks.is_empty() && Store::exists(root).unwrap_or(false) {
        // A store that cannot be opened is reported with the records.
        if let Ok(store) = Store::open(root) {
            findings.extend(hooks.iter().flat_map(|hook| untold(&store, hook.name)));
        }
    }
    findings
}

/// The command that delivers missed events.
const DELIVER: &str = "planwright log --all --deliver";

/// Events that a hook has not accepted.
fn untold(store: &Store, hook: &str) -> Vec<DoctorFinding> {
    let delivery = match store.delivery(hook) {
        Ok(Some(delivery)) => delivery,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![DoctorFinding::failed("hooks", &error)],
    };
    let mut findings = Vec::new();
    if delivery.tries > 0 {
        let (tries, why) = (delivery.tries, &delivery.why);
        let why = if why.is_empty() { "it was interrupted" } else { why };
        findings.push(DoctorFinding::warn(
            format!(
                "hook `{hook}` has not accepted an event after {}: {why}",
                counted(tries, "try", "tries")
            ),
            DELIVER,
        ));
    }
    if delivery.skipped > 0 {
        let (skipped, why) = (delivery.skipped, &delivery.why);
        findings.push(DoctorFinding::warn(
            format!("planwright gave up delivering {} to hook `{hook}`: {why}", number(skipped, "event")),
            DELIVER,
        ));
    }
    findings
}
