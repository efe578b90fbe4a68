//! The plan that a command works on, as options of the command line name it; the workspace says which one is meant.

use planwright_engine::api::{ChosenPlan, ResolvedBy, Target};

use super::project::workspace;
use crate::output::Failure;

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

    fn with<'a>(&'a self, typed: Option<&'a str>) -> Target<'a> {
        // The grammar says nothing where nothing was typed.
        Target { typed: typed.filter(|plan| !plan.is_empty()), slug: self.name.as_deref() }
    }

    /// The plan of a decision: always one the person named.
    pub(crate) fn decide(&self, plan: &mut String) -> Result<(), Failure> {
        *plan = workspace()?.plan_to_decide(self.with(Some(plan)))?;
        Ok(())
    }

    /// Settles which plan is worked on, where a command without one is about all of them; says by what it was chosen.
    pub(crate) fn narrow(&self, plan: &mut Option<String>) -> Result<ResolvedBy, Failure> {
        let chosen = workspace()?.bound_plan(self.with(plan.as_deref()))?;
        let (address, by) = chosen.map(|ChosenPlan { address, by }| (address, by)).unzip();
        *plan = address;
        Ok(by.unwrap_or(ResolvedBy::Default))
    }

    /// The same for a command that knows plans by their paths from the root of the project.
    pub(crate) fn narrow_row(&self, plan: &mut Option<String>) -> Result<(), Failure> {
        *plan = workspace()?.bound_row(self.with(plan.as_deref()))?;
        Ok(())
    }

    /// The same for a command that takes several plans.
    pub(crate) fn narrow_all(&self, plans: &mut Vec<String>) -> Result<(), Failure> {
        let workspace = workspace()?;
        match plans.first() {
            None => plans.extend(workspace.bound_plan(self.with(None))?.map(|chosen| chosen.address)),
            Some(first) => drop(workspace.named_plan(self.with(Some(first)))?),
        }
        Ok(())
    }

    /// Settles which plans are worked on, where a command must have one.
    pub(crate) fn work_all(&self, plans: &mut Vec<String>) -> Result<(), Failure> {
        self.narrow_all(plans)?;
        if plans.is_empty() {
            plans.push(workspace()?.plan_to_work_on(self.with(None))?.address);
        }
        Ok(())
    }

    /// Settles which plan is worked on.
    pub(crate) fn work(&self, plan: &mut String) -> Result<(), Failure> {
        *plan = workspace()?.plan_to_work_on(self.with(Some(plan)))?.address;
        Ok(())
    }

    /// Settles which plan is worked on, and returns by what it was chosen and the step that the words `task N` behind it name.
    pub(crate) fn work_on_task(
        &self,
        plan: &mut String,
        words: &[String],
    ) -> Result<(ResolvedBy, Option<String>), Failure> {
        let typed = self.with(Some(plan)).typed;
        let words: Vec<String> = typed.map(str::to_owned).into_iter().chain(words.iter().cloned()).collect();
        let (chosen, step) = workspace()?.task_to_work_on(&words, self.name.as_deref())?;
        *plan = chosen.address;
        Ok((chosen.by, step))
    }
}
