//! Who broke a contract that passed once: told from what is recorded, or by looking at the contents in between.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{History, Proof, Work};

/// The most suspects that are named.
const NAMED_MAX: usize = 8;
/// The most files of a suspect that are named.
const FILES_MAX: usize = 5;

/// Since when a contract fails that passed once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "broke")]
pub enum Broke {
    At {
        #[serde(flatten)]
        suspect: Suspect,
        /// How that is known.
        known: Known,
    },
    Commit {
        commit: String,
        subject: String,
        /// The attempt that made it, as far as the times tell.
        by: Option<Suspect>,
    },
    /// Since one of these; which one can't be told.
    Among {
        /// Those that changed files meanwhile, the earliest first.
        suspects: Vec<Suspect>,
    },
    /// Since the last commit, by nobody who is recorded.
    Uncommitted,
    /// The content is the one that passed: the contract hangs on something that is no part of it, like an ignored file.
    Outside,
    /// Since its receipt; nothing is recorded that could have done it.
    Since,
}

impl Broke {
    /// What is known, in words that go on after "step 2 ". `number` is the number of a step of the same plan.
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
                    Known::NamedFile => format!("which changed {files}"),
                    Known::OnlyChange => format!("the only one that changed anything since: {files}"),
                };
                format!("broke at {}, {why}", named(suspect))
            }
            Self::Commit { commit, by: Some(by), .. } => {
                format!("broke at {}: it passes before commit {} and fails after it", named(by), short(commit))
            }
            Self::Commit { commit, subject, by: None } => {
                format!("broke at commit {} \"{subject}\": it passes before that and fails after it", short(commit))
            }
            Self::Among { suspects } => {
                let names: Vec<String> = suspects.iter().map(named).collect();
                format!("broke since its receipt, at one of these: {}", names.join(", "))
            }
            Self::Uncommitted => "broke since the last commit, which it passes on".to_owned(),
            Self::Outside => {
                "fails on the very content that its receipt is about: it hangs on something that is no part of the checkout, \
                 like an ignored file, the network or the clock"
                    .to_owned()
            }
            Self::Since => "broke since its receipt; nothing is recorded that could have done it".to_owned(),
        }
    }
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// How it is known who broke a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// It alone changed a file that the contract names.
    NamedFile,
    /// It alone changed anything.
    OnlyChange,
}

/// An attempt that may have broken a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suspect {
    pub step: String,
    pub attempt: u32,
    /// The plan, where it is another one.
    pub plan: Option<String>,
    /// Files that it changed, those first that the contract names.
    pub files: Vec<String>,
}

impl Suspect {
    /// An attempt, before a contract that names these files.
    pub fn of(work: &Work, named: &[String]) -> Self {
        let (mut files, others): (Vec<String>, Vec<String>) =
            work.changed.iter().cloned().partition(|file| is_named(file, named));
        files.extend(others);
        files.truncate(FILES_MAX);
        Self { step: work.step.clone(), attempt: work.attempt, plan: work.plan.clone(), files }
    }
}

/// Who broke the contract of `proof`, as far as what is recorded tells. `named` are the files that the contract names,
/// `tree` is the content that it fails on.
pub fn suspect(history: &History, proof: &Proof, named: &[String], tree: &str) -> Broke {
    if !tree.is_empty() && proof.tree == tree {
        return Broke::Outside;
    }
    // As long as receipts are about the content that passed, nothing was broken yet.
    let same = history.trees.iter().filter(|(.., tree)| !proof.tree.is_empty() && *tree == proof.tree);
    let intact = same.map(|(seq, ..)| *seq).max().unwrap_or(0);
    let is_later = |work: &&Work| {
        let is_own = work.plan.is_none() && work.step == proof.step;
        !is_own && work.is_after(proof) && (work.plan.is_some() || work.seq > intact)
    };
    let later: Vec<&Work> = history.work.iter().filter(is_later).collect();
    let touching: Vec<&Work> =
        later.iter().copied().filter(|work| work.changed.iter().any(|file| is_named(file, named))).collect();
    let suspects =
        |works: &[&Work]| works.iter().map(|work| Suspect::of(work, named)).take(NAMED_MAX).collect();
    match (touching.as_slice(), later.as_slice()) {
        ([only], _) => Broke::At { suspect: Suspect::of(only, named), known: Known::NamedFile },
        ([], [only]) => Broke::At { suspect: Suspect::of(only, named), known: Known::OnlyChange },
        ([], []) => Broke::Since,
        ([], several) | (several, _) => Broke::Among { suspects: suspects(several) },
    }
}

/// The place of the first bad one of `count` things that are good at first and bad at last, by as few questions as possible.
/// All of them may be good: then it is `count`. `None` when a question has no answer.
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

/// Whether a file is one of those that a contract names, or lies in a folder that it names.
fn is_named(file: &str, named: &[String]) -> bool {
    named.iter().any(|name| {
        let name = name.trim_start_matches("./").trim_end_matches('/');
        file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
