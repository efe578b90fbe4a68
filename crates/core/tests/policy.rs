//! Who may say yes: tables of policies, plans and people, hostile ones among them. How a policy is spelled is tested with the
//! engine, which reads it.

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::approval::policy::{
    Approvers, Automatic, BY_DEFAULT, Decision, Policy, PolicyFacts, PolicyQuestion, RefusalReason,
    Requirement, SignatureStatus, ToolLists, When, decide, may_approve, required_from,
};
use planwright_core::plan::identity::{Identity, Role};
use planwright_core::plan::verified::Plan;
use planwright_core::run::baseline::{Baseline, BaselineResult};
use planwright_core::syntax::glob::Glob;
use planwright_core::syntax::source::Source;
use planwright_core::verify::{Facts as World, Study, VerifyLimits, verify};

const NOW: u64 = 1_000_000;

/// A plan with these lines in front, and these fields in each of its steps.
fn text(front: &str, budget: &str, steps: &[&str]) -> String {
    let mut text = format!("---\ntype: plan\n{front}---\n\n# A plan\n\n{budget}\n\n## Steps\n");
    for (place, fields) in steps.iter().enumerate() {
        let number = place + 1;
        let target = if fields.contains("**target:**") { "" } else { "**target:** coder\n" };
        text += &format!("\n### {number}. Step {number}\n\n**id:** s{number}\n{target}{fields}\n");
        text += "**task:** Do it.\n\n**contract:**\n```shell\ntest -f x\n```\nexit_code == 0\n";
    }
    text
}

fn plan(text: &str) -> Plan {
    let source = Source::new("plan.md", text);
    let draft = source.draft();
    let study = Study::of(&source, &draft);
    let questions = study.questions();
    let facts = World {
        passed: std::collections::BTreeMap::new(),
        paths: BTreeSet::new(),
        programs: questions.programs,
        bash: questions.commands.into_iter().map(|command| (command, Vec::new())).collect(),
        agents: ["coder", "reviewer", "shell"].map(str::to_owned).into(),
        topics: BTreeSet::new(),
        tools: None,
    };
    let checked = verify(&study, &facts, &VerifyLimits::default());
    checked.plan.unwrap_or_else(|| panic!("{:#?}\n{text}", checked.diagnostics))
}

fn globs(patterns: &[&str]) -> Vec<Glob> {
    patterns.iter().map(|pattern| Glob::new(pattern).expect("a pattern")).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn red(step: &str, before: BaselineResult) -> Baseline {
    Baseline { step: step.to_owned(), contract: String::new(), before, milliseconds: 1 }
}

/// What is known of a plan that ada proposed.
struct Known {
    proposer: Identity,
    red: Vec<Baseline>,
    dialect: &'static str,
    agents: BTreeMap<String, Vec<String>>,
    required_from: Option<Vec<String>>,
}

impl Known {
    fn new() -> Self {
        let command = words(&["claude", "--print"]);
        Self {
            proposer: Identity::agent("claude"),
            red: vec![red("s1", BaselineResult::Fails("exit code 1".to_owned()))],
            dialect: "native",
            agents: BTreeMap::from([("coder".to_owned(), command)]),
            required_from: None,
        }
    }

    fn facts(&self) -> PolicyFacts<'_> {
        PolicyFacts {
            proposer: &self.proposer,
            red: &self.red,
            dialect: self.dialect,
            agents: &self.agents,
            required_from: self.required_from.as_deref(),
            now_ms: NOW,
        }
    }
}

const BUDGET: &str = "**Budget:** 100k tokens, $1.00, 10 minutes";
const IN_DOCS: &str = "**touches:** docs/a.md\n**tools:** read, write\n";

type Change = fn(&mut Automatic);
type ChangeWorld = fn(&mut Known);

fn nothing(_: &mut Known) {}

fn serve(world: &mut Known, target: &str, command: &[&str]) {
    world.agents.insert(target.to_owned(), words(command));
}

/// One plan against one rule: what the rule says, what the plan says, what else is known, and why the rule does not hold.
struct Case(&'static str, Change, &'static str, &'static [&'static str], ChangeWorld, Option<&'static str>);

