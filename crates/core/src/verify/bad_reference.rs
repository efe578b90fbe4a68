//! PW0208: an item of `reads` that names neither a file nor a topic, or a pattern in `sealed` that is none.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::glob::Glob;
use crate::plan::verified::Reference;
use crate::syntax::source::Edit;

pub(super) const RULE: Rule = Rule {
    code: "PW0208",
    name: "bad-reference",
    severity: Severity::Error,
    summary: "an item of `reads` is neither `file:PATH` nor `topic:NAME`, or one of `sealed` is no pattern",
    page: include_str!("../../rules/bad-reference.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        for read in step.reads.iter().filter(|read| Reference::read(&read.value).is_none()) {
            let bad = RULE
                .at(read.span, format!("{} reads `{}`, which is neither a file nor a topic", subject.name(place), read.value))
                .label("expected `file:PATH` or `topic:NAME`");
            let is_bare = !read.value.contains(':') && !read.value.contains(char::is_whitespace);
            found.push(match is_bare {
                true => bad.fix("read it as a file", vec![Edit::insert(read.span.start, "file:")]),
                false => bad,
            });
        }
        for sealed in &step.sealed {
            let Err(error) = Glob::new(&sealed.value) else { continue };
            // A path that leads out of the workspace is said by another rule.
            if !super::escaping_path::leaves_workspace(&sealed.value) {
                let message = format!("{} seals `{}`, which is no pattern", subject.name(place), sealed.value);
                found.push(RULE.at(sealed.span, message).label(error.to_string()));
            }
        }
    }
}
