//! Wording of facts about runs: times, ages, amounts, reasons, answers, and one line per event. Independent of any
//! command.

pub(crate) mod ahead;
pub(crate) mod entry;
pub(crate) mod found;

use std::collections::BTreeMap;

use planwright_engine::api::Forecast;
use planwright_engine::api::ReportFinding;
use planwright_engine::api::local_time;
pub(crate) use planwright_engine::api::now;
pub(crate) use planwright_engine::api::number;
use planwright_engine::api::step_of_event;
use planwright_engine::api::{ADVISORY_JUDGE_KEY, ENVIRONMENT_KEY, GATE_JUDGE_KEY, LIKE_KEY, TOPICS_KEY};
use planwright_engine::api::{Account, AttemptTimes, Usage};
use planwright_engine::api::{
    AskAnswer, AskEvent, AttemptEnd, AttemptFinish, Event, Receipt, RunEvent, RunOutcome, RunStart,
    StepEvent, StopMode,
};
use planwright_engine::api::{count_findings, findings_of, seconds_of};

use crate::output::{Exit, Failure, clean, shell_word};

/// The time of an event as the clock on the wall shows it: `14:34:55`, with the date where it was not today.
pub(crate) fn clock_time(at_ms: u64, now_ms: u64) -> String {
    let (at, today) = (local_time(at_ms), local_time(now_ms));
    match (at.split_once(' '), today.split_once(' ')) {
        (Some((day, time)), Some((today, _))) if day == today => time.to_owned(),
        _ => at,
    }
}

/// How long ago something was: `12 s`, `14 min`, `3 h`, `2 days`.
pub(crate) fn age(since_ms: u64, now_ms: u64) -> String {
    let seconds = now_ms.saturating_sub(since_ms) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        86_400..172_800 => "1 day".to_owned(),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// How long something took: `4.1s`, `7m01s`, `2h03m`.
pub(crate) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{seconds}.{}s", milliseconds % 1000 / 100),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A duration, in milliseconds: tenths of a second, or minutes where it was long.
pub(crate) fn seconds(milliseconds: u64) -> String {
    match milliseconds / 1000 {
        seconds @ 0..120 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        seconds => format!("{} min", seconds / 60),
    }
}

/// How long something took, as a clock shows it: `6:10`, `1:02:03`.
pub(crate) fn clock_span(milliseconds: u64) -> String {
    let seconds = milliseconds.div_ceil(1000);
    match seconds {
        0..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds % 3600 / 60, seconds % 60),
    }
}

/// An amount of bytes: `812 bytes`, `3.1 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{} kB", tenths(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

/// A length of time that was typed after an option: `7d`, `12h`, `30 min`; in milliseconds.
pub(crate) fn span(option: &str, text: &str) -> Result<u64, Failure> {
    // A bare number has no unit that everybody would guess.
    let seconds = seconds_of(text).filter(|&seconds| seconds > 0 && text.trim().parse::<u64>().is_err());
    seconds.map(|seconds| seconds.saturating_mul(1000)).ok_or_else(|| {
        let hint = format!("{option} 7d, 12h or 30min");
        Failure::new(Exit::Usage, format!("`{text}` is not a duration")).hint(hint)
    })
}

/// What work will likely take: `likely $1.20 ($0.80 to $1.90), 22 min (14 to 31)`.
pub(crate) fn forecast(forecast: &Forecast) -> String {
    let Forecast { seconds, micro_dollars, .. } = forecast;
    let money = micro_dollars
        .map(|range| format!("{} ({} to {}), ", money(range.likely), money(range.low), money(range.high)));
    let time = |seconds: u64| age(0, seconds * 1000);
    let times = format!("{} ({} to {})", time(seconds.likely), time(seconds.low), time(seconds.high));
    format!("likely {}{times}", money.unwrap_or_default())
}

