//! A run as it is shown before it starts and once it is at rest: how far it came, and what there is to do next.

use std::collections::BTreeMap;

use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::verified;
use planwright_core::run::event::{AskReason, Event, Judged, RunEvent, RunOutcome};
use planwright_core::run::receipt::Blob;
use planwright_core::run::state::{RunState, StepState, StepStatus};
use planwright_core::syntax::source::{FILE_SEPARATOR, Source};
use planwright_core::workspace::notification::Notification;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::Error;
use crate::api::next::NextCommand;
use crate::api::plan::Plan;
use crate::api::run_state::FindingView;
use crate::api::runnable::{AgentView, RunnablePlan};
use crate::api::start::{Blocker, DriveResult, StepSelection, goes_on};
use crate::api::target::PlanRun;
use crate::approval::Approvals;
use crate::git::worktree;
use crate::run::Run;
use crate::run::driver::Progress;
use crate::run::simulate::{Simulation, simulate};
use crate::store::plan_count::parse;

#[derive(Debug, Serialize, JsonSchema)]
pub struct RunView {
    /// The plan.
    pub plan: String,
    /// The digest that was approved.
    pub digest: String,
    /// The number of the run; `None` where nothing was started.
    pub run: Option<i64>,
    /// `done`, `failed`, `cancelled`, `waiting`, `reached`, `stopped`, `edited`, `left`, `dry-run`, or `unproven`: it was done,
    /// and contracts don't hold on the tree that is there.
    pub state: String,
    /// How many contracts of a run that was done ran again for the tree that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rechecked: Option<usize>,
    /// Every step: its id and its status.
    pub steps: Vec<RunStepView>,
    /// The agents of the steps.
    pub agents: Vec<AgentView>,
    /// Ids of the steps that are done.
    pub succeeded: Vec<String>,
    /// Ids of the steps that were tried and are not done.
    pub failed: Vec<String>,
    /// Ids of the steps that nothing was tried for yet.
    pub left: Vec<String>,
    /// What reviewers found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingView>,
    /// Waves, agents, reads, tools and forecast, with `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
}

/// The state of a step.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunStepView {
    /// The id.
    pub id: String,
    /// Its status.
    pub status: String,
    /// How many attempts were made.
    pub attempts: u32,
}

/// What a run would do; steps are given by their places in the plan.
pub struct DryRun {
    pub view: RunView,
    pub simulation: Simulation,
    pub how: RunChoice,
    /// Whether the agent commands changed since the run was approved.
    pub are_agents_lapsed: bool,
    pub done: Vec<usize>,
    /// Marked as done in the file, which nothing has proven yet.
    pub claimed: Vec<usize>,
    pub asked: Vec<usize>,
    pub to_do: Vec<usize>,
    /// Open, but not among the steps that may start.
    pub not_run: Vec<usize>,
}

/// Which run a start would lead to, by its number.
pub enum RunChoice {
    New,
    /// Another process runs it.
    Followed(i64, String),
    Finished(i64),
    Resumed(i64),
}

