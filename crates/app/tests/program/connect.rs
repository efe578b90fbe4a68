//! `init --agents`: shows what differs, writes on a yes, and takes nothing away; texts for agents and whether to plan.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they read its cases and look at its files"
)]

use serde_json::Value;

use crate::run_watched::Terminal;
use crate::test_env::{Place, repository, run};

const ALL: &str = "claude,codex,gemini,qwen,opencode,pi,copilot";

fn connections(place: &Place, words: &[&str]) -> (i32, Vec<(String, String)>) {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let ran = place.run(&words);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    let files = value["data"]["connections"].as_array().unwrap_or_else(|| panic!("{ran:#?}"));
    let pair = |file: &Value| {
        (
            file["file"].as_str().unwrap_or_default().to_owned(),
            file["deed"].as_str().unwrap_or_default().to_owned(),
        )
    };
    (ran.code, files.iter().map(pair).collect())
}

// P-10: nothing is written before somebody said yes to what was shown; the second time there is nothing to do.
#[test]
fn every_agent_is_connected_once_and_only_on_a_yes() {
    let place = Place::empty();
    let ran = place.run(&["init", "--agents", ALL]);
    ran.expect(
        3,
        &[
            "create  .claude/settings.json for claude",
            "+            \"command\": \"planwright hook session-start\"",
            "nothing was written for agents: pass --write",
            "next: planwright init --agents claude,codex,gemini,qwen,opencode,pi,copilot --write",
        ],
    );
    let (code, files) = connections(&place, &["init", "--agents", ALL]);
    assert_eq!(code, 3);
    assert!(files.iter().all(|(file, _)| !place.has(file)), "{files:?}");
    let (code, files) = connections(&place, &["init", "--agents", ALL, "--write"]);
    assert_eq!(code, 0);
    let wrote: Vec<&str> =
        files.iter().filter(|(_, deed)| deed == "wrote").map(|(file, _)| file.as_str()).collect();
    assert_eq!(
        wrote,
        [
            ".claude/settings.json",
            ".mcp.json",
            ".claude/skills/plan/SKILL.md",
            ".codex/hooks.json",
            ".codex/config.toml",
            ".agents/skills/plan/SKILL.md",
            ".gemini/settings.json",
            ".qwen/settings.json",
            "opencode.json",
            ".opencode/plugin/planwright.js",
            ".pi/extensions/planwright.ts",
            ".github/hooks/planwright.json",
        ]
    );
    for file in
        wrote.iter().filter(|file| std::path::Path::new(file).extension().is_some_and(|end| end == "json"))
    {
        serde_json::from_str::<Value>(&place.read(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    let (code, files) = connections(&place, &["init", "--agents", ALL]);
    assert_eq!(code, 0, "the second time there is nothing to ask");
    assert!(files.iter().all(|(file, deed)| deed == "kept" || file.starts_with("~/")), "{files:?}");
}

// What is in the files of the user stays, byte for byte; what can't be read is left alone, with the lines to add.
#[test]
fn what_the_user_has_stays() {
    let place = Place::empty();
    let theirs = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n        ]\n    }\n}\n";
    place
        .write(".claude/settings.json", theirs)
        .write(".mcp.json", "{\n  // my servers\n  \"mcpServers\": {}\n}\n");
    let ran = place.run(&["init", "--agents", "claude", "--write"]);
    ran.expect(0, &["by hand .mcp.json for claude: line 2 has a comment", "\"planwright\": {"]);
    let new = place.read(".claude/settings.json");
    assert!(new.starts_with("{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]},\n"), "{new}");
    assert_eq!(new.matches("planwright hook").count(), 3, "{new}");
    assert!(place.read(".mcp.json").contains("// my servers"));
    place.write(".mcp.json", "{\"mcpServers\": ");
    place
        .run(&["init", "--agents", "claude", "--write"])
        .expect(0, &["by hand .mcp.json", "is not valid JSON"]);
    assert_eq!(place.read(".mcp.json"), "{\"mcpServers\": ");
    place.write(".codex/config.toml", "model = \"x\"\n[mcp_servers.planwright]\ncommand = \"mine\"\n");
    place.run(&["init", "--agents", "codex", "--write"]).expect(0, &["kept    .codex/config.toml"]);
    place.write(".codex/config.toml", "mcp_servers = 1\n");
    place.run(&["init", "--agents", "codex", "--write"]).expect(0, &["by hand .codex/config.toml"]);
}

// An agent must not say what runs in its own session.
#[test]
fn an_agent_connects_nobody() {
    let place = Place::empty();
    let mut command = place.planwright(&["init", "--agents", "claude", "--write"]);
    run(command.env("CLAUDECODE", "1"), b"").expect(3, &["only a person may connect agents"]);
    assert!(!place.has(".claude"));
    place.run(&["init", "--agents", "cluade"]).expect(2, &["did you mean `claude`?"]);
    place.run(&["init", "--write"]).expect(2, &[]);
}

