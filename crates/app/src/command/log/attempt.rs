//! One recorded attempt: prompt, agent output and contract output.

use planwright_engine::core::agent::account::Account;
use planwright_engine::core::agent::finding;
use planwright_engine::core::agent::profile;
use planwright_engine::core::agent::report;
use planwright_engine::core::agent::report::ReportLine;
use planwright_engine::core::run::event::{AttemptStart, Event, Judged, StepEvent};
use planwright_engine::core::run::receipt::Blob;
use planwright_engine::run;
use planwright_engine::run::{Run, Runs};
use planwright_engine::store::journal;

use super::{Args, AttemptData, Log, Wanted};
use crate::interaction::target::RunOf;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean, clean_line};

/// The text for a deleted output.
const NO_LONGER_KEPT: &str = "no longer kept";

/// What can be kept of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Prompt,
    Agent,
    Contract,
}

impl Part {
    const fn of(args: &Args) -> Self {
        match (args.prompt, args.agent) {
            (true, _) => Self::Prompt,
            (false, true) => Self::Agent,
            (false, false) => Self::Contract,
        }
    }

    /// What is missing, and why.
    const fn missing(self) -> &'static str {
        match self {
            Self::Prompt => "no prompt was recorded",
            Self::Agent => "no agent output: no agent was started, or it is still running",
            Self::Contract => "no contracts ran",
        }
    }
}

/// The blob of a part, if this event has it.
fn kept(part: Part, event: &Event) -> Option<&Blob> {
    let Event::Step { event, .. } = event else { return None };
    match (part, event) {
        (Part::Prompt, StepEvent::Started(start)) => Some(&start.prompt),
        (Part::Agent, StepEvent::Finished(finish)) => finish.output.as_ref(),
        (Part::Contract, StepEvent::Judged { receipt, .. }) => Some(&receipt.output),
        (Part::Prompt | Part::Agent | Part::Contract, _) => None,
    }
}

/// Rejects an unknown attempt and lists the known ones.
pub(super) fn check(run: &Run, wanted: &Wanted) -> Result<(), Failure> {
    let (Some(step), Some(attempt)) = (&wanted.step, wanted.attempt) else { return Ok(()) };
    let own = run.events.iter().filter(|recorded| recorded.event.step() == Some(step));
    let mut known: Vec<u32> = own.filter_map(|recorded| recorded.event.attempt()).collect();
    known.sort_unstable();
    known.dedup();
    if known.contains(&attempt) {
        return Ok(());
    }
    let name = format!("{}/{step}", run.row.name);
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    let hint = match known.is_empty() {
        true => "no attempts yet".to_owned(),
        false => format!("its attempts are {}", known.join(", ")),
    };
    Err(Failure::new(Exit::Usage, format!("{name} has no attempt {attempt}"))
        .hint(hint)
        .next(NextCommand::new(["planwright", "log", name.as_str()])))
}

/// Shows one part: of the attempt that was named, or of the last that has it.
pub(super) fn part(
    args: &Args,
    found: &RunOf,
    wanted: &Wanted,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let part = Part::of(args);
    let RunOf { runs, run, .. } = found;
    if args.raw && out.settings().is_json {
        return Err(Failure::new(Exit::Usage, "--raw cannot be combined with --json")
            .next(NextCommand::new(["planwright", "help", "log"])));
    }
    if args.raw && out.settings().stdout.is_terminal {
        return Err(Failure::new(Exit::Usage, "raw output can contain terminal control codes")
            .hint("redirect it (`| cat -v`, `> file`), or omit --raw to escape control codes")
            .next(NextCommand::new(["planwright", "help", "log"])));
    }
    let mut of_run = run.events.iter().rev().filter(|recorded| wanted.has(&run.row.name, &recorded.event));
    let Some(blob) = of_run.find_map(|recorded| kept(part, &recorded.event)) else {
        return Err(Failure::new(Exit::No, format!("{}: {}", args.plan, part.missing()))
            .next(NextCommand::new(["planwright", "log", run.row.name.as_str()])));
    };
    let Some(bytes) = still_kept(runs, blob)? else {
        let message = format!("{}: {NO_LONGER_KEPT}; its hash is {}", args.plan, blob.0);
        let next = NextCommand::new(["planwright", "log", run.row.name.as_str()]);
        return Err(Failure::new(Exit::No, message)
            .hint("its output was deleted by archive --outputs")
            .next(next));
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match args.raw {
        true => out.bytes(&bytes),
        false => out.data(&clean(&text)),
    }
    let log = Log {
        plan: run.row.name.clone(),
        run: run.row.id.number(),
        events: Vec::new(),
        text: Some(text),
        attempt: None,
    };
    Ok(Response::done("log", &log))
}

/// Shows everything that is kept of an attempt on one page.
pub(super) fn whole(
    found: &RunOf,
    (step, attempt): (&str, u32),
    out: &mut Out<'_>,
) -> Result<AttemptData, Failure> {
    let RunOf { runs, run, .. } = found;
    let own = || {
        let events = run.events.iter().map(|recorded| &recorded.event);
        events.filter(|event| event.step() == Some(step) && event.attempt() == Some(attempt))
    };
    let name = format!("{}/{step}@{attempt}", run.row.name);
    let what = if Judged::from(attempt) == Judged::Claim { "claimed by a mark in the file" } else { "" };
    let title = clean_line(&name).into_owned();
    out.line(format!("{}   {what}", out.palette().paint(Tone::Strong, &title)).trim_end());
    let said = |event: &Event| format!("{} {}", event.name(), wording::detail(event));
    for event in own() {
        out.line(&format!("  {}", clean_line(&said(event))));
    }
    let account = own().find_map(account_of);
    let facts = account.map(|account| facts(account, own())).unwrap_or_default();
    for (name, text) in &facts {
        out.line(&format!("  {name} {}", clean_line(text)));
    }
    let mut texts = Vec::new();
    for (part, title) in
        [(Part::Prompt, "prompt"), (Part::Agent, "agent output"), (Part::Contract, "contract output")]
    {
        let blob = own().find_map(|event| kept(part, event));
        let text = text_of(runs, blob)?;
        let missing = if blob.is_some() { NO_LONGER_KEPT } else { part.missing() };
        match account.filter(|_| part == Part::Agent).and_then(|account| message(account, text.as_deref())) {
            Some(message) => {
                section(title, Some(message), missing, out);
                out.line(&format!("    (full output: planwright log {} --agent)", wording::word(&name)));
            }
            None => section(title, text.as_deref(), missing, out),
        }
        texts.push(text);
    }
    let reported: Vec<String> = account.map(reported).unwrap_or_default();
    if !reported.is_empty() {
        section("agent reports", Some(&reported.join("\n")), "", out);
    }
    let findings: Vec<String> = account
        .map(|account| report::findings(&account.report).map(finding::line).collect())
        .unwrap_or_default();
    if !findings.is_empty() {
        section("review findings", Some(&findings.join("\n")), "", out);
    }
    let [prompt, output, contract] = texts.try_into().unwrap_or_default();
    let session = account.and_then(|account| account.session.clone());
    let model = account.and_then(|account| account.model.clone());
    Ok(AttemptData {
        step: step.to_owned(),
        attempt,
        session,
        model,
        prompt,
        output,
        contract,
        reported,
        findings,
    })
}

/// The agent's last message, where its output is not for people: then no line of it is the message's first.
fn message<'a>(account: &'a Account, output: Option<&str>) -> Option<&'a str> {
    let message = account.said.trim();
    let first = message.lines().next()?.trim();
    let is_plain = output.is_some_and(|output| output.lines().any(|line| line.trim() == first));
    (!is_plain).then_some(message)
}

