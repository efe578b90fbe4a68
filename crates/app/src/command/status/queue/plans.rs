//! The plans of a project as a queue, as lines.

use planwright_engine::api::{ParallelView, QueuedPlanView, QueuedPlansView};

use crate::output::{Cell, Out, Tone, clean_line};

/// Prints the plans.
pub(super) fn print(data: &QueuedPlansView, out: &mut Out<'_>) {
    for fault in &data.faults {
        out.warn(fault);
    }
    out.section("Ready", data.ready.iter().map(row).collect());
    out.section("Running", data.running.iter().map(row).collect());
    let held = data.held_back.iter().flat_map(|held| {
        held.reasons.iter().enumerate().map(|(place, reason)| {
            let (name, recovery) =
                if place == 0 { (held.plan.name.as_str(), held.recovery.as_str()) } else { ("", "") };
            vec![
                Cell::new(format!("  {name}")).tone(Tone::Strong),
                Cell::new(recovery).tone(Tone::Attention),
                Cell::new(&reason.text),
                Cell::new(&reason.command).tone(Tone::Muted),
            ]
        })
    });
    out.section("Held back", held.collect());
    out.section("Shelved", data.staged.iter().map(row).collect());
    print_together(&data.together, out);
    if let Some(cycle) = &data.cycle {
        let circle = clean_line(&cycle.join(" → ")).into_owned();
        out.warn(&format!("dependency cycle, no merge order: {circle}"));
    }
    if let Some(order) = data.merge_order.as_ref().filter(|order| order.len() > 1) {
        let title = out.palette().paint(Tone::Strong, "Merge order");
        out.line(&format!("{title}  {}", clean_line(&order.join(", "))));
    }
    for alike in &data.alike {
        let [one, other] = &alike.plans;
        out.warn(&clean_line(&format!("{one} and {other} may be the same work: {}", alike.why)));
    }
}

fn row(plan: &QueuedPlanView) -> Vec<Cell> {
    vec![
        Cell::new(format!("  {}", plan.name)).tone(Tone::Strong),
        Cell::new(&plan.state),
        Cell::new(format!("{}/{}", plan.settled, plan.steps)).right(),
        Cell::new(&plan.title),
        Cell::new(&plan.path).tone(Tone::Muted),
    ]
}

fn print_together(together: &ParallelView, out: &mut Out<'_>) {
    let asked = together.plans.len() + together.excluded.len() + together.overlaps.len();
    if asked < 2 {
        return;
    }
    let title = out.palette().paint(Tone::Strong, "Together");
    let plans = match together.plans.len() {
        0 | 1 => "no plans can run in parallel".to_owned(),
        _ => together.plans.join(", "),
    };
    out.line(&format!("{title}  {}", clean_line(&plans)));
    for overlap in &together.overlaps {
        let ([one, other], [left, right], path) = (&overlap.plans, &overlap.patterns, &overlap.path);
        let text = format!("  not {one} with {other}: both may change {path} ({left} and {right})");
        out.line(&clean_line(&text));
    }
    for excluded in &together.excluded {
        out.line(&clean_line(&format!("  {} alone: {}", excluded.plan, excluded.why)));
    }
}
