//! What a person sees before a run begins, and what they say to it. Nothing is started that they have not approved: neither
//! another text of the plan nor other command lines of its agents.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, IsTerminal as _};

use planwright_engine::core::decide::HUMAN;
use planwright_engine::core::event::Agents;
use planwright_engine::core::plan::{Contract, Plan, Step};
use planwright_engine::runs::{Approval, Run, Runs, user};
use planwright_engine::store::journal::blob_of;

use super::{AgentData, Subject, named};
use crate::command::refuse_agents;
use crate::out::{Exit, Failure, Next, Out, Table, Tone, clean, clean_line, shell_word};

/// The agent that runs the script in the task.
const SHELL: &str = "shell";
/// How often a person may ask for the detail before they say yes or no.
const QUESTIONS_MAX: usize = 20;

/// Begins a run of a plan that a person approves now, in the place of the old run.
pub(super) fn begin(
    subject: &Subject<'_>,
    runs: &Runs,
    old: Option<Run>,
    out: &mut Out<'_>,
) -> Result<Run, Failure> {
    warn_of_missing_agents(subject, out);
    let short = subject.digest.short();
    let full = subject.digest.to_string();
    let matter = Matter {
        what: subject.name.clone(),
        full: &full,
        question: "Approve it and start?",
        exit: Exit::Person,
        hint: "look at it; nothing was started",
    };
    let approval = approve(subject, &matter, out)?;
    if let Some(old) = old.filter(|old| old.state.outcome().is_none()) {
        // Its approval was for other bytes. It ends only now: who may not approve may not end a run either.
        runs.cancel(&old, "the plan was revised")?;
    }
    runs.begin(subject.path, subject.verified, &approval)?;
    say_approved(&short, &approval, out);
    out.talk("isolation  open: agents run as you and could reach planwright's records\n");
    runs.latest(subject.path)?
        .ok_or_else(|| Failure::new(Exit::Machine, "the run that was just begun is not there"))
}

/// Has the command lines of the agents approved anew where they are not what was approved for the run that goes on.
pub(super) fn renew(subject: &Subject<'_>, runs: &Runs, run: Run, out: &mut Out<'_>) -> Result<Run, Failure> {
    let lapsed = runs.lapsed_agents(&run).filter(|_| run.state.outcome().is_none());
    let Some(now) = lapsed else { return Ok(run) };
    let word = out.palette().paint(Tone::Attention, "lapsed");
    out.line(&format!("{word}  the command lines of the agents are not those that were approved"));
    let before = run.agents();
    let targets: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for target in targets.into_iter().filter(|&target| before.get(target) != now.get(target)) {
        let line = |agents: &Agents| {
            let command = agents.get(target).filter(|command| !command.is_empty());
            command.map_or_else(|| "nothing".to_owned(), |command| command_line(command))
        };
        out.line(&format!("  {}  was  {}", clean_line(target), line(&before)));
        out.line(&format!("  {}  is   {}", " ".repeat(clean_line(target).chars().count()), line(&now)));
    }
    out.line("");
    warn_of_missing_agents(subject, out);
    // Whoever repeats the digest of the plan has not seen these command lines, so they have a name of their own.
    let full = agents_name(&subject.digest.to_string(), &now);
    let matter = Matter {
        what: format!("what runs the agents of {}", subject.name),
        full: &full,
        question: "Approve these command lines and go on?",
        exit: Exit::Moved,
        hint: "look at planwright.toml, or put the command lines back; nothing was started",
    };
    let approval = approve(subject, &matter, out)?;
    runs.approve_agents(&run, &approval)?;
    say_approved(&full[..8], &approval, out);
    Ok(runs.run(run.row.id)?)
}

/// The name of exactly these command lines for exactly this plan.
fn agents_name(digest: &str, agents: &Agents) -> String {
    let text =
        serde_json::to_string(&(digest, agents)).expect("text and lists of text can be written as JSON");
    blob_of(text.as_bytes()).0
}

fn say_approved(short: &str, approval: &Approval, out: &mut Out<'_>) {
    let how = if approval.way == "terminal" { "at this terminal" } else { "by --rev" };
    let word = out.talk_palette().paint(Tone::Good, "approved");
    out.talk(&format!("{word}  {short}  by {}, {how}", clean_line(&approval.by)));
}

/// What a person is to approve.
struct Matter<'a> {
    /// What it is.
    what: String,
    /// The name of exactly this, in hex.
    full: &'a str,
    question: &'a str,
    /// How the command ends where nobody approves.
    exit: Exit,
    hint: &'a str,
}

