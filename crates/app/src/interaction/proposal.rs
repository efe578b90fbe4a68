//! Reports a proposed plan; shared by `propose`, `draft` and `revise`.

use std::path::Path;

use planwright_engine::Verified;
use planwright_engine::agent::submission::UNRUN;
use planwright_engine::approval;
use planwright_engine::approval::{Approvals, Authorship, Proposed};
use planwright_engine::core::plan::identity::{Identity, Role};
use planwright_engine::core::run::baseline::{Baseline, BaselineResult};
use planwright_engine::store::plan_file;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Out, Tone, clean_line};
use planwright_engine::api::shown;

/// One plan that was proposed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OneProposed {
    /// The plan.
    pub(crate) plan: String,
    /// Its file.
    pub(crate) path: String,
    /// The revision.
    pub(crate) revision: u32,
    /// Its digest.
    pub(crate) digest: String,
    /// The commit the work would start from.
    pub(crate) base: Option<String>,
    /// How many warnings the checker has.
    pub(crate) warnings: u32,
    /// What the contracts say before the work.
    pub(crate) red: Vec<Baseline>,
    /// Whether exactly this was proposed already.
    pub(crate) is_known: bool,
    /// The policy rule that approved it.
    pub(crate) approved_by_rule: Option<String>,
}

/// Proposes a plan. What a planner wrote is not run before anybody has read it: it had no tool that writes, and its contracts
/// would be one.
pub(crate) fn propose(
    decisions: &Approvals,
    (path, verified): (&Path, &Verified),
    by: &Identity,
) -> Result<Proposed, approval::Error> {
    match by.role {
        Role::Agent => decisions.propose_unrun(path, verified, (by, Authorship::Own), UNRUN),
        Role::Person | Role::Policy | Role::Age => decisions.propose(path, verified, by),
    }
}

/// Says that a plan was proposed, and what its contracts say before the work.
pub(crate) fn print(name: &str, proposed: &Proposed, out: &mut Out<'_>) {
    let revision = &proposed.revision;
    let word = if proposed.is_known { "unchanged" } else { "proposed" };
    let word = out.palette().paint(Tone::Good, word);
    let on = revision.subject.base.as_ref().map(|base| format!(" on {base}")).unwrap_or_default();
    let digest = &revision.subject.digest[..8];
    out.line(&format!("{word}  {}  r{} {digest}{on}", clean_line(name), revision.number));
    if !revision.red.is_empty() {
        let fails = revision.red.iter().filter(|red| matches!(red.before, BaselineResult::Fails(_))).count();
        let all = revision.red.len();
        let well = if fails == all { ", as they should" } else { "" };
        out.line(&format!("          red check: {fails} of {all} contracts fail before the work{well}"));
    }
    for red in revision.red.iter().filter(|red| !matches!(red.before, BaselineResult::Fails(_))) {
        out.line(&format!("          {}  {}", clean_line(&red.step), clean_line(&red.before.meaning())));
    }
    if let Some(rule) = &proposed.rule {
        let word = out.palette().paint(Tone::Good, "approved");
        out.line(&format!("{word}  by the rule `{}`", clean_line(rule)));
    }
}

/// The same as data.
pub(crate) fn data(path: &Path, proposed: Proposed) -> OneProposed {
    let revision = proposed.revision;
    OneProposed {
        plan: plan_file::name(path),
        path: shown(path),
        revision: revision.number,
        digest: revision.subject.digest,
        base: revision.subject.base.map(|base| base.commit),
        warnings: revision.warnings,
        red: revision.red,
        is_known: proposed.is_known,
        approved_by_rule: proposed.rule,
    }
}
