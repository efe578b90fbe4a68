//! PW0150: a folder of tasks that nothing holds together.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::Oddity;

pub(super) const RULE: Rule = Rule {
    code: "PW0150",
    name: "missing-plan-file",
    severity: Severity::Error,
    summary: "the folder has no `plan.md`",
    page: include_str!("../../rules/missing-plan-file.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if let Oddity::MissingFile { path } = &oddity.value {
            found.push(
                RULE.at(oddity.span, format!("the folder has no `{path}`"))
                    .label("nothing says what these tasks are for")
                    .help(format!("write a file `{path}` that begins with `---`, `title: ...`, `---`")),
            );
        }
    }
}
