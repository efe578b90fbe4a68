//! `list`: the plans of this project, one per line.

use std::collections::BTreeMap;

use planwright_engine::Project;
use planwright_engine::core::dialect::NATIVE;
use planwright_engine::core::plan::verified;
use planwright_engine::core::plan::view::Summary;
use planwright_engine::core::workspace::portfolio::PlanProgress;
use planwright_engine::portfolio::board;
use planwright_engine::run::Runs;
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::workspace::project::PlanListing;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::here;
use crate::output::wording;
use crate::output::wording::found::with_findings;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone};
use planwright_engine::api::shown;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List plans with this status
    #[arg(long)]
    status: Option<String>,
    /// List plans with this text in their name or title
    #[arg(long, value_name = "TEXT")]
    find: Option<String>,
    /// List shelved plans
    #[arg(long)]
    shelved: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listing {
    /// The plans, by path.
    pub(crate) plans: Vec<Summary>,
    /// Problems: conflict copies of plans, dangling markers.
    pub(crate) faults: Vec<String>,
    /// How much reviewers found in the newest run of a plan, by path; plans without findings are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) findings: BTreeMap<String, usize>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let here = here()?;
    let PlanListing { plans: all, faults } = match args.shelved {
        true => shelved(&here)?,
        false => here.survey()?,
    };
    for fault in &faults {
        out.warn(fault);
    }
    if all.is_empty() {
        let nothing = Response::done("list", &Listing { plans: all, faults, findings: BTreeMap::new() });
        if args.shelved {
            out.talk("no shelved plans");
            return Ok(nothing);
        }
        out.talk("no plans; create one: planwright new NAME");
        return Ok(nothing);
    }
    let count = all.len();
    let is_alone = |one: &Summary| all.iter().filter(|plan| plan.name == one.name).count() == 1;
    // A name is shorter and works from everywhere, but several plans may have it, and a file may have any name.
    let address = |plan: &Summary| match is_alone(plan) && verified::slug(&plan.name) == plan.name {
        true => plan.name.clone(),
        false => shown(&here.root.join(&plan.path)),
    };
    let first = all.iter().find(|plan| is_wanted(args, plan)).map(|plan| match args.shelved {
        true => NextCommand::new(["planwright", "unshelve", plan.name.as_str()]),
        false => NextCommand::new(["planwright", "show", address(plan).as_str()]),
    });
    let plans: Vec<Summary> = all.into_iter().filter(|plan| is_wanted(args, plan)).collect();
    if plans.is_empty() {
        out.talk(&format!("no plan matches; {} in total", wording::number(count, "plan")));
    }
    let findings = findings(&here)?;
    let mut table = Table::new();
    for plan in &plans {
        table.row(row(plan, findings.get(&plan.path).copied().unwrap_or(0)));
    }
    out.table(&table);
    let exit = if plans.is_empty() { Exit::No } else { Exit::Done };
    let mut answer = Response::new(exit, "list", &Listing { plans, faults, findings });
    answer.next.push(first.unwrap_or_else(|| NextCommand::new(["planwright", "list"])));
    Ok(answer)
}

/// The plans on the shelf.
fn shelved(here: &Project) -> Result<PlanListing, Failure> {
    let board = board::board(here)?;
    let mut plans = Vec::new();
    for card in board.cards.iter().filter(|card| card.entry.status == PlanProgress::Staged) {
        let (name, path) = (card.entry.name.clone(), card.path.to_string_lossy().into_owned());
        let file = here.root.join(&card.path);
        plans.push(match plan_file::read(&file, &shown(&file), here.reading())? {
            FileText::Plan(source) => Summary::of(name, path, (source.dialect().name, &source.draft())),
            FileText::Unreadable(unreadable) => {
                Summary::unreadable(name, path, unreadable.diagnostic.message)
            }
        });
    }
    Ok(PlanListing { plans, faults: board.faults })
}

/// How much reviewers found in the newest run of each plan.
fn findings(here: &Project) -> Result<BTreeMap<String, usize>, Failure> {
    let Some(runs) = Runs::open_existing(here)? else { return Ok(BTreeMap::new()) };
    let newest = runs.newest()?.into_iter().filter(|run| run.tally.findings > 0);
    Ok(newest.map(|run| (run.path.to_string_lossy().into_owned(), run.tally.findings)).collect())
}

fn is_wanted(args: &Args, plan: &Summary) -> bool {
    let has_status = args.status.as_ref().is_none_or(|status| plan.status.eq_ignore_ascii_case(status));
    let text = args.find.as_ref().map(|text| text.to_lowercase());
    let has_text = text.is_none_or(|text| {
        plan.name.to_lowercase().contains(&text) || plan.title.to_lowercase().contains(&text)
    });
    has_status && has_text
}

fn row(plan: &Summary, findings: usize) -> Vec<Cell> {
    let said = |status: &str| with_findings(status, findings);
    let state = match (&plan.fault, plan.status.as_str()) {
        (Some(_), _) => Cell::new("unreadable").tone(Tone::Bad),
        (None, "") => Cell::new("-").tone(Tone::Muted),
        (None, "done") => Cell::new(said("done")).tone(Tone::Good),
        (None, "failed") => Cell::new(said("failed")).tone(Tone::Bad),
        (None, status) => Cell::new(said(status)),
    };
    vec![
        Cell::new(&plan.name).tone(Tone::Strong),
        state,
        Cell::new(format!("{}/{}", plan.marked_done, plan.steps)).right(),
        Cell::new(plan.fault.as_deref().unwrap_or(&plan.title)),
        Cell::new(if plan.dialect == NATIVE.name { "" } else { &plan.dialect }).tone(Tone::Muted),
        Cell::new(&plan.path).tone(Tone::Muted),
    ]
}
