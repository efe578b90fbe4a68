//! Looks at everything that planwright stands on: programs, settings, agents, records, and what a crash may leave behind.
//! Mends only what can't lose anything, and only when it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use planwright_core::agent::{Credential, PROFILES, Profile};
use planwright_core::binding::MARKER;
use planwright_core::dialect::named::{Name, plan_file};

use crate::config::{self, Config, Settings, Sources, setting};
use crate::process::{self, How, Job, Stop};
use crate::project::{self, Project};
use crate::store::journal::{RunId, Store};
use crate::store::state;
use crate::{binding, facts, notify, runs};

/// How long a program may take to say which version it is.
const VERSION_SECONDS: u64 = 10;
/// A file that a write left behind is no write that is still under way when it is this old.
const LEFTOVER_AGE: Duration = Duration::from_hours(1);
/// How many letters and digits the name of such a file ends with.
const LEFTOVER_SUFFIX: usize = 6;

/// How good or bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Works, but somebody should look.
    Warn,
    /// Does not work.
    Error,
}

impl Level {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How good or bad it is.
    pub level: Level,
    /// What was found.
    pub what: String,
    /// A command that helps.
    pub fix: Option<String>,
    /// What [`mend`] does about it.
    pub repair: Option<Repair>,
}

/// Something that can be done without losing anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// Close a folder to everybody but its owner.
    Close(PathBuf),
    /// End the processes of a run that nobody drives.
    Reclaim(RunId),
    /// Remove a file that nobody uses.
    Remove(PathBuf),
    /// Build the queue and the asks anew from the journal.
    Rebuild,
    /// Let go of the outputs of runs that were over before a time, in milliseconds since 1970.
    DropOutputs(u64),
}

impl Finding {
    fn new(level: Level, what: impl Into<String>) -> Self {
        Self { level, what: what.into(), fix: None, repair: None }
    }

    fn ok(what: impl Into<String>) -> Self {
        Self::new(Level::Ok, what)
    }

    fn error(what: impl Into<String>) -> Self {
        Self::new(Level::Error, what)
    }

    fn failed(what: &str, error: &dyn std::error::Error) -> Self {
        let mut text = format!("{what}: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Self::error(text)
    }

    /// Something to look at, with a command that helps.
    fn warn(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..Self::new(Level::Warn, what) }
    }

    /// Something that [`mend`] can mend.
    fn mendable(what: impl Into<String>, repair: Repair) -> Self {
        Self { repair: Some(repair), ..Self::warn(what, "planwright doctor --fix") }
    }
}

/// Looks at the project at `root`, with settings that were typed with the command.
pub fn examine(root: &Path, flags: &[String]) -> Vec<Finding> {
    let mut findings = programs();
    let mut days = 0;
    match Settings::read(&Sources::of_process(root, flags)) {
        Ok(settings) => {
            findings.push(Finding::ok("settings valid"));
            let config = settings.config();
            findings.extend(agents(root, &config));
            findings.extend(hooks(root, &config));
            days = config.retention.days;
            findings.extend(bindings(&Project { root: root.to_owned(), config, dialect: None }));
        }
        Err(error) => findings.extend(faults(&error)),
    }
    findings.extend(states());
    findings.extend(records(root));
    findings.extend(old_outputs(root, days));
    findings.extend(leftover_files(root));
    findings.extend(astray_plans(root));
    findings.extend(proposal_settings(root));
    findings
}

/// Does what a finding asks for; says why where that can't be done.
pub fn mend(root: &Path, repair: &Repair) -> Result<(), String> {
    match repair {
        Repair::Close(folder) => state::create(folder).map_err(|error| error.to_string()),
        Repair::Remove(path) => std::fs::remove_file(path).map_err(|error| error.to_string()),
        Repair::Rebuild => {
            let store = Store::open(root).map_err(|error| error.to_string())?;
            store.rebuild_projection().map_err(|error| error.to_string())
        }
        Repair::DropOutputs(before_ms) => {
            let store = Store::open(root).map_err(|error| error.to_string())?;
            store.drop_outputs(*before_ms, runs::now()).map(drop).map_err(|error| error.to_string())
        }
        Repair::Reclaim(run) => {
            let store = Store::open(root).map_err(|error| error.to_string())?;
            // Held meanwhile: a driver that begins now must not lose what it starts.
            let _lock = store
                .lock(*run)
                .map_err(|error| error.to_string())?
                .ok_or_else(|| format!("{run} is driven now; it was left alone"))?;
            let prefix = format!("{}/{}/", store.key(), run.number());
            process::reclaim(&prefix).map(drop).map_err(|error| error.to_string())
        }
    }
}

