//! Plans that a planner writes for a request. The planner only answers; its answer is checked here, and written.

use std::path::PathBuf;

use planwright_core::agent::planner as planning;
use planwright_core::agent::planner::PlanRequest;
use planwright_core::agent::planner::plan_json;
use planwright_core::agent::planner::plan_json::PlanJsonAction;
use planwright_core::approval::ledger::Drafting;
use planwright_core::dialect::NATIVE;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::draft::Draft;
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified;
use planwright_core::syntax::diagnostic::Severity;
use planwright_core::syntax::source::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::planner;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::plan::Plan;
use crate::api::planner::{Conversation, ConversationTerms, PlannerAnswer, ReturnedAnswer};
use crate::api::proposal::ProposalView;
use crate::api::workspace::Workspace;
use crate::approval::Approvals;
use crate::portfolio::board;
use crate::portfolio::board::DuplicatePlan;
use crate::run::Runs;
use crate::run::baseline;
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::active_plan;
use crate::workspace::project::Verified;

/// How many names are tried for a plan that has none of its own.
const NAMES_MAX: u32 = 1000;

/// What a planner is asked for.
#[derive(Debug, Clone, Copy)]
pub struct DraftRequest<'a> {
    pub task: &'a str,
    /// Relevant files.
    pub code: &'a [String],
    /// Facts from earlier work.
    pub memories: &'a [String],
    pub constraints: &'a [String],
}

/// A plan in an answer, without errors.
pub struct DraftAnswer {
    verified: Verified,
    pub reasoning: String,
}

/// Where an answer comes from.
pub struct AnswerOrigin {
    pub by: Identity,
    /// How often the planner was asked; 0 if it was not.
    pub tries: u32,
    /// Files that changed while the planner was at work.
    pub changed: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DraftedView {
    /// `plan`, or `done` where the answer only says so.
    pub action: String,
    /// The plan; `None` where none was written.
    pub plan: Option<String>,
    /// Its file.
    pub path: Option<String>,
    /// How many steps it has.
    pub steps: usize,
    pub digest: String,
    /// Who wrote it.
    pub by: String,
    /// How often the planner was asked; 0 if it was not.
    pub tries: u32,
    /// Why it is as it is, in the planner's words.
    pub reasoning: String,
    /// Files that changed while the planner was at work.
    pub changed: Vec<String>,
    /// What was proposed; `None` where nothing was.
    pub proposed: Option<ProposalView>,
}

/// A plan that was written and recorded, and can be proposed.
pub struct WrittenDraft {
    pub plan: Plan,
    /// Plans that may be the same work.
    pub duplicates: Vec<DuplicatePlan>,
    pub by: Identity,
    pub view: DraftedView,
}

impl DraftedView {
    /// An agent's report that the work is done, which changes no state.
    pub fn done(summary: String, by: &Identity) -> Self {
        Self {
            action: "done".to_owned(),
            plan: None,
            path: None,
            steps: 0,
            digest: String::new(),
            by: by.to_string(),
            tries: 0,
            reasoning: summary,
            changed: Vec::new(),
            proposed: None,
        }
    }
}

impl Workspace {
    /// Refuses an invalid or existing name, before a planner is asked.
    pub fn may_draft(&self, name: &str) -> Result<(), Error> {
        if name.is_empty() || verified::slug(name) != *name {
            let error = Error::new(ErrorKind::Usage, format!("`{name}` is not a valid plan name"));
            return Err(error.hint("use lowercase letters, digits and dashes"));
        }
        let home = (self.project().dialect.unwrap_or(NATIVE).home)(name, &plan_file::chance()?);
        let path = active_plan::place(self.project(), &home.path);
        match plan_file::is_there(&path) {
            true => Err(plan_file::Error::Exists { path }.into()),
            false => Ok(()),
        }
    }

