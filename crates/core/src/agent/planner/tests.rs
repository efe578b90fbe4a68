//! The planner's prompts, the parsing of its answers, and `plan-json` blocks of other harnesses.

use std::collections::BTreeSet;

use super::*;
use crate::dialect::NATIVE;

const PLAN: &str = "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# T\n\n## Steps\n\n### 1. One\n\n**target:** coder\n\n**task:**\nDo it.\n\n**contract:**\n```shell\ntest -s a\n```\nexit_code == 0\n\n### 2. Two\n\n**target:** coder\n\n**task:**\nDo more.\n\n**contract:**\n```\ntest -s b\n```\nexit_code == 0\n";

fn found(said: &str) -> PlannerAnswer {
    read(said, NATIVE).unwrap_or_else(|fault| panic!("{fault}: {said}"))
}

// B-08, A-48: the plan is found however it was fenced, and the reasoning is the text around it.
#[test]
fn a_plan_is_found_however_it_was_fenced() {
    for (open, close) in [
        ("`````markdown", "`````"),
        ("````md", "````"),
        ("```markdown", "```"),
        ("```", "```"),
        ("~~~markdown", "~~~"),
        ("~~~", "~~~~"),
        ("  ```markdown", "  ```"),
    ] {
        let said =
            format!("Because of this.\n\n{open}\n{PLAN}{close}\n\nAnd that.\n\n```text\nan aside\n```\n");
        let answer = found(&said);
        assert_eq!(answer.plan, PLAN, "{open}");
        assert!(
            answer.reasoning.starts_with("Because of this.") && answer.reasoning.contains("And that."),
            "{answer:?}"
        );
    }
    assert_eq!(found(PLAN).plan, PLAN);
    assert_eq!(found(&format!("Here:\n\n{PLAN}")).reasoning, "Here:");
    // Cut off in the last line, and repeated.
    assert_eq!(found(&format!("```markdown\n{PLAN}")).plan, PLAN);
    let block = format!("`````markdown\n{PLAN}`````\n");
    assert_eq!(found(&format!("{block}\nAgain:\n{block}")).plan, PLAN);
}

#[test]
fn an_answer_without_exactly_one_plan_is_a_fault() {
    let other = PLAN.replace("# T", "# Another");
    let two = format!("`````markdown\n{PLAN}`````\n`````markdown\n{other}`````\n");
    for (said, fault) in [
        ("  \n", AnswerFault::Empty),
        ("I made the plan and approved it.", AnswerFault::NoPlan),
        ("```markdown\n# no frontmatter\n```\n", AnswerFault::NoPlan),
        ("```json\n{}\n```", AnswerFault::NoPlan),
        (two.as_str(), AnswerFault::Several(2)),
    ] {
        assert_eq!(read(said, NATIVE), Err(fault), "{said}");
    }
}

// Every block of these may end at every later fence, and each end used to be parsed as a plan.
#[test]
fn an_answer_that_is_all_fences_is_given_up() {
    let flood = "```\n---\ntype: plan\nstatus: draft\n---\n# A\n\nxxxxxxxx\n".repeat(1000);
    let fault = read(&flood, NATIVE).expect_err("many plans");
    assert_eq!(fault.to_string(), "more than 4 plans in the answer: give exactly one");
}

#[test]
fn a_long_plan_is_found_in_a_fence_that_its_contracts_have_too() {
    let (head, _) = PLAN.split_once("### 1.").expect("steps");
    let step = |number: usize| {
        format!(
            "### {number}. Step\n\n**target:** coder\n\n**task:**\nDo it.\n\n**contract:**\n```\ntest -s a{number}\n```\n\
             exit_code == 0\n\n"
        )
    };
    let plan = format!("{head}{}", (1..=120).map(step).collect::<String>());
    let said = format!("Why.\n\n```markdown\n{plan}```\n\nAn aside:\n\n```text\nx\n```\n");
    assert_eq!(found(&said).plan.trim_end(), plan.trim_end());
}

