//! Whether every run was approved before it started: this exact subject, by enough people who were allowed
//! to, and in time.

use super::receipt::{said, short};
use super::{AuditCheck, AuditContext, Claimed, Found, Kind};
use crate::approval::ledger::{LedgerEntry, statement};
use crate::approval::status::{ApprovalRecord, ApprovalStatus, undone};
use crate::audit::bundle::{AuditBundle, ChainLink, RunBook};
use crate::plan::identity::{Identity, Role};
use crate::run::event::{Event, RecordedVerdict, RunEvent, RunStart};
use crate::run::receipt::ApprovedBy;

pub(super) fn approvals(bundle: &AuditBundle, world: &AuditContext<'_>, found: &mut Found<'_>) {
    persons(bundle, world, found);
    if !found.has(AuditCheck::Approval) {
        return;
    }
    let starts = starts(bundle);
    let entries: Vec<(&ChainLink, LedgerEntry)> = bundle.entries().collect();
    for (run, standing) in &starts {
        if !bundle.runs.iter().any(|book| book.book.number == *run) {
            let by = standing.approvals.iter().map(|approval| approval.by.to_string()).collect::<Vec<_>>();
            let text = format!("the ledger records its start, approved by {}", by.join(" and "));
            found.find(Kind::NoRun, format!("run {run}"), format!("{text}, but its journal is missing"));
        }
    }
    for run in &bundle.runs {
        let started = starts.iter().find(|(number, _)| *number == run.book.number);
        start(&entries, run, started.map(|(_, standing)| standing), found);
        for (link, event) in run.events() {
            let where_ = format!("event {} of run {}", link.seq, run.book.number);
            for RecordedVerdict { step, receipt, .. } in event.verdicts() {
                for approval in &receipt.approvals {
                    if let Some(why) = other_entry(&entries, approval, &run.digest) {
                        let text = format!("the receipt of step `{step}` refers to {why}");
                        found.find(Kind::OtherApproval, where_.clone(), text);
                    }
                }
            }
        }
    }
}

/// The approval state of the plan at each run's start.
fn starts(bundle: &AuditBundle) -> Vec<(i64, ApprovalStatus)> {
    let ledger = said(bundle);
    let undone = undone(&ledger);
    let mut standing = ApprovalStatus::new();
    let mut starts = Vec::new();
    for said in &ledger {
        // One of two simultaneous starts may have been taken back; its run began under these approvals all the same.
        if let LedgerEntry::Started { run, .. } = said.entry {
            let mut then = standing.clone();
            then.since_ms = said.at_ms;
            starts.push((run, then));
        }
        if undone.contains(&said.seq) {
            continue;
        }
        // Entries that don't fit are reported where the ledger is folded; the rest is still compared here.
        standing.say(said).ok();
    }
    starts
}

/// Checks one run against the approvals that existed when it started.
fn start(
    entries: &[(&ChainLink, LedgerEntry)],
    run: &RunBook,
    standing: Option<&ApprovalStatus>,
    found: &mut Found<'_>,
) {
    let where_ = format!("run {}", run.book.number);
    let first = run.events().next().map(|(_, event)| event);
    let Some(Event::Run(RunEvent::Started(begun))) = &first else { return };
    let RunStart { digest, approved_by, approvals: named, .. } = begun;
    let approvals = standing.map(|standing| standing.approvals.as_slice()).unwrap_or_default();
    let Some((standing, newest)) = standing.zip(approvals.last()) else {
        let text = format!("no approval in the ledger; the run claims an approval by {approved_by}");
        return found.find(Kind::Unapproved, where_, text);
    };
    if *digest != run.digest || newest.subject.digest != run.digest {
        let text = format!("approved {}, ran {}", short(&newest.subject.digest), short(&run.digest));
        found.find(Kind::OtherApproval, where_.clone(), text);
    }
    let by: Vec<&str> = approvals.iter().map(|approval| approval.by.name.as_str()).collect();
    if by.join(", ") != *approved_by {
        let text = format!("the run claims an approval by {approved_by}; the ledger has {}", by.join(", "));
        found.find(Kind::OtherApproval, where_.clone(), text);
    }
    for why in named.iter().filter_map(|approval| other_entry(entries, approval, &run.digest)) {
        found.find(Kind::OtherApproval, where_.clone(), format!("its first event refers to {why}"));
    }
    for text in moved(begun, newest) {
        found.find(Kind::Moved, where_.clone(), text);
    }
    in_time(standing, &where_, found);
}

