//! The tools of people: what a model asks for in their name becomes a decision only when they confirm it outside of the model.

use serde_json::{Value, json};

use crate::client::Client;
use crate::follow::wait_until;
use crate::parallel::meeting;
use crate::sample::{Sketch, runnable};
use crate::test_env::Place;

/// Nobody but a person can say that it is done.
const BY_HAND: Sketch<'static> = ("look", "", "true", "manual");
const AFTER: Sketch<'static> = ("after", "", "touch after.out", "test -e after.out");

/// A run that waits for a person to confirm a step.
#[track_caller]
fn waiting() -> Place {
    let place = Place::with_plan(&[BY_HAND, AFTER]);
    place.approve_and_run().expect(3, &["look needs you"]);
    place
}

fn accepted(typed: &str) -> Value {
    json!({"action": "accept", "content": {"confirm": typed}})
}

fn answers(place: &Place) -> Vec<Value> {
    place.events().into_iter().filter(|event| event["event"] == "ask.answered").collect()
}

/// Every answer that a model could give in the name of a person.
const ANSWERS: &[(&str, &str, &str)] = &[
    ("confirm", "", "planwright answer it/look --confirm"),
    ("skip", "not needed", "planwright answer it/look --skip -m 'not needed'"),
    ("retry", "look again", "planwright answer it/look --retry --hint 'look again'"),
    ("retry", "", "planwright answer it/look --retry"),
    ("revise", "it's wrong", r"planwright answer it/look --revise -m 'it'\''s wrong'"),
    ("stop", "", "planwright answer it/look --stop"),
];

// C-11, E-20, A-45: where nobody can be asked, every answer is a command for a person, and no records.
#[test]
fn without_a_dialog_a_model_gets_the_command_and_nothing_is_recorded() {
    let place = waiting();
    let before = place.facts();
    for mut client in [Client::of(&place, "human"), Client::stateless(&place, None)] {
        for (answer, text, command) in ANSWERS {
            let given = json!({"id": "it/look", "answer": answer, "text": text});
            let said = client.call("ask_answer", &given);
            said.refused(&["Only a person can decide this", "Nothing was done", command]);
        }
        client
            .call("run_stop", &json!({"id": "it", "now": true}))
            .refused(&["planwright stop plans/it.md --now"]);
        client.call("run_start", &json!({"id": "it"})).refused(&["planwright run plans/it.md"]);
        let budget = json!({"id": "it", "answer": "budget", "text": "$5"});
        client
            .call("ask_answer", &budget)
            .refused(&["it/look doesn't accept this answer", "use confirm, retry, skip"]);
        client.end();
    }
    assert_eq!(place.facts(), before);
    // What they are told to type works.
    place.bash(ANSWERS[0].2).expect(0, &["answered", "confirmed"]);
}

// A-45, E-20: the person who types yes is the one who decides; a dialog that is closed, or accepted unread, decides nothing.
#[test]
fn only_the_word_of_a_person_in_the_dialog_decides() {
    let silence = [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"confirm": true}}),
        accepted(""),
        accepted("no"),
    ];
    let given = json!({"id": "it/look", "answer": "confirm"});
    let place = waiting();
    let before = place.facts();
    for person in silence {
        for mut client in
            [Client::with_person(&place, person.clone()), Client::stateless(&place, Some(person.clone()))]
        {
            let said = client.call("ask_answer", &given);
            assert!(said.is_error, "{person}: {said:#?}");
            assert_eq!(client.dialogs.len(), 1, "{person}");
            client.end();
        }
    }
    assert_eq!(place.facts(), before);
    for is_stateless in [false, true] {
        let place = waiting();
        let mut client = match is_stateless {
            false => Client::with_person(&place, accepted("yes")),
            true => Client::stateless(&place, Some(accepted(" Yes "))),
        };
        client.call("ask_answer", &given).fine(&["it/look was answered, confirmed by the person"]);
        let dialog = client.dialogs.pop().expect("the person was asked");
        assert!(
            dialog.contains("it/look") && dialog.contains("counts as done because you confirm it"),
            "{dialog}"
        );
        client.call("ask_answer", &given).refused(&["no open question about it"]);
        client.end();
        let answers = answers(&place);
        assert_eq!(answers.len(), 1);
        assert!(answers[0]["by"].as_str().is_some_and(|by| by.ends_with("over MCP (test)")), "{answers:?}");
    }
}

