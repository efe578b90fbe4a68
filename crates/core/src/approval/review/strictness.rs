//! How a step's contract changed: stricter, weaker, or just changed. A direction is only reported if the text
//! proves it; `same` and `stricter` must never be wrong, so every doubt gives `changed`.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::operand::{self, Operands};
use crate::plan::verified::{Contract, Step};
use crate::syntax::shell;
use crate::syntax::shell::{ExitOutcome, FileRequirement, Nature, RequirementPlace, Single};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Byte for byte the same, and judged in the same way.
    Same,
    /// Whatever passes now would have passed before.
    Stricter,
    /// Whatever passed before passes now.
    Weaker,
    /// Different, with no proof of a direction.
    Changed,
    New,
    Gone,
}

impl Direction {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Stricter => "stricter",
            Self::Weaker => "weaker",
            Self::Changed => "changed",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictnessFinding {
    pub direction: Direction,
    /// Each is one difference, in prose.
    pub because: Vec<String>,
}

/// The effect of one difference on a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Stricter,
    Weaker,
    /// It passes exactly when it did.
    Neutral,
    Unproven,
}

impl Move {
    const fn reversed(self) -> Self {
        match self {
            Self::Stricter => Self::Weaker,
            Self::Weaker => Self::Stricter,
            Self::Neutral => Self::Neutral,
            Self::Unproven => Self::Unproven,
        }
    }
}

type Proofs = Vec<(Move, String)>;

/// Compares how a step is judged with how it was judged before: the command, the expected exit code, the time
/// limit, and its environment.
pub fn compare(old: &Step, new: &Step) -> StrictnessFinding {
    let mut proofs = Proofs::new();
    match (&old.contract, &new.contract) {
        (Contract::Manual, Contract::Manual) => {}
        (Contract::Manual, Contract::Shell { .. }) => {
            proofs.push((Move::Unproven, "a command decides instead of a person".to_owned()));
        }
        (Contract::Shell { .. }, Contract::Manual) => {
            proofs.push((Move::Unproven, "a person decides instead of a command".to_owned()));
        }
        (Contract::Shell { command: was, expect: expected }, Contract::Shell { command, expect }) => {
            if expected != expect {
                proofs.push((Move::Unproven, format!("expects exit {expect} instead of {expected}")));
            }
            proofs.extend(commands((was, *expected), (command, *expect)));
        }
    }
    proofs.extend(terms(old, new));
    combine(proofs)
}

/// Compares two commands that both must exit with `expect`.
pub fn compare_commands(old: &str, new: &str, expect: u8) -> StrictnessFinding {
    combine(commands((old, expect), (new, expect)))
}

fn combine(proofs: Proofs) -> StrictnessFinding {
    let has = |wanted: Move| proofs.iter().any(|(found, _)| *found == wanted);
    let direction = match (has(Move::Unproven), has(Move::Stricter), has(Move::Weaker)) {
        _ if proofs.is_empty() => Direction::Same,
        (false, true, false) => Direction::Stricter,
        (false, false, true) => Direction::Weaker,
        (true, _, _) | (false, true, true) | (false, false, false) => Direction::Changed,
    };
    StrictnessFinding {
        direction,
        because: proofs.into_iter().map(|(_, why)| why).filter(|why| !why.is_empty()).collect(),
    }
}