/// An amount of money: `$0.62`.
pub(crate) fn money(micro_dollars: u64) -> String {
    let cents = micro_dollars.div_ceil(10_000);
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Known cost; empty if unknown.
pub(crate) fn spent(usage: Usage) -> String {
    let money = usage.micro_dollars.map(money);
    let tokens = usage.tokens.map(|tokens| match tokens {
        0..10_000 => format!("{tokens} tokens"),
        _ => format!("{}k tokens", tokens / 1000),
    });
    money.into_iter().chain(tokens).collect::<Vec<_>>().join(", ")
}

/// A word as one types it into a shell.
pub(crate) fn word(text: &str) -> String {
    shell_word(text)
}

/// One line for an approved agent setting: command, environment or profile.
pub(crate) fn named_work(key: &str, words: &[String]) -> String {
    let line = words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    if let Some(target) = key.strip_prefix(ENVIRONMENT_KEY) {
        return format!("environment of {target}: {line}");
    }
    if let Some(target) = key.strip_prefix(LIKE_KEY) {
        return format!("{target} uses the agent profile {line}");
    }
    match key {
        TOPICS_KEY => format!("topics are read with: {line}"),
        ADVISORY_JUDGE_KEY => format!("advisory judge: {line}"),
        GATE_JUDGE_KEY => format!("gating judge: {line}"),
        target => format!("{target} runs: {line}"),
    }
}

/// A text of others, set apart from what is ours.
pub(crate) fn indented(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") };
    clean(text).lines().map(line).collect()
}

/// How an attempt ended.
pub(crate) fn end_words(end: &AttemptEnd) -> String {
    match end {
        AttemptEnd::Exited(code) => format!("exit {code}"),
        AttemptEnd::Signalled(signal) => format!("killed by signal {signal}"),
        AttemptEnd::TimedOut(seconds) => format!("timed out after {seconds} s"),
        AttemptEnd::Lost => "lost".to_owned(),
        AttemptEnd::Stopped => "stopped".to_owned(),
        AttemptEnd::Parked { why, .. } => format!("parked: {why}"),
        AttemptEnd::Faulted(fault) => format!("machine error: {}", fault.why),
    }
}

/// What a person said.
pub(crate) fn answer_words(answer: &AskAnswer) -> String {
    match answer {
        AskAnswer::Retry { hint } if hint.is_empty() => "retry".to_owned(),
        AskAnswer::Retry { hint } => format!("retry: {hint};"),
        AskAnswer::RetryStep { step, hint } if hint.is_empty() => format!("redo step {step}"),
        AskAnswer::RetryStep { step, hint } => format!("redo step {step}: {hint};"),
        AskAnswer::TakeOver => "taken over".to_owned(),
        AskAnswer::Confirm => "confirmed".to_owned(),
        AskAnswer::Skip { reason } => format!("skipped: {reason};"),
        AskAnswer::Stop => "stopped".to_owned(),
        AskAnswer::Revise { reason } => format!("revise: {reason};"),
        AskAnswer::Budget { .. } => "more budget".to_owned(),
    }
}

/// What an event says, beyond its name.
pub(crate) fn detail(event: &Event) -> String {
    match event {
        Event::Run(RunEvent::Started(RunStart { approved_by, digest, .. })) => {
            format!("{} approved by {approved_by}", digest.get(..8).unwrap_or(digest))
        }
        Event::Run(RunEvent::AgentsApproved(approval)) => {
            format!("agent commands approved by {}", approval.approved_by)
        }
        Event::Step { event: StepEvent::Started(start), .. } => start.agent.clone(),
        Event::Step { event: StepEvent::Finished(AttemptFinish { end, changed, account, .. }), .. } => {
            let found: Vec<ReportFinding> = findings_of(&account.report).cloned().collect();
            let found = match found.len() {
                0 => String::new(),
                count => format!(", {} ({})", number(count, "finding"), count_findings(&found)),
            };
            let changed = number(changed.len(), "file");
            format!("{}, {changed} changed{}{found}", end_words(end), scope_words(account))
        }
        Event::Step { event: StepEvent::Judged { receipt, broken_by, .. }, .. } => {
            let failure = receipt.verdict.failure();
            let said = failure.map_or_else(|| "passed".to_owned(), |failure| format!("failed: {failure}"));
            let opinion = receipt.opinion.as_ref().map(|opinion| format!("; {opinion}"));
            let culprit = broken_by.as_ref().map(|step| format!(", broken by {step}"));
            format!("{said}{}{}", culprit.unwrap_or_default(), opinion.unwrap_or_default())
        }
        Event::Step { event: StepEvent::Faulted { fault, .. }, .. } => {
            format!("machine error: {}", fault.why)
        }
        Event::Ask { event: AskEvent::Opened { reason, .. }, .. } => reason.words().to_owned(),
        Event::Ask { event: AskEvent::Answered { answer, by }, .. } => {
            format!("{} by {by}", answer_words(answer))
        }
        Event::Run(RunEvent::BudgetWarned { limit, percent }) => format!("{percent}% of {limit}"),
        Event::Run(RunEvent::Stopped { by, mode: StopMode::AfterAttempts } | RunEvent::Resumed { by }) => {
            by.clone()
        }
        Event::Run(RunEvent::Stopped { by, mode: StopMode::Now }) => format!("immediately, by {by}"),
        Event::Run(RunEvent::Reopened { steps, by }) => format!("{} by {by}", steps.join(", ")),
        Event::Run(RunEvent::Closing { round, tree }) => {
            format!("round {round}, tree {}", tree.get(..8).unwrap_or(tree))
        }
        Event::Run(RunEvent::Rechecked { receipts }) => recheck_words(receipts),
        Event::Run(RunEvent::Finished { outcome: RunOutcome::Done, .. }) => "done".to_owned(),
        Event::Run(RunEvent::Finished { outcome: RunOutcome::Failed, why }) => format!("failed: {why}"),
        Event::Run(RunEvent::Finished { outcome: RunOutcome::Cancelled, why }) => format!("cancelled: {why}"),
    }
}

/// Where the time of an attempt went.
pub(crate) fn times(times: &AttemptTimes) -> String {
    let AttemptTimes { total_ms, agent_ms, contract_ms, waiting_ms } = *times;
    let [total, agent, contract, waiting] = [total_ms, agent_ms, contract_ms, waiting_ms].map(seconds);
    format!("{total} (agent {agent}, contract {contract}, waiting {waiting})")
}

/// What contracts that ran again after the end of a run say of the tree that is there.
fn recheck_words(receipts: &BTreeMap<String, Receipt>) -> String {
    let failed = receipts.iter().filter_map(|(step, receipt)| Some((step, receipt.verdict.failure()?)));
    let failed: Vec<String> = failed.map(|(step, failure)| format!("{step} fails ({failure})")).collect();
    match failed.is_empty() {
        true => format!("another tree: {} hold", number(receipts.len(), "contract")),
        false => format!("another tree: {}", failed.join(", ")),
    }
}

/// What an attempt did, or tried, beyond its scope.
fn scope_words(account: &Account) -> String {
    let mut words = String::new();
    if !account.outside.is_empty() {
        words.push_str(&format!(", outside its scope: {}", account.outside.join(", ")));
    }
    match account.refused.len() {
        0 => {}
        1 => words.push_str(", 1 call out of scope"),
        count => words.push_str(&format!(", {count} calls out of scope")),
    }
    words
}

/// What an event is about: `it/fix`, or `it` for the whole run.
pub(crate) fn place(plan: &str, event: &Event) -> String {
    step_of_event(event).map_or_else(|| plan.to_owned(), |step| format!("{plan}/{step}"))
}

/// What an event says, as `name=value` words.
pub(crate) fn fields(event: &Event) -> String {
    let mut fields: Vec<(&str, String)> = Vec::new();
    fields.extend(event.attempt().map(|attempt| ("attempt", attempt.to_string())));
    match event {
        Event::Run(RunEvent::Started(RunStart { digest, approved_by, .. })) => {
            fields.push(("digest", digest.get(..8).unwrap_or(digest).to_owned()));
            fields.push(("by", approved_by.clone()));
        }
        Event::Run(RunEvent::AgentsApproved(approval)) => fields.push(("by", approval.approved_by.clone())),
        Event::Step { event, .. } => fields.extend(step_fields(event)),
        Event::Ask { event: AskEvent::Opened { reason, .. }, .. } => {
            fields.push(("reason", reason.word().to_owned()));
        }
        Event::Ask { event: AskEvent::Answered { answer, by }, .. } => {
            fields.push(("answer", answer_words(answer).trim_end_matches(';').to_owned()));
            fields.push(("by", by.clone()));
        }
        Event::Run(RunEvent::BudgetWarned { limit, percent }) => {
            fields.push(("limit", limit.clone()));
            fields.push(("percent", percent.to_string()));
        }
        Event::Run(RunEvent::Stopped { by, mode: when }) => {
            let when = if *when == StopMode::Now { "now" } else { "after-attempts" };
            fields.extend([("when", when.to_owned()), ("by", by.clone())]);
        }
        Event::Run(RunEvent::Resumed { by }) => fields.push(("by", by.clone())),
        Event::Run(RunEvent::Reopened { steps, by }) => {
            fields.extend([("steps", steps.join(",")), ("by", by.clone())]);
        }
        Event::Run(RunEvent::Closing { round, tree }) => {
            fields.extend([("round", round.to_string()), ("tree", tree.get(..8).unwrap_or(tree).to_owned())]);
        }
        Event::Run(RunEvent::Rechecked { receipts }) => {
            let failed = receipts.iter().filter(|(_, receipt)| !receipt.verdict.is_passed());
            let failed: Vec<&str> = failed.map(|(step, _)| step.as_str()).collect();
            fields.push(("contracts", receipts.len().to_string()));
            fields.extend((!failed.is_empty()).then(|| ("failed", failed.join(","))));
        }
        Event::Run(RunEvent::Finished { why, .. }) => {
            fields.push(("outcome", detail(event).split(':').next().unwrap_or_default().to_owned()));
            fields.extend((!why.is_empty()).then(|| ("why", why.clone())));
        }
    }
    words(&fields)
}

/// What an event of a step says.
fn step_fields(event: &StepEvent) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    match event {
        StepEvent::Started(start) => fields.push(("agent", start.agent.clone())),
        StepEvent::Finished(finish) => {
            let AttemptFinish { end, usage, changed, account, .. } = finish;
            fields.push(end_field(end));
            fields.push(("dur", duration(usage.milliseconds)));
            fields.extend(usage.micro_dollars.map(|dollars| ("cost", money(dollars)[1..].to_owned())));
            fields.extend(usage.tokens.map(|tokens| ("tokens", tokens.to_string())));
            fields.push(("changed", changed.len().to_string()));
            let found = findings_of(&account.report).count();
            fields.extend((found > 0).then(|| ("findings", found.to_string())));
            if !account.outside.is_empty() {
                fields.push(("outside", account.outside.len().to_string()));
            }
        }
        StepEvent::Faulted { fault, .. } => {
            fields.push(("why", fault.why.clone()));
        }
        StepEvent::Judged { receipt, broken_by, .. } => {
            match receipt.verdict.failure() {
                None => fields.push(("verdict", "passed".to_owned())),
                Some(failure) => {
                    fields.push(("verdict", "failed".to_owned()));
                    fields.push(("why", failure.to_string()));
                }
            }
            fields.extend(broken_by.as_ref().map(|step| ("broken_by", step.clone())));
            fields.push(("dur", duration(receipt.milliseconds)));
            if let Some(opinion) = &receipt.opinion {
                fields.push(("judge", format!("{} ({})", opinion.by, opinion.weight.word())));
                fields.push(("opinion", opinion.answer.word().to_owned()));
            }
        }
    }
    fields
}

