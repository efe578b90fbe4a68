//! PW0117: something that looks like a step but is not read as one.

use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::draft::{ParseIssue, UnreadStepReason};
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::Edit;

pub(super) const RULE: Rule = Rule {
    code: "PW0117",
    name: "unread-step",
    severity: Severity::Error,
    summary: "something looks like a step but is not read as one",
    page: include_str!("../../rules/unread-step.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let ParseIssue::UnreadStep { why, heading } = &oddity.value else { continue };
        let (message, label) = match why {
            UnreadStepReason::Fields => ("step fields outside a step", "not read as a step"),
            UnreadStepReason::Level => ("a level-1 heading is never a step", "numbered like a step"),
            UnreadStepReason::NoHeading => ("numbered like a step, but not a heading", "no space after the `#`"),
        };
        let unread = RULE.at(oddity.span, message).label(label);
        found.push(match heading {
            Some(heading) => {
                let title = format!("change it to `{heading}`");
                unread.fix(title, vec![Edit::replace(oddity.span, heading.as_str())])
            }
            None if subject.is_directory() => unread.help("move it to a file such as `tasks/02-write-the-fix.md`"),
            None => unread.help("start the step with a heading such as `### 2. Write the fix`"),
        });
    }
}
