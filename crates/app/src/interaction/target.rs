//! Which plan, step or run a command works on: the one typed, or named by `--name`, otherwise the one this worktree uses (by
//! marker or as the plan's worktree). Decisions need a plan the person named: agents can write the marker.

use std::path::PathBuf;

use planwright_engine::Project;
use planwright_engine::core::syntax::source::Source;
use planwright_engine::core::workspace::active_plan::{Audience, ResolvedBy, task};
use planwright_engine::git::worktree;
use planwright_engine::run::{Run, Runs};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::workspace::active_plan;
use planwright_engine::workspace::active_plan::Binding;
use planwright_engine::workspace::project;

use super::project::{here, project_of};
use crate::output::{Exit, Failure, NextCommand};
use planwright_engine::api::plan::find_step;
use planwright_engine::api::shown;

/// How many steps a hint names; a longer list helps nobody.
const STEPS_NAMED_MAX: usize = 12;

/// The plan of a command, where it is not an argument.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct NamedPlan {
    /// Use .harness/PLAN-<SLUG>.md
    #[arg(long, value_name = "SLUG")]
    name: Option<String>,
}

impl NamedPlan {
    /// That of a command which has its own option for the name.
    pub(crate) fn of(name: Option<&str>) -> Self {
        Self { name: name.map(str::to_owned) }
    }

    /// The plan named as an argument or by `--name`.
    fn said(&self, plan: Option<&str>) -> Result<Option<String>, Failure> {
        match (plan, &self.name) {
            (plan, None) => Ok(plan.map(str::to_owned)),
            (None, Some(name)) => named(name).map(Some),
            (Some(plan), Some(name)) => {
                let message = format!("two plans given: `{plan}` and --name `{name}`");
                Err(Failure::new(Exit::Usage, message).hint("name one").next(list()))
            }
        }
    }

    /// The plan of a decision: always one the person named.
    pub(crate) fn decide(&self, plan: &mut String) -> Result<(), Failure> {
        let said = self.said(typed(plan))?.ok_or_else(|| {
            Failure::new(Exit::Usage, "missing plan")
                .hint("name the plan: a decision never follows the worktree's marker")
                .next(list())
        })?;
        *plan = said;
        Ok(())
    }

    /// The plan that was named, else the one that this worktree is bound to.
    fn chosen(&self, plan: Option<&str>) -> Result<Option<(String, ResolvedBy)>, Failure> {
        match self.said(plan)? {
            Some(said) => Ok(Some((said, ResolvedBy::Argument))),
            None => {
                let project = here()?;
                let plan = match active_plan::of_marker(&project)? {
                    Some(bound) => Some(bound.plan),
                    None => worktree::plan_of(&project.root)?,
                };
                Ok(plan.map(|plan| (shown(&plan), ResolvedBy::Marker)))
            }
        }
    }

    /// Settles which plan is worked on, where a command without one is about all of them; says by what it was chosen.
    pub(crate) fn narrow(&self, plan: &mut Option<String>) -> Result<ResolvedBy, Failure> {
        let (chosen, by) = self.chosen(plan.as_deref())?.unzip();
        *plan = chosen;
        Ok(by.unwrap_or(ResolvedBy::Default))
    }