    /// Asks a planner for a plan.
    pub fn ask_for_draft(
        &self,
        request: DraftRequest<'_>,
        agent: Option<&str>,
        tries: Option<u32>,
    ) -> Result<Conversation, Error> {
        let DraftRequest { task, code, memories, constraints } = request;
        let around = planner::surroundings(self.project(), &Draft::default());
        let code: Vec<_> = code.iter().map(|path| planner::code(self.project(), path)).collect();
        let first =
            planning::wish(&PlanRequest { task, code: &code, memories, constraints, around: &around });
        let hand_in = ["planwright", "draft", "--from"].map(str::to_owned).to_vec();
        self.conversation(first, agent, tries, ConversationTerms { wanted: "a plan", hand_in })
    }

    /// Reads an answer and has the plan in it checked.
    pub fn read_draft(&self, said: &str) -> Result<PlannerAnswer<DraftAnswer>, Error> {
        let (text, reasoning) = match plan_json::find(said) {
            Some(Err(fault)) => return Ok(PlannerAnswer::refused(&fault)),
            Some(Ok(PlanJsonAction::Done { summary })) => return Ok(PlannerAnswer::Done(summary)),
            Some(Ok(PlanJsonAction::Escalate { step, reason })) => {
                return Ok(PlannerAnswer::Escalate { step, reason });
            }
            Some(Ok(PlanJsonAction::Plan(planned))) if planned.replace_from.is_some() => {
                let complaint =
                    "`replace_from_step` applies to an existing plan; use `planwright revise PLAN --from`";
                return Ok(PlannerAnswer::refused(&complaint));
            }
            Some(Ok(PlanJsonAction::Plan(planned))) => {
                (plan_json::compose(&planned), plan_json::around(said))
            }
            None => match planning::read(said, NATIVE) {
                Ok(answer) => (answer.plan, answer.reasoning),
                Err(fault) => return Ok(PlannerAnswer::refused(&fault)),
            },
        };
        let source = Source::new("the plan", text).at("plans/draft.md").written_in(NATIVE);
        let source = match without_claims(&source) {
            Ok(source) => source,
            Err(complaint) => return Ok(PlannerAnswer::refused(&complaint)),
        };
        let verified = baseline::verify_text(self.project(), FileText::Plan(source))?;
        if verified.plan.is_some() {
            return Ok(PlannerAnswer::Plan(Box::new(DraftAnswer { verified, reasoning })));
        }
        let complaints = planning::complaints(&verified.source, &verified.diagnostics);
        Ok(PlannerAnswer::Returned(ReturnedAnswer { plan: Some(verified.source), complaints }))
    }

    /// Writes the plan under this name, or the first free one, and records why it is as it is.
    pub fn write_draft(
        &self,
        answer: DraftAnswer,
        task: String,
        origin: AnswerOrigin,
        name: Option<&str>,
    ) -> Result<WrittenDraft, Error> {
        let AnswerOrigin { by, tries, changed } = origin;
        let title = answer.verified.draft.as_ref().and_then(|draft| draft.title.as_ref());
        let title = title.map_or(task.as_str(), |title| title.value.as_str());
        // The written file is what is checked, recorded and proposed.
        let plan = self.plan_at(self.create_draft(&answer.verified, name, title)?)?;
        let verified = plan.verified()?;
        let duplicates = board::duplicates(self.project(), plan.path(), plan.draft())?;
        let digest = verified.plan.as_ref().map(|plan| Digest::of(plan).to_string()).unwrap_or_default();
        let drafting = Drafting { task, reasoning: answer.reasoning, tries, changed, ..Drafting::default() };
        Approvals::open(self.project())?.drafted(plan.path(), &by, &digest, &drafting)?;
        let view = DraftedView {
            action: "plan".to_owned(),
            plan: Some(plan.name()),
            path: Some(plan.shown()),
            steps: verified.plan.as_ref().map_or(0, |plan| plan.steps.len()),
            digest,
            by: by.to_string(),
            tries,
            reasoning: drafting.reasoning,
            changed: drafting.changed,
            proposed: None,
        };
        Ok(WrittenDraft { plan, duplicates, by, view })
    }

