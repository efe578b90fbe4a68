//! `run --dry-run`: what a run would do, and which agents would do it. Starts and writes nothing.

use planwright_engine::core::plan::verified::Contract;
use planwright_engine::core::run::event::Judged;
use planwright_engine::core::run::state::{RunState, StepStatus};
use planwright_engine::run::simulate::simulate;
use planwright_engine::run::{Run, Runs};

use super::{Ran, StepData, Subject, approve, goes_on, named};
use crate::output::wording::ahead;
use crate::output::wording::ahead::Contracts;
use crate::output::{Failure, NextCommand, Out, Response, clean_line};

/// Says what a run would do.
pub(super) fn run(subject: &Subject<'_>, out: &mut Out<'_>) -> Result<Response, Failure> {
    approve::warn_of_missing_agents(subject, out);
    let runs = Runs::open_existing(subject.project)?;
    let old = match &runs {
        Some(runs) => runs.latest(subject.path)?,
        None => None,
    };
    let old = old.filter(|run| goes_on(run, &subject.digest.to_string()));
    let state = old.as_ref().map_or_else(|| RunState::new(subject.plan), |run| run.state.clone());
    if let Some(blocker) = subject.selection.unsettled(subject.plan, &state) {
        return Err(super::blocked(subject, blocker));
    }
    say_how(subject, runs.as_ref(), old.as_ref(), out)?;
    let is_allowed = |place: &usize| subject.steps.as_ref().is_none_or(|steps| steps.contains(place));
    let all = || 0..subject.plan.steps.len();
    let list = |word: &str, places: Vec<usize>, out: &mut Out<'_>| {
        let names: Vec<String> = places.into_iter().map(|place| named(&subject.plan.steps[place])).collect();
        if !names.is_empty() {
            out.line(&clean_line(&format!("{word:<12}{}", names.join(", "))));
        }
    };
    let is_open = |place: &usize| !state.steps[*place].status.is_settled();
    let is_claimed = |place: &usize| claims(&state, *place);
    let is_asked = |place: &usize| matches!(state.steps[*place].status, StepStatus::Waiting { .. });
    let is_to_do =
        |place: &usize| is_allowed(place) && is_open(place) && !is_claimed(place) && !is_asked(place);
    list("done", all().filter(|place| !is_open(place)).collect(), out);
    list("marked", all().filter(is_claimed).collect(), out);
    if all().any(|place| is_claimed(&place)) {
        out.line("            marked done in the file; the contract runs first and decides");
    }
    list("needs you", all().filter(is_asked).collect(), out);
    list("would run", all().filter(is_to_do).collect(), out);
    list("not run", all().filter(|place| !is_allowed(place) && is_open(place)).collect(), out);
    for step in subject.plan.steps.iter().filter(|step| step.contract == Contract::Manual) {
        out.line(&clean_line(&format!("            you confirm {}", named(step))));
    }
    let simulation = simulate(subject.project, &subject.name, subject.plan)?;
    ahead::print(&simulation, Contracts::Omitted, out);
    out.line("nothing was started or written");
    let ran = Ran { simulation: Some(simulation), ..data(subject, old.as_ref(), &state) };
    let mut words = vec!["planwright", "run", subject.args.plan.as_str()];
    for (flag, step) in [("--until", &subject.args.until), ("--only", &subject.args.only)] {
        if let Some(step) = step {
            words.extend([flag, step.as_str()]);
        }
    }
    Ok(Response::done("run", &ran).next(NextCommand::new(words)))
}

/// Whether a run would start or resume.
fn say_how(
    subject: &Subject<'_>,
    runs: Option<&Runs>,
    old: Option<&Run>,
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    let (Some(runs), Some(run)) = (runs, old) else {
        out.line(&format!("new run     after approval of {}", subject.digest.short()));
        return Ok(());
    };
    let number = run.row.id.number();
    match runs.holder(run)? {
        Some(holder) => out.line(&clean_line(&format!("follows     run {number} ({holder})"))),
        None if run.state.outcome().is_some() => out.line(&format!("finished    run {number} is done")),
        None => out.line(&format!("resumes     run {number}, approved")),
    }
    if run.state.outcome().is_none() && runs.lapsed_agents(run).is_some() {
        out.line("            agent commands changed since approval");
    }
    Ok(())
}

/// Whether a mark says that the step is done, and nothing has proven it yet.
fn claims(state: &RunState, place: usize) -> bool {
    matches!(state.steps[place].status, StepStatus::Judging { of: Judged::Claim, .. })
}

fn data(subject: &Subject<'_>, old: Option<&Run>, state: &RunState) -> Ran {
    let status = |place: usize| match claims(state, place) {
        true => "claimed".to_owned(),
        false => state.steps[place].status.word().to_owned(),
    };
    let steps = state.steps.iter().enumerate().map(|(place, step)| StepData {
        id: step.id.clone(),
        status: status(place),
        attempts: step.history.attempts,
    });
    let ids = |is_in: &dyn Fn(usize) -> bool| {
        let places = (0..state.steps.len()).filter(|&place| is_in(place));
        places.map(|place| state.steps[place].id.clone()).collect::<Vec<_>>()
    };
    let is_settled = |place: usize| state.steps[place].status.is_settled();
    Ran {
        plan: subject.name.clone(),
        digest: subject.digest.to_string(),
        run: old.map(|run| run.row.id.number()),
        state: "dry-run".to_owned(),
        steps: steps.collect(),
        agents: approve::agents(subject),
        succeeded: ids(&is_settled),
        failed: ids(&|place| !is_settled(place) && !state.steps[place].history.failed.is_empty()),
        left: ids(&|place| !is_settled(place) && state.steps[place].history.failed.is_empty()),
        findings: Vec::new(),
        simulation: None,
    }
}
