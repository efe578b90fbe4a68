//! The plans of a project, one line each, and one of them with what is recorded of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planwright_core::dialect;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified;
use planwright_core::plan::view::Summary;
use planwright_core::run::event::RunOutcome;
use planwright_core::syntax::diagnostic::Severity;
use planwright_core::syntax::source;
use planwright_core::workspace::portfolio::PlanProgress;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::Error;
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::workspace::Workspace;
use crate::approval;
use crate::approval::Approvals;
use crate::portfolio::board;
use crate::run::baseline;
use crate::run::{RunSummaryRow, Runs};
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::project::PlanListing;

/// Which plans are wanted.
#[derive(Debug, Default)]
pub struct PlanFilter<'a> {
    pub status: Option<&'a str>,
    /// A text in the name or the title.
    pub text: Option<&'a str>,
    pub shelf: Shelf,
}

/// Where plans are looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shelf {
    #[default]
    Off,
    On,
}

/// The plans of a project.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PlanListView {
    /// The plans, by path.
    pub plans: Vec<Summary>,
    /// Problems: conflict copies of plans, dangling markers.
    pub faults: Vec<String>,
    /// How much reviewers found in the newest run of a plan, by path; plans without findings are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub findings: BTreeMap<String, usize>,
    /// How many steps of a plan are proven by its newest run, by path; plans that were never run are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub proven: BTreeMap<String, usize>,
    /// The paths of plans whose files say that they are done, and whose newest run does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<String>,
    /// How many there are, wanted or not.
    #[serde(skip)]
    pub total: usize,
    /// The command that a person types next.
    #[serde(skip)]
    pub next: Option<NextCommand>,
}

impl PlanFilter<'_> {
    fn wants(&self, plan: &Summary) -> bool {
        let has_status = self.status.is_none_or(|status| plan.status.eq_ignore_ascii_case(status));
        let text = self.text.map(str::to_lowercase);
        let has_text = text.is_none_or(|text| {
            plan.name.to_lowercase().contains(&text) || plan.title.to_lowercase().contains(&text)
        });
        has_status && has_text
    }
}

impl Workspace {
    pub fn plans(&self, filter: &PlanFilter<'_>) -> Result<PlanListView, Error> {
        let PlanListing { plans: all, faults } = match filter.shelf {
            Shelf::On => self.shelved()?,
            Shelf::Off => self.project().survey()?,
        };
        let total = all.len();
        if total == 0 {
            return Ok(PlanListView { faults, ..PlanListView::default() });
        }
        let is_alone = |one: &Summary| all.iter().filter(|plan| plan.name == one.name).count() == 1;
        // A name is shorter and works from everywhere, but several plans may have it, and a file may have any name.
        let address = |plan: &Summary| match is_alone(plan) && verified::slug(&plan.name) == plan.name {
            true => plan.name.clone(),
            false => shown(&self.root().join(&plan.path)),
        };
        let first = all.iter().find(|plan| filter.wants(plan)).map(|plan| match filter.shelf {
            Shelf::On => NextCommand::new(["planwright", "unshelve", plan.name.as_str()]),
            Shelf::Off => NextCommand::new(["planwright", "show", address(plan).as_str()]),
        });
        let plans: Vec<Summary> = all.into_iter().filter(|plan| filter.wants(plan)).collect();
        let next = Some(first.unwrap_or_else(|| NextCommand::new(["planwright", "list"])));
        let newest = self.newest_runs()?;
        let by_path = |count: &dyn Fn(&RunSummaryRow) -> usize| -> BTreeMap<String, usize> {
            newest.iter().map(|run| (run.path.to_string_lossy().into_owned(), count(run))).collect()
        };
        let mut findings = by_path(&|run| run.tally.findings);
        findings.retain(|_, count| *count > 0);
        let is_done = |plan: &Summary| {
            let mut runs = newest.iter().filter(|run| run.path == Path::new(&plan.path));
            runs.any(|run| run.tally.outcome() == Some(RunOutcome::Done))
        };
        let unproven = plans.iter().filter(|plan| says_done(plan) && !is_done(plan));
        let unproven = unproven.map(|plan| plan.path.clone()).collect();
        let proven = by_path(&|run| run.tally.passed());
        Ok(PlanListView { plans, faults, findings, proven, unproven, total, next })
    }

    /// Whether the project has any plan.
    pub fn has_plans(&self) -> Result<bool, Error> {
        Ok(!self.project().plans()?.is_empty())
    }