fn programs() -> Vec<Finding> {
    let mut there = Vec::new();
    let mut findings = Vec::new();
    for (name, without) in [("git", "the demo needs it"), ("bash", "contracts can't be run without it")] {
        match version(name) {
            Ok(version) => there.push(format!("{name} {version}")),
            Err(why) => {
                let level = if name == "bash" { Level::Error } else { Level::Warn };
                findings.push(Finding::new(level, format!("{name}: {why}; {without}")));
            }
        }
    }
    if !there.is_empty() {
        findings.insert(0, Finding::ok(there.join(", ")));
    }
    findings
}

/// What a program says of its version: the first number in what it prints.
fn version(program: &str) -> Result<String, String> {
    if !facts::has_program(program) {
        return Err("not on the PATH".to_owned());
    }
    let job = Job {
        argv: vec![program.to_owned(), "--version".to_owned()],
        // Not in the project: what lies there may be an agent's.
        folder: "/".into(),
        env: process::environment(),
        input: Vec::new(),
        deadline: Duration::from_secs(VERSION_SECONDS),
        output_bytes_max: 4096,
        tag: format!("doctor/{}/{program}", std::process::id()),
    };
    let ended = process::run(&job, &Stop::new()).map_err(|error| error.to_string())?;
    let text = ended.stdout.text();
    let number = text.split_whitespace().find(|word| word.starts_with(|sign: char| sign.is_ascii_digit()));
    match (ended.how, number) {
        (How::Exited(0), Some(word)) => {
            let number: String =
                word.chars().take_while(|sign| sign.is_ascii_digit() || *sign == '.').collect();
            Ok(number.trim_end_matches('.').to_owned())
        }
        (How::Exited(_) | How::Signalled(_) | How::TimedOut | How::Stopped | How::NotStarted(_), _) => {
            Err("does not say its version".to_owned())
        }
    }
}

/// What is wrong with the settings.
fn faults(error: &config::Error) -> Vec<Finding> {
    let file = match error {
        config::Error::Invalid { path, .. } => format!("{}, ", path.display()),
        config::Error::Read { .. } => return vec![Finding::failed("settings", error)],
        config::Error::Environment { .. } | config::Error::Flag { .. } => String::new(),
    };
    let is_of_user =
        matches!(error, config::Error::Invalid { path, .. } if config::user_file().as_ref() == Some(path));
    let finding = |fault: &config::Fault| Finding {
        fix: fault.key.as_ref().map(|key| {
            let whose = if is_of_user { " --user" } else { "" };
            format!("planwright config unset {}{whose}", quoted(key))
        }),
        ..Finding::error(format!("settings: {file}{fault}"))
    };
    error.faults().iter().map(finding).collect()
}

/// Which agents there are and whether they can be used; whether every role has one, and every agent a program.
fn agents(root: &Path, config: &Config) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        PROFILES.iter().filter_map(|profile| installed(profile, config)).collect();
    for (role, agent) in &config.roles {
        if !setting::BUILT_IN.contains(&agent.as_str()) && config.command_of(agent).is_empty() {
            let key = setting::key(&["agents".to_owned(), agent.clone(), "command".to_owned()]);
            let list = serde_json::Value::from(vec![agent.as_str()]).to_string();
            findings.push(Finding::warn(
                format!("the role `{role}` is for `{agent}`, which has no command line"),
                format!("planwright config set {} {}", quoted(&key), quoted(&list)),
            ));
        }
    }
    let played = config.roles.values().filter(|agent| !setting::BUILT_IN.contains(&agent.as_str()));
    let used: BTreeSet<&String> = config.agents.keys().chain(played).collect();
    let mut there = Vec::new();
    for name in used {
        let command = config.command_of(name);
        let Some(program) = command.first() else { continue };
        let is_path = program.contains('/') && !program.starts_with('/');
        if if is_path { root.join(program).is_file() } else { facts::has_program(program) } {
            there.push(name.as_str());
        } else {
            let key = setting::key(&["agents".to_owned(), name.clone(), "command".to_owned()]);
            findings.push(Finding::warn(
                format!("the agent `{name}` is `{program}`, which is not on the PATH"),
                format!("planwright config {}", quoted(&key)),
            ));
        }
    }
    if !there.is_empty() {
        findings.insert(0, Finding::ok(format!("agents found: {}", there.join(", "))));
    }
    findings
}

