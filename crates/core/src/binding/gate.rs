//! The naming gate: what would lead a worker to the wrong plan again. Documents that speak of the plan as if there were one,
//! session-start scripts that are not what this program makes, words of the program that are gone. Looks at texts and never at files.

use std::fmt;

use super::told::{PROGRAM, Shell, WORDS, script};

/// The words that scripts resolve plans by. Without one of them they would have to guess.
pub const RESOLVERS: &[&str] = &["resolve-active-plan", "list-plans"];

/// What the gate looks at.
pub struct Evidence<'a> {
    /// The words that the program knows.
    pub words: &'a [String],
    /// The session-start script for each shell, if the project has it.
    pub scripts: &'a [(Shell, Option<String>)],
    /// Documents with their names.
    pub documents: &'a [(String, String)],
}

/// Something that the gate does not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    /// A document says that there is one plan, in this line (from 1).
    Singleton {
        /// The document.
        document: String,
        /// The line.
        line: usize,
        /// What it says.
        text: String,
    },
    /// The program has lost a word that scripts resolve plans by.
    NoResolver(&'static str),
    /// A script does not ask which plans there are.
    Unasked(Shell),
    /// A script is not what this program makes.
    Drift(Shell),
    /// A script is missing, and its twin is there.
    Missing(Shell),
}

impl Breach {
    /// The word for its kind.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Singleton { .. } => "singleton",
            Self::NoResolver(_) => "no-resolver",
            Self::Unasked(_) => "unasked",
            Self::Drift(_) => "drift",
            Self::Missing(_) => "missing",
        }
    }

    /// What helps.
    pub fn way_out(&self) -> String {
        match self {
            Self::Singleton { .. } => {
                "say that a plan is PLAN.md or PLAN-<name>.md, or which plan is meant".to_owned()
            }
            Self::NoResolver(_) => "use a planwright that has it".to_owned(),
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
                write!(f, "{document}:{line} speaks as if there were one plan: {text}")
            }
            Self::NoResolver(word) => write!(f, "this planwright does not know `{word}`"),
            Self::Unasked(shell) => write!(f, "{} does not ask `{PROGRAM} {WORDS}`", shell.file()),
            Self::Drift(shell) => write!(f, "{} is not what planwright makes", shell.file()),
            Self::Missing(shell) => write!(f, "{} is missing, and its twin is there", shell.file()),
        }
    }
}

/// Everything that must not be let through.
pub fn breaches(evidence: &Evidence<'_>) -> Vec<Breach> {
    let is_known = |word: &&&str| !evidence.words.iter().any(|known| known == **word);
    let mut breaches: Vec<Breach> =
        RESOLVERS.iter().filter(is_known).map(|word| Breach::NoResolver(word)).collect();
    let has_any = evidence.scripts.iter().any(|(_, text)| text.is_some());
    for (shell, text) in evidence.scripts {
        breaches.extend(match text {
            None => has_any.then_some(Breach::Missing(*shell)),
            Some(text) if !asks(text) => Some(Breach::Unasked(*shell)),
            Some(text) => (*text != script(*shell)).then_some(Breach::Drift(*shell)),
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

/// Whether a script asks which plans there are, in a line that is no comment.
fn asks(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    lines.into_iter().any(|line| line.contains("list-plans") || line.contains("resolve-active-plan"))
}

/// Lines of prose that say that there is one plan. What stands in a fence is an example.
fn assertions(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // What opened the fence that we are in; only as many of the same close it.
    let mut fence = "";
    text.lines().enumerate().filter_map(move |(index, line)| {
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
        asserts(line).then_some((index + 1, bare))
    })
}

/// Whether a line says that there is one plan. Narrow on purpose: a gate that cries at any mention of `PLAN.md` is turned off.
fn asserts(line: &str) -> bool {
    const MARKS: [char; 5] = ['`', '*', '_', '"', '“'];
    let plain: String = line.chars().filter(|sign| !MARKS.contains(sign)).collect();
    // Where the file lies makes no difference.
    let bare = |word: &str| word.rfind("/PLAN.md").map_or(word, |at| &word[at + 1..]).to_owned();
    let plain = plain.split_whitespace().map(bare).collect::<Vec<_>>().join(" ");
    // Whoever speaks of other plans in the same breath knows of them.
    let knows =
        ["PLAN-", "PLAN*", "named plan", "PLAN.archive", ".PLAN.md"].iter().any(|word| plain.contains(word));
    if knows || !plain.contains("PLAN.md") {
        return false;
    }
    let small = plain.to_lowercase();
    let before = ["the ", "always ", "only ", "plan is ", "plan lives in ", "plan is in ", "plan is at "];
    let is_before = before.iter().any(|words| {
        small
            .match_indices(&format!("{words}plan.md"))
            .any(|(at, _)| small[..at].chars().next_back().is_none_or(|sign| !sign.is_alphanumeric()))
    });
    is_before
        || ["plan.md's", "plan.md’s", "plan.md is the plan", "plan.md is always", "plan.md is the only"]
            .iter()
            .any(|words| small.contains(words))
}
