//! Which agent should do the next step, and what to do next. Changes only roles, and only on request.

use planwright_core::approval::status::Comment;
use planwright_core::plan::identity::Identity;
use planwright_core::run::arbiter::{ArbiterAction, ArbiterChoice, BUILT_IN};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::Right;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::plan::Plan;
use crate::approval::Approvals;
use crate::config;
use crate::config::{FILE, schema};
use crate::run::arbiter;
use crate::run::arbiter::{ArbiterCase, Vacancy};
use crate::system::process::Stop;

#[derive(Debug, Clone, Copy)]
pub struct ArbiterOptions {
    /// The agent that is the arbiter is not asked.
    pub is_built_in: bool,
    /// Each role without an agent gets one in the project's settings.
    pub is_assigning: bool,
}

/// Who is asked, before they are.
#[derive(Debug, Clone, Copy)]
pub enum ArbiterNews<'a> {
    Asking(&'a str),
    /// The arbiter is an agent, and so is the caller: the built-in choice is used.
    NotAsked,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ArbiterView {
    /// The plan.
    pub plan: String,
    /// The id of the step that it is about; `null`: the whole run.
    pub step: Option<String>,
    #[serde(skip)]
    pub number: Option<u32>,
    /// The agent that is to do it; `null`: none.
    pub agent: Option<String>,
    /// `continue`, `retry`, `replan` or `escalate`.
    pub action: ArbiterAction,
    /// Why, a sentence each.
    pub reasons: Vec<String>,
    /// Who chose: `built-in`, or the agent that is the arbiter.
    pub by: String,
    /// The actions that there were to choose from.
    pub actions: Vec<ArbiterAction>,
    /// The agents that there were to choose from.
    pub agents: Vec<String>,
    /// Targets of the plan that no agent is configured for.
    pub vacancies: Vec<Vacancy>,
    #[serde(skip)]
    pub next: NextCommand,
}

impl Plan {
    /// Has the arbiter choose, and tells whom it asks.
    pub fn arbitrate(
        &self,
        options: ArbiterOptions,
        tell: &mut dyn FnMut(ArbiterNews<'_>),
    ) -> Result<ArbiterView, Error> {
        if options.is_assigning {
            self.workspace().caller().may(Right::AssignRoles)?;
        }
        let (project, shown) = (self.workspace().project(), self.shown());
        let file = self.trusted();
        let case = arbiter::gather(project, self.path(), file.as_ref())?.ok_or_else(|| {
            let next = NextCommand::new(["planwright", "verify", shown.as_str()]);
            Error::new(ErrorKind::Refused, format!("{shown} has errors; fix them first")).next(next)
        })?;
        let arbiter = project.config.consult.arbiter.as_deref().filter(|_| !options.is_built_in);
        let choice = match arbiter {
            None => case.choice(),
            Some(_) if !self.workspace().caller().is_person() => {
                tell(ArbiterNews::NotAsked);
                case.choice()
            }
            Some(agent) => {
                tell(ArbiterNews::Asking(agent));
                case.choice_of(project, agent, &Stop::new())
            }
        };
        self.record_choice(&case, &choice)?;
        let vacancies = self.fill(&case, options)?;
        let step = choice.step.map(|place| &case.plan.steps[place]);
        Ok(ArbiterView {
            plan: self.name(),
            step: step.map(|step| step.id.clone()),
            number: step.map(|step| step.number),
            next: next(&shown, &case, &choice, &vacancies),
            agent: choice.agent,
            action: choice.action,
            reasons: choice.reasons,
            by: choice.by,
            actions: case.table.actions.clone(),
            agents: case.table.agents.clone(),
            vacancies,
        })
    }

    /// Records the choice of an agent that was asked as a comment on the plan, also where it was not followed.
    fn record_choice(&self, case: &ArbiterCase, choice: &ArbiterChoice) -> Result<(), Error> {
        if choice.by == BUILT_IN && !choice.is_overruled {
            return Ok(());
        }
        let project = self.workspace().project();
        let who = choice.agent.as_deref().unwrap_or("no agent");
        let reasons = choice.reasons.join("; ");
        let text = format!("arbiter ({}): {}, {who}: {reasons}", choice.by, choice.action.word());
        let step = choice.step.map(|place| case.plan.steps[place].id.as_str());
        let who = Identity::agent(project.config.consult.arbiter.clone().unwrap_or_default());
        let decisions = Approvals::open(project)?;
        let is_said = |known: &Comment| known.answer.is_none() && known.by == who && known.text == text;
        if !decisions.case(self.path())?.standing.comments.iter().any(is_said) {
            decisions.comment(self.path(), step, &who, &text)?;
        }
        Ok(())
    }

    /// Agents for unassigned roles, written to the settings if that is asked for.
    fn fill(&self, case: &ArbiterCase, options: ArbiterOptions) -> Result<Vec<Vacancy>, Error> {
        let file = self.workspace().root().join(FILE);
        let mut vacancies = case.vacancies();
        for vacancy in vacancies.iter_mut().filter(|_| options.is_assigning) {
            if let Some(agent) = &vacancy.agent {
                let key = schema::key(&["roles".to_owned(), vacancy.target.clone()]);
                config::set(&file, &key, agent)
                    .map_err(|error| Error::from_error(ErrorKind::Machine, &error))?;
                vacancy.is_assigned = true;
            }
        }
        Ok(vacancies)
    }
}

fn next(path: &str, case: &ArbiterCase, choice: &ArbiterChoice, vacancies: &[Vacancy]) -> NextCommand {
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
