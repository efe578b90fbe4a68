//! Tables of agents' tool calls, and their rulings.

use serde_json::{Value, json};

use super::{
    Decision, PathPlace, PermissionMode, Permissions, Registry, ToolCall, ToolGuard, ToolKind, is_like,
    ruling, ruling_of_rubbish,
};

const ROOT: &str = "/project/repo";

fn scope() -> Permissions {
    Permissions {
        touches: Some(vec!["src/**".to_owned(), "Cargo.toml".to_owned()]),
        sealed: vec!["tests/**".to_owned(), "src/judge.rs".to_owned()],
        closed: vec![format!("{ROOT}/plans/a.md"), "/state/planwright".to_owned()],
        ..Permissions::open(PermissionMode::Block, ROOT)
    }
}

fn planning() -> Permissions {
    Permissions::open(PermissionMode::Plan, ROOT)
}

fn with_tools(tools: &[&str]) -> Permissions {
    Permissions {
        tools: Some(tools.iter().map(|&tool| tool.to_owned()).collect()),
        ..Permissions::open(PermissionMode::Block, ROOT)
    }
}

fn call(tool: &str, input: &Value) -> ToolCall {
    ToolCall::read(&json!({"tool_name": tool, "tool_input": input, "cwd": ROOT, "session_id": "s"}))
        .expect("a call")
}

/// Why a call is denied; empty if it isn't.
fn why(scope: &Permissions, call: &ToolCall) -> String {
    match ruling(scope, call) {
        Decision::Allowed => String::new(),
        Decision::Noted(why) => format!("noted: {why}"),
        Decision::Denied(why) => why,
    }
}

#[test]
fn the_tools_of_every_agent_are_known() {
    let cases: &[(&str, ToolKind)] = &[
        ("Write", ToolKind::Edit),
        ("MultiEdit", ToolKind::Edit),
        ("NotebookEdit", ToolKind::Edit),
        ("Bash", ToolKind::Shell),
        ("Grep", ToolKind::Read),
        ("WebFetch", ToolKind::Web),
        ("TodoWrite", ToolKind::Own),
        ("apply_patch", ToolKind::Edit),
        ("exec_command", ToolKind::Shell),
        ("shell", ToolKind::Shell),
        ("update_plan", ToolKind::Own),
        ("write_file", ToolKind::Edit),
        ("replace", ToolKind::Edit),
        ("run_shell_command", ToolKind::Shell),
        ("read_many_files", ToolKind::Read),
        ("google_web_search", ToolKind::Web),
        ("create", ToolKind::Edit),
        ("str_replace", ToolKind::Edit),
        ("mcp__plans__plan_get", ToolKind::Mcp),
        ("mcp_plans_plan_get", ToolKind::Mcp),
        ("odoo_create", ToolKind::Other),
    ];
    for (tool, family) in cases {
        assert_eq!(ToolCall::new(tool, &Value::Null, "").family, *family, "{tool}");
    }
}

#[test]
fn calls_are_read_in_every_shape() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** Move to: src/b.rs\n*** Delete File: old.rs\n*** End Patch";
    let cases: &[(Value, &[&str], &str)] = &[
        (json!({"tool_name": "Write", "tool_input": {"file_path": "/x/a"}}), &["/x/a"], ""),
        (json!({"toolName": "create", "toolArgs": "{\"path\":\"a.md\"}", "cwd": "/w"}), &["a.md"], "/w"),
        (json!({"toolName": "edit", "toolArgs": {"path": "a.md"}, "cwd": "/w"}), &["a.md"], "/w"),
        (json!({"tool": "edit", "args": {"filePath": "a.md"}}), &["a.md"], ""),
        (
            json!({"tool_name": "apply_patch", "tool_input": {"input": patch}}),
            &["src/a.rs", "src/b.rs", "old.rs"],
            "",
        ),
        (json!({"tool_name": "apply_patch", "tool_input": patch}), &["src/a.rs", "src/b.rs", "old.rs"], ""),
        (
            json!({"tool_name": "patch", "tool_input": {"patch": "--- a/x.rs\n+++ b/y.rs\n@@ -1 +1 @@\n-a\n+b\n"}}),
            &["x.rs", "y.rs"],
            "",
        ),
        (
            json!({"tool_name": "Write", "tool_input": {"file_path": "/x/a", "diff": "*** Add File: src/a"}}),
            &["src/a", "/x/a"],
            "",
        ),
        (json!({"tool_name": "write", "tool_input": {"path": "a", "command": "view"}}), &["a"], ""),
        (
            json!({"tool_name": "str_replace_editor", "tool_input": {"path": "a", "command": "create"}}),
            &["a"],
            "",
        ),
        (
            json!({"tool_name": "MultiEdit", "tool_input": {"file_path": "a", "edits": [{"file_path": "b"}]}}),
            &["a", "b"],
            "",
        ),
    ];
    for (input, paths, folder) in cases {
        let call = ToolCall::read(input).expect("a call");
        assert_eq!(
            (call.paths.as_slice(), call.folder.as_str()),
            (paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>().as_slice(), *folder),
            "{input}"
        );
        assert_eq!(call.family, ToolKind::Edit, "{input}");
    }
    let view = ToolCall::new("str_replace_based_edit_tool", &json!({"path": "a", "command": "view"}), ROOT);
    assert_eq!((view.family, view.paths.len()), (ToolKind::Read, 0));
    let shell = |input: &Value| ToolCall::new("shell", input, ROOT);
    assert_eq!(shell(&json!({"command": ["bash", "-lc", "ls; rm x"]})).script.as_deref(), Some("ls; rm x"));
    assert_eq!(shell(&json!({"command": ["rm", "a b"]})).script.as_deref(), Some("rm 'a b'"));
    assert_eq!(shell(&json!({"cmd": "ls", "workdir": "sub"})).folder, format!("{ROOT}/sub"));
    let heredoc = format!("apply_patch <<'EOF'\n{patch}\nEOF");
    assert_eq!(shell(&json!({"command": heredoc.clone()})).paths, ["src/a.rs", "src/b.rs", "old.rs"]);
    let more = shell(&json!({"command": format!("{heredoc}\nrm x")}));
    assert_eq!(more.family, ToolKind::Shell, "a patch with a command behind it is no patch alone");
    for rubbish in [json!({}), json!({"tool_name": 7}), json!({"tool_name": " "}), json!("x"), json!(null)] {
        assert!(ToolCall::read(&rubbish).is_err(), "{rubbish}");
    }
}

