//! Plans that go back to draft, and next versions of plans after a step failed. Finished steps stay finished; a new version needs
//! its own approval, and the number of versions is limited.

mod history;
mod version;

use std::collections::BTreeSet;
use std::path::PathBuf;

use planwright_core::agent::planner as planning;
use planwright_core::agent::planner::plan_json;
use planwright_core::agent::planner::plan_json::PlanJsonAction;
use planwright_core::agent::planner::{FailureContext, RevisionPlan};
use planwright_core::approval::ledger::{Drafting, Setback};
use planwright_core::dialect;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::verified;
use planwright_core::run::event::RunOutcome;
use planwright_core::syntax::count::counted;
use planwright_core::syntax::source::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::planner;
use crate::api::caller::Right;
use crate::api::draft::AnswerOrigin;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::plan::Plan;
use crate::api::planner::{Conversation, ConversationTerms, PlannerAnswer, ReturnedAnswer};
use crate::api::proposal::ProposalView;
use crate::approval::Approvals;
use crate::run;
use crate::run::baseline;
use crate::run::{Run, Runs};
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::project::{Project, Verified};

/// The dialects whose plans have versions in files of their own.
const DIALECTS: [&str; 2] = ["native", "record"];

#[derive(Debug, Serialize, JsonSchema)]
pub struct ReopenView {
    pub plan: String,
    /// Where it stood.
    pub from: String,
    /// Its state now.
    pub state: String,
    /// What could not be written to the plan file.
    #[serde(skip)]
    pub complaints: Vec<String>,
}

/// How the next version comes about, and what is new since this one.
#[derive(Debug, Clone)]
pub struct RevisionOptions {
    /// The step that failed; `None`: as the run says.
    pub step: Option<String>,
    /// Why it failed; `None`: as the run says.
    pub error: Option<String>,
    pub discoveries: Vec<String>,
    pub constraints: Vec<String>,
    /// What changed, if the author says so; otherwise as the planner says.
    pub changes: String,
    /// Why, if the author says so.
    pub reasoning: String,
    pub author: RevisionAuthor,
}

/// Who writes the next version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevisionAuthor {
    /// A person, in a copy of the present one.
    Copy,
    /// Somebody whose answer is handed in.
    Answer,
    Planner,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RevisionView {
    /// `plan`, or `done` or `escalate` if the answer is not a plan.
    pub action: String,
    /// The old version.
    pub previous: String,
    /// The id of the new version; empty where there is none.
    pub id: String,
    /// Its file.
    pub path: String,
    /// The step that failed.
    pub failed: String,
    /// Why.
    pub error: String,
    /// What is different, in the planner's words.
    pub changes: String,
    /// Why, in the planner's words.
    pub reasoning: String,
    /// Ids of the finished steps that were kept.
    pub kept: Vec<String>,
    /// How often the planner was asked; 0 if it was not.
    pub tries: u32,
    /// What was proposed; `None` where nothing was.
    pub proposed: Option<ProposalView>,
}

/// A version in an answer that can be used.
pub struct NewVersion {
    verified: Verified,
    changes: String,
    reasoning: String,
}

/// A version that was written and recorded, and can be proposed.
pub struct WrittenVersion {
    pub plan: Plan,
    pub by: Identity,
    pub view: RevisionView,
}

/// A plan to revise: what failed and why, what is finished, and its versions.
pub struct Revision<'a> {
    plan: &'a Plan,
    options: RevisionOptions,
    ids: Vec<String>,
    /// The step that failed; `None` where none did and an answer is handed in.
    failed: Option<usize>,
    error: String,
    /// Places of the finished steps.
    finished: BTreeSet<usize>,
    /// How the new version is called.
    next: RevisionPlan,
    /// Why there were versions before this one, the oldest first.
    setbacks: Vec<Setback>,
    /// All versions, the oldest first.
    chain: Vec<PathBuf>,
    run: Option<Run>,
}

impl Plan {
    /// Returns the plan to draft: withdraws a proposal, or opens a plan that has finished.
    pub fn reopen(&self, message: &str) -> Result<ReopenView, Error> {
        let caller = self.workspace().caller();
        caller.may(Right::Revise)?;
        let approvals = Approvals::open(self.workspace().project())?;
        let from = approvals.case(self.path())?.state().to_string();
        let (case, complaints) = approvals.reopen(self.path(), &caller.identity(), message)?;
        Ok(ReopenView { plan: self.name(), from, state: case.state().to_string(), complaints })
    }
}

