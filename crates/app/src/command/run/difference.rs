//! Differences between the plan file and the approved text. Display only: the engine decides whether a plan is still
//! approved.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

use crate::output::{Palette, Tone, clean};

/// How many lines are shown; the file has the rest.
const LINES_MAX: usize = 60;
/// How many lines around a difference are shown.
const CONTEXT_LINES: usize = 2;
/// How long it may take to find the smallest difference; after that a larger one will do.
const TIME_MAX: Duration = Duration::from_secs(1);

/// The lines that differ, with a few around them.
pub(super) fn lines([approved, now]: &[String; 2], palette: Palette) -> Vec<String> {
    let found = TextDiff::configure().algorithm(Algorithm::Myers).timeout(TIME_MAX).diff_lines(approved, now);
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

#[cfg(test)]
mod tests {
    use planwright_engine::api::{Source, texts_to_compare};

    use super::*;

    fn compared(approved: &str, now: &str) -> Vec<String> {
        lines(&texts_to_compare(&plan(approved), &plan(now)), Palette::PLAIN)
    }

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
        insta::assert_snapshot!(compared(PLAN, &now).join("\n"), @r"
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
        let lines = compared(PLAN, &now);
        assert_eq!(lines.len(), LINES_MAX + 1);
        assert!(lines[LINES_MAX].ends_with("more lines"), "{}", lines[LINES_MAX]);
    }
}