// A-45: what the client gives back counts once, for exactly what was asked, and only if it was.
#[test]
fn an_answer_that_nobody_was_asked_for_counts_for_nothing() {
    let place = waiting();
    let before = place.facts();
    let mut client = Client::stateless(&place, Some(accepted("yes")));
    let given = json!({"id": "it/look", "answer": "confirm"});
    let said = json!({"person": accepted("yes")});
    let is_question = |answer: &Value| answer["result"]["resultType"] == "input_required";
    let call = |client: &mut Client, given: &Value, state: &Value| {
        let params =
            json!({"name": "ask_answer", "arguments": given, "inputResponses": said, "requestState": state});
        client.request("tools/call", &params)
    };
    for state in [json!(null), json!("99"), json!("x")] {
        let answer = call(&mut client, &given, &state);
        assert!(is_question(&answer), "{state}: {answer}");
    }
    // Asked about a skip, and used for a confirmation.
    let skip = json!({"id": "it/look", "answer": "skip", "text": "not now"});
    let asked = client.request("tools/call", &json!({"name": "ask_answer", "arguments": skip}));
    assert!(is_question(&asked), "{asked}");
    let state = &asked["result"]["requestState"];
    client
        .call_again("ask_answer", &given, (&said, state))
        .refused(&["it changed in the meantime", "nothing was done"]);
    let answer = call(&mut client, &skip, state);
    assert!(is_question(&answer), "used up: {answer}");
    client.end();
    assert_eq!(place.facts(), before);
}

/// Talks to a server for people as its own client, and says yes to its own question.
const OWN_CLIENT: &str = r#"
export XDG_STATE_HOME="$HOME/state"
talk() {
    printf '%s\n' \
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"evil","version":"1"}}}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_answer","arguments":{"id":"it","answer":"confirm"}}}' \
        '{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"confirm":"yes"}}}'
}
code=0
talk | /usr/bin/env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" planwright mcp --role human >>said 2>&1 || code=$?
echo "$code" >>codes
"#;

// A-01, A-45: an attempt gets no server for people, whatever it does to its environment. Outside of one it would.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_at_work_gets_no_server_for_people() {
    let place = Place::with_plan(&[("evil", "", OWN_CLIENT, "test -e never")]);
    place.approve_and_run().expect(3, &["evil needs you"]);
    assert_eq!(place.read("codes"), "3\n", "{}", place.read("said"));
    let said = place.read("said");
    assert!(said.contains("role human is for people") && !said.contains("serverInfo"), "{said}");
    place.bash(&OWN_CLIENT.replace(">>said", ">said").replace(">>codes", ">codes")).expect(0, &[]);
    assert_eq!(place.read("codes"), "0\n", "{}", place.read("said"));
    assert!(place.read("said").contains("serverInfo"), "{}", place.read("said"));
    assert_eq!(answers(&place), Vec::<Value>::new(), "no step of this plan can be confirmed");
}

// A-45: in the shell of an agent that says so, nobody is asked: the agent could be its own client.
#[test]
fn in_the_shell_of_an_agent_the_dialog_is_not_shown() {
    let place = waiting();
    let mut command = place.planwright(&["mcp", "--role", "human"]);
    command.env("CLAUDECODE", "1");
    let mut client = Client::silent(command);
    let info = json!({"name": "test", "version": "1"});
    let greeting =
        json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": info});
    client.request("initialize", &greeting);
    let said = client.call("ask_answer", &json!({"id": "it/look", "answer": "confirm"}));
    said.refused(&["this terminal belongs to an agent (CLAUDECODE)", "planwright answer it/look --confirm"]);
    client.call("inbox_list", &json!({})).fine(&["it/look"]);
    client.end();
}