#[test]
fn a_link_leads_nobody_astray() {
    let place = Place::empty();
    place.write("../elsewhere/kept", "").link("../elsewhere", ".claude");
    place.run(&["init", "--agents", "claude,codex", "--write"]).expect(
        0,
        &["by hand .claude/settings.json for claude: .claude is a link", "wrote   .codex/hooks.json"],
    );
    assert!(!place.has("../elsewhere/settings.json"));
    // The file itself may be one, too.
    let place = Place::empty();
    place
        .write("../settings.json", "{}\n")
        .write(".claude/kept", "")
        .link("../../settings.json", ".claude/settings.json");
    place
        .run(&["init", "--agents", "claude", "--write"])
        .expect(0, &["by hand .claude/settings.json for claude: .claude/settings.json is a link"]);
    assert_eq!(place.read("../settings.json"), "{}\n");
}

// A text of the user's own is not written over; an older one of ours is, with every line that goes.
#[test]
fn a_skill_of_the_users_own_stays() {
    let place = Place::empty();
    let file = ".claude/skills/plan/SKILL.md";
    place.write(file, "# How we plan here\n");
    place.run(&["init", "--agents", "claude", "--write"]).expect(
        0,
        &[
            "by hand .claude/skills/plan/SKILL.md for claude: it belongs to you",
            "`planwright prompt skill` prints the rest",
        ],
    );
    assert_eq!(place.read(file), "# How we plan here\n");
    place.write(file, format!("An older skill of planwright\n{}", "a line that goes\n".repeat(100)));
    let ran = place.run(&["init", "--agents", "claude", "--write"]);
    assert_eq!(ran.expect(0, &[]).stdout.matches("-a line that goes").count(), 100, "{ran:#?}");
    assert_eq!(place.read(file), place.run(&["prompt", "skill"]).stdout);
}

#[test]
fn at_a_terminal_a_person_is_asked() {
    let place = Place::empty();
    for (typed, is_there) in [("n", false), ("\n", false), ("y", true)] {
        let mut command = place.planwright(&["init", "--agents", "pi"]);
        let mut terminal = Terminal::started(command.env("TERM", "dumb"));
        terminal.wait_for("[N]o  [?]");
        terminal.type_in(typed);
        let (code, said) = terminal.end();
        assert_eq!(
            (code, place.has(".pi/extensions/planwright.ts")),
            (if is_there { 0 } else { 3 }, is_there),
            "{said}"
        );
    }
}

// C-29: the skill is what agents learn from, so every plan in it must be one.
#[test]
fn every_plan_in_the_skill_verifies() {
    let place = Place::empty();
    let skill = std::fs::read_to_string(repository().join("docs/skill/SKILL.md")).expect("the skill");
    assert_eq!(place.run(&["prompt", "skill"]).expect(0, &[]).stdout, skill);
    let plans: Vec<&str> = skill
        .split("````markdown\n")
        .skip(1)
        .map(|rest| rest.split("````").next().unwrap_or_default())
        .collect();
    assert_eq!(plans.len(), 2, "the plans of the skill");
    for plan in plans {
        let ran = place.run_with(&["verify", "-", "--deny", "warnings"], plan);
        assert_eq!(ran.code, 0, "{plan}\n{ran:#?}");
        place.run_with(&["verify", "-"], plan.replace("### 1.", "### 7.")).expect(1, &["error"]);
    }
    // Every command that it teaches is one, for people or for agents.
    let printed = |topic: &str| place.run(&["help", topic]).expect(0, &[]).stdout.clone();
    let help = printed("--all") + &printed("agents");
    for line in skill.lines().filter(|line| line.contains("`planwright ")) {
        for typed in line.split("`planwright ").skip(1) {
            let verb = typed.split([' ', '`']).next().unwrap_or_default();
            assert!(help.contains(&format!("\n  {verb} ")), "`planwright {verb}`: {line}");
        }
    }
}

// E-17: the prompt is made of what is configured here. E-10: the context says which folder it is.
#[test]
fn the_overseer_is_told_what_is_configured() {
    let place = Place::empty();
    let document = std::fs::read_to_string(repository().join("crates/core/tests/overseer/document-e.txt"));
    let document = document.expect("the document").replace("Flowgentic", "planwright");
    assert_eq!(place.run(&["prompt", "overseer"]).expect(0, &[]).stdout, document);
    place.write("planwright.toml", "[roles]\ncoder = \"mine\"\n[agents.mine]\ncommand = [\"cat\"]\n");
    place.run(&["prompt", "overseer"]).expect(0, &["optional `agent` (one of coder, mine)"]);
    place.run(&["prompt", "context"]).expect(0, &["CURRENT_PLAN_DIR: /", "ADDITIONAL_PLAN_DIRS: none"]);
    place
        .run(&["prompt", "planner"])
        .expect(0, &["coder", "mine", "You are a planner", "(what you want done)"]);
}

// C-29: exit codes and reasons; nothing is guarded by default.
#[test]
fn whether_to_plan_is_explained() {
    let place = Place::empty();
    place
        .run(&["should-plan", "Drop the table sessions"])
        .expect(0, &["plan", "irreversible", "next: planwright draft"]);
    place.run(&["should-plan", "fix the typo"]).expect(1, &["act", "small"]);
    place.run(&["should-plan", "use gmail_send on it"]).expect(1, &["no sign that this task needs a plan"]);
    place.write(".pi/plans.json", "{\"guardedTools\": [\"gmail_send\"]}");
    place.run(&["should-plan", "use gmail_send on it"]).expect(0, &["guarded", "gmail_send"]);
    place.run(&["should-plan"]).expect(2, &[]);
}