#[test]
fn what_changed_is_told_from_why() {
    let said = format!(
        "Changes: a folder first\nand no link\n**Reasoning:** it failed.\n\n````markdown\n{PLAN}````\n"
    );
    let answer = found(&said);
    assert_eq!(
        (answer.changes.as_str(), answer.reasoning.as_str()),
        ("a folder first\nand no link", "it failed.")
    );
    let said = format!("## Reasoning\nwhy\n## Changes\nwhat\n\n````markdown\n{PLAN}````\n");
    let answer = found(&said);
    assert_eq!((answer.changes.as_str(), answer.reasoning.as_str()), ("what", "why"));
}

fn plan(text: &str) -> Source {
    Source::new("plan.md", text)
}

// B-12: finished steps are kept, word for word and in their place.
#[test]
fn a_finished_step_that_changes_is_told() {
    let old = plan(PLAN).draft();
    let first = BTreeSet::from([0]);
    let faults = |text: &str| unkept(&old, &first, &plan(text).draft());
    assert_eq!(faults(PLAN), Vec::<String>::new());
    assert_eq!(faults(&PLAN.replace("### 1. One", "### 1. ✅ One")), Vec::<String>::new());
    assert_eq!(faults(&PLAN.replace("test -s b", "test -s c")), Vec::<String>::new());
    for (text, word) in [
        (PLAN.replace("test -s a", "test -e a"), "contract changed"),
        (PLAN.replace("Do it.", "Do it well."), "task changed"),
        (PLAN.replacen("coder", "other", 1), "target changed"),
        (PLAN.replace("### 1. One", "### 1. Uno"), "but missing"),
        (
            PLAN.replacen("**target:** coder\n", "**target:** coder\n**timeout:** 5m\n", 1),
            "other fields changed",
        ),
        (
            PLAN.replace("### 1. One", "### 1. New\n\n**contract:** manual\n\n### 2. One")
                .replace("### 2. Two", "### 3. Two"),
            "moved from position 1",
        ),
    ] {
        let said = faults(&text);
        assert!(said.first().is_some_and(|first| first.contains(word)), "{word}: {said:?}");
    }
}

// B-13: the same error is recognized, another one is different.
#[test]
fn the_same_error_has_the_same_print() {
    let same = [
        ("exit 1\nfailed in 0.12s at /tmp/a1/x", "exit 1  failed in 3.4s at /tmp/b9/y"),
        ("Test A failed", "test a  failed\n"),
    ];
    for (one, other) in same {
        assert_eq!(fingerprint(one), fingerprint(other));
    }
    for (one, other) in [("exit 1", "exit 2"), ("3 failed", "2 failed"), ("no such file a", "no such file b")]
    {
        assert_ne!(fingerprint(one), fingerprint(other));
    }
}

#[test]
fn the_next_version_is_counted_from_the_base() {
    let with = |keys: &str| plan(&PLAN.replace("owner: me\n", &format!("owner: me\n{keys}"))).draft();
    for (name, keys, id, version) in [
        ("auth", "", "auth-v2", 2),
        ("auth-v2", "version: 2\npreviousPlanId: auth\n", "auth-v3", 3),
        ("auth-v2", "", "auth-v3", 3),
        ("auth-v9", "version: 9\n", "auth-v10", 10),
        ("ipv6", "", "ipv6-v2", 2),
    ] {
        assert_eq!(next(name, &with(keys)), RevisionPlan { id: id.to_owned(), version }, "{name}");
    }
}

#[test]
fn versions_are_compared_by_what_they_say() {
    let other = PLAN
        .replace("status: draft\n", "status: failed\nversion: 3\n")
        .replace("### 1. One", "### 1. ✅ One");
    assert!(says_the_same(&plan(PLAN), &plan(&other)));
    assert!(!says_the_same(&plan(PLAN), &plan(&PLAN.replace("Do more", "Do less"))));
}