fn automatic_cases() -> Vec<Case> {
    let in_docs: Change = |rule| rule.paths = Some(globs(&["docs/**"]));
    let reads: Change = |rule| rule.tools = Some(ToolLists::These(words(&["read", "write"])));
    let cheap: Change = |rule| rule.micro_dollars = Some(1_000_000);
    let is_red: Change = |rule| rule.is_red_required = true;
    let coder: Change = |rule| rule.agents = Some(words(&["coder"]));
    let pinned: Change = |rule| {
        let command = words(&["claude", "--print"]);
        rule.commands = Some(BTreeMap::from([("coder".to_owned(), command)]));
    };
    vec![
        Case("inside the paths", in_docs, BUDGET, &[IN_DOCS], nothing, None),
        Case("a folder", in_docs, BUDGET, &["**touches:** docs/\n"], nothing, None),
        Case("the same pattern", in_docs, BUDGET, &["**touches:** docs/**\n"], nothing, None),
        Case("no touches", in_docs, BUDGET, &[""], nothing, Some("no `touches` declared")),
        Case("everything", in_docs, BUDGET, &["**touches:**\n- **\n"], nothing, Some("may be outside")),
        Case("one outside", in_docs, BUDGET, &["**touches:** docs/a, src/b\n"], nothing, Some("`src/b`")),
        Case("a later step", in_docs, BUDGET, &[IN_DOCS, ""], nothing, Some("step s2")),
        Case("a prefix alone", in_docs, BUDGET, &["**touches:** docs*\n"], nothing, Some("may be outside")),
        Case("a name", in_docs, BUDGET, &["**touches:** docs\n"], nothing, Some("may be outside")),
        Case("another case", in_docs, BUDGET, &["**touches:** DOCS/a\n"], nothing, Some("may be outside")),
        Case("a look-alike", in_docs, BUDGET, &["**touches:** dоcs/a\n"], nothing, Some("may be outside")),
        Case(
            "a choice",
            in_docs,
            BUDGET,
            &["**touches:**\n- {docs,src}/a\n"],
            nothing,
            Some("may be outside"),
        ),
        Case("tools", reads, BUDGET, &[IN_DOCS], nothing, None),
        Case("a tool more", reads, BUDGET, &["**tools:** read, bash\n"], nothing, Some("tool `bash`")),
        Case("no tools", reads, BUDGET, &[""], nothing, Some("no `tools` declared")),
        Case("a tool in capitals", reads, BUDGET, &["**tools:** READ\n"], nothing, Some("tool `READ`")),
        Case("any tool", |rule| rule.tools = Some(ToolLists::Any), BUDGET, &[""], nothing, None),
        Case(
            "no tool at all",
            |rule| rule.tools = Some(ToolLists::These(Vec::new())),
            BUDGET,
            &[IN_DOCS],
            nothing,
            Some("tool `read`"),
        ),
        Case("cheap", cheap, BUDGET, &[""], nothing, None),
        Case("a cent more", cheap, "**Budget:** $1.01", &[""], nothing, Some("more dollars")),
        Case("no budget", cheap, "", &[""], nothing, Some("does not limit dollars")),
        Case(
            "no money in it",
            cheap,
            "**Budget:** 5 minutes",
            &[""],
            nothing,
            Some("does not limit dollars"),
        ),
        Case(
            "too much to say",
            cheap,
            "**Budget:** $99999999999999999999999",
            &[""],
            nothing,
            Some("more dollars"),
        ),
        Case("nothing", |rule| rule.micro_dollars = Some(0), "**Budget:** $0", &[""], nothing, None),
        Case("tokens", |rule| rule.tokens = Some(99_999), BUDGET, &[""], nothing, Some("more tokens")),
        Case("seconds", |rule| rule.seconds = Some(600), BUDGET, &[""], nothing, None),
        Case(
            "no time",
            |rule| rule.seconds = Some(600),
            "**Budget:** $1",
            &[""],
            nothing,
            Some("does not limit seconds"),
        ),
        Case(
            "two steps",
            |rule| rule.steps_max = Some(1),
            BUDGET,
            &["", ""],
            nothing,
            Some("too many steps: 2"),
        ),
        Case("one step", |rule| rule.steps_max = Some(1), BUDGET, &[""], nothing, None),
        Case("the agent", coder, BUDGET, &[""], nothing, None),
        Case("another agent", coder, BUDGET, &["**target:** reviewer\n"], nothing, Some("agent `reviewer`")),
        Case(
            "a script",
            in_docs,
            BUDGET,
            &["**target:** shell\n**touches:** docs/a\n"],
            nothing,
            Some("is a script"),
        ),
        Case(
            "a script by role",
            coder,
            BUDGET,
            &[""],
            |world| serve(world, "coder", &["shell"]),
            Some("is a script"),
        ),
        Case(
            "a script that may",
            |rule| rule.agents = Some(words(&["shell"])),
            BUDGET,
            &["**target:** shell\n"],
            nothing,
            None,
        ),
        Case("the command line", pinned, BUDGET, &[""], nothing, None),
        Case(
            "another command line",
            pinned,
            BUDGET,
            &[""],
            |world| serve(world, "coder", &["claude", "--yolo"]),
            Some("command of `coder`"),
        ),
        Case(
            "one more command line",
            pinned,
            BUDGET,
            &[""],
            |world| serve(world, "topic:", &["sh"]),
            Some("command of `topic:`"),
        ),
        Case("the proposer", |rule| rule.proposers = Some(words(&["claude"])), BUDGET, &[""], nothing, None),
        Case(
            "another proposer",
            |rule| rule.proposers = Some(words(&["claude"])),
            BUDGET,
            &[""],
            |world| world.proposer = Identity::agent("сlaude"),
            Some("proposed by"),
        ),
        Case(
            "nobody's",
            |rule| rule.proposers = Some(words(&[])),
            BUDGET,
            &[""],
            nothing,
            Some("proposed by"),
        ),
        Case(
            "the dialect",
            |rule| rule.dialects = Some(words(&["record"])),
            BUDGET,
            &[""],
            nothing,
            Some("dialect native"),
        ),
        Case("red", is_red, BUDGET, &[""], nothing, None),
        Case("not run", is_red, BUDGET, &["", ""], nothing, Some("step s2: the contract was not run")),
        Case(
            "passes",
            is_red,
            BUDGET,
            &[""],
            |world| world.red[0].before = BaselineResult::Passes,
            Some("proves nothing"),
        ),
        Case(
            "excused",
            is_red,
            BUDGET,
            &[""],
            |world| world.red[0].before = BaselineResult::Excused("so".to_owned()),
            Some("reason given"),
        ),
        Case(
            "cannot run",
            is_red,
            BUDGET,
            &[""],
            |world| world.red[0].before = BaselineResult::CannotRun("no".to_owned()),
            Some("cannot run"),
        ),
        Case(
            "red and green",
            is_red,
            BUDGET,
            &[""],
            |world| world.red.push(red("s1", BaselineResult::Passes)),
            Some("proves nothing"),
        ),
        Case("no condition", |_| {}, BUDGET, &[IN_DOCS], nothing, Some("no conditions")),
        Case(
            "no path",
            |rule| rule.paths = Some(globs(&[])),
            BUDGET,
            &[IN_DOCS],
            nothing,
            Some("may be outside"),
        ),
        Case(
            "all at once",
            |rule| {
                rule.paths = Some(globs(&["docs/**"]));
                rule.tools = Some(ToolLists::These(words(&["read"])));
            },
            BUDGET,
            &[IN_DOCS],
            nothing,
            Some("tool `write`"),
        ),
        Case(
            "asked for by name",
            in_docs,
            BUDGET,
            &[IN_DOCS],
            |world| world.required_from = Some(words(&["ada"])),
            Some("requires people"),
        ),
    ]
}

