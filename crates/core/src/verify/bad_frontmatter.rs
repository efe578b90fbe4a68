//! PW0102: frontmatter outside the plain YAML subset that planwright accepts.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::Oddity;

pub(super) const RULE: Rule = Rule {
    code: "PW0102",
    name: "bad-frontmatter",
    severity: Severity::Error,
    summary: "the frontmatter is invalid",
    page: include_str!("../../rules/bad-frontmatter.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if let Oddity::Frontmatter(why) = &oddity.value {
            let help = "write plain `key: value` lines between two `---` lines";
            found.push(RULE.at(oddity.span, why).help(help));
        } else if let Oddity::DuplicateKey { key, first } = &oddity.value {
            found.push(
                RULE.at(oddity.span, format!("duplicate key `{key}` in frontmatter"))
                    .label("duplicate")
                    .also(*first, "first defined here")
                    .help("remove one"),
            );
        }
    }
}