// C-16
#[test]
fn files_are_held_to_what_the_step_touches() {
    let edit = |path: &str| call("Edit", &json!({"file_path": path}));
    let cases: &[(&str, &str)] = &[
        ("src/a.rs", ""),
        ("/project/repo/src/deep/a.rs", ""),
        ("./src/../Cargo.toml", ""),
        ("docs/a.md", "`docs/a.md` is outside this step's scope: src/**, Cargo.toml"),
        ("src/../docs/a.md", "`docs/a.md` is outside this step's scope: src/**, Cargo.toml"),
        ("../other/src/a.rs", "`/project/other/src/a.rs` is outside this step's scope: src/**, Cargo.toml"),
        (
            "/project/repository/src/a.rs",
            "`/project/repository/src/a.rs` is outside this step's scope: src/**, Cargo.toml",
        ),
        ("~/a", "`~/a` is outside this step's scope: src/**, Cargo.toml"),
        ("tests/x.rs", "`tests/x.rs` is sealed: agents may not change it"),
        ("src/judge.rs", "`src/judge.rs` is sealed: agents may not change it"),
        ("plans/a.md", "`plans/a.md` belongs to planwright; agents may not change it"),
        ("/state/planwright/x/journal.db", "`planwright` belongs to planwright; agents may not change it"),
    ];
    for (path, expected) in cases {
        assert_eq!(why(&scope(), &edit(path)), *expected, "{path}");
    }
    assert_eq!(why(&scope(), &call("Write", &json!({}))), "cannot determine which file Write would change");
    assert_eq!(
        why(&Permissions::open(PermissionMode::Block, ROOT), &edit("/anywhere")),
        "",
        "where a plan says nothing, nothing is out of scope"
    );
    assert_eq!(why(&scope(), &call("Read", &json!({"file_path": "docs/a.md"}))), "");
    let sub = ToolCall::read(
        &json!({"tool_name": "Write", "tool_input": {"file_path": "a.rs"}, "cwd": "/project/repo/src"}),
    )
    .expect("a call");
    assert_eq!(why(&scope(), &sub), "");
}