// A-19: without a person a plan is approved only by a rule all of whose conditions are certain to hold.
#[test]
fn a_rule_approves_only_what_it_is_certain_of() {
    let cases = automatic_cases();
    assert!(cases.len() >= 40, "{}", cases.len());
    for Case(name, change, budget, steps, change_world, expected) in cases {
        let mut rule = Automatic { name: "rule".to_owned(), ..Automatic::default() };
        change(&mut rule);
        let policy = Policy { automatic: vec![rule], ..Policy::default() };
        let mut world = Known::new();
        change_world(&mut world);
        let plan = plan(&text("", budget, steps));
        match (decide(Some(&policy), &plan, &world.facts()), expected) {
            (Decision::Automatic { rule, .. }, None) => assert_eq!(rule, "rule", "{name}"),
            (Decision::Ask(ask), Some(why)) => {
                let because = &ask.passed_over[0].because;
                assert!(because.contains(why), "{name}: {because}");
            }
            (decision, expected) => panic!("{name}: {decision:?}, not {expected:?}"),
        }
    }
}

fn ask(policy: Option<&Policy>, plan: &Plan, world: &Known) -> PolicyQuestion {
    match decide(policy, plan, &world.facts()) {
        Decision::Ask(ask) => ask,
        automatic @ Decision::Automatic { .. } => panic!("{automatic:?}"),
    }
}

