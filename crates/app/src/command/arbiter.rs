//! `arbiter`: recommends the agent for the next step and the next action, with reasons. Changes nothing, except role
//! assignments with `--assign`.

use planwright_engine::Project;
use planwright_engine::approval::Approvals;
use planwright_engine::config;
use planwright_engine::config::{FILE, schema};
use planwright_engine::core::approval::status::Comment;
use planwright_engine::core::plan::identity::Identity;
use planwright_engine::core::run::arbiter::{ArbiterAction, ArbiterChoice, BUILT_IN};
use planwright_engine::core::verify;
use planwright_engine::run::arbiter;
use planwright_engine::run::arbiter::ArbiterCase;
use planwright_engine::store::plan_file;
use planwright_engine::system::process::Stop;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::target::{NamedPlan, Opened, open};
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan [default: the plan this worktree uses]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Use the built-in arbiter
    #[arg(long)]
    built_in: bool,
    /// Save an agent for each role without one to the project settings
    #[arg(long)]
    assign: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Arbitrated {
    /// The plan.
    pub(crate) plan: String,
    /// The id of the step that it is about; `null`: the whole run.
    pub(crate) step: Option<String>,
    /// The agent that is to do it; `null`: none.
    pub(crate) agent: Option<String>,
    /// `continue`, `retry`, `replan` or `escalate`.
    pub(crate) action: ArbiterAction,
    /// Why, a sentence each.
    pub(crate) reasons: Vec<String>,
    /// Who chose: `built-in`, or the agent that is the arbiter.
    pub(crate) by: String,
    /// The actions that there were to choose from.
    pub(crate) actions: Vec<ArbiterAction>,
    /// The agents that there were to choose from.
    pub(crate) agents: Vec<String>,
    /// Targets of the plan that no agent is configured for.
    pub(crate) vacancies: Vec<VacancyData>,
}

/// A target that no agent is configured for.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VacancyData {
    /// The target.
    pub(crate) target: String,
    /// The agent that could do its steps; `null` if none.
    pub(crate) agent: Option<String>,
    /// Why it is this one.
    pub(crate) because: String,
    /// Whether the settings say so now.
    pub(crate) is_assigned: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.assign {
        Caller::of_process().may(Right::AssignRoles)?;
    }
    let Opened { path, project, source, .. } = open(&args.plan)?;
    let file = verify::trusted(&source);
    let shown = shown(&path);
    let case = arbiter::gather(&project, &path, file.as_ref())?.ok_or_else(|| {
        let next = NextCommand::new(["planwright", "verify", shown.as_str()]);
        Failure::new(Exit::No, format!("{shown} has errors; fix them first")).next(next)
    })?;
    let choice = choose(args, &project, &case, out);
    if choice.by != BUILT_IN || choice.is_overruled {
        record(&project, &path, &case, &choice)?;
    }
    let vacancies = fill(args, &project, &case)?;
    let name = plan_file::name(&path);
    print(&name, &case, &choice, out);
    tell(&vacancies, out);
    let step = choice.step.map(|place| case.plan.steps[place].id.clone());
    let next = next(&shown, &case, &choice, &vacancies);
    let data = Arbitrated {
        plan: name,
        step,
        agent: choice.agent,
        action: choice.action,
        reasons: choice.reasons,
        by: choice.by,
        actions: case.table.actions.clone(),
        agents: case.table.agents.clone(),
        vacancies,
    };
    Ok(Response::done("arbiter", &data).next(next))
}

/// The choice of the agent that is the arbiter, if there is one and a person asks; else the built-in one.
fn choose(args: &Args, project: &Project, case: &ArbiterCase, out: &mut Out<'_>) -> ArbiterChoice {
    let arbiter = project.config.consult.arbiter.as_ref().filter(|_| !args.built_in);
    match (arbiter, Caller::of_process().is_person()) {
        (None, _) => case.choice(),
        (Some(_), false) => {
            out.talk(
                "arbiter not asked, because this terminal belongs to an agent; using the built-in choice",
            );
            case.choice()
        }
        (Some(agent), true) => {
            out.talk(&clean_line(&format!("asking `{agent}`")));
            case.choice_of(project, agent, &Stop::new())
        }
    }
}

