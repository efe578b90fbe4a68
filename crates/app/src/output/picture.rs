//! Dependency graphs for the terminal, for Markdown and for Graphviz.

mod layers;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use planwright_engine::core::plan::graph::Graph;
use planwright_engine::core::plan::view::PlanView;

use super::clean::clean_line;

/// Above this number of boxes, waves are printed instead of a graph.
const BOXES_MAX: usize = 200;

pub struct Picture<'a> {
    pub plan: &'a PlanView,
    /// Which step waits for which, as places, without what follows from the rest.
    pub graph: &'a Graph,
}

impl Picture<'_> {
    fn labels(&self) -> Vec<String> {
        self.plan
            .steps
            .iter()
            .map(|step| clean_line(&format!("{} {}", step.number, step.id)).into_owned())
            .collect()
    }

    /// Pairs of a step and one that waits for it.
    fn edges(&self) -> Vec<(usize, usize)> {
        let needs = |place: usize| self.graph.needs(place).iter().map(move |&before| (before, place));
        (0..self.plan.steps.len()).flat_map(needs).collect()
    }

    /// Steps on the longest chain.
    fn critical(&self) -> BTreeSet<&str> {
        self.plan.critical_path.iter().map(String::as_str).collect()
    }
}

/// Draws boxes and arrows in characters.
pub fn ascii(picture: &Picture<'_>) -> String {
    let labels = picture.labels();
    if labels.is_empty() {
        return String::new();
    }
    if labels.len() > BOXES_MAX {
        return format!("{} steps are too many to draw\n", labels.len());
    }
    layers::draw(&labels, &picture.edges()) + "\n"
}

/// Writes a Mermaid flowchart. Steps on the longest chain have a thick border.
pub fn mermaid(picture: &Picture<'_>) -> String {
    let mut text = String::from("flowchart TD\n");
    for (place, step) in picture.plan.steps.iter().enumerate() {
        let label = clean_line(&format!("{}. {}", step.number, step.title)).replace('"', "#quot;");
        // Writing to a string can't fail, here and below.
        let _ = writeln!(text, "    s{place}[\"{label}\"]");
    }
    for (before, after) in picture.edges() {
        let _ = writeln!(text, "    s{before} --> s{after}");
    }
    let critical = picture.critical();
    let thick: Vec<String> = (0..picture.plan.steps.len())
        .filter(|&place| critical.contains(picture.plan.steps[place].id.as_str()))
        .map(|place| format!("s{place}"))
        .collect();
    if thick.len() > 1 {
        let _ =
            writeln!(text, "    classDef critical stroke-width:3px\n    class {} critical", thick.join(","));
    }
    text
}

/// Writes a Graphviz digraph. Steps on the longest chain are bold.
pub fn dot(picture: &Picture<'_>) -> String {
    let quoted = |text: &str| format!("\"{}\"", clean_line(text).replace('\\', "\\\\").replace('"', "\\\""));
    let critical = picture.critical();
    let mut text =
        format!("digraph {} {{\n    rankdir = TB\n    node [shape = box]\n", quoted(&picture.plan.name));
    for step in &picture.plan.steps {
        let style = if critical.contains(step.id.as_str()) { ", style = bold" } else { "" };
        let label = quoted(&format!("{}. {}", step.number, step.title));
        let _ = writeln!(text, "    {} [label = {label}{style}]", quoted(&step.id));
    }
    for (before, after) in picture.edges() {
        let id = |place: usize| quoted(&picture.plan.steps[place].id);
        let _ = writeln!(text, "    {} -> {}", id(before), id(after));
    }
    text.push_str("}\n");
    text
}