impl RunnablePlan<'_> {
    /// What a run would do, or what is in its way. Starts and writes nothing.
    pub fn dry_run(&self, steps: StepSelection) -> Result<Result<DryRun, Blocker>, Error> {
        let project = self.file.workspace().project();
        let decisions = Approvals::open_existing(project)?;
        let runs = decisions.as_ref().map(Approvals::runs);
        let old = match &decisions {
            Some(decisions) => {
                let (path, digest) = (self.file.path(), self.digest.to_string());
                let case = decisions.case(path)?;
                decisions.runs().latest(path)?.filter(|run| goes_on(run, &digest, &case))
            }
            None => None,
        };
        let begun = RunState::new(self.plan);
        let state = old.as_ref().map_or(&begun, |run| &run.state);
        if let Some(blocker) = steps.unsettled(self.plan, state) {
            return Ok(Err(blocker));
        }
        let (how, are_agents_lapsed) = match (runs, &old) {
            (Some(runs), Some(run)) => {
                let number = run.row.id.number();
                let how = match runs.holder(run)? {
                    Some(holder) => RunChoice::Followed(number, holder.to_string()),
                    None if run.state.outcome().is_some() => RunChoice::Finished(number),
                    None => RunChoice::Resumed(number),
                };
                (how, run.state.outcome().is_none() && runs.lapsed_agents(run).is_some())
            }
            (None, _) | (_, None) => (RunChoice::New, false),
        };
        let allowed = steps.places(self.plan);
        let is_allowed = |place: usize| allowed.as_ref().is_none_or(|steps| steps.contains(&place));
        let is_open = |place: usize| !state.steps[place].status.is_settled();
        let is_claimed = |place: usize| claims(&state.steps[place]);
        let is_asked = |place: usize| matches!(state.steps[place].status, StepStatus::Waiting { .. });
        let is_to_do =
            |place: usize| is_allowed(place) && is_open(place) && !is_claimed(place) && !is_asked(place);
        let places = |is_in: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..state.steps.len()).filter(|&place| is_in(place)).collect()
        };
        let mut view = self.view(state, "dry-run", |step| step.status.is_settled());
        view.run = old.as_ref().map(|run| run.row.id.number());
        for (step, _) in view.steps.iter_mut().zip(&state.steps).filter(|(_, state)| claims(state)) {
            "claimed".clone_into(&mut step.status);
        }
        Ok(Ok(DryRun {
            view,
            simulation: simulate(project, &self.file.name(), self.plan)?,
            how,
            are_agents_lapsed,
            done: places(&|place| !is_open(place)),
            claimed: places(&is_claimed),
            asked: places(&is_asked),
            to_do: places(&is_to_do),
            not_run: places(&|place| !is_allowed(place) && is_open(place)),
        }))
    }

    fn view(&self, state: &RunState, word: &str, is_done: fn(&StepState) -> bool) -> RunView {
        let ids = |is_in: fn(&StepState) -> bool| {
            let steps = state.steps.iter().filter(|step| is_in(step));
            steps.map(|step| step.id.clone()).collect::<Vec<_>>()
        };
        let steps = state.steps.iter().map(|step| RunStepView {
            id: step.id.clone(),
            status: step.status.word().to_owned(),
            attempts: step.history.attempts,
        });
        RunView {
            plan: self.file.name(),
            digest: self.digest.to_string(),
            run: None,
            state: word.to_owned(),
            rechecked: None,
            steps: steps.collect(),
            agents: self.agents(),
            succeeded: ids(is_done),
            failed: ids(has_failed),
            left: ids(is_left),
            findings: Vec::new(),
            simulation: None,
        }
    }
}

/// A run at rest; steps are given by their places in the plan.
pub struct RunReport {
    pub run: Run,
    pub view: RunView,
    /// Why it finished, if somebody said so.
    pub why: Option<String>,
    pub passed: Vec<usize>,
    pub failed: Vec<FailedStep>,
    /// What is asked about; `None`: the whole run.
    pub asked: Vec<Option<usize>>,
    pub not_started: Vec<usize>,
    pub skipped: usize,
    pub pending: usize,
    /// The plan file as it is now; `None` where it can't be read.
    pub now: Option<Plan>,
}

/// A step that is not done, and its last attempt.
pub struct FailedStep {
    pub place: usize,
    pub attempt: u32,
    pub failure: String,
    /// The last line that the contract printed.
    pub said: Option<String>,
}

/// How long a front end watched a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watching {
    ToTheEnd,
    /// Until the user had this process leave it.
    UntilLeft,
}

