//! PW0133: a step whose tool the plan does not list.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::proposal;
use crate::syntax::source::{Edit, Source, Span, Spanned};
use crate::syntax::{nearest, yaml};

pub(super) const RULE: Rule = Rule {
    code: "PW0133",
    name: "unlisted-tool",
    severity: Severity::Warning,
    summary: "a step of a proposal uses a tool that `tools_required` does not list",
    page: include_str!("../../rules/unlisted-tool.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !proposal::wrote(subject.source) {
        return;
    }
    let listed = proposal::tools_required(subject.source);
    // A plan that lists nothing has not decided yet.
    let Some(last) = listed.last() else { return };
    for (place, step) in subject.steps() {
        for tool in step.tools.iter().filter(|tool| !listed.contains(tool)) {
            let name = &tool.value;
            let unlisted = RULE
                .at(tool.span, format!("{} uses `{name}`, which `tools_required` does not list", subject.name(place)))
                .also(last.span, "listed are those up to here");
            found.push(match nearest::nearest(name, listed.iter().map(|tool| tool.value.as_str())) {
                Some(meant) => unlisted.label(format!("did you mean `{meant}`?")),
                None => unlisted
                    .label("an executor that keeps to the list can't do this step")
                    .fix(format!("list `{name}`"), vec![listing(subject.source, last, name)]),
            });
        }
    }
}

/// The edit that puts a name behind the last of the list, in the form that the list has.
fn listing(source: &Source, last: &Spanned<String>, name: &str) -> Edit {
    let line = source.line_at(last.span.start);
    let before = source.slice(Span::new(line.start, last.span.start));
    let name = yaml::quote(name);
    match before.trim_end().ends_with('-') {
        true => Edit::insert(line.end, format!("{}{before}{name}", source.line_ending())),
        false => Edit::insert(last.span.end, format!(", {name}")),
    }
}
