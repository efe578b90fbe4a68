//! `discover`: follow-up work found during a step. Anyone may record it; only a person adds it as a step, and the
//! plan then needs a new approval.

use planwright_engine::api::plan::find_step;
use planwright_engine::approval::{Approvals, Find};
use planwright_engine::core::approval::status::Discovery;
use planwright_engine::core::plan::draft::{Draft, StepDraft};
use planwright_engine::core::plan::edit::PlanEdit;
use planwright_engine::core::plan::verified;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::project::here;
use crate::interaction::target::{Opened, open};
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::unchanged;
use planwright_engine::api::{Caller, Right};

/// The longest title.
const TITLE_CHARS_MAX: usize = 200;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Follow-up work in one line; with --list or --add, the plan
    #[arg(value_name = "TITLE|PLAN")]
    what: String,
    /// Step at which it was found
    #[arg(long, value_name = "STEP", conflicts_with_all = ["list", "add"])]
    step: Option<String>,
    /// Plan [default: the only plan]
    #[arg(long, value_name = "PLAN", conflicts_with_all = ["list", "add"])]
    plan: Option<String>,
    /// Details
    #[arg(long, short, value_name = "TEXT", default_value = "", conflicts_with_all = ["list", "add"])]
    message: String,
    /// List follow-up work
    #[arg(long)]
    list: bool,
    /// Add follow-up N as a step
    #[arg(long, value_name = "N", conflicts_with = "list")]
    add: Option<u32>,
    /// Role or agent for the new step
    #[arg(long, value_name = "TARGET", default_value = "coder", requires = "add")]
    target: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Discovered {
    /// The plan.
    pub(crate) plan: String,
    /// Follow-up work: all of it with --list, otherwise the one in question.
    pub(crate) work: Vec<WorkData>,
}

/// Follow-up work.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkData {
    /// Its number.
    pub(crate) number: u32,
    /// What is to be done.
    pub(crate) title: String,
    /// What else is said of it.
    pub(crate) text: String,
    /// The id of the step where it was found.
    pub(crate) step: Option<String>,
    /// By whom.
    pub(crate) by: String,
    /// The id of the step that it became.
    pub(crate) added: Option<String>,
}