fn words(fields: &[(&str, String)]) -> String {
    let words = fields.iter().map(|(name, value)| format!("{name}={}", shell_word(value)));
    words.collect::<Vec<_>>().join(" ")
}

fn end_field(end: &AttemptEnd) -> (&'static str, String) {
    match end {
        AttemptEnd::Exited(code) => ("exit", code.to_string()),
        AttemptEnd::Signalled(signal) => ("signal", signal.to_string()),
        AttemptEnd::TimedOut(_)
        | AttemptEnd::Lost
        | AttemptEnd::Stopped
        | AttemptEnd::Parked { .. }
        | AttemptEnd::Faulted(_) => ("end", end_words(end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_durations_are_said_in_the_largest_unit_that_fits() {
        let ages = [0, 59, 60, 3599, 3600, 86_399, 86_400, 200_000].map(|seconds| age(0, seconds * 1000));
        assert_eq!(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 day", "2 days"]);
        assert_eq!(age(5000, 0), "0 s", "a clock that was set back yields no negative age");
        assert_eq!([4100, 421_000, 7_380_000].map(duration), ["4.1s", "7m01s", "2h03m"]);
    }

    #[test]
    fn what_nobody_says_is_not_said() {
        let usage = |micro_dollars, tokens| Usage { micro_dollars, tokens, milliseconds: 1 };
        assert_eq!(spent(usage(None, None)), "");
        assert_eq!(spent(usage(Some(615_001), None)), "$0.62");
        assert_eq!(spent(usage(Some(0), Some(12_345))), "$0.00, 12k tokens");
        assert_eq!(spent(usage(None, Some(900))), "900 tokens");
    }

    #[test]
    fn an_event_is_one_line_of_words() {
        let finished = Event::Step {
            step: "fix".to_owned(),
            event: StepEvent::Finished(AttemptFinish {
                attempt: 3,
                end: AttemptEnd::TimedOut(9),
                output: None,
                usage: Usage { tokens: Some(7), micro_dollars: Some(360_000), milliseconds: 421_000 },
                changed: vec!["a".to_owned()],
                account: planwright_engine::api::Account::default(),
            }),
        };
        assert_eq!(place("it", &finished), "it/fix");
        assert_eq!(
            fields(&finished),
            "attempt=3 end='timed out after 9 s' dur=7m01s cost=0.36 tokens=7 changed=1"
        );
        let answer = AskAnswer::Skip { reason: "two\nlines".to_owned() };
        let answered = |ask: &str| Event::Ask {
            ask: ask.to_owned(),
            event: AskEvent::Answered { answer: answer.clone(), by: "ada".to_owned() },
        };
        assert_eq!(place("it", &answered("fix/2")), "it/fix");
        assert_eq!(place("it", &answered("run/budget/1")), "it");
        assert_eq!(fields(&answered("fix/2")), r"answer=$'skipped: two\nlines' by=ada");
    }
}