/// What differs between the approved subject and what the run started with.
fn moved(begun: &RunStart, approval: &ApprovalRecord) -> Vec<String> {
    let RunStart { base, agents, sealed, programs, .. } = begun;
    let subject = &approval.subject;
    let mut moved = Vec::new();
    let approved = subject.base.as_ref().map(|base| &base.commit);
    if base.as_ref() != approved {
        let name = |commit: Option<&String>| commit.map_or("no commit", |commit| short(commit)).to_owned();
        moved.push(format!("it started at {}, but {} was approved", name(base.as_ref()), name(approved)));
    }
    if *agents != subject.agents {
        moved.push("the agent commands are not the approved ones".to_owned());
    }
    if *programs != subject.programs {
        moved.push("the programs of its contracts are not the approved ones".to_owned());
    }
    for (path, hash) in &subject.sealed {
        if sealed.get(path) != Some(hash) {
            moved.push(format!("sealed file {path} is not the approved one"));
        }
    }
    moved
}

/// Whether enough approvals were valid when the run started.
fn in_time(standing: &ApprovalStatus, where_: &str, found: &mut Found<'_>) {
    let at_ms = standing.since_ms;
    let has_expired = |approval: &ApprovalRecord| approval.until_ms.is_some_and(|until| at_ms >= until);
    let needed = standing.approvals.iter().map(|approval| approval.needed).max().unwrap_or(1);
    let said = standing.approvals.len();
    if said < needed as usize {
        let text = format!("{said} of {needed} required approvals");
        found.find(Kind::TooFew, where_.to_owned(), text);
    }
    for approval in standing.approvals.iter().filter(|approval| has_expired(approval)) {
        let text = format!("the approval by {} had expired when it started", approval.by);
        found.find(Kind::Expired, where_.to_owned(), text);
    }
}

/// Why the approval that a receipt refers to isn't the one in the ledger.
fn other_entry(entries: &[(&ChainLink, LedgerEntry)], approval: &ApprovedBy, digest: &str) -> Option<String> {
    let ApprovedBy { by, seq, hash } = approval;
    let entry = entries.iter().find(|(link, _)| link.seq == *seq);
    let Some((link, entry)) = entry else {
        return Some(format!("entry {seq} of the ledger, which does not exist"));
    };
    if link.hash.to_hex().as_str() != hash {
        return Some(format!("a different entry {seq} of the ledger"));
    }
    let LedgerEntry::Approved { subject, by: who, .. } = entry else {
        return Some(format!("entry {seq} of the ledger, which is not an approval"));
    };
    if who != by {
        return Some(format!("an approval by {by}, but the ledger has {who}"));
    }
    (subject.digest != digest).then(|| format!("an approval of {}", short(&subject.digest)))
}

/// Checks that every approver was allowed to approve.
fn persons(bundle: &AuditBundle, world: &AuditContext<'_>, found: &mut Found<'_>) {
    let undone = undone(&said(bundle));
    let mut proposed: Option<LedgerEntry> = None;
    let mut before: Vec<Identity> = Vec::new();
    for (link, entry) in bundle.entries() {
        if let LedgerEntry::Proposed { .. } = &entry {
            proposed = Some(entry);
            before.clear();
            continue;
        }
        let LedgerEntry::Approved { revision, by, signature, .. } = &entry else { continue };
        let where_ = format!("entry {} of the ledger", link.seq);
        let what = format!("r{revision} was approved by {by}");
        if found.has(AuditCheck::Person) {
            let claimed = Claimed {
                approved: &entry,
                at_ms: link.at_ms,
                proposed: proposed.as_ref(),
                text: proposed.as_ref().and_then(|proposed| text_of(bundle, proposed)),
                before: &before,
            };
            let may = match by.role {
                Role::Agent | Role::Age => Err("only a person or a policy rule may approve".to_owned()),
                Role::Person | Role::Policy => (world.may)(&claimed),
            };
            if let Err(why) = may {
                found.find(Kind::WrongPerson, where_.clone(), format!("{what}: {why}"));
            }
        }
        if found.has(AuditCheck::Signature)
            && let Some(signature) = signature
            && let Some(statement) = statement(&bundle.plan, &entry)
            && let Err(why) = (world.signed)((&statement, signature), by, link.at_ms)
        {
            found.find(Kind::BadSignature, where_, format!("{what}, but the signature is invalid: {why}"));
        }
        // Who took their approval back may give it again.
        if !undone.contains(&link.seq) {
            before.push(by.clone());
        }
    }
}

fn text_of<'a>(bundle: &'a AuditBundle, proposed: &LedgerEntry) -> Option<&'a str> {
    let LedgerEntry::Proposed { text, .. } = proposed else { return None };
    std::str::from_utf8(bundle.blobs.get(&text.0)?.content.as_deref()?).ok()
}
