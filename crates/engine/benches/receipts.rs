//! What receipts cost: the hash of a workspace of 2,000 files, the first time and again, and the audit of a record of 1,000 events
//! against reading its bytes. `cargo bench` measures; `cargo test --benches` only shows that it still runs.

#[path = "../tests/scratch/folder.rs"]
mod scratch;

use std::hint::black_box;
use std::time::Instant;

use planwright_core::agent::account::Usage;
use planwright_core::audit::bundle::{AuditBundle, Chain, ChainHead, ChainLink, NamedBlob, RunBook};
use planwright_core::audit::hash_chain;
use planwright_core::audit::{AuditContext, CheckSet, Claimed, audit};
use planwright_core::plan::digest::Digest;
use planwright_core::plan::identity::Identity;
use planwright_core::run::event::{
    AttemptEnd, AttemptFinish, AttemptStart, Event, Judged, RunEvent, RunOutcome, RunStart, StepEvent,
};
use planwright_core::run::judge::{ContractRun, Observation};
use planwright_core::run::receipt::{Blob, Provenance, Receipt};
use planwright_core::syntax::source::Source;
use planwright_core::verify;
use planwright_engine::git::base;

use crate::scratch::Scratch;

/// How much work a run does: files, and steps of three events each.
const FULL: (usize, usize) = (2_000, 333);
const SMOKE: (usize, usize) = (20, 3);

fn main() {
    // Only `cargo bench` passes this.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (files, steps) = if is_bench { FULL } else { SMOKE };
    trees(files);
    records(steps);
}

#[expect(clippy::print_stdout, reason = "the table is what a benchmark is for")]
fn say(line: &str) {
    println!("{line}");
}

fn milliseconds<T>(act: impl FnOnce() -> T) -> f64 {
    let begin = Instant::now();
    black_box(act());
    begin.elapsed().as_secs_f64() * 1000.0
}

#[expect(clippy::disallowed_methods, reason = "lays out a workspace")]
fn trees(files: usize) {
    let scratch = Scratch::new("bench-tree");
    for number in 0..files {
        let folder = scratch.path().join(format!("src/{}", number % 50));
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join(format!("{number}.rs")), format!("// {number}\n").repeat(500))
            .expect("written");
    }
    let hash = || base::tree_of_workspace(scratch.path(), &[]).expect("hashed");
    let (first, again) = (milliseconds(hash), milliseconds(hash));
    say(&format!("tree of {files} files: first {first:.1} ms, again {again:.1} ms"));
}

fn records(steps: usize) {
    let bundle = bundle(steps);
    let text = bundle.text().expect("written");
    let (may, signed, checks) =
        (|_: &Claimed<'_>| Ok(()), |_: (&str, &str), _: &Identity, _: u64| Ok(()), CheckSet::all());
    let world = AuditContext { file: None, kept: &[], may: &may, signed: &signed, checks: &checks };
    let hashing = milliseconds(|| blake3::hash(text.as_bytes()));
    let reading = milliseconds(|| AuditBundle::read(text.as_bytes()));
    let auditing = milliseconds(|| audit(&bundle, &world));
    let (records, bytes) = (bundle.records(), text.len());
    say(&format!(
        "record of {records} events, {bytes} bytes: hashed in {hashing:.1} ms, read in {reading:.1} ms, audited in {auditing:.1} ms"
    ));
}

fn receipt(number: usize, digest: &str) -> Receipt {
    let run = ContractRun {
        expect: Some(0),
        contract: blake3::hash(format!("test -e {number}").as_bytes()).to_hex().to_string(),
        observation: Observation::Exited(0),
        output: "said".to_owned(),
        milliseconds: 1,
    };
    let (digest, tier, tree) = (digest.to_owned(), "open".to_owned(), "00".repeat(32));
    Receipt::new(&run, None, Provenance { digest, tier, tree, ..Provenance::default() })
}

/// Events as a chain that begins with this hash.
fn book(events: &[Event], genesis: blake3::Hash) -> Chain {
    let mut head = ChainHead { seq: 0, hash: genesis };
    let mut links = Vec::new();
    for (event, seq) in events.iter().zip(1..) {
        let record = serde_json::to_vec(event).expect("written");
        let hash = hash_chain::link(&head.hash, 1, (seq, 1), &record);
        links.push(ChainLink { seq, at_ms: 1, text: record, prev: head.hash, hash });
        head = ChainHead { seq, hash };
    }
    Chain { number: 1, links, head: Some(head) }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is not a command")]
fn bundle(steps: usize) -> AuditBundle {
    let mut text =
        "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# It\n\n**Context:** Because.\n\n## Steps\n"
            .to_owned();
    for number in 1..=steps {
        text.push_str(&format!(
            "\n### {number}. Do {number}\n\n**id:** s{number}\n**target:** shell\n\n**task:**\nDo it.\n\n**contract:**\n```shell\ntest -e {number}\n```\n"
        ));
    }
    let plan = verify::trusted(&Source::new("it", text.as_str()).at("plans/it.md")).expect("it verifies");
    let digest = Digest::of(&plan).to_string();
    let mut events = vec![Event::Run(RunEvent::Started(RunStart {
        digest: digest.clone(),
        approved_by: "ada".to_owned(),
        approved_at: "rev".to_owned(),
        base: None,
        agents: std::collections::BTreeMap::default(),
        sealed: std::collections::BTreeMap::default(),
        programs: std::collections::BTreeMap::default(),
        approvals: Vec::new(),
        note: String::new(),
    }))];
    let said = Blob(blake3::hash(b"said").to_hex().to_string());
    for number in 1..=steps {
        let step = format!("s{number}");
        let (agent, prompt) = ("shell".to_owned(), said.clone());
        events.push(Event::Step {
            step: step.clone(),
            event: StepEvent::Started(AttemptStart { attempt: 1, agent, prompt }),
        });
        events.push(Event::Step {
            step: step.clone(),
            event: StepEvent::Finished(AttemptFinish {
                attempt: 1,
                end: AttemptEnd::Exited(0),
                output: Some(said.clone()),
                usage: Usage::default(),
                changed: vec!["a".to_owned()],
                account: planwright_core::agent::account::Account::default(),
            }),
        });
        let receipt = receipt(number, &digest);
        events.push(Event::Step {
            step,
            event: StepEvent::Judged { of: Judged::Attempt(1), receipt, broken_by: None },
        });
    }
    events.push(Event::Run(RunEvent::Finished { outcome: RunOutcome::Done, why: String::new() }));
    let book = book(&events, hash_chain::run_genesis(&digest, text.as_bytes()));
    let run =
        RunBook { book, name: "it".to_owned(), digest, text, dialect: "native".to_owned(), created_at_ms: 1 };
    let kept = NamedBlob { bytes: 4, content: Some(b"said".to_vec()), dropped_at_ms: None };
    AuditBundle {
        store: "0".to_owned(),
        plan: "plans/it.md".to_owned(),
        name: "it".to_owned(),
        ledger: None,
        runs: vec![run],
        blobs: [(said.0, kept)].into(),
    }
}
