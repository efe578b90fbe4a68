//! What a person does with the newest run of a plan: pause it, answer what it asks, take a step back.

use std::path::Path;

use planwright_core::plan::budget::Budget;
use planwright_core::plan::verified::Step;
use planwright_core::run::event::{AskAnswer, AskReason, JudgedBy, StopMode};
use planwright_core::run::state::{AskState, StepStatus};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::ask::{answer_options, answers};
use crate::api::caller::{Confirmation, Right};
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::target::{PlanRun, step_of_run};
use crate::api::workspace::Workspace;
use crate::run::{RolledBack, Runs};

#[derive(Debug, Serialize, JsonSchema)]
pub struct StopView {
    /// The plan.
    pub plan: String,
    /// The number of the run.
    pub run: i64,
    /// What was running when it was paused.
    pub under_way: Vec<String>,
    /// The process that still runs it, because an attempt has not ended.
    pub driven_by: Option<String>,
    /// What went wrong with the plan file.
    #[serde(skip)]
    pub complaints: Vec<String>,
}

/// An open question of a run.
#[derive(Debug, Clone)]
pub struct RunAsk {
    /// Unique within the run.
    pub ask: String,
    /// What it is about: `it/fix`, or `it` for the whole run.
    pub subject: String,
    /// The id of the step that it is about.
    pub step: Option<String>,
    pub reason: AskReason,
    pub text: String,
    pub judged_by: JudgedBy,
}

/// An answer that raises the budget: `+1.50`, `$1.50`, `50k tokens`, `10 min`.
pub fn budget_answer(text: &str) -> Option<AskAnswer> {
    let added = Budget::addition(text)?;
    let [micro_dollars, tokens, seconds] =
        [added.micro_dollars, added.tokens, added.seconds].map(Option::unwrap_or_default);
    Some(AskAnswer::Budget { micro_dollars, tokens, seconds })
}

impl RunAsk {
    /// The commands that answer it, each with what it does.
    pub fn choices(&self) -> Vec<NextCommand> {
        answers(&self.subject, self.reason, self.judged_by)
    }

    /// The answers that fit, as options of `answer`.
    pub fn options(&self) -> String {
        answer_options(self.reason, self.judged_by)
    }

