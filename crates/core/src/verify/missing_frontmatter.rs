//! PW0103: frontmatter without type, status or owner.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::ParseIssue;
use crate::dialect::frontmatter;
use crate::syntax::nearest;
use crate::syntax::source::{Edit, Span};

pub(super) const RULE: Rule = Rule {
    code: "PW0103",
    name: "missing-frontmatter",
    severity: Severity::Error,
    summary: "the frontmatter lacks type, status or owner",
    page: include_str!("../../rules/missing-frontmatter.md"),
    check,
};

/// The required keys, with the value that a new plan has.
const KEYS: &[(&str, &str)] = &[("type", "plan"), ("status", "draft"), ("owner", "orchestrator")];

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.is_native() {
        return;
    }
    let frontmatter = &subject.draft.frontmatter;
    // A key may be in the part that could not be parsed, which bad-frontmatter reports.
    let is_unread = |oddity: &ParseIssue| matches!(oddity, ParseIssue::Frontmatter(_));
    if subject.draft.oddities.0.iter().any(|oddity| is_unread(&oddity.value)) {
        return;
    }
    if frontmatter.block.0.is_none() {
        found.push(missing_block(subject));
        return;
    }
    for &(key, value) in KEYS {
        let present = frontmatter.value(key);
        let set = || frontmatter::set(subject.source, key, value).into_iter().collect::<Vec<Edit>>();
        match present {
            Some(present) if key == "type" && present.value != value => found.push(
                RULE.at(present.span, format!("the frontmatter sets `type: {}`, not `type: plan`", present.value))
                    .label("expected `plan`")
                    .fix("set `type: plan`", set()),
            ),
            Some(_) => {}
            // A similar key is probably a misspelling, for which unknown-field offers the rename.
            None if frontmatter.entries.iter().any(|entry| nearest::nearest(&entry.key.value, [key]).is_some()) => {}
            None => {
                let span = frontmatter.block.0.unwrap_or_default();
                let mut missing = RULE
                    .at(subject.source.line_at(span.start), format!("the frontmatter has no `{key}`"))
                    .fix(format!("add `{key}: {value}`"), set());
                if key != "type" {
                    missing.severity = Severity::Warning;
                }
                found.push(missing);
            }
        }
    }
}

fn missing_block(subject: &VerifySubject<'_>) -> Diagnostic {
    let newline = subject.source.line_ending();
    let lines: String = KEYS.iter().map(|(key, value)| format!("{key}: {value}{newline}")).collect();
    let body = frontmatter::split(subject.source.text()).body;
    RULE.at(Span::at(body), "the file has no frontmatter")
        .label("expected frontmatter here")
        .fix("add frontmatter with `type: plan`", vec![Edit::insert(body, format!("---{newline}{lines}---{newline}{newline}"))])
}
