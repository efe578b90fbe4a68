//! What broke a contract that once passed, according to the record or to a bisection of the commits in
//! between.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Proof, RecordedWork, RerunHistory};

const NAMED_MAX: usize = 8;
const FILES_MAX: usize = 5;

/// Since when a contract that once passed fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "broke")]
pub enum Broke {
    At {
        #[serde(flatten)]
        suspect: Suspect,
        /// How that is known.
        known: KnownTree,
    },
    Commit {
        commit: String,
        subject: String,
        /// The attempt that made it, judging by the times.
        by: Option<Suspect>,
    },
    /// One of several attempts; the record can't tell which.
    Among {
        /// Those that changed files since, the earliest first.
        suspects: Vec<Suspect>,
    },
    /// Since the last commit, by no recorded attempt.
    Uncommitted,
    /// The content is the one that passed: the contract depends on something outside it, such as an ignored
    /// file.
    Outside,
    /// Since its receipt, with no recorded cause.
    Since,
}

impl Broke {
    /// In words that follow "step 2 ". `number` resolves a step of the same plan.
    pub fn sentence(&self, number: impl Fn(&str) -> Option<String>) -> String {
        let named = |suspect: &Suspect| match (&suspect.plan, number(&suspect.step)) {
            (Some(plan), _) => format!("step `{}` of {plan}", suspect.step),
            (None, Some(number)) => format!("step {number} `{}`", suspect.step),
            (None, None) => format!("step `{}`", suspect.step),
        };
        match self {
            Self::At { suspect, known } => {
                let files = suspect.files.join(", ");
                let why = match known {
                    KnownTree::NamedFile => format!("which changed {files}"),
                    KnownTree::OnlyChange => format!("the only change since: {files}"),
                };
                format!("broke at {}, {why}", named(suspect))
            }
            Self::Commit { commit, by: Some(by), .. } => {
                format!("broke at {}: passes before commit {} and fails after it", named(by), short(commit))
            }
            Self::Commit { commit, subject, by: None } => {
                format!("broke at commit {} \"{subject}\": passes before it and fails after it", short(commit))
            }
            Self::Among { suspects } => {
                let names: Vec<String> = suspects.iter().map(named).collect();
                format!("broke after its receipt, at one of: {}", names.join(", "))
            }
            Self::Uncommitted => "broke after the last commit, on which it passes".to_owned(),
            Self::Outside => {
                "fails on the same content that its receipt is for: it depends on something outside the checkout, \
                 such as an ignored file, the network or the clock"
                    .to_owned()
            }
            Self::Since => "broke after its receipt; no recorded cause".to_owned(),
        }
    }
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KnownTree {
    /// Only it changed a file that the contract names.
    NamedFile,
    /// Only it changed anything.
    OnlyChange,
}

/// An attempt that may have broken a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suspect {
    pub step: String,
    pub attempt: u32,
    /// Set if it is another plan.
    pub plan: Option<String>,
    /// Files that it changed, those named by the contract first.
    pub files: Vec<String>,
}

impl Suspect {
    pub fn of(work: &RecordedWork, named: &[String]) -> Self {
        let (mut files, others): (Vec<String>, Vec<String>) =
            work.changed.iter().cloned().partition(|file| is_named(file, named));
        files.extend(others);
        files.truncate(FILES_MAX);
        Self { step: work.step.clone(), attempt: work.attempt, plan: work.plan.clone(), files }
    }
}

/// What broke the contract of `proof`, according to the record. `named` are the files that the contract
/// names, `tree` is the content that it fails on.
pub fn suspect(history: &RerunHistory, proof: &Proof, named: &[String], tree: &str) -> Broke {
    if !tree.is_empty() && proof.tree == tree {
        return Broke::Outside;
    }
    // While receipts are for the content that passed, nothing was broken yet.
    let same = history.trees.iter().filter(|(.., tree)| !proof.tree.is_empty() && *tree == proof.tree);
    let intact = same.map(|(seq, ..)| *seq).max().unwrap_or(0);
    let is_later = |work: &&RecordedWork| {
        let is_own = work.plan.is_none() && work.step == proof.step;
        !is_own && work.is_after(proof) && (work.plan.is_some() || work.seq > intact)
    };
    let later: Vec<&RecordedWork> = history.work.iter().filter(is_later).collect();
    let touching: Vec<&RecordedWork> =
        later.iter().copied().filter(|work| work.changed.iter().any(|file| is_named(file, named))).collect();
    let suspects =
        |works: &[&RecordedWork]| works.iter().map(|work| Suspect::of(work, named)).take(NAMED_MAX).collect();
    match (touching.as_slice(), later.as_slice()) {
        ([only], _) => Broke::At { suspect: Suspect::of(only, named), known: KnownTree::NamedFile },
        ([], [only]) => Broke::At { suspect: Suspect::of(only, named), known: KnownTree::OnlyChange },
        ([], []) => Broke::Since,
        ([], several) | (several, _) => Broke::Among { suspects: suspects(several) },
    }
}

/// Bisects `count` items that are good first and bad later, and returns the index of the first bad one;
/// `count` if all are good. `None` if a test has no result.
pub fn first_bad(count: usize, mut is_bad: impl FnMut(usize) -> Option<bool>) -> Option<usize> {
    let (mut good, mut bad) = (0, count);
    while good < bad {
        let middle = usize::midpoint(good, bad);
        match is_bad(middle)? {
            true => bad = middle,
            false => good = middle + 1,
        }
    }
    Some(bad)
}

/// Whether a contract names this file or a directory above it.
fn is_named(file: &str, named: &[String]) -> bool {
    named.iter().any(|name| {
        let name = name.trim_start_matches("./").trim_end_matches('/');
        file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
