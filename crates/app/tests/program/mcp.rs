//! The MCP server over its wire: what each role sees, what planners can do with it, and what no input can do to it.

use serde_json::{Value, json};

use crate::client::Client;
use crate::sample::sound;
use crate::test_env::Place;

const AUTHOR: &str =
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; ";
/// Every tool of every role, in the order in which clients see them.
const ROLES: &[(&str, &[&str])] = &[
    (
        "planner",
        &[
            "plan_propose",
            "plan_list",
            "plan_get",
            "plan_approve",
            "plan_reject",
            "plan_format",
            "plan_verify",
            "plan_simulate",
            "plan_feedback",
        ],
    ),
    ("executor", &["step_get", "step_check", "step_note", "step_ask", "step_finish"]),
    ("human", &["inbox_list", "ask_answer", "run_start", "run_stop", "plan_stats", "plan_list", "plan_get"]),
];
/// At four bytes a token, what tokenizers make of such JSON at the worst, 7,500 bytes are less than 2,000 tokens.
const DEFINITION_BYTES_MAX: usize = 7_500;

/// Where the plan stands by its record.
#[track_caller]
fn state(place: &Place, plan: &str) -> Value {
    let ran = place.run(&["status", plan, "--json"]);
    serde_json::from_str::<Value>(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))["data"]
        .clone()
}

