//! PW0102: frontmatter outside the plain YAML subset that planwright accepts.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::ParseIssue;

pub(super) const RULE: Rule = Rule {
    code: "PW0102",
    name: "bad-frontmatter",
    severity: Severity::Error,
    summary: "the frontmatter is invalid",
    page: include_str!("../../rules/bad-frontmatter.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if let ParseIssue::Frontmatter(why) = &oddity.value {
            let help = "write plain `key: value` lines between two `---` lines";
            found.push(RULE.at(oddity.span, why).help(help));
        } else if let ParseIssue::DuplicateKey { key, first } = &oddity.value {
            found.push(
                RULE.at(oddity.span, format!("duplicate key `{key}` in frontmatter"))
                    .label("duplicate")
                    .also(*first, "first defined here")
                    .help("remove one"),
            );
        }
    }
}
