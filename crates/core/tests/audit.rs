//! What an audit finds: a hundred ways to change a record, each found and named, and each unnoticed where the check that finds it is
//! left out. Pure: a stranger with a file can do all of this.

#[path = "audit/mutation.rs"]
mod mutation;
#[path = "audit/sample.rs"]
mod sample;

use std::collections::BTreeSet;

use planwright_core::audit::bundle::{Anchor, AuditBundle, BundleFault, ChainHead, NamedHead, head_of_heads};
use planwright_core::audit::{AuditFinding, CheckSet, Kind, history, test_results};

use mutation::{CHAINS, FILES, MEANINGS, SURROUNDINGS};
use sample::{Case, Mutation};

fn kinds(findings: &[AuditFinding]) -> BTreeSet<Kind> {
    findings.iter().map(|finding| finding.kind).collect()
}

fn all() -> impl Iterator<Item = &'static Mutation> {
    [CHAINS, MEANINGS, SURROUNDINGS, FILES].into_iter().flatten()
}

#[test]
fn a_record_that_is_what_was_written_is_intact() {
    let case = Case::new();
    assert_eq!(case.audit(&CheckSet::all()), []);
    let text = case.bundle.text().expect("written");
    assert_eq!(AuditBundle::read(text.as_bytes()), (case.bundle.clone(), Vec::new()));
    assert_eq!(case.bundle.text().expect("written"), text, "the same bytes for the same record");
    let read = Case { bytes: Some(text.into_bytes()), ..case };
    assert_eq!(read.audit(&CheckSet::all()), []);
}

// A-03, M-03, P-36: each change is found, and named by what it is and where.
#[test]
fn every_mutation_is_found_and_named() {
    let mut faults = Vec::new();
    for mutation in all() {
        let mut case = Case::new();
        (mutation.act)(&mut case);
        let found = case.audit(&CheckSet::all());
        let wanted: BTreeSet<Kind> = mutation.kinds.iter().copied().collect();
        let is_said = found.iter().any(|finding| finding.to_string().contains(mutation.says));
        if kinds(&found) != wanted || !is_said {
            let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
            faults.push(format!(
                "{}: found {:?} where {wanted:?} and `{}` were wanted\n  {}",
                mutation.name,
                kinds(&found),
                mutation.says,
                lines.join("\n  ")
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(all().count() >= 100, "{}", all().count());
}

// Without the checks that find it, nothing else does: so it is these checks that do the work.
#[test]
fn without_its_check_a_mutation_goes_unnoticed() {
    for mutation in all() {
        let mut case = Case::new();
        (mutation.act)(&mut case);
        for kind in mutation.kinds {
            let without = CheckSet::without([kind.check()]);
            let found = kinds(&case.audit(&without));
            assert!(!found.contains(kind), "{}: {kind} was found without its check", mutation.name);
        }
        let without = CheckSet::without(mutation.kinds.iter().map(|kind| kind.check()));
        let found = case.audit(&without);
        assert!(found.is_empty(), "{}: {found:?}", mutation.name);
    }
}

// Kinds that are about a store or about contracts that are run again are made elsewhere.
#[test]
fn every_kind_of_finding_has_a_mutation() {
    let made: BTreeSet<Kind> = all().flat_map(|mutation| mutation.kinds).copied().collect();
    let elsewhere = [
        Kind::Misfiled,
        Kind::OtherStore,
        Kind::AnchorUnreadable,
        Kind::AnchorLost,
        Kind::Table,
        Kind::Database,
        Kind::Broke,
        Kind::FalseMark,
        Kind::MovedContract,
        Kind::NotRerun,
    ];
    for kind in Kind::ALL {
        assert_ne!(made.contains(kind), elsewhere.contains(kind), "{kind}");
    }
}

// A-03: one flipped byte anywhere in an exported file.
#[test]
fn a_flipped_byte_is_found_wherever_it_is() {
    let text = Case::new().bundle.text().expect("written").into_bytes();
    for place in (0..text.len()).step_by(29).chain([text.len() - 1]) {
        for bit in [0, 5] {
            let mut flipped = text.clone();
            flipped[place] ^= 1 << bit;
            let (_, faults) = AuditBundle::read(&flipped);
            assert!(!faults.is_empty(), "byte {place}, bit {bit}");
        }
    }
    for length in (0..text.len()).step_by(97) {
        let (_, faults) = AuditBundle::read(&text[..length]);
        assert!(faults.contains(&BundleFault::Cut), "cut at {length}");
    }
}

#[test]
fn an_anchor_is_one_line_whatever_its_plan_is_called() {
    let anchor = |plan: &str| Anchor {
        book: NamedHead::Ledger(3, plan.to_owned()),
        head: ChainHead { seq: 7, hash: blake3::hash(b"x") },
        at_ms: 12,
    };
    for plan in ["plans/a b.md", "a\nrun 1 1", "a\\n", "", "\r"] {
        let line = anchor(plan).line();
        assert!(!line.contains(['\n', '\r']), "{line:?}");
        assert_eq!(Anchor::read(&line), Some(anchor(plan)), "{line:?}");
    }
    let line = anchor("x").line();
    for other in [
        line.replace(" 7 ", " 07 "),
        line.to_uppercase(),
        line.replace("ledger", "run"),
        line[..40].to_owned(),
    ] {
        assert_eq!(Anchor::read(&other), None, "{other}");
    }
    let (one, two) = (anchor("a"), anchor("b"));
    assert_eq!(head_of_heads(&[one.clone(), two.clone()]), head_of_heads(&[two.clone(), one.clone()]));
    assert_ne!(head_of_heads(std::slice::from_ref(&one)), head_of_heads(&[one, two]));
}

#[test]
fn the_history_says_who_did_what() {
    let said: Vec<String> = history(&Case::new().bundle)
        .iter()
        .map(|line| [&line.who, &line.what, &line.about].map(String::as_str).join(" "))
        .collect();
    let wanted = [
        "codex proposed r1",
        "ada rejected r1",
        "codex proposed r2",
        "mara commented step make",
        "ada approved r2",
        "mara approved r2",
        "ada began run 1",
        "harness ended run 1",
        "harness started run 1",
        "harness failed run 1 step make",
        "harness passed run 1 step make",
        "harness asked run 1 step sign",
        "ada confirmed run 1 sign/1",
        "harness done run 1",
    ];
    assert_eq!(said.len(), wanted.len(), "{said:#?}");
    for (said, wanted) in said.iter().zip(wanted) {
        assert!(said.starts_with(wanted), "{said} is not {wanted}");
    }
}

// A-03: verdicts for tools of others.
#[test]
fn verdicts_are_test_results_of_in_toto() {
    let results = test_results(&Case::new().bundle);
    let names: Vec<&str> = results.iter().map(|result| result.name.as_str()).collect();
    assert_eq!(names, ["run-1-make-1", "run-1-make-2"]);
    let statement = &results[1].statement;
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://in-toto.io/attestation/test-result/v0.1");
    assert_eq!(statement["subject"][0]["digest"]["blake3"], "be".repeat(32));
    assert_eq!(statement["predicate"]["result"], "PASSED");
    assert_eq!(results[0].statement["predicate"]["result"], "FAILED");
    assert_eq!(statement["predicate"]["passedTests"][0], "plans/it.md#make");
}