/// Whether a known agent is installed and somebody is signed in; nothing where it is not there.
fn installed(profile: &Profile, config: &Config) -> Option<Finding> {
    if !facts::has_program(profile.program) {
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
        (true, _) => Finding::ok(format!("{what}: installed, signed in")),
        (false, true) => Finding::warn(format!("{what}: nobody seems to be signed in"), profile.sign_in),
        (false, false) => Finding::ok(format!("{what}: installed, not signed in ({})", profile.sign_in)),
    })
}

/// Whether hooks can be told, and whether they have taken what they were told.
fn hooks(root: &Path, config: &Config) -> Vec<Finding> {
    let hooks = notify::hooks_of(&config.hooks);
    let mut findings = Vec::new();
    let mut there = Vec::new();
    for hook in &hooks {
        let (name, program) = (hook.name, hook.program());
        let key = if name == "webhook" { "hooks.webhook.url".to_owned() } else { format!("hooks.{name}") };
        let show = format!("planwright config {key}");
        let is_path = program.contains('/');
        if !(is_path || facts::has_program(program)) {
            findings.push(Finding::warn(
                format!("the hook `{name}` takes `{program}`, which is not on the PATH"),
                show,
            ));
        } else if let Some(fault) = hook.fault(root) {
            findings.push(Finding::warn(format!("the hook `{name}`: {fault}"), show));
        } else {
            there.push(name);
        }
    }
    if !there.is_empty() {
        findings.insert(0, Finding::ok(format!("hooks set: {}", there.join(", "))));
    }
    // Looking must not make what is not there.
    if !hooks.is_empty() && Store::exists(root).unwrap_or(false) {
        // A store that can't be opened is said with the records.
        if let Ok(store) = Store::open(root) {
            findings.extend(hooks.iter().flat_map(|hook| untold(&store, hook.name)));
        }
    }
    findings
}

/// What brings to a hook what it has not taken.
const DELIVER: &str = "planwright events --deliver";

