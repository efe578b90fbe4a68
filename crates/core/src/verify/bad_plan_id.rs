//! PW0131: a proposal whose id is missing, invalid, or doesn't match its file name.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::proposal;
use crate::dialect::frontmatter;
use crate::syntax::source::Span;

pub(super) const RULE: Rule = Rule {
    code: "PW0131",
    name: "bad-plan-id",
    severity: Severity::Error,
    summary: "the id of a proposal is not `PLAN-` and 8 characters, or doesn't match its file name",
    page: include_str!("../../rules/bad-plan-id.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let source = subject.source;
    if !proposal::wrote(source) {
        return;
    }
    let said = subject.draft.frontmatter.value("id");
    let file = Some(proposal::file_stem(source.place())).filter(|stem| proposal::is_id(stem));
    let block = subject.draft.frontmatter.block.0.map_or(Span::default(), |block| source.line_at(block.start));
    let wrong = match (said, file) {
        (None, _) => Some(RULE.at(block, "the plan has no `id`").label("sessions and artifacts are stored under it")),
        (Some(id), _) if !proposal::is_id(&id.value) => Some(
            RULE.at(id.span, format!("invalid proposal id `{}`", id.value))
                .label("expected `PLAN-` and 8 letters or digits"),
        ),
        (Some(id), Some(file)) if id.value != file => Some(
            RULE.at(id.span, format!("id {} doesn't match file name {file}", id.value))
                .label("programs that look the plan up by id won't find it"),
        ),
        (Some(_), _) => None,
    };
    let fix = |wrong: Diagnostic| match file.and_then(|file| Some((file, frontmatter::set(source, "id", file)?))) {
        Some((file, edit)) => wrong.fix(format!("change it to `{file}`, the file name"), vec![edit]),
        None => wrong.help("name the plan and its file `PLAN-` and 8 letters or digits"),
    };
    found.extend(wrong.map(fix));
}
