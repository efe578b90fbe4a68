//! What a person sees before a run starts, and their answer. Nothing starts without their approval of both the plan
//! and the agent commands.

use std::collections::{BTreeMap, BTreeSet};

use planwright_engine::api::start::Start;
use planwright_engine::approval::{ApprovalRequest, Approvals};
use planwright_engine::core::agent::profile;
use planwright_engine::core::plan::verified::{Contract, Step};
use planwright_engine::core::run::event::AgentCommands;
use planwright_engine::core::run::schedule::{HUMAN, SHELL};
use planwright_engine::core::workspace::portfolio::CircuitBreaker;
use planwright_engine::run::{Run, RunApproval, Runs};
use planwright_engine::store::journal::blob_of;
use planwright_engine::system::program;
use planwright_engine::system::user::user;

use super::{AgentData, Subject, named};
use crate::interaction::confirm::{ConfirmPrompt, ask, say_approved, who};
use crate::output::wording;
use crate::output::{Exit, Failure, Out, Table, Tone, clean_line, shell_word};

/// Has a plan approved by the person who starts it, with why it is not approved already. A run of another text of it ends then.
pub(super) fn approve(
    subject: &Subject<'_>,
    runs: &Runs,
    (lapsed, trip, live): (&[String], Option<&CircuitBreaker>, Option<&Run>),
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    warn_of_missing_agents(subject, out);
    if let Some(trip) = trip {
        let word = out.palette().paint(Tone::Attention, "held");
        out.line(&format!("{word}  {}: needs a new approval", clean_line(&trip.to_string())));
    }
    for moved in lapsed {
        let word = out.palette().paint(Tone::Attention, "lapsed");
        out.line(&format!("{word}  {}", clean_line(moved)));
    }
    let decisions = Approvals::open(subject.project)?;
    approve_now(subject, (runs, &decisions), (live, !lapsed.is_empty()), out)
}

/// Prints the earlier approvals that a run starts with.
pub(super) fn say_begun(subject: &Subject<'_>, start: &Start, out: &mut Out<'_>) {
    let Start::Begun(_, _, approvals) = start else { return };
    warn_of_missing_agents(subject, out);
    for approval in approvals {
        let (by, way) = (approval.by.to_string(), approval.way.as_str());
        say_approved(&subject.digest.short(), (&by, way), out);
    }
}

/// Has the plan approved now, by the person who starts it.
fn approve_now(
    subject: &Subject<'_>,
    (runs, decisions): (&Runs, &Approvals),
    (live, has_lapsed): (Option<&Run>, bool),
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    let (full, words) = (subject.digest.to_string(), subject.args.words());
    let matter = ConfirmPrompt {
        what: subject.name.clone(),
        full: &full,
        question: &format!("Approve {} and start?", subject.digest.short()),
        exit: if has_lapsed { Exit::Moved } else { Exit::Person },
        hint: "review it; nothing was started",
        command: &words.iter().map(String::as_str).collect::<Vec<_>>(),
        steps: &subject.plan.steps,
        rev: subject.args.rev.as_deref(),
        by: subject.args.by,
    };
    let way = ask(&matter, out)?;
    if let Some(live) = live {
        // Its approval was for another text. It ends only now: without the right to approve, nobody may end a run.
        runs.cancel(live, "the plan was revised")?;
    }
    if !decisions.is_proposed(subject.path, &full)? {
        let proposed = decisions.propose(subject.path, subject.verified, &who())?;
        out.warn_all(&proposed.complaints);
        if proposed.rule.is_some() {
            return Ok(());
        }
    }
    let yes = ApprovalRequest {
        by: who(),
        way,
        note: String::new(),
        key: decisions.runs().project().config.approve.key.clone(),
    };
    let approved = decisions.approve(subject.path, &full, &yes)?;
    say_approved(&full[..8], (&approved.approval.by.to_string(), way), out);
    if approved.missing > 0 {
        let message =
            format!("{} needs {} more", subject.name, wording::number(approved.missing as usize, "approval"));
        return Err(Failure::new(Exit::Person, message).hint(format!("rule: {}", approved.approval.rule)));
    }
    Ok(())
}

