//! A record with everything in it: a rejection, two approvals, a retry, a question; and what somebody who can write it could do.

use std::collections::BTreeMap;

use blake3::Hash;
use planwright_core::agent::account::Usage;
use planwright_core::approval::ledger::{ApprovalSubject, Base, LedgerEntry};
use planwright_core::audit::bundle::{AuditBundle, Chain, ChainHead, ChainLink, NamedBlob, RunBook};
use planwright_core::audit::hash_chain;
use planwright_core::audit::{
    AuditContext, AuditFinding, CheckSet, Claimed, KeptHead, Kind, audit, file_findings,
};
use planwright_core::plan::digest::Digest;
use planwright_core::plan::identity::{Identity, Role};
use planwright_core::run::event::{
    AskAnswer, AskEvent, AskReason, AttemptEnd, AttemptFinish, AttemptStart, Event, Judged, RunEvent,
    RunOutcome, RunStart, StepEvent,
};
use planwright_core::run::judge::{ContractRun, Observation};
use planwright_core::run::receipt::{ApprovedBy, Blob, Provenance, Receipt};
use planwright_core::syntax::source::Source;
use planwright_core::verify;

pub(crate) const PLAN: &str = "plans/it.md";
const FIRST: &str = "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# It\n\n**Context:** Because.\n**Budget:** $1\n\n\
    ## Steps\n\n### 1. Make it\n\n**id:** make\n**target:** shell\n**on_fail:** retry(1), then escalate\n\n**task:**\nDo it.\n\n\
    **contract:**\n```shell\ntest -s made\n```\n\n### 2. Sign it\n\n**id:** sign\n**target:** human\n\n**task:**\nLook.\n\n\
    **contract:** manual\n";

pub(crate) fn second() -> String {
    FIRST.replace("test -s made", "test -s made && grep -q right made")
}

pub(crate) fn blob(bytes: &[u8]) -> Blob {
    Blob(blake3::hash(bytes).to_hex().to_string())
}

pub(crate) fn digest(text: &str) -> String {
    let source = Source::new("it", text).at(PLAN);
    Digest::of(&verify::trusted(&source).expect("the sample verifies")).to_string()
}

pub(crate) fn subject(text: &str) -> ApprovalSubject {
    ApprovalSubject {
        digest: digest(text),
        sealed: BTreeMap::from([("tests/a.sh".to_owned(), "aa".repeat(32))]),
        programs: BTreeMap::from([("grep".to_owned(), "/usr/bin/grep".to_owned())]),
        base: Some(Base { commit: "4f1c8aa0".to_owned(), tree: "77".repeat(20), branch: None }),
        agents: BTreeMap::new(),
    }
}

pub(crate) fn approved(by: Identity) -> LedgerEntry {
    LedgerEntry::Approved {
        revision: 2,
        subject: subject(&second()),
        by,
        way: "terminal".to_owned(),
        note: String::new(),
        rule: "two of us".to_owned(),
        needed: 2,
        policy: String::new(),
        until_ms: Some(5_000_000),
        signature: Some("good".to_owned()),
    }
}

fn proposed(revision: u32, text: &str) -> LedgerEntry {
    LedgerEntry::Proposed {
        revision,
        subject: subject(text),
        by: Identity::agent("codex"),
        text: blob(text.as_bytes()),
        dialect: "native".to_owned(),
        warnings: 0,
        red: Vec::new(),
        is_handed_in: false,
    }
}

fn entries() -> Vec<LedgerEntry> {
    vec![
        proposed(1, FIRST),
        LedgerEntry::Rejected {
            revision: 1,
            digest: digest(FIRST),
            by: Identity::person("ada"),
            feedback: "an empty file passes".to_owned(),
        },
        proposed(2, &second()),
        LedgerEntry::Commented {
            comment: 1,
            revision: 2,
            step: Some("make".to_owned()),
            by: Identity::person("mara"),
            text: "good".to_owned(),
        },
        approved(Identity::person("ada")),
        approved(Identity::person("mara")),
        LedgerEntry::Started { run: 1, by: Identity::person("ada") },
        LedgerEntry::Ended { run: 1, outcome: RunOutcome::Done, is_revised: false },
    ]
}

pub(crate) fn receipt(code: i32, approvals: Vec<ApprovedBy>) -> Receipt {
    let observation = Observation::Exited(code);
    Receipt::new(
        &ContractRun {
            expect: Some(0),
            contract: blob(b"test -s made && grep -q right made").0,
            observation,
            output: "said\n".to_owned(),
            milliseconds: 7,
        },
        None,
        Provenance { digest: digest(&second()), tier: "open".to_owned(), tree: "be".repeat(32), approvals },
    )
}

