//! PW0207: steps that can run in parallel and may change the same file.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::glob;
use crate::syntax::glob::Glob;
use crate::syntax::source::Span;

pub(super) const RULE: Rule = Rule {
    code: "PW0207",
    name: "touches-overlap",
    severity: Severity::Warning,
    summary: "two steps that can run in parallel may change the same file",
    page: include_str!("../../rules/touches-overlap.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if subject.is_sequential() {
        return;
    }
    let globs: Vec<Vec<(Glob, Span)>> = subject
        .steps()
        .map(|(_, step)| {
            let patterns = step.touches.iter().flatten();
            patterns.filter_map(|pattern| Some((Glob::new(&pattern.value).ok()?, pattern.span))).collect()
        })
        .collect();
    for later in 0..globs.len() {
        for earlier in 0..later {
            if !subject.reach.are_ordered(earlier, later) {
                found.extend(overlap(subject, (earlier, &globs[earlier]), (later, &globs[later])));
            }
        }
    }
}

/// The first file that both steps may change: one diagnostic per pair of steps is enough.
fn overlap(subject: &VerifySubject<'_>, earlier: (usize, &[(Glob, Span)]), later: (usize, &[(Glob, Span)])) -> Option<Diagnostic> {
    let mut pairs = later.1.iter().flat_map(|later| earlier.1.iter().map(move |earlier| (earlier, later)));
    let (first, second, path) =
        pairs.find_map(|((first, at), (second, here))| Some((*at, *here, glob::collision(first, second)?)))?;
    let (one, other) = (subject.name(earlier.0), subject.name(later.0));
    Some(
        RULE.at(second, format!("{one} and {other} can run in parallel and may both change `{path}`"))
            .label(format!("matches `{path}`"))
            .also(first, format!("also matches `{path}`"))
            .help("make one need the other; until then they never run in parallel"),
    )
}
