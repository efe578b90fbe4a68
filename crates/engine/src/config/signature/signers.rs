//! Whose keys count: a file in `allowed_signers` format (see `ssh-keygen(1)`). One unreadable line makes the
//! whole file invalid: a skipped line might be the one that revokes a key.

use std::path::{Path, PathBuf};

use super::key::PublicKey;
use super::ssh_wire::decoded;
use super::{Error, NAMESPACE, VerifyError};
use crate::config::ConfigFault;

const LINES_MAX: usize = 10_000;

#[derive(Debug, Clone)]
pub struct Signers {
    pub path: PathBuf,
    pub text: String,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// Their principals in the list: one entry per line with their key.
    pub principals: Vec<String>,
    /// As `ssh-keygen -l` prints it.
    pub fingerprint: String,
}

#[derive(Debug, Clone)]
struct Line {
    principals: String,
    key: PublicKey,
    namespaces: Option<String>,
    after: Option<u64>,
    before: Option<u64>,
}

impl Signer {
    /// Whether the list has the key for somebody.
    pub fn speaks_for(&self, principal: &str) -> bool {
        self.principals.iter().any(|list| is_listed(list, principal))
    }
}

impl Signers {
    /// Parses a list. Reports every fault in one pass.
    pub fn read(path: &Path, text: String) -> Result<Self, Vec<ConfigFault>> {
        let (mut lines, mut faults) = (Vec::new(), Vec::new());
        for (place, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match read_line(line) {
                Ok(_) if lines.len() == LINES_MAX => {
                    faults.push(fault(place, format!("more than {LINES_MAX} keys")));
                    break;
                }
                Ok(line) => lines.push(line),
                Err(message) => faults.push(fault(place, message)),
            }
        }
        if faults.is_empty() { Ok(Self { path: path.to_owned(), text, lines }) } else { Err(faults) }
    }

    pub const fn len(&self) -> usize {
        self.lines.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The owner of a key at a time.
    pub(super) fn find(&self, key: &PublicKey, at_ms: u64) -> Result<Signer, Error> {
        let (fingerprint, list) = (key.fingerprint(), self.path.clone());
        let theirs: Vec<&Line> = self.lines.iter().filter(|line| line.key == *key).collect();
        if theirs.is_empty() {
            return Err(Error::Foreign { fingerprint, list });
        }
        let is_ours =
            |line: &&&Line| line.namespaces.as_ref().is_none_or(|listed| is_listed(listed, NAMESPACE));
        let ours: Vec<&&Line> = theirs.iter().filter(is_ours).collect();
        let Some(first) = ours.first() else { return Err(Error::Barred { fingerprint, list }) };
        let valid: Vec<String> = ours
            .iter()
            .filter(|line| line.untimely(at_ms).is_none())
            .map(|line| line.principals.clone())
            .collect();
        match (valid.is_empty(), first.untimely(at_ms)) {
            (true, why) => Err(Error::Expired { fingerprint, list, why: why.unwrap_or_default() }),
            (false, _) => Ok(Signer { principals: valid, fingerprint }),
        }
    }
}

impl Line {
    /// Why the line is not valid at a time.
    fn untimely(&self, at_ms: u64) -> Option<String> {
        let at = at_ms / 1000;
        let early = self.after.filter(|&after| at < after);
        let late = self.before.filter(|&before| at > before);
        let shown = |seconds: u64| crate::system::clock::utc(seconds.saturating_mul(1000));
        early
            .map(|after| format!("valid from {}", shown(after)))
            .or_else(|| late.map(|before| format!("valid until {}", shown(before))))
    }
}

fn fault(place: usize, message: String) -> ConfigFault {
    ConfigFault { line: Some(place + 1), message, key: None }
}

/// Principals, optional options, key type, key, and an optional comment.
fn read_line(line: &str) -> Result<Line, String> {
    let (principals, rest) = word(line);
    let principals = principals.trim_matches('"').to_owned();
    if principals.is_empty() || principals.contains('"') {
        return Err("missing principals at the start of the line".to_owned());
    }
    let (mut kind, mut rest) = word(rest);
    let mut read = Options::default();
    if kind.is_empty() {
        return Err("missing key".to_owned());
    }
    if !is_kind(kind) {
        read = options(kind)?;
        (kind, rest) = word(rest);
    }
    let (text, _) = word(rest);
    let blob = decoded(text).filter(|blob| !blob.is_empty()).ok_or("missing key")?;
    let key = PublicKey::parse(&blob).map_err(|doubt| match doubt {
        VerifyError::Kind(kind) => format!("unsupported key type `{kind}`"),
        VerifyError::Malformed | VerifyError::Wrong | VerifyError::Untouched => "invalid key".to_owned(),
    })?;
    if key.name() != kind {
        return Err(format!("the line names key type `{kind}`, but the key is `{}`", key.name()));
    }
    Ok(Line { principals, key, namespaces: read.namespaces, after: read.after, before: read.before })
}

fn is_kind(word: &str) -> bool {
    ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"].iter().any(|begin| word.starts_with(begin))
}

/// The first word, where quotes group, and the rest.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let mut is_quoted = false;
    let end = text.find(|sign: char| {
        is_quoted ^= sign == '"';
        !is_quoted && sign.is_ascii_whitespace()
    });
    text.split_at(end.unwrap_or(text.len()))
}