/// Asks for a new approval if the agent commands changed since the run was approved.
pub(super) fn renew(
    subject: &Subject<'_>,
    runs: &Runs,
    (run, now): (&Run, &AgentCommands),
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    let word = out.palette().paint(Tone::Attention, "lapsed");
    out.line(&format!("{word}  agent commands changed since approval:"));
    let before = run.agents();
    let targets: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for target in targets.into_iter().filter(|&target| before.get(target) != now.get(target)) {
        let line = |agents: &AgentCommands| {
            let command = agents.get(target).filter(|command| !command.is_empty());
            command.map_or_else(|| "none".to_owned(), |command| command_line(command))
        };
        out.line(&format!("  {}  was  {}", clean_line(target), line(&before)));
        out.line(&format!("  {}  now  {}", " ".repeat(clean_line(target).chars().count()), line(now)));
    }
    out.line("");
    warn_of_missing_agents(subject, out);
    // The plan digest doesn't cover these commands, so they have their own.
    let (full, words) = (agents_name(&subject.digest.to_string(), now), subject.args.words());
    let matter = ConfirmPrompt {
        what: format!("the list of agent commands of {}", subject.name),
        full: &full,
        question: "Approve the new commands and resume?",
        exit: Exit::Moved,
        hint: "check planwright.toml or restore the commands; nothing was started",
        command: &words.iter().map(String::as_str).collect::<Vec<_>>(),
        steps: &subject.plan.steps,
        rev: subject.args.rev.as_deref(),
        by: subject.args.by,
    };
    let approval = RunApproval { way: ask(&matter, out)?, by: user() };
    runs.approve_agents(run, &approval)?;
    say_approved(&full[..8], (&approval.by, approval.way), out);
    Ok(())
}

/// The name of exactly these command lines for exactly this plan.
fn agents_name(digest: &str, agents: &AgentCommands) -> String {
    let text =
        serde_json::to_string(&(digest, agents)).expect("text and lists of text can be written as JSON");
    blob_of(text.as_bytes()).0
}

/// Prints what is approved: every step, who does it, and what must pass.
pub(super) fn print_plan(subject: &Subject<'_>, out: &mut Out<'_>) {
    let plan = subject.plan;
    let name = out.palette().paint(Tone::Strong, &clean_line(&subject.name));
    out.line(&format!("{name}  {}   {}", clean_line(&plan.title), subject.digest.short()));
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
    // What is to be approved is never truncated.
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
    for (key, words) in known(subject) {
        out.line(&format!("  {}", clean_line(&wording::named_work(&key, &words))));
    }
    out.line("");
    out.flush();
}

fn command_line(command: &[String]) -> String {
    command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// The agent commands from the settings that the plan needs.
fn known(subject: &Subject<'_>) -> AgentCommands {
    let commands = subject.project.commands_of(subject.plan);
    commands.into_iter().filter(|(_, command)| !command.is_empty()).collect()
}

/// Who does the steps of the plan; scripts and people have no command line and are left out.
pub(super) fn agents(subject: &Subject<'_>) -> Vec<AgentData> {
    let known = known(subject).into_iter();
    let known = known.map(|(target, command)| AgentData { target, command: Some(command) });
    let missing = missing(subject).into_keys();
    known.chain(missing.map(|target| AgentData { target: target.to_owned(), command: None })).collect()
}

/// The steps whose agent has no command line, by their target.
fn missing<'a>(subject: &Subject<'a>) -> BTreeMap<&'a str, Vec<&'a Step>> {
    let config = &subject.project.config;
    let known = known(subject);
    let mut missing: BTreeMap<&str, Vec<&Step>> = BTreeMap::new();
    for step in &subject.plan.steps {
        let name = config.roles.get(&step.target).unwrap_or(&step.target);
        if name != SHELL && step.target != HUMAN && !known.contains_key(&step.target) {
            missing.entry(&step.target).or_default().push(step);
        }
    }
    missing
}

/// Warns about steps without an available agent, with a fix.
pub(super) fn warn_of_missing_agents(subject: &Subject<'_>, out: &mut Out<'_>) {
    for (target, steps) in missing(subject) {
        let steps: Vec<String> = steps.into_iter().map(named).collect();
        let say = match subject.project.config.roles.get(target) {
            Some(name) => format!("[agents.{name}]\n    command = [\"claude\", \"--print\"]"),
            None => format!("[roles]\n    {target} = \"claude\""),
        };
        out.warn(&format!(
            "agent `{target}` has no command, so {} will need you; add to planwright.toml\n    {say}",
            steps.join(", ")
        ));
    }
    let known = known(subject);
    let mut absent: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for step in &subject.plan.steps {
        let program = known.get(&step.target).and_then(|command| profile::program(command));
        if let Some(program) = program.filter(|program| !is_there(program)) {
            absent.entry((&step.target, program)).or_default().push(named(step));
        }
    }
    for ((target, program), steps) in absent {
        let steps = steps.join(", ");
        out.warn(&format!(
            "`{program}` for `{target}` is not installed, so {steps} will need you; install it, or use another agent:\n    \
             planwright config set roles.{target} NAME"
        ));
    }
}

/// Whether a program can be found; one that is named by its path is looked for when it is started.
fn is_there(program: &str) -> bool {
    program == SHELL || program.contains('/') || program::has_program(program)
}
