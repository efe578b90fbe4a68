//! One recorded attempt: prompt, agent output and contract output.

use planwright_engine::api::{AttemptPart, AttemptView, LogView, RecordedPart, RunLog};

use super::Args;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean, clean_line};

/// The text for a deleted output.
const NO_LONGER_KEPT: &str = "no longer kept";

/// The part that was asked for.
const fn part_of(args: &Args) -> AttemptPart {
    match (args.prompt, args.agent) {
        (true, _) => AttemptPart::Prompt,
        (false, true) => AttemptPart::Agent,
        (false, false) => AttemptPart::Contract,
    }
}

/// What is missing, and why.
const fn missing(part: AttemptPart) -> &'static str {
    match part {
        AttemptPart::Prompt => "no prompt was recorded",
        AttemptPart::Agent => "no agent output: no agent was started, or it is still running",
        AttemptPart::Contract => "no contracts ran",
    }
}

/// Shows one part: of the attempt that was named, or of the last that has it.
pub(super) fn part(args: &Args, log: &RunLog, out: &mut Out<'_>) -> Result<Response, Failure> {
    let part = part_of(args);
    let help = || NextCommand::new(["planwright", "help", "log"]);
    if args.raw && out.settings().is_json {
        return Err(Failure::new(Exit::Usage, "--raw cannot be combined with --json").next(help()));
    }
    if args.raw && out.settings().stdout.is_terminal {
        return Err(Failure::new(Exit::Usage, "raw output can contain terminal control codes")
            .hint("redirect it (`| cat -v`, `> file`), or omit --raw to escape control codes")
            .next(help()));
    }
    let next = NextCommand::new(["planwright", "log", log.name()]);
    let bytes = match log.part(part)? {
        RecordedPart::Kept(bytes) => bytes,
        RecordedPart::Missing => {
            return Err(Failure::new(Exit::No, format!("{}: {}", args.plan, missing(part))).next(next));
        }
        RecordedPart::Dropped(hash) => {
            let message = format!("{}: {NO_LONGER_KEPT}; its hash is {hash}", args.plan);
            return Err(Failure::new(Exit::No, message)
                .hint("its output was deleted by archive --outputs")
                .next(next));
        }
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match args.raw {
        true => out.bytes(&bytes),
        false => out.data(&clean(&text)),
    }
    Ok(Response::done("log", &LogView { text: Some(text), ..log.head() }))
}

/// Prints everything that is kept of an attempt on one page.
pub(super) fn print(log: &RunLog, attempt: &AttemptView, out: &mut Out<'_>) {
    let name = format!("{}/{}@{}", log.name(), attempt.step, attempt.attempt);
    let what = if attempt.is_claim { "claimed by a mark in the file" } else { "" };
    let title = clean_line(&name).into_owned();
    out.line(format!("{}   {what}", out.palette().paint(Tone::Strong, &title)).trim_end());
    for recorded in log.events() {
        let said = format!("{} {}", recorded.event.name(), super::detail(log, recorded));
        out.line(&format!("  {}", clean_line(&said)));
    }
    for (name, text) in facts(attempt) {
        out.line(&format!("  {name} {}", clean_line(&text)));
    }
    let parts = [
        (AttemptPart::Prompt, "prompt", &attempt.prompt),
        (AttemptPart::Agent, "agent output", &attempt.output),
        (AttemptPart::Contract, "contract output", &attempt.contract),
    ];
    for (part, title, text) in parts {
        let missing = if attempt.dropped.contains(&part) { NO_LONGER_KEPT } else { missing(part) };
        match message(attempt).filter(|_| part == AttemptPart::Agent) {
            Some(message) => {
                section(title, Some(message), missing, out);
                out.line(&format!("    (full output: planwright log {} --agent)", wording::word(&name)));
            }
            None => section(title, text.as_deref(), missing, out),
        }
    }
    for (title, lines) in [("agent reports", &attempt.reported), ("review findings", &attempt.findings)] {
        if !lines.is_empty() {
            section(title, Some(&lines.join("\n")), "", out);
        }
    }
}

/// The agent's last message, where its output is not for people: then no line of it is the message's first.
fn message(attempt: &AttemptView) -> Option<&str> {
    let message = attempt.account.said.trim();
    let first = message.lines().next()?.trim();
    let output = attempt.output.as_deref();
    let is_plain = output.is_some_and(|output| output.lines().any(|line| line.trim() == first));
    (!is_plain).then_some(message)
}

/// The session and how a person looks into it, the model, the tokens, and what was out of scope, each with its name.
fn facts(attempt: &AttemptView) -> Vec<(&'static str, String)> {
    let account = &attempt.account;
    let mut facts = Vec::new();
    if let Some(session) = &attempt.session {
        let resume = attempt.resume.as_ref().map(|command| format!("   ({command})"));
        facts.push(("session", format!("{session}{}", resume.unwrap_or_default())));
    }
    facts.extend(attempt.model.clone().map(|model| ("model", model)));
    facts.extend(account.tokens.map(|tokens| {
        let said = format!("{} in ({} cached), {} out", tokens.input, tokens.cached, tokens.output);
        ("tokens", said)
    }));
    facts.extend(account.declined.clone().map(|why| ("refused by the model:", why)));
    facts.extend((!account.outside.is_empty()).then(|| ("outside its scope", account.outside.join(", "))));
    facts.extend(account.refused.iter().map(|refused| ("scope", refused.line())));
    facts
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
