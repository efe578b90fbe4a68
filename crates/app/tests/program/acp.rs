//! The bridge to agents that speak the Agent Client Protocol, with agents that are scripts: one that streams and asks, one whose turn
//! ends with a refusal, one that dies, one that talks rubbish.

use serde_json::{Value, json};

use crate::sample::runnable;
use crate::test_env::{Place, Ran};

/// What every such agent begins with: it answers the first questions, and its `line` is the prompt then.
const HEAD: &str = r#"
say() { printf '%s\n' "$1"; }
echo 'no JSON at all'
read -r line; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"stub"}}}'
read -r line; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1","modes":{"currentModeId":"auto","availableModes":[{"id":"auto"},{"id":"default"}]}}}'
read -r line; printf '%s\n' "$line" >mode.json; say '{"jsonrpc":"2.0","id":3,"result":{}}'
read -r line; printf '%s\n' "$line" >prompt.json
ask() {
  say '{"jsonrpc":"2.0","id":"'$1'","method":"session/request_permission","params":{"sessionId":"s1","options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}],"toolCall":{"toolCallId":"t'$1'","title":"Write '$2'","kind":"edit","locations":[{"path":"'$2'"}],"rawInput":{}}}}'
  read -r line; printf '%s\n' "$line" >>answers.json
}
text() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
end() { say '{"jsonrpc":"2.0","id":'$1',"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"cachedReadTokens":4,"outputTokens":2}}}'; }
"#;

fn scope(place: &Place, mode: &str) {
    let scope = json!({"mode": mode, "root": place.project(), "touches": ["src/**"]});
    place.write("../home/scope.json", scope.to_string());
}

fn bridged(agent: &str) -> (Place, Ran) {
    let place = Place::empty();
    scope(&place, "block");
    place.write("agent.sh", format!("{HEAD}{agent}"));
    let ran =
        place.bash("echo 'Do it.' | PLANWRIGHT_SCOPE=\"$HOME/scope.json\" planwright acp -- bash agent.sh");
    (place, ran)
}

/// The events that the bridge printed, by type.
fn events(ran: &Ran, kind: &str) -> Vec<Value> {
    let all =
        ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("one JSON object a line"));
    all.filter(|event| event["type"] == kind).collect()
}

// C-16: permissions are answered by the scope, by the kind of the option.
#[test]
fn permissions_are_answered_by_the_scope() {
    let (place, ran) = bridged("ask 1 src/a.rs; ask 2 docs/a.md; text went; text ' on'; end 4");
    ran.expect(0, &[]);
    let rulings: Vec<Value> =
        events(&ran, "permission").iter().map(|event| event["ruling"].clone()).collect();
    assert_eq!(rulings, ["allowed", "denied"]);
    let answers = place.read("answers.json");
    assert!(answers.contains("\"optionId\":\"yes\"") && answers.contains("\"optionId\":\"no\""), "{answers}");
    assert!(place.read("mode.json").contains("\"modeId\":\"default\""), "a mode that asks is set");
    assert!(place.read("prompt.json").contains("Do it."));
    let usage = &events(&ran, "usage")[0];
    assert_eq!((usage["input"].as_u64(), usage["output"].as_u64()), (Some(10), Some(2)));
    assert_eq!(events(&ran, "text").len(), 2);
    assert!(place.read("../home/scope.log").contains("docs/a.md"));
}

// C-16: a turn that ends with a refusal is taken up again, with the reason, and not for ever.
#[test]
fn a_turn_that_ends_with_a_refusal_goes_on_with_the_reason() {
    let (place, ran) = bridged(
        "ask 1 docs/a.md; end 4; read -r line; printf '%s\\n' \"$line\" >again.json; text done; end 5",
    );
    ran.expect(0, &[]);
    assert!(place.read("again.json").contains("is outside this step's scope"));
    let (place, ran) = bridged(
        "for id in 4 5 6 7 8; do ask $id docs/a.md; end $id; read -r line || exit; echo \"$line\" >>again.json; done",
    );
    ran.expect(0, &[]);
    assert_eq!(place.read("again.json").lines().count(), 3);
}

#[test]
fn agents_that_die_refuse_or_ask_for_more_are_taken_as_they_are() {
    bridged("exit 7").1.expect(5, &["the agent exited during `session/prompt`"]);
    let limit =
        "say '{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32603,\"message\":\"rate limit reached\"}}'";
    let (_, ran) = bridged(limit);
    ran.expect(5, &["rate limit reached"]);
    assert_eq!(events(&ran, "error").len(), 1);
    let (place, ran) = bridged(
        "say '{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"fs/read_text_file\",\"params\":{}}'; read -r line; echo \"$line\" >unknown.json; end 4",
    );
    ran.expect(0, &[]);
    assert!(place.read("unknown.json").contains("-32601"));
    let place = Place::empty();
    place.run(&["acp", "--", "no-such-agent"]).expect(5, &["cannot start the agent"]);
}