impl From<&Discovery> for WorkData {
    fn from(discovery: &Discovery) -> Self {
        Self {
            number: discovery.number,
            title: discovery.title.clone(),
            text: discovery.text.clone(),
            step: discovery.step.clone(),
            by: discovery.by.to_string(),
            added: discovery.added.clone(),
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    match args.add {
        Some(number) => add(args, number, out),
        None if args.list => list(args, out),
        None => note(args, out),
    }
}

/// Records follow-up work. Agents may: nothing happens until a person adds it.
fn note(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let title = args.what.trim();
    let is_line =
        !title.is_empty() && !title.contains(['\n', '\r']) && title.chars().count() <= TITLE_CHARS_MAX;
    if !is_line {
        let message = format!("the title must be one line of at most {TITLE_CHARS_MAX} characters");
        return Err(Failure::new(Exit::Usage, message).hint("put the details into -m"));
    }
    let Opened { path, project, source, step } = open(&plan_of(args)?)?;
    let draft = source.draft();
    let step = args
        .step
        .as_ref()
        .or(step.as_ref())
        .map(|step| find_step(&draft, step, &shown(&path)))
        .transpose()?;
    let step = step.map(|place| verified::ids(&draft).swap_remove(place));
    let decisions = Approvals::open(&project)?;
    let by = who();
    let found = Find { step: step.as_deref(), by: &by, title, text: args.message.trim(), source: None };
    let number = decisions.discover(&path, &found)?;
    let at = step.as_ref().map(|step| format!(" at {step}")).unwrap_or_default();
    let word = out.palette().paint(Tone::Good, "recorded");
    out.line(&format!("{word}  {number}  {}{}", clean_line(title), clean_line(&at)));
    let case = decisions.case(&path)?;
    let work =
        case.standing.discoveries.iter().filter(|known| known.number == number).map(WorkData::from).collect();
    let data = Discovered { plan: shown(&path), work };
    let next = NextCommand::new(["planwright", "discover", data.plan.as_str(), "--list"]);
    Ok(Response::done("discover", &data).next(next))
}

/// The plan passed, or the only one.
fn plan_of(args: &Args) -> Result<String, Failure> {
    if let Some(plan) = &args.plan {
        return Ok(plan.clone());
    }
    let project = here()?;
    match project.plans()?.as_slice() {
        [only] => Ok(only.to_string_lossy().into_owned()),
        several => {
            let message = format!("missing plan: this project has {} plans", several.len());
            Err(Failure::new(Exit::Usage, message)
                .hint("pass --plan PLAN")
                .next(NextCommand::new(["planwright", "list"])))
        }
    }
}

fn list(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let Opened { path, project, .. } = open(&args.what)?;
    let work: Vec<WorkData> = match Approvals::open_existing(&project)? {
        Some(decisions) => decisions.discoveries(&path)?.iter().map(WorkData::from).collect(),
        None => Vec::new(),
    };
    let mut table = Table::new();
    for one in &work {
        let became = one.added.as_ref().map(|step| format!("added as step {step}")).unwrap_or_default();
        table.row(vec![
            Cell::new(one.number.to_string()).right(),
            Cell::new(&one.title).tone(Tone::Strong),
            Cell::new(one.step.as_ref().map(|step| format!("at {step}")).unwrap_or_default()),
            Cell::new(format!("by {}", one.by)).tone(Tone::Muted),
            Cell::new(became),
        ]);
    }
    out.table(&table);
    let open_one = work.iter().find(|one| one.added.is_none()).map(|one| one.number.to_string());
    if work.is_empty() {
        out.talk("no follow-up work");
    }
    let data = Discovered { plan: shown(&path), work };
    let next = match open_one {
        Some(number) => {
            NextCommand::new(["planwright", "discover", data.plan.as_str(), "--add", number.as_str()])
        }
        None => NextCommand::new(["planwright", "show", data.plan.as_str()]),
    };
    Ok(Response::done("discover", &data).next(next))
}

/// Adds follow-up work as a step.
fn add(args: &Args, number: u32, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::AddDiscovery)?;
    let Opened { path, project, source: old, .. } = open(&args.what)?;
    let decisions = Approvals::open(&project)?;
    let known = decisions.discoveries(&path)?;
    let Some(found) = known.iter().find(|known| known.number == number) else {
        return Err(Failure::new(Exit::Usage, format!("{} has no follow-up work {number}", shown(&path)))
            .next(NextCommand::new(["planwright", "discover", shown(&path).as_str(), "--list"])));
    };
    if let Some(step) = &found.added {
        return Err(Failure::new(
            Exit::No,
            format!("follow-up work {number} was already added as step `{step}`"),
        )
        .next(NextCommand::new(["planwright", "show", shown(&path).as_str()])));
    }
    let draft = old.draft();
    let ids = verified::ids(&draft);
    let parent = found.step.as_ref().filter(|step| ids.contains(step)).or(ids.last()).cloned();
    let parent = parent.ok_or_else(|| Failure::new(Exit::No, format!("{} has no steps", shown(&path))))?;
    let task = if found.text.is_empty() { found.title.clone() } else { found.text.clone() };
    let change =
        PlanEdit::Append { title: found.title.clone(), task, target: args.target.clone(), after: parent };
    let edits = old.dialect().patch(&old, &change).map_err(|refusal| unchanged(&path, &refusal))?;
    let new = old.edited(&edits);
    let step = match standing(&draft, &new.draft(), found, &known) {
        Some(place) => ids[place].clone(),
        None => {
            planwright_engine::store::plan_file::save(&path, &old, &new)?;
            verified::ids(&new.draft()).pop().unwrap_or_default()
        }
    };
    let case = decisions.added(&path, number, &step, &who())?;
    let word = out.palette().paint(Tone::Good, "added");
    out.line(&format!("{word}  {}  step {}", clean_line(&shown(&path)), clean_line(&step)));
    out.talk("it has no contract, so you confirm it; the plan needs a new approval");
    let work =
        case.standing.discoveries.iter().filter(|known| known.number == number).map(WorkData::from).collect();
    let data = Discovered { plan: shown(&path), work };
    let next = NextCommand::new(["planwright", "verify", data.plan.as_str()]);
    Ok(Response::done("discover", &data).next(next))
}

/// The step already added for this work but not recorded, because the process died in between.
fn standing(old: &Draft, new: &Draft, found: &Discovery, known: &[Discovery]) -> Option<usize> {
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