/// A policy with what every approval needs, and two groups.
fn policy(demand: Requirement) -> Policy {
    let people = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let groups = [("leads", people(&["ada", "bo"])), ("nobody", BTreeSet::new())];
    let groups = groups.into_iter().map(|(name, people)| (name.to_owned(), people)).collect();
    Policy { demand, groups, ..Policy::default() }
}

// A-19: where nothing is written, a person has to say yes, and nothing else can.
#[test]
fn without_a_policy_a_person_is_asked_and_an_agent_never_is() {
    let plan = plan(&text("", BUDGET, &[IN_DOCS]));
    let ask = ask(None, &plan, &Known::new());
    assert_eq!((ask.needed, ask.is_signed, ask.planner_may_approve, ask.until_ms), (1, false, true, None));
    assert_eq!((ask.from.clone(), ask.rule.as_str()), (Approvers::Anyone, BY_DEFAULT));
    assert_eq!(
        may_approve(&ask, &Identity::person("ada"), SignatureStatus::No, &[]).as_deref(),
        Ok(BY_DEFAULT)
    );
    for role in [Role::Agent, Role::Policy, Role::Age] {
        let refusal =
            may_approve(&ask, &Identity { name: "ada".to_owned(), role }, SignatureStatus::Yes, &[]);
        let refusal = refusal.expect_err("only a person may");
        assert_eq!(refusal.why, RefusalReason::NoPerson);
        assert!(refusal.to_string().contains(BY_DEFAULT), "{refusal}");
    }
}

/// What is demanded, who proposed the plan, who says yes, who said so before, and what comes of it.
const PEOPLE: &[[&str; 5]] = &[
    ["from=ada", "claude", "ada", "", "ok"],
    ["from=ada", "claude", "mallory", "", "not among"],
    ["from=ada", "claude", "Ada", "", "not among"],
    ["from=ada", "claude", "аda", "", "not among"],
    ["from=ada", "claude", "ada ", "", "not among"],
    ["from=ada", "claude", "ada\u{200b}", "", "not among"],
    ["from=ada", "claude", "", "", "not among"],
    ["from=group:leads", "claude", "bo", "", "ok"],
    ["from=group:leads", "claude", "carl", "", "not among"],
    ["from=group:leads", "claude", "leads", "", "not among"],
    ["from=group:leads", "claude", "group:leads", "", "not among"],
    ["from=group:nobody", "claude", "ada", "", "too few of 1"],
    ["from=group:none", "claude", "ada", "", "too few of 1"],
    ["from=", "claude", "ada", "", "too few of 1"],
    ["", "ada", "ada", "", "ok"],
    ["other", "ada", "bo", "", "ok"],
    ["other", "ada", "ada", "", "planner ada"],
    ["other", "ada", "ADA", "", "planner ada"],
    ["other", "ada", "аdа", "", "planner ada"],
    ["other", " ada", "ada", "", "planner  ada"],
    ["other", "a\u{200b}da", "ada", "", "planner a\u{200b}da"],
    ["needed=2", "claude", "ada", "", "ok"],
    ["needed=2", "claude", "bo", "ada", "ok"],
    ["needed=2", "claude", "ada", "ada", "twice ada"],
    ["needed=2", "claude", "Ada", "ada", "twice ada"],
    ["needed=2", "claude", "ada\u{200d}", "bo,ada", "twice ada"],
    ["needed=2 from=group:leads", "claude", "bo", "ada", "ok"],
    ["needed=2 from=group:leads other", "ada", "bo", "", "too few of 2"],
    ["needed=3 from=group:leads", "claude", "ada", "", "too few of 3"],
    ["needed=2 from=ada,ada", "claude", "ada", "", "too few of 2"],
    ["needed=0", "claude", "ada", "", "ok"],
    ["needed=0", "claude", "ada", "ada", "twice ada"],
    ["signed", "claude", "ada", "", "unsigned"],
    ["signed from=ada", "claude", "mallory", "", "not among"],
    ["signature signed", "claude", "ada", "", "ok"],
];