    /// The same for a command that knows plans by their paths from the root of the project.
    pub(crate) fn narrow_row(&self, plan: &mut Option<String>) -> Result<(), Failure> {
        let by = self.narrow(plan)?;
        if let Some(plan) = plan {
            let project = here()?;
            let path = match project.plan(plan) {
                Ok(path) => path,
                // What was run is known by its name, also where its file is gone; and several may begin in this way.
                Err(project::Error::NoPlan { .. } | project::Error::Ambiguous { .. })
                    if by == ResolvedBy::Argument =>
                {
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            let path = active_plan::real(&path);
            *plan = path.strip_prefix(&project.root).unwrap_or(&path).to_string_lossy().into_owned();
        }
        Ok(())
    }

    /// The same for a command that takes several plans.
    pub(crate) fn narrow_all(&self, plans: &mut Vec<String>) -> Result<(), Failure> {
        match plans.first() {
            None => plans.extend(self.chosen(None)?.map(|(plan, _)| plan)),
            Some(first) => drop(self.said(Some(first))?),
        }
        Ok(())
    }

    /// Settles which plans are worked on, where a command must have one.
    pub(crate) fn work_all(&self, plans: &mut Vec<String>) -> Result<(), Failure> {
        self.narrow_all(plans)?;
        if plans.is_empty() {
            plans.push(self.address(None)?.0);
        }
        Ok(())
    }

    /// Settles which plan is worked on.
    pub(crate) fn work(&self, plan: &mut String) -> Result<(), Failure> {
        *plan = self.address(typed(plan))?.0;
        Ok(())
    }

    /// Settles which plan is worked on, and returns by what it was chosen and the step that the words `task N` behind it name.
    pub(crate) fn work_on_task(
        &self,
        plan: &mut String,
        words: &[String],
    ) -> Result<(ResolvedBy, Option<String>), Failure> {
        let words: Vec<String> =
            typed(plan).map(str::to_owned).into_iter().chain(words.iter().cloned()).collect();
        let (before, step) = match task(&words) {
            Some((before, step)) => (before, Some(step.to_owned())),
            None => (words.as_slice(), None),
        };
        let ([] | [_]) = before else {
            let message = format!("unknown plan `{}`", words.join(" "));
            return Err(Failure::new(Exit::Usage, message).hint("use PLAN, or PLAN task N").next(list()));
        };
        let (chosen, by) = self.address(before.first().map(String::as_str))?;
        *plan = chosen;
        Ok((by, step))
    }

    /// The plan to work on: the one that was named, else the one that this worktree is bound to, else the one without a name.
    fn address(&self, plan: Option<&str>) -> Result<(String, ResolvedBy), Failure> {
        if let Some(chosen) = self.chosen(plan)? {
            return Ok(chosen);
        }
        let unnamed = match active_plan::resolve(&here()?, Audience::Any) {
            Ok(Binding { plan, .. }) => Some(plan).filter(|plan| plan_file::is_there(plan)),
            Err(active_plan::Error::NoFolder { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        unnamed.map(|plan| (shown(&plan), ResolvedBy::Default)).ok_or_else(|| {
            Failure::new(Exit::Usage, "missing plan: this worktree uses none")
                .hint("name a plan, or choose one for this worktree: planwright use PLAN")
                .next(list())
        })
    }
}

/// What was typed; the grammar says nothing where nothing was.
fn typed(plan: &str) -> Option<&str> {
    Some(plan).filter(|plan| !plan.is_empty())
}

/// The file of the plan with this name; it must be there.
fn named(name: &str) -> Result<String, Failure> {
    Ok(shown(&active_plan::resolve(&here()?, Audience::Old(name))?.plan))
}

fn list() -> NextCommand {
    NextCommand::new(["planwright", "list"])
}

/// A plan that a command works on, read as text.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) project: Project,
    pub(crate) source: Source,
    pub(crate) step: Option<String>,
}

/// Opens the plan or step that the user points at.
pub(crate) fn open(address: &str) -> Result<Opened, Failure> {
    let project::Address { plan: path, step } = here()?.address(address)?;
    let opened = open_file(path)?;
    if let Some(step) = &step {
        let draft = opened.source.draft();
        find_step(&draft, step, &shown(&opened.path))?;
    }
    Ok(Opened { step, ..opened })
}

/// Opens a plan file.
pub(crate) fn open_file(path: PathBuf) -> Result<Opened, Failure> {
    let project = project_of(&path)?;
    match plan_file::read(&path, &shown(&path), project.reading()).map_err(Failure::from)? {
        FileText::Plan(source) => Ok(Opened { path, project, source, step: None }),
        FileText::Unreadable(unreadable) => {
            let failure =
                Failure::new(Exit::No, format!("{}: {}", shown(&path), unreadable.diagnostic.message));
            Err(failure.next(NextCommand::new(["planwright", "verify", shown(&path).as_str()])))
        }
    }
}

/// The newest run of a plan, as the user points at it.
pub(crate) struct RunOf {
    pub(crate) path: PathBuf,
    pub(crate) runs: Runs,
    pub(crate) run: Run,
    /// The step that was named, as a place in the approved plan.
    pub(crate) step: Option<usize>,
}

/// Finds the newest run of the plan or step that the user points at.
pub(crate) fn run_of(address: &str) -> Result<RunOf, Failure> {
    let project::Address { plan: path, step } = here()?.address(address)?;
    let mut runs = Runs::open(&project_of(&path)?)?;
    let name = plan_file::name(&path);
    let mut path = path;
    // The newest may have been made in a worktree: then that is where it is looked at, answered and stopped.
    if let Some((root, _)) = runs.elsewhere(&path)? {
        path = root.join(runs.relative(&path));
        runs = Runs::open(&Project::find(&root)?)?;
    }
    let run = runs.last(&path)?.ok_or_else(|| {
        let next = NextCommand::new(["planwright", "run", shown(&path).as_str()]);
        Failure::new(Exit::No, format!("{name} has not been run")).next(next)
    })?;
    let step = step.map(|step| step_of(&run, &step)).transpose()?;
    Ok(RunOf { path, runs, run, step })
}

/// The place of a step in the plan that was approved: an id, a number, or the beginning of one id alone.
pub(crate) fn step_of(run: &Run, name: &str) -> Result<usize, Failure> {
    let steps = &run.plan.steps;
    let mut near = steps.iter().enumerate().filter(|(_, step)| step.id.starts_with(name));
    let only = || near.next().filter(|_| near.next().is_none()).map(|(place, _)| place);
    let exact = steps.iter().position(|step| step.id == name);
    let numbered = || steps.iter().position(|step| step.number.to_string() == name.trim_start_matches('#'));
    exact.or_else(numbered).or_else(only).ok_or_else(|| {
        let plan = run.row.name.as_str();
        let known = match steps.len() {
            count if count > STEPS_NAMED_MAX => format!("it has {count} steps"),
            _ => {
                let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
                format!("its steps are {}", ids.join(", "))
            }
        };
        let next = NextCommand::new(["planwright", "show", shown(&run.row.plan).as_str()]);
        Failure::new(Exit::Usage, format!("{plan} has no step `{name}`")).hint(known).next(next)
    })
}
