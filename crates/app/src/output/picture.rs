//! Dependency graphs for the terminal, for Markdown and for Graphviz.

mod layers;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use planwright_engine::api::{PlanView, StepView};

use super::clean::clean_line;

/// Above this number of boxes, waves are printed instead of a graph.
const BOXES_MAX: usize = 200;

/// Pairs of a step and one that waits for it, as places.
fn edges(plan: &PlanView) -> Vec<(usize, usize)> {
    let place_of = |id: &String| plan.steps.iter().position(|step| step.id == *id);
    let steps = plan.steps.iter().enumerate();
    let needs = |(place, step): (usize, &StepView)| {
        step.needs.iter().filter_map(place_of).map(|before| (before, place)).collect::<Vec<_>>()
    };
    steps.flat_map(needs).collect()
}

/// Steps on the longest chain.
fn critical(plan: &PlanView) -> BTreeSet<&str> {
    plan.critical_path.iter().map(String::as_str).collect()
}

/// Draws boxes and arrows in characters.
pub fn ascii(plan: &PlanView) -> String {
    let label = |step: &StepView| clean_line(&format!("{} {}", step.number, step.id)).into_owned();
    let labels: Vec<String> = plan.steps.iter().map(label).collect();
    if labels.is_empty() {
        return String::new();
    }
    if labels.len() > BOXES_MAX {
        return format!("{} steps are too many to draw\n", labels.len());
    }
    layers::draw(&labels, &edges(plan)) + "\n"
}

/// Writes a Mermaid flowchart. Steps on the longest chain have a thick border.
pub fn mermaid(plan: &PlanView) -> String {
    let mut text = String::from("flowchart TD\n");
    for (place, step) in plan.steps.iter().enumerate() {
        let label = clean_line(&format!("{}. {}", step.number, step.title)).replace('"', "#quot;");
        // Writing to a string can't fail, here and below.
        let _ = writeln!(text, "    s{place}[\"{label}\"]");
    }
    for (before, after) in edges(plan) {
        let _ = writeln!(text, "    s{before} --> s{after}");
    }
    let critical = critical(plan);
    let thick: Vec<String> = (0..plan.steps.len())
        .filter(|&place| critical.contains(plan.steps[place].id.as_str()))
        .map(|place| format!("s{place}"))
        .collect();
    if thick.len() > 1 {
        let _ =
            writeln!(text, "    classDef critical stroke-width:3px\n    class {} critical", thick.join(","));
    }
    text
}

/// Writes a Graphviz digraph. Steps on the longest chain are bold.
pub fn dot(plan: &PlanView) -> String {
    let quoted = |text: &str| format!("\"{}\"", clean_line(text).replace('\\', "\\\\").replace('"', "\\\""));
    let critical = critical(plan);
    let mut text = format!("digraph {} {{\n    rankdir = TB\n    node [shape = box]\n", quoted(&plan.name));
    for step in &plan.steps {
        let style = if critical.contains(step.id.as_str()) { ", style = bold" } else { "" };
        let label = quoted(&format!("{}. {}", step.number, step.title));
        let _ = writeln!(text, "    {} [label = {label}{style}]", quoted(&step.id));
    }
    for (before, after) in edges(plan) {
        let id = |place: usize| quoted(&plan.steps[place].id);
        let _ = writeln!(text, "    {} -> {}", id(before), id(after));
    }
    text.push_str("}\n");
    text
}