/// What a hook has not taken.
fn untold(store: &Store, hook: &str) -> Vec<Finding> {
    let delivery = match store.delivery(hook) {
        Ok(Some(delivery)) => delivery,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![Finding::failed("hooks", &error)],
    };
    let mut findings = Vec::new();
    if delivery.tries > 0 {
        let (tries, why) = (delivery.tries, &delivery.why);
        let why = if why.is_empty() { "it was cut short" } else { why };
        findings.push(Finding::warn(
            format!("the hook `{hook}` has not taken an event (tries: {tries}): {why}"),
            DELIVER,
        ));
    }
    if delivery.skipped > 0 {
        let (skipped, why) = (delivery.skipped, &delivery.why);
        findings.push(Finding::warn(
            format!("the hook `{hook}` never took {skipped} events, which were given up: {why}"),
            DELIVER,
        ));
    }
    findings
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = word.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_./".contains(sign));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Whether the records of all projects can be written, and by nobody else.
fn states() -> Vec<Finding> {
    let states = state::folder();
    let Ok(data) = states.metadata() else {
        let above = states.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
        return vec![match is_writable(above) {
            true => {
                Finding::ok(format!("state directory {} will be made by the first run", states.display()))
            }
            false => Finding::error(format!("state directory {} can't be made", states.display())),
        }];
    };
    if !data.is_dir() || !is_writable(&states) {
        return vec![Finding::error(format!("state directory {} can't be written to", states.display()))];
    }
    if data.permissions().mode() & 0o077 != 0 {
        let what = format!("state directory {} is open to others", states.display());
        return vec![Finding::mendable(what, Repair::Close(states))];
    }
    vec![Finding::ok("state directory writable, and nobody else's")]
}

fn is_writable(folder: &Path) -> bool {
    use nix::unistd::{AccessFlags, access};
    access(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

/// Whether what is recorded of this project is what was written.
fn records(root: &Path) -> Vec<Finding> {
    let folder = match state::folder_of(&state::folder(), root) {
        Ok(folder) => folder,
        Err(error) => return vec![Finding::failed("records", &error)],
    };
    // Looking must not make what is not there.
    if !folder.join("state.db").exists() {
        return vec![Finding::ok("no records: nothing was run here yet")];
    }
    let store = match Store::open_folder(&folder) {
        Ok(store) => store,
        Err(error) => return vec![Finding::failed("records", &error)],
    };
    let whole = match store.check_integrity() {
        Ok(faults) => faults,
        Err(error) => return vec![Finding::failed("records", &error)],
    };
    if !whole.is_empty() {
        let database = folder.join("state.db");
        return whole
            .iter()
            .map(|fault| Finding::error(format!("records: {}: {fault}", database.display())))
            .collect();
    }
    let runs = match store.runs() {
        Ok(runs) => runs,
        Err(error) => return vec![Finding::failed("records", &error)],
    };
    let ids: Vec<RunId> = runs.iter().map(|row| row.id).collect();
    let mut findings = chains(&store, &ids);
    findings.extend(projection(&store));
    findings.extend(leftover_processes(&store));
    findings.extend(leftover_locks(&store, &ids));
    findings
}

/// What runs hold that are over, and whether it may go.
fn old_outputs(root: &Path, days: u64) -> Option<Finding> {
    const DAY_MS: u64 = 86_400_000;
    // A store that can't be opened is told of by itself.
    let store = Store::exists(root).ok().filter(|&is_there| is_there).and_then(|_| Store::open(root).ok())?;
    let before_ms = match days {
        0 => u64::MAX >> 1,
        days => runs::now().saturating_sub(days * DAY_MS),
    };
    let found = store.old_outputs(before_ms).ok().filter(|found| found.outputs > 0)?;
    let megabytes = found.bytes.div_ceil(1_000_000);
    Some(match days {
        0 => Finding::ok(format!(
            "outputs of runs that are over are kept (runs: {}, MB: {megabytes})",
            found.runs
        )),
        _ => Finding::mendable(
            format!(
                "outputs of runs that are over for {days} days can go (runs: {}, MB: {megabytes})",
                found.runs
            ),
            Repair::DropOutputs(before_ms),
        ),
    })
}

fn chains(store: &Store, runs: &[RunId]) -> Vec<Finding> {
    let mut events = 0;
    let mut findings = Vec::new();
    for run in runs {
        match store.verify_chain(*run) {
            Ok(report) => {
                events += report.head.seq;
                let broken = report.breaks.iter().map(|at| Finding::error(format!("records: {run}: {at}")));
                findings.extend(broken);
            }
            Err(error) => findings.push(Finding::failed("records", &error)),
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok(format!("records whole (runs: {}, events: {events})", runs.len())));
    }
    findings
}

/// Whether the tables say what the journal says.
fn projection(store: &Store) -> Vec<Finding> {
    match store.check_projection() {
        Ok(faults) if faults.is_empty() => vec![Finding::ok("queue and asks are what the journal says")],
        Ok(faults) => {
            let what = format!("queue and asks are not what the journal says: {}", faults.join("; "));
            vec![Finding { level: Level::Error, ..Finding::mendable(what, Repair::Rebuild) }]
        }
        Err(error) => vec![Finding::failed("queue and asks", &error)],
    }
}

/// Processes of runs that nobody drives.
fn leftover_processes(store: &Store) -> Vec<Finding> {
    let prefix = format!("{}/", store.key());
    let tags = match process::tags(&prefix) {
        Ok(tags) => tags,
        Err(error) => return vec![Finding::failed("processes", &error)],
    };
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for (tag, count) in tags {
        let run = tag[prefix.len()..].split('/').next().and_then(|number| number.parse().ok());
        *counts.entry(run.unwrap_or_default()).or_default() += count;
    }
    let mut findings = Vec::new();
    for (number, count) in counts {
        let run = RunId::new(number);
        match store.holder(run) {
            // A worker of its own goes on when the driver is gone; the next driver takes its result.
            Ok(None) if has_worker(store, run) => {}
            Ok(None) => findings.push(Finding::mendable(
                format!("processes of {run} are alive, though nobody drives it: {count}"),
                Repair::Reclaim(run),
            )),
            Ok(Some(_)) => {}
            Err(error) => findings.push(Finding::failed("processes", &error)),
        }
    }
    findings
}

/// Whether a worker that is alive has claimed something of a run.
fn has_worker(store: &Store, run: RunId) -> bool {
    let queue = store.queue().unwrap_or_default();
    let leases = queue.into_iter().filter(|queued| queued.run == run).filter_map(|queued| queued.lease);
    leases.into_iter().any(|lease| store.holder_named(&lease.worker).is_ok_and(|holder| holder.is_some()))
}

/// Locks of runs that are not there. Those of runs that are stay: somebody may be about to take one.
fn leftover_locks(store: &Store, runs: &[RunId]) -> Vec<Finding> {
    let known: BTreeSet<String> = runs.iter().map(|run| format!("run-{}", run.number())).collect();
    let entries = store.folder().join("locks").read_dir().into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.starts_with("run-") || name.starts_with("worker-"))
            && !known.contains(name.as_ref())
            && is_old(path)
    });
    names
        .map(|path| {
            Finding::mendable(format!("{} is the lock of nobody", path.display()), Repair::Remove(path))
        })
        .collect()
}

