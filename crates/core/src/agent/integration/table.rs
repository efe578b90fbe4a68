//! The table of connections: which file of which agent contains what. Data only.

use super::{Connection, Entry, Piece, SKILL, Spot, Wanted};

const SERVER: &str = r#"{"command": "planwright", "args": ["mcp", "--role", "planner"]}"#;

/// The skill directory that several agents share.
const SHARED_SKILL: Piece = Piece { file: ".agents/skills/plan/SKILL.md", wanted: Wanted::Text(SKILL) };

const START: &str = r#"{"hooks": [{"type": "command", "command": "planwright hook session-start"}]}"#;
const COMPACT: &str = r#"{"hooks": [{"type": "command", "command": "planwright hook pre-compact"}]}"#;
/// A contract may take long; the gate ends long before this.
const STOP: &str = r#"{"hooks": [{"type": "command", "command": "planwright hook stop", "timeout": 300}]}"#;
/// For agents that count in milliseconds.
const STOP_MS: &str =
    r#"{"hooks": [{"type": "command", "command": "planwright hook stop", "timeout": 300000}]}"#;

const fn item(path: &'static [&'static str], json: &'static str) -> Entry {
    Entry { path, spot: Spot::Item, json }
}

const fn key(path: &'static [&'static str], json: &'static str) -> Entry {
    Entry { path, spot: Spot::Key, json }
}

/// The hooks of Claude Code, and of agents that adopted its format.
const HOOKS: &[Entry] = &[
    item(&["hooks", "SessionStart"], START),
    item(&["hooks", "PreCompact"], COMPACT),
    item(&["hooks", "Stop"], STOP),
];

pub const CONNECTIONS: &[Connection] = &[
    Connection {
        agent: "claude",
        pieces: &[
            Piece { file: ".claude/settings.json", wanted: Wanted::Json(HOOKS) },
            Piece { file: ".mcp.json", wanted: Wanted::Json(&[key(&["mcpServers", "planwright"], SERVER)]) },
            Piece { file: ".claude/skills/plan/SKILL.md", wanted: Wanted::Text(SKILL) },
        ],
        note: "claude asks once whether it may use the server in .mcp.json",
    },
    Connection {
        agent: "codex",
        pieces: &[
            Piece { file: ".codex/hooks.json", wanted: Wanted::Json(HOOKS) },
            Piece {
                file: ".codex/config.toml",
                wanted: Wanted::Table {
                    head: "[mcp_servers.planwright]",
                    lines: "command = \"planwright\"\nargs = [\"mcp\", \"--role\", \"planner\"]\n",
                },
            },
            SHARED_SKILL,
        ],
        note: "codex reads .codex/ only in a project that you trust, and runs hooks only after you reviewed them: type /hooks in codex",
    },
    Connection {
        agent: "gemini",
        pieces: &[
            Piece {
                file: ".gemini/settings.json",
                wanted: Wanted::Json(&[
                    item(&["hooks", "SessionStart"], START),
                    item(&["hooks", "AfterAgent"], STOP_MS),
                    key(&["mcpServers", "planwright"], SERVER),
                ]),
            },
            SHARED_SKILL,
        ],
        note: "gemini runs project hooks only in a directory that you trust, and has no hook before it compresses a session",
    },
    Connection {
        agent: "qwen",
        pieces: &[
            Piece {
                file: ".qwen/settings.json",
                wanted: Wanted::Json(&[
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
    Connection {
        agent: "opencode",
        pieces: &[
            Piece {
                file: "opencode.json",
                wanted: Wanted::Json(&[key(
                    &["mcp", "planwright"],
                    r#"{"type": "local", "command": ["planwright", "mcp", "--role", "planner"], "enabled": true}"#,
                )]),
            },
            Piece {
                file: ".opencode/plugin/planwright.js",
                wanted: Wanted::Text(include_str!("planwright.js")),
            },
            SHARED_SKILL,
        ],
        note: "",
    },
    Connection {
        agent: "pi",
        pieces: &[
            Piece {
                file: ".pi/extensions/planwright.ts",
                wanted: Wanted::Text(include_str!("planwright.ts")),
            },
            SHARED_SKILL,
        ],
        note: "pi loads project extensions only if you trust the project: type /trust in pi",
    },
    Connection {
        agent: "copilot",
        pieces: &[
            Piece {
                file: ".github/hooks/planwright.json",
                wanted: Wanted::Json(&[
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
            Piece {
                file: "~/.copilot/mcp-config.json",
                wanted: Wanted::Json(&[key(
                    &["mcpServers", "planwright"],
                    r#"{"type": "local", "command": "planwright", "args": ["mcp", "--role", "planner"], "tools": ["*"]}"#,
                )]),
            },
            SHARED_SKILL,
        ],
        note: "copilot runs hooks only in a directory that you trust; it also reads the hooks of claude",
    },
];