fn demand(text: &str) -> Requirement {
    let mut demand = Requirement::default();
    for word in text.split(' ') {
        match word.split_once('=').unwrap_or((word, "")) {
            ("from", parties) => {
                let parties = parties.split(',').filter(|party| !party.is_empty());
                demand.from = Some(parties.map(str::to_owned).collect());
            }
            ("needed", count) => demand.needed = count.parse().ok(),
            ("other", _) => demand.planner_may_approve = Some(false),
            ("signed", _) => demand.is_signed = Some(true),
            ("" | "signature", _) => {}
            (other, _) => panic!("{other}"),
        }
    }
    demand
}

fn word(why: &RefusalReason) -> String {
    match why {
        RefusalReason::NoPerson => "no person".to_owned(),
        RefusalReason::NotAmong => "not among".to_owned(),
        RefusalReason::Planner { proposer } => format!("planner {proposer}"),
        RefusalReason::Unsigned => "unsigned".to_owned(),
        RefusalReason::Twice { before } => format!("twice {before}"),
        RefusalReason::TooFew { needed } => format!("too few of {needed}"),
    }
}

// C-11, C-33: whoever may not approve is refused, with the rule and with who may.
#[test]
fn only_those_who_may_approve_do() {
    let plan = plan(&text("", BUDGET, &[IN_DOCS]));
    for case @ [demanded, proposer, who, before, expected] in PEOPLE {
        let policy = policy(demand(demanded));
        let ask = ask(Some(&policy), &plan, &Known { proposer: Identity::person(*proposer), ..Known::new() });
        assert!(ask.needed >= 1, "{case:?}");
        let before: Vec<Identity> =
            before.split(',').filter(|name| !name.is_empty()).map(Identity::person).collect();
        let signed = if demanded.contains("signature") { SignatureStatus::Yes } else { SignatureStatus::No };
        match may_approve(&ask, &Identity::person(*who), signed, &before) {
            Ok(rule) => assert_eq!((rule.as_str(), *expected), ("approval", "ok"), "{case:?}"),
            Err(refusal) => {
                assert_eq!(word(&refusal.why), *expected, "{case:?}");
                let said = refusal.to_string();
                assert!(
                    said.contains("rule: approval") && said.contains("may approve: "),
                    "{case:?}: {said}"
                );
            }
        }
    }
}

fn when(name: &str, demand: Requirement) -> When {
    When { name: name.to_owned(), demand, ..When::default() }
}

/// The budget, the fields of the step, what is needed, and the rules besides the usual one that ask for it.
const STRICTEST: &[[&str; 4]] = &[
    ["$0.10", IN_DOCS, "1", ""],
    ["$0.50", IN_DOCS, "2", "money"],
    ["as you like", IN_DOCS, "2", "money"],
    ["$0.10", "**touches:** secret/a\n**tools:** read\n", "1 signed", "secret"],
    ["$0.10", "**touches:**\n- **/a\n**tools:** read\n", "1 signed", "secret"],
    ["$0.10", "**touches:** secrets/a\n**tools:** read\n", "1", ""],
    ["$0.10", "**tools:** read\n", "1 signed", "secret"],
    ["$0.10", "**touches:** a\n**tools:** bash\n", "1 other", "shells"],
    ["$0.10", "**touches:** a\n**tools:** Bash(git:*)\n", "1 other", "shells"],
    ["$0.10", "**touches:** a\n", "1 other", "shells"],
    ["2 steps", "", "2 signed other", "money secret shells"],
];

#[test]
fn the_strictest_of_all_that_apply_holds() {
    let usual = Requirement { expires_seconds: Some(7), ..demand("from=group:leads,carl") };
    let money = When { micro_dollars: Some(500_000), ..when("money", demand("needed=2")) };
    let secret = Requirement { expires_seconds: Some(9), ..demand("from=bo,dora signed") };
    let secret = When { paths: Some(globs(&["secret/**"])), ..when("secret", secret) };
    let shells = When { tools: Some(words(&["bash"])), ..when("shells", demand("other")) };
    let policy = Policy { when: vec![money, secret, shells], ..policy(usual) };
    for case @ [budget, fields, needed, rules] in STRICTEST {
        let plan = plan(&text("", &format!("**Budget:** {budget}"), &[fields]));
        let ask = ask(Some(&policy), &plan, &Known::new());
        let signed = if ask.is_signed { " signed" } else { "" };
        let other = if ask.planner_may_approve { "" } else { " other" };
        assert_eq!(format!("{}{signed}{other}", ask.needed), *needed, "{case:?}");
        let rules: String =
            rules.split_whitespace().map(|rule| format!(" + approval.when `{rule}`")).collect();
        assert_eq!(ask.rule, format!("approval{rules}"), "{case:?}");
        assert_eq!(ask.until_ms, Some(NOW + 7_000), "{case:?}: the earliest end counts");
        let people: &[&str] = if ask.is_signed { &["bo"] } else { &["ada", "bo", "carl"] };
        let people = words(people).into_iter().collect();
        assert_eq!(ask.from, Approvers::These(people), "{case:?}: whoever may has to be in every list");
    }
}