/// Has a person approve something, or says that nobody did.
fn approve(subject: &Subject<'_>, matter: &Matter<'_>, out: &mut Out<'_>) -> Result<Approval, Failure> {
    let Matter { what, full, question, exit, hint } = matter;
    let (plan, short) = (subject.args.plan.as_str(), &full[..8]);
    let by_hand = Next::new(["planwright", "run", plan, "--rev", short]);
    refuse_agents("approve")
        .map_err(|failure| failure.hint(format!("a person runs: {}", by_hand.command)))?;
    if let Some(rev) = &subject.args.rev {
        return match full.starts_with(rev.as_str()) {
            true if rev.len() >= 8 => Ok(Approval { by: user(), way: "rev" }),
            true => {
                Err(Failure::new(Exit::Usage, format!("`{rev}` is too short to name a digest")).next(by_hand))
            }
            false => Err(Failure::new(Exit::Moved, format!("{what} is {short}, not {rev}"))
                .hint(*hint)
                .next(Next::new(["planwright", "run", plan]))),
        };
    }
    // With --json nothing was shown that could be approved.
    if !io::stdin().is_terminal() || out.settings().is_json {
        return Err(Failure::new(*exit, format!("nobody has approved {what} {short}"))
            .hint(*hint)
            .next(by_hand));
    }
    for _ in 0..QUESTIONS_MAX {
        out.complain(&format!("Nobody has approved {short}. {question}  [y]es  [n]o  [d]etail  "));
        let mut answer = String::new();
        io::stdin()
            .lock()
            .read_line(&mut answer)
            .map_err(|error| Failure::new(Exit::Machine, "cannot read your answer").because(&error))?;
        match answer.trim() {
            "y" | "yes" => return Ok(Approval { by: user(), way: "terminal" }),
            "d" | "detail" => print_detail(subject.plan, out),
            _ => break,
        }
    }
    Err(Failure::new(*exit, format!("{what} was not approved; nothing was started")).next(Next::new([
        "planwright",
        "run",
        plan,
    ])))
}

/// Task and contract of every step, in full.
fn print_detail(plan: &Plan, out: &mut Out<'_>) {
    let indented =
        |text: &str| clean(text.trim_end()).lines().map(|line| format!("    {line}\n")).collect::<String>();
    for step in &plan.steps {
        let title = format!("{}  {}  for {}", named(step), step.title, step.target);
        let head = out.palette().paint(Tone::Strong, &clean_line(&title));
        out.line(&format!("\n{head}\n  task"));
        out.data(&indented(&step.task));
        match &step.contract {
            Contract::Shell { command, expect } => {
                out.line(&format!("  contract, done when it exits with {expect}"));
                out.data(&indented(command));
            }
            Contract::Manual => out.line("  contract: a person confirms"),
        }
        out.line(&format!("  after a failure: {}", step.on_fail));
    }
    out.line("");
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
            Contract::Manual => "a person confirms".to_owned(),
        };
        let after: Vec<String> =
            step.needs.iter().map(|&place| plan.steps[place].number.to_string()).collect();
        let after = if after.is_empty() { String::new() } else { format!("after {}", after.join(", ")) };
        let number = format!("  {}", step.number);
        table.row([number, step.id.clone(), step.title.clone(), step.target.clone(), after, must]);
    }
    // What is approved here is shown whole, however narrow the terminal is.
    let text = table.text(out.palette(), None);
    out.data(&text);
    for step in plan.steps.iter().filter(|step| !step.env.is_empty()) {
        out.line(&clean_line(&format!("  {} runs with {}", named(step), step.env.join(", "))));
    }
    for step in &plan.steps {
        if let Some(setup) = &step.setup {
            let setup = setup.trim().replace('\n', "; ");
            out.line(&clean_line(&format!("  {} is prepared by: {setup}", named(step))));
        }
    }
    for (target, command) in known(subject) {
        out.line(&format!("  {} is done by: {}", clean_line(&target), command_line(&command)));
    }
    out.line("");
    out.flush();
}

fn command_line(command: &[String]) -> String {
    command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// The command lines that carrying out the plan takes from the settings, as far as there are any.
fn known(subject: &Subject<'_>) -> Agents {
    let commands = subject.project.config.commands_of(subject.plan);
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

/// Says which steps can't be done by anybody, and how to mend it.
pub(super) fn warn_of_missing_agents(subject: &Subject<'_>, out: &mut Out<'_>) {
    for (target, steps) in missing(subject) {
        let steps: Vec<String> = steps.into_iter().map(named).collect();
        let name = subject.project.config.roles.get(target).map_or(target, String::as_str);
        out.warn(&format!(
            "no command line is known for `{target}`, so {} will wait for you; planwright.toml could say\n\
             \x20   [agents.{name}]\n    command = [\"claude\", \"--print\"]",
            steps.join(", ")
        ));
    }
}
