//! Verdicts as in-toto statements, a format that other tools read. One statement per verdict; never signed
//! here.

use serde_json::{Value, json};

use crate::audit::bundle::{AuditBundle, ChainLink, RunBook};
use crate::run::event::RecordedVerdict;

const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PREDICATE: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// The lengths of git's tree hashes.
const GIT_HASHES: [usize; 2] = [40, 64];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResult {
    /// Unique within the plan, such as `run-1-fix-2`.
    pub name: String,
    pub statement: Value,
}

/// Every verdict of a plan that records which content was judged.
pub fn test_results(bundle: &AuditBundle) -> Vec<TestResult> {
    let mut results = Vec::new();
    for run in &bundle.runs {
        for (link, event) in run.events() {
            for verdict in event.verdicts() {
                results.extend(test_result(bundle, run, link, verdict));
            }
        }
    }
    results
}

fn test_result(
    bundle: &AuditBundle,
    run: &RunBook,
    link: &ChainLink,
    RecordedVerdict { step, of, receipt }: RecordedVerdict<'_>,
) -> Option<TestResult> {
    // The attempt; a later check of the same contract is known by its place in the journal.
    let (attempt, name) = match of {
        Some(of) => (of.number(), of.to_string()),
        None => (None, format!("again-{}", link.seq)),
    };
    // Without a tree there is no subject, and a statement requires one.
    if receipt.tree.is_empty() {
        return None;
    }
    let test = format!("{}#{step}", bundle.plan);
    let is_passed = receipt.verdict.is_passed();
    let (passed, failed) = if is_passed { (vec![&test], vec![]) } else { (vec![], vec![&test]) };
    let approved: Vec<Value> = receipt.approvals.iter().map(|approval| json!(approval)).collect();
    let statement = json!({
        "_type": STATEMENT,
        "subject": [{ "name": "workspace", "digest": tree_digest(&receipt.tree) }],
        "predicateType": PREDICATE,
        "predicate": {
            "result": if is_passed { "PASSED" } else { "FAILED" },
            "configuration": [
                { "name": "contract", "digest": { "blake3": receipt.contract } },
                { "name": "plan", "digest": { "blake3": receipt.digest } },
                {
                    "name": "receipt",
                    "digest": { "blake3": link.hash.to_hex().as_str() },
                    "annotations": {
                        "run": run.book.number,
                        "event": link.seq,
                        "at_ms": link.at_ms,
                        "attempt": attempt,
                        "tier": receipt.tier,
                        "output": receipt.output,
                        "approvals": approved,
                    },
                },
            ],
            "passedTests": passed,
            "warnedTests": [],
            "failedTests": failed,
        },
    });
    Some(TestResult { name: format!("run-{}-{step}-{name}", run.book.number), statement })
}

/// The digest of a tree, under the name of its algorithm.
fn tree_digest(tree: &str) -> Value {
    match tree.split_once(':') {
        Some((algorithm, hash)) => json!({ algorithm: hash }),
        None if tree.len() == GIT_HASHES[0] => json!({ "gitTree": tree }),
        None => json!({ "blake3": tree }),
    }
}
