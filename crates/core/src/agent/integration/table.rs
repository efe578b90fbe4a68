//! The table of connections: which file of which agent contains what. Data only.

use super::{ConfigEdit, ConfigEntry, Expected, Integration, SKILL, Spot};

const SERVER: &str = r#"{"command": "planwright", "args": ["mcp", "--role", "planner"]}"#;

/// The skill directory that several agents share.
const SHARED_SKILL: ConfigEdit =
    ConfigEdit { file: ".agents/skills/plan/SKILL.md", wanted: Expected::Text(SKILL) };

const START: &str = r#"{"hooks": [{"type": "command", "command": "planwright hook session-start"}]}"#;
const COMPACT: &str = r#"{"hooks": [{"type": "command", "command": "planwright hook pre-compact"}]}"#;
/// A contract may take long; the gate ends long before this.
const STOP: &str = r#"{"hooks": [{"type": "command", "command": "planwright hook stop", "timeout": 300}]}"#;
/// For agents that count in milliseconds.
const STOP_MS: &str =
    r#"{"hooks": [{"type": "command", "command": "planwright hook stop", "timeout": 300000}]}"#;

const fn item(path: &'static [&'static str], json: &'static str) -> ConfigEntry {
    ConfigEntry { path, spot: Spot::Item, json }
}

const fn key(path: &'static [&'static str], json: &'static str) -> ConfigEntry {
    ConfigEntry { path, spot: Spot::Key, json }
}

/// The hooks of Claude Code, and of agents that adopted its format.
const HOOKS: &[ConfigEntry] = &[
    item(&["hooks", "SessionStart"], START),
    item(&["hooks", "PreCompact"], COMPACT),
    item(&["hooks", "Stop"], STOP),
];

pub const CONNECTIONS: &[Integration] = &[
    Integration {
        agent: "claude",
        pieces: &[
            ConfigEdit { file: ".claude/settings.json", wanted: Expected::Json(HOOKS) },
            ConfigEdit {
                file: ".mcp.json",
                wanted: Expected::Json(&[key(&["mcpServers", "planwright"], SERVER)]),
            },
            ConfigEdit { file: ".claude/skills/plan/SKILL.md", wanted: Expected::Text(SKILL) },
        ],
        note: "claude asks once whether it may use the server in .mcp.json",
    },
    Integration {
        agent: "codex",
        pieces: &[
            ConfigEdit { file: ".codex/hooks.json", wanted: Expected::Json(HOOKS) },
            ConfigEdit {
                file: ".codex/config.toml",
                wanted: Expected::Table {
                    head: "[mcp_servers.planwright]",
                    lines: "command = \"planwright\"\nargs = [\"mcp\", \"--role\", \"planner\"]\n",
                },
            },
            SHARED_SKILL,
        ],
        note: "codex reads .codex/ only in a project that you trust, and runs hooks only after you reviewed them: type /hooks in codex",
    },
    Integration {
        agent: "gemini",
        pieces: &[
            ConfigEdit {
                file: ".gemini/settings.json",
                wanted: Expected::Json(&[
                    item(&["hooks", "SessionStart"], START),
                    item(&["hooks", "AfterAgent"], STOP_MS),
                    key(&["mcpServers", "planwright"], SERVER),
                ]),
            },
            SHARED_SKILL,
        ],
        note: "gemini runs project hooks only in a directory that you trust, and has no hook before it compresses a session",
    },
    Integration {
        agent: "qwen",
        pieces: &[
            ConfigEdit {
                file: ".qwen/settings.json",
                wanted: Expected::Json(&[
                    item(&["hooks", "SessionStart"], START),
                    item(&["hooks", "PreCompact"], COMPACT),
                    item(&["hooks", "Stop"], STOP_MS),
                    key(&["mcpServers", "planwright"], SERVER),
                ]),
            },
            SHARED_SKILL,
        ],
        note: "",
    },
    Integration {
        agent: "opencode",
        pieces: &[
            ConfigEdit {
                file: "opencode.json",
                wanted: Expected::Json(&[key(
                    &["mcp", "planwright"],
                    r#"{"type": "local", "command": ["planwright", "mcp", "--role", "planner"], "enabled": true}"#,
                )]),
            },
            ConfigEdit {
                file: ".opencode/plugin/planwright.js",
                wanted: Expected::Text(include_str!("planwright.js")),
            },
            SHARED_SKILL,
        ],
        note: "",
    },
    Integration {
        agent: "pi",
        pieces: &[
            ConfigEdit {
                file: ".pi/extensions/planwright.ts",
                wanted: Expected::Text(include_str!("planwright.ts")),
            },
            SHARED_SKILL,
        ],
        note: "pi loads project extensions only if you trust the project: type /trust in pi",
    },
    Integration {
        agent: "copilot",
        pieces: &[
            ConfigEdit {
                file: ".github/hooks/planwright.json",
                wanted: Expected::Json(&[
                    key(&["version"], "1"),
                    item(
                        &["hooks", "sessionStart"],
                        r#"{"type": "command", "bash": "planwright hook session-start"}"#,
                    ),
                    item(
                        &["hooks", "agentStop"],
                        r#"{"type": "command", "bash": "planwright hook stop", "timeoutSec": 300}"#,
                    ),
                ]),
            },
            ConfigEdit {
                file: "~/.copilot/mcp-config.json",
                wanted: Expected::Json(&[key(
                    &["mcpServers", "planwright"],
                    r#"{"type": "local", "command": "planwright", "args": ["mcp", "--role", "planner"], "tools": ["*"]}"#,
                )]),
            },
            SHARED_SKILL,
        ],
        note: "copilot runs hooks only in a directory that you trust; it also reads the hooks of claude",
    },
];
