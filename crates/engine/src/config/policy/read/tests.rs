//! The syntax of a policy: what is accepted, and every fault of the rest in one pass with its line.

use planwright_core::approval::policy::{GROUP, ToolLists};

use super::*;

fn faults(text: &str) -> Vec<String> {
    read(text).expect_err(text).iter().map(ToString::to_string).collect()
}

#[test]
fn everything_that_can_be_said_is_read() {
    let text = r#"
signers = "allowed_signers"

[[auto]]
name = "docs"
paths = ["docs/**", "*.md"]
tools = ["read", "write"]
agents = ["coder"]
proposers = ["claude"]
dollars = 2.5
tokens = 200_000
seconds = 600
steps_max = 3
dialects = ["native", "proposal"]
red = "required"
commands = { coder = ["claude", "--print"] }

[[auto]]
name = "any-tool"
tools = "any"

[approval]
required_from = ["ada", "group:leads"]
needed = 2
planner_may_approve = false
expires = "7d"
signed = true

[[approval.when]]
name = "money"
dollars = 20
needed = 3

[[approval.when]]
name = "auth"
paths = ["src/auth/**"]
tools = ["bash"]
required_from = ["bo"]

[groups]
leads = ["bo", "carl"]

[people.ada]
principal = "ada@example.com"
key = "SHA256:SaRIo98OPuz5kB17+bbOsI0liN1V8LWPN69HQapZdgQ"
[people.bo]
[people.carl]
"#;
    let PolicyRead { policy, signers } = read(text).expect("a policy");
    assert_eq!(signers.as_deref(), Some("allowed_signers"));
    let docs = &policy.automatic[0];
    assert_eq!(
        (docs.name.as_str(), docs.micro_dollars, docs.tokens),
        ("docs", Some(2_500_000), Some(200_000))
    );
    assert_eq!((docs.steps_max, docs.seconds, docs.is_red_required), (Some(3), Some(600), true));
    assert_eq!(docs.commands.as_ref().expect("commands")["coder"], ["claude", "--print"]);
    assert_eq!(policy.automatic[1].tools, Some(ToolLists::Any));
    let demand = &policy.demand;
    assert_eq!((demand.needed, demand.expires_seconds), (Some(2), Some(7 * 86_400)));
    assert_eq!((demand.planner_may_approve, demand.is_signed), (Some(false), Some(true)));
    assert_eq!(policy.people_of(demand.from.iter().flatten()).len(), 3);
    assert_eq!(policy.when.iter().map(|when| when.name.as_str()).collect::<Vec<_>>(), ["money", "auth"]);
    assert_eq!(policy.when[0].micro_dollars, Some(20_000_000));
    assert_eq!(policy.principal_of("ada"), "ada@example.com");
    assert_eq!(policy.principal_of("bo"), "bo");
    assert!(!policy.takes_key("ada", "SHA256:other") && policy.takes_key("bo", "SHA256:other"));
    assert_eq!(GROUP, "group:");
}

#[test]
fn a_policy_that_says_nothing_is_one() {
    let policy = read("# nothing yet\n").expect("a policy").policy;
    assert!(policy.automatic.is_empty() && policy.when.is_empty());
}

