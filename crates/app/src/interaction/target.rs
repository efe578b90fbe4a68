//! Which plan a command works on: the one typed, or named by `--name`, otherwise the one this worktree uses (by
//! marker or as the plan's worktree). Decisions need a plan the person named: agents can write the marker.

use planwright_engine::core::workspace::active_plan::{Audience, ResolvedBy, task};
use planwright_engine::git::worktree;
use planwright_engine::store::plan_file;
use planwright_engine::workspace::active_plan;
use planwright_engine::workspace::active_plan::Binding;
use planwright_engine::workspace::project;

use crate::command::{here, shown};
use crate::output::{Exit, Failure, NextCommand};

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

impl From<active_plan::Error> for Failure {
    fn from(error: active_plan::Error) -> Self {
        match error {
            active_plan::Error::Store(error) => error.into(),
            active_plan::Error::Loud(fault) => Self::new(Exit::Usage, fault.to_string())
                .hint(fault.way_out())
                .next(NextCommand::new(["planwright", "list-plans"])),
            active_plan::Error::NoFolder { .. } => Self::from_error(Exit::No, &error)
                .hint("named plans are in `.harness`, or in the directory of setting plans.harness")
                .next(list()),
            active_plan::Error::Unprintable { .. } => {
                Self::from_error(Exit::Usage, &error).hint("rename the directory").next(list())
            }
            active_plan::Error::Read { .. } => Self::from_error(Exit::Machine, &error),
        }
    }
}
