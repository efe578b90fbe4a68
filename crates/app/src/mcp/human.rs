//! Tools for people who talk to planwright through an agent: what needs them, and their decisions. A model writes the
//! arguments, so a decision counts only after the person confirms it in a client dialog or types the command.
//! Approval is not offered.

use planwright_engine::api::{
    AskAnswer, Blocker, Confirmation, Identity, Missing, PlanRun, Readiness, Right, RunAsk, RunnablePlan,
    Start, StartOptions, StopMode, budget_answer,
};
use planwright_engine::api::{StatsScope, seconds_of};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::person::PersonQuestion;
use super::shared::{One, PLAN_GET, PLAN_LIST, refusal};
use super::tool::{McpTool, ToolEffect, ToolError, ToolOutcome, ToolReply, ToolRequest, ToolResult, schema};
use crate::output::wording;

pub(super) const INSTRUCTIONS: &str = "For the person you talk to: what needs them in their plans and runs, and \
    their decisions. Decide nothing for them: the person confirms each decision in a dialog or types it.";

pub(super) const TOOLS: &[McpTool] = &[
    McpTool {
        name: "inbox_list",
        about: "List what needs the person: questions of runs and pending reviews, with the commands that answer each.",
        effect: ToolEffect::Reads,
        schema: schema::<Nothing>,
        call: inbox,
    },
    McpTool {
        name: "ask_answer",
        about: "Answer a question of a run for the person. They confirm it in a dialog of their client, or get the command to type.",
        effect: ToolEffect::Decides,
        schema: schema::<Answering>,
        call: answer,
    },
    McpTool {
        name: "run_start",
        about: "Start an approved plan, or resume its run, after the person confirms. Approves nothing.",
        effect: ToolEffect::Decides,
        schema: schema::<One>,
        call: start,
    },
    McpTool {
        name: "run_stop",
        about: "Pause a run after the person confirms. Nothing is lost; run_start resumes it.",
        effect: ToolEffect::Decides,
        schema: schema::<Stopping>,
        call: stop,
    },
    McpTool {
        name: "plan_stats",
        about: "Show success rates, retries, waiting times, contracts that never failed and missing tools.",
        effect: ToolEffect::Reads,
        schema: schema::<Counting>,
        call: stats,
    },
    PLAN_LIST,
    PLAN_GET,
];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answering {
    /// PLAN, or PLAN/STEP
    id: String,
    answer: Said,
    /// the hint of retry or retry-step, the reason of skip or revise, the amount of budget ($1.50, 50k tokens, 10 min)
    text: Option<String>,
    /// the step that retry-step has done again, by number or id
    step: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Said {
    Retry,
    RetryStep,
    TakeOver,
    Confirm,
    Skip,
    Revise,
    Stop,
    Budget,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stopping {
    /// name or path of the plan
    id: String,
    /// end running attempts instead of waiting for them
    #[serde(default)]
    now: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Counting {
    /// only this plan
    id: Option<String>,
    /// period, such as 7d
    since: Option<String>,
}

fn inbox(call: &ToolRequest<'_>) -> ToolResult {
    call.read::<Nothing>()?;
    let inbox = call.session.workspace()?.inbox_now()?;
    let asks = inbox.asks.into_iter().map(
        |ask| json!({"id": ask.subject, "reason": ask.words, "text": ask.text, "commands": ask.answers}),
    );
    let reviews = inbox.reviews.into_iter().map(|review| {
        json!({
            "plan": review.plan,
            "revision": review.revision,
            "state": review.state,
            "proposed_by": review.by,
            "command": format!("planwright review {}", wording::word(&review.path)),
        })
    });
    let evicted = inbox.evicted.into_iter().map(|evicted| {
        let command = evicted.command().command;
        json!({"plan": evicted.plan, "why": evicted.why, "into": evicted.into, "command": command})
    });
    let [asks, reviews, evicted]: [Vec<Value>; 3] = [asks.collect(), reviews.collect(), evicted.collect()];
    Ok(ToolReply::data(&json!({"asks": asks, "reviews": reviews, "evicted": evicted})).into())
}

/// The newest run of the plan that is meant, with the step, where one is.
fn found(call: &ToolRequest<'_>, id: &str) -> Result<PlanRun, ToolError> {
    let (path, step) = match (call.session.plan(id), id.rsplit_once('/')) {
        (Ok(plan), _) => (plan, None),
        (Err(_), Some((plan, step))) if !plan.is_empty() => (call.session.plan(plan)?, Some(step)),
        (Err(trouble), _) => return Err(trouble),
    };
    let workspace = call.session.workspace()?;
    let run = workspace.latest_run(&path, step)?;
    let name = workspace.relative(&path);
    run.ok_or_else(|| ToolError(format!("{name} has not been run")))
}

fn answer(call: &ToolRequest<'_>) -> ToolResult {
    let Answering { id, answer: word, text, step } = call.read()?;
    let text = text.unwrap_or_default();
    let answer = meant(word, &text, step.as_deref())?;
    let run = found(call, &id)?;
    let ask = asked(&run)?;
    let subject = ask.subject.clone();
    if !ask.fits(&answer) {
        // The words are those of the tool, which are options only at a terminal.
        let fitting = ask.options().replace("--", "");
        return Err(ToolError(format!("{subject} doesn't accept this answer; use {fitting}")));
    }
    let command = typed(&subject, word, &text, step.as_deref());
    let question = format!(
        "planwright: {subject} asks ({}):\n\n{}\nThe answer that would be recorded as yours:\n\n{}\n{}\nIt is the same as: {command}",
        ask.reason.words(),
        wording::indented(&ask.text),
        wording::indented(&wording::answer_words(&answer)),
        effect(&answer),
    );
    let act = move |by: &str| {
        let next = match run.confirmed(Confirmation::by(by, Right::Answer)?).answer(&ask, answer)?.driven_by {
            Some(_) => "its run continues",
            None => "run_start resumes its run",
        };
        Ok(ToolReply::text(format!("{subject} was answered, confirmed by the person; {next}.")))
    };
    Ok(ToolOutcome::Ask(Box::new(PersonQuestion::new((question, command), act))))
}

/// Reads the answer.
fn meant(word: Said, text: &str, step: Option<&str>) -> Result<AskAnswer, ToolError> {
    let reason = || match text.trim() {
        "" => Err(ToolError::new("missing reason: pass it as `text`")),
        text => Ok(text.to_owned()),
    };
    Ok(match word {
        Said::Retry => AskAnswer::Retry { hint: text.trim().to_owned() },
        Said::RetryStep => AskAnswer::RetryStep {
            step: step.ok_or_else(|| ToolError::new("missing step: pass it as `step`"))?.to_owned(),
            hint: text.trim().to_owned(),
        },
        Said::TakeOver => AskAnswer::TakeOver,
        Said::Confirm => AskAnswer::Confirm,
        Said::Skip => AskAnswer::Skip { reason: reason()? },
        Said::Revise => AskAnswer::Revise { reason: reason()? },
        Said::Stop => AskAnswer::Stop,
        Said::Budget => {
            let no_amount = || ToolError(format!("invalid amount `{text}`; use $1.50, 50k tokens or 10 min"));
            budget_answer(text).ok_or_else(no_amount)?
        }
    })
}

/// The effect of an answer, for the person who confirms.
fn effect(answer: &AskAnswer) -> String {
    match answer {
        AskAnswer::Retry { .. } => "planwright tries again.".to_owned(),
        AskAnswer::RetryStep { step, .. } => {
            format!("planwright has step {step} done again, and then runs the contract.")
        }
        AskAnswer::TakeOver => "You fixed it; planwright runs the contract.".to_owned(),
        AskAnswer::Confirm => "The step counts as done because you confirm it.".to_owned(),
        AskAnswer::Skip { .. } => {
            "planwright skips the step and continues with the steps that need it.".to_owned()
        }
        AskAnswer::Revise { .. } => "The run ends, and the plan is a draft again.".to_owned(),
        AskAnswer::Stop => "The run pauses until you run it again.".to_owned(),
        AskAnswer::Budget { micro_dollars, tokens, seconds } => {
            format!("Raise the budget by {}, {tokens} tokens, {seconds} s.", wording::money(*micro_dollars))
        }
    }
}

/// The command that a person types for the same.
fn typed(subject: &str, word: Said, text: &str, step: Option<&str>) -> String {
    let text = wording::word(text.trim());
    let flags = match word {
        Said::Retry if text == wording::word("") => "--retry".to_owned(),
        Said::Retry => format!("--retry --hint {text}"),
        Said::RetryStep => {
            let step = wording::word(step.unwrap_or_default());
            match text == wording::word("") {
                true => format!("--retry-step {step}"),
                false => format!("--retry-step {step} --hint {text}"),
            }
        }
        Said::TakeOver => "--take-over".to_owned(),
        Said::Confirm => "--confirm".to_owned(),
        Said::Skip => format!("--skip -m {text}"),
        Said::Revise => format!("--revise -m {text}"),
        Said::Stop => "--stop".to_owned(),
        Said::Budget => format!("--budget {text}"),
    };
    format!("planwright answer {} {flags}", wording::word(subject))
}

/// The question that is meant.
fn asked(run: &PlanRun) -> Result<RunAsk, ToolError> {
    let mut asks = run.asks();
    match asks.len() {
        1 => Ok(asks.remove(0)),
        0 => Err(ToolError(format!("no open question about {}; call inbox_list", run.name()))),
        _ => {
            let names: Vec<String> = asks.into_iter().map(|ask| ask.subject).collect();
            Err(ToolError(format!("several questions are open; pass one of: {}", names.join(", "))))
        }
    }
}

fn start(call: &ToolRequest<'_>) -> ToolResult {
    let One { id } = call.read()?;
    let path = call.session.plan(&id)?;
    let workspace = call.session.workspace()?;
    let name = workspace.relative(&path);
    let plan = workspace.plan_at(path)?;
    let Some(runnable) = plan.runnable()? else { return Err(refusal(plan.verified()?, "so it cannot run")) };
    // The person is known only after they confirm; nothing starts before that.
    let question = match runnable.readiness(&StartOptions::by(call.session.agent()))? {
        Readiness::Begin => {
            let digest = runnable.digest.short();
            format!("planwright: start {name}, approved as {digest}?\n{}", work(&runnable))
        }
        Readiness::Proven(_) => return Ok(ToolReply::text(proven_words(&name)).into()),
        Readiness::Unproven(_) => {
            format!(
                "planwright: {name} was done for another tree. Run its contracts again?\n{}",
                work(&runnable)
            )
        }
        Readiness::Resume(_) => format!("planwright: resume the run of {name}?\n{}", work(&runnable)),
        Readiness::Follow(_, holder) => return Ok(ToolReply::text(driven(&name, &holder)).into()),
        Readiness::NeedsApproval(missing) => return Err(by_hand(&name, &missing_words(&name, &missing))),
        Readiness::NeedsRetry => {
            return Err(by_hand(&name, &(format!("{name} has failed"), "run --retry")));
        }
        Readiness::Blocked(blocker) => return Err(blocked(&name, blocker)),
    };
    let command = format!("planwright run {}", wording::word(&name));
    let drivers = std::sync::Arc::clone(&call.session.drivers);
    let act = move |by: &str| {
        // Everything is checked again in the transaction that starts the run.
        let Some(runnable) = plan.runnable()? else { return Err(changed(&name)) };
        let options = StartOptions { leave: drivers.leave(), ..StartOptions::by(Identity::person(by)) };
        match runnable.start(&options)? {
            Start::Begun(run, driving, _) | Start::Resumed(run, driving) => {
                drivers.drive(run, driving)?;
                Ok(ToolReply::text(under_way_words(&name)))
            }
            Start::Proven(_) => Ok(ToolReply::text(proven_words(&name))),
            Start::Lapsed(proven) => {
                let failed = proven.run.lapsed().join(", ");
                let why = format!("{name} is not done: contracts fail on the tree that is there ({failed})");
                Err(by_hand(&name, &(why, "run --retry")))
            }
            Start::Following(_, holder) => Ok(ToolReply::text(driven(&name, &holder))),
            Start::NeedsApproval(missing) => Err(by_hand(&name, &missing_words(&name, &missing))),
            Start::NeedsRetry => Err(by_hand(&name, &(format!("{name} has failed"), "run --retry"))),
            Start::Blocked(blocker) => Err(blocked(&name, blocker)),
        }
    };
    Ok(ToolOutcome::Ask(Box::new(PersonQuestion::new((question, command), act))))
}

fn proven_words(name: &str) -> String {
    format!("{name} is done, proven for this tree.")
}

fn driven(name: &str, holder: &str) -> String {
    format!("{name} is already running ({holder}).")
}

/// What only a person at a terminal can fix: why, and the command.
fn by_hand(name: &str, (why, verb): &(String, &str)) -> ToolError {
    ToolError(format!(
        "{why}. Nothing was started. Ask the person to type:\n  planwright {verb} {}",
        wording::word(name)
    ))
}

/// What has to be approved first, and the command for it.
fn missing_words(name: &str, missing: &Missing) -> (String, &'static str) {
    match missing {
        Missing::Agents { .. } => (format!("the agent commands of {name} changed since approval"), "run"),
        Missing::Plan { live: Some(_), .. } => {
            (format!("{name} has an unfinished run of an earlier revision"), "run")
        }
        Missing::Plan { trip: Some(trip), .. } => (format!("{name} needs a new approval: {trip}"), "review"),
        Missing::Plan { lapsed, .. } if !lapsed.is_empty() => {
            (format!("the approval lapsed: {}", lapsed.join("; ")), "review")
        }
        Missing::Plan { .. } => (format!("{name} is not approved"), "review"),
    }
}

fn blocked(name: &str, blocker: Blocker) -> ToolError {
    match blocker {
        Blocker::Elsewhere(error) => ToolError(format!("{}. Nothing was started", ToolError::from(error).0)),
        Blocker::Needs { .. } | Blocker::OtherDigest => changed(name),
    }
}

fn changed(name: &str) -> ToolError {
    ToolError(format!("{name} changed in the meantime. Nothing was started"))
}

fn under_way_words(name: &str) -> String {
    format!(
        "{name} is running, confirmed by the person. This server runs it until the session ends; then `planwright \
         run {}` resumes it. plan_get shows its state, inbox_list its questions.",
        wording::word(name)
    )
}

/// A summary for the person who confirms.
fn work(runnable: &RunnablePlan<'_>) -> String {
    let plan = runnable.plan;
    let mut text = format!("{}: {}\n", plan.title, wording::number(plan.steps.len(), "step"));
    for (key, words) in runnable.commands() {
        text.push_str(&format!("{}\n", wording::named_work(&key, &words)));
    }
    text.push_str("Agents run as you.\n");
    wording::indented(&text)
}

fn stop(call: &ToolRequest<'_>) -> ToolResult {
    let Stopping { id, now } = call.read()?;
    let run = found(call, &id)?;
    let name = run.run.row.plan.to_string_lossy().into_owned();
    if run.is_over() {
        return Err(ToolError(format!("the run of {name} is not running")));
    }
    let (mode, flag) = if now { (StopMode::Now, " --now") } else { (StopMode::AfterAttempts, "") };
    let busy = run.run.under_way();
    let busy = if busy.is_empty() { "nothing".to_owned() } else { busy.join("; ") };
    let question =
        format!("planwright: pause the run of {name}?\n\n{}", wording::indented(&format!("Running: {busy}")));
    let command = format!("planwright stop {}{flag}", wording::word(&name));
    let act = move |by: &str| {
        run.confirmed(Confirmation::by(by, Right::Stop)?).stop(mode)?;
        Ok(ToolReply::text(format!("{name} is paused, confirmed by the person; run_start resumes it.")))
    };
    Ok(ToolOutcome::Ask(Box::new(PersonQuestion::new((question, command), act))))
}

fn stats(call: &ToolRequest<'_>) -> ToolResult {
    let Counting { id, since } = call.read()?;
    let plan = id.map(|id| call.session.plan(&id)).transpose()?;
    let since_ms = match since {
        None => 0,
        Some(text) => {
            let no_time = || ToolError(format!("`{text}` is not a duration; use 7d, 12h or 30min"));
            let seconds = seconds_of(&text).filter(|&seconds| seconds > 0).ok_or_else(no_time)?;
            wording::now().saturating_sub(seconds.saturating_mul(1000))
        }
    };
    let counted = call.session.workspace()?.count(&StatsScope { since_ms, plan })?;
    let mut data = serde_json::to_value(&counted.stats).map_err(ToolError::from)?;
    data["runs_that_could_not_be_read"] = json!(counted.unread);
    Ok(ToolReply::data(&data).into())
}
