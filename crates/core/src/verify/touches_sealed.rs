//! PW0210: a step that may change a sealed file.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::glob;
use crate::syntax::glob::Glob;
use crate::syntax::source::{Span, Spanned};

pub(super) const RULE: Rule = Rule {
    code: "PW0210",
    name: "touches-sealed",
    severity: Severity::Error,
    summary: "a step may change a sealed file",
    page: include_str!("../../rules/touches-sealed.md"),
    check,
};

/// Each pattern with the step that declares it.
type Patterns = Vec<(usize, Glob, Span)>;

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let sealed: Patterns = subject.steps().flat_map(|(place, step)| patterns(place, &step.sealed)).collect();
    if sealed.is_empty() {
        return;
    }
    for (place, step) in subject.steps() {
        for (_, touch, span) in patterns(place, step.touches.as_deref().unwrap_or_default()) {
            let meets = |(owner, seal, at): &(usize, Glob, Span)| {
                Some((*owner, *at, glob::intersection(&touch, seal)?))
            };
            // One diagnostic per pattern is enough: the first sealed pattern that it overlaps.
            let Some((owner, at, path)) = sealed.iter().find_map(meets) else { continue };
            let whose = if owner == place { "the same step".to_owned() } else { subject.name(owner) };
            found.push(
                RULE.at(span, format!("{} may change `{path}`, sealed by {whose}", subject.name(place)))
                    .label(format!("matches `{path}`"))
                    .also(at, "sealed here")
                    .help("remove the file from `touches` or from `sealed`"),
            );
        }
    }
}

/// Skips invalid patterns, which other rules report.
fn patterns(place: usize, said: &[Spanned<String>]) -> Patterns {
    said.iter().filter_map(|pattern| Some((place, Glob::new(&pattern.value).ok()?, pattern.span))).collect()
}