/// A text, and what is said about it. Hostile ones among them.
const FAULTS: &[(&str, &str)] = &[
    ("aproval = 1", "line 1: unknown key `aproval`; did you mean `approval`?"),
    ("[approvals]\nneeded = 1", "line 1: unknown key `approvals`; did you mean `approval`?"),
    ("[approval]\nneedd = 1", "line 2: unknown key `approval.needd`; did you mean `approval.needed`?"),
    ("[approval]\nneeded = 0", "line 2: `approval.needed` must be a whole number from 1 to 100, not `0`"),
    ("[approval]\nneeded = -1", "not `-1`"),
    ("[approval]\nneeded = 99999999999", "not `99999999999`"),
    ("[approval]\nneeded = 9223372036854775808", "TOML parse error"),
    ("[approval]\nneeded = \"two\"", "not `\\\"two\\\"`"),
    ("[approval]\nneeded = 1.0", "not `1.0`"),
    ("[approval]\nneeded = 1\nneeded = 2", "TOML parse error"),
    (
        "[approval]\nneeded = 3\nrequired_from = [\"ada\", \"bo\"]",
        "line 2: `approval.needed` is 3, but only 2 may approve",
    ),
    ("[approval]\nneeded = 2\nrequired_from = [\"ada\", \"ada\"]", "is 2, but only 1 may approve"),
    (
        "[approval]\nrequired_from = []",
        "line 2: `approval.required_from` must be a non-empty list of strings",
    ),
    ("[approval]\nrequired_from = \"ada\"", "must be a non-empty list of strings"),
    ("[approval]\nrequired_from = [1]", "must be a non-empty list of strings"),
    ("[approval]\nrequired_from = [\"аda\"]", "`аda` is not a name"),
    ("[approval]\nrequired_from = [\"ada \"]", "`ada ` is not a name"),
    ("[approval]\nrequired_from = [\"a\\u200bda\"]", "`a\\u{200b}da` is not a name"),
    ("[approval]\nrequired_from = [\"\"]", "`` is not a name"),
    ("[approval]\nrequired_from = [\"group:leads\"]", "names `group:leads`, who is not in the policy"),
    (
        "[approval]\nrequired_from = [\"group:leeds\"]\n[groups]\nleads = [\"ada\"]",
        "did you mean `group:leads`?",
    ),
    ("[approval]\nrequired_from = [\"adda\"]\n[people.ada]", "who is not in the policy; did you mean `ada`?"),
    ("[approval]\nplanner_may_approve = \"no\"", "must be true or false"),
    ("[approval]\nsigned = 1", "must be true or false"),
    ("[approval]\nexpires = 7", "must be a duration"),
    ("[approval]\nexpires = \"0d\"", "must be a duration"),
    ("[approval]\nexpires = \"-1d\"", "must be a duration"),
    ("[approval]\nexpires = \"+1d\"", "must be a duration"),
    ("[approval]\nexpires = \"d\"", "must be a duration"),
    ("[approval]\nexpires = \"\"", "must be a duration"),
    ("[approval]\nexpires = \"7 days\"", "must be a duration"),
    ("[approval]\nexpires = \"99999999999999999w\"", "must be a duration"),
    ("[approval]\nexpires = \"1☃\"", "must be a duration"),
    ("approval = 1", "line 1: `approval` must be a table"),
    ("auto = 1", "`auto` must be a list of at most 256 tables"),
    ("[auto]\nname = \"x\"", "`auto` must be a list of at most 256 tables"),
    ("[[auto]]\npaths = [\"docs/**\"]", "line 2: `auto` number 1 has no name"),
    ("[[auto]]\nname = \"x\"", "line 2: `auto` has no condition and would approve everything"),
    ("[[auto]]\nname = \"x y\"\npaths = [\"a\"]", "`auto.name` must be a name"),
    ("[[auto]]\nname = \"x\"\npath = [\"a\"]", "line 3: unknown key `auto.path`; did you mean `auto.paths`?"),
    ("[[auto]]\nname = \"x\"\npaths = []", "`auto.paths` must be a non-empty list of strings"),
    (
        "[[auto]]\nname = \"x\"\npaths = [\"src/../**\"]",
        "line 3: `auto.paths`: invalid path pattern `src/../**`: `.` and `..`",
    ),
    ("[[auto]]\nname = \"x\"\npaths = [\"/etc/**\"]", "invalid path pattern `/etc/**`"),
    ("[[auto]]\nname = \"x\"\npaths = [\"a{b\"]", "unclosed `{`"),
    ("[[auto]]\nname = \"x\"\npaths = \"**\"", "must be a non-empty list of strings"),
    ("[[auto]]\nname = \"x\"\ntools = \"all\"", "`auto.tools` must be a non-empty list of strings"),
    ("[[auto]]\nname = \"x\"\ndollars = -0.01", "must be an amount from 0 to 1000000, not `-0.01`"),
    ("[[auto]]\nname = \"x\"\ndollars = nan", "must be an amount"),
    ("[[auto]]\nname = \"x\"\ndollars = inf", "must be an amount"),
    ("[[auto]]\nname = \"x\"\ndollars = 1e300", "must be an amount"),
    ("[[auto]]\nname = \"x\"\ndollars = 9999999999", "must be an amount"),
    ("[[auto]]\nname = \"x\"\ntokens = -1", "must be a whole number"),
    ("[[auto]]\nname = \"x\"\nsteps_max = 0", "must be a whole number from 1"),
    ("[[auto]]\nname = \"x\"\nred = true", "`auto.red` must be \"required\""),
    ("[[auto]]\nname = \"x\"\ndialects = [\"natve\"]", "`natve` is not a dialect"),
    (
        "[[auto]]\nname = \"x\"\nsteps_max = 1\n[[auto]]\nname = \"x\"\nsteps_max = 2",
        "duplicate rule name `x`",
    ),
    ("[[approval.when]]\nname = \"x\"\nsigned = false", "line 3: `approval.when.signed` cannot loosen"),
    ("[[approval.when]]\nname = \"x\"\nplanner_may_approve = true", "cannot loosen"),
    ("[[approval.when]]\nneeded = 2", "`approval.when` number 1 has no name"),
    ("[[approval.when]]\nname = \"x\"\nagents = [\"a\"]", "unknown key `approval.when.agents`"),
    ("[groups]\nleads = [\"group:leads\"]", "`groups.leads`: `group:leads` is not the name of a person"),
    ("[groups]\nleads = []", "`groups.leads` must be a non-empty list of strings"),
    ("[groups]\n\"lеads\" = [\"ada\"]", "invalid group name"),
    (
        "[groups]\nleads = [\"bob\"]\n[people.bo]",
        "`groups.leads` names `bob`, who is not in the policy; did you mean `bo`?",
    ),
    ("[people]\nada = 1", "`people.ada` must be a table"),
    ("[people.ada]\nkey = \"ssh-ed25519 AAAA\"", "must be a fingerprint"),
    ("[people.ada]\nkeys = \"x\"", "did you mean `people.ada.key`?"),
    ("[people.\"аda\"]", "invalid name"),
    ("signers = \"../allowed_signers\"", "must be the name of a file next to the policy"),
    ("signers = \"\"", "must be the name of a file next to the policy"),
    ("\u{0}", "TOML parse error"),
];

// A-19: what a policy says wrongly is no policy, and all of it is said.
#[test]
fn what_is_wrong_is_said_with_its_line_and_with_what_was_meant() {
    assert!(FAULTS.len() >= 40);
    for (text, expected) in FAULTS {
        let said = faults(text);
        assert!(said.iter().any(|fault| fault.contains(expected)), "{text}\n{said:#?}\nnot: {expected}");
    }
}

#[test]
fn all_faults_are_found_at_once_in_the_order_of_the_lines() {
    let text: &str = "sigers = \"x\"\n[approval]\nneeded = -1\nexpires = \"soon\"\nsinged = true\n[[auto]]\nname = \"a\"\npaths = [\"..\"]\n";
    let said = faults(text);
    let lines: Vec<&str> = said.iter().map(|fault| &fault[..7]).collect();
    assert_eq!(lines, ["line 1:", "line 3:", "line 4:", "line 5:", "line 8:"], "{said:#?}");
}