/// Conflict copies of plans, and pointers to plans that are not there. Somebody has to look: nothing is removed.
fn astray_plans(root: &Path) -> Vec<Finding> {
    let project = Project { root: root.to_owned(), config: Config::default(), dialect: None };
    // A folder that can't be searched was told of above.
    let faults = project.faults().unwrap_or_default();
    faults.into_iter().map(|fault| Finding::warn(fault, "planwright list")).collect()
}

/// The named plans, and the one that this worktree is bound to. A project without names has nothing to be told of here, and one
/// without a plan that has no name lacks nothing. A marker that leads nowhere stops no other work: whoever asks for the plan is told.
fn bindings(project: &Project) -> Vec<Finding> {
    let listing = match binding::list(project) {
        Ok(listing) => listing,
        Err(binding::Error::NoFolder { .. }) => {
            return match binding::of_marker(project) {
                Ok(_) => Vec::new(),
                Err(error) => vec![Finding::warn(error.to_string(), "planwright config plans.harness")],
            };
        }
        Err(error) => return vec![Finding { level: Level::Warn, ..Finding::failed("named plans", &error) }],
    };
    let named: Vec<String> =
        listing.plans.iter().filter_map(Name::slug).map(|slug| plan_file(Some(slug))).collect();
    let mut findings = Vec::new();
    if !named.is_empty() {
        let word = if named.len() == 1 { "plan" } else { "plans" };
        findings.push(Finding::ok(format!("{} named {word}: {}", named.len(), named.join(", "))));
    }
    findings.extend(listing.bound.map(|bound| match bound {
        Ok(slug) => Finding::ok(format!("bound to {} ({MARKER})", plan_file(Some(&slug)))),
        Err(fault) => Finding::warn(format!("dangling: {fault}"), "planwright use --clear"),
    }));
    findings
}

/// The settings of proposals, where the project has some.
fn proposal_settings(root: &Path) -> Vec<Finding> {
    const FILE: &str = project::PROPOSAL_SETTINGS;
    let project = Project { root: root.to_owned(), config: Config::default(), dialect: None };
    let (config, wrong) = match project.proposal_settings() {
        Err(error) => return vec![Finding::failed(FILE, &error)],
        Ok(None) => return Vec::new(),
        Ok(Some(said)) => said,
    };
    let said = format!(
        "{FILE}: {} guarded tools, stale after {} days, stalled after {} minutes",
        config.guarded_tools.len(),
        config.stale_after_days,
        config.executor_timeout_minutes
    );
    let wrong = wrong.into_iter().map(|wrong| Finding::new(Level::Warn, format!("{FILE}: {wrong}")));
    std::iter::once(Finding::ok(said)).chain(wrong).collect()
}

/// Files beside plans that a write left behind when it was killed.
fn leftover_files(root: &Path) -> Vec<Finding> {
    let project = Project { root: root.to_owned(), config: Config::default(), dialect: None };
    let mut files = match project.plans() {
        Ok(plans) => plans,
        Err(error) => return vec![Finding::failed("plans", &error)],
    };
    files.push(root.join(config::FILE));
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let entries = folders.iter().flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    let left = entries.map(|entry| entry.path()).filter(|path| {
        let whole = written_to(path);
        whole.is_some_and(|whole| files.contains(&whole)) && is_old(path)
    });
    left.map(|path| {
        Finding::mendable(
            format!("{} was left behind by a write that was killed", path.display()),
            Repair::Remove(path),
        )
    })
    .collect()
}

/// The file that a temporary one was to replace: `.NAME.XXXXXX` is for `NAME`.
fn written_to(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_prefix('.')?;
    let (name, suffix) = name.rsplit_once('.')?;
    let is_random =
        suffix.len() == LEFTOVER_SUFFIX && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_random.then(|| path.with_file_name(name))
}

fn is_old(path: &Path) -> bool {
    let changed = path.symlink_metadata().and_then(|data| data.modified());
    changed
        .is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age >= LEFTOVER_AGE))
}