fn events(approvals: &[ApprovedBy]) -> Vec<Event> {
    let make = |attempt| {
        let (step, agent) = ("make".to_owned(), "shell".to_owned());
        let begun = Event::Step {
            step: step.clone(),
            event: StepEvent::Started(AttemptStart { attempt, agent, prompt: blob(b"do it\n") }),
        };
        let ended = Event::Step {
            step,
            event: StepEvent::Finished(AttemptFinish {
                attempt,
                end: AttemptEnd::Exited(0),
                output: Some(blob(b"did it\n")),
                usage: Usage::default(),
                changed: vec!["made".to_owned()],
                account: planwright_core::agent::account::Account::default(),
            }),
        };
        [begun, ended]
    };
    let judged = |attempt: u32, code| Event::Step {
        step: "make".to_owned(),
        event: StepEvent::Judged {
            of: Judged::attempt(attempt),
            receipt: receipt(code, approvals.to_vec()),
            broken_by: None,
        },
    };
    let subject = subject(&second());
    let mut events = vec![Event::Run(RunEvent::Started(RunStart {
        digest: subject.digest,
        approved_by: "ada, mara".to_owned(),
        approved_at: "terminal".to_owned(),
        base: subject.base.map(|base| base.commit),
        agents: subject.agents,
        sealed: subject.sealed,
        programs: subject.programs,
        approvals: approvals.to_vec(),
        note: String::new(),
    }))];
    events.extend(make(1));
    events.push(judged(1, 1));
    events.extend(make(2));
    events.push(judged(2, 0));
    events.push(Event::Ask {
        ask: "sign/1".to_owned(),
        event: AskEvent::Opened {
            step: Some("sign".to_owned()),
            reason: AskReason::Manual,
            text: "Look.".to_owned(),
        },
    });
    events.push(Event::Ask {
        ask: "sign/1".to_owned(),
        event: AskEvent::Answered { answer: AskAnswer::Confirm, by: "ada".to_owned() },
    });
    events.push(Event::Run(RunEvent::Finished { outcome: RunOutcome::Done, why: String::new() }));
    events
}

fn book(number: i64, first: Hash, records: Vec<Vec<u8>>, at_ms: u64) -> Chain {
    let mut book = Chain { number, links: Vec::new(), head: None };
    for (text, seq) in records.into_iter().zip(1..) {
        let zero = Hash::from_bytes([0; 32]);
        book.links.push(ChainLink { seq, at_ms: at_ms + seq - 1, text, prev: zero, hash: zero });
    }
    rechain(&mut book, first);
    book
}

/// Makes all hashes of a book fit again, as whoever can write it could.
pub(crate) fn rechain(book: &mut Chain, first: Hash) {
    let mut head = ChainHead { seq: 0, hash: first };
    for link in &mut book.links {
        link.prev = head.hash;
        link.hash = hash_chain::link(&link.prev, book.number, (link.seq, link.at_ms), &link.text);
        head = ChainHead { seq: link.seq, hash: link.hash };
    }
    book.head = Some(head);
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("written")
}

