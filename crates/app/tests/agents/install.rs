//! Installs agents into a folder that runs of the suite share. What can't be installed is not tried, and why is said.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::agent::{AGENTS, Agent, Source};

/// Which agents are run, by name, set off by commas; where it is not set, the usual ones.
const WANTED: &str = "REAL_AGENTS";
/// Where they are installed; where it is not set, in the target folder.
const FOLDER: &str = "REAL_AGENTS_DIR";
/// Several agents want a newer Node than many machines have.
const NODE: &str = "24";
/// How long one agent may take to install.
const DEADLINE: Duration = Duration::from_mins(10);

/// An agent that can be started.
pub(crate) struct Installed {
    pub(crate) agent: &'static Agent,
    pub(crate) program: PathBuf,
    /// The folder with the Node that runs it, if it needs one.
    pub(crate) node: PathBuf,
}

/// The agents that somebody wants, and of these, what can be started and what can't.
pub(crate) fn install() -> (Vec<Installed>, Vec<String>) {
    let wanted = std::env::var(WANTED).unwrap_or_default();
    let names: Vec<&str> = wanted.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let (mut installed, mut skipped) = (Vec::new(), Vec::new());
    for name in names.iter().filter(|name| !AGENTS.iter().any(|agent| agent.name == **name)) {
        skipped.push(format!("{name}: no agent of this suite has this name"));
    }
    let is_wanted =
        |agent: &&Agent| if names.is_empty() { agent.is_usual } else { names.contains(&agent.name) };
    for agent in AGENTS.iter().filter(is_wanted) {
        match one(agent) {
            Ok(found) => installed.push(found),
            Err(why) => skipped.push(format!("{}: {why}", agent.name)),
        }
    }
    (installed, skipped)
}

fn one(agent: &'static Agent) -> Result<Installed, String> {
    let node = from_npm("node", "node", NODE)?;
    let program = match agent.source {
        Source::Npm(package) => from_npm(agent.name, package, agent.version)?,
        Source::Python(package) => from_python(agent.name, package, agent.version)?,
    };
    let node = node.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok(Installed { agent, program, node })
}

/// Installs a package, unless it is there, and returns the program of this name.
fn from_npm(name: &str, package: &str, version: &str) -> Result<PathBuf, String> {
    let whole = format!("{package}@{version}");
    let program = Path::new("node_modules/.bin").join(name);
    place(name, version, &program, |folder| {
        fs::write(folder.join("package.json"), "{\"private\": true}\n").map_err(|error| error.to_string())?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=2"]).arg(&whole);
        run(npm.current_dir(folder))
    })
}

fn from_python(name: &str, package: &str, version: &str) -> Result<PathBuf, String> {
    // Its scripts name their folder, so it is made where it stays.
    let folder = folder().join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let package = format!("{package}=={version}");
        run(Command::new(folder.join("bin/pip")).args(["install", "--quiet"]).arg(package))?;
    }
    Ok(program)
}

fn folder() -> PathBuf {
    let usual = || Path::new(env!("CARGO_TARGET_TMPDIR")).join("agents");
    std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map_or_else(usual, PathBuf::from)
}

/// Has a folder filled and then named, so that what has its name is whole.
fn place(
    name: &str,
    version: &str,
    program: &Path,
    fill: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let (above, text) = (folder(), |error: io::Error| error.to_string());
    let place = above.join(format!("{name}-{version}"));
    if !place.join(program).exists() {
        let begun = above.join(format!(".{name}-{version}-{}", std::process::id()));
        fs::create_dir_all(&begun).map_err(text)?;
        let filled = fill(&begun).and_then(|()| match begun.join(program).exists() {
            true => Ok(()),
            false => Err(format!("the package has no program `{name}`")),
        });
        if let Err(why) = filled {
            // What was begun is of no use to anybody.
            fs::remove_dir_all(&begun).ok();
            return Err(why);
        }
        // Another run of the suite may have been faster; then its folder is as good.
        if fs::rename(&begun, &place).is_err() && !place.join(program).exists() {
            return Err(format!("{} can't be put in its place", begun.display()));
        }
        fs::remove_dir_all(&begun).ok();
    }
    Ok(place.join(program))
}

/// Runs a command to its end; what it complains about is the error.
fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start `{name}`: {error}"))?;
    let stderr = child.stderr.take();
    let reader = std::thread::spawn(move || stderr.map(io::read_to_string).and_then(Result::ok));
    let begin = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if begin.elapsed() > DEADLINE => {
                child.kill().ok();
                return Err(format!("`{name}` took longer than {DEADLINE:?}"));
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let said = reader.join().ok().flatten().unwrap_or_default();
    let words: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(4).collect();
    if status.success() { Ok(()) } else { Err(format!("`{name}` failed: {}", words.join(" / "))) }
}
