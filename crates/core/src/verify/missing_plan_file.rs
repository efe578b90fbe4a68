//! PW0150: a directory of tasks without a plan.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::draft::ParseIssue;

pub(super) const RULE: Rule = Rule {
    code: "PW0150",
    name: "missing-plan-file",
    severity: Severity::Error,
    summary: "the directory has no `plan.md`",
    page: include_str!("../../rules/missing-plan-file.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        if let ParseIssue::MissingFile { path } = &oddity.value {
            found.push(
                RULE.at(oddity.span, format!("the directory has no `{path}`"))
                    .label("these tasks have no plan")
                    .help(format!("create `{path}`, starting with `---`, `title: ...`, `---`")),
            );
        }
    }
}
