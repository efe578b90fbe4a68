//! Which plan, step or run is meant: the one typed, or named by its slug, otherwise the one that the worktree uses (by marker
//! or as the plan's worktree). Decisions need a plan that the person named: agents can write the marker.

use std::path::PathBuf;

use planwright_core::workspace::active_plan::{Audience, ResolvedBy, task};

use crate::api::caller::Caller;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::plan::no_step;
use crate::api::workspace::Workspace;
use crate::git::worktree;
use crate::run::{Run, Runs};
use crate::store::plan_file;
use crate::workspace::active_plan;
use crate::workspace::active_plan::Binding;
use crate::workspace::project;
use crate::workspace::project::{Address, Project};

/// How a plan was named, if it was.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// A path, a name or the beginning of one.
    pub typed: Option<&'a str>,
    /// The slug of a plan in the `.harness` directory.
    pub slug: Option<&'a str>,
}

/// The plan that is meant, as it can be typed, and by what it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenPlan {
    pub address: String,
    pub by: ResolvedBy,
}

impl Workspace {
    /// The plan that was named.
    pub fn named_plan(&self, target: Target<'_>) -> Result<Option<String>, Error> {
        match (target.typed, target.slug) {
            (plan, None) => Ok(plan.map(str::to_owned)),
            (None, Some(slug)) => {
                Ok(Some(shown(&active_plan::resolve(self.project(), Audience::Old(slug))?.plan)))
            }
            (Some(plan), Some(slug)) => {
                let message = format!("two plans given: `{plan}` and --name `{slug}`");
                Err(Error::new(ErrorKind::Usage, message).hint("name one").next(list()))
            }
        }
    }

    /// The plan of a decision: always one the person named.
    pub fn plan_to_decide(&self, target: Target<'_>) -> Result<String, Error> {
        self.named_plan(target)?.ok_or_else(|| {
            Error::new(ErrorKind::Usage, "missing plan")
                .hint("name the plan: a decision never follows the worktree's marker")
                .next(list())
        })
    }

    /// The plan that was named, else the one that this worktree is bound to.
    pub fn bound_plan(&self, target: Target<'_>) -> Result<Option<ChosenPlan>, Error> {
        if let Some(address) = self.named_plan(target)? {
            return Ok(Some(ChosenPlan { address, by: ResolvedBy::Argument }));
        }
        let plan = match active_plan::of_marker(self.project())? {
            Some(bound) => Some(bound.plan),
            None => worktree::plan_of(self.root())?,
        };
        Ok(plan.map(|plan| ChosenPlan { address: shown(&plan), by: ResolvedBy::Marker }))
    }

    /// The same, as the plan's path from the root.
    pub fn bound_row(&self, target: Target<'_>) -> Result<Option<String>, Error> {
        let Some(ChosenPlan { address, by }) = self.bound_plan(target)? else { return Ok(None) };
        match self.project().plan(&address) {
            Ok(path) => {
                let path = active_plan::real(&path);
                Ok(Some(path.strip_prefix(self.root()).unwrap_or(&path).to_string_lossy().into_owned()))
            }
            // What was run is known by its name, also where its file is gone; and several may begin in this way.
            Err(project::Error::NoPlan { .. } | project::Error::Ambiguous { .. })
                if by == ResolvedBy::Argument =>
            {
                Ok(Some(address))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The plan that was named, else the one that this worktree is bound to, else the one without a name.
    pub fn plan_to_work_on(&self, target: Target<'_>) -> Result<ChosenPlan, Error> {
        if let Some(chosen) = self.bound_plan(target)? {
            return Ok(chosen);
        }
        let unnamed = match active_plan::resolve(self.project(), Audience::Any) {
            Ok(Binding { plan, .. }) => Some(plan).filter(|plan| plan_file::is_there(plan)),
            Err(active_plan::Error::NoFolder { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let chosen = unnamed.map(|plan| ChosenPlan { address: shown(&plan), by: ResolvedBy::Default });
        chosen.ok_or_else(|| {
            Error::new(ErrorKind::Usage, "missing plan: this worktree uses none")
                .hint("name a plan, or choose one for this worktree: planwright use PLAN")
                .next(list())
        })
    }

    /// The same for a plan that may be followed by the words `task N`, which name a step of it.
    pub fn task_to_work_on(
        &self,
        words: &[String],
        slug: Option<&str>,
    ) -> Result<(ChosenPlan, Option<String>), Error> {
        let (before, step) = match task(words) {
            Some((before, step)) => (before, Some(step.to_owned())),
            None => (words, None),
        };
        let ([] | [_]) = before else {
            let message = format!("unknown plan `{}`", words.join(" "));
            return Err(Error::new(ErrorKind::Usage, message).hint("use PLAN, or PLAN task N").next(list()));
        };
        let typed = before.first().map(String::as_str);
        Ok((self.plan_to_work_on(Target { typed, slug })?, step))
    }

    /// The newest run of the plan or step that the user points at.
    pub fn run_of(&self, address: &str) -> Result<PlanRun, Error> {
        let Address { plan: mut path, step } = self.project().address(address)?;
        let mut runs = Runs::open(Self::open_for(&path, self.options())?.project())?;
        let name = plan_file::name(&path);
        // The newest may have been made in a worktree: then that is where it is looked at, answered and stopped.
        if let Some((root, _)) = runs.elsewhere(&path)? {
            path = root.join(runs.relative(&path));
            runs = Runs::open(&Project::find(&root)?)?;
        }
        let run = runs.last(&path)?.ok_or_else(|| {
            let next = NextCommand::new(["planwright", "run", shown(&path).as_str()]);
            Error::new(ErrorKind::Refused, format!("{name} has not been run")).next(next)
        })?;
        let step = step.map(|step| step_of_run(&run, &step)).transpose()?;
        Ok(PlanRun { path, caller: self.caller().clone(), runs, run, step })
    }
}

fn list() -> NextCommand {
    NextCommand::new(["planwright", "list"])
}

/// The newest run of a plan, as the user points at it.
pub struct PlanRun {
    pub path: PathBuf,
    pub(crate) caller: Caller,
    pub runs: Runs,
    pub run: Run,
    /// The step that was named, as a place in the approved plan.
    pub step: Option<usize>,
}

/// The place of a step in the plan that was approved: an id, a number, or the beginning of one id alone.
pub fn step_of_run(run: &Run, name: &str) -> Result<usize, Error> {
    let steps = &run.plan.steps;
    let mut near = steps.iter().enumerate().filter(|(_, step)| step.id.starts_with(name));
    let only = || near.next().filter(|_| near.next().is_none()).map(|(place, _)| place);
    let exact = steps.iter().position(|step| step.id == name);
    let numbered = || steps.iter().position(|step| step.number.to_string() == name.trim_start_matches('#'));
    exact.or_else(numbered).or_else(only).ok_or_else(|| {
        let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
        no_step(name, &run.row.name, &ids, &shown(&run.row.plan))
    })
}
