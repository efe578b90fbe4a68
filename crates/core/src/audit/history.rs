//! The record of a plan as people read it: who did what, when and with which authority, one line per event
//! that matters.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::receipt::short;
use crate::agent::finding;
use crate::agent::report;
use crate::agent::report::ReportFinding;
use crate::approval::ledger::LedgerEntry;
use crate::audit::bundle::AuditBundle;
use crate::plan::identity::Identity;
use crate::run::baseline::fail_count;
use crate::run::event::{AskAnswer, AskEvent, AttemptFinish, Event, Judged, RunEvent, RunStart, StepEvent};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryLine {
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub who: String,
    /// Such as `approved`.
    pub what: String,
    /// The subject, such as `r2 7c41e09d` or `step fix`.
    pub about: String,
    /// Further details.
    pub note: String,
}

/// The history of a plan, oldest first.
pub fn history(bundle: &AuditBundle) -> Vec<HistoryLine> {
    let mut lines: Vec<HistoryLine> =
        bundle.entries().map(|(link, entry)| said(link.at_ms, &entry)).collect();
    for run in &bundle.runs {
        let number = run.book.number;
        lines.extend(run.events().filter_map(|(link, event)| happened(link.at_ms, number, &event)));
    }
    // A stable sort: in the same millisecond, ledger entries come before run events, and nothing else changes
    // its order.
    lines.sort_by_key(|line| line.at_ms);
    lines
}

fn line(at_ms: u64, who: &str, what: &str, (about, note): (String, String)) -> HistoryLine {
    HistoryLine { at_ms, who: who.to_owned(), what: what.to_owned(), about, note }
}

fn name(who: Option<&Identity>) -> &str {
    who.map_or("harness", |who| &who.name)
}

fn quoted(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    if first.is_empty() { String::new() } else { format!("\"{first}\"") }
}

fn said(at_ms: u64, entry: &LedgerEntry) -> HistoryLine {
    let who = name(entry.by());
    let revision = |number: &u32, digest: &str| format!("r{number} {}", short(digest));
    let (what, about, note) = match entry {
        LedgerEntry::Proposed { revision: number, subject, warnings, red, .. } => {
            let base = subject.base.as_ref().map(|base| format!("on {base}"));
            let red = (!red.is_empty()).then(|| {
                let fails = red.iter().filter(|red| red.before.word() == "fails").count();
                fail_count(fails, red.len())
            });
            let warned = match warnings {
                0 => None,
                1 => Some("1 warning".to_owned()),
                _ => Some(format!("{warnings} warnings")),
            };
            let note: Vec<String> = base.into_iter().chain(red).chain(warned).collect();
            ("proposed", revision(number, &subject.digest), note.join(", "))
        }
        LedgerEntry::Approved { revision: number, subject, way, rule, needed, signature, .. } => {
            let mut note = vec![way.clone()];
            note.extend((!rule.is_empty()).then(|| format!("rule {rule}")));
            note.extend((*needed > 1).then(|| format!("one of {needed}")));
            note.push(if signature.is_some() { "signed" } else { "not signed" }.to_owned());
            ("approved", revision(number, &subject.digest), note.join(", "))
        }
        LedgerEntry::Rejected { revision: number, digest, feedback, .. } => {
            ("rejected", revision(number, digest), quoted(feedback))
        }
        LedgerEntry::Commented { comment, step, text, .. } => {
            let about = step.as_ref().map_or_else(|| format!("#{comment}"), |step| format!("step {step}"));
            ("commented", about, quoted(text))
        }
        LedgerEntry::Answered { comment, text, .. } => ("answered", format!("#{comment}"), quoted(text)),
        LedgerEntry::Drafted { digest, drafting, .. } => {
            let after = drafting.after.as_ref().map(|after| format!("after {}", after.previous));
            let note = after
                .into_iter()
                .chain((!drafting.reasoning.is_empty()).then(|| quoted(&drafting.reasoning)));
            ("drafted", digest.get(..8).unwrap_or(digest).to_owned(), note.collect::<Vec<_>>().join(", "))
        }
        LedgerEntry::Discovered { number, title, .. } => {
            ("came upon", format!("work {number}"), quoted(title))
        }
        LedgerEntry::Added { number, step, .. } => {
            ("added", format!("step {step}"), format!("work {number}"))
        }
        LedgerEntry::Reopened { why, .. } => ("reopened", String::new(), quoted(why)),
        LedgerEntry::Cancelled { why, .. } => ("cancelled", String::new(), quoted(why)),
        LedgerEntry::Lapsed { moved } => ("lapsed", String::new(), moved.join(", ")),
        LedgerEntry::Started { run, .. } => ("began", format!("run {run}"), String::new()),
        LedgerEntry::Ended { run, outcome, .. } => ("ended", format!("run {run}"), outcome.word().to_owned()),
        LedgerEntry::Undone { seq, .. } => ("took back", format!("entry {seq}"), String::new()),
        LedgerEntry::Merged { into, commit, with, .. } => {
            let others = with.len().saturating_sub(1);
            let with = if others == 0 { String::new() } else { format!(", with {others} more") };
            ("merged", format!("into {into}"), format!("{}{with}", short(commit)))
        }
        LedgerEntry::Evicted { into, with, evidence, paths, .. } => {
            let together =
                if with.is_empty() { String::new() } else { format!(", with {}", with.join(", ")) };
            let why = match evidence {
                Some(evidence) => format!("{}/{}: {}", evidence.plan, evidence.step, evidence.failure),
                None => format!("conflict in {}", paths.join(", ")),
            };
            ("evicted", format!("from {into}"), format!("{why}{together}"))
        }
        LedgerEntry::Archived { to, .. } => ("archived", String::new(), to.clone()),
        LedgerEntry::Deleted { .. } => ("deleted", String::new(), String::new()),
    };
    line(at_ms, who, what, (about, note))
}