#[derive(Default)]
struct Options {
    namespaces: Option<String>,
    after: Option<u64>,
    before: Option<u64>,
}

fn options(text: &str) -> Result<Options, String> {
    let mut read = Options::default();
    let mut is_quoted = false;
    for option in text.split(|sign: char| {
        is_quoted ^= sign == '"';
        !is_quoted && sign == ','
    }) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = value.trim_matches('"');
        let twice = || format!("duplicate option `{name}`");
        match name.to_ascii_lowercase().as_str() {
            "cert-authority" => {
                return Err(
                    "certificates are not supported: list the key of every signer, without `cert-authority`"
                        .to_owned(),
                );
            }
            "namespaces" if read.namespaces.is_some() => return Err(twice()),
            "namespaces" if value.is_empty() => return Err("`namespaces` is empty".to_owned()),
            "namespaces" => read.namespaces = Some(value.to_owned()),
            "valid-after" if read.after.is_some() => return Err(twice()),
            "valid-after" => read.after = Some(time(name, value)?),
            "valid-before" if read.before.is_some() => return Err(twice()),
            "valid-before" => read.before = Some(time(name, value)?),
            _ => return Err(format!("`{option}` is neither an option nor a key type")),
        }
    }
    Ok(read)
}

/// A time as `ssh-keygen` reads it: `YYYYMMDDZ`, `YYYYMMDDHHMMZ` or `YYYYMMDDHHMMSSZ`; in seconds since 1970.
fn time(name: &str, text: &str) -> Result<u64, String> {
    let wrong = || format!("invalid time `{name}={text}`; use 20270131Z or 202701311430Z");
    let digits = text.strip_suffix(['Z', 'z']).ok_or_else(|| {
        match text.bytes().all(|byte| byte.is_ascii_digit()) {
            // The same record must mean the same wherever it is verified.
            true => format!("`{name}={text}` depends on the local time zone; append Z for UTC"),
            false => wrong(),
        }
    })?;
    let is_time = matches!(digits.len(), 8 | 12 | 14) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_time {
        return Err(wrong());
    }
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or("00");
    let (year, month, day) = (part(0, 4), part(4, 6), part(6, 8));
    let written = format!("{year}-{month}-{day}T{}:{}:{}Z", part(8, 10), part(10, 12), part(12, 14));
    let at_ms =
        crate::system::clock::read(&written, 0).filter(|&at_ms| crate::system::clock::utc(at_ms) == written);
    at_ms.map(|at_ms| at_ms / 1000).ok_or_else(wrong)
}

/// Whether a pattern list contains a name: a pattern matches, and none with a leading `!` does.
fn is_listed(list: &str, name: &str) -> bool {
    let fits = |pattern: &str| is_like(pattern.as_bytes(), name.as_bytes());
    let mut patterns = list.split(',').map(str::trim);
    let is_barred = patterns.clone().filter_map(|pattern| pattern.strip_prefix('!')).any(fits);
    !is_barred && patterns.any(|pattern| !pattern.starts_with('!') && fits(pattern))
}

/// `*` is anything, `?` is one character.
fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                last = Some((at, place));
                at += 1;
            }
            Some(&sign) if sign == b'?' || sign == name[place] => (at, place) = (at + 1, place + 1),
            Some(_) | None => match last {
                Some((star, from)) => {
                    last = Some((star, from + 1));
                    (at, place) = (star + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&sign| sign == b'*')
}

#[cfg(test)]
mod tests;