impl PlanRun {
    /// The run as it is after it was driven or followed, until this happened.
    pub fn report(
        &self,
        plan: &RunnablePlan<'_>,
        rest: &DriveResult,
        ended: Watching,
    ) -> Result<RunReport, Error> {
        let run = self.runs.run(self.run.row.id)?;
        let now = plan.file.read_again();
        let is_same =
            |now: &Plan| now.runnable().ok().flatten().is_some_and(|runnable| runnable.digest == plan.digest);
        let word = match &rest.progress {
            Progress::Finished(RunOutcome::Done) => "done",
            Progress::Finished(RunOutcome::Failed) => "failed",
            Progress::Finished(RunOutcome::Cancelled) => "cancelled",
            Progress::NeedsPerson => "waiting",
            Progress::Reached => "reached",
            Progress::Stopped => "stopped",
            Progress::Edited => "edited",
            // Its process is gone: because of the plan, or for an unknown reason.
            Progress::Left if ended == Watching::ToTheEnd && !now.as_ref().is_some_and(is_same) => "edited",
            Progress::Left => "left",
        };
        let mut view = plan.view(&run.state, word, is_done);
        view.digest.clone_from(&run.row.digest);
        view.run = Some(run.row.id.number());
        view.findings = run.findings();
        let places = |is_in: &dyn Fn(&StepState) -> bool| -> Vec<usize> {
            (0..run.state.steps.len()).filter(|&place| is_in(&run.state.steps[place])).collect()
        };
        let failed = places(&has_failed).into_iter().filter_map(|place| {
            let last = run.state.steps[place].history.failed.last()?;
            let said = last.output.as_ref().and_then(|output| self.output_lines(output).pop());
            let (attempt, failure) = (last.attempt, last.failure.to_string());
            Some(FailedStep { place, attempt, failure, said })
        });
        let is_waiting = |step: &StepState| matches!(step.status, StepStatus::Waiting { .. });
        Ok(RunReport {
            why: run.events.iter().rev().find_map(|recorded| finished(&recorded.event)),
            passed: places(&is_done),
            failed: failed.collect(),
            asked: run.state.asks.values().map(|ask| ask.step).collect(),
            not_started: places(&|step| is_left(step) && !is_waiting(step)),
            skipped: places(&|step| matches!(step.status, StepStatus::Skipped { .. })).len(),
            pending: places(&|step| matches!(step.status, StepStatus::Pending(_))).len(),
            view,
            run,
            now,
        })
    }

    /// A run that was over before it was started again, by what its contracts say of the tree that is there.
    pub fn after_its_end(&self, plan: &RunnablePlan<'_>, rechecked: usize) -> Result<RunReport, Error> {
        let outcome = self.run.state.outcome().unwrap_or(RunOutcome::Done);
        let rest = DriveResult { progress: Progress::Finished(outcome), complaints: Vec::new() };
        let mut rest = self.report(plan, &rest, Watching::ToTheEnd)?;
        if self.run.state.is_lapsed() {
            "unproven".clone_into(&mut rest.view.state);
        }
        rest.view.rechecked = Some(rechecked);
        Ok(rest)
    }

    /// What was recorded after this event, for listeners; nothing where the journal can't be read, which its driver reports.
    pub fn events_after(&self, seq: u64) -> Vec<Notification> {
        let recorded = self.runs.store().events(self.run.row.id, seq).unwrap_or_default();
        recorded.iter().map(|recorded| self.runs.notification(&self.run, recorded)).collect()
    }

    /// The last event that is known.
    pub fn last_seq(&self) -> u64 {
        self.run.events.last().map_or(0, |last| last.seq)
    }

    /// The lines of what a contract printed, without blank ones; none where it can't be read any more.
    pub fn output_lines(&self, output: &Blob) -> Vec<String> {
        let bytes = self.runs.blob(output).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.trim_end().to_owned()).collect()
    }
}

