//! PW0208: an invalid item in `reads`, or an invalid pattern in `sealed`.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::glob::Glob;
use crate::plan::verified::Reference;
use crate::syntax::source::Edit;

pub(super) const RULE: Rule = Rule {
    code: "PW0208",
    name: "bad-reference",
    severity: Severity::Error,
    summary: "an item of `reads` is neither `file:PATH` nor `topic:NAME`, or a `sealed` pattern is invalid",
    page: include_str!("../../rules/bad-reference.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        for read in step.reads.iter().filter(|read| Reference::read(&read.value).is_none()) {
            let bad = RULE
                .at(read.span, format!("invalid reference `{}` in {}", read.value, subject.name(place)))
                .label("expected `file:PATH` or `topic:NAME`");
            let is_bare = !read.value.contains(':') && !read.value.contains(char::is_whitespace);
            found.push(match is_bare {
                true => bad.fix("read it as a file", vec![Edit::insert(read.span.start, "file:")]),
                false => bad,
            });
        }
        for sealed in &step.sealed {
            let Err(error) = Glob::new(&sealed.value) else { continue };
            // escaping-path reports paths outside the workspace.
            if !super::escaping_path::leaves_workspace(&sealed.value) {
                let message = format!("invalid `sealed` pattern `{}` in {}", sealed.value, subject.name(place));
                found.push(RULE.at(sealed.span, message).label(error.to_string()));
            }
        }
    }
}