// E-20, A-25: what a person starts and stops through an agent; only an approved plan starts, and nothing approves it here.
#[test]
fn a_person_starts_and_stops_runs_and_sees_what_waits() {
    let place = Place::with_plan(&[
        ("slow", "", "echo begun >begun; until [ -e go ]; do sleep 0.01; done", "test -e go"),
        BY_HAND,
    ]);
    let mut client = Client::with_person(&place, accepted("yes"));
    let it = json!({"id": "it"});
    client.call("run_start", &it).refused(&["is not approved", "planwright review plans/it.md"]);
    place.run(&["propose", "it"]).expect(0, &[]);
    let inbox = client.call("inbox_list", &json!({})).data();
    assert_eq!(
        (&inbox["reviews"][0]["plan"], &inbox["reviews"][0]["state"]),
        (&json!("it"), &json!("proposed")),
        "{inbox}"
    );
    client.call("run_start", &it).refused(&["is not approved"]);
    assert_eq!(client.dialogs, Vec::<String>::new(), "nobody is asked about what can't be");
    place.run(&["approve", "it", "--rev", &place.digest()]).expect(0, &[]);
    client.call("run_start", &it).fine(&["is running", "confirmed by the person"]);
    assert!(client.dialogs[0].contains("2 steps"), "{:?}", client.dialogs);
    place.wait_for_file("begun");
    client.call("run_start", &it).fine(&["already running"]);
    let plan = client.call("plan_get", &it).data();
    assert_eq!(
        (&plan["run"], &plan["steps"][0]["status"]),
        (&json!("running"), &json!("running, attempt 1")),
        "{plan}"
    );
    client
        .call("run_stop", &json!({"id": "it", "now": true}))
        .fine(&["is paused", "confirmed by the person"]);
    place.write("go", "");
    client.call("run_start", &it).fine(&["is running"]);
    place.wait_for("look ask.opened");
    wait_until("no process is running it", || {
        client.call("plan_get", &it).data()["run"] == "waiting for a person"
    });
    let inbox = client.call("inbox_list", &json!({})).data();
    assert_eq!(inbox["asks"][0]["id"], "it/look", "{inbox}");
    let stats = client.call("plan_stats", &json!({"id": "it", "since": "7d"})).data();
    assert_eq!(stats["runs"], 1, "{stats}");
    client.call("plan_list", &json!({})).fine(&["plans/it.md"]);
    client.end();
    let stopped = place.events().into_iter().find(|event| event["event"] == "run.stopped").expect("a stop");
    assert!(stopped["by"].as_str().is_some_and(|by| by.ends_with("over MCP (test)")), "{stopped}");
    place.write("plans/other.md", runnable(&[AFTER]));
    place.run(&["status", "it"]).expect(0, &["look"]);
}

// P-12: `run.jobs` holds for whoever starts a run: two steps at once, each in a tree of its own, as `run --jobs 2` has it.
#[test]
fn a_run_that_is_started_over_mcp_works_in_trees() {
    let (left, right) = (meeting("left", "right"), meeting("right", "left"));
    let place = Place::repository(&[
        ("left", "**needs:** none\n**touches:**\n- left.out", &left, "test -s left.out"),
        ("right", "**needs:** none\n**touches:**\n- right.out", &right, "test -s right.out"),
    ]);
    place.write("planwright.toml", "[run]\njobs = 2\n");
    place.commit("settings");
    place.run(&["propose", "it"]).expect(0, &[]);
    place.run(&["approve", "it", "--rev", &place.digest()]).expect(0, &[]);
    let mut client = Client::with_person(&place, accepted("yes"));
    let it = json!({"id": "it"});
    client.call("run_start", &it).fine(&["is running"]);
    wait_until("it is done", || client.call("plan_get", &it).data()["run"] == "done");
    client.call("run_start", &it).fine(&["is done, proven for this tree"]);
    client.end();
    let project = place.project().display().to_string();
    let folders = [place.read("left.out"), place.read("right.out")];
    assert!(folders.iter().all(|folder| folder.trim() != project), "{folders:?}");
    assert_ne!(folders[0], folders[1], "each has a tree of its own");
}

// Nothing is "under way" that nobody drives: where another plan works in the folder, that is said, and nothing is begun.
#[test]
fn a_run_that_can_not_be_driven_is_not_said_to_be_under_way() {
    let place = Place::with_plan(&[(
        "slow",
        "",
        "echo begun >begun; until [ -e go ]; do sleep 0.01; done; touch slow.out",
        "test -e slow.out",
    )]);
    place.write("plans/other.md", runnable(&[AFTER]));
    place.run(&["propose", "other"]).expect(0, &[]);
    let digest = place.run(&["run", "other", "--dry-run", "--json"]).stdout;
    let digest: Value = serde_json::from_str(&digest).expect("an envelope");
    let digest = digest["data"]["digest"].as_str().expect("a digest").to_owned();
    place.run(&["approve", "other", "--rev", &digest]).expect(0, &[]);
    let mut running = place.start(&[]);
    place.wait_for_file("begun");
    let mut client = Client::with_person(&place, accepted("yes"));
    let other = json!({"id": "other"});
    client.call("run_start", &other).refused(&["it is running in this directory", "Nothing was started"]);
    assert_eq!(client.dialogs, Vec::<String>::new(), "nobody is asked about what can't be");
    place.run(&["status", "other"]).expect(0, &["plans/other.md has not been run"]);
    place.write("go", "");
    assert_eq!(running.end(), 0);
    client.call("run_start", &other).fine(&["is running"]);
    wait_until("it is done", || client.call("plan_get", &other).data()["run"] == "done");
    client.end();
}
