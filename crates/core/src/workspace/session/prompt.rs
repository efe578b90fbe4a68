//! The prompt of the directory dialect's overseer, and the block that tells it where to write. Generated from
//! the configuration, so that it never names a command, field or agent that doesn't exist. Without
//! configuration it is the reference text, byte for byte.

use crate::dialect::directory;
use crate::workspace::session::PlanningSession;

pub const TOPIC_CHARS_MAX: usize = 100;
pub const PROGRAM: &str = "agentctl";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTerms {
    pub host: String,
    /// The program that an overseer calls.
    pub program: String,
    pub topic_chars_max: usize,
    /// The values allowed in a task's `agent` field; empty if none is configured, and then omitted.
    pub agents: Vec<String>,
}

impl Default for PromptTerms {
    fn default() -> Self {
        Self {
            host: "planwright".to_owned(),
            program: PROGRAM.to_owned(),
            topic_chars_max: TOPIC_CHARS_MAX,
            agents: Vec::new(),
        }
    }
}

pub fn prompt(terms: &PromptTerms) -> String {
    let PromptTerms { host, program, topic_chars_max, agents } = terms;
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

pub fn context(desk: &PlanningSession) -> String {
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
    use crate::workspace::session::SessionPlan;

    /// The reference text of the directory dialect, byte for byte.
    const DOCUMENT: &str = include_str!("../../../tests/overseer/document-e.txt");

    // E-17: without configuration the prompt is the reference text; only the host's name differs.
    #[test]
    fn with_nothing_configured_the_prompt_is_that_of_the_document() {
        let theirs = PromptTerms { host: "Flowgentic".to_owned(), ..PromptTerms::default() };
        assert_eq!(prompt(&theirs), DOCUMENT);
        assert_eq!(prompt(&PromptTerms::default()), DOCUMENT.replace("Flowgentic", "planwright"));
    }

    // E-16, E-17: the prompt reflects the configuration.
    #[test]
    fn what_is_configured_stands_in_the_prompt() {
        let terms = PromptTerms {
            program: "planwright".to_owned(),
            topic_chars_max: 60,
            agents: vec!["claude".to_owned(), "coder".to_owned()],
            ..PromptTerms::default()
        };
        let text = prompt(&terms);
        assert!(!text.contains("agentctl"), "{text}");
        assert!(text.contains("(max 60 chars)") && text.contains("`planwright plan commit`"), "{text}");
        assert!(text.contains(
            "(`id`, optional `depends_on`, optional `agent` (one of claude, coder), optional `subtasks`)"
        ));
    }

    // E-10: the block lists every directory with its thread, including those of a resumed session.
    #[test]
    fn the_context_names_every_folder_with_its_thread() {
        let mut desk = PlanningSession::new(SessionPlan::new("a", "/plans/a".into()));
        assert_eq!(context(&desk), "CURRENT_PLAN_DIR: /plans/a\nADDITIONAL_PLAN_DIRS: none\n");
        desk.additional =
            vec![SessionPlan::new("456", "/plans/b".into()), SessionPlan::new("7", "/plans/c".into())];
        assert_eq!(
            context(&desk),
            "CURRENT_PLAN_DIR: /plans/a\nADDITIONAL_PLAN_DIRS:\n- thread_456: /plans/b\n- thread_7: /plans/c\n"
        );
    }
}