impl Revision<'_> {
    fn project(&self) -> &Project {
        self.plan.workspace().project()
    }

    fn source(&self) -> &Source {
        self.plan.source()
    }

    /// The file of the new version.
    fn file(&self) -> PathBuf {
        let path = self.plan.path();
        let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        path.with_file_name(format!("{}.{ending}", self.next.id))
    }

    /// Prevents endless replanning: too many versions, or the same failure without new information. What could not be written to
    /// plan files is passed to `warn`.
    pub fn refuse_endless(&self, warn: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let name = self.plan.name();
        let place = self.chain.iter().position(|version| plan_file::name(version) == name).unwrap_or(0);
        if let Some(later) = self.chain.get(place + 1) {
            let message = format!("{name} already has a newer version: {}", shown(later));
            let last = self.chain.last().unwrap_or(later);
            return Err(Error::new(ErrorKind::Moved, message)
                .hint("nothing was written; revise the newest version")
                .next(NextCommand::new(["planwright", "revise", shown(last).as_str(), "--planner"])));
        }
        if plan_file::is_there(&self.file()) {
            return Err(plan_file::Error::Exists { path: self.file() }.into());
        }
        // Files of earlier versions may be gone; what was recorded of them is not.
        let times = place.max(self.setbacks.len());
        if times >= self.project().config.replan.max as usize {
            return Err(self.give_up(times, warn));
        }
        let is_handed_in = self.options.author == RevisionAuthor::Answer;
        let Some(step) = self.failed.map(|place| &self.ids[place]).filter(|_| !is_handed_in) else {
            return Ok(());
        };
        match self.same_setback(step).filter(|_| self.options.author != RevisionAuthor::Copy) {
            Some(setback) => {
                let message = format!(
                    "step `{step}` failed the same way in {}: replanning would loop",
                    setback.previous
                );
                Err(Error::new(ErrorKind::NeedsPerson, message)
                    .hint("pass --discovery or --constraint with something new, or edit the plan yourself with --copy")
                    .next(self.log()))
            }
            None => Ok(()),
        }
    }

    /// The same failure in an earlier version, if nothing new is known since.
    fn same_setback(&self, step: &str) -> Option<&Setback> {
        let print = planning::fingerprint(&self.error);
        let is_same = |setback: &&Setback| {
            setback.step == *step && !self.error.is_empty() && planning::fingerprint(&setback.error) == print
        };
        let is_known = |told: fn(&Setback) -> &Vec<String>, text: &String| {
            self.setbacks.iter().any(|setback| told(setback).contains(text))
        };
        let RevisionOptions { discoveries, constraints, .. } = &self.options;
        let is_new = discoveries.iter().any(|text| !is_known(|setback| &setback.discoveries, text))
            || constraints.iter().any(|text| !is_known(|setback| &setback.constraints, text));
        self.setbacks.iter().find(is_same).filter(|_| !is_new)
    }

    fn log(&self) -> NextCommand {
        NextCommand::new(["planwright", "log", self.plan.shown().as_str(), "--versions"])
    }

    /// The plan has failed for good. Only a person ends its run: an agent that asks for one more version too many is refused.
    fn give_up(&self, times: usize, warn: &mut dyn FnMut(&str)) -> Error {
        let why = format!("replanned {}, the limit (`replan.max`)", counted(times, "time", "times"));
        if self.plan.workspace().caller().is_person() {
            match self.end_runs(&why) {
                Ok(complaints) => complaints.iter().for_each(|complaint| warn(complaint)),
                Err(error) => warn(&format!("cannot end its runs: {error}")),
            }
        }
        Error::new(ErrorKind::Refused, format!("cannot replan {}: {why}", self.plan.name()))
            .hint("write another plan, or raise `replan.max`")
            .next(self.log())
    }

    /// Ends the runs of all versions that still wait; what could not be written into their files is returned.
    fn end_runs(&self, why: &str) -> Result<Vec<String>, run::Error> {
        let runs = Runs::open(self.project())?;
        let mut complaints = Vec::new();
        for version in &self.chain {
            if let Some(run) = runs.latest(version)?.filter(|run| run.state.outcome().is_none()) {
                runs.end(&run, RunOutcome::Failed, why)?;
                complaints.extend(runs.mirror(run.row.id, version)?);
            }
        }
        Ok(complaints)
    }

    /// Whether the run of the old version continues.
    pub fn has_open_run(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.state.outcome().is_none())
    }

    /// The same steps once more, for a person to edit.
    pub fn copy(&self) -> Result<NewVersion, Error> {
        let text = version::copied(self)?;
        Ok(NewVersion {
            verified: baseline::verify_text(self.project(), FileText::Plan(text))?,
            changes: self.options.changes.clone(),
            reasoning: self.options.reasoning.clone(),
        })
    }

    /// Asks a planner for the next version.
    pub fn ask(&self, agent: Option<&str>, tries: Option<u32>) -> Result<Conversation, Error> {
        let plan = self.plan.shown();
        let hand_in = ["planwright", "revise", &plan, "--from"].map(str::to_owned).to_vec();
        let terms = ConversationTerms { wanted: "the whole plan", hand_in };
        self.plan.workspace().conversation(self.prompt(), agent, tries, terms)
    }

    fn prompt(&self) -> String {
        let draft = self.plan.draft();
        let named = |place: usize| {
            format!("step {} `{}`: {}", place + 1, self.ids[place], draft.steps[place].title.value)
        };
        let finished: Vec<String> = self.finished.iter().map(|&place| named(place)).collect();
        let earlier = self
            .setbacks
            .iter()
            .map(|setback| format!("{}: step `{}`: {}", setback.previous, setback.step, setback.error));
        planning::replan(&FailureContext {
            plan: self.source(),
            language: if self.source().dialect() == dialect::NATIVE { "markdown" } else { "yaml" },
            finished: &finished,
            step: &self.failed.map_or_else(|| "not named; see below".to_owned(), named),
            error: &self.error,
            discoveries: &self.options.discoveries,
            constraints: &self.options.constraints,
            earlier: &earlier.collect::<Vec<_>>(),
            around: &planner::surroundings(self.project(), draft),
        })
    }

    /// Reads an answer and has the version in it checked: by the rules, and by what it owes the version before.
    pub fn read(&self, said: &str) -> Result<PlannerAnswer<NewVersion>, Error> {
        let (text, changes, reasoning) = match plan_json::find(said) {
            Some(Err(fault)) => return Ok(PlannerAnswer::refused(&fault)),
            Some(Ok(PlanJsonAction::Done { summary })) => return Ok(PlannerAnswer::Done(summary)),
            Some(Ok(PlanJsonAction::Escalate { step, reason })) => {
                return Ok(PlannerAnswer::Escalate { step, reason });
            }
            Some(Ok(PlanJsonAction::Plan(planned))) => {
                if let Some(fault) = self.other_revision(planned.revision)? {
                    return Ok(PlannerAnswer::refused(&fault));
                }
                let text = match planned.replace_from {
                    Some(_) => plan_json::replace(self.source(), &planned),
                    None => Ok(plan_json::compose(&planned)),
                };
                match text {
                    Ok(text) => (text, String::new(), plan_json::around(said)),
                    Err(fault) => return Ok(PlannerAnswer::refused(&fault)),
                }
            }
            None => match planning::read(said, self.source().dialect()) {
                Ok(answer) => (answer.plan, answer.changes, answer.reasoning),
                Err(fault) => return Ok(PlannerAnswer::refused(&fault)),
            },
        };
        let or = |own: &String, said: String| if own.is_empty() { said } else { own.clone() };
        let (changes, reasoning) =
            (or(&self.options.changes, changes), or(&self.options.reasoning, reasoning));
        let written = self.source().with(text);
        let returned =
            |plan, complaints| Ok(PlannerAnswer::Returned(ReturnedAnswer { plan: Some(plan), complaints }));
        let next = match version::adopted(self, &written, &changes, &reasoning) {
            Ok(next) => next,
            Err(refusal) => return returned(written, vec![refusal.to_string()]),
        };
        let verified = baseline::verify_text(self.project(), FileText::Plan(next))?;
        let mut complaints = planning::complaints(&verified.source, &verified.diagnostics);
        complaints.extend(planning::unkept(self.plan.draft(), &self.finished, &parse(&verified.source)));
        complaints.extend(
            self.same_as(&verified.source)
                .map(|name| format!("identical to {name}, which failed: change what made it fail")),
        );
        match complaints.is_empty() && verified.plan.is_some() {
            true => Ok(PlannerAnswer::Plan(Box::new(NewVersion { verified, changes, reasoning }))),
            false => returned(written, complaints),
        }
    }

    /// The version that says the same as this text.
    fn same_as(&self, text: &Source) -> Option<String> {
        let mut versions = self.chain.iter().filter_map(|path| {
            match plan_file::read(path, &shown(path), self.project().reading()).ok()? {
                FileText::Plan(source) => Some((path, source)),
                FileText::Unreadable(_) => None,
            }
        });
        let same = versions.find(|(_, version)| planning::says_the_same(version, text));
        same.map(|(path, _)| plan_file::name(path))
    }

    /// What is wrong with the revision that an agent had read, if it is another one than the newest.
    fn other_revision(&self, read: Option<u32>) -> Result<Option<String>, Error> {
        let Some(read) = read else { return Ok(None) };
        let newest = match Approvals::open_existing(self.project())? {
            Some(approvals) => {
                approvals.case(self.plan.path())?.standing.newest().map_or(0, |newest| newest.number)
            }
            None => 0,
        };
        let fault =
            || format!("the block is for revision {read} but the plan is at r{newest}; read it again");
        Ok((read != newest).then(fault))
    }

    /// Writes the new version and records why there is one.
    pub fn write(&self, found: NewVersion, origin: AnswerOrigin) -> Result<WrittenVersion, Error> {
        let NewVersion { verified, changes, reasoning } = found;
        let file = self.file();
        plan_file::create_plan(&file, verified.source.text(), self.source().dialect())?;
        let plan = self.plan.workspace().plan_at(file)?;
        let view = RevisionView {
            id: self.next.id.clone(),
            path: plan.shown(),
            changes,
            kept: self.finished.iter().map(|&place| self.ids[place].clone()).collect(),
            tries: origin.tries,
            ..self.unwritten("plan", reasoning)
        };
        let drafting = Drafting {
            task: self.plan.draft().title.as_ref().map(|title| title.value.clone()).unwrap_or_default(),
            reasoning: view.reasoning.clone(),
            changes: view.changes.clone(),
            tries: origin.tries,
            changed: origin.changed,
            after: Some(Setback {
                previous: self.plan.name(),
                step: view.failed.clone(),
                error: self.error.clone(),
                discoveries: self.options.discoveries.clone(),
                constraints: self.options.constraints.clone(),
            }),
        };
        let digest = plan.verified()?.plan.as_ref().map(|plan| Digest::of(plan).to_string());
        let approvals = Approvals::open(self.project())?;
        approvals.drafted(plan.path(), &origin.by, &digest.unwrap_or_default(), &drafting)?;
        Ok(WrittenVersion { plan, by: origin.by, view })
    }

    /// An answer that is no plan.
    pub fn unwritten(&self, action: &str, reasoning: String) -> RevisionView {
        RevisionView {
            action: action.to_owned(),
            previous: self.plan.shown(),
            id: String::new(),
            path: String::new(),
            failed: self.failed.map(|place| self.ids[place].clone()).unwrap_or_default(),
            error: self.error.clone(),
            changes: String::new(),
            reasoning,
            kept: Vec::new(),
            tries: 0,
            proposed: None,
        }
    }

    /// Comments that the agent wants a person to look at the plan, and returns the number of the comment. It opens no question
    /// and ends nothing.
    pub fn escalate(&self, step: Option<&str>, by: &Identity, text: &str) -> Result<u32, Error> {
        let known = step.and_then(|step| verified::find_step(self.plan.draft(), &self.ids, step));
        let step = known.or(self.failed).map(|place| self.ids[place].as_str());
        Ok(Approvals::open(self.project())?.comment(self.plan.path(), step, by, text)?)
    }
}
