//! Runs git so that the repository has no influence on what else is run: where an agent can write,
//! configuration, hooks, filters and monitors are the agent's.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Error;
use super::exchange::Exchange;
use crate::system::program::{Tool, outside};

/// Time limit of one git command. A repository can be large, and its configuration can be a pipe that nobody
/// writes to.
const DEADLINE: Duration = Duration::from_mins(2);
/// How much output is read: enough for the names of a million files.
const OUTPUT_BYTES_MAX: usize = 256 << 20;
/// How much error output is read.
const COMPLAINT_BYTES_MAX: usize = 8 << 10;

/// Settings passed with every command, against configuration that would start something or look elsewhere.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.sshCommand=false",
    "core.pager=cat",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    // The owner of the repository matters only to those who trust it.
    "safe.directory=*",
];
/// Its whole environment, apart from PATH. Without HOME and with these there is no configuration but the
/// repository's.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("LC_ALL", "C"),
];

/// A repository that is read but not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The directory of its files. Git runs here.
    pub tree: PathBuf,
    /// Its git directory, or the file that points to it.
    pub git: PathBuf,
}

#[derive(Debug, Clone)]
pub struct GitOutput {
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
}

impl GitOutput {
    /// Its output as text without the final line break.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }
}

impl Repository {
    /// Runs a read-only git command. PATH contains no directory of the repository.
    pub fn ask<Word: AsRef<OsStr>>(&self, words: &[Word]) -> Result<GitOutput, Error> {
        self.tell(words, &[], &[])
    }

    /// Runs a git command with extra environment and input. The caller documents why it may write.
    pub(crate) fn tell<Word: AsRef<OsStr>>(
        &self,
        words: &[Word],
        environment: &[(&str, &OsStr)],
        input: &[u8],
    ) -> Result<GitOutput, Error> {
        let mut git = Command::new(Tool::Git.path(&[&self.tree]));
        for setting in SETTINGS {
            git.args(["-c", setting]);
        }
        git.args(words)
            .current_dir(&self.tree)
            .env_clear()
            .envs(ENVIRONMENT.iter().copied())
            .env("PATH", outside(&[&self.tree]))
            .env("GIT_DIR", &self.git)
            .env("GIT_WORK_TREE", &self.tree)
            .envs(environment.iter().copied());
        answer_of(&mut git, input)
    }
}

/// The user's git identity, name and address, as far as they are set.
pub(crate) fn identity(repository: &Repository) -> (Option<String>, Option<String>) {
    let own = OwnSettings::of_user();
    let said = |name: &str| {
        // Nothing of the settings is run: `config --get` only looks.
        let answer = repository.tell(&["config", "--get", name], &own.environment(), &[]).ok()?;
        Some(answer.text()).filter(|text| answer.code == Some(0) && !text.is_empty())
    };
    (said("user.name"), said("user.email"))
}

/// Where the user's own git settings are, for the commands that may read them.
struct OwnSettings {
    home: OsString,
    config: OsString,
    file: OsString,
}

impl OwnSettings {
    fn of_user() -> Self {
        let home = std::env::var_os("HOME").unwrap_or_default();
        let config = std::env::var_os("XDG_CONFIG_HOME").unwrap_or_default();
        let file = PathBuf::from(&home).join(".gitconfig").into_os_string();
        Self { home, config, file }
    }

    fn environment(&self) -> [(&'static str, &OsStr); 3] {
        [("HOME", &self.home), ("XDG_CONFIG_HOME", &self.config), ("GIT_CONFIG_GLOBAL", &self.file)]
    }
}

/// Merges three files line by line and writes the result over the first: ours, base, theirs. Returns how many conflicts are in it,
/// more than 127 if git gave up. The user's settings choose the conflict style; no repository is consulted.
pub(crate) fn merge_file(files: [&Path; 3], marker_size: usize) -> Result<Option<i32>, Error> {
    let here =
        std::env::current_dir().map_err(|source| Error::Start { program: "git".to_owned(), source })?;
    let size = format!("--marker-size={marker_size}");
    let words =
        ["merge-file", "-q", size.as_str(), "-L", "ours", "-L", "base", "-L", "theirs", "--"].map(OsStr::new);
    let nowhere = Repository { tree: here, git: PathBuf::from("/dev/null") };
    let words = [&words[..], &files.map(Path::as_os_str)[..]].concat();
    Ok(nowhere.tell(&words, &OwnSettings::of_user().environment(), &[])?.code)
}

/// The names of the filters for which the user or the repository sets a program. None of them is run.
pub(crate) fn filters(repository: &Repository) -> BTreeSet<String> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = set("HOME");
    let config = set("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let files = [
        home.map(|home| home.join(".gitconfig")),
        config.map(|config| config.join("git/config")),
        Some(PathBuf::from("/etc/gitconfig")),
    ];
    let words = ["config", "--name-only", "-z", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$"];
    let mut names = BTreeSet::new();
    for file in files.into_iter().flatten() {
        let environment = [("GIT_CONFIG_GLOBAL", file.as_os_str())];
        // Without settings, or if a file cannot be read, there is no filter either.
        let Ok(answer) = repository.tell(&words, &environment, &[]) else { continue };
        let said = String::from_utf8_lossy(&answer.stdout).into_owned();
        let keys = said.split('\0').filter_map(|key| key.strip_prefix("filter."));
        names.extend(keys.filter_map(|key| key.rsplit_once('.')).map(|(name, _)| name.to_owned()));
    }
    names
}

fn answer_of(git: &mut Command, input: &[u8]) -> Result<GitOutput, Error> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    git.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let exchange = Exchange {
        program: "git",
        input,
        stdout_bytes_max: OUTPUT_BYTES_MAX,
        stderr_bytes_max: COMPLAINT_BYTES_MAX,
        deadline: DEADLINE,
    };
    let said = exchange.with(git)?;
    let stderr = String::from_utf8_lossy(&said.stderr).trim().to_owned();
    Ok(GitOutput { stdout: said.stdout, stderr, code: said.status.code() })
}
