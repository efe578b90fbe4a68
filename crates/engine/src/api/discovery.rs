//! Follow-up work found during a step. Anyone may record it; only a person adds it as a step, and the plan then needs a new
//! approval.

use planwright_core::approval::status::Discovery;
use planwright_core::plan::draft::{Draft, StepDraft};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::verified;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::Right;
use crate::api::error::{Error, ErrorKind, unchanged};
use crate::api::next::NextCommand;
use crate::api::plan::Plan;
use crate::api::workspace::Workspace;
use crate::approval::{Approvals, Find};
use crate::store::plan_count::parse;
use crate::store::plan_file;

/// The longest title.
const TITLE_CHARS_MAX: usize = 200;

#[derive(Debug, Serialize, JsonSchema)]
pub struct DiscoveriesView {
    pub plan: String,
    /// Follow-up work: all of it if that was asked for, otherwise the one in question.
    pub work: Vec<Discovery>,
}

impl Workspace {
    /// The plan of a project that has one alone.
    pub fn only_plan(&self) -> Result<Plan, Error> {
        match self.project().plans()?.as_slice() {
            [only] => self.plan(&only.to_string_lossy()),
            several => {
                let message = format!("missing plan: this project has {} plans", several.len());
                Err(Error::new(ErrorKind::Usage, message)
                    .hint("pass --plan PLAN")
                    .next(NextCommand::new(["planwright", "list"])))
            }
        }
    }
}

impl Plan {
    /// Records follow-up work, found at the named step. Agents may: nothing happens until a person adds it.
    pub fn discover(&self, title: &str, text: &str, step: Option<&str>) -> Result<DiscoveriesView, Error> {
        let title = title.trim();
        let is_line =
            !title.is_empty() && !title.contains(['\n', '\r']) && title.chars().count() <= TITLE_CHARS_MAX;
        if !is_line {
            let message = format!("the title must be one line of at most {TITLE_CHARS_MAX} characters");
            return Err(Error::new(ErrorKind::Usage, message).hint("put the details into -m"));
        }
        let step = step.map(|step| self.find_step(step)).transpose()?.or(self.step());
        let step = step.map(|place| verified::ids(self.draft()).swap_remove(place));
        let approvals = Approvals::open(self.workspace().project())?;
        let by = self.workspace().caller().identity();
        let found = Find { step: step.as_deref(), by: &by, title, text: text.trim(), source: None };
        let number = approvals.discover(self.path(), &found)?;
        Ok(self.discovery(number, approvals.case(self.path())?.standing.discoveries))
    }

    pub fn discoveries(&self) -> Result<DiscoveriesView, Error> {
        let work = match Approvals::open_existing(self.workspace().project())? {
            Some(approvals) => approvals.discoveries(self.path())?,
            None => Vec::new(),
        };
        Ok(DiscoveriesView { plan: self.shown(), work })
    }

    /// Adds follow-up work as a step for this role or agent.
    pub fn add_discovery(&self, number: u32, target: &str) -> Result<DiscoveriesView, Error> {
        self.workspace().caller().may(Right::AddDiscovery)?;
        let shown = self.shown();
        let approvals = Approvals::open(self.workspace().project())?;
        let known = approvals.discoveries(self.path())?;
        let Some(found) = known.iter().find(|known| known.number == number) else {
            return Err(Error::new(ErrorKind::Usage, format!("{shown} has no follow-up work {number}"))
                .next(NextCommand::new(["planwright", "discover", shown.as_str(), "--list"])));
        };
        if let Some(step) = &found.added {
            let message = format!("follow-up work {number} was already added as step `{step}`");
            return Err(Error::new(ErrorKind::Refused, message).next(NextCommand::new([
                "planwright",
                "show",
                shown.as_str(),
            ])));
        }
        let (old, draft) = (self.source(), self.draft());
        let ids = verified::ids(draft);
        let parent = found.step.as_ref().filter(|step| ids.contains(step)).or(ids.last()).cloned();
        let after = parent.ok_or_else(|| Error::new(ErrorKind::Refused, format!("{shown} has no steps")))?;
        let task = if found.text.is_empty() { found.title.clone() } else { found.text.clone() };
        let change = PlanEdit::Append { title: found.title.clone(), task, target: target.to_owned(), after };
        let patched = old.dialect().patch(old, &change);
        let new = old.edited(&patched.map_err(|refusal| unchanged(self.path(), &refusal))?);
        let step = match already_added(draft, &parse(&new), found, &known) {
            Some(place) => ids[place].clone(),
            None => {
                plan_file::save(self.path(), old, &new)?;
                verified::ids(&parse(&new)).pop().unwrap_or_default()
            }
        };
        let by = self.workspace().caller().identity();
        let case = approvals.added(self.path(), number, &step, &by)?;
        Ok(self.discovery(number, case.standing.discoveries))
    }

    fn discovery(&self, number: u32, mut work: Vec<Discovery>) -> DiscoveriesView {
        work.retain(|known| known.number == number);
        DiscoveriesView { plan: self.shown(), work }
    }
}

/// The step already added for this work but not recorded, because the process died in between.
fn already_added(old: &Draft, new: &Draft, found: &Discovery, known: &[Discovery]) -> Option<usize> {
    // As the dialect of the plan would write it and read it back.
    let wanted = new.steps.last()?;
    let ids = verified::ids(old);
    let at = found.step.as_ref().filter(|step| ids.contains(step));
    let task = |step: &StepDraft| step.task.as_ref().map(|task| task.value.clone());
    (1..old.steps.len()).rev().find(|&place| {
        let step = &old.steps[place];
        // Work found outside a step needs the step that was last at that time.
        let parent = at.unwrap_or(&ids[place - 1]);
        let waits = step.needs.iter().flatten().any(|need| need.value == *parent);
        let is_of_other_work = known.iter().any(|other| other.added.as_ref() == Some(&ids[place]));
        step.title.value == wanted.title.value && task(step) == task(wanted) && waits && !is_of_other_work
    })
}
