//! PW0133: a step that uses a tool which the plan doesn't list.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::proposal;
use crate::syntax::source::{Edit, Source, Span, Spanned};
use crate::syntax::{nearest, yaml};

pub(super) const RULE: Rule = Rule {
    code: "PW0133",
    name: "unlisted-tool",
    severity: Severity::Warning,
    summary: "a step of a proposal uses a tool that is not in `tools_required`",
    page: include_str!("../../rules/unlisted-tool.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !proposal::wrote(subject.source) {
        return;
    }
    let listed = proposal::tools_required(subject.source);
    // A plan without a list has not decided yet.
    let Some(last) = listed.last() else { return };
    for (place, step) in subject.steps() {
        for tool in step.tools.iter().filter(|tool| !listed.contains(tool)) {
            let name = &tool.value;
            let unlisted = RULE
                .at(tool.span, format!("{} uses `{name}`, which is not in `tools_required`", subject.name(place)))
                .also(last.span, "last listed tool");
            found.push(match nearest::nearest(name, listed.iter().map(|tool| tool.value.as_str())) {
                Some(meant) => unlisted.label(format!("did you mean `{meant}`?")),
                None => unlisted
                    .label("an executor limited to this list can't run the step")
                    .fix(format!("add `{name}` to the list"), vec![listing(subject.source, last, name)]),
            });
        }
    }
}

/// Appends a name to the list, in the form of the list.
fn listing(source: &Source, last: &Spanned<String>, name: &str) -> Edit {
    let line = source.line_at(last.span.start);
    let before = source.slice(Span::new(line.start, last.span.start));
    let name = yaml::quote(name);
    match before.trim_end().ends_with('-') {
        true => Edit::insert(line.end, format!("{}{before}{name}", source.line_ending())),
        false => Edit::insert(last.span.end, format!(", {name}")),
    }
}