fn happened(at_ms: u64, run: i64, event: &Event) -> Option<HistoryLine> {
    match event {
        Event::Run(event) => run_line(at_ms, run, event),
        Event::Step { step, event } => step_line(at_ms, format!("run {run} step {step}"), event),
        Event::Ask { event: AskEvent::Opened { step, text, .. }, .. } => {
            let step = step.as_ref().map(|step| format!(" step {step}")).unwrap_or_default();
            Some(line(at_ms, "harness", "asked", (format!("run {run}{step}"), quoted(text))))
        }
        Event::Ask { ask, event: AskEvent::Answered { answer, by } } => {
            Some(line(at_ms, by, answer_word(answer), (format!("run {run} {ask}"), answer_note(answer))))
        }
    }
}

fn run_line(at_ms: u64, run: i64, event: &RunEvent) -> Option<HistoryLine> {
    let (who, what, note) = match event {
        RunEvent::Started(RunStart { digest, approved_by, base, .. }) => {
            let base = base.as_ref().map(|base| format!(", base {}", short(base))).unwrap_or_default();
            ("harness", "started", format!("{} approved by {approved_by}{base}", short(digest)))
        }
        RunEvent::AgentsApproved(approval) => {
            (approval.approved_by.as_str(), "approved", "new agent commands".to_owned())
        }
        RunEvent::Stopped { by, .. } => (by.as_str(), "stopped", String::new()),
        RunEvent::Resumed { by } => (by.as_str(), "resumed", String::new()),
        RunEvent::Reopened { steps, by } => (by.as_str(), "rolled back", steps.join(", ")),
        RunEvent::Closing { round, tree } => {
            ("harness", "closing", format!("round {round}, tree {}", short(tree)))
        }
        RunEvent::Finished { outcome, why } => ("harness", outcome.word(), why.clone()),
        RunEvent::Rechecked { receipts } => {
            let failed = receipts.iter().filter(|(_, receipt)| !receipt.verdict.is_passed());
            let failed: Vec<&str> = failed.map(|(step, _)| step.as_str()).collect();
            let trees: BTreeSet<&str> = receipts.values().map(|receipt| short(&receipt.tree)).collect();
            let trees = trees.into_iter().collect::<Vec<_>>().join(", ");
            match failed.as_slice() {
                [] => ("harness", "checked again", format!("all contracts hold on tree {trees}")),
                failed => {
                    ("harness", "lapsed", format!("{} no longer hold on tree {trees}", failed.join(", ")))
                }
            }
        }
        RunEvent::BudgetWarned { .. } => return None,
    };
    Some(line(at_ms, who, what, (format!("run {run}"), note)))
}

fn step_line(at_ms: u64, about: String, event: &StepEvent) -> Option<HistoryLine> {
    let (who, what, note) = match event {
        StepEvent::Judged { of, receipt, broken_by } => {
            let (what, why) = match receipt.verdict.failure() {
                None => ("passed", String::new()),
                Some(failure) => ("failed", format!(", {failure}")),
            };
            let tree = match receipt.tree.as_str() {
                "" => String::new(),
                tree => format!(", tree {}", short(tree)),
            };
            let opinion = receipt.opinion.as_ref().map(|opinion| {
                format!(", judged by: {} ({}): {}", opinion.by, opinion.weight.word(), opinion.answer.word())
            });
            let of = match of {
                Judged::Claim | Judged::Attempt(_) => format!("attempt {of}"),
                Judged::Closing(round) => format!("closing check {round}"),
            };
            let culprit = broken_by.as_ref().map(|step| format!(", broken by step {step}"));
            let note = format!(
                "{of}{why}{}{tree}, {}{}",
                culprit.unwrap_or_default(),
                receipt.tier,
                opinion.unwrap_or_default()
            );
            ("harness", what, note)
        }
        StepEvent::Finished(AttemptFinish { attempt, account, .. }) => {
            let found: Vec<ReportFinding> = report::findings(&account.report).cloned().collect();
            if found.is_empty() {
                return None;
            }
            ("reviewer", "found", format!("attempt {attempt}, {}", finding::counted(&found)))
        }
        // `log` shows the attempts; only their outcome matters here.
        StepEvent::Started(_) | StepEvent::Faulted { .. } => return None,
    };
    Some(line(at_ms, who, what, (about, note)))
}

const fn answer_word(answer: &AskAnswer) -> &'static str {
    match answer {
        AskAnswer::Retry { .. } | AskAnswer::RetryStep { .. } => "let retry",
        AskAnswer::TakeOver => "took over",
        AskAnswer::Confirm => "confirmed",
        AskAnswer::Skip { .. } => "skipped",
        AskAnswer::Stop => "stopped",
        AskAnswer::Revise { .. } => "sent back",
        AskAnswer::Budget { .. } => "granted",
    }
}

fn answer_note(answer: &AskAnswer) -> String {
    match answer {
        AskAnswer::Retry { hint } => quoted(hint),
        AskAnswer::RetryStep { step, hint } if hint.is_empty() => format!("step {step}"),
        AskAnswer::RetryStep { step, hint } => format!("step {step}, {}", quoted(hint)),
        AskAnswer::Skip { reason } | AskAnswer::Revise { reason } => quoted(reason),
        AskAnswer::TakeOver | AskAnswer::Confirm | AskAnswer::Stop => String::new(),
        AskAnswer::Budget { .. } => "more budget".to_owned(),
    }
}
