//! `merge`: merges finished plans into a branch, in merge order, after all their contracts pass on the merged result.

use std::path::{Path, PathBuf};

use planwright_engine::core::approval::ledger::Evidence;
use planwright_engine::portfolio::merge_queue;
use planwright_engine::portfolio::merge_queue::{
    Evicted, MergeAction, MergeNotice, MergeOptions, MergeReport, PlannedMerge,
};
use planwright_engine::system::process::Stop;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::project::here;
use crate::output::wording;
use crate::output::{Cell, Exit, Failure, Glyph, NextCommand, Out, Response, Table, Tone, clean, clean_line};
use planwright_engine::api::merge_failed;
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

/// How many lines of what a contract printed are shown; `--json` has more.
const OUTPUT_LINES_MAX: usize = 8;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plans [default: all finished plans with a branch]
    plans: Vec<String>,
    /// Target branch [default: the current branch]
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Show order and conflicts; run and merge nothing
    #[arg(long)]
    dry_run: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MergeData {
    /// The branch that plans go into.
    pub(crate) into: String,
    /// Whether nothing was run and nothing was moved.
    pub(crate) is_rehearsal: bool,
    /// The plans in merge order.
    pub(crate) order: Vec<PlannedData>,
    /// Those that landed, or would, in order.
    pub(crate) landed: Vec<String>,
    /// Those that did not, and why.
    pub(crate) evicted: Vec<EvictedData>,
    /// Those that have to wait.
    pub(crate) held: Vec<HeldData>,
    /// Those whose work was in the branch already.
    pub(crate) already: Vec<String>,
    /// Those of an earlier merge that was cut off, which was finished now.
    pub(crate) finished: Vec<String>,
    /// The branches that moved, or would.
    pub(crate) moved: Vec<MovedData>,
    /// How many combinations of plans were tried with their contracts.
    pub(crate) trials: usize,
}

/// A plan at its place in merge order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedData {
    /// The plan.
    pub(crate) plan: String,
    /// Its file, relative to the root of the project.
    pub(crate) path: String,
    /// Its branch.
    pub(crate) branch: String,
    /// The commit of the branch.
    pub(crate) tip: String,
    /// How many lines it changes.
    pub(crate) lines: u64,
    /// The plans that it comes after because it depends on them.
    pub(crate) after: Vec<String>,
    /// The repositories beside the project's own that it has work in.
    pub(crate) repositories: Vec<String>,
}

/// A plan that did not land.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvictedData {
    /// The plan.
    pub(crate) plan: String,
    /// Its branch, which stays as it is.
    pub(crate) branch: String,
    /// `contract` or `conflict`.
    pub(crate) reason: String,
    /// Together with which plans it breaks, or which ones changed the same lines; none: it does so by itself.
    pub(crate) with: Vec<String>,
    /// The contract that fails; null where it can't be merged.
    pub(crate) evidence: Option<Evidence>,
    /// The files that two sides changed.
    pub(crate) paths: Vec<String>,
}

/// A plan that has to wait.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HeldData {
    /// The plan.
    pub(crate) plan: String,
    /// Why.
    pub(crate) why: String,
}

/// A branch that moved.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MovedData {
    /// The repository; null: the project's own.
    pub(crate) repository: Option<String>,
    /// The branch.
    pub(crate) branch: String,
    /// The commit that it stood at.
    pub(crate) from: String,
    /// Its commit now.
    pub(crate) to: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    Caller::of_process().may(Right::Merge)?;
    let project = here()?;
    let mut plans: Vec<PathBuf> = Vec::new();
    for name in &args.plans {
        let plan = project.address(name)?.plan;
        if !plans.contains(&plan) {
            plans.push(plan);
        }
    }
    let act = if args.dry_run { MergeAction::Rehearse } else { MergeAction::Land };
    let options = MergeOptions { plans, into: args.into.clone(), act };
    let merged =
        merge_queue::merge(&project, &options, &who(), &Stop::new(), &mut |told| progress(told, act, out));
    let again = || {
        let into = args.into.iter().flat_map(|into| ["--into", into.as_str()]);
        NextCommand::new(
            ["planwright", "merge"].into_iter().chain(args.plans.iter().map(String::as_str)).chain(into),
        )
    };
    let report = merged.map_err(|error| merge_failed(error, again))?;
    print(&report, act, out);
    let exit = match (report.evicted.is_empty(), report.held.is_empty()) {
        (false, _) => Exit::Person,
        (true, false) => Exit::No,
        (true, true) => Exit::Done,
    };
    let data = data(&report, act);
    Ok(Response::new(exit, "merge", &data).next(next(&report, act, args)))
}

