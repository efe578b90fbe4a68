//! PW0105: a plan without a name.

use super::{Diagnostic, Rule, Subject};
use crate::diagnostic::Severity;
use crate::source::Span;

pub(super) const RULE: Rule = Rule {
    code: "PW0105",
    name: "missing-title",
    severity: Severity::Error,
    summary: "the plan has no `# Title`",
    page: include_str!("../../rules/missing-title.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let title = subject.draft.title.as_ref();
    if title.is_none_or(|title| title.value.is_empty()) {
        let span = title.map_or(Span::default(), |title| title.span);
        let help = match subject.source.dialect().title_key {
            Some(key) => format!("say with `{key}` what the plan is for"),
            None => "add a line `# What this plan is for` above the steps".to_owned(),
        };
        found.push(RULE.at(span, "the plan has no title").help(help));
    }
}