    /// Makes the file under the first free name.
    fn create_draft(&self, verified: &Verified, name: Option<&str>, title: &str) -> Result<PathBuf, Error> {
        let slug = verified::slug(title);
        let base = name.unwrap_or(if slug.is_empty() { "plan" } else { &slug });
        let Verified { source, draft, .. } = verified;
        let draft = draft.as_ref().expect("a plan without errors is parsed");
        for count in 1..=NAMES_MAX {
            let tried = if count == 1 { base.to_owned() } else { format!("{base}-{count}") };
            match self.write_new(&tried, source, draft) {
                Ok(path) => return Ok(path),
                Err(plan_file::Error::Exists { .. }) if name.is_none() && count < NAMES_MAX => {}
                Err(error) => return Err(error.into()),
            }
        }
        let message = format!("all names like {base} already exist");
        Err(Error::new(ErrorKind::Refused, message).hint("pass another with --name"))
    }

    /// A plan of one task and its contract, outside of the workspace.
    pub fn quick(&self, task: &QuickTask<'_>) -> Result<Plan, Error> {
        let QuickTask { task, contract, agent, retries } = *task;
        let usage = |message: &str| {
            Err(Error::new(ErrorKind::Usage, message).next(NextCommand::new(["planwright", "help", "quick"])))
        };
        if task.trim().is_empty() {
            return usage("missing task");
        }
        if contract.trim().is_empty() {
            return usage("missing contract");
        }
        let project = self.project();
        let text = planning::quick(task, contract, agent, retries);
        let source = Source::new("the plan", text.as_str());
        let verified = baseline::verify_text(project, FileText::Plan(source))?;
        let Some(plan) = &verified.plan else {
            let mut error = Error::new(ErrorKind::Refused, "cannot run this task");
            let errors = verified.diagnostics.iter().filter(|found| found.severity == Severity::Error);
            error.causes = errors.map(|found| format!("[{}] {}", found.code, found.message)).collect();
            return Err(error.hint("nothing was started"));
        };
        if project.config.agents_of(plan).get(agent).is_some_and(Vec::is_empty) {
            let name = project.config.agent_of(agent);
            let message = format!("agent `{name}` has no command; set agents.{name}.command");
            return Err(Error::new(ErrorKind::Refused, message)
                .hint(format!("set [roles] {agent} = \"claude\" in planwright.toml"))
                .next(NextCommand::new(["planwright", "doctor"])));
        }
        let path = planner::quick_plan(&Runs::open(project)?, task, &text)?;
        let source = Source::new(path.to_string_lossy(), text);
        Ok(Plan::unwritten(self.clone(), path, source))
    }
}

/// A task that is run at once.
#[derive(Debug, Clone, Copy)]
pub struct QuickTask<'a> {
    pub task: &'a str,
    /// The command that exits 0 only when the task is done.
    pub contract: &'a str,
    /// Role or agent for the task.
    pub agent: &'a str,
    /// After a failure.
    pub retries: u32,
}

/// The plan as a draft of which nothing is done, whatever its author says.
fn without_claims(source: &Source) -> Result<Source, String> {
    let draft = parse(source);
    let marked = draft.steps.iter().enumerate().filter(|(_, step)| !step.marks.is_empty());
    let mut changes: Vec<PlanEdit> = marked.map(|(step, _)| PlanEdit::Mark { step, mark: None }).collect();
    let is_draft = draft.state.as_ref().is_some_and(|state| state.value == PlanState::Draft);
    changes.extend((!is_draft).then_some(PlanEdit::Become { state: PlanState::Draft }));
    let edits = NATIVE.patch_all(source, &changes);
    edits
        .map(|edits| source.edited(&edits))
        .map_err(|refusal| format!("the plan must have `status: draft` and no step marked done ({refusal})"))
}
