//! PW0105: a plan without a title.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::directory::PLAN_FILE;
use crate::plan::draft::{Frontmatter, FrontmatterEntry};
use crate::syntax::source::Span;
use crate::syntax::nearest;

pub(super) const RULE: Rule = Rule {
    code: "PW0105",
    name: "missing-title",
    severity: Severity::Error,
    summary: "the plan has no `# Title`",
    page: include_str!("../../rules/missing-title.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let title = subject.draft.title.as_ref();
    if subject.is_directory() {
        found.extend(in_folder(subject));
        return;
    }
    if title.is_none_or(|title| title.value.is_empty()) {
        let span = title.map_or(Span::default(), |title| title.span);
        let help = match subject.source.dialect().title_key {
            Some(key) => format!("set `{key}` to a one-line title"),
            None => "add a line `# One-line title` above the steps".to_owned(),
        };
        found.push(RULE.at(span, "the plan has no title").help(help));
    }
}

/// A directory plan has its title in the frontmatter of `plan.md`; missing-plan-file reports that file's absence.
fn in_folder(subject: &VerifySubject<'_>) -> Option<Diagnostic> {
    let file = subject.source.parts().iter().find(|part| part.path == PLAN_FILE || part.path.is_empty())?.span;
    let Frontmatter { block, .. } = &subject.draft.frontmatter;
    let head = Span::new(file.start, block.0.map_or(file.start, |block| block.end));
    let key = subject.draft.frontmatter.entry("title").map(|entry| entry.key.span);
    // A similar key is probably a misspelling, for which unknown-field offers the rename.
    let is_nearly = |entry: &FrontmatterEntry| {
        entry.key.value.eq_ignore_ascii_case("title") || nearest::nearest(&entry.key.value, ["title"]).is_some()
    };
    let is_meant = key.is_none() && subject.draft.frontmatter.entries.iter().any(is_nearly);
    if subject.draft.title.is_some() || is_meant || subject.is_unread(head) {
        return None;
    }
    let span = key.unwrap_or_else(|| block.0.map_or(Span::at(file.start), |block| subject.source.line_at(block.start)));
    let missing = RULE.at(span, "the plan has no title");
    Some(match key {
        Some(_) => missing.label("empty title").help("add a one-line title"),
        None => missing.help("add `title: ...` to the frontmatter of plan.md"),
    })
}
