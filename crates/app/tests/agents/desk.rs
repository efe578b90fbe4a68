//! Agents at the planner's desk: they propose plans over MCP, are told what is wrong with them, repair them, and can't approve.

use serde_json::{Value, json};

use super::bench::Bench;
use super::install::Installed;

/// Its second step waits for a step that is not there, and its first has a contract that is no shell.
const BROKEN: &str = "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Greet people\n\n**Context:** Nobody is greeted.\n\n\
    ## Steps\n\n### 1. Write the greeting\n\n**id:** greet\n**target:** coder\n\n**task:**\nWrite greeting.txt.\n\n\
    **contract:**\n```shell\ntest -s greeting.txt && (\n```\nexit_code == 0\n\n### 2. Note it\n\n**id:** note\n**target:** coder\n\
    **needs:** great\n\n**task:**\nWrite note.txt.\n\n**contract:**\n```shell\ntest -s note.txt\n```\nexit_code == 0\n";

fn repaired() -> String {
    BROKEN.replace("greeting.txt && (", "greeting.txt").replace("**needs:** great\n", "**needs:** greet\n")
}

/// The words that give an agent the desk; `None` for an agent that speaks no MCP, or hides its tools until they are looked for.
fn words(agent: &str) -> Option<Vec<String>> {
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let server = json!({"command": "planwright", "args": ["mcp", "--role", "planner"]});
    match agent {
        "claude" => {
            let config = json!({"mcpServers": {"plans": server}}).to_string();
            let mut all =
                words(&["-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config"])?;
            all.extend(words(&["--mcp-config", &config, "--allowedTools", "mcp__plans"])?);
            Some(all)
        }
        "codex" => words(&[
            "exec",
            "--json",
            "--skip-git-repo-check",
            "-c",
            "mcp_servers.plans.command=\"planwright\"",
            "-c",
            "mcp_servers.plans.args=[\"mcp\",\"--role\",\"planner\"]",
            "-c",
            "mcp_servers.plans.env_vars=[\"XDG_STATE_HOME\"]",
            "-c",
            "mcp_servers.plans.default_tools_approval_mode=\"approve\"",
            "-",
        ]),
        _ => None,
    }
}

// C-15, C-16, B-08: a broken plan comes back as a tool error that a model can repair, and what is proposed waits for a person.
pub(crate) fn repairs_its_plan_over_mcp_and_cannot_approve_it(installed: &Installed) {
    let Some(words) = words(installed.agent.name) else {
        println!("agents: NOT TRIED {} over MCP: the suite has no words for it", installed.agent.name);
        return;
    };
    let bench = Bench::of(installed);
    let script = json!([
        {"do": "call", "name": "plan_format"},
        {"do": "call", "name": "plan_propose", "arguments": {"plan": BROKEN, "path": "plans/greet.md"}},
        {"do": "call", "name": "plan_propose", "arguments": {"plan": repaired(), "path": "plans/greet.md"}},
        {"do": "call", "name": "plan_approve", "arguments": {"id": "greet"}},
        {"do": "say", "text": "The plan is proposed."},
    ]);
    let ran = bench.run_agent(&words, &format!("Plan greetings. %%{script}%%"));
    let heard = bench.model.heard().into_iter().map(|heard| heard.results);
    let results = heard.max_by_key(Vec::len).unwrap_or_default();
    assert_eq!(results.len(), 4, "{}\n{:#?}", ran.said, bench.model.heard());
    for complaint in ["PW", "great", "nothing was proposed"] {
        assert!(results[1].contains(complaint), "`{complaint}` was not said: {}", results[1]);
    }
    assert!(results[2].contains("greet") && !results[2].contains("nothing was proposed"), "{}", results[2]);
    assert!(
        results[3].contains("planwright review") || results[3].contains("planwright approve"),
        "{}",
        results[3]
    );
    // It lies there as it was repaired, it waits, and only a person's word makes a run of it.
    assert!(bench.read("plans/greet.md").contains("**needs:** greet\n"));
    let inbox = bench.run(&["status", "--inbox", "--json"]).data();
    assert!(inbox.to_string().contains("greet"), "{inbox:#}");
    let digest = bench.run(&["run", "greet", "--dry-run", "--json"]).data()["digest"].clone();
    let digest = digest.as_str().unwrap_or_else(|| panic!("a digest: {inbox:#}"));
    bench.run(&["run", "greet"]).expect(3, &["greet is not approved"]);
    bench.run(&["approve", "greet", "--rev", digest]).expect(0, &["approved  greet"]);
    bench.nothing_is_alive();
}

/// What a client says to a server so that it calls one tool.
pub(crate) fn lines(name: &str, arguments: &Value) -> String {
    let client = json!({"name": "agent", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}
