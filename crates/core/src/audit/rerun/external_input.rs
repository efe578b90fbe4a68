//! Whether a contract looks beyond the files of the project. What it says then is not settled by their content, so no earlier
//! answer stands for the next one.

use crate::plan::verified::{Contract, Step};
use crate::syntax::shell;

/// Words that stand for a look at the network, the clock, the machine or the repository's own records. A word is enough: who
/// only mentions one pays with a run that was not needed.
const BEYOND: &[&str] = &[
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "RANDOM",
    "SRANDOM",
    "aws",
    "az",
    "cal",
    "curl",
    "date",
    "df",
    "dig",
    "docker",
    "free",
    "ftp",
    "gcloud",
    "gh",
    "git",
    "hg",
    "hostname",
    "http",
    "https",
    "jj",
    "kubectl",
    "lsof",
    "mail",
    "mktemp",
    "mongo",
    "mongosh",
    "mysql",
    "nc",
    "ncat",
    "netstat",
    "nix",
    "nmap",
    "nslookup",
    "pgrep",
    "ping",
    "podman",
    "ps",
    "psql",
    "redis-cli",
    "rsync",
    "scp",
    "service",
    "sftp",
    "shuf",
    "ss",
    "ssh",
    "svn",
    "systemctl",
    "telnet",
    "uptime",
    "uuidgen",
    "wget",
];
/// Pieces of text that lead out of the folder.
const OUTSIDE: &[&str] =
    &["~/", "$HOME", "${HOME", "$TMPDIR", "${TMPDIR", "$OLDPWD", "../", "/proc/", "/sys/", "/tmp"];
/// Devices that say nothing about the machine.
const DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero"];
/// How a step says that it uses no network.
const NONE: &[&str] = &["", "no", "none", "off", "false", "never"];

/// Why what the contract of a step says does not hang on the project's files alone, as far as its text tells; `None` when
/// nothing speaks for that.
pub fn beyond(step: &Step) -> Option<String> {
    let Contract::Shell { command, .. } = &step.contract else {
        return Some("there is no contract".to_owned());
    };
    let network = step.network.as_deref().unwrap_or_default().trim().to_lowercase();
    if !NONE.contains(&network.as_str()) {
        return Some("the step may use the network".to_owned());
    }
    [Some(command), step.setup.as_ref()].into_iter().flatten().find_map(|script| looks_out(script))
}

fn looks_out(script: &str) -> Option<String> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
    let mut words = script.split(|character| !is_word(character));
    if let Some(word) = words.find(|word| BEYOND.binary_search(word).is_ok()) {
        return Some(format!("it says `{word}`"));
    }
    if let Some(piece) = OUTSIDE.iter().find(|piece| script.contains(**piece)) {
        return Some(format!("it says `{piece}`"));
    }
    let paths = shell::analyse(script).paths;
    let outside =
        paths.into_iter().find(|used| used.path.starts_with('/') && !DEVICES.contains(&used.path.as_str()));
    outside.map(|used| format!("it looks at {}", used.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_in_order_for_the_search() {
        assert!(BEYOND.is_sorted());
    }
}
