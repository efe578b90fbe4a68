//! PW0151: a file among the tasks whose name is none of a task.

use super::{Diagnostic, Rule, Subject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::directory::{TASK_FOLDER, is_markdown, task_file_name};
use crate::plan::draft::Oddity;

pub(super) const RULE: Rule = Rule {
    code: "PW0151",
    name: "misnamed-task",
    severity: Severity::Error,
    summary: "a file in `tasks/` is not called `NN-slug.md`",
    page: include_str!("../../rules/misnamed-task.md"),
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for oddity in &subject.draft.oddities.0 {
        let Oddity::MisnamedTask { path } = &oddity.value else { continue };
        let misnamed = RULE
            .at(oddity.span, format!("`{path}` is not the name of a task"))
            .label("two digits, a dash, and small letters and digits with single dashes: `01-write-the-test.md`");
        let name = path.strip_prefix(TASK_FOLDER).filter(|name| is_markdown(name));
        let meant = name.and_then(task_file_name).map(|name| format!("{TASK_FOLDER}{name}"));
        // A name that is taken would be the next complaint.
        let is_free = |meant: &String| subject.source.parts().iter().all(|part| part.path != *meant);
        found.push(match (meant.filter(is_free), name) {
            (Some(meant), _) => misnamed.help(format!("rename it to `{meant}`")),
            (None, Some(_)) => misnamed.help("rename it, or move it out of the folder"),
            (None, None) => misnamed.help("only tasks belong here: move it out of the folder"),
        });
    }
}
