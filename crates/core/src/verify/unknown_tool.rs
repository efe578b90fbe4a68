//! PW0506: a step with a tool that does not exist.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::agent::permission::Family;
use crate::syntax::nearest;

pub(super) const RULE: Rule = Rule {
    code: "PW0506",
    name: "unknown-tool",
    severity: Severity::Error,
    summary: "a step uses a tool that is not among those that there are",
    page: include_str!("../../rules/unknown-tool.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // Where nobody has said which tools there are, any may be.
    let Some(tools) = &subject.facts.tools else { return };
    for (place, step) in subject.steps() {
        for tool in &step.tools {
            // What every agent has needs no entry.
            if tools.contains(&tool.value) || Family::of_word(&tool.value).is_some() {
                continue;
            }
            let message = format!("{} uses `{}`, which is no tool here", subject.name(place), tool.value);
            let unknown = RULE.at(tool.span, message);
            found.push(match nearest::nearest(&tool.value, tools.iter().map(String::as_str)) {
                Some(meant) => unknown.label(format!("did you mean `{meant}`?")),
                None => unknown
                    .note(format!("there are: {}", tools.iter().map(String::as_str).collect::<Vec<_>>().join(", ")))
                    .help("add it to `[tools.NAME] operations = […]` in planwright.toml, or use one that is there"),
            });
        }
    }
}