#[test]
fn a_rule_does_not_replace_people_that_are_asked_for() {
    let paths = || Some(globs(&["docs/**"]));
    let rule = Automatic { name: "docs".to_owned(), paths: paths(), ..Automatic::default() };
    let plan = plan(&text("", BUDGET, &[IN_DOCS]));
    let mut policy = Policy {
        automatic: vec![rule],
        ..policy(Requirement { expires_seconds: Some(60), ..Requirement::default() })
    };
    let world = Known::new();
    let automatic = Decision::Automatic { rule: "docs".to_owned(), until_ms: Some(NOW + 60_000) };
    assert_eq!(decide(Some(&policy), &plan, &world.facts()), automatic);
    policy.when = vec![When { paths: Some(globs(&["docs/a*"])), ..when("papers", Requirement::default()) }];
    let asked = ask(Some(&policy), &plan, &world);
    assert!(asked.passed_over[0].because.contains("papers"), "{asked:?}");
}

#[test]
fn an_end_that_is_out_of_reach_is_far_away_and_not_behind_us() {
    let demand = Requirement { expires_seconds: Some(u64::MAX), ..Requirement::default() };
    let plan = plan(&text("", BUDGET, &[IN_DOCS]));
    assert_eq!(ask(Some(&policy(demand)), &plan, &Known::new()).until_ms, Some(u64::MAX));
}

// C-33: a plan may say who has to approve it. That narrows what a policy says, and never widens it.
#[test]
fn a_plan_may_ask_for_people_and_never_for_more() {
    let cases: &[(&str, Option<&[&str]>)] = &[
        ("", None),
        ("approval_required_from: ada\n", Some(&["ada"])),
        ("approval_required_from: ada, group:leads\n", Some(&["ada", "group:leads"])),
        ("approval_required_from: [ada, \"bo\"]\n", Some(&["ada", "bo"])),
        ("approval_required_from:\n  - ada\n  - bo\n", Some(&["ada", "bo"])),
        ("approval_required_from:\n  who: ada\n", Some(&[])),
        ("approval_required_from: [ada, [bo]]\n", Some(&[])),
        ("approval_required_from:\n", Some(&[])),
        ("approval_required_from: |\n  ada\n", Some(&[])),
        ("approval_required_from: ada\napproval_required_from: mallory\n", Some(&[])),
    ];
    for (front, expected) in cases {
        let source = Source::new("plan.md", text(front, BUDGET, &[IN_DOCS]));
        let found = required_from(&source, &source.draft());
        assert_eq!(found, expected.map(words), "{front}");
    }
    let plan = plan(&text("", BUDGET, &[IN_DOCS]));
    let narrowed = |policy: Option<&Policy>, names: &[&str]| {
        ask(policy, &plan, &Known { required_from: Some(words(names)), ..Known::new() })
    };
    let wants = narrowed(None, &["bo"]);
    assert!(wants.rule.contains("approval_required_from"), "{}", wants.rule);
    assert!(may_approve(&wants, &Identity::person("bo"), SignatureStatus::No, &[]).is_ok());
    let refusal = may_approve(&wants, &Identity::person("ada"), SignatureStatus::No, &[])
        .expect_err("the wrong approver");
    assert!(refusal.to_string().ends_with("may approve: bo)"), "{refusal}");
    let ada = policy(demand("from=ada"));
    let wider = narrowed(Some(&ada), &["mallory", "ada"]);
    assert!(
        may_approve(&wider, &Identity::person("mallory"), SignatureStatus::No, &[]).is_err(),
        "a plan widens nothing"
    );
    assert!(may_approve(&wider, &Identity::person("ada"), SignatureStatus::No, &[]).is_ok());
    let other = narrowed(Some(&ada), &["mallory"]);
    let refusal = may_approve(&other, &Identity::person("ada"), SignatureStatus::No, &[])
        .expect_err("nobody is in both");
    assert_eq!((refusal.why, refusal.may.as_str()), (RefusalReason::TooFew { needed: 1 }, "nobody"));
}
