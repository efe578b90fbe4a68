use std::collections::BTreeSet;

use super::*;
use crate::dialect::NATIVE;

const PLAN: &str = "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# T\n\n## Steps\n\n### 1. One\n\n**target:** coder\n\n**task:**\nDo it.\n\n**contract:**\n```shell\ntest -s a\n```\nexit_code == 0\n\n### 2. Two\n\n**target:** coder\n\n**task:**\nDo more.\n\n**contract:**\n```\ntest -s b\n```\nexit_code == 0\n";

fn found(said: &str) -> Answer {
    read(said, NATIVE).unwrap_or_else(|fault| panic!("{fault}: {said}"))
}

// B-08, A-48: the plan is found however it was fenced, and the reasoning is what stands around it.
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
    // Cut off in the last line, and said twice.
    assert_eq!(found(&format!("```markdown\n{PLAN}")).plan, PLAN);
    let block = format!("`````markdown\n{PLAN}`````\n");
    assert_eq!(found(&format!("{block}\nAgain:\n{block}")).plan, PLAN);
}

#[test]
fn an_answer_without_exactly_one_plan_is_a_fault() {
    let other = PLAN.replace("# T", "# Another");
    let two = format!("`````markdown\n{PLAN}`````\n`````markdown\n{other}`````\n");
    for (said, fault) in [
        ("  \n", Fault::Empty),
        ("I made the plan and approved it.", Fault::NoPlan),
        ("```markdown\n# no frontmatter\n```\n", Fault::NoPlan),
        ("```json\n{}\n```", Fault::NoPlan),
        (two.as_str(), Fault::Several(2)),
    ] {
        assert_eq!(read(said, NATIVE), Err(fault), "{said}");
    }
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
        (PLAN.replace("test -s a", "test -e a"), "contract has changed"),
        (PLAN.replace("Do it.", "Do it well."), "task has changed"),
        (PLAN.replacen("coder", "other", 1), "target has changed"),
        (PLAN.replace("### 1. One", "### 1. Uno"), "is missing"),
        (
            PLAN.replacen("**target:** coder\n", "**target:** coder\n**timeout:** 5m\n", 1),
            "other fields has changed",
        ),
        (
            PLAN.replace("### 1. One", "### 1. New\n\n**contract:** manual\n\n### 2. One")
                .replace("### 2. Two", "### 3. Two"),
            "stood at place 1",
        ),
    ] {
        let said = faults(&text);
        assert!(said.first().is_some_and(|first| first.contains(word)), "{word}: {said:?}");
    }
}

// B-13: the same error is known again, another one is another.
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
        assert_eq!(next(name, &with(keys)), Next { id: id.to_owned(), version }, "{name}");
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
    let around = Surroundings {
        kind: crate::contracts::Project { has_cargo: true, ..crate::contracts::Project::default() },
        targets: vec!["coder".to_owned()],
        tools: vec!["odoo: read, write".to_owned()],
        plans: vec!["login".to_owned()],
    };
    let code = Context {
        reference: "file:src/a.rs".to_owned(),
        text: Ok(crate::prompt::Excerpt { text: "fn a() {}\n```\n".to_owned(), bytes_cut: 7 }),
    };
    let missing = Context { reference: "file:b".to_owned(), text: Err("not there".to_owned()) };
    let prompt = wish(&Wish {
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
        "7 bytes more",
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
        &Returned { plan: Some(&plan(PLAN)), complaints: &["error[PW1] at 3:1: no".to_owned()] },
    );
    assert!(
        second.starts_with(&prompt) && second.contains("error[PW1]") && second.contains("# T"),
        "{second}"
    );
}