    /// The plans with their states by the record: what the file says of a plan that was proposed is a mirror, in words of its
    /// own.
    pub fn recorded_plans(&self) -> Result<Vec<Summary>, Error> {
        let mut plans = self.project().survey()?.plans;
        let Some(approvals) = Approvals::open_existing(self.project())? else { return Ok(plans) };
        let mut states: BTreeMap<PathBuf, String> = BTreeMap::new();
        for row in approvals.runs().store().ledgers().map_err(approval::Error::from)? {
            if row.summary.revision > 0 {
                let state = approvals.case_of(row.plan.clone())?.state().to_string();
                states.insert(row.plan, state);
            }
        }
        for plan in &mut plans {
            if let Some(state) = states.get(Path::new(&plan.path)) {
                plan.status.clone_from(state);
            }
        }
        Ok(plans)
    }

    /// The plans on the shelf.
    fn shelved(&self) -> Result<PlanListing, Error> {
        let board = board::board(self.project())?;
        let mut plans = Vec::new();
        for card in board.cards.iter().filter(|card| card.entry.status == PlanProgress::Staged) {
            let (name, path) = (card.entry.name.clone(), card.path.to_string_lossy().into_owned());
            let file = self.root().join(&card.path);
            plans.push(match plan_file::read(&file, &shown(&file), self.project().reading())? {
                FileText::Plan(source) => Summary::of(name, path, (source.dialect().name, &parse(&source))),
                FileText::Unreadable(unreadable) => {
                    Summary::unreadable(name, path, unreadable.diagnostic.message)
                }
            });
        }
        Ok(PlanListing { plans, faults: board.faults })
    }

    /// The newest run of each plan.
    fn newest_runs(&self) -> Result<Vec<RunSummaryRow>, Error> {
        match Runs::open_existing(self.project())? {
            Some(runs) => Ok(runs.newest()?),
            None => Ok(Vec::new()),
        }
    }
}

/// Whether the file says that the plan is done, in the words of its dialect.
fn says_done(plan: &Summary) -> bool {
    let states = dialect::named(&plan.dialect).map(|dialect| dialect.states).unwrap_or_default();
    let is_it = |(word, state): &&(&str, PlanState)| {
        *state == PlanState::Done && word.eq_ignore_ascii_case(plan.status.trim())
    };
    states.iter().any(|pair| is_it(&pair))
}

/// A plan, its state, and its text.
#[derive(Debug, Serialize)]
pub struct RecordedPlanView {
    pub id: String,
    pub path: String,
    pub dialect: String,
    pub title: String,
    /// Its state by the record, or by the file if it was never proposed.
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub errors: usize,
    pub warnings: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<&'static str>,
    pub steps: Vec<RecordedStepView>,
    pub text: String,
}

#[derive(Debug, Serialize)]
pub struct RecordedStepView {
    pub id: String,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl Workspace {
    /// The plan in this file, with what is recorded of it.
    pub fn recorded_plan(&self, path: &Path) -> Result<RecordedPlanView, Error> {
        let project = self.project();
        let verified = baseline::verify(project, path, &self.relative(path))?;
        let case = Approvals::open_existing(project)?.map(|approvals| approvals.case(path)).transpose()?;
        let newest = case.as_ref().and_then(|case| case.standing.newest());
        let run = Runs::open_existing(project)?.map(|runs| runs.latest(path)).transpose()?.flatten();
        let draft = parse(&verified.source);
        let steps = draft.steps.iter().zip(verified::ids(&draft)).map(|(step, id)| RecordedStepView {
            status: run.as_ref().and_then(|run| run.step_word(&id)),
            title: step.title.value.clone(),
            id,
        });
        Ok(RecordedPlanView {
            id: plan_file::name(path),
            path: self.relative(path),
            dialect: verified.dialect().name.to_owned(),
            title: source::text(draft.title.as_ref()),
            state: match (&case, newest) {
                (Some(case), Some(_)) => case.state().to_string(),
                (Some(_) | None, _) => source::text(draft.status.0.as_ref()),
            },
            revision: newest.map(|newest| newest.number),
            digest: newest.map(|newest| newest.subject.digest.clone()),
            errors: verified.count(Severity::Error),
            warnings: verified.count(Severity::Warning),
            run: run.as_ref().map(crate::run::Run::word),
            steps: steps.collect(),
            text: verified.source.text().to_owned(),
        })
    }

    /// A file as its path from the root.
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.root()).unwrap_or(path).to_string_lossy().into_owned()
    }
}