impl RunReport {
    /// The next command for who typed `typed` as the plan. A run that is resumed is given the same `options`.
    pub fn next(&self, plan: &Plan, typed: &str, options: &[&str]) -> NextCommand {
        let root = plan.workspace().root();
        // A plan outside of the project is found by its path alone.
        let is_inside = plan.path().starts_with(root) || !plan.path().is_absolute();
        let name = if is_inside { plan.name() } else { typed.to_owned() };
        let of_step = |place: Option<usize>| match place {
            Some(place) => format!("{name}/{}", self.run.plan.steps[place].id),
            None => name.clone(),
        };
        let has_worktree = worktree::plan_of(root).is_ok_and(|plan| plan.is_some());
        let (verb, what) = match self.view.state.as_str() {
            "waiting" => match self.run.state.asks.values().next() {
                Some(ask) if ask.reason == AskReason::Stalled => ("run", typed.to_owned()),
                Some(ask) => ("answer", of_step(ask.step)),
                None => ("status", name),
            },
            // A person has to approve the digest again: the approval ended with the run.
            "unproven" => {
                let digest = self.view.digest.get(..8).unwrap_or(&self.view.digest);
                return NextCommand::new(["planwright", "run", typed, "--retry", "--rev", digest]);
            }
            "edited" => ("review", typed.to_owned()),
            "left" | "reached" | "stopped" => ("run", typed.to_owned()),
            "failed" => ("log", of_step(self.run.state.steps.iter().position(has_failed))),
            "done" if has_worktree => ("merge", name),
            _ => ("log", name),
        };
        let options = if verb == "run" { options } else { &[] };
        NextCommand::new(["planwright", verb, what.as_str()].iter().chain(options).copied())
    }

    /// The approved text and the text of the file now, where both can be read.
    pub fn texts(&self) -> Option<[String; 2]> {
        let (approved, now) = (self.run.row.source()?, self.now.as_ref()?);
        Some(texts_to_compare(&approved, now.source()))
    }
}

/// Two texts of a plan as people compare them: marks and status, which are no part of what was approved, are those of the
/// second.
pub fn texts_to_compare(approved: &Source, now: &Source) -> [String; 2] {
    let dressed = with_marks_of(approved, now);
    // Files of a directory are separated by an invisible character.
    [dressed.as_ref().unwrap_or(approved), now].map(|source| source.text().replace(FILE_SEPARATOR, "file: "))
}

/// The approved text with the marks and the status that the file has now. `None` where they can't be set.
fn with_marks_of(approved: &Source, now: &Source) -> Option<Source> {
    let (before, after) = (parse(approved), parse(now));
    let ids = verified::ids(&after);
    let marks: BTreeMap<&String, _> =
        ids.iter().zip(&after.steps).map(|(id, step)| (id, step.mark())).collect();
    let mut changes = Vec::new();
    for (step, id) in verified::ids(&before).iter().enumerate() {
        if let Some(&mark) = marks.get(id)
            && before.steps[step].mark() != mark
        {
            changes.push(PlanEdit::Mark { step, mark });
        }
    }
    changes.extend(after.state.map(|state| PlanEdit::Become { state: state.value }));
    let edits = approved.dialect().patch_all(approved, &changes).ok()?;
    Some(approved.edited(&edits))
}

/// Why a run finished, if this event says it.
fn finished(event: &Event) -> Option<String> {
    let Event::Run(RunEvent::Finished { why, .. }) = event else { return None };
    Some(why.clone()).filter(|why| !why.is_empty())
}

/// Whether a mark says that the step is done, and nothing has proven it yet.
fn claims(step: &StepState) -> bool {
    matches!(step.status, StepStatus::Judging { of: Judged::Claim, .. })
}

fn is_done(step: &StepState) -> bool {
    matches!(step.status, StepStatus::Passed { .. })
}

fn has_failed(step: &StepState) -> bool {
    !step.status.is_settled() && !step.history.failed.is_empty()
}

fn is_left(step: &StepState) -> bool {
    !step.status.is_settled() && step.history.failed.is_empty()
}
