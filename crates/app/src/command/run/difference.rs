//! Differences between the plan file and the approved text. Display only: the engine decides whether a plan is still
//! approved.

use std::collections::BTreeMap;
use std::time::Duration;

use planwright_engine::core::plan::edit::PlanEdit;
use planwright_engine::core::plan::verified;
use planwright_engine::core::syntax::source::{FILE_SEPARATOR, Source};
use similar::{Algorithm, TextDiff};

use crate::output::{Palette, Tone, clean};

/// How many lines are shown; the file has the rest.
const LINES_MAX: usize = 60;
/// How many lines around a difference are shown.
const CONTEXT_LINES: usize = 2;
/// How long it may take to find the smallest difference; after that a larger one will do.
const TIME_MAX: Duration = Duration::from_secs(1);

/// The lines that differ, with a few around them.
pub(super) fn lines(approved: &Source, now: &Source, palette: Palette) -> Vec<String> {
    let dressed = with_marks_of(approved, now);
    let approved = dressed.as_ref().unwrap_or(approved).text();
    // Files of a directory are separated by an invisible character.
    let readable = |text: &str| text.replace(FILE_SEPARATOR, "file: ");
    let (approved, now) = (readable(approved), readable(now.text()));
    let found =
        TextDiff::configure().algorithm(Algorithm::Myers).timeout(TIME_MAX).diff_lines(&approved, &now);
    let text = found.unified_diff().context_radius(CONTEXT_LINES).header("approved", "now").to_string();
    let all = text.lines().filter(|line| !line.starts_with('\\'));
    let mut lines: Vec<String> = all.map(|line| painted(&clean(line), palette)).collect();
    let hidden = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    if hidden > 0 {
        lines.push(format!("and {hidden} more lines"));
    }
    lines
}

fn painted(line: &str, palette: Palette) -> String {
    match line.as_bytes().first() {
        Some(b'+') => palette.paint(Tone::Good, line),
        Some(b'-') => palette.paint(Tone::Bad, line),
        Some(_) | None => line.to_owned(),
    }
}

/// The approved text with the marks and the status that the file has now: they are no part of what was approved. `None`
/// where they can't be set.
fn with_marks_of(approved: &Source, now: &Source) -> Option<Source> {
    let dialect = approved.dialect();
    let before = approved.draft();
    let after = now.draft();
    let ids = verified::ids(&after);
    let marks: BTreeMap<&String, _> =
        ids.iter().zip(&after.steps).map(|(id, step)| (id, step.mark())).collect();
    let mut changes = Vec::new();
    for (step, id) in verified::ids(&before).iter().enumerate() {
        if let Some(&mark) = marks.get(id)
            && before.steps[step].mark() != mark
        {
            changes.push(PlanEdit::Mark { step, mark });
        }
    }
    changes.extend(after.state.map(|state| PlanEdit::Become { state: state.value }));
    let edits = dialect.patch_all(approved, &changes).ok()?;
    Some(approved.edited(&edits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Source {
        Source::new("plan.md", text)
    }

    const PLAN: &str = "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Do it\n\n## Steps\n\n\
        ### 1. Do a\n\n**id:** a\n**target:** shell\n\n**task:**\nDo it.\n\n\
        **contract:**\n```shell\ntest -e a\n```\nexit_code == 0\n";

    // C-34: marks written by planwright are not a difference; other edits are, and cannot control the terminal.
    #[test]
    fn marks_and_status_are_no_difference_and_other_lines_are() {
        let now = PLAN
            .replace("status: draft", "status: in-progress")
            .replace("Do a", "✅ Do a")
            .replace("test -e a", "true \u{1b}[2J");
        insta::assert_snapshot!(lines(&plan(PLAN), &plan(&now), Palette::PLAIN).join("\n"), @r"
        --- approved
        +++ now
        @@ -19,5 +19,5 @@
         **contract:**
         ```shell
        -test -e a
        +true \u{1b}[2J
         ```
         exit_code == 0
        ");
    }

    #[test]
    fn a_long_difference_is_cut() {
        let now = PLAN.replace("Do it.", &"more\n".repeat(500));
        let lines = lines(&plan(PLAN), &plan(&now), Palette::PLAIN);
        assert_eq!(lines.len(), LINES_MAX + 1);
        assert!(lines[LINES_MAX].ends_with("more lines"), "{}", lines[LINES_MAX]);
    }
}
