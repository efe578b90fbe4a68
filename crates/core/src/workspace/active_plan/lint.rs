//! The naming gate: finds what would lead a worker to the wrong plan again. Reports documents that assume a
//! single plan, session-start scripts that planwright did not generate, and missing resolver commands. Checks
//! texts and never reads files.

use std::fmt;

use super::session_text::{PROGRAM, ShellKind, WORDS, script};

/// The commands that scripts resolve plans with. Without them, scripts would have to guess.
pub const RESOLVERS: &[&str] = &["resolve-active-plan", "list-plans"];

pub struct LintEvidence<'a> {
    /// The commands that this program has.
    pub words: &'a [String],
    pub scripts: &'a [(ShellKind, LintScript)],
    /// Texts by name.
    pub documents: &'a [(String, String)],
}

/// What was found in place of a session-start script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LintScript {
    Missing,
    /// Not readable as text.
    Unreadable,
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    /// A document assumes a single plan, in this line (from 1).
    Singleton { document: String, line: usize, text: String },
    /// The program lacks a command that scripts resolve plans with.
    NoResolver(&'static str),
    /// A script doesn't ask which plans exist.
    Unasked(ShellKind),
    /// A script differs from the generated one.
    Drift(ShellKind),
    /// A script is missing, but the other shell's is there.
    Missing(ShellKind),
}

impl Breach {
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Singleton { .. } => "singleton",
            Self::NoResolver(_) => "no-resolver",
            Self::Unasked(_) => "unasked",
            Self::Drift(_) => "drift",
            Self::Missing(_) => "missing",
        }
    }

    pub fn way_out(&self) -> String {
        match self {
            Self::Singleton { .. } => {
                "write that a plan is PLAN.md or PLAN-<name>.md, or name the plan".to_owned()
            }
            Self::NoResolver(_) => "install a version of planwright that has it".to_owned(),
            Self::Unasked(shell) | Self::Drift(shell) | Self::Missing(shell) => {
                format!("{PROGRAM} prompt session-start --shell {} >{}", shell.word(), shell.file())
            }
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Singleton { document, line, text } => {
                write!(f, "{document}:{line} assumes a single plan: {text}")
            }
            Self::NoResolver(word) => write!(f, "this planwright has no command `{word}`"),
            Self::Unasked(shell) => write!(f, "{} does not run `{PROGRAM} {WORDS}`", shell.file()),
            Self::Drift(shell) => write!(f, "{} is not the script that planwright generates", shell.file()),
            Self::Missing(shell) => {
                write!(f, "{} is missing, but the script for the other shell exists", shell.file())
            }
        }
    }
}

pub fn breaches(evidence: &LintEvidence<'_>) -> Vec<Breach> {
    let is_known = |word: &&&str| !evidence.words.iter().any(|known| known == **word);
    let mut breaches: Vec<Breach> =
        RESOLVERS.iter().filter(is_known).map(|word| Breach::NoResolver(word)).collect();
    let has_any = evidence.scripts.iter().any(|(_, found)| *found != LintScript::Missing);
    for (shell, found) in evidence.scripts {
        breaches.extend(match found {
            LintScript::Missing => has_any.then_some(Breach::Missing(*shell)),
            LintScript::Unreadable => Some(Breach::Drift(*shell)),
            LintScript::Text(text) if !asks(text) => Some(Breach::Unasked(*shell)),
            LintScript::Text(text) => (*text != script(*shell)).then_some(Breach::Drift(*shell)),
        });
    }
    for (document, text) in evidence.documents {
        breaches.extend(assertions(text).map(|(line, text)| Breach::Singleton {
            document: document.clone(),
            line,
            text: text.to_owned(),
        }));
    }
    breaches
}

/// Whether a script asks which plans exist, outside of comments.
fn asks(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    lines.into_iter().any(|line| line.contains("list-plans") || line.contains("resolve-active-plan"))
}