/// Says what happens, on stderr.
fn progress(told: MergeNotice<'_>, act: MergeAction, out: &mut Out<'_>) {
    let names = |names: &[&str]| clean_line(&names.join(", ")).into_owned();
    let palette = out.talk_palette();
    match told {
        MergeNotice::Finished(plans) => {
            let plans: Vec<&str> = plans.iter().map(String::as_str).collect();
            out.talk(&format!("finished an interrupted merge: {}", names(&plans)));
        }
        // A rehearsal is about the order: there it is data.
        MergeNotice::Order(order) if act == MergeAction::Rehearse || order.is_empty() => {}
        MergeNotice::Order(order) => out.talk(table(order).text(palette, None).trim_end()),
        MergeNotice::Trying(plans) => out.talk(&format!("together: {}", names(plans))),
        MergeNotice::Contract { plan, step, failure, milliseconds } => {
            let glyph = palette.glyph(if failure.is_none() { Glyph::Done } else { Glyph::Failed });
            let place = format!("{plan}/{step}");
            let why = failure.map(|failure| format!("   {failure}")).unwrap_or_default();
            let took = wording::duration(milliseconds);
            out.talk(&format!("  {glyph} {}   {took}{}", clean_line(&place), clean_line(&why)));
        }
        MergeNotice::Again(branch) => {
            out.talk(&format!("{} moved in the meantime; trying everything again", clean_line(branch)));
        }
    }
}

/// The order, and why it is so.
fn table(order: &[PlannedMerge]) -> Table {
    let mut table = Table::new();
    for (place, planned) in order.iter().enumerate() {
        let mut why = vec![wording::number(usize::try_from(planned.lines).unwrap_or(usize::MAX), "line")];
        if !planned.after.is_empty() {
            why.push(format!("after {}, which it depends on", planned.after.join(", ")));
        }
        if !planned.repositories.is_empty() {
            why.push(format!("also in {}", planned.repositories.join(", ")));
        }
        table.row(vec![
            Cell::new((place + 1).to_string()),
            Cell::new(&planned.plan).tone(Tone::Strong),
            Cell::new(&planned.branch).tone(Tone::Muted),
            Cell::new(why.join("; ")).tone(Tone::Muted),
        ]);
    }
    table
}

fn print(report: &MergeReport, act: MergeAction, out: &mut Out<'_>) {
    let palette = out.palette();
    let word = match act {
        MergeAction::Land => "merged",
        MergeAction::Rehearse => "would merge",
    };
    let into = clean_line(&report.into).into_owned();
    if act == MergeAction::Rehearse {
        out.table(&table(&report.order));
    }
    for plan in &report.landed {
        let (glyph, word) = (palette.glyph(Glyph::Done), palette.paint(Tone::Good, word));
        out.line(&format!("{glyph} {word}  {}", clean_line(plan)));
    }
    for evicted in &report.evicted {
        print_evicted(evicted, &into, out);
    }
    for held in &report.held {
        let glyph = palette.glyph(Glyph::Held);
        out.line(&format!("{glyph} held  {}   {}", clean_line(&held.plan), clean_line(&held.why)));
    }
    if !report.already.is_empty() {
        out.line(&format!("already in {into}: {}", clean_line(&report.already.join(", "))));
    }
    for moved in &report.moved {
        let repository = moved.repository.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let (from, to) = (short(&moved.from), short(&moved.to));
        let place = format!("{repository}{}", moved.branch);
        let note = if act == MergeAction::Land { "" } else { "   dry run" };
        out.line(&format!("{}  {from}..{to}{note}", clean_line(&place)));
    }
    let count = report.order.len();
    match (count, act) {
        (0, _) => out.line(&format!("nothing to merge into {into}")),
        (_, MergeAction::Land) => {
            let tried = wording::number(report.trials, "combination");
            let landed = report.landed.len();
            out.line(&format!("{landed} of {} merged; {tried} tried", wording::number(count, "plan")));
        }
        (_, MergeAction::Rehearse) => out.line("no contracts ran"),
    }
}