/// Records the agent's choice as a comment on the plan.
fn record(
    project: &Project,
    path: &std::path::Path,
    case: &ArbiterCase,
    choice: &ArbiterChoice,
) -> Result<(), Failure> {
    let agent = project.config.consult.arbiter.clone().unwrap_or_default();
    let who = choice.agent.as_deref().unwrap_or("no agent");
    let reasons = choice.reasons.join("; ");
    let text = format!("arbiter ({}): {}, {who}: {reasons}", choice.by, choice.action.word());
    let step = choice.step.map(|place| case.plan.steps[place].id.as_str());
    let (decisions, who) = (Approvals::open(project)?, Identity::agent(agent));
    let is_said = |known: &Comment| known.answer.is_none() && known.by == who && known.text == text;
    if !decisions.case(path)?.standing.comments.iter().any(is_said) {
        decisions.comment(path, step, &who, &text)?;
    }
    Ok(())
}

/// Agents for unassigned roles; `--assign` writes them to the settings.
fn fill(args: &Args, project: &Project, case: &ArbiterCase) -> Result<Vec<VacancyData>, Failure> {
    let file = project.root.join(FILE);
    let mut vacancies = Vec::new();
    for vacancy in case.vacancies() {
        let is_assigned = match (&vacancy.agent, args.assign) {
            (Some(agent), true) => {
                let key = schema::key(&["roles".to_owned(), vacancy.target.clone()]);
                config::set(&file, &key, agent)
                    .map_err(|error| Failure::from_error(Exit::Machine, &error))?;
                true
            }
            (_, false) | (None, true) => false,
        };
        let arbiter::Vacancy { target, agent, because } = vacancy;
        vacancies.push(VacancyData { target, agent, because, is_assigned });
    }
    Ok(vacancies)
}

fn print(name: &str, case: &ArbiterCase, choice: &ArbiterChoice, out: &mut Out<'_>) {
    let step = choice.step.map(|place| &case.plan.steps[place]);
    let about = step.map(|step| format!("   step {} {}", step.number, step.id)).unwrap_or_default();
    out.line(&format!("{}{}", out.palette().paint(Tone::Strong, &clean_line(name)), clean_line(&about)));
    let mut table = Table::new();
    let mut row = |word: &str, text: &str| {
        table.row(vec![Cell::new(""), Cell::new(word).tone(Tone::Muted), Cell::new(text)]);
    };
    let words: Vec<&str> = case.table.actions.iter().map(|action| action.word()).collect();
    row("action", &format!("{} (of {})", choice.action.word(), words.join(", ")));
    row("agent", choice.agent.as_deref().unwrap_or("none"));
    for (place, reason) in choice.reasons.iter().enumerate() {
        row(if place == 0 { "because" } else { "" }, reason);
    }
    row("chosen by", &choice.by);
    out.table(&table);
}

fn tell(vacancies: &[VacancyData], out: &mut Out<'_>) {
    for VacancyData { target, agent, because, is_assigned } in vacancies {
        let line = match (agent, is_assigned) {
            (Some(agent), true) => format!("role `{target}` is now assigned to `{agent}`: {because}"),
            (Some(agent), false) => format!("role `{target}` could be assigned to `{agent}`: {because}"),
            (None, _) => format!("no agent for role `{target}`: {because}"),
        };
        out.line(&clean_line(&line));
    }
}

/// What to type next.
fn next(path: &str, case: &ArbiterCase, choice: &ArbiterChoice, vacancies: &[VacancyData]) -> NextCommand {
    if vacancies.iter().any(|vacancy| vacancy.agent.is_some() && !vacancy.is_assigned) {
        return NextCommand::new(["planwright", "arbiter", path, "--assign"]);
    }
    let is_over = case.run.as_ref().is_some_and(|run| run.state.outcome().is_some());
    let is_asked = case.run.as_ref().is_some_and(|run| !run.state.asks.is_empty());
    match choice.action {
        _ if is_over => NextCommand::new(["planwright", "log", path]),
        ArbiterAction::Escalate | ArbiterAction::Replan if is_asked => {
            NextCommand::new(["planwright", "status", "--inbox"])
        }
        ArbiterAction::Continue | ArbiterAction::Retry | ArbiterAction::Escalate | ArbiterAction::Replan => {
            NextCommand::new(["planwright", "run", path])
        }
    }
}
