//! Reviewers: what they find is kept, shown wherever a state is, and decides nothing.

use serde_json::Value;

use crate::follow::FILE;
use crate::test_env::{Place, Ran};

#[track_caller]
fn data(ran: &Ran) -> Value {
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    envelope["data"].clone()
}

/// A plan with a step that makes something and a reviewer that is this script.
fn reviewed(script: &str) -> Place {
    let place = Place::with_plan(&[
        ("make", "", "echo hi > made.txt", "test -e made.txt"),
        (
            "check",
            "**target:** reviewer\n**on_fail:** retry(1), then escalate",
            "Review it.",
            "test -e reviewed",
        ),
    ]);
    let words = serde_json::json!(["bash", "-c", script]);
    place.write(
        "planwright.toml",
        format!("[roles]\nreviewer = \"critic\"\n[agents.critic]\ncommand = {words}\n"),
    );
    place
}

const BLOCK: &str = r#"echo '```findings'; echo '[{"severity":"error","path":"made.txt","line":1,"text":"too short"},{"text":"no docs"}]'; echo '```'; touch reviewed"#;

// P-24: a run whose contracts passed and whose reviewer found something is done, and says what was found, wherever it is shown.
#[test]
fn a_run_with_findings_is_done_with_findings_everywhere() {
    let place = reviewed(BLOCK);
    let ran = place.approve_and_run();
    ran.expect(0, &["done, 2 findings", "check: error  made.txt:1  too short", "check: warning  no docs"]);
    place.run(&["status"]).expect(0, &["done, 2 findings, 2 of 2 steps done"]);
    place.run(&["list"]).expect(0, &["done, 2 findings"]);
    place.run(&["show", "it"]).expect(0, &["check: error  made.txt:1  too short"]);
    place.run(&["log", "it"]).expect(0, &["2 findings (1 error, 1 warning)"]);
    place.run(&["log", "it/check@1"]).expect(0, &["review findings", "error  made.txt:1  too short"]);
    place.run(&["review", "it"]).expect(0, &["check: error  made.txt:1  too short"]);
    place.run(&["audit", "it"]).expect(0, &["found", "1 error, 1 warning"]);
    place.run(&["export", "it", "--to", "markdown"]).expect(0, &["done, 2 findings"]);
    place.run(&["log", "--all"]).expect(0, &["findings=2"]);
    assert_eq!(
        (place.standing()["state"].as_str(), place.standing()["findings"].as_u64()),
        (Some("done"), Some(2))
    );
    let shown = data(&place.run(&["show", "it", "--json"]));
    assert_eq!(shown["findings"][0]["severity"], "error", "{shown:#}");
    assert_eq!(data(&place.run(&["list", "--json"]))["findings"][FILE], 2);
    place.run(&["log", "it/check@1", "--prompt"]).expect(0, &["# How to report findings", "```findings"]);
    let other = place.run(&["log", "it/make@1", "--prompt"]);
    assert!(!other.stdout.contains("findings"), "only reviewers are asked for findings: {other:#?}");
}

// P-24: findings decide nothing: a step whose contract fails has failed whatever the reviewer says, and one whose contract passes
// has passed. The findings are those of the last attempt.
#[test]
fn the_contract_judges_and_findings_inform() {
    let worse = r#"if [ -e tried ]; then echo 'finding: note: a.rs:3: fine now'; touch reviewed; else touch tried; echo '```findings'; echo '[{"severity":"error","text":"bad"}]'; echo '```'; fi"#;
    let place = reviewed(worse);
    place
        .approve_and_run()
        .expect(0, &["attempt 1 of 2, exit 1", "done, 1 finding", "check: note  a.rs:3  fine now"]);
    let nothing = reviewed("echo 'All is well. error: no'; touch reviewed");
    let ran = nothing.approve_and_run();
    ran.expect(0, &["done  it"]);
    assert!(!ran.said().contains("finding"), "prose is no finding: {ran:#?}");
}

// P-24: what is reported line by line counts before what is said at the end.
#[test]
fn a_report_comes_before_what_was_said() {
    let both = format!(
        r#"echo '{{"say":"finding","severity":"warning","path":"b.rs","line":7,"text":"reported"}}' >> "$PLANWRIGHT_REPORT"; {BLOCK}"#
    );
    reviewed(&both).approve_and_run().expect(0, &["done, 1 finding", "check: warning  b.rs:7  reported"]);
}

/// A plan, and a reviewer of plans that is this script in the user's settings.
fn critic(script: &str) -> Place {
    let place =
        Place::with_plan(&[("make", "", "touch made", "test -e made"), ("next", "", "true", "test -e made")]);
    let words = serde_json::json!(["bash", "-c", script]).to_string();
    place.run(&["config", "set", "agents.critic.command", &words, "--user"]).expect(0, &[]);
    place.run(&["config", "set", "roles.reviewer", "critic", "--user"]).expect(0, &[]);
    place
}

// A-42: a plan can be given to a reviewer, with what the checker found; everything that it finds in one pass becomes a remark, once,
// and nothing is decided by it.
#[test]
fn a_reviewer_of_a_plan_remarks_and_decides_nothing() {
    let script = r#"grep -q 'passes before any work\|Known diagnostics' && echo '```findings'; echo '[{"severity":"error","line":21,"text":"proves nothing"},{"text":"no tests"}]'; echo '```'"#;
    let place = critic(script);
    for _ in 0..2 {
        let ran = place.run(&["verify", "it", "--reviewer"]);
        ran.expect(
            1,
            &[
                "found  error  line 21  proves nothing",
                "found  warning  no tests",
                "planwright comment plans/it.md",
            ],
        );
    }
    let remarks = place.run(&["comment", "it", "--json"]);
    let remarks = data(&remarks);
    assert_eq!(remarks["comments"].as_array().map(Vec::len), Some(2), "each is said once: {remarks:#}");
    assert_eq!(
        (remarks["comments"][0]["by"].as_str(), remarks["comments"][0]["step"].as_str()),
        (Some("critic"), Some("make"))
    );
    place.run(&["run", "it"]).expect(3, &["it is not approved"]);
    let json = data(&place.run(&["verify", "it", "--reviewer", "critic", "--json"]));
    assert_eq!(json["found"][1]["text"], "no tests", "{json:#}");
    place
        .run(&["verify", "it", "--reviewer", "nobody"])
        .expect(2, &["agent `nobody` has no command; set agents.nobody.command"]);
    place.run(&["verify", "it", "--reviewer", "human"]).expect(2, &["not an agent that answers"]);
}

// A-42: nothing found is said by an empty list; whoever lists nothing has found nothing out.
#[test]
fn a_reviewer_that_says_nothing_has_not_said_that_all_is_well() {
    critic("echo '```findings'; echo '[]'; echo '```'")
        .run(&["verify", "it", "--reviewer"])
        .expect(0, &["found nothing"]);
    critic("echo Looks good to me")
        .run(&["verify", "it", "--reviewer"])
        .expect(5, &["no answer from `critic`: it returned no list of findings"]);
    critic("sleep 600")
        .run(&["verify", "it", "--reviewer", "--config", "consult.seconds=1"])
        .expect(5, &["`critic` timed out after 1 s"]);
    let place = critic("true");
    place.write("planwright.toml", "[agents.evil]\ncommand = [\"bash\", \"-c\", \"touch started\"]\n");
    place
        .run(&["verify", "it", "--reviewer", "evil"])
        .expect(3, &["is set in planwright.toml", "agents.evil.command"]);
    assert!(!place.has("started"));
}
