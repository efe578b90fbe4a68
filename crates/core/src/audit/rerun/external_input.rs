//! Whether a contract depends on more than the project's files. If so, their content doesn't determine its
//! result, and an earlier result can't be reused.

use crate::plan::verified::{Contract, Step};
use crate::syntax::shell;

/// Words that hint at the network, the clock, the machine or the repository's metadata. A mention is enough:
/// a false positive only costs an unnecessary run.
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
/// Text that leads out of the project directory.
const OUTSIDE: &[&str] =
    &["~/", "$HOME", "${HOME", "$TMPDIR", "${TMPDIR", "$OLDPWD", "../", "/proc/", "/sys/", "/tmp"];
/// Devices that reveal nothing about the machine.
const DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero"];
/// Values by which a step declares that it uses no network.
const NONE: &[&str] = &["", "no", "none", "off", "false", "never"];

/// Why the result of a step's contract may depend on more than the project's files, judging by its text;
/// `None` if nothing suggests it.
pub fn reads_outside(step: &Step) -> Option<String> {
    let Contract::Shell { command, .. } = &step.contract else {
        return Some("no contract".to_owned());
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
        return Some(format!("it uses `{word}`"));
    }
    if let Some(piece) = OUTSIDE.iter().find(|piece| script.contains(**piece)) {
        return Some(format!("it uses `{piece}`"));
    }
    let paths = shell::analyse(script).paths;
    let outside =
        paths.into_iter().find(|used| used.path.starts_with('/') && !DEVICES.contains(&used.path.as_str()));
    outside.map(|used| format!("it reads {}", used.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_in_order_for_the_search() {
        assert!(BEYOND.is_sorted());
    }
}
