//! Replays a record: folds the runs with the same table, judges every verdict with the same judge, and checks
//! every text against the approved digest.

use super::{AuditCheck, Found, Kind};
use crate::approval::status::{ApprovalStatus, RecordedEntry};
use crate::audit::bundle::{AuditBundle, Need, RunBook};
use crate::dialect;
use crate::plan::digest::Digest;
use crate::plan::verified::{Plan, Step};
use crate::run::event::{Judged, RecordedVerdict};
use crate::run::receipt::Receipt;
use crate::run::state::RunState;
use crate::syntax::source::Source;
use crate::verify;

/// A run, as far as its record could be replayed.
pub(super) struct Folded {
    /// The approved plan; `None` if its text doesn't match the approved digest.
    pub(super) plan: Option<Plan>,
    pub(super) state: Option<RunState>,
}

pub(super) fn fold(bundle: &AuditBundle, found: &mut Found<'_>) -> Vec<Folded> {
    let ledger: Vec<RecordedEntry> = said(bundle);
    if let Err((seq, unfit)) = ApprovalStatus::of(&ledger) {
        found.find(Kind::IllegalEntry, format!("entry {seq} of the ledger"), unfit.to_string());
    }
    proposed_texts(bundle, found);
    bundle.runs.iter().map(|run| fold_run(&bundle.plan, run, found)).collect()
}

/// The readable part of the ledger.
pub(super) fn said(bundle: &AuditBundle) -> Vec<RecordedEntry> {
    bundle.entries().map(|(link, entry)| RecordedEntry { seq: link.seq, at_ms: link.at_ms, entry }).collect()
}

fn fold_run(path: &str, run: &RunBook, found: &mut Found<'_>) -> Folded {
    let number = run.book.number;
    let Some(plan) = plan_of((&run.name, path), (&run.text, &run.dialect), &run.digest) else {
        let text = format!("the stored text does not match digest {}", short(&run.digest));
        found.find(Kind::OtherPlan, format!("run {number}"), text);
        return Folded { plan: None, state: None };
    };
    let mut state = RunState::new(&plan);
    for (link, event) in run.events() {
        if let Err(illegal) = state.apply(&event) {
            found.find(
                Kind::IllegalEvent,
                format!("event {} of run {number}", link.seq),
                illegal.to_string(),
            );
            return Folded { plan: Some(plan), state: None };
        }
    }
    Folded { plan: Some(plan), state: Some(state) }
}

/// The plan in a text, if it has this digest.
fn plan_of((name, path): (&str, &str), (text, written_in): (&str, &str), digest: &str) -> Option<Plan> {
    let source = Source::new(name, text).at(path).written_in(dialect::named(written_in)?);
    verify::trusted(&source).filter(|plan| Digest::of(plan).to_string() == digest)
}

fn proposed_texts(bundle: &AuditBundle, found: &mut Found<'_>) {
    if !found.has(AuditCheck::Plan) {
        return;
    }
    for (link, entry) in bundle.entries() {
        let crate::approval::ledger::LedgerEntry::Proposed { revision, subject, text, dialect, .. } = entry
        else {
            continue;
        };
        let Some(content) = bundle.blobs.get(&text.0).and_then(|kept| kept.content.as_deref()) else {
            continue;
        };
        let place = (bundle.name.as_str(), bundle.plan.as_str());
        let says = std::str::from_utf8(content).ok();
        if says.and_then(|says| plan_of(place, (says, &dialect), &subject.digest)).is_none() {
            let text = format!("the text of r{revision} does not match digest {}", short(&subject.digest));
            found.find(Kind::OtherPlan, format!("entry {} of the ledger", link.seq), text);
        }
    }
}

pub(super) fn receipts(bundle: &AuditBundle, folded: &[Folded], found: &mut Found<'_>) {
    if !found.has(AuditCheck::Receipt) {
        return;
    }
    for (run, Folded { plan, .. }) in bundle.runs.iter().zip(folded) {
        for (link, event) in run.events() {
            let where_ = format!("event {} of run {}", link.seq, run.book.number);
            for verdict in event.verdicts() {
                check_verdict(verdict, (run, plan.as_ref()), &where_, found);
            }
        }
    }
}

fn check_verdict(
    RecordedVerdict { step, of, receipt }: RecordedVerdict<'_>,
    (run, plan): (&RunBook, Option<&Plan>),
    where_: &str,
    found: &mut Found<'_>,
) {
    let what = match of {
        Some(Judged::Closing(round)) => format!("the verdict of step `{step}`, closing check {round},"),
        Some(attempt @ (Judged::Claim | Judged::Attempt(_))) => {
            format!("the verdict of step `{step}`, attempt {attempt},")
        }
        None => format!("the later verdict of step `{step}`"),
    };
    if receipt.digest != run.digest {
        let text = format!("{what} is for plan {}", short(&receipt.digest));
        found.find(Kind::OtherDigest, where_.to_owned(), text);
    }
    let own = plan.iter().flat_map(|plan| &plan.steps).find(|own| own.id == step);
    if let Some(text) = own.and_then(|step| other_contract(step, receipt)) {
        found.find(Kind::OtherContract, where_.to_owned(), format!("{what} {text}"));
    }
    let expect = receipt.expect.or_else(|| own.and_then(|step| step.contract.expected_code()));
    if expect.is_some_and(|expect| !receipt.is_consistent(expect)) {
        let text = format!("{what} does not follow from the observation ({:?})", receipt.observation);
        found.find(Kind::WrongVerdict, where_.to_owned(), text);
    }
}

fn other_contract(step: &Step, receipt: &Receipt) -> Option<String> {
    let Some(expect) = step.contract.expected_code() else {
        return Some("is for a manual step".to_owned());
    };
    if step.contract.hash() != receipt.contract {
        return Some(format!("is for a different command ({})", short(&receipt.contract)));
    }
    let other = receipt.expect.filter(|said| *said != expect)?;
    Some(format!("expects exit code {other}, but the plan sets {expect}"))
}

/// Checks that every blob that a record refers to exists and matches its hash.
pub(super) fn outputs(bundle: &AuditBundle, found: &mut Found<'_>) {
    if !found.has(AuditCheck::Output) {
        return;
    }
    for (blob, need) in bundle.named() {
        let where_ = format!("output {}", short(&blob.0));
        let Some(kept) = bundle.blobs.get(&blob.0) else {
            found.find(Kind::NoOutput, where_, "not found, but a record refers to it".to_owned());
            continue;
        };
        let Some(content) = &kept.content else {
            if need == Need::Content {
                let text = "not found, but a proposal refers to it".to_owned();
                found.find(Kind::NoOutput, where_, text);
            }
            continue;
        };
        if blake3::hash(content).to_hex().as_str() != blob.0 || content.len() as u64 != kept.bytes {
            let text = "hash mismatch".to_owned();
            found.find(Kind::OtherOutput, where_, text);
        }
    }
}

/// The first digits of a hash, for display.
pub(super) fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}
