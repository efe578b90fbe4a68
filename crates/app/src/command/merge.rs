//! `merge`: merges finished plans into a branch, in merge order, after all their contracts pass on the merged result.

use planwright_engine::api::{
    Evicted, MergeAction, MergeNotice, MergeReport, MergeRequest, PlannedMerge, Stop, shown,
};

use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::{Cell, Exit, Failure, Glyph, NextCommand, Out, Response, Table, Tone, clean, clean_line};

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

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let act = if args.dry_run { MergeAction::Rehearse } else { MergeAction::Land };
    let request = MergeRequest { plans: &args.plans, into: args.into.as_deref(), act };
    let report = workspace()?.merge(&request, &Stop::new(), &mut |told| progress(told, act, out))?;
    print(&report, act, out);
    let exit = match (report.evicted.is_empty(), report.held.is_empty()) {
        (false, _) => Exit::Person,
        (true, false) => Exit::No,
        (true, true) => Exit::Done,
    };
    Ok(Response::new(exit, "merge", &report).next(next(&report, &request)))
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

/// What one types next: what an eviction is about, or what there is to look at.
fn next(report: &MergeReport, request: &MergeRequest<'_>) -> NextCommand {
    let landed = report.order.iter().find(|planned| report.landed.contains(&planned.plan));
    let path = match (report.evicted.first(), landed, request.act) {
        (_, Some(_), MergeAction::Rehearse) => return request.command(),
        (Some(evicted), _, _) => &evicted.path,
        (None, Some(planned), MergeAction::Land) => &planned.path,
        (None, None, _) => return NextCommand::new(["planwright", "status"]),
    };
    NextCommand::new(["planwright", "log", &shown(path), "--versions"])
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}