fn print_evicted(evicted: &Evicted, into: &str, out: &mut Out<'_>) {
    let palette = out.palette();
    let (glyph, word) = (palette.glyph(Glyph::NeedsYou), palette.paint(Tone::Bad, "evicted"));
    let with = evicted.with.join(" and ");
    let why = match (&evicted.evidence, evicted.with.is_empty()) {
        (Some(evidence), true) if evidence.plan != evicted.plan => {
            format!("breaks a contract of {}, already in {into}", evidence.plan)
        }
        (Some(_), true) => format!("fails on {into} by itself"),
        (Some(_), false) => format!("fails only in combination with {with}"),
        (None, true) => "conflicts with the target branch".to_owned(),
        (None, false) => format!("{with} changed the same lines"),
    };
    out.line(&format!("{glyph} {word}  {}   {}", clean_line(&evicted.plan), clean_line(&why)));
    if let Some(evidence) = &evicted.evidence {
        let step = match evidence.step.as_str() {
            "" => evidence.plan.clone(),
            step => format!("{}/{step}", evidence.plan),
        };
        out.line(&format!("    {}: {}", clean_line(&step), clean_line(&evidence.failure)));
        for line in clean(evidence.contract.trim_end()).lines() {
            out.line(&format!("    $ {line}"));
        }
        let output = clean(evidence.output.trim_end()).into_owned();
        let lines: Vec<&str> = output.lines().collect();
        for line in &lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..] {
            out.line(&format!("    > {line}"));
        }
    }
    for path in &evicted.paths {
        out.line(&format!("    {}", clean_line(path)));
    }
    let branch = clean_line(&evicted.branch).into_owned();
    let plan = clean_line(&evicted.plan).into_owned();
    let others = match evicted.repositories.as_slice() {
        [] => String::new(),
        names => format!(" (and the same in {})", clean_line(&names.join(", "))),
    };
    out.line(&format!(
        "    {branch} is unchanged. To fix it: on {into}, run git merge {branch}{others}, resolve the conflicts and \
         commit; planwright audit {plan} --rerun shows whether its contracts pass there"
    ));
}

fn data(report: &MergeReport, act: MergeAction) -> MergeData {
    let planned = report.order.iter().map(|planned| PlannedData {
        plan: planned.plan.clone(),
        path: planned.path.to_string_lossy().into_owned(),
        branch: planned.branch.clone(),
        tip: planned.tip.clone(),
        lines: planned.lines,
        after: planned.after.clone(),
        repositories: planned.repositories.clone(),
    });
    let evicted = report.evicted.iter().map(|evicted| EvictedData {
        plan: evicted.plan.clone(),
        branch: evicted.branch.clone(),
        reason: if evicted.evidence.is_some() { "contract" } else { "conflict" }.to_owned(),
        with: evicted.with.clone(),
        evidence: evicted.evidence.clone(),
        paths: evicted.paths.clone(),
    });
    let held = report.held.iter().map(|held| HeldData { plan: held.plan.clone(), why: held.why.clone() });
    let moved = report.moved.iter().map(|moved| MovedData {
        repository: moved.repository.clone(),
        branch: moved.branch.clone(),
        from: moved.from.clone(),
        to: moved.to.clone(),
    });
    MergeData {
        into: report.into.clone(),
        is_rehearsal: act == MergeAction::Rehearse,
        order: planned.collect(),
        landed: report.landed.clone(),
        evicted: evicted.collect(),
        held: held.collect(),
        already: report.already.clone(),
        finished: report.finished.clone(),
        moved: moved.collect(),
        trials: report.trials,
    }
}

/// What one types next: what an eviction is about, or what there is to look at.
fn next(report: &MergeReport, act: MergeAction, args: &Args) -> NextCommand {
    let landed = report.order.iter().find(|planned| report.landed.contains(&planned.plan));
    let path = |path: &Path| shown(path);
    match (report.evicted.first(), landed, act) {
        (_, Some(_), MergeAction::Rehearse) => {
            let into = args.into.iter().flat_map(|into| ["--into", into.as_str()]);
            NextCommand::new(
                ["planwright", "merge"].into_iter().chain(args.plans.iter().map(String::as_str)).chain(into),
            )
        }
        (Some(evicted), _, _) => NextCommand::new(["planwright", "log", &path(&evicted.path), "--versions"]),
        (None, Some(planned), MergeAction::Land) => {
            NextCommand::new(["planwright", "log", &path(&planned.path), "--versions"])
        }
        (None, None, _) => NextCommand::new(["planwright", "status"]),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}
