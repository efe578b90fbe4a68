//! A plan as people and programs read it: what its file says, what is proven of that, and what its planner said.

use std::collections::BTreeSet;

use planwright_core::dialect::proposal;
use planwright_core::dialect::proposal::ProposalSection;
use planwright_core::plan::view::PlanView;
use planwright_core::run::state::{StepState, StepStatus};
use planwright_core::syntax::diagnostic::Severity;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::plan::Plan;
use crate::api::run_state::FindingView;
use crate::approval::Approvals;
use crate::run::arbiter;
use crate::run::{Run, Runs};

/// What is shown besides the plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShowOptions<'a> {
    /// A section of its text.
    pub section: Option<&'a str>,
    /// The arbiter's input.
    pub has_arbiter_prompt: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ShowView {
    /// The plan; only the step that was asked for, where one was.
    #[serde(flatten)]
    pub plan: PlanView,
    /// How many errors the checker finds in it.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
    /// The picture, where one was asked for.
    pub graph: Option<String>,
    /// The section, where one was asked for.
    pub section: Option<ProposalSection>,
    /// The planner's reasoning; empty if unknown.
    pub reasoning: String,
    /// The text for another reader, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// The ids of steps that its newest run proves: what the file says of any other is a claim.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub proven: BTreeSet<String>,
    /// What reviewers found in its newest run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingView>,
}

impl Plan {
    /// What its file says, errors or not.
    pub fn view(&self) -> Result<PlanView, Error> {
        let dialect = self.source().dialect().name;
        let plan = self.verified()?.plan.as_ref();
        Ok(PlanView::of(self.name(), (self.source(), dialect), self.draft(), plan))
    }

    pub fn latest_run(&self) -> Result<Option<Run>, Error> {
        match Runs::open_existing(self.workspace().project())? {
            Some(runs) => Ok(runs.latest(self.path())?),
            None => Ok(None),
        }
    }

    /// All of the plan; who shows a picture adds it.
    pub fn show(&self, options: ShowOptions<'_>) -> Result<ShowView, Error> {
        self.require_plan()?;
        let plan = self.view()?;
        let verified = self.verified()?;
        let reasoning = self.reasoning()?;
        let section = options.section.map(|name| self.section(name)).transpose()?;
        let told = options.has_arbiter_prompt.then(|| self.arbiter_prompt()).transpose()?;
        let run = self.latest_run()?;
        Ok(ShowView {
            errors: verified.count(Severity::Error),
            warnings: verified.count(Severity::Warning),
            graph: None,
            section,
            reasoning,
            told,
            proven: run.as_ref().map(|run| proven(&plan, run)).unwrap_or_default(),
            findings: run.map(|run| run.findings()).unwrap_or_default(),
            plan,
        })
    }

    /// What the planner of the present text said to it.
    fn reasoning(&self) -> Result<String, Error> {
        let Some(approvals) = Approvals::open_existing(self.workspace().project())? else {
            return Ok(String::new());
        };
        let last = approvals.case(self.path())?.standing.drafts.pop();
        Ok(last.map(|last| last.drafting.reasoning).unwrap_or_default())
    }

    fn section(&self, name: &str) -> Result<ProposalSection, Error> {
        let source = self.source();
        proposal::section(source, name).ok_or_else(|| {
            let names: Vec<String> =
                proposal::sections(source).into_iter().map(|section| section.path).collect();
            Error::new(ErrorKind::Usage, format!("{} has no section `{name}`", source.name()))
                .hint(format!("its sections are {}", names.join(", ")))
        })
    }

    /// The arbiter's input about the plan.
    fn arbiter_prompt(&self) -> Result<String, Error> {
        // An unassigned target is not an error here: the arbiter can suggest an agent.
        let plan = self.trusted();
        let case = arbiter::gather(self.workspace().project(), self.path(), plan.as_ref())?;
        case.map(|case| case.told()).ok_or_else(|| {
            let path = self.shown();
            let next = NextCommand::new(["planwright", "verify", path.as_str()]);
            Error::new(ErrorKind::Refused, format!("{path} has errors; fix them first")).next(next)
        })
    }
}

/// Steps finished by a run of exactly this plan.
fn proven(plan: &PlanView, run: &Run) -> BTreeSet<String> {
    let is_same = plan.digest.as_ref() == Some(&run.row.digest);
    let is_settled =
        |step: &&StepState| matches!(step.status, StepStatus::Passed { .. } | StepStatus::Skipped { .. });
    run.state.steps.iter().filter(|_| is_same).filter(is_settled).map(|step| step.id.clone()).collect()
}