    pub fn fits(&self, answer: &AskAnswer) -> bool {
        self.reason.answers(self.judged_by).contains(&answer.kind())
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AnswerView {
    /// The plan.
    pub plan: String,
    /// The step that the question is about; `None` where it is about the run.
    pub step: Option<String>,
    /// What was answered; `None` where the question was only shown.
    pub answer: Option<String>,
    /// The commands that fit, where the question was only shown.
    pub answers: Vec<String>,
    /// The process that runs the plan now.
    #[serde(skip)]
    pub driven_by: Option<String>,
    /// What went wrong with the plan file.
    #[serde(skip)]
    pub complaints: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RollbackView {
    /// The plan.
    pub plan: String,
    /// The number of the run.
    pub run: i64,
    /// The step, by number and id.
    #[serde(skip)]
    pub step: String,
    #[serde(flatten)]
    pub rolled_back: RolledBack,
}

impl Workspace {
    /// The newest run in this workspace of the plan at `path`, and the step that is named.
    pub fn latest_run(&self, path: &Path, step: Option<&str>) -> Result<Option<PlanRun>, Error> {
        let runs = Runs::open(self.project())?;
        let Some(run) = runs.latest(path)? else { return Ok(None) };
        let step = step.map(|step| step_of_run(&run, step)).transpose()?;
        Ok(Some(PlanRun { path: path.to_owned(), caller: self.caller().clone(), runs, run, step }))
    }
}

impl PlanRun {
    /// The same run for the person who confirmed what is done with it.
    #[must_use]
    pub fn confirmed(self, confirmation: Confirmation) -> Self {
        Self { caller: confirmation.into_caller(), ..self }
    }

    /// The name of the plan.
    pub fn name(&self) -> &str {
        &self.run.row.name
    }

    /// How the plan file is shown to people.
    pub fn shown(&self) -> String {
        shown(&self.path)
    }

    pub fn is_over(&self) -> bool {
        self.run.state.outcome().is_some()
    }

    /// The steps whose contracts don't hold on the tree that was there after the end of the run, by id.
    pub fn lapsed(&self) -> Vec<&str> {
        let steps = self.run.state.steps.iter().filter(|step| step.status.is_lapsed());
        steps.map(|step| step.id.as_str()).collect()
    }

    /// Pauses the run.
    pub fn stop(&self, mode: StopMode) -> Result<StopView, Error> {
        self.caller.may(Right::Stop)?;
        let Self { runs, run, .. } = self;
        if self.is_over() {
            let next = NextCommand::new(["planwright", "log", self.shown().as_str()]);
            return Err(Error::new(ErrorKind::Refused, format!("{} is not running", self.name())).next(next));
        }
        let under_way = run.under_way();
        let is_known = run.state.is_stopped() && (under_way.is_empty() || mode != StopMode::Now);
        if !is_known {
            runs.stop_as(run, mode, &self.caller.identity().name)?;
        }
        let holder = runs.wait_for_driver(run)?;
        let complaints = if holder.is_none() { runs.mirror(run.row.id, &self.path)? } else { Vec::new() };
        Ok(StopView {
            plan: self.name().to_owned(),
            run: run.row.id.number(),
            under_way,
            driven_by: holder.map(|holder| holder.to_string()),
            complaints,
        })
    }

    /// The open questions, about all steps or about the one that was named.
    pub fn asks(&self) -> Vec<RunAsk> {
        let is_meant = |ask: &AskState| self.step.is_none() || ask.step == self.step;
        self.all_asks().into_iter().filter(|(ask, _)| is_meant(ask)).map(|(_, view)| view).collect()
    }

    /// What the open questions are about, whichever step was named.
    pub fn ask_subjects(&self) -> Vec<String> {
        self.all_asks().into_iter().map(|(_, view)| view.subject).collect()
    }

    fn all_asks(&self) -> Vec<(&AskState, RunAsk)> {
        let view = |(name, ask): (&String, &AskState)| RunAsk {
            ask: name.clone(),
            subject: self.subject(ask.step),
            step: ask.step.map(|place| self.run.plan.steps[place].id.clone()),
            reason: ask.reason,
            text: ask.text.clone(),
            judged_by: JudgedBy::of(ask.step.map(|place| &self.run.plan.steps[place].contract)),
        };
        self.run.state.asks.iter().map(|(name, ask)| (ask, view((name, ask)))).collect()
    }

    /// A step of the plan, or the plan: `it/fix`, `it`.
    pub fn subject(&self, step: Option<usize>) -> String {
        match step {
            Some(place) => format!("{}/{}", self.name(), self.run.plan.steps[place].id),
            None => self.name().to_owned(),
        }
    }

    /// Answers a question.
    pub fn answer(&self, ask: &RunAsk, answer: AskAnswer) -> Result<AnswerView, Error> {
        self.caller.may(Right::Answer)?;
        let Self { runs, run, .. } = self;
        let answer = match answer {
            AskAnswer::RetryStep { step, hint } => {
                AskAnswer::RetryStep { step: self.culprit(ask, &step)?, hint }
            }
            answer @ (AskAnswer::Retry { .. }
            | AskAnswer::TakeOver
            | AskAnswer::Confirm
            | AskAnswer::Skip { .. }
            | AskAnswer::Stop
            | AskAnswer::Revise { .. }
            | AskAnswer::Budget { .. }) => answer,
        };
        let (word, is_end) = (answer.kind().word(), matches!(answer, AskAnswer::Revise { .. }));
        runs.answer_as(run, &ask.ask, answer, &self.caller.identity().name)?;
        let complaints = match is_end && runs.wait_for_driver(run)?.is_none() {
            true => runs.mirror(run.row.id, &self.path)?,
            false => Vec::new(),
        };
        let driven_by = runs.holder(run)?.map(|holder| holder.to_string());
        Ok(AnswerView { step: ask.step.clone(), driven_by, complaints, ..self.answered(word) })
    }

    /// The id of a step that a person blames for what is asked about, given by its number or id.
    fn culprit(&self, ask: &RunAsk, step: &str) -> Result<String, Error> {
        let found = self.step_named(step)?;
        let state = self.run.state.steps.iter().find(|state| state.id == found.id);
        let has_passed = state.is_some_and(|state| matches!(state.status, StepStatus::Passed { .. }));
        if has_passed && ask.step.as_ref() != Some(&found.id) {
            return Ok(found.id.clone());
        }
        let message = format!("step {} can't be redone: only another step that has passed can", found.number);
        let next = NextCommand::new(["planwright", "answer", ask.subject.as_str()]);
        Err(Error::new(ErrorKind::Usage, message).next(next))
    }

    /// A step of the plan, given by its number or id.
    fn step_named(&self, step: &str) -> Result<&Step, Error> {
        let number = step.trim_start_matches('#');
        let is_meant = |known: &&Step| known.id == step || known.number.to_string() == number;
        self.run.plan.steps.iter().find(is_meant).ok_or_else(|| {
            let next = NextCommand::new(["planwright", "show", self.shown().as_str()]);
            Error::new(ErrorKind::Usage, format!("{} has no step `{step}`", self.name())).next(next)
        })
    }

    /// Pauses the run and leaves its questions open.
    pub fn answer_with_stop(&self) -> Result<AnswerView, Error> {
        self.caller.may(Right::Answer)?;
        self.runs.stop_as(&self.run, StopMode::AfterAttempts, &self.caller.identity().name)?;
        Ok(self.answered("stop"))
    }

    fn answered(&self, word: &str) -> AnswerView {
        AnswerView {
            plan: self.name().to_owned(),
            step: None,
            answer: Some(word.to_owned()),
            answers: Vec::new(),
            driven_by: None,
            complaints: Vec::new(),
        }
    }

    /// Restores the workspace to before a step, given by its number or id.
    pub fn roll_back(&self, step: &str) -> Result<RollbackView, Error> {
        self.caller.may(Right::RollBack)?;
        let Self { runs, run, .. } = self;
        let shown = self.shown();
        let found = self.step_named(step)?;
        if self.is_over() {
            let message = format!("cannot roll back {}: its run has finished", self.name());
            return Err(Error::new(ErrorKind::Refused, message)
                .hint("the result of each step is kept as a commit: git for-each-ref refs/planwright")
                .next(NextCommand::new(["planwright", "log", shown.as_str(), "--versions"])));
        }
        let rolled_back = runs.roll_back(run, &self.path, &found.id)?;
        Ok(RollbackView {
            plan: self.name().to_owned(),
            run: run.row.id.number(),
            step: format!("{} {}", found.number, found.id),
            rolled_back,
        })
    }
}