/// What is known of an attempt, if this event says it.
fn account_of(event: &Event) -> Option<&Account> {
    if let Event::Step { event: StepEvent::Finished(finish), .. } = event {
        Some(&finish.account)
    } else {
        None
    }
}

/// The session and how a person looks into it, the model, the tokens, and what was out of scope, each with its name.
fn facts<'e>(account: &Account, mut events: impl Iterator<Item = &'e Event>) -> Vec<(&'static str, String)> {
    let agent = events.find_map(|event| {
        if let Event::Step { event: StepEvent::Started(AttemptStart { agent, .. }), .. } = event {
            Some(agent.as_str())
        } else {
            None
        }
    });
    let profile = agent.and_then(profile::profile);
    let mut facts = Vec::new();
    if let Some(session) = &account.session {
        let resume = profile.and_then(|profile| Some((profile.program, profile.resume_words(session)?)));
        let resume = resume.map(|(program, words)| format!("   ({program} {})", words.join(" ")));
        facts.push(("session", format!("{session}{}", resume.unwrap_or_default())));
    }
    facts.extend(account.model.clone().map(|model| ("model", model)));
    facts.extend(account.tokens.map(|tokens| {
        let said = format!("{} in ({} cached), {} out", tokens.input, tokens.cached, tokens.output);
        ("tokens", said)
    }));
    facts.extend(account.declined.clone().map(|why| ("refused by the model:", why)));
    facts.extend((!account.outside.is_empty()).then(|| ("outside its scope", account.outside.join(", "))));
    facts.extend(account.refused.iter().map(|refused| ("scope", refused.line())));
    facts
}

/// What an agent reported, findings left out, one per line.
fn reported(account: &Account) -> Vec<String> {
    let lines = account.report.iter().filter_map(|line| match line {
        ReportLine::Note { text } => Some(format!("note  {text}")),
        ReportLine::Ask { text } => Some(format!("asks  {text}")),
        ReportLine::Finish { text } => Some(format!("reports done  {text}")),
        ReportLine::Discovered { title, text } => {
            Some(format!("found  {title}  {text}").trim_end().to_owned())
        }
        ReportLine::Finding(_) => None,
    });
    lines.collect()
}

fn text_of(runs: &Runs, blob: Option<&Blob>) -> Result<Option<String>, Failure> {
    let bytes = blob.map(|blob| still_kept(runs, blob)).transpose()?.flatten();
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The content of a blob; `None` if it was deleted.
fn still_kept(runs: &Runs, blob: &Blob) -> Result<Option<Vec<u8>>, Failure> {
    match runs.blob(blob) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(run::Error::Journal(journal::Error::Dropped { .. })) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn section(title: &str, text: Option<&str>, missing: &str, out: &mut Out<'_>) {
    out.line("");
    out.line(&out.palette().paint(Tone::Strong, title));
    match text {
        None => out.line(&format!("    ({missing})")),
        Some("") => out.line("    (nothing)"),
        Some(text) => {
            out.data(&wording::indented(text));
        }
    }
}
