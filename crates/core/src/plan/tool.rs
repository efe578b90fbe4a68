//! What tools do, and the words that plans and agents use for them.

/// What a tool does, whatever an agent calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Reads or searches files.
    Read,
    Edit,
    Shell,
    Web,
    Mcp,
    /// The agent's own notes, questions and subagents, whose calls are checked separately; and planwright's
    /// tools.
    Own,
    Other,
}

/// The words that plans use for a family.
const WORDS: &[(&str, ToolKind)] = &[
    ("read", ToolKind::Read),
    ("edit", ToolKind::Edit),
    ("write", ToolKind::Edit),
    ("bash", ToolKind::Shell),
    ("shell", ToolKind::Shell),
    ("web", ToolKind::Web),
];

/// The agents' tool names, in lowercase.
const NAMES: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::Read,
        &[
            "read",
            "read_file",
            "read_many_files",
            "readfile",
            "view",
            "view_image",
            "glob",
            "grep",
            "grep_search",
            "rg",
            "ls",
            "list",
            "list_dir",
            "list_directory",
            "search_file_content",
            "find",
            "notebookread",
            "lsp",
            "bashoutput",
            "read_bash",
            "list_bash",
            "toolsearch",
        ],
    ),
    (
        ToolKind::Edit,
        &[
            "write",
            "edit",
            "multiedit",
            "notebookedit",
            "write_file",
            "edit_file",
            "replace",
            "create",
            "create_file",
            "str_replace",
            "str_replace_editor",
            "str_replace_based_edit_tool",
            "insert",
            "apply_patch",
            "patch",
            "delete_file",
            "move_file",
        ],
    ),
    (
        ToolKind::Shell,
        &[
            "bash",
            "shell",
            "exec_command",
            "run_shell_command",
            "local_shell",
            "local_shell_call",
            "container.exec",
            "write_stdin",
            "write_bash",
            "execute",
            "powershell",
            "terminal",
            "run_command",
            "developer__shell",
        ],
    ),
    (
        ToolKind::Web,
        &["webfetch", "websearch", "web_fetch", "web_search", "google_web_search", "fetch", "fetch_webpage"],
    ),
    (
        ToolKind::Own,
        &[
            "todowrite",
            "todoread",
            "todo_write",
            "write_todos",
            "todolist",
            "update_plan",
            "taskcreate",
            "taskupdate",
            "tasklist",
            "taskget",
            "task",
            "agent",
            "exitplanmode",
            "exit_plan_mode",
            "enterplanmode",
            "enter_plan_mode",
            "askuserquestion",
            "ask_user",
            "question",
            "think",
            "report_intent",
            "skill",
            "activate_skill",
            "killshell",
            "stop_bash",
            "save_memory",
        ],
    ),
];

impl ToolKind {
    /// Every word that plans use for a family.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, _)| *word)
    }

    pub fn of_word(word: &str) -> Option<Self> {
        let word = word.to_lowercase();
        WORDS.iter().find(|(known, _)| *known == word).map(|(_, family)| *family)
    }
}

/// What the tool with this name does.
pub(crate) fn family(tool: &str) -> ToolKind {
    let name = tool.to_lowercase();
    if name.starts_with("mcp__") || name.starts_with("mcp_") {
        return ToolKind::Mcp;
    }
    let known = NAMES.iter().find(|(_, names)| names.contains(&name.as_str()));
    known.map_or(ToolKind::Other, |(family, _)| *family)
}
