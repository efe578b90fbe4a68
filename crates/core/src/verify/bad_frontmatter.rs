//! PW0102: frontmatter that is not the plain YAML we take.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::Oddity;

pub(super) const RULE: Rule = Rule {
    code: "PW0102",
    name: "bad-frontmatter",
    severity: Severity::Error,
    summary: "the frontmatter can't be read",
    page: include_str!("../../rules/bad-frontmatter.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if let Oddity::Frontmatter(why) = &oddity.value {
            let help = "write plain `key: value` lines between two lines `---`";
            found.push(RULE.at(oddity.span, why).help(help));
        } else if let Oddity::DuplicateKey { key, first } = &oddity.value {
            found.push(
                RULE.at(oddity.span, format!("the key `{key}` stands twice in the frontmatter"))
                    .label("again here")
                    .also(*first, "first here")
                    .help("keep one of them"),
            );
        }
    }
}
