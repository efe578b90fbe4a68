//! What a person sees before a run starts, and their answer. Nothing starts without their approval of both the plan
//! and the agent commands.

use planwright_engine::api::{AgentGap, Contract, Missing, Start};

use super::{Subject, named};
use crate::interaction::confirm::{ConfirmPrompt, ask, say_approved};
use crate::output::wording;
use crate::output::{Exit, Failure, Out, Table, Tone, clean_line, shell_word};

/// Has a plan approved by the person who starts it, with why it is not approved already. A run of another text of it ends then.
pub(super) fn approve(
    subject: &Subject<'_>,
    missing: Option<&Missing>,
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    warn_of_missing_agents(subject, out);
    let mut live = None;
    let mut exit = Exit::Person;
    if let Some(Missing::Plan { lapsed, trip, live: run }) = missing {
        if let Some(trip) = trip {
            let word = out.palette().paint(Tone::Attention, "held");
            out.line(&format!("{word}  {}: needs a new approval", clean_line(&trip.to_string())));
        }
        for moved in lapsed {
            let word = out.palette().paint(Tone::Attention, "lapsed");
            out.line(&format!("{word}  {}", clean_line(moved)));
            exit = Exit::Moved;
        }
        live = run.as_deref();
    }
    let runnable = &subject.runnable;
    let (full, short) = (runnable.digest.to_string(), runnable.digest.short());
    let way = confirm(
        subject,
        Confirmed {
            what: subject.name.clone(),
            full: &full,
            question: &format!("Approve {short} and start?"),
            exit,
            hint: "review it; nothing was started",
        },
        out,
    )?;
    let approved = runnable.approve_start(way, live)?;
    out.warn_all(&approved.complaints);
    let Some(by) = approved.by else { return Ok(()) };
    say_approved(&short, (&by, way), out);
    if approved.missing > 0 {
        let more = wording::number(approved.missing as usize, "approval");
        let message = format!("{} needs {more} more", subject.name);
        return Err(Failure::new(Exit::Person, message).hint(format!("rule: {}", approved.rule)));
    }
    Ok(())
}

/// What the person who starts a plan is asked about.
struct Confirmed<'a> {
    what: String,
    full: &'a str,
    question: &'a str,
    exit: Exit,
    hint: &'a str,
}

fn confirm(
    subject: &Subject<'_>,
    confirmed: Confirmed<'_>,
    out: &mut Out<'_>,
) -> Result<&'static str, Failure> {
    let Confirmed { what, full, question, exit, hint } = confirmed;
    let words = subject.args.words();
    let matter = ConfirmPrompt {
        what,
        full,
        question,
        exit,
        hint,
        command: &words.iter().map(String::as_str).collect::<Vec<_>>(),
        steps: &subject.runnable.plan.steps,
        rev: subject.args.rev.as_deref(),
        by: subject.args.by,
    };
    ask(&matter, out)
}

/// Prints the earlier approvals that a run starts with.
pub(super) fn say_begun(subject: &Subject<'_>, start: &Start, out: &mut Out<'_>) {
    let Start::Begun(_, _, approvals) = start else { return };
    warn_of_missing_agents(subject, out);
    for approval in approvals {
        say_approved(&subject.runnable.digest.short(), (&approval.by, &approval.way), out);
    }
}

/// Asks for a new approval if the agent commands changed since the run was approved.
pub(super) fn renew(subject: &Subject<'_>, missing: &Missing, out: &mut Out<'_>) -> Result<(), Failure> {
    let Missing::Agents { run, digest, changes } = missing else { return Ok(()) };
    let word = out.palette().paint(Tone::Attention, "lapsed");
    out.line(&format!("{word}  agent commands changed since approval:"));
    for change in changes {
        let target = clean_line(&change.target);
        out.line(&format!("  {target}  was  {}", command_line(&change.before)));
        out.line(&format!("  {}  now  {}", " ".repeat(target.chars().count()), command_line(&change.now)));
    }
    out.line("");
    warn_of_missing_agents(subject, out);
    // The plan digest doesn't cover these commands, so they have their own.
    let way = confirm(
        subject,
        Confirmed {
            what: format!("the list of agent commands of {}", subject.name),
            full: digest,
            question: "Approve the new commands and resume?",
            exit: Exit::Moved,
            hint: "check planwright.toml or restore the commands; nothing was started",
        },
        out,
    )?;
    let by = run.approve_agents(way)?;
    say_approved(&digest[..8], (&by, way), out);
    Ok(())
}

/// Prints what is approved: every step, who does it, and what must pass.
pub(super) fn print_plan(subject: &Subject<'_>, out: &mut Out<'_>) {
    let plan = subject.runnable.plan;
    let name = out.palette().paint(Tone::Strong, &clean_line(&subject.name));
    out.line(&format!("{name}  {}   {}", clean_line(&plan.title), subject.runnable.digest.short()));
    let mut table = Table::new();
    for step in &plan.steps {
        let must = match &step.contract {
            Contract::Shell { command, .. } => format!("must pass: {}", command.trim().replace('\n', "; ")),
            Contract::Manual => "you confirm it".to_owned(),
        };
        let after: Vec<String> =
            step.needs.iter().map(|&place| plan.steps[place].number.to_string()).collect();
        let after = if after.is_empty() { String::new() } else { format!("after {}", after.join(", ")) };
        let number = format!("  {}", step.number);
        table.row([number, step.id.clone(), step.title.clone(), step.target.clone(), after, must]);
    }
    // Never truncate what will be approved.
    let text = table.text(out.palette(), None);
    out.data(&text);
    for step in plan.steps.iter().filter(|step| !step.env.is_empty()) {
        out.line(&clean_line(&format!("  {} runs with {}", named(step), step.env.join(", "))));
    }
    for step in &plan.steps {
        if let Some(setup) = &step.setup {
            let setup = setup.trim().replace('\n', "; ");
            out.line(&clean_line(&format!("  {} setup: {setup}", named(step))));
        }
    }
    for (key, words) in subject.runnable.commands() {
        out.line(&format!("  {}", clean_line(&wording::named_work(&key, &words))));
    }
    out.line("");
    out.flush();
}

fn command_line(command: &[String]) -> String {
    match command {
        [] => "none".to_owned(),
        _ => command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
    }
}

/// Warns about steps without an available agent, with a fix.
pub(super) fn warn_of_missing_agents(subject: &Subject<'_>, out: &mut Out<'_>) {
    for gap in subject.runnable.agent_gaps() {
        match gap {
            AgentGap::NoCommand { target, agent, steps } => {
                let say = match agent {
                    Some(name) => format!("[agents.{name}]\n    command = [\"claude\", \"--print\"]"),
                    None => format!("[roles]\n    {target} = \"claude\""),
                };
                out.warn(&format!(
                    "agent `{target}` has no command, so {} will need you; add to planwright.toml\n    {say}",
                    subject.named(&steps)
                ));
            }
            AgentGap::NotInstalled { target, program, steps } => out.warn(&format!(
                "`{program}` for `{target}` is not installed, so {} will need you; install it, or use another agent:\n    \
                 planwright config set roles.{target} NAME",
                subject.named(&steps)
            )),
        }
    }
}
