//! Reports a proposed plan; shared by `propose`, `draft` and `revise`.

use planwright_engine::api::{BaselineResult, ProposalView, fail_count};

use crate::output::{Out, Tone, clean_line};

/// Says that a plan was proposed, and what its contracts say before the work.
pub(crate) fn print(proposed: &ProposalView, out: &mut Out<'_>) {
    out.warn_all(&proposed.complaints);
    let word = if proposed.is_known { "unchanged" } else { "proposed" };
    let word = out.palette().paint(Tone::Good, word);
    let on = proposed.on.as_ref().map(|base| format!(" on {base}")).unwrap_or_default();
    let digest = &proposed.digest[..8];
    out.line(&format!("{word}  {}  r{} {digest}{on}", clean_line(&proposed.plan), proposed.revision));
    if !proposed.red.is_empty() {
        let fails = proposed.red.iter().filter(|red| matches!(red.before, BaselineResult::Fails(_))).count();
        let all = proposed.red.len();
        let well = match (fails == all, all) {
            (true, 1) => ", as it should",
            (true, _) => ", as they should",
            (false, _) => "",
        };
        out.line(&format!("          red check: {}{well}", fail_count(fails, all)));
    }
    for red in proposed.red.iter().filter(|red| !matches!(red.before, BaselineResult::Fails(_))) {
        out.line(&format!("          {}  {}", clean_line(&red.step), clean_line(&red.before.meaning())));
    }
    if let Some(rule) = &proposed.approved_by_rule {
        let word = out.palette().paint(Tone::Good, "approved");
        out.line(&format!("{word}  by the rule `{}`", clean_line(rule)));
    }
}
