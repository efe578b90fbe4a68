//! PW0208: an item of `reads` that names neither a file nor a topic.

use super::{Diagnostic, Rule, Subject};
use crate::diagnostic::Severity;
use crate::plan::Reference;
use crate::source::Edit;

pub(super) const RULE: Rule = Rule {
    code: "PW0208",
    name: "bad-reference",
    severity: Severity::Error,
    summary: "an item of `reads` is neither `file:PATH` nor `topic:NAME`",
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
    }
}
