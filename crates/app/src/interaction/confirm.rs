//! How a person approves; shared by `run`, `approve` and `review`. Only an explicit approval of exactly this digest
//! counts, and never one from an agent.

use planwright_engine::api::{Caller, Contract, Identity, ResolvedBy, Right, Step};

use crate::interaction::choice::{Choice, Pressed, can_ask, choose};
use crate::output::{Exit, Failure, NextCommand, Out, Tone, clean, clean_line};

/// How many digits of a digest are enough.
const DIGITS_MIN: usize = 8;

/// What a person is to approve.
pub(crate) struct ConfirmPrompt<'a> {
    pub(crate) what: String,
    /// The name of exactly this, in hex.
    pub(crate) full: &'a str,
    /// What they are asked.
    pub(crate) question: &'a str,
    /// The exit code without approval.
    pub(crate) exit: Exit,
    /// The hint without approval.
    pub(crate) hint: &'a str,
    /// The command that asks: `planwright run hello`.
    pub(crate) command: &'a [&'a str],
    /// The steps of the plan, for who wants to see all of it.
    pub(crate) steps: &'a [Step],
    /// The digest that was typed.
    pub(crate) rev: Option<&'a str>,
    /// By what the plan was chosen.
    pub(crate) by: ResolvedBy,
}

/// In which way a person said yes.
pub(crate) type ConfirmMode = &'static str;

pub(crate) const AT_TERMINAL: ConfirmMode = "terminal";

/// Asks a person to approve, or fails.
pub(crate) fn ask(matter: &ConfirmPrompt<'_>, out: &mut Out<'_>) -> Result<ConfirmMode, Failure> {
    let ConfirmPrompt { what, full, question, exit, hint, command, .. } = matter;
    let short = &full[..DIGITS_MIN];
    let by_hand = NextCommand::new(command.iter().copied().chain(["--rev", short]));
    Caller::of_process()
        .may(Right::Approve)
        .map_err(|error| error.hint(format!("a person runs: {}", by_hand.command)))?;
    if let Some(rev) = matter.rev {
        return match full.starts_with(rev) {
            true if rev.len() >= DIGITS_MIN => Ok("rev"),
            true => {
                Err(Failure::new(Exit::Usage, format!("`{rev}` is too short to name a digest")).next(by_hand))
            }
            false => Err(Failure::new(Exit::Moved, format!("{what} is {short}, not {rev}"))
                .hint(*hint)
                .next(NextCommand::new(command.iter().copied()))),
        };
    }
    let unapproved = || Failure::new(*exit, format!("{what} is not approved (digest {short})"));
    // Agents can write the marker, so it never selects the plan to approve.
    if matter.by != ResolvedBy::Argument {
        let hint = "name the plan: a decision never follows the worktree's marker";
        return Err(unapproved().hint(hint).next(by_hand));
    }
    // With --json nothing was shown that could be approved.
    if !can_ask(out) {
        return Err(unapproved().hint(*hint).next(by_hand));
    }
    let choices = [
        Choice::new("[y]es", "approves exactly this digest"),
        Choice::new("[N]o", "approves and starts nothing"),
        Choice::new("[d]etails", "shows every task and contract in full"),
    ];
    loop {
        match choose(question, &choices, out)? {
            Pressed::Key('y') => return Ok(AT_TERMINAL),
            Pressed::Key('d') => {
                print_detail(matter.steps, out);
                out.flush();
            }
            Pressed::Key(_) | Pressed::Nothing => break,
        }
    }
    Err(Failure::new(*exit, format!("{what} is not approved; nothing was started"))
        .next(NextCommand::new(command.iter().copied())))
}

/// Who is at this terminal: a person, or the agent that the environment tells of.
pub(crate) fn who() -> Identity {
    Caller::of_process().identity()
}

/// Prints the approval and how it was given.
pub(crate) fn say_approved(short: &str, (by, way): (&str, &str), out: &mut Out<'_>) {
    let how = match way {
        AT_TERMINAL => "at this terminal",
        "policy" => "by policy",
        _ => "by --rev",
    };
    let word = out.talk_palette().paint(Tone::Good, "approved");
    out.talk(&format!("{word}  {short}  by {} {how}", clean_line(by)));
}

/// Task and contract of every step, in full.
fn print_detail(steps: &[Step], out: &mut Out<'_>) {
    let indented =
        |text: &str| clean(text.trim_end()).lines().map(|line| format!("    {line}\n")).collect::<String>();
    for step in steps {
        let title = format!("{} {}  {}  for {}", step.number, step.id, step.title, step.target);
        let head = out.palette().paint(Tone::Strong, &clean_line(&title));
        out.line(&format!("\n{head}\n  task"));
        out.data(&indented(&step.task));
        match &step.contract {
            Contract::Shell { command, expect } => {
                out.line(&format!("  contract, passes with exit code {expect}"));
                out.data(&indented(command));
            }
            Contract::Manual => out.line("  contract: you confirm it"),
        }
        out.line(&format!("  on_fail: {}", step.on_fail));
    }
    out.line("");
}