// C-11, E-20, P-09: a role sees its own tools and no others, and their definitions are small.
#[test]
fn each_role_sees_exactly_its_tools() {
    let place = Place::empty();
    for (role, names) in ROLES {
        let mut client = Client::of(&place, role);
        let answer = client.request("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().expect("a list");
        let seen: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
        assert_eq!(seen, *names, "{role}");
        let bytes = answer["result"].to_string().len();
        assert!(bytes <= DEFINITION_BYTES_MAX, "{role}: {bytes} bytes");
        for tool in tools {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
            let decides =
                ["ask_answer", "run_start", "run_stop"].contains(&tool["name"].as_str().unwrap_or_default());
            assert_eq!(tool["annotations"]["destructiveHint"] == json!(true), decides, "{tool}");
        }
        let others = ROLES.iter().flat_map(|(_, names)| names.iter()).filter(|name| !names.contains(name));
        for other in others {
            let answer = client.request("tools/call", &json!({"name": other, "arguments": {"id": "x"}}));
            assert_eq!(answer["error"]["code"], -32602, "{role} {other}: {answer}");
        }
        client.end();
    }
}

// C-10, E-20, A-48: errors come back so that a model can repair them, and a repaired plan waits for a person.
#[test]
fn a_broken_plan_is_repaired_by_what_the_tool_says_and_then_waits_for_a_person() {
    let place = Place::empty();
    let mut client = Client::of(&place, "planner");
    let broken =
        sound("Say it", 1).replace("test -s part-1.txt", "test -s (").replace("**target:** shell\n", "");
    let said = client.call("plan_propose", &json!({"plan": broken}));
    said.refused(&[
        "nothing was proposed",
        "error[PW0301] line",
        "| test -s (",
        "not valid bash",
        "error[PW",
        "help:",
    ]);
    assert_eq!(place.run(&["list"]).code, 0);
    place.run(&["list"]).expect(0, &["no plans;"]);
    let checked = client.call("plan_verify", &json!({"plan": broken}));
    assert_eq!(
        checked.text.lines().skip(2).collect::<Vec<_>>(),
        said.text.lines().skip(2).collect::<Vec<_>>()
    );
    let said = client.call("plan_propose", &json!({"plan": sound("Say it", 1)}));
    said.fine(&["plans/say-it.md is proposed: revision 1", "pending review", "planwright review"]);
    assert!(place.has("plans/say-it.md"));
    let listed = client.call("plan_list", &json!({"status": "proposed"})).data();
    assert_eq!(
        (&listed["plans"][0]["id"], &listed["plans"][0]["status"]),
        (&json!("say-it"), &json!("proposed"))
    );
    assert_eq!(client.call("plan_list", &json!({"status": "verified"})).data()["plans"], json!([]));
    let again = client.call("plan_propose", &json!({"path": "plans/say-it.md"}));
    again.fine(&["was already proposed: revision 1"]);
    client.end();
    place.run(&["status", "--inbox"]).expect(0, &["say-it", "r1 is pending review", "by test"]);
    place.run(&["run", "say-it"]).expect(3, &["is not approved"]);
}

// C-10: document C's parameters, unchanged.
#[test]
fn steps_of_document_c_become_a_proposal() {
    let place = Place::empty();
    let mut client = Client::of(&place, "planner");
    let steps = json!([{"description": "Find the order", "tool": "odoo", "operation": "read", "target": "orders"},
        {"description": "Write to them", "tool": "mail", "operation": "send"}]);
    let given = json!({"title": "Tell the customer", "steps": steps, "context": "They asked."});
    client.call("plan_propose", &given).fine(&[".pi/plans/PLAN-", "is proposed", "pending review"]);
    let plans = client.call("plan_list", &json!({"status": "proposed"})).data();
    let id = plans["plans"][0]["id"].as_str().unwrap_or_else(|| panic!("{plans}"));
    let plan = client.call("plan_get", &json!({ "id": id })).data();
    assert_eq!((&plan["title"], &plan["state"]), (&json!("Tell the customer"), &json!("proposed")), "{plan}");
    assert_eq!(plan["steps"].as_array().map(Vec::len), Some(2), "{plan}");
    assert!(plan["text"].as_str().is_some_and(|text| text.contains("They asked.")), "{plan}");
    for wrong in [json!({}), json!({"title": "T"}), json!({"plan": "x", "steps": steps}), json!({"plan": 7})]
    {
        assert!(client.call("plan_propose", &wrong).is_error, "{wrong}");
    }
    client.call("plan_propose", &json!({"pln": "x"})).refused(&["unknown field `pln`", "`plan`"]);
    client.end();
}

// C-11, A-04: a model's word approves nothing and rejects nothing, in no role; it gets the command for a person.
#[test]
fn approving_and_rejecting_are_left_to_a_person() {
    let place = Place::empty();
    place.write("plans/it.md", sound("It", 1));
    place.run(&["propose", "it"]).expect(0, &[]);
    let before = state(&place, "it");
    let mut client = Client::of(&place, "planner");
    let said = client.call("plan_approve", &json!({"id": "it"}));
    said.refused(&["Only a person approves", "plans/it.md is proposed", "planwright review plans/it.md"]);
    let rejected = client.call("plan_reject", &json!({"id": "it", "feedback": "it's bad"}));
    rejected.refused(&[
        "Only a person rejects",
        "Nothing was changed",
        r"planwright reject plans/it.md -m 'it'\''s bad'",
    ]);
    client.end();
    assert_eq!(state(&place, "it"), before);
    // What a person is told to type works.
    let command = said.text.lines().last().expect("a command").trim().to_owned();
    assert!(command.starts_with("planwright approve plans/it.md --rev "), "{command}");
    place.bash(&command).expect(0, &["approved"]);
    place.run(&["undo", "it"]).expect(0, &[]);
    place.bash(rejected.text.lines().last().expect("a command").trim()).expect(0, &["rejected"]);
}

// A-04, A-48: what a planner did not propose, or somebody changed since, it does not write over.
#[test]
fn a_planner_revises_its_own_proposal_and_nobody_elses_text() {
    let place = Place::empty();
    let mut client = Client::of(&place, "planner");
    let propose = |client: &mut Client, steps: usize| {
        client.call("plan_propose", &json!({"plan": sound("It", steps), "path": "plans/it.md"}))
    };
    propose(&mut client, 1).fine(&["revision 1"]);
    place.run(&["comment", "it/s1", "-m", "which part?"]).expect(0, &[]);
    place.run(&["reject", "it", "-m", "two parts, please"]).expect(0, &[]);
    let said = client.call("plan_feedback", &json!({"id": "it"})).data();
    assert_eq!(said["state"], "rejected", "{said}");
    assert_eq!(said["rejections"][0]["feedback"], "two parts, please", "{said}");
    assert_eq!(
        (&said["comments"][0]["step"], &said["comments"][0]["text"]),
        (&json!("s1"), &json!("which part?")),
        "{said}"
    );
    propose(&mut client, 2).fine(&["revision 2"]);
    assert!(place.read("plans/it.md").contains("Write part 2"));
    // A person changes it: from here on it is theirs.
    let theirs = place.read("plans/it.md").replace("Write part 2.", "Write part 2 by hand.");
    place.write("plans/it.md", &theirs);
    propose(&mut client, 3).refused(&["already contains a plan", "it changed after it was proposed"]);
    assert_eq!(place.read("plans/it.md"), theirs);
    place.write("plans/hers.md", sound("Hers", 1));
    let taken = json!({"plan": sound("Hers", 2), "path": "plans/hers.md"});
    client.call("plan_propose", &taken).refused(&["it is not proposed"]);
    place.run(&["propose", "hers"]).expect(0, &[]);
    client.call("plan_propose", &taken).refused(&["a person proposed it"]);
    assert_eq!(place.read("plans/hers.md").matches("### ").count(), 1);
    // Who proposes what lies there, by its path or word for word, has not written it.
    for propose in
        [json!({"path": "plans/mine.md"}), json!({"plan": sound("Mine", 1), "path": "plans/mine.md"})]
    {
        place.write("plans/mine.md", sound("Mine", 1));
        client.call("plan_propose", &propose).fine(&["revision 1"]);
        let over = json!({"plan": sound("Mine", 2), "path": "plans/mine.md"});
        client.call("plan_propose", &over).refused(&["an agent proposed it, but did not write it here"]);
        assert_eq!(place.read("plans/mine.md").matches("### ").count(), 1);
    }
    client.end();
}

// A-19: who has no shell gets none by a contract: nothing is run before a person has said yes. The same at a terminal runs it.
#[test]
fn a_proposal_over_mcp_runs_no_contract() {
    let place = Place::empty();
    place
        .bash(&format!(
            "rm -r .git && git init --quiet -b main . && {AUTHOR}git commit -qm base --allow-empty"
        ))
        .expect(0, &[]);
    let ran = place.path("../ran");
    let plan = |name: &str| {
        sound(name, 1).replace("test -s part-1.txt", &format!("touch {}; test -s part-1.txt", ran.display()))
    };
    let mut client = Client::of(&place, "planner");
    client.call("plan_propose", &json!({"plan": plan("Over MCP")})).fine(&["is proposed"]);
    client.call("plan_verify", &json!({"id": "over-mcp"})).fine(&["No errors"]);
    client.call("plan_simulate", &json!({"id": "over-mcp"})).fine(&["attempts_max"]);
    client.end();
    assert!(!place.has("../ran"), "a contract was run");
    place.run(&["review", "over-mcp"]).expect(0, &["cannot run", "not run yet"]);
    place.write("plans/typed.md", plan("Typed"));
    place.run(&["propose", "typed"]).expect(0, &["red check"]);
    assert!(place.has("../ran"), "a person's proposal runs it");
}

// A-32: a tool leads to the plans of the project and to nothing else.
#[test]
fn no_tool_reads_or_writes_outside_of_the_project() {
    let place = Place::empty();
    place
        .write("plans/it.md", sound("It", 1))
        .write("../secret.md", sound("Secret", 1))
        .write(".env", "KEY=s3cret\n");
    place.link("../../secret.md", "plans/linked.md").link("..", "away");
    let mut client = Client::of(&place, "planner");
    let absolute = place.path("../secret.md").display().to_string();
    for id in [
        "../secret.md",
        ".env",
        "/etc/passwd",
        "away/secret.md",
        "plans/../../secret.md",
        absolute.as_str(),
        "",
        "nothing",
    ] {
        let said = client.call("plan_get", &json!({ "id": id }));
        assert!(
            said.is_error && !said.text.contains("s3cret") && !said.text.contains("Write part"),
            "{id}: {said:#?}"
        );
    }
    let new = sound("New", 1);
    for path in [
        "../new.md",
        "/tmp/planwright-new.md",
        ".git/new.md",
        "plans/new.sh",
        "away/new.md",
        "plans/linked.md",
    ] {
        let said = client.call("plan_propose", &json!({"plan": new, "path": path}));
        assert!(said.is_error, "{path}: {said:#?}");
    }
    assert!(!place.has("../new.md") && place.read("../secret.md") == sound("Secret", 1));
    client.call("plan_get", &json!({"id": "plans/it.md"})).fine(&["Write part 1"]);
    client.end();
}

// C-19: the format that is taught is the one that is checked, and the tools of the project are listed with what they can do.
#[test]
fn the_plan_that_is_taught_has_no_fault() {
    let place = Place::empty();
    place.write(
        "planwright.toml",
        "[roles]\ndoctor = \"codex\"\n\n[tools.odoo]\noperations = [\"read\", \"search\"]\n[tools.go-easy]\noperations = []\n",
    );
    let mut client = Client::of(&place, "planner");
    let taught = client.call("plan_format", &json!({}));
    taught.fine(&[
        "contract",
        "doctor (codex)",
        "Available executor tools",
        "- odoo: read, search",
        "- go-easy\n",
        "the tools of every agent: read, edit, write, bash, shell, web",
        "shell",
        "on_fail",
    ]);
    let (_, rest) = taught.text.split_once("````markdown\n").expect("an example");
    let (example, _) = rest.split_once("````").expect("its end");
    client.call("plan_verify", &json!({"plan": example})).fine(&["No errors: 2 steps (native)"]);
    client.end();
}

/// Input that is none, and what is answered.
const RUBBISH: &[(&[u8], i64)] = &[
    (b"not json", -32700),
    (b"\xff\xfe\x00", -32700),
    (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"", -32700),
    (b"{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\x28\",\"method\":\"tools/list\"}", -32700),
    (b"[]", -32600),
    (b"7", -32600),
    (b"{\"foo\":\"bar\"}", -32600),
];

// E-20: nothing that comes in ends the server, before the greeting or after it.
#[test]
fn rubbish_is_answered_with_an_error_and_ends_nothing() {
    let place = Place::empty();
    place.write("plans/it.md", sound("It", 1));
    let mut client = Client::silent(place.planwright(&["mcp", "--role", "planner"]));
    let rubbish = |client: &mut Client| {
        for (line, code) in RUBBISH {
            client.send(line);
            assert_eq!(client.receive()["error"]["code"], *code, "{:?}", String::from_utf8_lossy(line));
        }
        // More than a message may have; what follows it is read.
        client.send(&vec![b'a'; 9 << 20]);
        let answer = client.receive();
        assert!(
            answer["error"]["message"].as_str().is_some_and(|text| text.contains("message is larger than")),
            "{answer}"
        );
        client.send(b"");
        client.send(
            b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}",
        );
    };
    rubbish(&mut client);
    let answer = client.request("tools/call", &json!({"name": "plan_list"}));
    assert_eq!(answer["error"]["code"], -32602, "no greeting, no version: {answer}");
    let info = json!({"name": "test", "version": "1"});
    client.request(
        "initialize",
        &json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info}),
    );
    rubbish(&mut client);
    let answer = client.request("no/such/method", &json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    for arguments in
        [json!({"id": 7}), json!([]), json!({"id": {"deep": [[[[]]]]}}), json!({"id": "\u{0}\u{1b}[2J"})]
    {
        let answer = client.request("tools/call", &json!({"name": "plan_get", "arguments": arguments}));
        assert!(answer["result"]["isError"] == json!(true) || answer["error"].is_object(), "{answer}");
    }
    client.call("plan_list", &json!({})).fine(&["plans/it.md"]);
    client.end();
}
