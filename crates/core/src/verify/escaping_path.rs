//! PW0205: a path that leaves the workspace.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::verified::Reference;
use crate::syntax::source::Spanned;

pub(super) const RULE: Rule = Rule {
    code: "PW0205",
    name: "escaping-path",
    severity: Severity::Error,
    summary: "a path is outside the workspace",
    page: include_str!("../../rules/escaping-path.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        let reads = step.reads.iter().filter_map(|read| match Reference::read(&read.value)? {
            Reference::File(path) => {
                let span = subject.tail(read, &path);
                Some(Spanned::new(path, span))
            }
            Reference::Topic(_) => None,
        });
        let patterns = step.touches.iter().flatten().chain(&step.sealed);
        for path in reads.chain(patterns.cloned()) {
            if leaves_workspace(&path.value) {
                found.push(
                    RULE.at(path.span, format!("{} names `{}`, a path outside the workspace", subject.name(place), path.value))
                        .label("outside the workspace")
                        .help("use a path relative to the workspace root"),
                );
            }
        }
    }
}

/// Whether a path leaves the root that it is relative to.
pub(super) fn leaves_workspace(path: &str) -> bool {
    let is_drive = path.as_bytes().get(1) == Some(&b':');
    if path.starts_with(['/', '~', '\\']) || is_drive {
        return true;
    }
    let mut depth = 0_i64;
    for part in path.split(['/', '\\']) {
        match part {
            ".." => depth -= 1,
            "" | "." => {}
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}
