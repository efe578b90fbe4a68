//! PW0506: a step that uses an unknown tool.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::tool::ToolKind;
use crate::syntax::nearest;

pub(super) const RULE: Rule = Rule {
    code: "PW0506",
    name: "unknown-tool",
    severity: Severity::Error,
    summary: "a step uses an unknown tool",
    page: include_str!("../../rules/unknown-tool.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    // Without a tool list in the settings, any tool may exist.
    let Some(tools) = &subject.facts.tools else { return };
    for (place, step) in subject.steps() {
        for tool in &step.tools {
            // Tools that every agent has need no entry.
            if tools.contains(&tool.value) || ToolKind::of_word(&tool.value).is_some() {
                continue;
            }
            let message = format!("{} uses unknown tool `{}`", subject.name(place), tool.value);
            let unknown = RULE.at(tool.span, message);
            found.push(match nearest::nearest(&tool.value, tools.iter().map(String::as_str)) {
                Some(meant) => unknown.label(format!("did you mean `{meant}`?")),
                None => unknown
                    .note(format!("available: {}", tools.iter().map(String::as_str).collect::<Vec<_>>().join(", ")))
                    .help("add it to `[tools.NAME] operations = […]` in planwright.toml, or use an available one"),
            });
        }
    }
}
