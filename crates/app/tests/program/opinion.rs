//! The judge that a step may ask: advice by default, a gate where the policy says so, and labelled in either case.

use crate::test_env::Place;

/// A plan whose only step asks a question, and a judge that is this script.
fn judged(script: &str) -> Place {
    let fields = "**judge:** Is it clear?\n**on_fail:** retry(1), then escalate";
    let make = "if [ -s \"$PLANWRIGHT_FEEDBACK\" ]; then cp \"$PLANWRIGHT_FEEDBACK\" told; printf 'bet%s' ter > made; else echo hi > made; fi";
    let place = Place::with_plan(&[("make", fields, make, "test -s made")]);
    let words = serde_json::json!(["bash", "-c", script]);
    place.write("planwright.toml", format!("[roles]\njudge = \"sage\"\n[agents.sage]\ncommand = {words}\n"));
    place
}

fn gate(place: &Place) {
    place.write("policy.toml", "judge = \"gate\"\n");
    place.run(&["policy", "install", "policy.toml"]).expect(0, &[]);
}

const NO: &str = r#"cat > /dev/null; echo '{"verdict":"fail","reason":"who is hi?"}'"#;
/// Says yes to work that has this word in it, which stands among the files that changed.
const BETTER: &str = r#"if grep -q better; then echo '{"verdict":"pass","reason":"clear"}'; else echo '{"verdict":"fail","reason":"say it better"}'; fi"#;

// A-48: an opinion is advice: it is asked, kept, labelled and shown, and the contract alone has judged.
#[test]
fn an_opinion_is_advice() {
    let place = judged(NO);
    place.approve_and_run().expect(0, &["judged by sage (advisory): fail: who is hi?", "1 of 1 step passed"]);
    place.run(&["log", "it"]).expect(0, &["passed; judged by sage (advisory): fail: who is hi?"]);
    place.run(&["audit", "it"]).expect(0, &["judged by: sage (advisory): fail"]);
    place.run(&["show", "it/make"]).expect(0, &["judge      Is it clear?"]);
    place.run(&["stats", "--cost"]).expect(0, &["it/make", "sage"]);
}

// A-48: by policy it is a gate: a no fails the attempt, the next one is told why, and the receipt says who judged.
#[test]
fn an_opinion_is_a_gate_where_the_policy_says_so() {
    let place = judged(BETTER);
    gate(&place);
    place.approve_and_run().expect(
        0,
        &[
            "gating judge: bash -c",
            "judge sage rejected it: say it better",
            "judged by sage (gate): fail: say it better",
            "judged by sage (gate): pass: clear",
            "1 of 1 step passed",
        ],
    );
    let told = place.read("told");
    assert!(told.contains("judge sage rejected it: say it better"), "{told}");
    place.run(&["audit", "it"]).expect(0, &["judged by: sage (gate): pass", "judged by: sage (gate): fail"]);
}

// A-48: no answer is no yes: rubbish, silence and a judge that is missing hold a gate shut, and leave an open one open.
#[test]
fn a_gate_without_an_answer_stays_shut() {
    let cases = [
        ("echo looks fine", "it gave no valid answer"),
        (r#"echo '{"verdict":"approved"}'"#, "invalid verdict `approved`, expected pass or fail"),
        ("exit 7", "it exited with 7"),
    ];
    for (script, because) in cases {
        let place = judged(script);
        place.approve_and_run().expect(0, &["judged by sage (advisory): no answer", because]);
        let place = judged(script);
        gate(&place);
        place.approve_and_run().expect(3, &["judge sage rejected it", because]);
    }
    let place = judged(NO);
    place.write("planwright.toml", "");
    gate(&place);
    place.approve_and_run().expect(3, &["role `judge` has no approved command"]);
}

// A-48: what an opinion counts for is a part of what was approved; and no opinion makes a contract pass that fails.
#[test]
fn the_weight_of_an_opinion_is_approved() {
    let place = judged(NO);
    place.run(&["propose", "it"]).expect(0, &[]);
    place.run(&["approve", "it", "--rev", &place.digest()]).expect(0, &[]);
    gate(&place);
    let ran = place.run(&["run", "it"]);
    assert!(ran.code != 0 && !place.has("made"), "{ran:#?}");
    let yes = Place::with_plan(&[("make", "**judge:** Is it clear?", "true", "test -e made")]);
    let words = serde_json::json!(["bash", "-c", "touch asked; echo '{\"verdict\":\"pass\"}'"]);
    yes.write("planwright.toml", format!("[roles]\njudge = \"sage\"\n[agents.sage]\ncommand = {words}\n"));
    gate(&yes);
    let ran = yes.approve_and_run();
    ran.expect(3, &["exit 1"]);
    assert!(
        !ran.said().contains("judged by") && !yes.has("asked"),
        "nobody asks about work that failed: {ran:#?}"
    );
}

// A-48: an attempt can't leave settings for its judge, nor a word about what the next attempt used.
#[test]
fn an_attempt_leaves_nothing_for_whoever_comes_next() {
    let make = r#"own=${PLANWRIGHT_USAGE%/usage}; all=${own%-1*}; mkdir -p "$own.judge" "$all-1.judge" "$all-2.judge" "$all-2"; touch "$own.judge/CLAUDE.md" "$all-1.judge/CLAUDE.md" "$all-2.judge/CLAUDE.md"; echo '{"retry_after":600,"why":"planted"}' > "$all-2/usage"; if test -e made; then echo more >> made; else echo hi > made; fi"#;
    let fields = "**judge:** Is it clear?\n**on_fail:** retry(1), then escalate";
    let place = Place::with_plan(&[("make", fields, make, "grep more made")]);
    let script = r#"cat > /dev/null; echo "{\"verdict\":\"pass\",\"reason\":\"there is: $(ls -A)\"}""#;
    let words = serde_json::json!(["bash", "-c", script]);
    place.write("planwright.toml", format!("[roles]\njudge = \"sage\"\n[agents.sage]\ncommand = {words}\n"));
    let ran = place.approve_and_run();
    ran.expect(0, &["pass: there is:", "1 of 1 step passed"]);
    assert!(!ran.said().contains("CLAUDE.md") && !ran.said().contains("planted"), "{ran:#?}");
}
