//! The ledger of costs: what each step used by agent, the warning, the question, and what the rest will take.

use serde_json::Value;

use crate::test_env::{Place, Ran};

#[track_caller]
fn data(ran: &Ran) -> Value {
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    envelope["data"].clone()
}

// P-16: real numbers of an agent are added up by step; at 80 % a warning, at 100 % a question before anything more is begun; and what
// the rest needs at this rate.
#[test]
fn costs_are_counted_warned_about_and_asked_about() {
    let steps =
        [("a", "test -e done-a"), ("b", "test -e done-b"), ("c", "test -e done-c"), ("d", "test -e done-d")];
    let steps = steps.map(|(id, contract)| (id, "**target:** coder", "Do it.", contract));
    let place = Place::with_plan(&steps);
    place.run(&["stats", "--cost"]).expect(0, &["no costs: nothing has been run"]);
    let script = r#"cat > /dev/null; touch done-a done-b done-c done-d; echo '{"tokens": 1000, "dollars": 0.41}' > "$PLANWRIGHT_USAGE""#;
    let words = serde_json::json!(["bash", "-c", script]);
    place.write("planwright.toml", format!("[roles]\ncoder = \"mine\"\n[agents.mine]\ncommand = {words}\n"));
    let ran = place.approve_and_run();
    ran.expect(
        3,
        &["82% of the dollars budget used", "The budget is used up: 1 step left", "3 of 4 steps passed"],
    );
    place.run(&["stats", "--cost"]).expect(
        0,
        &[
            "step  agent  attempts  tokens  cost",
            "it/a  mine",
            "it/c  mine",
            "$0.41",
            "$1.23",
            "it: 1 step left, about $0.41, 1000 tokens",
            "123% of its budget is spent",
        ],
    );
    let cost = data(&place.run(&["stats", "--cost", "--plan", "it", "--json"]))["cost"].clone();
    assert_eq!(cost["sums"][1]["micro_dollars"], 1_230_000, "{cost:#}");
    assert_eq!(cost["projections"][0]["steps_left"], 1, "{cost:#}");
    place.run(&["answer", "it", "--budget", "+1.00"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &["4 of 4 steps passed"]);
    let cost = data(&place.run(&["stats", "--cost", "--json"]))["cost"].clone();
    assert_eq!(cost["projections"], serde_json::json!([]), "nothing is left to project: {cost:#}");
}