// C-16
#[test]
fn what_a_script_plainly_writes_is_held_to_it_too() {
    let bash = |script: &str| why(&scope(), &call("Bash", &json!({"command": script})));
    assert_eq!(bash("cargo test"), "");
    assert_eq!(bash("echo a > src/a.rs 2>/dev/null"), "");
    assert_eq!(bash("echo a > /tmp/x"), "");
    assert!(bash("echo a > docs/a.md").starts_with("`docs/a.md` is outside"));
    assert!(bash("cd docs && echo a >> a.md").starts_with("`docs/a.md` is outside"));
    assert!(bash("true; cat > ../x <<EOF\na\nEOF").starts_with("`/project/x` is outside"));
    assert!(bash("echo a > tests/x").starts_with("`tests/x` is sealed"));
    assert!(bash("cd /project/repo && echo a > docs/a.md").starts_with("`docs/a.md` is outside"));
    assert!(bash("cd /project/repo && echo a > tests/x").starts_with("`tests/x` is sealed"));
    assert!(bash("cd src && echo a > ../o.txt").starts_with("`o.txt` is outside"));
    assert!(bash("cd /var && echo a > o.txt").starts_with("`/var/o.txt` is outside"));
    assert!(bash("cd / && echo a > o.txt").starts_with("`/o.txt` is outside"));
    assert!(bash("echo a > /dev/../etc/x").starts_with("`/etc/x` is outside"));
    assert!(bash("echo a > /proc/self/cwd/docs/a.md").contains("is outside"));
    assert_eq!(bash("cd /project/repo/src && echo a > a.rs && cd .. && echo a > Cargo.toml"), "");
    assert_eq!(bash("cd /tmp && echo a > x; cd \"$x\" && ls > /dev/null"), "");
    let adrift =
        "cannot determine the directory of `x`: use a path relative to the workspace root, without `cd`";
    assert_eq!(bash("cd \"$DIR\" && echo a > x"), adrift);
    let open = Permissions { touches: None, ..scope() };
    assert_eq!(why(&open, &call("Bash", &json!({"command": "cd \"$DIR\" && echo a > x"}))), "");
    assert!(bash("echo a > /state/planwright/x").contains("belongs to planwright"));
}

// C-16, C-30
#[test]
fn only_the_tools_of_the_list_are_there() {
    let odoo = with_tools(&["odoo-toolbox", "go-easy"]);
    let refused = "Tool Bash is not available in plan scope. Only [odoo-toolbox, go-easy] are available.";
    assert_eq!(why(&odoo, &call("Bash", &json!({"command": "ls"}))), refused);
    for tool in [
        "mcp__odoo-toolbox__read",
        "mcp__odoo_toolbox__read",
        "odoo-toolbox",
        "odoo-toolbox_read",
        "go_easy_send",
        "TodoWrite",
        "mcp__planwright__step_note",
        "plan_propose",
    ] {
        assert_eq!(why(&odoo, &call(tool, &json!({}))), "", "{tool}");
    }
    for tool in ["Read", "Write", "WebFetch", "mcp__odoo__read", "odoo-toolboxes", "mcp__evil__plan_approve"]
    {
        assert!(why(&odoo, &call(tool, &json!({"file_path": "a"}))).starts_with("Tool "), "{tool}");
    }
    let edits = with_tools(&["edit"]);
    for (tool, is_there) in
        [("Edit", true), ("apply_patch", true), ("Read", true), ("Bash", false), ("WebFetch", false)]
    {
        assert_eq!(why(&edits, &call(tool, &json!({"file_path": "a"}))).is_empty(), is_there, "{tool}");
    }
    let shells = with_tools(&["bash"]);
    assert_eq!(why(&shells, &call("exec_command", &json!({"cmd": "make"}))), "");
    assert_eq!(why(&with_tools(&["Bash"]), &call("run_shell_command", &json!({"command": "make"}))), "");
    assert!(!why(&shells, &call("Write", &json!({"file_path": "a"}))).is_empty());
    let has = |scope: &Permissions| [ToolKind::Shell, ToolKind::Edit].map(|family| scope.has(family));
    assert_eq!([has(&odoo), has(&shells), has(&edits)], [[false, false], [true, false], [false, true]]);
    assert_eq!([has(&planning()), has(&scope())], [[true, false], [true, true]]);
}

// C-25, C-35
#[test]
fn a_planner_only_reads() {
    let plan = planning();
    for tool in [
        "Read",
        "Grep",
        "WebFetch",
        "TodoWrite",
        "mcp__planwright__plan_propose",
        "plan_propose",
        "ExitPlanMode",
    ] {
        assert_eq!(why(&plan, &call(tool, &json!({}))), "", "{tool}");
    }
    for tool in ["Write", "Edit", "apply_patch", "create", "mcp__odoo__create", "odoo_create", "Anything"] {
        let why = why(&plan, &call(tool, &json!({"file_path": "a"})));
        assert!(
            why.starts_with(&format!("Tool {tool} is not available in plan scope. Only [read, ")),
            "{why}"
        );
    }
    assert_eq!(why(&plan, &call("Bash", &json!({"command": "git log | head; ls"}))), "");
    let refused = why(&plan, &call("Bash", &json!({"command": "ls && rm -rf x"})));
    assert!(
        refused.starts_with("In plan scope bash only reads, and `rm` is not a known read-only command"),
        "{refused}"
    );
    assert!(!why(&plan, &call("Bash", &json!({}))).is_empty(), "no script, no shell");
}

