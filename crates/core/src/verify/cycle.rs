//! PW0202: steps that need each other, so that none of them can start.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::graph::Graph;
use crate::syntax::source::Span;

pub(super) const RULE: Rule = Rule {
    code: "PW0202",
    name: "cycle",
    severity: Severity::Error,
    summary: "steps depend on each other in a cycle",
    page: include_str!("../../rules/cycle.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    // self-need reports a step that needs itself; such an edge must not hide a longer cycle.
    let others = |place: usize| subject.graph.needs(place).iter().copied().filter(|&need| need != place).collect();
    let graph = Graph::new((0..subject.draft.steps.len()).map(others).collect());
    for cycle in graph.cycles() {
        let names: Vec<&str> = cycle.iter().chain(&cycle[..1]).map(|&place| subject.ids[place].as_str()).collect();
        let mut spans = cycle.iter().enumerate().map(|(index, &place)| {
            let next = cycle[(index + 1) % cycle.len()];
            (place, next, edge(subject, place, next))
        });
        let Some((_, _, first)) = spans.next() else { continue };
        let mut circular = RULE
            .at(first, format!("dependency cycle: {}", names.join(" → ")))
            .label(format!("`{}` needs `{}`", names[0], names[1]))
            .help("remove one of these needs");
        for (place, next, span) in spans {
            circular = circular.also(span, format!("`{}` needs `{}`", subject.ids[place], subject.ids[next]));
        }
        found.push(circular);
    }
}

/// The text that makes `place` need `next`: the item of `needs`, or the heading of a step that needs all earlier ones.
fn edge(subject: &VerifySubject<'_>, place: usize, next: usize) -> Span {
    let step = &subject.draft.steps[place];
    let need = step.needs.iter().flatten().find(|need| subject.find(&need.value) == Some(next));
    need.map_or(step.heading.0, |need| need.span)
}
