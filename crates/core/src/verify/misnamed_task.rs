//! PW0151: a file in `tasks/` whose name is not a task name.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::directory::{TASK_FOLDER, is_markdown, task_file_name};
use crate::plan::draft::ParseIssue;

pub(super) const RULE: Rule = Rule {
    code: "PW0151",
    name: "misnamed-task",
    severity: Severity::Error,
    summary: "a file in `tasks/` is not called `NN-slug.md`",
    page: include_str!("../../rules/misnamed-task.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let ParseIssue::MisnamedTask { path } = &oddity.value else { continue };
        let misnamed = RULE
            .at(oddity.span, format!("invalid task file name `{path}`"))
            .label("expected `NN-slug.md`, such as `01-write-the-test.md`");
        let name = path.strip_prefix(TASK_FOLDER).filter(|name| is_markdown(name));
        let meant = name.and_then(task_file_name).map(|name| format!("{TASK_FOLDER}{name}"));
        // Suggesting a name that is in use would cause the next diagnostic.
        let is_free = |meant: &String| subject.source.parts().iter().all(|part| part.path != *meant);
        found.push(match (meant.filter(is_free), name) {
            (Some(meant), _) => misnamed.help(format!("rename it to `{meant}`")),
            (None, Some(_)) => misnamed.help("rename it, or move it out of `tasks/`"),
            (None, None) => misnamed.help("move it out of `tasks/`, which may only contain tasks"),
        });
    }
}