/// Lines of prose that assume a single plan. Fenced blocks are examples and don't count.
fn assertions(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // The opening marks of the current fence; only as many of the same marks close it.
    let mut fence = "";
    // The previous line, if a sentence may continue from it.
    let mut before = "";
    text.lines().enumerate().filter_map(move |(index, line)| {
        let last = std::mem::take(&mut before);
        let (start, bare) = (line.trim_start(), line.trim());
        let sign = if start.starts_with('~') { '~' } else { '`' };
        let marks = &start[..start.len() - start.trim_start_matches(sign).len()];
        let (is_open, is_fence) = (!fence.is_empty(), marks.len() >= 3);
        if is_open {
            fence = if is_fence && bare == marks && marks.starts_with(fence) { "" } else { fence };
            return None;
        }
        if is_fence {
            fence = marks;
            return None;
        }
        before = if is_flowing(bare) { bare } else { "" };
        let goes_on = || is_flowing(bare) && !asserts(last) && asserts(&format!("{last} {bare}"));
        (asserts(line) || !last.is_empty() && goes_on()).then_some((index + 1, bare))
    })
}

/// Whether a line may be part of a longer sentence.
fn is_flowing(bare: &str) -> bool {
    !bare.is_empty() && !bare.starts_with(['#', '|'])
}

/// Words before `PLAN.md` that make it the only plan.
const BEFORE: &[&str] = &[
    "the ",
    "always ",
    "only ",
    "singleton ",
    "the project ",
    "the project's ",
    "the project’s ",
    "the single ",
    "the one ",
    "plan is ",
    "plan lives in ",
    "plan is in ",
    "plan is at ",
];

/// Words next to `PLAN.md` that make it the only plan.
const BESIDE: &[&str] = &[
    "plan.md's",
    "plan.md’s",
    "plan.md is the plan",
    "plan.md is always",
    "plan.md is the only",
    "exactly one plan",
    "only one plan",
    "one plan per project",
    "one plan per repository",
];

/// Whether a line assumes a single plan. Narrow on purpose: people turn off a check that reports every
/// mention of `PLAN.md`.
fn asserts(line: &str) -> bool {
    if !line.contains("PLAN.md") {
        return false;
    }
    // The directory makes no difference.
    let bare = |word: &str| word.rfind("/PLAN.md").map_or(word, |at| &word[at + 1..]).to_owned();
    let plain = unmarked(line).split_whitespace().map(bare).collect::<Vec<_>>().join(" ");
    // A line that mentions other plans doesn't assume a single one.
    let knows =
        ["PLAN-", "PLAN*", "named plan", "PLAN.archive", ".PLAN.md"].iter().any(|word| plain.contains(word));
    if knows || !plain.contains("PLAN.md") {
        return false;
    }
    let small = plain.to_lowercase();
    let is_before = BEFORE.iter().any(|words| {
        small
            .match_indices(&format!("{words}plan.md"))
            .any(|(at, _)| small[..at].chars().next_back().is_none_or(|sign| !sign.is_alphanumeric()))
    });
    is_before || BESIDE.iter().any(|words| small.contains(words))
}

/// A line without markup: emphasis, tags and link targets.
fn unmarked(line: &str) -> String {
    const MARKS: [char; 6] = ['`', '*', '_', '"', '“', '['];
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(sign) = rest.chars().next() {
        let tag = rest.strip_prefix("</").or_else(|| rest.strip_prefix('<'));
        let tag = tag.filter(|tag| tag.starts_with(|first: char| first.is_ascii_alphabetic()));
        let hidden = match (tag, rest.strip_prefix("](")) {
            (Some(tag), _) => tag.split_once('>'),
            (None, Some(link)) => link.split_once(')'),
            (None, None) => None,
        };
        rest = match hidden {
            Some((_, behind)) => behind,
            None => &rest[sign.len_utf8()..],
        };
        if hidden.is_none() && !MARKS.contains(&sign) {
            plain.push(sign);
        }
    }
    plain
}
