//! Events in few words.

use planwright_core::agent::account::Usage;
use planwright_core::agent::report::ReportLine;
use planwright_core::run::event::{
    AskAnswer, AskEvent, AskReason, AttemptEnd, AttemptFinish, AttemptStart, Event, Judged, MachineFault,
    RunEvent, RunOutcome, StepEvent, StopMode,
};
use planwright_core::run::judge::{ContractRun, Observation};
use planwright_core::run::receipt::{Blob, Provenance, Receipt};

pub(crate) fn started(step: &str, attempt: u32) -> Event {
    Event::Step {
        step: step.to_owned(),
        event: StepEvent::Started(AttemptStart {
            attempt,
            agent: "coder".to_owned(),
            prompt: Blob("p".to_owned()),
        }),
    }
}

pub(crate) fn ended(step: &str, attempt: u32, end: AttemptEnd) -> Event {
    spent(step, attempt, (end, Usage::default()))
}

pub(crate) fn spent(step: &str, attempt: u32, (end, usage): (AttemptEnd, Usage)) -> Event {
    let changed = vec!["src/first.rs".to_owned()];
    Event::Step {
        step: step.to_owned(),
        event: StepEvent::Finished(AttemptFinish {
            attempt,
            end,
            output: None,
            usage,
            changed,
            account: planwright_core::agent::account::Account::default(),
        }),
    }
}

pub(crate) fn exited(step: &str, attempt: u32) -> Event {
    ended(step, attempt, AttemptEnd::Exited(0))
}

/// An attempt that ended by itself, and whose agent reported a question.
pub(crate) fn exited_asking(step: &str, attempt: u32) -> Event {
    let mut event = exited(step, attempt);
    if let Event::Step { event: StepEvent::Finished(AttemptFinish { account, .. }), .. } = &mut event {
        account.report.push(ReportLine::Ask { text: "which one?".to_owned() });
    }
    event
}

/// An attempt that ended by itself, and changed a file that it may not touch.
pub(crate) fn exited_straying(step: &str, attempt: u32) -> Event {
    let mut event = exited(step, attempt);
    if let Event::Step { event: StepEvent::Finished(AttemptFinish { account, .. }), .. } = &mut event {
        account.outside.push("docs/a.md".to_owned());
    }
    event
}

pub(crate) fn parked(step: &str, attempt: u32, until: Option<u64>) -> Event {
    ended(step, attempt, AttemptEnd::Parked { why: "out of quota".to_owned(), until })
}

pub(crate) fn fault(until: Option<u64>) -> MachineFault {
    MachineFault { why: "cannot create /s: no space left on device".to_owned(), errno: Some(28), until }
}

/// An attempt that the machine ended.
pub(crate) fn faulted(step: &str, attempt: u32, until: Option<u64>) -> Event {
    ended(step, attempt, AttemptEnd::Faulted(fault(until)))
}

/// A contract that the machine kept from telling anything.
pub(crate) fn unjudged(step: &str, attempt: u32, until: Option<u64>) -> Event {
    let event = StepEvent::Faulted { of: Judged::attempt(attempt), fault: fault(until) };
    Event::Step { step: step.to_owned(), event }
}

/// The contract exited with this code on the final tree, where 0 means done.
pub(crate) fn judged(step: &str, attempt: u32, code: i32) -> Event {
    judged_on("t", step, Judged::attempt(attempt), code)
}

/// A round of the closing check on the final tree.
pub(crate) fn closing(round: u32) -> Event {
    closing_on("t", round)
}

pub(crate) fn closing_on(tree: &str, round: u32) -> Event {
    Event::Run(RunEvent::Closing { round, tree: tree.to_owned() })
}

/// The contract exited with this code on this tree.
pub(crate) fn judged_on(tree: &str, step: &str, of: Judged, code: i32) -> Event {
    let observation = Observation::Exited(code);
    let mut receipt = Receipt::new(
        &ContractRun {
            expect: None,
            contract: "c".to_owned(),
            observation,
            output: String::new(),
            milliseconds: 1,
        },
        None,
        Provenance {
            digest: "d".to_owned(),
            tier: "open".to_owned(),
            tree: tree.to_owned(),
            ..Provenance::default()
        },
    );
    receipt.output = Blob(format!("said {code}"));
    Event::Step { step: step.to_owned(), event: StepEvent::Judged { of, receipt, broken_by: None } }
}

/// The contract of a run that was over ran again on another tree, and exited with this code.
pub(crate) fn rechecked(step: &str, code: i32) -> Event {
    let Event::Step { event: StepEvent::Judged { receipt, .. }, .. } = judged(step, 1, code) else {
        unreachable!("it is judged")
    };
    Event::Run(RunEvent::Rechecked { receipts: [(step.to_owned(), receipt)].into() })
}

pub(crate) fn asked(ask: &str, step: Option<&str>, reason: AskReason) -> Event {
    Event::Ask {
        ask: ask.to_owned(),
        event: AskEvent::Opened { step: step.map(str::to_owned), reason, text: String::new() },
    }
}

pub(crate) fn answered(ask: &str, answer: AskAnswer) -> Event {
    Event::Ask { ask: ask.to_owned(), event: AskEvent::Answered { answer, by: "ada".to_owned() } }
}

pub(crate) fn retry() -> AskAnswer {
    AskAnswer::Retry { hint: "look again".to_owned() }
}

pub(crate) fn skip() -> AskAnswer {
    AskAnswer::Skip { reason: "not needed".to_owned() }
}

pub(crate) fn warned(limit: &str) -> Event {
    Event::Run(RunEvent::BudgetWarned { limit: limit.to_owned(), percent: 80 })
}

pub(crate) fn stopped() -> Event {
    Event::Run(RunEvent::Stopped { by: "ada".to_owned(), mode: StopMode::AfterAttempts })
}

pub(crate) fn resumed() -> Event {
    Event::Run(RunEvent::Resumed { by: "ada".to_owned() })
}

pub(crate) fn finished(outcome: RunOutcome) -> Event {
    Event::Run(RunEvent::Finished { outcome, why: String::new() })
}