// B-08: everything that is known is in the prompt, and a second prompt says what was wrong.
#[test]
fn a_prompt_says_everything_that_is_known() {
    let around = ProjectContext {
        kind: crate::verify::suggest::ProjectFiles {
            has_cargo: true,
            ..crate::verify::suggest::ProjectFiles::default()
        },
        targets: vec!["coder".to_owned()],
        tools: vec!["odoo: read, write".to_owned()],
        plans: vec!["login".to_owned()],
    };
    let code = PromptContext {
        reference: "file:src/a.rs".to_owned(),
        text: Ok(crate::agent::prompt::PromptExcerpt { text: "fn a() {}\n```\n".to_owned(), bytes_cut: 7 }),
    };
    let missing = PromptContext { reference: "file:b".to_owned(), text: Err("not there".to_owned()) };
    let prompt = wish(&PlanRequest {
        task: "Fix the login",
        code: &[code, missing],
        memories: &["the last fix broke x".to_owned()],
        constraints: &["keep the API".to_owned()],
        around: &around,
    });
    for words in [
        "Fix the login",
        "keep the API",
        "the last fix broke x",
        "fn a() {}",
        "7 more bytes",
        "not there",
        "`cargo test`",
        "`coder`",
        "odoo: read",
        "login",
        "**contract:**",
        "`````markdown",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    let second = again(
        &prompt,
        &PlannerFeedback { plan: Some(&plan(PLAN)), complaints: &["error[PW1] at 3:1: no".to_owned()] },
    );
    assert!(
        second.starts_with(&prompt) && second.contains("error[PW1]") && second.contains("# T"),
        "{second}"
    );
}

fn json(json: &str) -> Result<plan_json::PlanJsonAction, plan_json::PlanJsonFault> {
    plan_json::find(&format!("Because.\n\n```plan-json\n{json}\n```\n")).expect("a block")
}

fn composed(steps: &str) -> String {
    match json(&format!("{{\"action\":\"plan\",\"title\":\"T\",\"steps\":[{steps}]}}")) {
        Ok(plan_json::PlanJsonAction::Plan(planned)) => plan_json::compose(&planned),
        other => panic!("{other:?}: {steps}"),
    }
}

// A-49: the contract for each expectation, word for word.
#[test]
fn a_check_becomes_a_contract() {
    for (check, contract) in [
        (r#""make test""#, "make test"),
        (r#"{"command":"make test"}"#, "make test"),
        (r#"{"run":"make test","exit_code":0}"#, "make test"),
        (r#"{"file_exists":"a b"}"#, "test -e 'a b'"),
        (r#"{"files_exist":["a","it's"]}"#, r"test -e a && test -e 'it'\''s'"),
        (r#"{"command":"ls","stdout_contains":"x"}"#, "said=$(set -e\nls\n)\ngrep -qF -- x <<<\"$said\""),
        (r#"{"command":"a || b","file_exists":"c"}"#, "(\na || b\n)\ntest -e c"),
    ] {
        let text = composed(&format!(r#"{{"kind":"spawn","task":"Do it.","check":{check}}}"#));
        assert!(text.contains(&format!("```shell\n{contract}\n```\nexit_code == 0\n")), "{check}: {text}");
    }
    let text =
        composed(r#"{"kind":"spawn","task":"Do it.","check":{"command":"x","exit_code":3},"attempts":1}"#);
    assert!(text.contains("exit_code == 3\n") && text.contains("**on_fail:** escalate"), "{text}");
    let text = composed(r#"{"kind":"shell","command":"touch x"}"#);
    assert!(text.contains("**target:** shell") && text.contains("**contract:** manual"), "{text}");
    assert!(text.contains("```shell\ntouch x\n```"), "{text}");
}

// A-49: invalid steps are refused, with the step and the reason.
#[test]
fn a_block_that_does_not_fit_is_refused() {
    let step = |fields: &str| json(&format!("{{\"action\":\"plan\",\"steps\":[{{{fields}}}]}}"));
    for (fields, words) in [
        (r#""kind":"spawn","title":"x""#, "requires `task`"),
        (r#""kind":"spawn","task":"x","command":"y""#, "put the contract in `check`"),
        (r#""kind":"shell","title":"x""#, "requires `command`"),
        (r#""kind":"shell","command":"x","agent":"y""#, "but not `task` or `agent`"),
        (r#""kind":"think","task":"x""#, "unknown variant `think`"),
        (r#""kind":"spawn","task":"x","done":true"#, "unknown field `done`"),
        (r#""kind":"spawn","task":"x","id":"Not An Id""#, "lowercase letters"),
        (r#""kind":"spawn","task":"x","attempts":0"#, "`attempts`: expected 1"),
        (r#""kind":"spawn","task":"x","check":{}"#, "`check` is empty"),
        (r#""kind":"spawn","task":"x","check":{"stdout_contains":"y"}"#, "has no command"),
        (r#""kind":"spawn","task":"x","check":{"exit_code":1}"#, "`check` is empty"),
        (
            r#""kind":"spawn","task":"x","check":{"command":"y","exit_code":1,"stdout_contains":"z"}"#,
            "in the command",
        ),
    ] {
        let fault = step(fields).expect_err(fields).to_string();
        assert!(fault.contains(words), "{fields}: {fault}");
    }
    assert!(json(r#"{"action":"plan","steps":[]}"#).is_err());
    assert!(json(r#"{"action":"approve"}"#).is_err());
    assert!(json("not json").is_err());
    let two = "```plan-json\n{}\n```\n```plan-json\n{}\n```\n";
    assert_eq!(plan_json::find(two), Some(Err(plan_json::PlanJsonFault::Several(2))));
    assert_eq!(plan_json::find("no block"), None);
    assert_eq!(
        json(r#"{"action":"escalate","question":"why?","step":2}"#),
        Ok(plan_json::PlanJsonAction::Escalate { step: Some("2".to_owned()), reason: "why?".to_owned() })
    );
}

// A-49: the text before and after the replaced steps stays, byte for byte.
#[test]
fn steps_are_replaced_from_a_number_on() {
    let planned = |from: usize| {
        let text = format!(
            r#"{{"action":"plan","replace_from_step":{from},"steps":[{{"kind":"spawn","title":"New","task":"Do it.","check":"x"}}]}}"#
        );
        match json(&text) {
            Ok(plan_json::PlanJsonAction::Plan(planned)) => planned,
            other => panic!("{other:?}"),
        }
    };
    let text = format!("{PLAN}\n## Notes\n\n- mine\n");
    let old = plan(&text);
    let new = plan_json::replace(&old, &planned(2)).expect("replaced");
    let kept = &text[..text.find("### 2.").expect("a step")];
    assert!(new.starts_with(kept) && new.ends_with("\n\n## Notes\n\n- mine\n"), "{new}");
    let read = plan(&new).draft();
    assert_eq!(read.steps.iter().map(|step| step.title.value.as_str()).collect::<Vec<_>>(), ["One", "New"]);
    assert_eq!(unkept(&old.draft(), &BTreeSet::from([0]), &read), Vec::<String>::new());
    assert_eq!(plan(&plan_json::replace(&old, &planned(3)).expect("added")).draft().steps.len(), 3);
    for from in [0, 4] {
        assert!(plan_json::replace(&old, &planned(from)).is_err(), "{from}");
    }
}

// P-29: the same input makes the same plan, whatever it contains.
#[test]
fn a_task_and_a_command_are_a_plan() {
    for (task, contract) in [
        ("Mend it", "make test"),
        ("Mend it\n\n### 9. Not a step\n**contract:** true", "test -s a &&\n  test -s b"),
        ("```\ncode", "grep -q '```' a"),
    ] {
        let text = quick(task, contract, "coder", 2);
        assert_eq!(text, quick(task, contract, "coder", 2));
        let draft = plan(&text).draft();
        assert_eq!(draft.steps.len(), 1, "{text}");
        let command = draft.steps[0].contract.as_ref().and_then(|contract| contract.command.as_ref());
        assert_eq!(command.map(|command| command.value.trim()), Some(contract), "{text}");
        assert!(text.contains("retry(2), then abort"), "{text}");
    }
    assert!(quick("x", "y", "coder", 0).contains("**on_fail:** abort"));
}
