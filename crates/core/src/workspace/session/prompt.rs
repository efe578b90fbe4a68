//! The prompt of the overseer of document E, and the block that tells it where to write: text made of what is configured, so that
//! neither names a command, a field or an agent that there is not. With nothing configured it is the document's own text.

use crate::dialect::directory;
use crate::workspace::session::Desk;

/// The most characters of a topic.
pub const TOPIC_CHARS_MAX: usize = 100;
/// The program that an overseer calls.
pub const PROGRAM: &str = "agentctl";

/// What the prompt is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub host: String,
    /// The program that an overseer calls.
    pub program: String,
    /// The most characters of a topic.
    pub topic_chars_max: usize,
    /// Names that the field `agent` of a task may have; empty: nothing is configured, so nothing is said.
    pub agents: Vec<String>,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            host: "planwright".to_owned(),
            program: PROGRAM.to_owned(),
            topic_chars_max: TOPIC_CHARS_MAX,
            agents: Vec::new(),
        }
    }
}

/// The prompt of the overseer.
pub fn prompt(terms: &Terms) -> String {
    let Terms { host, program, topic_chars_max, agents } = terms;
    let (plan_file, folder) = (directory::PLAN_FILE, directory::TASK_FOLDER.trim_end_matches('/'));
    let fields = directory::FIELDS
        .iter()
        .map(|(_, names)| names[0])
        .filter(|name| !directory::RESERVED.contains(name));
    let fields: Vec<String> = fields
        .enumerate()
        .map(|(place, name)| match (place, name, agents.is_empty()) {
            (0, name, _) => format!("`{name}`"),
            (_, "agent", false) => format!("optional `agent` (one of {})", agents.join(", ")),
            (_, name, _) => format!("optional `{name}`"),
        })
        .collect();
    let fields = fields.join(", ");
    format!(
        "You are the {host} overseer agent in plan mode.

Your default job is to produce an actionable plan for the current thread and its tasks.
Split work into multiple thread plans only when:
- the user explicitly requests planning across multiple threads, or
- the scope is large enough that it should be decomposed into separate threads.

Rules:
1. After processing the first user message, run `{program} set-topic \"<short description>\"` before responding.
2. Keep topic concise (max {topic_chars_max} chars) and update it later if focus changes substantially.
3. If `set-topic` fails, tell the user and retry once.
4. Read `CURRENT_PLAN_DIR` and any `ADDITIONAL_PLAN_DIRS` from runtime context in the system prompt.
5. Start planning in those provided directories directly; do not request current-thread dir again.
6. If planning additional threads beyond provided dirs, request them with `{program} plan request-thread-dir` and use the returned `thread_id` and `plan_dir`.
7. In every allocated plan dir, write:
   - `{plan_file}` with YAML frontmatter (`title`) and a clear narrative (approach, implementation details, constraints, high-level acceptance criteria).
   - `{folder}/NN-slug.md` task files with frontmatter ({fields}) and non-empty task body.
8. Keep task IDs kebab-case and dependencies valid within the same thread plan dir.
9. If an additional thread should no longer be planned, run `{program} plan remove-thread --thread-id <thread-id>`.
10. If current thread plan content should be removed, run `{program} plan clear-current`.
11. When planning is ready, run one `{program} plan commit` to validate and submit all allocated thread plan dirs.
12. If validation fails, fix all reported issues and retry commit.

Output quality:
- Be concise, specific, and execution-oriented.
- Prefer small, testable tasks with clear acceptance criteria.
- Do not include unrelated work.
"
    )
}

/// The block that tells an overseer where to write.
pub fn context(desk: &Desk) -> String {
    let mut text = format!("CURRENT_PLAN_DIR: {}\nADDITIONAL_PLAN_DIRS:", desk.current.folder.display());
    if desk.additional.is_empty() {
        text.push_str(" none");
    }
    for thread in &desk.additional {
        text.push_str(&format!("\n- {}: {}", thread.id, thread.folder.display()));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::session::Thread;

    /// The text of document E, byte for byte.
    const DOCUMENT: &str = include_str!("../../../tests/overseer/document-e.txt");

    // E-17: with nothing configured the prompt is the document's; only the name of who asks is another.
    #[test]
    fn with_nothing_configured_the_prompt_is_that_of_the_document() {
        let theirs = Terms { host: "Flowgentic".to_owned(), ..Terms::default() };
        assert_eq!(prompt(&theirs), DOCUMENT);
        assert_eq!(prompt(&Terms::default()), DOCUMENT.replace("Flowgentic", "planwright"));
    }

    // E-16, E-17: what is configured is what it says.
    #[test]
    fn what_is_configured_stands_in_the_prompt() {
        let terms = Terms {
            program: "planwright".to_owned(),
            topic_chars_max: 60,
            agents: vec!["claude".to_owned(), "coder".to_owned()],
            ..Terms::default()
        };
        let text = prompt(&terms);
        assert!(!text.contains("agentctl"), "{text}");
        assert!(text.contains("(max 60 chars)") && text.contains("`planwright plan commit`"), "{text}");
        assert!(text.contains(
            "(`id`, optional `depends_on`, optional `agent` (one of claude, coder), optional `subtasks`)"
        ));
    }

    // E-10: the block names every folder with its thread, those of a session that goes on included.
    #[test]
    fn the_context_names_every_folder_with_its_thread() {
        let mut desk = Desk::new(Thread::new("a", "/plans/a".into()));
        assert_eq!(context(&desk), "CURRENT_PLAN_DIR: /plans/a\nADDITIONAL_PLAN_DIRS: none\n");
        desk.additional = vec![Thread::new("456", "/plans/b".into()), Thread::new("7", "/plans/c".into())];
        assert_eq!(
            context(&desk),
            "CURRENT_PLAN_DIR: /plans/a\nADDITIONAL_PLAN_DIRS:\n- thread_456: /plans/b\n- thread_7: /plans/c\n"
        );
    }
}