// C-35
#[test]
fn the_registry_tells_reading_from_writing() {
    let registry = Registry {
        read: vec!["npx go-gmail * search *".to_owned(), "odoo_*".to_owned()],
        write: vec!["npx go-gmail * send *".to_owned(), "odoo_create".to_owned()],
    };
    let plan = Permissions { registry, ..planning() };
    let bash = |script: &str| why(&plan, &call("Bash", &json!({"command": script}))).is_empty();
    assert!(bash("npx go-gmail me search 'a b'"));
    assert!(!bash("npx go-gmail me send x"));
    assert!(!bash("npx go-gmail me search x send y"), "what is both writes");
    assert!(!bash("npx go-gmail me search x; rm y"), "a pattern is for one plain command");
    assert!(!bash("npx go-gmail me search $(rm y)"));
    assert!(why(&plan, &call("odoo_read", &json!({}))).is_empty());
    assert!(!why(&plan, &call("odoo_create", &json!({}))).is_empty());
    let cases = [
        ("a", "a", true),
        ("a", "ab", false),
        ("a*", "abc", true),
        ("*b", "ab", true),
        ("a*c*e", "abcde", true),
        ("a*c", "ab", false),
        ("*", "", true),
        ("a*a", "a", false),
    ];
    for (pattern, text, expected) in cases {
        assert_eq!(is_like(pattern, text), expected, "{pattern} {text}");
    }
}

// C-17
#[test]
fn a_scope_that_only_notes_stops_nothing() {
    let noting = Permissions { mode: PermissionMode::Log, ..scope() };
    let noted = why(&noting, &call("Write", &json!({"file_path": "docs/a.md"})));
    assert!(noted.starts_with("noted: `docs/a.md` is outside"), "{noted}");
    assert!(matches!(ruling_of_rubbish(PermissionMode::Log, "x"), Decision::Noted(_)));
    assert!(matches!(ruling_of_rubbish(PermissionMode::Block, "x"), Decision::Denied(_)));
    assert!(matches!(ruling_of_rubbish(PermissionMode::Plan, "x"), Decision::Denied(_)));
}

// C-15
#[test]
fn guarded_tools_are_meant_by_their_exact_names() {
    let guard = |mode| ToolGuard { tools: vec!["gmail_send".to_owned(), "bash".to_owned()], mode };
    let ruled = |mode, tool: &str| guard(mode).ruling(&call(tool, &json!({})));
    let why = "Tool gmail_send is guarded: it needs an approved plan. Call plan_propose (or run `planwright propose`) first.";
    assert_eq!(ruled(PermissionMode::Block, "gmail_send"), Decision::Denied(why.to_owned()));
    assert_eq!(ruled(PermissionMode::Block, "mcp__mail__gmail_send"), Decision::Denied(why.to_owned()));
    assert_eq!(ruled(PermissionMode::Log, "gmail_send"), Decision::Noted(why.to_owned()));
    for tool in ["gw_gmail_send", "gw-gmail_send", "mcp_gw_gmail_send", "mcp__my__gw__gmail_send"] {
        assert_eq!(ruled(PermissionMode::Block, tool), Decision::Denied(why.to_owned()), "{tool}");
    }
    let others = ["mcp__gw__re_gmail_send", "mcp__gw_gmail_send", "read_bash"];
    for tool in ["gmail_sender", "gmail", "Gmail_Send", "xgmail_send"].into_iter().chain(others) {
        assert_eq!(ruled(PermissionMode::Block, tool), Decision::Allowed, "{tool}");
    }
}

#[test]
fn real_changes_are_compared_with_the_scope() {
    let changed = ["src/a.rs", "docs/a.md", "tests/x.rs", "Cargo.toml"].map(str::to_owned);
    assert_eq!(scope().outside(&changed), ["docs/a.md", "tests/x.rs"]);
    let git = [".git/HEAD", ".git/config", ".git/hooks/post-commit", "src/.git/hooks/x"].map(str::to_owned);
    let all = Permissions { touches: Some(vec!["**".to_owned()]), ..scope() };
    assert_eq!(all.outside(&git), [".git/config", ".git/hooks/post-commit"]);
    assert_eq!(
        Permissions::open(PermissionMode::Block, ROOT).outside(&git).len(),
        2,
        "whatever a step may touch"
    );
    assert_eq!(Permissions::open(PermissionMode::Block, ROOT).outside(&changed), Vec::<String>::new());
    assert_eq!(PathPlace::of("/", "/", "a"), PathPlace::Inside("a".to_owned()));
}

#[test]
fn a_scope_is_read_back_as_it_was_written() {
    let text = serde_json::to_string(&scope()).expect("plain data");
    assert_eq!(serde_json::from_str::<Permissions>(&text).expect("its own text"), scope());
    assert!(serde_json::from_str::<Permissions>("{}").is_err(), "a scope that says nothing is none");
}