/// A record and all that it is compared with.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) bundle: AuditBundle,
    pub(crate) file: String,
    /// Heads that were kept elsewhere.
    pub(crate) kept: Vec<KeptHead>,
    /// The exported file, where that is what is changed.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Case {
    pub(crate) fn new() -> Self {
        let ledger = book(4, hash_chain::ledger_genesis(), entries().iter().map(json).collect(), 1_000);
        let named = |place: usize, name: &str| ApprovedBy {
            by: Identity::person(name),
            seq: ledger.links[place].seq,
            hash: ledger.links[place].hash.to_hex().to_string(),
        };
        let approvals = [named(4, "ada"), named(5, "mara")];
        let first = hash_chain::run_genesis(&digest(&second()), second().as_bytes());
        let run = RunBook {
            book: book(1, first, events(&approvals).iter().map(json).collect(), 2_000),
            name: "it".to_owned(),
            digest: digest(&second()),
            text: second(),
            dialect: "native".to_owned(),
            created_at_ms: 2_000,
        };
        let mut bundle = AuditBundle {
            store: "5".repeat(32),
            plan: PLAN.to_owned(),
            name: "it".to_owned(),
            ledger: Some(ledger),
            runs: vec![run],
            blobs: BTreeMap::new(),
        };
        let texts =
            [FIRST.to_owned(), second(), "said\n".to_owned(), "do it\n".to_owned(), "did it\n".to_owned()];
        for text in texts {
            let kept = NamedBlob {
                bytes: text.len() as u64,
                content: Some(text.clone().into_bytes()),
                dropped_at_ms: None,
            };
            bundle.blobs.insert(blob(text.as_bytes()).0, kept);
        }
        let by = "the anchor file".to_owned();
        let kept = bundle.heads().into_iter().map(|anchor| KeptHead { anchor, by: by.clone() }).collect();
        let file = second()
            .replace("status: draft", "status: done")
            .replace("### 1. Make it", "### 1. ✅ Make it")
            .replace("### 2. Sign it", "### 2. ✅ Sign it");
        Self { bundle, file, kept, bytes: None }
    }

    pub(crate) fn audit(&self, checks: &CheckSet) -> Vec<AuditFinding> {
        let source = Source::new("it", self.file.as_str()).at(PLAN);
        let may = |claimed: &Claimed<'_>| {
            let LedgerEntry::Approved { by, needed, .. } = claimed.approved else { return Ok(()) };
            match (by.role, by.name.as_str(), needed) {
                (Role::Person, "ada" | "mara", 2) => Ok(()),
                (Role::Person | Role::Policy | Role::Agent | Role::Age, ..) => {
                    Err(format!("{by} may not, or not alone"))
                }
            }
        };
        let signed = |(statement, signature): (&str, &str), by: &Identity, _: u64| {
            let is_of = |key: &str, value: &str| statement.contains(&format!("\"{key}\":\"{value}\""));
            let good = is_of("by", &by.name) && is_of("plan", PLAN) && signature == "good";
            good.then_some(()).ok_or_else(|| "it is by another key".to_owned())
        };
        let (bundle, faults) = match &self.bytes {
            Some(bytes) => AuditBundle::read(bytes),
            None => (self.bundle.clone(), Vec::new()),
        };
        let mut found = file_findings("it.jsonl", PLAN, &faults, checks);
        let world =
            AuditContext { file: Some(&source), kept: &self.kept, may: &may, signed: &signed, checks };
        found.extend(audit(&bundle, &world));
        found
    }

    pub(crate) fn run(&mut self) -> &mut RunBook {
        &mut self.bundle.runs[0]
    }

    pub(crate) fn ledger(&mut self) -> &mut Chain {
        self.bundle.ledger.as_mut().expect("there is one")
    }

    /// Changes the text of an event, and nothing else.
    pub(crate) fn event(&mut self, place: usize, from: &str, to: &str) {
        replace(&mut self.run().book.links[place].text, from, to);
    }

    /// Changes the text of an entry, and nothing else.
    pub(crate) fn entry(&mut self, place: usize, from: &str, to: &str) {
        replace(&mut self.ledger().links[place].text, from, to);
    }

    /// Makes every hash fit again, and the heads that were kept elsewhere: what only looks at hashes finds nothing then.
    pub(crate) fn rehash(&mut self) {
        let old: Vec<String> =
            self.ledger().links.iter().map(|link| link.hash.to_hex().to_string()).collect();
        rechain(self.ledger(), hash_chain::ledger_genesis());
        let new: Vec<String> =
            self.ledger().links.iter().map(|link| link.hash.to_hex().to_string()).collect();
        for run in &mut self.bundle.runs {
            for link in &mut run.book.links {
                for (old, new) in old.iter().zip(&new) {
                    let text = String::from_utf8(link.text.clone()).expect("text");
                    link.text = text.replace(old, new).into_bytes();
                }
            }
            let first = run.first();
            rechain(&mut run.book, first);
        }
        let by = "the anchor file".to_owned();
        let heads = self.bundle.heads();
        self.kept = heads.into_iter().map(|anchor| KeptHead { anchor, by: by.clone() }).collect();
    }

    /// Puts another entry in the place of one.
    pub(crate) fn say(&mut self, place: usize, entry: &LedgerEntry) {
        self.ledger().links[place].text = json(entry);
    }

    pub(crate) fn tell(&mut self, place: usize, event: &Event) {
        self.run().book.links[place].text = json(event);
    }

    /// Numbers the records of a book anew.
    pub(crate) fn renumber(book: &mut Chain) {
        for (link, seq) in book.links.iter_mut().zip(1..) {
            link.seq = seq;
        }
    }

    /// Changes the exported file.
    pub(crate) fn exported(&mut self, from: &str, to: &str) {
        let text = self.bundle.text().expect("written");
        assert!(text.contains(from), "{from}");
        self.bytes = Some(text.replacen(from, to, 1).into_bytes());
    }

    /// Changes the exported file, and its last line with it.
    pub(crate) fn resealed(&mut self, from: &str, to: &str) {
        self.exported(from, to);
        let text = String::from_utf8(self.bytes.take().expect("exported")).expect("text");
        let above = &text[..=text.trim_end().rfind('\n').expect("lines")];
        let seal = blake3::hash(above.as_bytes()).to_hex();
        let end = format!("{{\"end\":{{\"lines\":{},\"blake3\":\"{seal}\"}}}}\n", above.lines().count());
        self.bytes = Some(format!("{above}{end}").into_bytes());
    }
}

fn replace(text: &mut Vec<u8>, from: &str, to: &str) {
    let old = String::from_utf8(text.clone()).expect("text");
    assert!(old.contains(from), "`{from}` is not in {old}");
    *text = old.replace(from, to).into_bytes();
}

/// What somebody could do to a record, what must be found, and a word that must be said.
pub(crate) struct Mutation {
    pub(crate) name: &'static str,
    pub(crate) act: fn(&mut Case),
    pub(crate) kinds: &'static [Kind],
    pub(crate) says: &'static str,
}