// C-16: an agent that talks at length before it reads a long prompt is heard meanwhile.
#[test]
fn an_agent_that_talks_before_it_listens_holds_up_nobody() {
    let prompt = "read -r line; printf '%s\\n' \"$line\" >prompt.json\n";
    let head = HEAD.replace(prompt, "");
    assert_ne!(head, HEAD);
    let place = Place::empty();
    scope(&place, "block");
    place.write("agent.sh", format!("{head}for n in {{1..2000}}; do text $n; done\n{prompt}end 4"));
    let ran = place
        .bash("printf '%0300000d' 7 | PLANWRIGHT_SCOPE=\"$HOME/scope.json\" planwright acp -- bash agent.sh");
    ran.expect(0, &[]);
    assert_eq!(events(&ran, "text").len(), 2000);
    assert!(place.read("prompt.json").len() > 300_000);
}

// C-16: an attempt by such an agent is an attempt like any other.
#[test]
fn an_attempt_goes_over_the_bridge() {
    let place = Place::empty();
    place.write(
        "agent.sh",
        format!("{HEAD}mkdir -p src; ask 1 docs/a.md; echo x >src/a.txt; text 'all done'; end 4"),
    );
    place.write(
        "planwright.toml",
        "[agents.stub]\nprotocol = \"acp\"\ncommand = [\"bash\", \"agent.sh\"]\n[roles]\ncoder = \"stub\"\n",
    );
    let fields = "**target:** coder\n**touches:** src/**, *.json";
    place.write("plans/it.md", runnable(&[("a", fields, "Write it.", "test -e src/a.txt")]));
    let ran = place.run(&["run", "it", "--dry-run", "--json"]);
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    let digest = envelope["data"]["digest"].as_str().unwrap_or_else(|| panic!("{ran:#?}")).to_owned();
    place
        .run(&["run", "it", "--rev", &digest])
        .expect(0, &["blocked edit: `docs/a.md` is outside", "planwright acp -- bash agent.sh"]);
    let log: Value = serde_json::from_str(&place.run(&["log", "it", "--json"]).stdout).expect("an envelope");
    let events = log["data"]["events"].as_array().expect("events");
    let finished =
        events.iter().find(|recorded| recorded["event"]["event"] == "attempt.finished").expect("an attempt");
    let account = &finished["event"]["account"];
    assert_eq!((account["session"].as_str(), account["said"].as_str()), (Some("s1"), Some("all done")));
    assert_eq!(account["tokens"]["input"], 10);
}

/// A project whose coder speaks the protocol, by this command line and with these settings.
fn project(command: &str, settings: &str) -> Place {
    let place = Place::empty();
    place.write(
        "planwright.toml",
        format!(
            "[agents.stub]\nprotocol = \"acp\"\ncommand = {command}\n{settings}\n[roles]\ncoder = \"stub\"\n"
        ),
    );
    let fields = "**target:** coder\n**on_fail:** retry(2), then escalate";
    place.write("plans/it.md", runnable(&[("a", fields, "Write it.", "test -e a.txt")]));
    place
}

// P-14: an agent behind the bridge that is missing, or that nobody is signed in to, costs no attempt: a person is asked.
#[test]
fn an_agent_behind_the_bridge_that_cannot_work_is_parked() {
    let place = project("[\"no-such-agent-acp\"]", "");
    place.run(&["doctor"]).expect(0, &["agent `stub` runs `no-such-agent-acp`, which is not on the PATH"]);
    place
        .approve_and_run()
        .expect(3, &["stub is not installed: `no-such-agent-acp` is not on the PATH", "a needs you"]);
    assert_eq!(place.count("a attempt.started 2"), 0);
    for message in ["Authentication required", "Bitte melden Sie sich an"] {
        let place = project("[\"bash\", \"agent.sh\"]", "");
        let refusal = format!(
            r#"read -r line; echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1}}}}'
read -r line; echo '{{"jsonrpc":"2.0","id":2,"error":{{"code":-32000,"message":"{message}"}}}}'
read -r line"#
        );
        place.write("agent.sh", refusal);
        place.approve_and_run().expect(3, &["stub is not signed in", message, "a needs you"]);
        assert_eq!(place.count("a attempt.started 2"), 0);
    }
}

// C-16: behind the bridge a known agent has the variables and settings that it has without it.
#[test]
fn an_agent_behind_the_bridge_keeps_its_own_settings() {
    let place = project("[\"bash\", \"agent.sh\"]", "like = \"opencode\"");
    let script = "echo \"$OPENCODE_DISABLE_AUTOUPDATE $OPENCODE_CONFIG_CONTENT\" >a.txt; echo \"$*\" >words.txt; end 4";
    place.write("agent.sh", format!("{HEAD}{script}"));
    place.approve_and_run().expect(0, &["coder uses the agent profile opencode", "done"]);
    let settings = place.read("a.txt");
    assert!(settings.starts_with("1 {") && settings.contains("opencode.mjs"), "{settings}");
    assert_eq!(place.read("words.txt"), "\n", "its words are those of its command line");
    // Its output is lines of JSON; what it said is a message.
    let place = project("[\"bash\", \"agent.sh\"]", "");
    place.write("agent.sh", format!("{HEAD}touch a.txt; text 'all done'; end 4"));
    place.approve_and_run().expect(0, &["done"]);
    let page = place.run(&["log", "it/a@1"]);
    page.expect(0, &["    all done\n", "(full output: planwright log it/a@1 --agent)"]);
    assert!(!page.stdout.contains("\"type\":\"text\""), "{page:#?}");
    place.run(&["log", "it/a@1", "--agent"]).expect(0, &["\"type\":\"text\""]);
}