/// The conditions of a contract, besides its command.
fn terms(old: &Step, new: &Step) -> Proofs {
    let mut proofs = Proofs::new();
    // The default limit depends on where it runs.
    match (old.contract_timeout_seconds, new.contract_timeout_seconds) {
        (Some(old), Some(new)) if old != new => {
            let moved = if new > old { Move::Weaker } else { Move::Stricter };
            proofs.push((moved, format!("timeout {new} s instead of {old} s")));
        }
        (None, Some(new)) => {
            proofs.push((Move::Unproven, format!("timeout {new} s instead of the default")));
        }
        (Some(old), None) => {
            proofs.push((Move::Unproven, format!("default timeout instead of {old} s")));
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
    proofs.extend(seals(&old.sealed, &new.sealed));
    let others = [
        (old.env == new.env, "its environment"),
        (old.setup == new.setup, "its setup command"),
        (old.network == new.network, "its network access"),
    ];
    let differing = others.into_iter().filter(|(is_same, _)| !is_same);
    proofs.extend(differing.map(|(_, what)| (Move::Unproven, format!("{what} differs"))));
    proofs
}

/// A sealed file is one more requirement.
fn seals(old: &[String], new: &[String]) -> Proofs {
    let without = |some: &[String], others: &[String]| -> Vec<String> {
        some.iter().filter(|glob| !others.contains(glob)).cloned().collect()
    };
    let come = without(new, old).into_iter().map(|glob| (Move::Stricter, format!("`{glob}` is now sealed")));
    let gone =
        without(old, new).into_iter().map(|glob| (Move::Weaker, format!("`{glob}` is no longer sealed")));
    come.chain(gone).collect()
}

fn commands((old, expected): (&str, u8), (new, expect): (&str, u8)) -> Proofs {
    if old == new {
        return Proofs::new();
    }
    let unproven = || vec![(Move::Unproven, String::new())];
    if expected != expect {
        return unproven();
    }
    let always = |script: &str| matches!(shell::analyse(script).outcome, ExitOutcome::Fixed { code, .. } if code == expect);
    match (always(old), always(new)) {
        (false, true) => return vec![(Move::Weaker, "always passes now".to_owned())],
        (true, false) => return vec![(Move::Stricter, "always passed before".to_owned())],
        (true, true) => return unproven(),
        (false, false) => {}
    }
    // `a && b` exits with 1 if either does: more commands make a failure more likely, not less.
    let proofs = if expect == 0 { edits(old, new) } else { None };
    match proofs {
        Some(proofs) if proofs.is_empty() => vec![(Move::Neutral, String::new())],
        Some(proofs) => proofs,
        None => unproven(),
    }
}

/// The differences between two scripts as a sequence of proven edits; `None` if one can't be proven.
fn edits(old: &str, new: &str) -> Option<Proofs> {
    let (old, new) = (shell::demands(old)?, shell::demands(new)?);
    let mut proofs = Proofs::new();
    let old_singles = laid_open(&old, &new, &mut |moved, what| {
        proofs.push((moved.reversed(), format!("`{what}` no longer ignores a failure")));
    });
    let new_singles = laid_open(&new, &old, &mut |moved, what| {
        let effect = if moved == Move::Neutral { "only reports the failure" } else { "ignores a failure" };
        proofs.push((moved, format!("`{what}` {effect}")));
    });
    if old_singles.iter().chain(&new_singles).any(|single| single.nature == Nature::Steers) {
        return None;
    }
    proofs.extend(loosened(&old_singles, &new_singles)?);
    let kept = |singles: Vec<Single>| -> Vec<Single> {
        let counts = |single: &Single| !matches!(single.nature, Nature::Tightens | Nature::Loosens);
        singles.into_iter().filter(counts).collect()
    };
    let (old, new) = (kept(old_singles), kept(new_singles));
    let keys = |singles: &[Single]| singles.iter().map(key).collect::<Vec<_>>();
    for op in capture_diff_slices(Algorithm::Myers, &keys(&old), &keys(&new)) {
        match op {
            DiffOp::Equal { .. } => {}
            DiffOp::Insert { old_index, new_index, new_len } => {
                for single in &new[new_index..new_index + new_len] {
                    let moved = added(single, Tail::at(old_index, &old))?;
                    proofs.push((moved, format!("`{}` is also required", single.text)));
                }
            }
            DiffOp::Delete { old_index, old_len, new_index } => {
                for single in &old[old_index..old_index + old_len] {
                    let moved = added(single, Tail::at(new_index, &new))?;
                    proofs.push((moved.reversed(), format!("`{}` is no longer required", single.text)));
                }
            }
            DiffOp::Replace { old_index, old_len: 1, new_index, new_len: 1 } => {
                let tails = (Tail::at(old_index + 1, &old), Tail::at(new_index + 1, &new));
                proofs.push(replaced(&old[old_index], &new[new_index], tails)?);
            }
            DiffOp::Replace { .. } => return None,
        }
    }
    Some(proofs)
}

/// Whether more commands of both scripts follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    End,
    /// Commands that might observe earlier effects.
    More,
}

impl Tail {
    fn at(index: usize, singles: &[Single]) -> Self {
        if index >= singles.len() { Self::End } else { Self::More }
    }
}

/// What two commands must share to be the same. What a compound command's failure means depends on its place.
fn key(single: &Single) -> (String, Option<RequirementPlace>) {
    let place = match single.nature {
        Nature::Whole => Some(single.place),
        Nature::Looks | Nature::Acts | Nature::Tightens | Nature::Loosens | Nature::Steers => None,
    };
    (single.text.clone(), place)
}

/// The commands of a script, without a `||` that ignores their failure, unless the other script has the same.
fn laid_open(
    demands: &[FileRequirement],
    other: &[FileRequirement],
    found: &mut dyn FnMut(Move, String),
) -> Vec<Single> {
    let mut singles = Vec::new();
    for demand in demands {
        match demand {
            FileRequirement::One(single) => singles.push(single.clone()),
            FileRequirement::Forgiven { text, place, .. } if other.contains(demand) => {
                singles.push(Single {
                    text: text.clone(),
                    nature: Nature::Whole,
                    place: *place,
                    words: vec![],
                });
            }
            FileRequirement::Forgiven { stem, instead, .. } => {
                // Before `||`, a compound command continues where it would have ended: then even `|| exit 1`
                // ignores failures.
                let is_plain = stem.iter().all(|single| single.nature != Nature::Whole);
                let fails = |text: &String| matches!(shell::analyse(text).outcome, ExitOutcome::Fixed { code, .. } if code != 0);
                let moved = if is_plain && instead.iter().all(fails) { Move::Neutral } else { Move::Weaker };
                found(moved, format!("|| {}", instead.join(" || ")));
                singles.extend(stem.iter().cloned());
            }
        }
    }
    singles
}

/// The effect if one script ignores failures and the other doesn't. `None` if both do, since then nothing in
/// them is required, and if it can't be determined.
fn loosened(old: &[Single], new: &[Single]) -> Option<Proofs> {
    let loose = |singles: &[Single]| {
        let at = singles.iter().position(|single| single.nature == Nature::Loosens)?;
        Some((singles[at].text.clone(), singles.len() - at - 1))
    };
    // A script that inspects its own options observes the difference.
    let asks = |single: &Single| single.text.split_whitespace().any(|word| word == "-o");
    let is_blind = || !old.iter().chain(new).any(|single| single.nature != Nature::Loosens && asks(single));
    let (moved, text, followers) = match (loose(old), loose(new)) {
        (None, None) => return Some(Vec::new()),
        (Some(_), Some(_)) => return None,
        (None, Some((text, followers))) => (Move::Weaker, text, followers),
        (Some((text, followers)), None) => (Move::Stricter, text, followers),
    };
    let word = if moved == Move::Weaker { "ignores" } else { "no longer ignores" };
    // The failure of the last command is the script's in any case.
    (is_blind() && followers > 1).then(|| vec![(moved, format!("`{text}` {word} failures"))])
}

/// The effect of one more command: at the end, or before something that might observe what it did.
fn added(single: &Single, tail: Tail) -> Option<Move> {
    let can_fail = match shell::analyse(&single.text).outcome {
        ExitOutcome::Fixed { code, .. } => code != 0,
        ExitOutcome::Masked { .. } => false,
        ExitOutcome::Open => true,
    };
    match single.nature {
        Nature::Looks if can_fail => Some(Move::Stricter),
        Nature::Looks => Some(Move::Neutral),
        Nature::Acts | Nature::Whole if tail == Tail::End => {
            Some(if can_fail { Move::Stricter } else { Move::Neutral })
        }
        Nature::Acts | Nature::Whole | Nature::Steers | Nature::Tightens | Nature::Loosens => None,
    }
}

/// The same program with more or fewer operands.
fn replaced(old: &Single, new: &Single, tails: (Tail, Tail)) -> Option<(Move, String)> {
    let looks = old.nature == Nature::Looks && new.nature == Nature::Looks;
    // What follows might observe the other effects.
    let is_unseen = looks || tails == (Tail::End, Tail::End);
    match operand::compare(&old.words, &new.words)? {
        Operands::FewerTests(why) => Some((Move::Weaker, why)),
        Operands::AskLess(why) => is_unseen.then_some((Move::Weaker, why)),
        Operands::AskMore(why) => is_unseen.then_some((Move::Stricter, why)),
    }
}
